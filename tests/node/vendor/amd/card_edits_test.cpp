#include "node/vendor/amd/card_edits.hpp"

#include "tests/node/vendor/amd/fake_machine.hpp"

#include <gtest/gtest.h>

namespace tangram::node::amd {
namespace {

class CardEditsTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<CdiEdits> edits(const std::vector<std::string>& cards) const {
    const auto here = read_amd_cards(machine_.files());
    if (!here) return here.error();
    return card_edits(machine_.files(), *here, cards);
  }
  /// The paths of the device nodes, in their order.
  [[nodiscard]] std::vector<std::string> nodes(const std::vector<std::string>& cards) const {
    std::vector<std::string> paths;
    const auto made = edits(cards);
    if (!made) return {made.error().message};
    EXPECT_EQ(made->lists.size(), 1U) << "nothing but device nodes";
    for (const std::string& node : made->lists.at("deviceNodes")) {
      const auto begin = node.find("\"path\":\"") + 8;
      paths.push_back(node.substr(begin, node.find('"', begin) - begin));
    }
    return paths;
  }
  using Paths = std::vector<std::string>;

  const FakeMachine machine_;
};

TEST_F(CardEditsTest, AWholeCardHasItsTwoNodes) {
  machine_.add_spx();
  const auto made = edits({"AMD-8f1c2d3e4a5b6c7d"});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->cdi_version, "0.5.0");
  EXPECT_EQ(
      made->lists.at("deviceNodes"),
      (std::vector<std::string>{
          R"({"path":"/dev/kfd","type":"c","major":235,"minor":0,"fileMode":438,"permissions":"rw"})",
          R"({"path":"/dev/dri/renderD128","type":"c","major":226,"minor":128,"fileMode":438,"permissions":"rw"})",
          R"({"path":"/dev/dri/card1","type":"c","major":226,"minor":1,"fileMode":438,"permissions":"rw"})"}));
}

TEST_F(CardEditsTest, NoContainerGetsAnotherPartition) {
  machine_.add_cpx();
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(nodes({"AMD-8f1c2d3e4a5b6c7d-cpx" + std::to_string(i)}),
              (Paths{"/dev/kfd", "/dev/dri/renderD" + std::to_string(128 + i)}));
  }
  EXPECT_EQ(nodes({"AMD-8f1c2d3e4a5b6c7d-cpx6", "AMD-8f1c2d3e4a5b6c7d-cpx1"}),
            (Paths{"/dev/kfd", "/dev/dri/renderD134", "/dev/dri/renderD129"}));
}

TEST_F(CardEditsTest, NoContainerGetsAnotherVirtualFunction) {
  machine_.add_two_functions();
  EXPECT_EQ(nodes({"AMD-00000000000000a1"}),
            (Paths{"/dev/kfd", "/dev/dri/renderD129", "/dev/dri/card2"}));
}

TEST_F(CardEditsTest, WithoutTheCardThereIsNoStart) {
  machine_.add_spx();
  for (const std::string id : {"AMD-0000000000000000", "AMD-8f1c2d3e4a5b6c7d-cpx0", "GPU-a", ""}) {
    const auto made = edits({"AMD-8f1c2d3e4a5b6c7d", id});
    ASSERT_FALSE(made) << id;
    EXPECT_EQ(made.error().code, Errc::kUnavailable);
    EXPECT_NE(made.error().message.find("is not on this node now"), std::string::npos);
  }
  machine_.make_unreadable(FakeMachine::pci("0000:c1:00.0") + "/unique_id");
  const auto reset = edits({"AMD-8f1c2d3e4a5b6c7d"});
  ASSERT_FALSE(reset);
  EXPECT_NE(reset.error().message.find("in a reset"), std::string::npos) << reset.error().message;
}

TEST_F(CardEditsTest, ADeviceWithoutANumberPostponesTheStart) {
  machine_.add_spx();
  for (const std::string text : {"226\n", "226:x\n", "0:0\n", "226:1:2\n", "\n"}) {
    machine_.write("/sys/class/drm/renderD128/dev", text);
    EXPECT_EQ(edits({"AMD-8f1c2d3e4a5b6c7d"}).error().code, Errc::kUnavailable) << text;
  }
  machine_.remove("/sys/class/drm/renderD128/dev");
  EXPECT_EQ(edits({"AMD-8f1c2d3e4a5b6c7d"}).error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node::amd
