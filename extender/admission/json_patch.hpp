#pragma once

#include "kube/pod_manifest.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// Operations on a JSON document, in the form of RFC 6902. Nothing is added twice: the caller
/// looks at the document first.
class JsonPatch {
 public:
  /// "nvidia.com/gpu" -> "/nvidia.com~1gpu": one more step of a path.
  [[nodiscard]] static std::string step(std::string_view name);

  /// Adds a member, or replaces the one that is there; "-" as the last step appends to a list.
  void add(std::string_view path, std::string_view text);
  /// The same with a value that is JSON already.
  void add_json(std::string_view path, std::string_view json);
  void remove(std::string_view path);

  /// Adds to a map of texts, which is made if it is not there.
  /// @param more  names that stand there are replaced
  void add_to_map(const std::string& path, bool is_there, const kube::StringMap& more);

  /// Adds to and removes from a map of texts, which is made if it is not there: an empty one and a
  /// missing one look alike here and are both replaced.
  /// @param current  what stands there
  /// @param more     to add; names that stand there are replaced
  /// @param without  to remove; names that do not stand there are passed over
  void edit_map(const std::string& path, const kube::StringMap& current,
                const kube::StringMap& more, const std::vector<std::string>& without = {});

  [[nodiscard]] bool empty() const { return operations_.empty(); }
  /// The whole patch as a JSON list; "" if there is nothing to do.
  [[nodiscard]] std::string text() const;

 private:
  std::string operations_;
};

/// A map of texts as JSON.
[[nodiscard]] std::string to_json(const kube::StringMap& texts);

}  // namespace tangram::extender
