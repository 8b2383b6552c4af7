#include "node/vendor/nvidia/mps_trial.hpp"

#include "tests/node/vendor/nvidia/fake_programs.hpp"

#include <gtest/gtest.h>

namespace tangram::node::nvidia {
namespace {

/// Programs that end with one exit code.
class Ending final : public Programs {
 public:
  explicit Ending(int exit_code) : exit_code_(exit_code) {}
  Result<ProgramEnd> run(const Command&, std::chrono::milliseconds) override {
    return ProgramEnd{exit_code_, "why"};
  }
  bool kill(std::int64_t, std::string_view, std::string_view) override { return false; }

 private:
  const int exit_code_;
};

TEST(MpsTrialTest, RunsTheFrontEndAsDaemonsAreStarted) {
  FakePrograms programs;
  MpsTrial trial(programs, {"tangram-launcher", "run", "--"}, "/run/x");
  // FakePrograms looks at the program alone: the launcher's end is what counts here.
  EXPECT_TRUE(trial.works());
  ASSERT_EQ(programs.commands().size(), 1U);
  const Command command = programs.commands().front();
  EXPECT_EQ(command.arguments,
            (std::vector<std::string>{"tangram-launcher", "run", "--", "nvidia-cuda-mps-control"}));
  EXPECT_EQ(command.env, std::vector<std::string>{"CUDA_MPS_PIPE_DIRECTORY=/run/x/no-daemon"});
  EXPECT_TRUE(trial.works());
  EXPECT_EQ(programs.commands().size(), 1U) << "once is enough";
}

TEST(MpsTrialTest, AFrontEndWithoutADaemonHasRun) {
  Ending ended(1);
  EXPECT_TRUE(MpsTrial(ended, {}, "/run/x").works());
}

/// No launcher's pod; a program that cannot be executed; one that is not there.
TEST(MpsTrialTest, WhatALauncherCouldNotRunDoesNotWork) {
  for (const int exit_code : {125, 126, 127, 137}) {
    Ending ended(exit_code);
    EXPECT_FALSE(MpsTrial(ended, {"tangram-launcher", "run", "--"}, "/run/x").works()) << exit_code;
  }
}

TEST(MpsTrialTest, IsTriedUntilItWorks) {
  FakePrograms programs;
  MpsTrial trial(programs, {}, "/run/x");
  programs.break_with(fail(Errc::kTimeout, "did not end in 3000 ms"));
  EXPECT_FALSE(trial.works());
  programs.break_with(std::nullopt);
  EXPECT_TRUE(trial.works());
  programs.break_with(fail(Errc::kTimeout, "did not end in 3000 ms"));
  EXPECT_TRUE(trial.works()) << "a launcher that restarts takes no mode from the cards";
}

}  // namespace
}  // namespace tangram::node::nvidia
