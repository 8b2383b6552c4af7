#pragma once

#include "node/vendor/nvidia/mps_enforcer.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/node/vendor/nvidia/fake_programs.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

namespace tangram::node::nvidia {

/// Limits on the card GPU-a.
inline model::GrantedCard granted(std::int64_t limit_mib, std::int64_t limit_milli) {
  model::GrantedCard card;
  card.uuid = "GPU-a";
  card.memory_limit = Mebibytes(limit_mib);
  card.compute_limit = MilliGpu(limit_milli);
  return card;
}

/// Containers that have the same share.
inline CardSharers sharers(const std::set<std::string, std::less<>>& allocations) {
  CardSharers sharers;
  for (const std::string& allocation : allocations) sharers.add(allocation, granted(8192, 250));
  return sharers;
}

/// An enforcer on a machine of fakes, with folders of the test's own.
class MpsEnforcerTest : public ::testing::Test {
 protected:
  MpsEnforcerTest() {
    std::string pattern = ::testing::TempDir() + "mps_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    settings_.run_dir = pattern;
    renew();
  }
  ~MpsEnforcerTest() override { std::filesystem::remove_all(settings_.run_dir); }

  /// As when the agent is restarted.
  void renew() {
    enforcer_ = std::make_unique<MpsEnforcer>(
        source_, programs_, clock_, settings_,
        [this](std::chrono::milliseconds wait, const std::stop_token&) { clock_.advance(wait); });
  }
  [[nodiscard]] std::string root(const std::string& card) const {
    return settings_.run_dir + "/mps/" + card;
  }
  /// Of the daemon that clients reach.
  [[nodiscard]] std::string pipe(const std::string& card) const {
    return MpsFolders(settings_.run_dir, card).current() + "/pipe";
  }
  [[nodiscard]] std::string client_file(const std::string& allocation, const char* name) const {
    return root("GPU-a") + "/clients/" + allocation + "/" + name;
  }
  [[nodiscard]] bool enforced(const std::string& card) const {
    model::GrantedCard part = granted(8192, 250);
    part.uuid = card;
    const Enforcement now = enforcer_->enforcement(part);
    EXPECT_EQ(now.memory == Holder::kClient, now.compute == Holder::kServer);
    return now.compute == Holder::kServer;
  }

  ScriptedSource source_;
  FakePrograms programs_;
  testing::ManualClock clock_;
  MpsSettings settings_{.sharers = 4};
  std::unique_ptr<MpsEnforcer> enforcer_;
};

}  // namespace tangram::node::nvidia
