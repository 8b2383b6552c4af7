#include "node/pods/pod_requests.hpp"

#include "base/json.hpp"
#include "base/quantity.hpp"
#include "kube/resources.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tangram::node {

namespace {

// 512 cards of 1000; and 2^40 MiB, as the cards annotation allows it. So no sum of a pod's
// containers, which etcd's 1.5 MiB keep below 2^16, can overflow.
constexpr std::int64_t kMostMilli = 512'000;
constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 40U;

/// One resource map; nothing = not named there.
struct CardMap {
  std::optional<std::int64_t> milli;
  std::optional<std::int64_t> memory;
  bool foreign = false;
};

std::int64_t read_count(json::Reader& in, std::int64_t most) {
  const std::string text = in.scalar_text();
  if (in.failed()) return 0;
  const auto quantity = KubeQuantity::parse(text);
  if (!quantity) {
    in.fail(quantity.error().message);
    return 0;
  }
  const std::int64_t count = quantity->units_ceil();
  if (count <= most) return count;
  in.fail(std::to_string(count) + " is more than any node has; write at most " +
          std::to_string(most));
  return 0;
}

CardMap read_map(json::Reader& in) {
  CardMap map;
  in.object([&](std::string_view name) {
    if (name == kMilliResource) {
      map.milli = read_count(in, kMostMilli);
    } else if (name == kMemoryResource) {
      map.memory = read_count(in, kMostMebibytes);
    } else if (is_foreign_gpu(name)) {
      map.foreign = in.scalar_text() != "0" || map.foreign;
    } else {
      in.skip();
    }
  });
  return map;
}

CardRequests read_resources(json::Reader& in) {
  CardMap requests;
  CardMap limits;
  in.object([&](std::string_view key) {
    if (key == "requests") {
      requests = read_map(in);
    } else if (key == "limits") {
      limits = read_map(in);
    } else {
      in.skip();
    }
  });
  // A missing request is the limit: the API server's default.
  return {.milli = MilliGpu((requests.milli ? requests.milli : limits.milli).value_or(0)),
          .memory = Mebibytes((requests.memory ? requests.memory : limits.memory).value_or(0)),
          .foreign = requests.foreign || limits.foreign};
}

struct Container {
  CardRequests requests;
  bool always_restarts = false;
};

Container read_container(json::Reader& in) {
  Container container;
  in.object([&](std::string_view key) {
    if (key == "resources") {
      container.requests = read_resources(in);
    } else if (key == "restartPolicy") {
      container.always_restarts = in.string_or_null() == "Always";
    } else {
      in.skip();
    }
  });
  return container;
}

CardRequests read_spec(json::Reader& in) {
  kube::WorstMoment<CardRequests> worst;
  in.object([&](std::string_view key) {
    if (key == "containers") {
      in.array([&] { worst.add_app(read_container(in).requests); });
    } else if (key == "initContainers") {
      in.array([&] {
        const Container init = read_container(in);
        worst.add_init(init.requests, init.always_restarts);
      });
    } else {
      in.skip();
    }
  });
  return worst.need();
}

}  // namespace

bool is_foreign_gpu(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "nvidia.com/gpu.shared" ||
         resource.starts_with("nvidia.com/mig-");
}

CardRequests operator+(const CardRequests& a, const CardRequests& b) {
  return {
      .milli = a.milli + b.milli, .memory = a.memory + b.memory, .foreign = a.foreign || b.foreign};
}

CardRequests larger_of(const CardRequests& a, const CardRequests& b) {
  return {.milli = std::max(a.milli, b.milli),
          .memory = std::max(a.memory, b.memory),
          .foreign = a.foreign || b.foreign};
}

Result<CardRequests> read_card_requests(std::string pod) {
  json::Reader in(pod);
  CardRequests requests;
  in.object([&](std::string_view key) {
    if (key != "spec") return in.skip();
    requests = read_spec(in);
  });
  if (auto done = in.finish(); !done) return done.error();
  return requests;
}

}  // namespace tangram::node
