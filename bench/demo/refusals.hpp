#pragma once

#include "bench/extender_client.hpp"
#include "drawing/terminal.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench::demo {

/// What in-tree fit says where no node has the CPU and memory, before the extender is asked.
inline constexpr std::string_view kNoCpu = "no node has enough free CPU and memory";

/// The sentence that a pod's owner should read first: that of the node which came nearest to taking
/// the pod. (That most nodes have another model helps nobody who asked for a rare one.)
[[nodiscard]] std::string first_sentence(const ExtenderClient::Filtered& answer);

/// Sentences with how many pods they were said to, and one of those.
class Refusals {
 public:
  void add(const std::string& sentence, const std::string& pod, const std::string& asks);

  struct Group {
    std::string sentence;
    std::size_t pods = 0;
    std::string example;
    std::string asks;
  };
  /// The commonest first; equals by sentence.
  [[nodiscard]] std::vector<Group> groups() const;
  [[nodiscard]] std::string draw(const drawing::Look& look) const;

 private:
  std::map<std::string, Group> groups_;
};

}  // namespace tangram::bench::demo
