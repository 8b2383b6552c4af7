#include "model/card_names.hpp"

#include <algorithm>

namespace tangram::model {

namespace {

// Not the functions of <cctype>: those follow the locale.
bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_of_ids(char c) {
  return is_alphanumeric(c) || std::string_view("-_.:").find(c) != std::string_view::npos;
}
bool is_of_models(char c) {
  return is_of_ids(c) || std::string_view(" +/()[]").find(c) != std::string_view::npos;
}

template <class IsAllowed>
bool is_name(std::string_view text, const IsAllowed& is_allowed) {
  return !text.empty() && text.size() <= kMaxName && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

}  // namespace

bool is_card_id(std::string_view text) { return is_name(text, is_of_ids); }

bool is_card_model(std::string_view text) { return is_name(text, is_of_models); }

std::string card_model_of(std::string_view text) {
  std::string model(std::find_if(text.begin(), text.end(), is_alphanumeric), text.end());
  model.resize(std::min(model.size(), kMaxName));
  std::replace_if(
      model.begin(), model.end(), [](char c) { return !is_of_models(c); }, '-');
  return model;
}

}  // namespace tangram::model
