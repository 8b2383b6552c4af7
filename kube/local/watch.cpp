#include "kube/local/watch.hpp"

#include "kube/local/query.hpp"

#include <fmt/format.h>

#include <utility>

namespace tangram::kube {

namespace {

// A real server's --min-request-timeout: how long a watch lasts by default.
constexpr std::chrono::seconds kDefaultTimeout{1'800};

/// 0 means the default; a longer one is cut, as sums with it must not overflow.
std::chrono::seconds timeout_of(std::uint64_t requested) {
  const auto longest = static_cast<std::uint64_t>(kDefaultTimeout.count());
  if (requested == 0 || requested > longest) return kDefaultTimeout;
  return std::chrono::seconds(requested);
}

std::string_view type_name(bool before, bool after) {
  if (!before) return "ADDED";
  return after ? "MODIFIED" : "DELETED";
}

/// One open watch.
class Stream {
 public:
  Stream(const LocalStore& store, const WatchOrder& order, const WatchFrame& frame,
         const std::stop_token& stop)
      : store_(store),
        order_(order),
        frame_(frame),
        stop_(stop),
        deadline_(std::chrono::steady_clock::now() + order.timeout),
        epoch_(store.epoch()),
        position_(order.range.at) {}

  void run() {
    if (order_.from_now && !send_everything()) return;
    bool progress = true;  // the first is that it is up to date
    while (!over()) {
      const LocalStore::Batch batch = store_.events_after(kind(), position_, epoch_);
      if (batch.expired) return send_expired();
      if (!send(batch)) return;
      progress = progress || !batch.events.empty();
      if (!batch.drained) continue;
      if (progress && order_.bookmarks && !send_bookmark()) return;
      progress = false;
      if (!store_.wait(kind(), position_, epoch_, deadline_, stop_)) return;
    }
  }

 private:
  [[nodiscard]] ResourceKind kind() const { return order_.range.kind; }
  [[nodiscard]] bool over() const {
    return stop_.stop_requested() || std::chrono::steady_clock::now() >= deadline_;
  }

  /// What there is, as if it had just been created.
  bool send_everything() {
    LocalStore::Range range = order_.range;
    range.at = store_.version();
    const auto all = store_.page(range, "", 0);
    if (!all) return send_expired(), false;
    for (const ObjectPtr& object : all->objects) {
      if (!send("ADDED", *object, object->version)) return false;
    }
    position_ = range.at;
    return true;
  }

  bool send(const LocalStore::Batch& batch) {
    for (const StoreEvent& event : batch.events) {
      if (!send(event)) return false;
    }
    position_ = batch.position;
    return true;
  }

  [[nodiscard]] bool selects(const ObjectPtr& object) const {
    return object != nullptr && order_.range.selector.matches(object->fields());
  }

  /// An object that comes to match is new to this watch, one that no longer does is gone.
  bool send(const StoreEvent& event) {
    const std::string& prefix = order_.range.prefix;
    if (!prefix.empty() && event.fields().ns + "/" != prefix) return true;
    const bool before = selects(event.before);
    const bool after = selects(event.after);
    if (!before && !after) return true;
    const StoredObject& shown = after ? *event.after : *event.before;
    return send(type_name(before, after), shown, event.version);
  }

  bool send(std::string_view type, const StoredObject& object, std::uint64_t version) {
    std::string text;
    text.reserve(object.content.tail.size() + 160);
    text.append(R"({"type":")").append(type).append(R"(","object":)");
    append_object(text, kind(), object, version);
    text += '}';
    return frame_(std::move(text));
  }

  bool send_bookmark() {
    return frame_(
        fmt::format(R"({{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}",)"
                    R"("metadata":{{"resourceVersion":"{}","creationTimestamp":null}}}}}})",
                    info(kind()).kind, info(kind()).api_version, position_));
  }

  /// A real server too has sent status 200 by then.
  void send_expired() {
    const Refusal why = expired("too old resource version: " + std::to_string(position_));
    frame_(R"({"type":"ERROR","object":)" + status_text(why) + "}");
  }

  const LocalStore& store_;
  const WatchOrder& order_;
  const WatchFrame& frame_;
  const std::stop_token& stop_;
  const std::chrono::steady_clock::time_point deadline_;
  const std::uint64_t epoch_;
  std::uint64_t position_;
};

}  // namespace

ApiResult<WatchOrder> read_watch(const Route& route, const Request& request,
                                 std::uint64_t current) {
  if (query_value(request, "sendInitialEvents") != nullptr) {
    return invalid("ListOptions.meta.k8s.io", "",
                   "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless "
                   "the WatchList feature gate is enabled");
  }
  if (auto good = check_query(request); !good) return good.error();
  WatchOrder order;
  order.range.kind = route.kind;
  order.range.prefix = key_prefix(route);
  auto selector = query_selector(request, route.kind);
  if (!selector) return selector.error();
  order.range.selector = std::move(*selector);
  const std::string* version = query_value(request, "resourceVersion");
  order.from_now = version == nullptr || *version == "0";
  if (!order.from_now) {
    const auto at = parse_version(*version, current);
    if (!at) return at.error();
    order.range.at = *at;
  }
  order.bookmarks = query_flag(request, "allowWatchBookmarks");
  const auto timeout = query_count(request, "timeoutSeconds", 0);
  if (!timeout) return timeout.error();
  order.timeout = timeout_of(*timeout);
  return order;
}

void run_watch(const LocalStore& store, const WatchOrder& order, const WatchFrame& frame,
               const std::stop_token& stop) {
  Stream(store, order, frame, stop).run();
}

}  // namespace tangram::kube
