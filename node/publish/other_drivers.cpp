#include "node/publish/other_drivers.hpp"

#include "base/json_members.hpp"
#include "kube/client.hpp"
#include "kube/list_watch_codec.hpp"

#include <spdlog/spdlog.h>

#include <array>
#include <set>
#include <utility>

namespace tangram::node {
namespace {

using std::chrono::milliseconds;

// A driver publishes its cards at its start, and again when one of them changes.
constexpr milliseconds kBetweenLists{30'000};
constexpr milliseconds kAfterFailure{5'000};
// Kubernetes is upgraded, or the right granted, while the agent runs.
constexpr milliseconds kBetweenTries{600'000};
constexpr milliseconds kListTimeout{10'000};
constexpr const char* kPageSize = "100";  // a slice has at most 128 devices, each about 1 KiB

// Newest first. A server has one of them since 1.32; v1alpha3 of 1.31 was off by default.
constexpr std::array<std::string_view, 3> kVersions{"v1", "v1beta2", "v1beta1"};

/// An attribute that Kubernetes defines for all drivers (k8s.io/dynamic-resource-allocation,
/// deviceattribute).
constexpr std::string_view kPciBus = "resource.kubernetes.io/pciBusID";

struct Names {
  std::set<std::string> cards;
  std::set<std::string> parents;
  std::set<std::string> buses;
};

void add(std::set<std::string>& to, std::string name) {
  if (!name.empty()) to.insert(std::move(name));
}

/// By the names that NVIDIA's driver gives its attributes. AMD's has no UUIDs, but places.
void read_attributes(json::Reader& in, Names& names) {
  std::string card;
  std::string parent;
  std::string bus;
  in.object([&](std::string_view name) {
    if (name == "uuid") return json::read_members(in, "string", card);
    if (name == "parentUUID") return json::read_members(in, "string", parent);
    if (name == kPciBus) return json::read_members(in, "string", bus);
    in.skip();
  });
  // Of a card with a UUID, other instances may be at the same place.
  if (card.empty()) add(names.buses, std::move(bus));
  add(names.cards, std::move(card));
  add(names.parents, std::move(parent));
}

json::Outline slice_outline() {
  const json::Outline::Member attributes{
      "attributes",
      {{"uuid", {{"string"}}}, {"parentUUID", {{"string"}}}, {kPciBus, {{"string"}}}}};
  return {.members = {{"spec", {{"driver"}, {"devices", {attributes, {"basic", {attributes}}}}}}}};
}

std::string_view find(const DriverCards::Drivers& drivers, const std::string& id) {
  const auto found = drivers.find(id);
  return found == drivers.end() ? std::string_view() : found->second;
}

Error refused(const kube::Response& response) {
  constexpr int kForbidden = 403;
  constexpr int kNotFound = 404;
  Errc code = Errc::kUnavailable;
  if (response.status == kForbidden) code = Errc::kConflict;
  if (response.status == kNotFound) code = Errc::kNotFound;
  return fail(code, "list resourceslices: " + std::to_string(response.status) + ": " +
                        kube::status_message(response));
}

/// Adds a page. @returns the token of the next one; "" = this was the last
Result<std::string> add_page(const std::string& text, DriverCards& cards) {
  Result<void> added;
  const auto page = kube::read_list(text, [&](std::string_view slice) {
    if (added) added = add_slice(std::string(slice), cards);
  });
  if (page && added) return page->more;
  return fail(Errc::kUnavailable,
              "list resourceslices: " + (page ? added.error() : page.error()).message);
}

Result<DriverCards> list_version(kube::KubeApi& api, std::string_view version,
                                 std::string_view node) {
  kube::Request request{.path = "/apis/resource.k8s.io/" + std::string(version) + "/resourceslices",
                        .query = {{"limit", kPageSize}},
                        .timeout = kListTimeout};
  if (!node.empty()) request.query["fieldSelector"] = "spec.nodeName=" + std::string(node);
  DriverCards cards;
  for (;;) {
    const auto response = api.call(request);
    if (!response) return fail(Errc::kUnavailable, response.error().message);
    if (response->status != 200) return refused(*response);
    auto more = add_page(response->body, cards);
    if (!more) return more.error();
    if (more->empty()) return cards;
    request.query["continue"] = std::move(*more);
  }
}

}  // namespace

std::string_view DriverCards::driver_of(const model::Card& card) const {
  for (const std::string_view driver : {find(cards, card.id), find(cards, card.parent),
                                        find(parents, card.id), find(buses, card.pci_bus)}) {
    if (!driver.empty()) return driver;
  }
  return "";
}

Result<void> add_slice(std::string slice, DriverCards& cards) {
  static const json::Outline kOutline = slice_outline();
  std::string driver;
  Names found;
  json::Reader in(slice, kOutline);
  const auto attributes = [&](json::Reader&) { read_attributes(in, found); };
  const auto basic = [&](json::Reader&) { json::read_members(in, "attributes", attributes); };
  const auto devices = [&](json::Reader&) {
    in.array([&] { json::read_members(in, "attributes", attributes, "basic", basic); });
  };
  const auto spec = [&](json::Reader&) {
    json::read_members(in, "driver", driver, "devices", devices);
  };
  json::read_members(in, "spec", spec);
  if (auto done = in.finish(); !done) return done;
  if (driver.empty()) return fail(Errc::kInvalidArgument, "spec.driver: missing");
  for (const std::string& uuid : found.cards) cards.cards.emplace(uuid, driver);
  for (const std::string& uuid : found.parents) cards.parents.emplace(uuid, driver);
  for (const std::string& bus : found.buses) cards.buses.emplace(bus, driver);
  return {};
}

Result<DriverCards> list_driver_cards(kube::KubeApi& api, std::string_view node) {
  for (const std::string_view version : kVersions) {
    auto cards = list_version(api, version, node);
    if (cards || cards.error().code != Errc::kNotFound) return cards;
  }
  return fail(Errc::kNotFound, "the API server has no ResourceSlices");
}

OtherDrivers::OtherDrivers(std::string node, Parts parts)
    : node_(std::move(node)), parts_(std::move(parts)) {}

void OtherDrivers::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) parts_.sleeper(look(), stop);
}

std::optional<DriverCards> OtherDrivers::published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

/// @returns how long to wait until the next list
milliseconds OtherDrivers::look() {
  auto listed = list_driver_cards(parts_.api, node_);
  if (listed) {
    update(std::move(*listed));
    return kBetweenLists;
  }
  const Error& error = listed.error();
  if (error.code == Errc::kNotFound) {
    update({});
    return kBetweenTries;
  }
  if (error.code == Errc::kConflict) {
    if (!std::exchange(refused_, true)) {
      spdlog::warn(
          "cards that DRA drivers publish, too, are not withheld: {}; apply "
          "deploy/node/rbac.yaml",
          error.message);
    }
    update(published().value_or(DriverCards{}));
    return kBetweenTries;
  }
  spdlog::warn("{}", error.message);
  return kAfterFailure;
}

void OtherDrivers::update(DriverCards now) {
  {
    const std::lock_guard lock(mutex_);
    if (published_ == now) return;
    published_ = std::move(now);
  }
  parts_.changed();
}

}  // namespace tangram::node
