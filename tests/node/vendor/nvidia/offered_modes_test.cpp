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
  OfferedModes modes(std::move(scripted), folder.path());
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
  OfferedModes modes(std::move(scripted), folder.path());
  EXPECT_EQ(modes.inventory()->cards[0].card.isolation, IsolationSet{Isolation::kNone});
  EXPECT_EQ(modes.inventory()->cards[0].memory_means, MemoryMeans{});
}

}  // namespace
}  // namespace tangram::node::nvidia
