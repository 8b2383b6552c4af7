#include "node/kubelet/checkpoint.hpp"

#include "node/kubelet/allocate_response.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

constexpr VendorRuntime kRuntime{.variable = "ACME_DEVICES", .no_card = "none", .setup = ""};

TEST(SlotTest, IdsAndNumbersMatch) {
  EXPECT_EQ(slot_id(17), "slot-17");
  EXPECT_EQ(slot_number("slot-17"), 17);
  for (const char* other : {"", "slot-", "slot-x", "slot--1", "slot-1x", "gpu-1"}) {
    EXPECT_FALSE(slot_number(other)) << other;
  }
}

TEST(AllocateResponseTest, TheNameComesBackFromEveryPath) {
  for (const NamePath path :
       {NamePath::kCdiDevices, NamePath::kCdiAnnotation, NamePath::kEnvironment}) {
    EXPECT_EQ(name_in(allocate_response("slot-3.ab", path, kRuntime)),
              (PassedName{"slot-3.ab", path}));
    EXPECT_EQ(parse_name_path(to_string(path)), path);
  }
  EXPECT_FALSE(parse_name_path("cdi"));
}

TEST(AllocateResponseTest, ARuntimeWithoutCdiShowsNoCard) {
  EXPECT_EQ(allocate_response("n", NamePath::kCdiDevices, kRuntime).env.at("ACME_DEVICES"), "none");
  EXPECT_EQ(allocate_response("n", NamePath::kCdiAnnotation, kRuntime).env.at("ACME_DEVICES"),
            "none");
}

TEST(AllocateResponseTest, OthersResponsesHaveNoName) {
  EXPECT_FALSE(name_in({}));
  EXPECT_FALSE(name_in({.env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-1"}},
                        .annotations = {{"cdi.k8s.io/tangram", "nvidia.com/gpu=0"}},
                        .cdi_devices = {"nvidia.com/gpu=0", "tangram.dev/slot="}}));
}

// As kubelet 1.36 wrote it, but for the names.
constexpr const char* kCheckpoint =
    R"({"Data":{"PodDeviceEntries":[)"
    R"({"PodUID":"u1","ContainerName":"main","ResourceName":"tangram.dev/gpu-slot",)"
    R"("DeviceIDs":{"-1":["slot-9"],"0":["slot-3"]},"AllocResp":"KhwKGnRhbmdyYW0uZGV2L3Nsb3Q9c2xvdC0zLmFi"},)"
    R"({"PodUID":"u2","ContainerName":"x","ResourceName":"nvidia.com/gpu","DeviceIDs":{"0":["GPU-1"]},"AllocResp":""},)"
    R"({"PodUID":"u3","ContainerName":"y","ResourceName":"tangram.dev/gpu-slot","DeviceIDs":null,"AllocResp":""}],)"
    R"("RegisteredDevices":{"tangram.dev/gpu-slot":["slot-3"]}},"Checksum":1234})";

TEST(CheckpointTest, NamesTheOwnersOfTheResource) {
  const auto read = decode_checkpoint(kCheckpoint, "tangram.dev/gpu-slot");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->slots, (std::vector<SlotOwner>{{"u1", "main", {"slot-3", "slot-9"}, "slot-3.ab"},
                                                 {"u3", "y", {}, ""}}));
}

TEST(CheckpointTest, NamesWhatOtherPluginsGave) {
  const auto read = decode_checkpoint(kCheckpoint, "tangram.dev/gpu-slot");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->others, (std::vector<DeviceUse>{{"u2", "nvidia.com/gpu", {"GPU-1"}}}));
  const auto from_x = decode_checkpoint(kCheckpoint, "nvidia.com/gpu");
  EXPECT_EQ(from_x->others,
            (std::vector<DeviceUse>{{"u1", "tangram.dev/gpu-slot", {"slot-3", "slot-9"}}}))
      << "u3 has no device";
}

TEST(CheckpointTest, AnotherPluginsResponseIsNotDecoded) {
  const char* const odd =
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ResourceName":"nvidia.com/gpu",)"
      R"("DeviceIDs":{"0":["GPU-1"]},"AllocResp":"%"}]}})";
  ASSERT_TRUE(decode_checkpoint(odd, "tangram.dev/gpu-slot"));
  EXPECT_EQ(decode_checkpoint(odd, "tangram.dev/gpu-slot")->others.size(), 1U);
}

TEST(CheckpointTest, WhatIsNoCheckpointIsRefused) {
  for (const char* text :
       {"", "{}", "[]", R"({"Data":{"PodDeviceEntries":7}})",
        R"({"Data":{"PodDeviceEntries":[{"ResourceName":"r","AllocResp":"%"}]}})"}) {
    EXPECT_FALSE(decode_checkpoint(text, "r")) << text;
  }
  EXPECT_TRUE(decode_checkpoint(R"({"Data":{"PodDeviceEntries":null}})", "r")->slots.empty());
}

}  // namespace
}  // namespace tangram::node
