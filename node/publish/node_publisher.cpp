#include "node/publish/node_publisher.hpp"

#include "kube/client.hpp"
#include "kube/url.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace tangram::node {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstBackoff{100};  // a conflict with another writer
constexpr milliseconds kMaxBackoff{30'000};
constexpr milliseconds kWriteTimeout{5'000};

// A card that fails and recovers, or another writer, must not cause many writes: the API server
// sends each to all schedulers and kubelets that watch the Node.
constexpr int kWriteBurst = 10;
constexpr seconds kWriteInterval{5};

/// What refuses labels, as a policy does, does not change soon, and cards must not wait for them.
/// More often, the failures would raise the alert TangramRecordNotWritten.
constexpr std::chrono::minutes kRefusedPause{10};
constexpr std::string_view kLabels = "the labels of --gpu-labels";

bool is_refusal(const kube::Response& response) {
  constexpr int kForbidden = 403;
  constexpr int kInvalid = 422;
  return response.status == kForbidden || response.status == kInvalid;
}

kube::ReflectorOptions own_node_only(const std::string& name) {
  return {.path = "/api/v1/nodes",
          .field_selector = "metadata.name=" + name,
          .max_kept_bytes = std::size_t{16} << 20U};  // it is one object
}

}  // namespace

NodePublisher::NodePublisher(PublisherSettings settings, Parts parts)
    : settings_(std::move(settings)),
      parts_(std::move(parts)),
      path_("/api/v1/nodes/" + kube::percent_encode(settings_.node)),
      reflector_(parts_.api, own_node_only(settings_.node), *this, parts_.clock, parts_.sleeper),
      limiter_(kWriteInterval, kWriteBurst, parts_.clock) {}

void NodePublisher::start() {
  watching_ = std::jthread([this](const std::stop_token& stop) { reflector_.run(stop); });
  writing_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void NodePublisher::stop() {
  for (std::jthread* thread : {&watching_, &writing_}) thread->request_stop();
  for (std::jthread* thread : {&watching_, &writing_}) {
    if (thread->joinable()) thread->join();
  }
}

void NodePublisher::changed() {
  const std::lock_guard lock(mutex_);
  changed_ = true;
  settled_ = false;
  woken_.notify_all();
}

NodePublisher::Counts NodePublisher::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool NodePublisher::settled() const {
  const std::lock_guard lock(mutex_);
  return settled_;
}

void NodePublisher::replace(std::vector<std::string> objects) {
  if (objects.empty()) return lose("");
  {
    // A list is current even if versions are smaller: the server was restored from a backup.
    const std::lock_guard lock(mutex_);
    newest_.clear();
  }
  for (std::string& object : objects) see(std::move(object));
}

void NodePublisher::change(kube::EventType type, std::string_view object) {
  if (type != kube::EventType::kDeleted) return see(std::string(object));
  const auto node = decode_own_node(std::string(object));
  lose(node ? node->version : "");
}

/// Takes a state of the Node, from the watch or the response to a write, if it is newer.
void NodePublisher::see(std::string object) {
  auto node = decode_own_node(std::move(object));
  if (!node) {
    return spdlog::warn("node {} could not be read and is assumed to be unchanged: {}",
                        settings_.node, node.error().message);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_newer(node->version, newest_)) return;
    newest_ = node->version;
    node_ = *node;
    changed_ = true;
    settled_ = false;
    woken_.notify_all();
  }
  parts_.seen(*node);
}

void NodePublisher::lose(std::string_view version) {
  spdlog::warn("node {} is not there; its cards will be published once it is", settings_.node);
  const std::lock_guard lock(mutex_);
  node_.reset();
  if (is_newer(version, newest_)) newest_ = version;
  settled_ = false;
}

void NodePublisher::run(const std::stop_token& stop) {
  milliseconds backoff = kFirstBackoff;
  while (!stop.stop_requested()) {
    await_turn(stop);
    if (stop.stop_requested()) return;
    const Turn turn = take_turn();
    if (turn == Turn::kFailed) {
      parts_.sleeper(backoff, stop);
      backoff = std::min(backoff * 2, kMaxBackoff);
      changed();
      continue;
    }
    backoff = kFirstBackoff;
    if (turn == Turn::kTooSoon) {
      parts_.sleeper(kWriteInterval, stop);
      changed();
    }
  }
}

void NodePublisher::await_turn(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  woken_.wait(lock, stop, [&] { return changed_; });
  changed_ = false;
}

NodePublisher::Turn NodePublisher::take_turn() {
  std::optional<OwnNode> node;
  {
    const std::lock_guard lock(mutex_);
    node = node_;
  }
  const CardsPtr cards = parts_.cards();
  const auto pods = parts_.pods();
  const auto other_owners = parts_.other_owners();
  if (!node || !cards || !pods || !other_owners) return Turn::kNothingToDo;
  const auto record = record_of(*cards, *node, *pods, *other_owners, settings_.record);
  if (!record) {
    spdlog::error("node {}: {}", settings_.node, record.error().message);
    const std::lock_guard lock(mutex_);
    ++counts_.failures;
    return Turn::kNothingToDo;  // the same again until the cards change
  }
  report_notices(*node, record->notices);
  if (auto next = next_write(*cards, *node, *record)) {
    return limiter_.reserve(std::chrono::nanoseconds(0)) ? write(*node, std::move(*next))
                                                         : Turn::kTooSoon;
  }
  const std::lock_guard lock(mutex_);
  settled_ = !changed_;
  return Turn::kNothingToDo;
}

std::optional<NodePublisher::Write> NodePublisher::next_write(const CardsNow& cards,
                                                              const OwnNode& node,
                                                              const NodeRecord& record) {
  if (auto patch = metadata_patch(node, record)) {
    return Write{"cards, labels and resizes", "", std::move(*patch)};
  }
  if (auto patch = capacity_patch(node, record)) {
    return Write{"capacities", "/status", std::move(*patch)};
  }
  if (!settings_.labels) return std::nullopt;
  auto patch = labels_patch(cards, node, *settings_.labels);
  if (!patch) labels_not_before_.reset();
  if (!patch || (labels_not_before_ && parts_.clock.now() < *labels_not_before_)) {
    return std::nullopt;
  }
  return Write{kLabels, "", std::move(*patch)};
}

NodePublisher::Turn NodePublisher::write(const OwnNode& node, Write write) {
  kube::Request request;
  request.method = kube::Method::kPatch;
  request.path = std::string(path_).append(write.subresource);
  request.content_type = "application/merge-patch+json";
  request.body = std::move(write.patch);
  request.timeout = kWriteTimeout;
  auto response = parts_.api.call(request);
  const bool taken = response && response->status == 200;
  {
    const std::lock_guard lock(mutex_);
    ++(taken ? counts_.writes : counts_.failures);
  }
  if (taken) {
    spdlog::info("node {}: published {}", settings_.node, write.what);
    see(std::move(response->body));
    return Turn::kWrote;
  }
  const std::string answer =
      response ? std::to_string(response->status) + ": " + kube::status_message(*response)
               : response.error().message;
  spdlog::warn("node {}: {} could not be written: {}", settings_.node, write.what, answer);
  const bool refused = write.what == kLabels && response && is_refusal(*response);
  return refused ? refuse_labels(node, answer) : Turn::kFailed;
}

NodePublisher::Turn NodePublisher::refuse_labels(const OwnNode& node, const std::string& answer) {
  const bool again = labels_not_before_.has_value();
  labels_not_before_ = parts_.clock.now() + kRefusedPause;
  if (!again) {
    report({"GpuLabelsRefused", "the API server refuses " + std::string(kLabels) +
                                    "; apply the agents' policy that allows them, or remove the "
                                    "flag (docs/node.md). Its answer is " +
                                    answer},
           node);
  }
  return Turn::kNothingToDo;
}

void NodePublisher::report_notices(const OwnNode& node, const std::vector<Notice>& notices) {
  for (const Notice& notice : notices) {
    if (!reported_.contains(notice)) report(notice, node);
  }
  reported_ = {notices.begin(), notices.end()};
}

void NodePublisher::report(const Notice& notice, const OwnNode& node) const {
  spdlog::warn("node {}: {}: {}", node.name, notice.reason, notice.sentence);
  parts_.report_event({.kind = "Node",
                       .ns = "",
                       .name = node.name,
                       .uid = node.uid,
                       .type = kube::EventNote::Type::kWarning,
                       .reason = notice.reason,
                       .action = "Publish",
                       .note = notice.sentence});
}

}  // namespace tangram::node
