#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "cli/cluster.hpp"
#include "cli/connection.hpp"
#include "cli/screen.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

/// `reset-card`: makes a card of NVIDIA's ready to be reset, and says how. A driver resets no card
/// that a program has open, as the agent and the MPS daemons have all cards of their node. So the
/// agent cannot do it, and the steps stop both; the command itself only cordons.
namespace tangram::cli {

/// What is reset by one command, on one node.
struct ResetOrder {
  std::string node = {};
  std::vector<std::string> cards = {};   ///< physical ones, the named one first
  std::vector<std::string> linked = {};  ///< those that NVLink connects to it, and that stay
  /// Of `cards`: cordoned by an operator before. They stay cordoned after the reset.
  std::vector<std::string> kept = {};
  bool has_instances = false;  ///< of MIG: their layout does not outlive the reset
};

/// The driver resets a card alone from Ampere on. Before, and on Ampere's NVSwitch systems without
/// Fabric Manager, it resets the cards that NVLink connects only together.
enum class LinkedCards { kStay, kAreReset };

/// Cordons the cards, by one PATCH of the node.
/// @param card  as of cordon_card(); of a MIG instance, its physical card is meant
/// @returns as cordon_card(); also kInvalidArgument for a card that is not NVIDIA's
Result<ResetOrder> prepare_reset(kube::KubeApi& api, const std::string& card, LinkedCards linked);

/// A pod that is in the way.
struct ResetPod {
  std::string name;   ///< "ml/train-0"
  std::string state;  ///< state_of()
  friend bool operator==(const ResetPod&, const ResetPod&) = default;
};

/// What the reset still waits for.
struct ResetProgress {
  /// The agent publishes that the cards take no pods. Before, the extender may still place some.
  bool closed = false;
  std::vector<ResetPod> pods = {};  ///< with a grant on the cards, or one that cannot be read
  /// On the node's other cards under MPS: they end with their daemons when these are stopped.
  std::vector<ResetPod> clients = {};

  [[nodiscard]] bool ready() const { return closed && pods.empty() && clients.empty(); }
};
/// @returns kNotFound if the node is gone
Result<ResetProgress> read_reset_progress(const Cluster& cluster, const ResetOrder& order);

struct ResetWait {
  std::chrono::seconds timeout{};
  const Clock& clock;
  Sleeper sleep;
};
/// Repeats `read` until the cards are ready, or the time is up.
/// @returns how far it is then; or the error of `read`, except kUnavailable in between
Result<ResetProgress> await_reset(const std::function<Result<ResetProgress>()>& read,
                                  const ResetWait& wait);

/// For the commands that are printed.
struct ResetPlace {
  Target target = {};  ///< the flags of this command, which the printed ones need too
  std::string system_namespace;
};
/// The commands that reset the cards, one a line, quoted for a shell.
[[nodiscard]] std::vector<std::string> reset_commands(const ResetOrder& order,
                                                      const ResetPlace& place);

[[nodiscard]] std::string draw_reset(const Screen& screen, const ResetOrder& order,
                                     const ResetProgress& progress, const ResetPlace& place);
/// {"node", "cards": [], "linked": [], "stayCordoned": [], "ready", "closed",
/// "pods": [{"name", "state"}], "mpsClients": [...], "commands": []}; commands only if it is ready
[[nodiscard]] std::string reset_json(const ResetOrder& order, const ResetProgress& progress,
                                     const ResetPlace& place);

}  // namespace tangram::cli
