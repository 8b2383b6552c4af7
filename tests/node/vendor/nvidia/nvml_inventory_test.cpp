#include "node/vendor/nvidia/nvml_inventory.hpp"

#include "node/vendor/nvidia/nvml_source.hpp"
#include "tests/node/vendor/nvidia/fake_machine.hpp"

#include <algorithm>

namespace tangram::node::nvidia {
namespace {

using namespace tangram::literals;
using model::Isolation;
using model::IsolationSet;

Inventory inventory_of(const std::string& script) {
  const FakeMachine machine(script);
  NvmlSource source(kFakeNvml);
  const auto found = source.inventory();
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : Inventory{};
}

TEST(NvmlInventoryTest, DescribesACard) {
  const Inventory found =
      inventory_of(R"({"driverVersion":"535.129.03","cudaVersion":"12.2","cards":[
    {"uuid":"GPU-a","model":"NVIDIA A100-SXM4-80GB","memMiB":81920,"reservedMiB":619,
     "pci":"0000:17:00.0","numa":1,"computeCapability":"8.0"}]})");
  EXPECT_EQ(found.driver, "535.129.03");
  EXPECT_EQ(found.cuda, "12.2");
  ASSERT_EQ(found.cards.size(), 1U);
  const InstalledCard& card = found.cards[0];
  EXPECT_EQ(card.card.id, "GPU-a");
  EXPECT_EQ(card.card.kind, model::CardKind::kPhysical);
  EXPECT_EQ(card.card.model, "A100-SXM4-80GB");
  EXPECT_EQ(card.card.memory, 81'301_mib);  // 81920 - 619
  EXPECT_EQ(card.total, 81'920_mib);
  EXPECT_EQ(card.reserved, 619_mib);
  EXPECT_EQ(card.card.compute, kWholeGpu);
  EXPECT_TRUE(card.card.available());
  EXPECT_EQ(card.card.numa_node, 1);
  EXPECT_EQ(card.card.pci_bus, "0000:17:00.0");
  EXPECT_EQ(card.compute_capability, "8.0");
  EXPECT_EQ(card.card.max_sharers, 48);
  EXPECT_EQ(card.index, 0);
  EXPECT_TRUE(card.card.isolation.has(Isolation::kMps));
}

TEST(NvmlInventoryTest, LeavesOutACardWhoseDriverTakesMoreThanThereIs) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","memMiB":100,"reservedMiB":101},
    {"uuid":"GPU-b","memMiB":100,"reservedMiB":17592186044415},
    {"uuid":"GPU-c","memMiB":100,"reservedMiB":99}]})");  // 2^44 - 1 MiB: as bytes 2^64 - 1 MiB
  ASSERT_EQ(found.cards.size(), 1U);
  EXPECT_EQ(found.cards[0].card.id, "GPU-c");
}

TEST(NvmlInventoryTest, ListsMigInstancesInPlaceOfTheirCard) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","model":"NVIDIA A100-SXM4-80GB","memMiB":81920,"pci":"0000:17:00.0","numa":0,
     "mig":true,"instances":[
       {"uuid":"MIG-1","profile":"1g.10gb","memMiB":9728,"reservedMiB":3,"gi":7,"ci":0},
       {"uuid":"MIG-2","profile":"1c.2g.20gb","memMiB":19968,"gi":3,"ci":1}]},
    {"uuid":"GPU-b","model":"NVIDIA A100-SXM4-80GB","memMiB":81920,"pci":"0000:65:00.0"}]})");
  ASSERT_EQ(found.cards.size(), 3U);
  const InstalledCard& first = found.cards[0];
  EXPECT_EQ(first.card.id, "MIG-1");
  EXPECT_EQ(first.card.kind, model::CardKind::kMig);
  EXPECT_EQ(first.card.replicas.resource, model::CardResource::kMig);
  EXPECT_EQ(first.card.model, "A100-SXM4-80GB MIG 1g.10gb");
  EXPECT_EQ(first.mig_profile, "1g.10gb");
  EXPECT_EQ(first.card.memory, 9'725_mib);
  EXPECT_EQ(first.card.compute, kWholeGpu);
  EXPECT_EQ(first.card.parent, "GPU-a");
  EXPECT_EQ(first.card.numa_node, 0);
  EXPECT_EQ(first.card.pci_bus, "0000:17:00.0");
  EXPECT_EQ(first.card.isolation, (IsolationSet{Isolation::kTimeSlice, Isolation::kNone}));
  EXPECT_EQ(first.card.max_sharers, 16);
  EXPECT_EQ(found.cards[1].card.model, "A100-SXM4-80GB MIG 1c.2g.20gb");
  EXPECT_EQ(found.cards[2].card.id, "GPU-b");
  EXPECT_EQ(found.cards[2].index, 1);
}

TEST(NvmlInventoryTest, DescribesPhysicalCardsInEitherMode) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","model":"NVIDIA A100-SXM4-80GB","memMiB":81920,"reservedMiB":619,
     "pci":"0000:17:00.0","computeCapability":"8.0","mig":true,"instances":[
       {"uuid":"MIG-1","profile":"1c.2g.20gb","memMiB":19968,"gi":3,"ci":1}]},
    {"uuid":"GPU-b","model":"Tesla T4","memMiB":15360,"computeCapability":"7.5"}]})");
  EXPECT_EQ(
      found.physical,
      (std::vector<PhysicalCard>{
          {.product = "NVIDIA A100-SXM4-80GB",
           .pci_bus = "0000:17:00.0",
           .memory = 81'920_mib,
           .compute_capability = "8.0",
           .mig_capable = true,
           .mig_enabled = true,
           .instances = {{.profile = "1c.2g.20gb",
                          .size = {.memory = 19'968_mib, .gpu_slices = 2, .compute_slices = 1}}}},
          {.product = "Tesla T4",
           .pci_bus = found.physical.at(1).pci_bus,
           .memory = 15'360_mib,
           .compute_capability = "7.5",
           .mig_capable = true}}));
  const Inventory old = inventory_of(
      R"({"lacks":["nvmlDeviceGetMigMode"],"cards":[{"uuid":"GPU-a","memMiB":40960}]})");
  EXPECT_FALSE(old.physical.at(0).mig_capable);
  const Inventory empty = inventory_of(R"({"cards":[{"uuid":"GPU-a","memMiB":40960,"mig":true}]})");
  ASSERT_EQ(empty.physical.size(), 1U) << "though it offers nothing";
  EXPECT_TRUE(empty.physical.at(0).mig_enabled);
}

TEST(NvmlInventoryTest, WorksOutTheProfileWhereTheNameLacksIt) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","model":"NVIDIA A100-SXM4-40GB","memMiB":40960,"mig":true,"instances":[
       {"uuid":"MIG-1","profile":"1c.3g.20gb","memMiB":19968,"bareName":true}]}]})");
  ASSERT_EQ(found.cards.size(), 1U);
  EXPECT_EQ(found.cards[0].card.model, "A100-SXM4-40GB MIG 1c.3g.20gb");
}

TEST(NvmlInventoryTest, ACardInMigModeWithoutInstancesOffersNothing) {
  EXPECT_TRUE(
      inventory_of(R"({"cards":[{"uuid":"GPU-a","memMiB":40960,"mig":true}]})").cards.empty());
}

struct ProfileCase {
  const char* expected;
  unsigned compute_slices;
  unsigned gpu_slices;
  std::uint64_t mib;
  std::uint64_t card_gib;
};

class MigProfileTest : public ::testing::TestWithParam<ProfileCase> {};

TEST_P(MigProfileTest, NamesIt) {
  const ProfileCase& profile = GetParam();
  nvml::DeviceAttributes attributes{};
  attributes.compute_slices = profile.compute_slices;
  attributes.gpu_slices = profile.gpu_slices;
  attributes.memory_mib = profile.mib;
  EXPECT_EQ(mig_profile_of(attributes, profile.card_gib << 30U), profile.expected);
}

// The instances' sizes are those that nvidia-smi shows on these cards.
INSTANTIATE_TEST_SUITE_P(Cards, MigProfileTest,
                         ::testing::Values(ProfileCase{"1g.5gb", 1, 1, 4864, 40},
                                           ProfileCase{"1g.10gb", 1, 1, 9728, 80},
                                           ProfileCase{"2g.10gb", 2, 2, 9984, 40},
                                           ProfileCase{"3g.40gb", 3, 3, 40448, 80},
                                           ProfileCase{"1c.7g.80gb", 1, 7, 81152, 80}),
                         [](const auto& test) {
                           std::string name = test.param.expected;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(NvmlInventoryTest, CountsNvLinksToEachPeer) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","memMiB":100,"pci":"0000:01:00.0","links":[{"to":"GPU-b","count":8},{"to":"GPU-c","count":4}]},
    {"uuid":"GPU-b","memMiB":100,"pci":"0000:02:00.0","links":[{"to":"GPU-a","count":8}]},
    {"uuid":"GPU-c","memMiB":100,"pci":"0000:03:00.0","links":[{"to":"GPU-a","count":4}]}]})");
  ASSERT_EQ(found.cards.size(), 3U);
  EXPECT_EQ(found.cards[0].card.links,
            (std::vector<model::Link>{{"GPU-b", "nvlink", 8}, {"GPU-c", "nvlink", 4}}));
  EXPECT_EQ(found.cards[2].card.links, (std::vector<model::Link>{{"GPU-a", "nvlink", 4}}));
}

TEST(NvmlInventoryTest, CardsOnAnNvSwitchAreLinkedToEachOther) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","memMiB":100,"pci":"0000:01:00.0","links":[{"to":"switch","count":18}]},
    {"uuid":"GPU-b","memMiB":100,"pci":"0000:02:00.0","links":[{"to":"switch","count":16}]}]})");
  ASSERT_EQ(found.cards.size(), 2U);
  EXPECT_EQ(found.cards[0].card.links, (std::vector<model::Link>{{"GPU-b", "nvlink", 16}}));
}

TEST(NvmlInventoryTest, CardsUnderOnePcieSwitchAreLinked) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","memMiB":100,"pci":"0000:01:00.0","pcieSwitch":"left"},
    {"uuid":"GPU-b","memMiB":100,"pci":"0000:02:00.0","pcieSwitch":"left"},
    {"uuid":"GPU-c","memMiB":100,"pci":"0000:03:00.0","pcieSwitch":"right"}]})");
  ASSERT_EQ(found.cards.size(), 3U);
  EXPECT_EQ(found.cards[0].card.links, (std::vector<model::Link>{{"GPU-b", "pcie", 1}}));
  EXPECT_TRUE(found.cards[2].card.links.empty());
}

TEST(NvmlInventoryTest, AnOldDriverSaysLess) {
  const Inventory found = inventory_of(R"({"lacks":["nvmlDeviceGetMemoryInfo_v2",
      "nvmlDeviceGetMemoryAffinity","nvmlDeviceGetMigMode","nvmlSystemGetCudaDriverVersion_v2",
      "nvmlDeviceGetTopologyCommonAncestor"],
    "cards":[{"uuid":"GPU-a","memMiB":1000,"reservedMiB":10,"numa":1}]})");
  ASSERT_EQ(found.cards.size(), 1U);
  EXPECT_EQ(found.cuda, "");
  EXPECT_EQ(found.cards[0].card.memory, 1'000_mib);
  EXPECT_EQ(found.cards[0].card.numa_node, -1);
}

TEST(NvmlInventoryTest, CardsBeforeVoltaOfferNoMps) {
  const Inventory found = inventory_of(
      R"({"cards":[{"uuid":"GPU-a","memMiB":1000,"model":"Tesla P40","computeCapability":"6.1"}]})");
  ASSERT_EQ(found.cards.size(), 1U);
  EXPECT_FALSE(found.cards[0].card.isolation.has(Isolation::kMps));
}

TEST(NvmlInventoryTest, ACardWithoutMemoryOfItsOwnIsLeftOut) {
  const Inventory found =
      inventory_of(R"({"cards":[{"uuid":"GPU-a","memMiB":0},{"uuid":"GPU-b","memMiB":100}]})");
  ASSERT_EQ(found.cards.size(), 1U);
  EXPECT_EQ(found.cards[0].card.id, "GPU-b");
}

TEST(NvmlInventoryTest, NamesOfTheDriverBecomePlain) {
  const Inventory found = inventory_of(R"({"cards":[
    {"uuid":"GPU-a","model":"NVIDIA A100,`x`","memMiB":100},
    {"uuid":"GPU-b","model":"$;","memMiB":100},
    {"uuid":"GPU-c;x","model":"NVIDIA T4","memMiB":100},
    {"uuid":"GPU-d","model":"NVIDIA T4","memMiB":100,"mig":true,"instances":[
      {"uuid":"MIG-GPU-d/7/0","profile":"1g.5gb","memMiB":50},
      {"uuid":"MIG-d","profile":"1g;5gb","memMiB":50}]}]})");
  ASSERT_EQ(found.cards.size(), 2U);
  EXPECT_EQ(found.cards[0].card.model, "A100--x-");
  EXPECT_EQ(found.cards[1].card.id, "MIG-d");
  EXPECT_EQ(found.cards[1].card.model, "T4 MIG 1g-5gb");
}

TEST(NvmlInventoryTest, DropsBrandsFromModels) {
  EXPECT_EQ(model_of("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(model_of("Tesla T4"), "T4");
  EXPECT_EQ(model_of("GeForce RTX 4090"), "GeForce RTX 4090");
}

}  // namespace
}  // namespace tangram::node::nvidia
