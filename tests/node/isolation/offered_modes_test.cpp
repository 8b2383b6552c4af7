#include "node/isolation/offered_modes.hpp"

#include "base/file.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tangram::node {
namespace {

using model::Isolation;
using model::IsolationSet;

const IsolationSet kAll{Isolation::kMps, Isolation::kTimeSlice, Isolation::kNone};

TEST(OfferedModesTest, MpsNeedsControlOfTheCardAndItsDaemon) {
  const IsolationSet without_mps{Isolation::kTimeSlice, Isolation::kNone};
  EXPECT_EQ(offered(kAll, {.control = true, .mps_daemon = true}), kAll);
  EXPECT_EQ(offered(kAll, {.control = false, .mps_daemon = true}), without_mps);
  EXPECT_EQ(offered(kAll, {.control = true, .mps_daemon = false}), without_mps);
  EXPECT_EQ(offered({Isolation::kNone}, {}), IsolationSet{Isolation::kNone});
}

TEST(OfferedModesTest, LooksForTheDaemonInThePath) {
  const testing::TempFolder folder;
  const std::string program = folder.path() + "/nvidia-cuda-mps-control";
  const std::string path = "/nowhere::" + folder.path();
  EXPECT_FALSE(find_means(true, path).mps_daemon);
  ASSERT_TRUE(replace_file(program, "#!/bin/sh\n"));
  EXPECT_FALSE(find_means(true, path).mps_daemon) << "it is not executable";
  ASSERT_EQ(chmod(program.c_str(), S_IRWXU), 0);
  EXPECT_TRUE(find_means(true, path).mps_daemon);
  EXPECT_FALSE(find_means(true, "").mps_daemon);
}

TEST(OfferedModesTest, CardsSayWhatTheMachineCanDoNow) {
  auto scripted = std::make_unique<ScriptedSource>();
  ScriptedSource& source = *scripted;
  source.list({"GPU-a"});
  bool daemon = false;
  OfferedModes modes(std::move(scripted), [&] { return Means{true, daemon}; });
  EXPECT_FALSE(modes.inventory()->cards[0].card.isolation.has(Isolation::kMps));
  daemon = true;
  EXPECT_TRUE(modes.inventory()->cards[0].card.isolation.has(Isolation::kMps));
  source.be_silent(true);
  EXPECT_EQ(modes.inventory().error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node
