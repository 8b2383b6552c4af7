#include "node/vendor/nvidia/sharing/sharing_file.hpp"

#include "base/json_members.hpp"
#include "base/quote.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace tangram::node::nvidia {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kMig = "nvidia.com/mig-";
constexpr std::string_view kMigInModel = " MIG ";  // of a MIG instance's model, before its profile

/// One of sharing.timeSlicing and sharing.mps.
struct Replicated {
  bool renamed = false;
  std::optional<bool> fail_more_than_one;
  std::map<std::string, int, std::less<>> replicas;
};

MigStrategy read_mig(json::Reader& in) {
  constexpr std::array<std::string_view, 3> kNames{"none", "single", "mixed"};
  const std::string_view text = in.string_or_null();
  const auto name = std::ranges::find(kNames, text);
  if (name == kNames.end()) in.fail(quote(text) + " is no strategy; write none, single or mixed");
  return static_cast<MigStrategy>((name - kNames.begin()) % std::ssize(kNames));
}

void read_resource(json::Reader& in, Replicated& into, std::vector<std::string>& ignored) {
  std::string name;
  std::optional<int> replicas;
  const auto unsupported = [&](json::Reader& from) {
    from.skip();
    ignored.emplace_back("rename and devices of a resource: NVIDIA's plugin ignores them, too");
  };
  json::read_members(in, "name", name, "replicas", replicas, "rename", unsupported, "devices",
                     unsupported);
  if (in.failed()) return;
  if (!name.starts_with("nvidia.com/")) name = "nvidia.com/" + name;
  if (name != kGpu && !name.starts_with(kMig)) {
    return in.fail(quote(name) +
                   " cannot be shared; write nvidia.com/gpu or nvidia.com/mig-PROFILE");
  }
  if (!replicas || *replicas < 2 || *replicas > model::Replicas::kMost) {
    return in.fail("replicas of " + name + " is not a number from 2 to " +
                   std::to_string(model::Replicas::kMost) + ", the most pods on a card");
  }
  if (!into.replicas.emplace(name, *replicas).second) in.fail(name + " stands twice");
}

Replicated read_replicated(json::Reader& in, std::vector<std::string>& ignored) {
  Replicated read;
  const auto resources = [&](json::Reader& from) {
    from.array([&] { read_resource(from, read, ignored); });
  };
  json::read_members(in, "renameByDefault", read.renamed, "failRequestsGreaterThanOne",
                     read.fail_more_than_one, "resources", resources);
  if (!in.failed() && read.replicas.empty()) {
    in.fail("has no resources; write name and replicas of one, such as nvidia.com/gpu and 4");
  }
  return read;
}

struct Sharing {
  std::optional<Replicated> time_slicing;
  std::optional<Replicated> mps;
};

auto replicated_into(std::optional<Replicated>& into, std::vector<std::string>& ignored) {
  return [&](json::Reader& in) {
    if (in.kind() == json::Kind::kNull) return in.skip();
    into = read_replicated(in, ignored);
  };
}

void take(const Replicated& read, SharingFile::Strategy strategy, SharingFile& file) {
  file.strategy = strategy;
  file.renamed = read.renamed;
  file.fail_more_than_one = read.fail_more_than_one.value_or(false);
  file.replicas = read.replicas;
}

Result<void> take(const Sharing& sharing, SharingFile& file) {
  using Strategy = SharingFile::Strategy;
  if (sharing.time_slicing && sharing.mps) {
    return fail(Errc::kInvalidArgument,
                "sharing: timeSlicing and mps cannot stand together; write one of them");
  }
  if (sharing.time_slicing) take(*sharing.time_slicing, Strategy::kTimeSlicing, file);
  if (!sharing.mps) return {};
  take(*sharing.mps, Strategy::kMps, file);
  const auto others = [](const auto& resource) { return resource.first != kGpu; };
  if (std::ranges::any_of(file.replicas, others)) {
    return fail(Errc::kInvalidArgument,
                "sharing.mps: MPS does not run on MIG instances; write nvidia.com/gpu only, or "
                "timeSlicing");
  }
  if (sharing.mps->fail_more_than_one == false) {
    file.ignored.emplace_back(
        "sharing.mps.failRequestsGreaterThanOne: false, because a container can speak to the MPS "
        "daemon of one card only");
  }
  file.fail_more_than_one = true;
  return {};
}

/// Under which NVIDIA's plugin advertises the card; "" = it does not.
std::string resource_of(MigStrategy mig, const model::Card& card) {
  if (card.kind != model::CardKind::kMig || mig == MigStrategy::kSingle) return std::string(kGpu);
  const std::size_t at = card.model.rfind(kMigInModel);
  if (mig == MigStrategy::kNone || at == std::string::npos) return "";
  std::string profile = card.model.substr(at + kMigInModel.size());
  std::ranges::replace(profile, '+', '.');
  return std::string(kMig) + profile;
}

model::CardResource card_resource(MigStrategy mig, const model::Card& card, bool shared) {
  using model::CardResource;
  // A pod names the profile by gpu-model. With the strategy single, instances are counted as cards.
  const bool is_instance = card.kind == model::CardKind::kMig && mig != MigStrategy::kSingle;
  if (is_instance) return shared ? CardResource::kMigShared : CardResource::kMig;
  return shared ? CardResource::kGpuShared : CardResource::kGpu;
}

}  // namespace

Result<SharingFile> parse_sharing_file(const std::string& text) {
  const auto objects = kube::yaml_to_json(text);
  if (!objects) return objects.error();
  if (objects->size() != 1) {
    return fail(Errc::kInvalidArgument, "holds " + std::to_string(objects->size()) +
                                            " documents instead of one; write version: v1, and "
                                            "sharing below it");
  }
  SharingFile file;
  Sharing sharing;
  std::string version = "v1";
  const auto mig = [&](json::Reader& in) { file.mig = read_mig(in); };
  const auto flags = [&](json::Reader& in) {
    if (in.kind() == json::Kind::kNull) return in.skip();
    json::read_members(in, "migStrategy", mig);
  };
  const auto share = [&](json::Reader& in) {
    if (in.kind() == json::Kind::kNull) return in.skip();
    json::read_members(in, "timeSlicing", replicated_into(sharing.time_slicing, file.ignored),
                       "mps", replicated_into(sharing.mps, file.ignored));
  };
  const auto resources = [&](json::Reader& in) {
    in.skip();
    file.ignored.emplace_back("resources: NVIDIA's plugin ignores it, too");
  };
  std::string json = objects->front().json;
  json::Reader in(json);
  json::read_members(in, "version", version, "flags", flags, "sharing", share, "resources",
                     resources);
  if (auto done = in.finish(); !done) return done.error();
  if (version != "v1") {
    return fail(Errc::kInvalidArgument, "version: " + quote(version) + " is not known; write v1");
  }
  if (auto taken = take(sharing, file); !taken) return taken.error();
  return file;
}

model::Replicas replicas_of(const SharingFile& file, const model::Card& card) {
  const auto found = file.replicas.find(resource_of(file.mig, card));
  const bool shared = found != file.replicas.end();
  model::Replicas replicas;
  replicas.resource = card_resource(file.mig, card, shared && file.renamed);
  if (!shared) return replicas;
  replicas.count = found->second;
  replicas.isolation = file.strategy == SharingFile::Strategy::kMps ? model::Isolation::kMps
                                                                    : model::Isolation::kTimeSlice;
  replicas.one_each = file.fail_more_than_one;
  return replicas;
}

}  // namespace tangram::node::nvidia
