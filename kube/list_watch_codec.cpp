#include "kube/list_watch_codec.hpp"

#include "base/json.hpp"
#include "base/json_scan.hpp"
#include "base/quote.hpp"
#include "kube/object_scan.hpp"

namespace tangram::kube {

namespace {

constexpr std::string_view kListEnds = "k8s.io/initial-events-end";

Error not_an_object(std::string_view what) {
  return fail(Errc::kInvalidArgument, std::string(what) + " is no JSON object");
}

/// Of a bookmark.
bool ends_list(std::string_view annotations) {
  bool ends = false;
  const bool good =
      json::for_each_member(annotations, [&](std::string_view name, std::string_view value) {
        ends = ends || (name == kListEnds && json::raw_string(value) == "true");
      });
  return good && ends;
}

/// Metadata come first in what servers write, so little of the object is looked at.
void read_metadata(std::string_view object, WatchEvent& event) {
  event.version = scan_text(json::find(object, {"metadata", "resourceVersion"}));
  if (!event.change) event.ends_list = ends_list(json::find(object, {"metadata", "annotations"}));
}

/// Of a metav1.Status, which is small.
Result<void> read_status(std::string text, WatchEvent& event) {
  json::Reader in(text);
  in.object([&](std::string_view member) {
    if (member == "code" && in.kind() == json::Kind::kNumber) {
      event.code = in.integer();
    } else if (member == "message" && in.kind() == json::Kind::kString) {
      event.message = in.string();
    } else {
      in.skip();
    }
  });
  return in.finish();
}

/// @returns false if no frame has that type
bool set_type(std::string_view type, WatchEvent& event) {
  if (type == "ADDED") event.change = EventType::kAdded;
  if (type == "MODIFIED") event.change = EventType::kModified;
  if (type == "DELETED") event.change = EventType::kDeleted;
  event.is_error = type == "ERROR";
  return event.change || event.is_error || type == "BOOKMARK";
}

/// @returns false if it is not an object
bool read_list_metadata(std::string_view metadata, ListPage& page) {
  return json::for_each_member(metadata, [&](std::string_view key, std::string_view value) {
    if (key == "resourceVersion") page.version = scan_text(value);
    if (key == "continue") page.more = scan_text(value);
  });
}

}  // namespace

Result<WatchEvent> read_watch_event(std::string_view frame) {
  WatchEvent event;
  std::string_view type;
  std::string_view object;
  const bool good = json::for_each_member(frame, [&](std::string_view key, std::string_view value) {
    if (key == "type") type = json::raw_string(value);
    if (key == "object") object = value;
  });
  if (!good) return not_an_object("a frame");
  if (!set_type(type, event)) {
    return fail(Errc::kInvalidArgument, "unknown frame type " + quote(type));
  }
  event.object = object;
  if (event.is_error) {
    if (auto read = read_status(std::string(object), event); !read) return read.error();
    return event;
  }
  read_metadata(object, event);
  if (event.version.empty()) {
    return fail(Errc::kInvalidArgument, "a frame needs object.metadata.resourceVersion");
  }
  return event;
}

Result<ListPage> read_list(std::string_view text,
                           const std::function<void(std::string_view)>& item) {
  ListPage page;
  bool good = true;
  const auto take_item = [&](std::string_view value) {
    good = good && value.front() == '{';
    if (good) item(value);
  };
  const bool whole = json::take_members(text, [&](std::string_view key, std::string_view rest) {
    if (key == "items") return json::take_elements(rest, take_item);
    const std::size_t size = json::end_of_value(rest, 0);
    if (key == "metadata") good = good && read_list_metadata(rest.substr(0, size), page);
    return size;
  });
  if (!whole || !good) return not_an_object("a list");
  if (page.version.empty()) {
    return fail(Errc::kInvalidArgument, "a list needs metadata.resourceVersion");
  }
  return page;
}

bool older_version(std::string_view a, std::string_view b) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(a) || !is_number(b)) return false;
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string object_key(std::string_view object) {
  const ObjectId id = scan_id(object);
  return id.ns + "/" + id.name;
}

}  // namespace tangram::kube
