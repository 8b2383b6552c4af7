// A process dies at every single instruction of a change, and of a recovery. Without sanitizers, as
// the library is built: theirs would be a hundred times as many instructions.
#include "shim/accounts.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <ostream>
#include <string>

namespace tangram::shim {
namespace {

/// A usage page that a child of fork() shares.
class AccountsDeath : public ::testing::Test {
 protected:
  AccountsDeath()
      : page_(static_cast<UsagePage*>(mmap(nullptr, sizeof(UsagePage), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~AccountsDeath() override { (void)munmap(page_, sizeof(UsagePage)); }

  SlotAccounts slot(std::size_t number) { return {*page_, number}; }
  std::uint64_t total(std::size_t card = 0) { return page_->totals[card].bytes; }

  UsagePage* page_;
};

/// A child that is stopped just before a change, and just after it.
class SteppedChild {
 public:
  explicit SteppedChild(const std::function<void()>& change) : pid_(fork()) {
    if (pid_ == 0) {
      (void)ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      __asm__ __volatile__("int3" ::: "memory");
      change();
      __asm__ __volatile__("int3" ::: "memory");
      _exit(0);
    }
    (void)waitpid(pid_, nullptr, 0);
  }
  /// One instruction.
  /// @returns whether the change is still under way
  bool step() {
    siginfo_t why{};
    (void)ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr);
    (void)waitpid(pid_, nullptr, 0);
    (void)ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &why);
    return why.si_code != SI_KERNEL;  // which an int3 gives
  }
  void kill() {
    (void)::kill(pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

struct Death {
  const char* name;
  bool adds;          ///< the child adds; else it gives back
  bool others_go_on;  ///< another slot changes the total before the dead one is recovered
};
std::ostream& operator<<(std::ostream& out, const Death& death) { return out << death.name; }

class AccountsDeathTest : public AccountsDeath, public ::testing::WithParamInterface<Death> {};

/// Kills the child one instruction later each time, until it has finished.
TEST_P(AccountsDeathTest, AProcessCanDieAtAnyInstruction) {
  constexpr std::uint64_t kLimit = 1000;
  constexpr int kMostInstructions = 2'000;
  bool finished = false;
  int deaths = 0;
  for (int instructions = 0; !finished; ++instructions) {
    ASSERT_LT(instructions, kMostInstructions);
    ASSERT_TRUE(slot(1).add(0, 100, kLimit));
    ASSERT_TRUE(slot(2).add(0, 10, kLimit));
    SteppedChild child([&] {
      if (GetParam().adds) {
        (void)slot(1).add(0, 300, kLimit);
      } else {
        slot(1).subtract(0, 100);
      }
    });
    for (int i = 0; i < instructions && !finished; ++i) finished = !child.step();
    if (GetParam().others_go_on) {
      ASSERT_TRUE(slot(2).add(0, 7, kLimit));
    }
    child.kill();
    ++deaths;
    if (GetParam().others_go_on) {
      ASSERT_TRUE(slot(2).add(0, 3, kLimit));
    }
    slot(1).recover();
    ASSERT_EQ(total(), GetParam().others_go_on ? 20U : 10U) << "after " << instructions;
    ASSERT_FALSE(slot(1).owes());
    slot(2).recover();
    ASSERT_EQ(total(), 0U);
  }
  EXPECT_GT(deaths, 20);
}

/// Whoever recovers a dead process's slot can die at that, too.
TEST_F(AccountsDeath, ARecoveryCanDieAtAnyInstruction) {
  constexpr std::uint64_t kLimit = 1000;
  bool finished = false;
  for (int instructions = 0; !finished; ++instructions) {
    ASSERT_TRUE(slot(1).add(0, 100, kLimit));
    ASSERT_TRUE(slot(1).add(1, 40, kLimit));
    ASSERT_TRUE(slot(2).add(0, 10, kLimit));
    SteppedChild child([&] { slot(1).recover(); });
    // Of the other cards the slot has nothing, so the rest of the recovery only reads.
    const auto done = [&] { return total(1) == 0 && !slot(1).owes(); };
    for (int i = 0; i < instructions && !finished; ++i) finished = !child.step() || done();
    child.kill();
    slot(1).recover();
    ASSERT_EQ(total(0), 10U) << "after " << instructions;
    ASSERT_EQ(total(1), 0U);
    slot(2).recover();
  }
}

INSTANTIATE_TEST_SUITE_P(All, AccountsDeathTest,
                         ::testing::Values(Death{"Adding", true, false},
                                           Death{"AddingBesideOthers", true, true},
                                           Death{"GivingBack", false, false},
                                           Death{"GivingBackBesideOthers", false, true}),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace tangram::shim
