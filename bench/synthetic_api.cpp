#include "bench/synthetic_api.hpp"

#include "base/json.hpp"
#include "base/number.hpp"
#include "bench/objects.hpp"
#include "model/grant.hpp"
#include "model/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tangram::bench {

namespace {

constexpr std::int64_t kCardMemory = 81'920;

std::string card_id(int node, int card) { return fmt::format("GPU-{}-{}", node, card); }

int number_of(const kube::Request& request, const std::string& key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? 0 : parse_number<int>(found->second).value_or(0);
}

/// @param object  makes the one of that number
template <class Object>
std::string page(const kube::Request& request, int count, const Object& object) {
  const int limit = number_of(request, "limit");
  const int begin = number_of(request, "continue");
  const int end = limit == 0 ? count : std::min(count, begin + limit);
  std::string text = R"({"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1000000")";
  if (end < count) text += fmt::format(R"(,"continue":"{}")", end);
  text += R"(},"items":[)";
  for (int i = begin; i < end; ++i) {
    if (i > begin) text += ',';
    text += object(i);
  }
  return text + "]}";
}

}  // namespace

std::string managed_fields(std::size_t bytes) {
  std::string text =
      R"("managedFields":[{"manager":"kube-controller-manager","operation":"Update",)"
      R"("apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{)";
  for (int i = 0; text.size() + 4 < bytes; ++i) {
    text += fmt::format(R"({}"f:member-{}":{{".":{{}},"f:value":{{}}}})", i == 0 ? "" : ",", i);
  }
  return text + "}}]";
}

int ClusterSize::nodes_in_use() const {
  return std::max(1, static_cast<int>(std::lround(used_nodes * nodes)));
}

std::int64_t ClusterSize::room() const {
  const std::int64_t of_a_card = kWholeGpu.count() / std::max(1, pod_milli + pod_spread);
  return of_a_card * cards_per_node * nodes_in_use();
}

SyntheticApi::SyntheticApi(ClusterSize size, model::Signer signer)
    : size_(size), signer_(std::move(signer)) {
  if (size_.pod_milli > 0 && size_.pods > size_.room()) {
    throw std::invalid_argument(fmt::format(
        "{} pods with {} thousandths of a card each do not fit {} nodes of {} cards; give at most "
        "{} "
        "pods, or more nodes",
        size_.pods, size_.pod_milli, size_.nodes_in_use(), size_.cards_per_node, size_.room()));
  }
  for (int i = 0; i < size_.nodes; ++i) names_.push_back(fmt::format("gpu-node-{:05}", i));
  const std::size_t bare = size_.pods == 0 ? 0 : running_pod(0).size();
  const auto wanted = static_cast<std::size_t>(size_.pod_bytes);
  if (wanted > bare) managed_fields_ = managed_fields(wanted - bare) + ",";
}

std::string SyntheticApi::node(int number) const {
  model::NodeInventory node{.name = names_[static_cast<std::size_t>(number)],
                            .cards = {},
                            .cpu = MilliCpu(96'000),
                            .memory = Mebibytes(786'432)};
  for (int i = 0; i < size_.cards_per_node; ++i) {
    model::Card card;
    card.id = card_id(number, i);
    card.model = number % 3 == 0 ? "H100-SXM5-80GB" : "A100-SXM4-80GB";
    card.memory = Mebibytes(kCardMemory);
    node.cards.push_back(std::move(card));
  }
  return node_json(node);
}

int SyntheticApi::milli_of(int number) const {
  // Mixed, so that hardly two nodes are equal (Fibonacci hashing).
  const std::uint64_t mixed = (static_cast<std::uint64_t>(number) * 0x9E37'79B9'7F4A'7C15U) >> 33U;
  const int different = 2 * size_.pod_spread + 1;
  const auto sizes = static_cast<std::uint64_t>(different);
  return size_.pod_milli - size_.pod_spread + static_cast<int>(mixed % sizes);
}

bool SyntheticApi::has_room_for_another(int number) const {
  if (size_.pod_milli == 0) return true;
  const int cards = size_.nodes_in_use() * size_.cards_per_node;
  int taken = milli_of(number);
  for (int other = number % cards; other < size_.pods; other += cards) taken += milli_of(other);
  return taken <= kWholeGpu.count();
}

/// The text of the pod's grant.
std::string SyntheticApi::grant(const std::string& uid, int number) const {
  const int used = size_.nodes_in_use();
  const int node = number % used;
  const int milli = milli_of(number);
  const std::int64_t memory = milli * kCardMemory / kWholeGpu.count();
  std::string text = fmt::format(
      R"({{"version":1,"podUID":"{}","node":"{}","issuedAt":"2026-01-01T00:00:00Z",)"
      R"("isolation":"time-slice","containers":[{{"name":"main","cards":[{{"uuid":"{}",)"
      R"("memMiB":{},"milli":{},"memLimitMiB":{},"milliLimit":{},"whole":false}}]}}]}})",
      uid, names_[static_cast<std::size_t>(node)],
      card_id(node, number / used % size_.cards_per_node), memory, milli, memory, milli);
  if (!signer_) return text;
  const std::string signature = signer_(text);
  text.back() = ',';
  return text + R"("sig":")" + signature + R"("})";
}

std::string SyntheticApi::running_pod(int number, int generation) const {
  const int node = number % size_.nodes_in_use();
  const std::string uid =
      fmt::format("00000000-0000-4000-8{:03}-{:012}", generation % 1000, number);
  const std::string name = generation == 0 ? fmt::format("running-{}", number)
                                           : fmt::format("running-{}-{}", number, generation);
  const std::string& on = names_[static_cast<std::size_t>(node)];
  std::string annotations;
  std::string slot;
  if (size_.pod_milli > 0) {
    const int milli = milli_of(number);
    annotations = fmt::format(
        R"("tangram.dev/gpu-fraction":"{}.{:03}","tangram.dev/gpu-isolation":"time-slice",)"
        R"("tangram.dev/gpu-grant":)",
        milli / 1000, milli % 1000);
    json::Writer(annotations).string(grant(uid, number));
    slot = R"(,"tangram.dev/gpu-slot":"1")";
  }
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"{1}","uid":"{2}","resourceVersion":"{3}",)"
      R"({4}"labels":{{"app":"train-{5}","pod-template-hash":"6c9f4b{5}"}},"annotations":{{{6}}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"train-{5}",)"
      R"("uid":"11111111-1111-4111-8111-111111111111","controller":true}}]}},)"
      R"("spec":{{"nodeName":"{7}","schedulerName":"tangram","containers":[{{"name":"main",)"
      R"("image":"registry.example/train:1","resources":{{)"
      R"("limits":{{"cpu":"2","memory":"8Gi"{8}}},"requests":{{"cpu":"2","memory":"8Gi"{8}}}}}}}]}},)"
      R"("status":{{"phase":"Running","containerStatuses":[{{"name":"main","restartCount":0,)"
      R"("state":{{"running":{{"startedAt":"2026-01-01T00:00:00Z"}}}}}}]}}}})",
      name, kBenchNamespace, uid, number + 1, managed_fields_, number % 97, annotations, on, slot);
}

Result<kube::Response> SyntheticApi::call(const kube::Request& request) {
  kube::Response response{.status = 200};
  if (request.method == kube::Method::kPost) {
    response.status = 201;
    response.body = "{}";
  } else if (request.path == "/api/v1/nodes") {
    response.body = page(request, size_.nodes, [this](int i) { return node(i); });
  } else if (request.path == "/api/v1/pods") {
    response.body = page(request, size_.pods, [this](int i) { return running_pod(i); });
  } else if (request.path.starts_with("/apis/policy/")) {
    response.body = page(request, 0, [](int) { return std::string(); });
  } else {
    response.status = 404;
    response.body = R"({"kind":"Status","message":"not found","reason":"NotFound","code":404})";
  }
  return response;
}

Result<kube::Response> SyntheticApi::watch(const kube::Request& request,
                                           const kube::WatchFrame& frame, std::stop_token stop) {
  if (request.query.contains("sendInitialEvents")) {
    return kube::Response{.status = 400, .body = "no streaming lists"};
  }
  const bool of_pods = request.path == "/api/v1/pods";
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!of_pods || frames_.empty()) {
      frame_added_.wait(lock, stop, [&] { return of_pods && !frames_.empty(); });
      continue;
    }
    std::string next = std::move(frames_.front());
    frames_.pop_front();
    lock.unlock();
    if (!frame(std::move(next))) break;
    lock.lock();
  }
  return kube::Response{.status = 200};
}

std::int64_t SyntheticApi::pod_event(std::string_view type, std::string object) {
  constexpr std::string_view kKey = R"("resourceVersion":")";
  const std::size_t begin = object.find(kKey) + kKey.size();
  std::int64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    version = ++version_;
    object.replace(begin, object.find('"', begin) - begin, std::to_string(version));
    frames_.push_back(fmt::format(R"({{"type":"{}","object":{}}})", type, object));
  }
  frame_added_.notify_all();
  return version;
}

namespace {

/// The annotations of a repeated request, in the isolation mode of the running pods.
std::string known_shape(int shape) {
  switch (shape % 5) {
    case 0:
      return fmt::format(R"("tangram.dev/gpu-fraction":"0.{:03}")", 100 + shape % 400);
    case 1:
      return fmt::format(R"("tangram.dev/gpu-mem":"{}Mi")", 4'096 + 64 * shape);
    case 2:
      return fmt::format(R"("tangram.dev/gpu-fraction":"0.{:03}","tangram.dev/gpu-model":"H100*")",
                         100 + shape % 300);
    case 3:
      return fmt::format(R"("tangram.dev/gpu-mem":"{}Mi","tangram.dev/gpu-compute":"0.1")",
                         8'192 + 64 * shape);
    default:
      return fmt::format(R"("tangram.dev/gpu-fraction":"0.{:03}","tangram.dev/gpu-count":"2")",
                         100 + shape % 50);
  }
}

/// Of a request that no other pod has. It stays small, so that the millionth one fits as the first.
std::string new_shape(int number) {
  constexpr int kSizes = 4'000;
  const int round = number / kSizes;
  std::string request =
      fmt::format(R"("tangram.dev/gpu-mem":"{}Mi")", 2'049 + 2 * (number % kSizes));
  if (round > 0)
    request +=
        fmt::format(R"(,"tangram.dev/gpu-compute":"{}.{:03}")", round / 1'000, round % 1'000);
  return request;
}

/// @param annotations, containers  the members of the two as JSON
PendingPod pending(int number, std::string_view kind, const std::string& annotations,
                   const std::string& containers) {
  PendingPod pod;
  pod.uid =
      fmt::format("00000000-0000-4000-{}-{:012}", kind == "hostile" ? "a000" : "9000", number);
  pod.name = fmt::format("{}-{}", kind, number);
  pod.json = fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"{1}","uid":"{2}","resourceVersion":"{3}",)"
      R"("annotations":{{{4},"tangram.dev/gpu-isolation":"time-slice"}}}},)"
      R"("spec":{{"schedulerName":"tangram","containers":[{5}]}},"status":{{"phase":"Pending"}}}})",
      pod.name, kBenchNamespace, pod.uid, 1'000'001 + number, annotations, containers);
  return pod;
}

std::string container(std::string_view name) {
  return fmt::format(R"({{"name":"{}","image":"registry.example/train:1","resources":{{)"
                     R"("limits":{{"tangram.dev/gpu-slot":"1"}},)"
                     R"("requests":{{"cpu":"1","memory":"2Gi","tangram.dev/gpu-slot":"1"}}}}}})",
                     name);
}

}  // namespace

PendingPod pending_pod(int number, int shapes, bool unseen) {
  return pending(number, "pending", unseen ? new_shape(number) : known_shape(number % shapes),
                 container("main"));
}

PendingPod hostile_pod(int number) {
  // The largest one leaves the smallest one no room on its card; every other two go together, and
  // the sum is less than half of eight cards.
  std::string annotations;
  std::string containers;
  for (int i = 0; i < model::kMaxGpuContainers; ++i) {
    const int milli = i == 0 ? 262 : 241 + ((number >> (i % 8)) & 1) + number * (i + 1) % 7;
    const char* const comma = i == 0 ? "" : ",";
    annotations += fmt::format(R"({}"tangram.dev/gpu-fraction.c{}":"0.{}")", comma, i, milli);
    containers += comma + container(fmt::format("c{}", i));
  }
  return pending(number, "hostile", annotations, containers);
}

}  // namespace tangram::bench
