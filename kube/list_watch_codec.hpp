#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// What LIST and WATCH answer, cut into objects; the objects themselves stay text.
namespace tangram::kube {

enum class EventType { kAdded, kModified, kDeleted };

/// One frame of a watch.
struct WatchEvent {
  std::optional<EventType> change;  ///< neither this nor is_error = a bookmark
  bool is_error = false;
  std::string_view object;  ///< in the frame, which must outlive it
  std::string version;      ///< metadata.resourceVersion; not of errors
  bool ends_list = false;   ///< of a bookmark: a streaming list is complete
  std::int64_t code = 0;    ///< of an error
  std::string message;      ///< of an error
};

/// The object itself is passed on unread but for its version: whether it is JSON inside shows when
/// it is decoded. Of members that stand twice the first counts.
/// @returns kInvalidArgument if it is no frame
[[nodiscard]] Result<WatchEvent> read_watch_event(std::string_view frame);

/// What a page of a list has beside its items.
struct ListPage {
  std::string version;
  std::string more;  ///< the token of the next page; "" = this is the last one
};

/// Calls `item` with the text of each, unread. @returns kInvalidArgument if it is no list; some
/// calls may have been made then
[[nodiscard]] Result<ListPage> read_list(std::string_view text,
                                         const std::function<void(std::string_view)>& item);

/// Whether version `a` was there before `b`. Versions of one kind of object are decimal numbers of
/// any length (KEP-5504). @returns false if either is not one
[[nodiscard]] bool older_version(std::string_view a, std::string_view b);

/// "namespace/name" of an object, "" in place of what it does not have.
[[nodiscard]] std::string object_key(std::string_view object);

}  // namespace tangram::kube
