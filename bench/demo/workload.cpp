#include "bench/demo/workload.hpp"

#include "base/json_members.hpp"
#include "base/number.hpp"
#include "base/quote.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tangram::bench::demo {

namespace {

constexpr std::string_view kOurs = "tangram.dev/gpu-";
constexpr std::string_view kWeight = "demo.tangram.dev/weight";
constexpr std::string_view kLifetime = "demo.tangram.dev/lifetime";

struct Metadata {
  std::string kind;
  std::string ns = "default";
  std::string generate_name;
  std::vector<std::pair<std::string, std::string>> annotations;  ///< as written
};

Result<Metadata> read_object(std::string json) {
  Metadata metadata;
  json::Reader in(json);
  const auto read_annotations = [&](json::Reader& annotations) {
    annotations.object([&](std::string_view name) {
      metadata.annotations.emplace_back(name, annotations.string());
    });
  };
  json::read_members(in, "kind", metadata.kind, "metadata",
                     json::members("namespace", metadata.ns, "generateName", metadata.generate_name,
                                   "annotations", read_annotations));
  if (auto done = in.finish(); !done) return done.error();
  return metadata;
}

Result<std::uint64_t> read_note(const Metadata& metadata, std::string_view name,
                                std::uint64_t most) {
  const auto found = std::find_if(metadata.annotations.begin(), metadata.annotations.end(),
                                  [&](const auto& annotation) { return annotation.first == name; });
  const std::string remedy = "; write annotation " + std::string(name) +
                             " with a whole number from 1 to " + std::to_string(most);
  if (found == metadata.annotations.end()) {
    return fail(Errc::kInvalidArgument, "the pod has no annotation " + std::string(name) + remedy);
  }
  const auto value = parse_number<std::uint64_t>(found->second);
  if (!value || *value < 1 || *value > most) {
    return fail(Errc::kInvalidArgument, quote(found->second) + " is not a valid value" + remedy);
  }
  return *value;
}

Result<PodKind> pod_kind(const std::string& json) {
  const auto metadata = read_object(json);
  if (!metadata) return metadata.error();
  if (metadata->kind != "Pod") {
    return fail(Errc::kInvalidArgument,
                "kind is " + quote(metadata->kind) + "; write only objects of kind Pod");
  }
  if (metadata->generate_name.size() < 2 || metadata->generate_name.back() != '-') {
    return fail(Errc::kInvalidArgument,
                "the pod is a template for many; write a generateName that ends in '-'");
  }
  const auto weight = read_note(*metadata, kWeight, kMaxWeight);
  if (!weight) return weight.error();
  const auto lifetime = read_note(*metadata, kLifetime, kMaxLifetime);
  if (!lifetime) return lifetime.error();
  PodKind kind{.ns = metadata->ns,
               .name = metadata->generate_name.substr(0, metadata->generate_name.size() - 1),
               .json = json,
               .request = request_text(metadata->annotations, kOurs),
               .weight = *weight,
               .lifetime = static_cast<int>(*lifetime)};
  return kind;
}

}  // namespace

Result<std::vector<PodKind>> read_pod_kinds(const std::string& yaml) {
  const auto objects = kube::yaml_to_json(yaml);
  if (!objects) return objects.error();
  std::vector<PodKind> kinds;
  for (const kube::YamlObject& object : *objects) {
    auto kind = pod_kind(object.json);
    if (!kind) {
      return fail(Errc::kInvalidArgument,
                  "line " + std::to_string(object.line) + ": " + kind.error().message);
    }
    kinds.push_back(std::move(*kind));
  }
  if (kinds.empty()) return fail(Errc::kInvalidArgument, "the file has no Pod; write at least one");
  return kinds;
}

Arrivals::Arrivals(const std::vector<PodKind>& kinds, std::uint64_t seed)
    : kinds_(kinds), random_(seed), first_(kinds.size()) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    first_[i] = i;
    weights_ += kinds[i].weight;
  }
  for (std::size_t i = first_.size(); i > 1; --i) std::swap(first_[i - 1], first_[below(i)]);
}

std::uint64_t Arrivals::below(std::uint64_t bound) {
  return random_() % bound;  // the bounds are tiny beside 2^64: the bias is negligible
}

Arrivals::Arrival Arrivals::next() {
  Arrival arrival;
  if (!first_.empty()) {
    arrival.kind = first_.back();
    first_.pop_back();
  } else {
    std::uint64_t ticket = below(weights_);
    while (ticket >= kinds_[arrival.kind].weight) ticket -= kinds_[arrival.kind++].weight;
  }
  const int mean = kinds_[arrival.kind].lifetime;
  arrival.lifetime =
      std::max(1, mean / 2 + static_cast<int>(below(static_cast<std::uint64_t>(mean) + 1)));
  return arrival;
}

}  // namespace tangram::bench::demo
