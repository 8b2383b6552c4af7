#include "cli/json_path.hpp"

#include "base/json.hpp"
#include "base/json_scan.hpp"
#include "base/number.hpp"

namespace tangram::cli {

std::string_view value_at(std::string_view object, JsonPath path) {
  return json::find(object, path);
}

std::string text_at(std::string_view object, JsonPath path) {
  return std::string(json::raw_string(value_at(object, path)));
}

std::string unescaped_at(std::string_view object, JsonPath path) {
  std::string quoted{value_at(object, path)};
  json::Reader in(quoted);
  return std::string(in.string_or_null());
}

std::optional<std::int64_t> number_at(std::string_view object, JsonPath path) {
  return parse_number<std::int64_t>(value_at(object, path));
}

void for_each_at(std::string_view object, JsonPath path,
                 const std::function<void(std::string_view element)>& element) {
  (void)json::for_each_element(value_at(object, path), element);
}

}  // namespace tangram::cli
