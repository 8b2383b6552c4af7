#include "base/json.hpp"
#include "kube/list_watch_codec.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using Objects = std::vector<std::string>;

std::string list_of(const kube::ListPage& page, const Objects& objects) {
  std::string text;
  json::Writer out(text);
  out.begin_object().key("metadata").begin_object();
  out.member("resourceVersion", page.version).member("continue", page.more).end_object();
  out.key("items").begin_array();
  for (const std::string& object : objects) out.raw(object);
  out.end_array().end_object();
  return text;
}

}  // namespace

/// Any text: is refused, or is cut into objects of which the same list can be made again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Objects objects;
  const auto page = kube::read_list(fuzz::text_of(data, size),
                                    [&](std::string_view object) { objects.emplace_back(object); });
  // No JSON holds a zero byte: whoever decodes the object says so, and the writer here stops.
  if (!page || fuzz::text_of(data, size).find('\0') != std::string::npos) return 0;
  for (const std::string& object : objects) {
    fuzz::require(kube::object_key(object).find('/') != std::string::npos);
  }
  Objects again;
  const auto same = kube::read_list(list_of(*page, objects),
                                    [&](std::string_view object) { again.emplace_back(object); });
  fuzz::require(same && same->version == page->version && same->more == page->more);
  fuzz::require(again == objects);
  return 0;
}
