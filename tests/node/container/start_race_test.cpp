#include "base/base64.hpp"
#include "base/json.hpp"
#include "model/request.hpp"
#include "node/audit/auditor.hpp"
#include "node/container/starter.hpp"
#include "tests/node/container/start_fakes.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

namespace tangram::node {
namespace {

/// A field of bytes in protobuf's encoding, shorter than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

/// Kubelet's records, without a kubelet.
class FakeRecords final : public PodLister {
 public:
  void add(const std::string& pod, std::vector<std::string> slots, const std::string& device) {
    const std::lock_guard lock(mutex_);
    list_.push_back({"ml", pod, "main", slots});
    devices_.push_back(device);
  }
  Result<PodList> list() override {
    const std::lock_guard lock(mutex_);
    return list_;
  }
  Result<std::vector<SlotOwner>> slot_owners() {
    auto read = decode_checkpoint(checkpoint(), model::kSlotResource);
    if (!read) return read.error();
    return std::move(read->slots);
  }
  std::string checkpoint() {
    const std::lock_guard lock(mutex_);
    std::string text;
    json::Writer out(text);
    out.begin_object().key("Data").begin_object().key("PodDeviceEntries").begin_array();
    for (std::size_t i = 0; i < list_.size(); ++i) {
      out.begin_object()
          .member("PodUID", "uid-" + list_[i].pod)
          .member("ContainerName", "main")
          .member("ResourceName", model::kSlotResource)
          .key("DeviceIDs")
          .begin_object()
          .key("-1")
          .begin_array()
          .string(list_[i].slots.front())
          .end_array()
          .end_object()
          .member("AllocResp", base64_encode(field(5, field(1, devices_[i]))))
          .end_object();
    }
    out.end_array().end_object().end_object();
    return text;
  }

 private:
  std::mutex mutex_;
  PodList list_;
  std::vector<std::string> devices_;
};

/// Twice as many pods are granted a card as fit, and all start at once while audits run: exactly
/// those that fit may start, whatever the order, and never more.
TEST(StartRaceTest, NeverMoreThanTheCardHas) {
  constexpr int kPods = 32;
  constexpr std::int64_t kMilli = 1000 / (kPods / 2);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const testing::TempFolder folder;
    testing::ManualClock clock;
    FakePods pods;
    FakeSource source;
    FakeProcesses processes;
    FakeEnforcer enforcer;
    FakeRecords records;
    CdiFolder cdi(folder.path() + "/cdi");
    auto journal = Journal::open(folder.path() + "/allocations");
    ASSERT_TRUE(journal);
    Inventory inventory;
    inventory.cards.emplace_back().card = testing::card("GPU-1");
    const CardsPtr cards = std::make_shared<const CardsNow>(CardsNow{inventory, true});
    std::mt19937_64 engine(seed);
    MemoryLimiters memory_limiters(
        [](model::MemoryLimits) { return std::unique_ptr<MemoryLimiter>(); });
    ContainerStarter starter(
        {.slot_owners = [&] { return records.slot_owners(); },
         .lister = records,
         .pods = pods,
         .source = source,
         .cards = [&] { return cards; },
         .processes = processes,
         .enforcer = [&](model::Isolation) -> Enforcer& { return enforcer; },
         .memory_limiters = memory_limiters,
         .journal = *journal,
         .cdi = cdi,
         .vendor_edits =
             [](const auto&) { return Result<CdiEdits>(fail(Errc::kNotFound, "no spec")); },
         .report_event = [](const kube::EventNote&) {},
         .random = [&] { return engine(); },
         .started = [] {},
         .applied_revision = [](std::string_view) { return 0; },
         .runtime_config = [] { return RuntimeConfig{}; },
         .clock = clock,
         .sleeper = [](std::chrono::milliseconds, const std::stop_token&) {}},
        {.node = "n1", .runtime = {}, .cards_by_runtime = true});
    Auditor auditor({.node = "n1",
                     .own_pod = "",
                     .slot_owners = [&] { return records.slot_owners(); },
                     .lister = records,
                     .pods = pods,
                     .source = source,
                     .cards = [&] { return cards; },
                     .processes = processes,
                     .journal = *journal,
                     .cdi = cdi,
                     .report_event = [](const kube::EventNote&) {}});
    std::vector<int> order;
    for (int i = 0; i < kPods; ++i) {
      const std::string name = "p" + std::to_string(i);
      LocalPod pod;
      pod.pod.uid = "uid-" + name;
      pod.pod.ns = "ml";
      pod.pod.name = name;
      pod.pod.node = "n1";
      pod.pod.containers = {{.name = "main", .slots = 1}};
      pod.grant_text = encode(model::Grant{.pod_uid = pod.pod.uid,
                                           .node = "n1",
                                           .issued_at = "2026-01-01T00:00:00Z",
                                           .isolation = model::Isolation::kMps,
                                           .containers = {{"main", {part("GPU-1", 1, kMilli)}}},
                                           .signature = {}});
      read_pod_grant(pod, "n1", model::signatures_not_checked());
      pods.put(std::move(pod));
      const std::vector<std::string> slots{slot_id(i)};
      const auto answer = starter.allocate(slots);
      ASSERT_TRUE(answer);
      records.add(name, slots, answer->cdi_devices.front());
      order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), engine);
    std::atomic<int> started = 0;
    std::atomic<bool> done = false;
    std::thread auditing([&] {
      while (!done) EXPECT_TRUE(auditor.audit_once());
    });
    std::vector<std::thread> starts;
    for (const int i : order) {
      starts.emplace_back([&, i] { started += starter.prepare_start({slot_id(i)}) ? 1 : 0; });
    }
    for (auto& start : starts) start.join();
    done = true;
    auditing.join();
    // Those that come first in the order of grants, and they alone.
    EXPECT_EQ(started, kPods / 2) << "seed " << seed;
    EXPECT_EQ(cdi.names().size(), static_cast<std::size_t>(started)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tangram::node
