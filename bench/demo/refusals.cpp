#include "bench/demo/refusals.hpp"

#include "model/fit.hpp"

#include <algorithm>

namespace tangram::bench::demo {

std::string first_sentence(const ExtenderClient::Filtered& answer) {
  if (!answer.error.empty()) return answer.error;
  // Misfits are in the order in which they are checked.
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

void Refusals::add(const std::string& sentence, const std::string& pod,
                   const std::string& request) {
  Group& group = groups_[sentence];
  if (group.pods++ > 0) return;
  group.sentence = sentence;
  group.example = pod;
  group.request = request;
}

std::vector<Refusals::Group> Refusals::groups() const {
  std::vector<Group> sorted;
  for (const auto& [sentence, group] : groups_) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Group& a, const Group& b) { return a.pods > b.pods; });
  return sorted;
}

std::string Refusals::draw(const drawing::Style& style) const {
  constexpr std::size_t kIndent = 5;
  const auto width = static_cast<std::size_t>(style.width);
  std::string out;
  for (const Group& group : groups()) {
    out += paint(style, drawing::kBad, drawing::right_in(std::to_string(group.pods), kIndent - 2)) +
           "  " + drawing::wrapped(group.sentence, width, kIndent) + "\n";
    const std::string example =
        "e.g. " + group.example + (group.request.empty() ? "" : ": ") + group.request;
    out += std::string(kIndent, ' ') +
           paint(style, drawing::kDim, drawing::shortened(example, width - kIndent)) + "\n";
  }
  return out;
}

}  // namespace tangram::bench::demo
