#include "bench/demo/refusals.hpp"

#include "model/fit.hpp"

#include <algorithm>

namespace tangram::bench::demo {

std::string first_sentence(const ExtenderClient::Filtered& answer) {
  if (!answer.error.empty()) return answer.error;
  // Reasons stand in the order in which they are looked for.
  for (std::size_t i = model::kMisfits; i > 0; --i) {
    const std::string_view sentence = model::reason(static_cast<model::Misfit>(i - 1));
    for (const auto* reasons : {&answer.failed, &answer.unresolvable}) {
      for (const auto& [node, reason] : *reasons) {
        if (reason == sentence) return reason;
      }
    }
  }
  return "";
}

void Refusals::add(const std::string& sentence, const std::string& pod, const std::string& asks) {
  Group& group = groups_[sentence];
  if (group.pods++ > 0) return;
  group.sentence = sentence;
  group.example = pod;
  group.asks = asks;
}

std::vector<Refusals::Group> Refusals::groups() const {
  std::vector<Group> sorted;
  for (const auto& [sentence, group] : groups_) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Group& a, const Group& b) { return a.pods > b.pods; });
  return sorted;
}

std::string Refusals::draw(const drawing::Look& look) const {
  constexpr std::size_t kIndent = 5;
  const auto width = static_cast<std::size_t>(look.width);
  std::string out;
  for (const Group& group : groups()) {
    out += drawing::paint(look, drawing::kBad,
                          drawing::right_in(std::to_string(group.pods), kIndent - 2)) +
           "  " + drawing::wrapped(group.sentence, width, kIndent) + "\n";
    const std::string example =
        "e.g. " + group.example + (group.asks.empty() ? "" : ": ") + group.asks;
    out += std::string(kIndent, ' ') +
           drawing::paint(look, drawing::kDim, drawing::shortened(example, width - kIndent)) + "\n";
  }
  return out;
}

}  // namespace tangram::bench::demo
