#pragma once

#include "bench/extender_client.hpp"
#include "drawing/terminal.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench::demo {

/// The reason of the in-tree checks, which come before the extender.
inline constexpr std::string_view kNoCpu = "no node has enough free CPU and memory";

/// The most helpful reason for the pod's owner: that of the node which came nearest to taking the
/// pod. (For a pod that requests a rare model, it does not help that most nodes have another.)
[[nodiscard]] std::string first_sentence(const ExtenderClient::Filtered& answer);

/// Reasons with the number of their pods, and one of these pods.
class Refusals {
 public:
  void add(const std::string& sentence, const std::string& pod, const std::string& request);

  struct Group {
    std::string sentence;
    std::size_t pods = 0;
    std::string example;
    std::string request;
  };
  /// The most common first; equal ones by sentence.
  [[nodiscard]] std::vector<Group> groups() const;
  [[nodiscard]] std::string draw(const drawing::Style& style) const;

 private:
  std::map<std::string, Group> groups_;
};

}  // namespace tangram::bench::demo
