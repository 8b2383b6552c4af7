#include "node/vendor/nvidia/offered_modes.hpp"

#include "base/file.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tangram::node::nvidia {
namespace {

using model::Isolation;
using model::IsolationSet;

class OfferedModesTest : public ::testing::Test {
 protected:
  void install_mps() const {
    ASSERT_TRUE(replace_file(program, "#!/bin/sh\n"));
    ASSERT_EQ(chmod(program.c_str(), S_IRWXU), 0);
  }
  const testing::TempFolder folder;
  const std::string program = folder.path() + "/nvidia-cuda-mps-control";
};

TEST_F(OfferedModesTest, LooksForTheDaemonInThePath) {
  const std::string path = "/nowhere::" + folder.path();
  EXPECT_FALSE(mps_is_installed(path));
  ASSERT_TRUE(replace_file(program, "#!/bin/sh\n"));
  EXPECT_FALSE(mps_is_installed(path)) << "it is not executable";
  install_mps();
  EXPECT_TRUE(mps_is_installed(path));
  EXPECT_FALSE(mps_is_installed(""));
}

TEST_F(OfferedModesTest, CardsSayWhatTheMachineCanDoNow) {
  auto scripted = std::make_unique<ScriptedSource>();
  ScriptedSource& source = *scripted;
  source.list({"GPU-a"});
  OfferedModes modes(std::move(scripted), [&] { return mps_is_installed(folder.path()); });
  const auto offered = [&] { return modes.inventory()->cards[0].card.isolation; };
  const auto by_mps = [&] {
    return modes.inventory()->cards[0].memory_means.has(model::MemoryLimits::kMps);
  };
  EXPECT_EQ(offered(), (IsolationSet{Isolation::kTimeSlice, Isolation::kNone}));
  EXPECT_FALSE(by_mps());
  install_mps();
  EXPECT_TRUE(by_mps());
  EXPECT_EQ(offered(), (IsolationSet{Isolation::kMps, Isolation::kTimeSlice, Isolation::kNone}));
  source.be_silent(true);
  EXPECT_EQ(modes.inventory().error().code, Errc::kUnavailable);
}

TEST_F(OfferedModesTest, ACardThatCannotIsNotOfferedEither) {
  auto scripted = std::make_unique<ScriptedSource>();
  scripted->list({"GPU-a"});
  scripted->limit_modes({Isolation::kNone});
  install_mps();
  OfferedModes modes(std::move(scripted), [&] { return mps_is_installed(folder.path()); });
  EXPECT_EQ(modes.inventory()->cards[0].card.isolation, IsolationSet{Isolation::kNone});
  EXPECT_EQ(modes.inventory()->cards[0].memory_means, MemoryMeans{});
}

TEST_F(OfferedModesTest, CardsSayInHowManyChunksMpsGivesCompute) {
  auto scripted = std::make_unique<ScriptedSource>();
  scripted->list({"GPU-a", "GPU-old"});
  install_mps();
  OfferedModes modes(
      std::move(scripted), [&] { return mps_is_installed(folder.path()); },
      [](const std::string& card, const std::string&) { return card == "GPU-a" ? 37 : 0; });
  const auto cards = modes.inventory()->cards;
  EXPECT_EQ(cards[0].card.compute_chunks, 37);
  EXPECT_EQ(cards[0].card.max_sharers, 27) << "with more, chunks would be rounded away";
  EXPECT_TRUE(cards[0].card.isolation.has(Isolation::kMps));
  EXPECT_EQ(cards[1].card.compute_chunks, 0);
  EXPECT_FALSE(cards[1].card.isolation.has(Isolation::kMps));
  EXPECT_FALSE(cards[1].memory_means.has(model::MemoryLimits::kMps));
}

}  // namespace
}  // namespace tangram::node::nvidia
