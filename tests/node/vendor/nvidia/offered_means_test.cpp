#include "node/vendor/nvidia/offered_means.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node::nvidia {
namespace {

using model::MemoryLimits;

constexpr const char* kUuid = "GPU-00112233-4455-6677-8899-aabbccddeeff";

/// A card, as a source without these means shows it.
class OneCard final : public CardSource {
 public:
  explicit OneCard(Inventory inventory) : inventory_(std::move(inventory)) {}
  Result<Inventory> inventory() override { return inventory_; }
  Result<std::vector<Fault>> wait_for_faults(std::chrono::milliseconds /*limit*/) override {
    return std::vector<Fault>{};
  }
  Result<CardActivity> activity(std::string_view /*card*/) override { return CardActivity{}; }
  Result<void> set_exclusive_process(std::string_view /*card*/, bool /*exclusive*/) override {
    return {};
  }

 private:
  Inventory inventory_;
};

class OfferedMeansTest : public ::testing::Test {
 protected:
  OfferedMeansTest() {
    for (const char* const name :
         {"/libcuda.so.1", "/libnvidia-ml.so.1", "/hook", "/cgroup.controllers"}) {
      EXPECT_TRUE(replace_file(folder_.path() + name, "x"));
    }
    card_.card.id = kUuid;
    edits_.lists["mounts"] = {
        R"({"hostPath":"/a/libcuda.so.615","containerPath":"/a/libcuda.so.615"})",
        R"({"hostPath":"/a/libnvidia-ml.so.615","containerPath":"/a/libnvidia-ml.so.615"})"};
  }

  MemoryMeans offered(const std::string& driver) {
    Inventory inventory;
    inventory.driver = driver;
    inventory.cards.assign(cards_, card_);
    OfferedMeans source(
        std::make_unique<OneCard>(inventory),
        {.stand_ins = folder_.path(),
         .memory_hook = folder_.path() + "/hook",
         .cdi_edits = [this](const auto& cards) -> Result<std::map<std::string, CdiEdits>> {
           ++readings_;
           std::map<std::string, CdiEdits> each;
           for (const std::string& card : cards) each[card] = edits_;
           return each;
         },
         .cgroups = folder_.path()});
    return source.inventory()->cards.front().memory_means;
  }
  void remove(const std::string& name) { std::filesystem::remove(folder_.path() + name); }

  testing::TempFolder folder_;
  InstalledCard card_;
  CdiEdits edits_;
  std::size_t cards_ = 1;
  int readings_ = 0;
};

constexpr MemoryMeans kNothing;
constexpr MemoryMeans kLibrary{MemoryLimits::kLibrary};
constexpr MemoryMeans kDriver{MemoryLimits::kDriver};
constexpr MemoryMeans kBoth{MemoryLimits::kLibrary, MemoryLimits::kDriver};

TEST_F(OfferedMeansTest, TheDriverDecides) {
  EXPECT_EQ(offered("530.41.03"), kNothing);
  EXPECT_EQ(offered("535.261.03"), kLibrary);
  EXPECT_EQ(offered("610.1"), kLibrary);
  EXPECT_EQ(offered("615.71.09"), kBoth);
  EXPECT_EQ(offered(""), kNothing);
  EXPECT_EQ(offered("beta"), kNothing);
}

TEST_F(OfferedMeansTest, WithoutNvidiasCdiSpecAnotherComponentMountsTheDriver) {
  edits_ = {};
  EXPECT_EQ(offered("615.71.09"), kNothing);
}

TEST_F(OfferedMeansTest, ReadsTheSpecsOnceForAllCards) {
  cards_ = 8;
  EXPECT_EQ(offered("615.71.09"), kBoth);
  EXPECT_EQ(readings_, 1);
}

TEST_F(OfferedMeansTest, ASpecWithoutTheLibrariesLeavesTheDriver) {
  edits_.lists["mounts"].clear();
  EXPECT_EQ(offered("615.71.09"), kDriver);
}

TEST_F(OfferedMeansTest, AnImageWithoutTheFilesOffersNothing) {
  remove("/libnvidia-ml.so.1");
  EXPECT_EQ(offered("615.71.09"), kDriver);
  remove("/hook");
  EXPECT_EQ(offered("615.71.09"), kNothing);
}

TEST_F(OfferedMeansTest, TheDriverNeedsTheSecondVersionOfControlGroups) {
  remove("/cgroup.controllers");
  EXPECT_EQ(offered("615.71.09"), kLibrary);
}

TEST_F(OfferedMeansTest, TheDriverLimitsNoMigInstances) {
  card_.card.kind = model::CardKind::kMig;
  card_.card.id = "MIG-00112233-4455-6677-8899-aabbccddeeff";
  EXPECT_EQ(offered("615.71.09"), kLibrary);
  card_.card.id = "MIG-GPU-00112233-4455-6677-8899-aabbccddeeff/1/0";
  EXPECT_EQ(offered("615.71.09"), kNothing);
}

}  // namespace
}  // namespace tangram::node::nvidia
