#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "model/grant.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

class CardSource;
class Programs;

/// What enforcers work with. Outlives them.
struct EnforcerParts {
  CardSource& source;
  Programs& programs;
  const Clock& clock;
  int sharers_per_card;  ///< at most so many containers share a card
  bool in_pod;           ///< the agent has a mount namespace of its own
  bool memory_limits;    ///< false: the operator wants none
};

enum class Access : std::uint8_t { kReadOnly, kReadWrite };

/// Neither programs nor devices of it can be used.
struct BindMount {
  std::string host_path;
  std::string container_path;
  Access access = Access::kReadOnly;
  friend bool operator==(const BindMount&, const BindMount&) = default;
};

/// What a CDI device adds to a container beside its image and its pod.
struct ContainerEdits {
  std::vector<std::string> env;  ///< "NAME=value"; overrides the pod's own
  std::vector<BindMount> mounts;
  friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

/// What holds each process that a container starts now to the container's limit. A process that has
/// started before keeps what it had then.
enum class Holder : std::uint8_t {
  kNobody,
  kClient,  ///< the process itself, by variables that it can unset
  /// Something outside the process, whatever its environment says: the card's MPS server (of
  /// compute alone), the driver, or the library that stands in for the driver.
  kServer,
};

struct Enforcement {
  Holder memory = Holder::kNobody;
  Holder compute = Holder::kNobody;
  std::string note;  ///< for people, if it is not the server: "the MPS daemon does not answer"
  friend bool operator==(const Enforcement&, const Enforcement&) = default;
};

/// The largest limits among the containers that share a card.
struct Ceiling {
  Mebibytes memory;
  MilliGpu compute;
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

/// The containers that share a card in one mode.
struct CardSharers {
  Ceiling ceiling;
  /// By the names of their CDI devices: the compute that each was granted.
  std::map<std::string, MilliGpu, std::less<>> allocations;
  /// The one of them that is about to start; "" = none.
  std::string starting;

  void add(std::string_view allocation, const model::GrantedCard& part);
  friend bool operator==(const CardSharers&, const CardSharers&) = default;
};

/// The cards that are shared in one mode, by id.
using CardsInMode = std::map<std::string, CardSharers, std::less<>>;

/// Enforces the limits of pods that share a card, in one isolation mode. Threads: safe; calls on
/// different cards do not block each other.
class Enforcer {
 public:
  virtual ~Enforcer() = default;

  /// Whether this mode can enforce the shares of one container at all. Pure.
  /// @returns kInvalidArgument if not, with what to do
  [[nodiscard]] virtual Result<void> accept(const std::vector<model::GrantedCard>& cards) const {
    (void)cards;
    return {};
  }

  /// Prepares a card for sharing in this mode. Idempotent, and cheap once done; the first time it
  /// may take some seconds (a daemon's start), at most 29: kubelet waits 30 for PreStartContainer.
  /// @param sharers  with the container that is about to start
  /// @returns kUnavailable     not now: another try may succeed
  ///          kInvalidArgument  not on this card or machine, with what to do
  virtual Result<void> prepare(const std::string& card, const CardSharers& sharers) = 0;

  /// What one container needs for these limits, the cards in the order in which it sees them. They
  /// are accepted and prepared.
  /// @param allocation  the name of its CDI device
  /// @returns kUnavailable if one is not prepared any more
  [[nodiscard]] virtual Result<ContainerEdits> edits(
      std::string_view allocation, const std::vector<model::GrantedCard>& cards) const = 0;

  /// Gives back all cards but these, which pods share in this mode: ends daemons, resets settings.
  /// After a restart it adopts what an earlier agent has prepared on these.
  virtual void keep(const CardsInMode& cards) = 0;

  /// Gives a card back at once if it was prepared: no pod shares it in this mode any more, and one
  /// is about to use it in another mode or alone.
  /// @returns kUnavailable if it cannot be given back now
  virtual Result<void> release(const std::string& card) = 0;

  /// Checks and repairs what prepare() has set up. Called every few seconds.
  virtual void maintain() = 0;

  /// Of a container's part of a card that was given to prepare() or keep().
  [[nodiscard]] virtual Enforcement enforcement(const model::GrantedCard& part) const = 0;
};

}  // namespace tangram::node
