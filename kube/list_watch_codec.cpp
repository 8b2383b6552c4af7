#include "kube/list_watch_codec.hpp"

#include "base/json.hpp"
#include "base/quote.hpp"

#include <string_view>

namespace tangram::kube {

namespace {

constexpr std::string_view kListEnds = "k8s.io/initial-events-end";

void read_metadata(json::Reader& in, WatchEvent& event) {
  std::string ns;
  std::string name;
  in.object([&](std::string_view member) {
    if (member == "resourceVersion") {
      event.version = in.string();
    } else if (member == "namespace") {
      ns = in.string_or_null();
    } else if (member == "name") {
      name = in.string_or_null();
    } else if (member == "annotations") {
      in.object([&](std::string_view annotation) {
        if (annotation != kListEnds) return in.skip();
        event.ends_list = in.string() == "true";
      });
    } else {
      in.skip();
    }
  });
  event.key = ns + "/" + name;
}

void read_object(json::Reader& in, WatchEvent& event) {
  in.object([&](std::string_view member) {
    if (member == "metadata") {
      read_metadata(in, event);
    } else if (member == "code" && in.kind() == json::Kind::kNumber) {
      event.code = in.integer();
    } else if (member == "message" && in.kind() == json::Kind::kString) {
      event.message = in.string();
    } else {
      in.skip();
    }
  });
}

/// @returns false if no frame has that type
bool set_type(std::string_view type, WatchEvent& event) {
  if (type == "ADDED") {
    event.change = EventType::kAdded;
  } else if (type == "MODIFIED") {
    event.change = EventType::kModified;
  } else if (type == "DELETED") {
    event.change = EventType::kDeleted;
  } else if (type == "ERROR") {
    event.is_error = true;
  } else {
    return type == "BOOKMARK";
  }
  return true;
}

void read_list_metadata(json::Reader& in, ListPage& page) {
  in.object([&](std::string_view key) {
    if (key == "resourceVersion") {
      page.version = in.string();
    } else if (key == "continue") {
      page.more = in.string_or_null();
    } else {
      in.skip();
    }
  });
}

}  // namespace

Result<WatchEvent> read_watch_event(const std::string& frame) {
  std::string copy = frame;  // parsed in place; the object is cut from the original
  json::Reader in(copy);
  WatchEvent event;
  std::string type;
  in.object([&](std::string_view member) {
    if (member == "type") {
      type = in.string();
    } else if (member == "object") {
      const auto span = in.span();
      event.object = frame.substr(span.begin, span.end - span.begin);
      read_object(in, event);
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (!set_type(type, event)) {
    return fail(Errc::kInvalidArgument, "unknown frame type " + quote(type));
  }
  if (event.object.empty() || (!event.is_error && event.version.empty())) {
    return fail(Errc::kInvalidArgument, "a frame needs object.metadata.resourceVersion");
  }
  return event;
}

Result<ListPage> read_list(const std::string& text, std::vector<std::string>& objects) {
  std::string copy = text;
  json::Reader in(copy);
  ListPage page;
  in.object([&](std::string_view key) {
    if (key == "metadata") {
      read_list_metadata(in, page);
    } else if (key == "items") {
      in.array([&] {
        const auto span = in.span();
        if (span.end == 0) return in.fail("expected an object");
        objects.push_back(text.substr(span.begin, span.end - span.begin));
        in.skip();
      });
    } else {
      in.skip();
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  if (page.version.empty()) {
    return fail(Errc::kInvalidArgument, "a list needs metadata.resourceVersion");
  }
  return page;
}

}  // namespace tangram::kube
