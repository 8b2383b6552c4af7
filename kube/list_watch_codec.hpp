#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What LIST and WATCH answer, cut into objects; the objects themselves stay text.
namespace tangram::kube {

enum class EventType { kAdded, kModified, kDeleted };

/// One frame of a watch.
struct WatchEvent {
  std::optional<EventType> change;  ///< neither this nor is_error = a bookmark
  bool is_error = false;
  std::string object;
  std::string key;         ///< "namespace/name" of the object
  std::string version;     ///< metadata.resourceVersion; not of errors
  bool ends_list = false;  ///< of a bookmark: a streaming list has been told in full
  std::int64_t code = 0;   ///< of an error
  std::string message;     ///< of an error
};

/// @returns kInvalidArgument if it is not one
[[nodiscard]] Result<WatchEvent> read_watch_event(const std::string& frame);

/// What a page of a list says beside its items.
struct ListPage {
  std::string version;
  std::string more;  ///< the token that asks for the next page; "" = this is the last one
};

/// Appends the texts of its items to `objects`. @returns kInvalidArgument if it is no list
[[nodiscard]] Result<ListPage> read_list(const std::string& text,
                                         std::vector<std::string>& objects);

}  // namespace tangram::kube
