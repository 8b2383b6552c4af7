#include "node/publish/other_drivers.hpp"

#include "tests/testing/builders.hpp"
#include "tests/testing/kube_scripted_api.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

namespace tangram::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// As NVIDIA's driver writes it for v1: a whole card and a MIG instance.
constexpr const char* kSlice =
    R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{)"
    R"("devices":[{"name":"gpu-0","attributes":{"index":{"int":0},"type":{"string":"gpu"},)"
    R"("uuid":{"string":"GPU-1"}},"capacity":{"memory":{"value":"80Gi"}}},)"
    R"({"name":"gpu-1-mig-1","attributes":{"parentUUID":{"string":"GPU-2"},)"
    R"("uuid":{"string":"MIG-7"}}}],"driver":"gpu.nvidia.com","nodeName":"n1","pool":{}}})";
constexpr const char* kOldSlice =
    R"({"spec":{"devices":[{"name":"gpu-0","basic":{"attributes":{"uuid":{"string":"GPU-3"}}}}],)"
    R"("driver":"gpu.example.com"}})";

std::string list_of(const std::vector<std::string>& slices, const std::string& more = "") {
  std::string items;
  for (const std::string& slice : slices) items += (items.empty() ? "" : ",") + slice;
  return R"({"metadata":{"resourceVersion":"7","continue":")" + more + R"("},"items":[)" + items +
         "]}";
}

const DriverCards kOfSlice{.cards = {{"GPU-1", "gpu.nvidia.com"}, {"MIG-7", "gpu.nvidia.com"}},
                           .parents = {{"GPU-2", "gpu.nvidia.com"}}};

TEST(DriverCardsTest, ReadsSlicesOfAllVersions) {
  DriverCards cards;
  ASSERT_TRUE(add_slice(kSlice, cards));
  EXPECT_EQ(cards, kOfSlice);
  ASSERT_TRUE(add_slice(kOldSlice, cards));
  EXPECT_EQ(cards.cards.at("GPU-3"), "gpu.example.com");
}

TEST(DriverCardsTest, PassesOverManagedFields) {
  DriverCards cards;
  ASSERT_TRUE(add_slice(testing::with_odd_fields(kSlice), cards));
  EXPECT_EQ(cards, kOfSlice);
}

TEST(DriverCardsTest, DevicesWithoutAUuidAreNoCards) {
  DriverCards cards;
  for (const char* devices :
       {"null", "[]", R"([{"name":"nic"}])", R"([{"attributes":{"uuid":{"int":7}}}])",
        R"([{"attributes":{"uuid":{"string":""},"vendor":{"string":"GPU-1"}}}])"}) {
    const std::string slice = R"({"spec":{"driver":"d","devices":)" + std::string(devices) + "}}";
    EXPECT_TRUE(add_slice(slice, cards)) << slice;
  }
  EXPECT_EQ(cards, DriverCards{});
}

/// As AMD's driver writes it: a card without a UUID.
TEST(DriverCardsTest, ADeviceWithoutAUuidIsTheCardAtItsPlace) {
  DriverCards cards;
  ASSERT_TRUE(add_slice(
      R"({"spec":{"devices":[{"name":"gpu-1-128","attributes":{"type":{"string":"amdgpu"},)"
      R"("resource.kubernetes.io/pciBusID":{"string":"0000:c1:00.0"}}}],"driver":"gpu.amd.com"}})",
      cards));
  model::Card partition = testing::card("AMD-1-cpx0");
  partition.pci_bus = "0000:c1:00.0";
  EXPECT_EQ(cards.driver_of(partition), "gpu.amd.com");
  partition.pci_bus = "0000:d1:00.0";
  EXPECT_EQ(cards.driver_of(partition), "");
  partition.pci_bus = "";
  EXPECT_EQ(cards.driver_of(partition), "");
}

TEST(DriverCardsTest, OtherInstancesAtThePlaceOfACardWithAUuidAreFree) {
  DriverCards cards;
  ASSERT_TRUE(
      add_slice(R"({"spec":{"devices":[{"name":"m","attributes":{"uuid":{"string":"MIG-7"},)"
                R"("resource.kubernetes.io/pciBusID":{"string":"0000:c1:00.0"}}}],"driver":"d"}})",
                cards));
  model::Card other = testing::card("MIG-8");
  other.pci_bus = "0000:c1:00.0";
  EXPECT_EQ(cards.driver_of(other), "");
}

TEST(DriverCardsTest, RefusesWhatIsNoSlice) {
  DriverCards cards;
  for (const char* text :
       {"", "[]", "{}", R"({"spec":{"devices":[]}})", R"({"spec":{"driver":"d","devices":{}}})"}) {
    const auto added = add_slice(text, cards);
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.error().code, Errc::kInvalidArgument);
  }
}

TEST(DriverCardsTest, APhysicalCardAndItsInstancesAreOneCard) {
  model::Card instance = testing::card("MIG-1");
  instance.parent = "GPU-1";
  model::Card other_instance = testing::card("MIG-8");
  other_instance.parent = "GPU-2";
  EXPECT_EQ(kOfSlice.driver_of(testing::card("GPU-1")), "gpu.nvidia.com");
  EXPECT_EQ(kOfSlice.driver_of(instance), "gpu.nvidia.com") << "its physical card is published";
  EXPECT_EQ(kOfSlice.driver_of(testing::card("GPU-2")), "gpu.nvidia.com") << "its instance is";
  EXPECT_EQ(kOfSlice.driver_of(other_instance), "") << "MIG-7 beside it is";
  EXPECT_EQ(kOfSlice.driver_of(testing::card("GPU-9")), "");
}

class OtherDriversTest : public ::testing::Test {
 protected:
  /// Lists once for each pause, and notes how long it would wait.
  void run() {
    std::stop_source stop;
    api.finished = [&] { stop.request_stop(); };
    drivers.run(stop.get_token());
  }

  testing::ScriptedApi api;
  int changes = 0;
  std::vector<milliseconds> pauses;
  OtherDrivers drivers{
      "n1",
      {.api = api,
       .changed = [this] { ++changes; },
       .sleeper = [this](milliseconds pause, const std::stop_token&) { pauses.push_back(pause); }}};
};

TEST_F(OtherDriversTest, ListsTheNodesSlicesPageByPage) {
  EXPECT_EQ(drivers.published(), std::nullopt);
  api.will_answer(200, list_of({kSlice}, "next"));
  api.will_answer(200, list_of({kOldSlice}));
  run();
  ASSERT_TRUE(drivers.published());
  EXPECT_EQ(drivers.published()->cards.size(), 3U);
  EXPECT_EQ(changes, 1);
  ASSERT_GE(api.calls().size(), 2U);
  EXPECT_EQ(api.calls()[0].path, "/apis/resource.k8s.io/v1/resourceslices");
  EXPECT_EQ(api.calls()[0].query.at("fieldSelector"), "spec.nodeName=n1");
  EXPECT_EQ(api.calls()[1].query.at("continue"), "next");
  EXPECT_EQ(pauses.front(), seconds(30));
}

TEST_F(OtherDriversTest, ListsAnOlderVersionWhereTheServerHasNoOther) {
  api.will_answer(404, "404 page not found");
  api.will_answer(404, "404 page not found");
  api.will_answer(200, list_of({kOldSlice}));
  run();
  ASSERT_TRUE(drivers.published());
  EXPECT_EQ(drivers.published()->cards.size(), 1U);
  EXPECT_EQ(api.calls()[2].path, "/apis/resource.k8s.io/v1beta1/resourceslices");
}

TEST_F(OtherDriversTest, WithoutSlicesOrTheRightToThemThereAreNone) {
  for (const std::vector<int>& answers : {std::vector{404, 404, 404}, std::vector{403}}) {
    for (const int status : answers) api.will_answer(status, R"({"message":"no"})");
    run();
    EXPECT_EQ(drivers.published(), DriverCards{});
  }
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(pauses[0], minutes(10));
}

TEST_F(OtherDriversTest, AFailureChangesNothing) {
  api.will_answer(503, "not now");
  run();
  EXPECT_EQ(drivers.published(), std::nullopt) << "nor does it say that there are none";
  EXPECT_EQ(pauses.front(), seconds(5));
  api.will_answer(200, list_of({kSlice}));
  api.will_answer(500, "");
  api.will_answer(200, list_of({"{}"}));
  api.will_answer(403, "");
  run();
  EXPECT_EQ(drivers.published(), kOfSlice);
  EXPECT_EQ(changes, 1);
}

TEST_F(OtherDriversTest, ADriverThatStopsFreesItsCards) {
  api.will_answer(200, list_of({kSlice}));
  api.will_answer(200, list_of({}));
  run();
  EXPECT_EQ(drivers.published(), DriverCards{});
  EXPECT_EQ(changes, 2);
}

}  // namespace
}  // namespace tangram::node
