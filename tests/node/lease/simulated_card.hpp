#pragma once

#include "node/lease/arbiter.hpp"
#include "tests/testing/random.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

/// A card in simulated time, with containers that use it as the stand-in library lets them.
namespace tangram::node::lease {

using namespace std::chrono_literals;

/// What a container does when it may.
struct Program {
  std::chrono::nanoseconds kernel{};     ///< one launch, or a graph
  std::chrono::nanoseconds work = 1h;    ///< that it queues before it pauses
  std::chrono::nanoseconds pause = 0ns;  ///< after that, once its work has ended
  bool lies = false;                     ///< its page says that it used nothing
};

/// Launches in batches of about a millisecond, of which two may be on their way, of long ones one;
/// stops when its turn is closed, and waits once its work has ended. The card does everything in
/// the order in which it was launched.
class SimulatedCard {
 public:
  explicit SimulatedCard(std::uint64_t seed) : random_(seed) {}

  void add(const std::string& name, const TimeShare& time, const Program& program);
  /// It does nothing from now on, or goes on.
  void set_idle(const std::string& name, bool idle) { containers_.at(name).idle = idle; }
  /// Its processes die: what it has on the card ends at once.
  void kill(const std::string& name);

  void run(std::chrono::milliseconds time);

  /// How long the card worked for the container in the second, or the tenth of one, of this number.
  [[nodiscard]] std::chrono::nanoseconds used(const std::string& name, std::int64_t tenth,
                                              std::int64_t tenths = 1) const;
  [[nodiscard]] const Arbiter& arbiter() const { return arbiter_; }

 private:
  struct Batch {
    std::chrono::nanoseconds end;
    std::chrono::nanoseconds length;
  };
  struct Container {
    Program program;
    bool idle = false;
    bool waits = false;
    std::uint32_t launches = 0;
    std::chrono::nanoseconds queued{0};  ///< since its last pause
    std::chrono::nanoseconds paused_until{0};
    std::chrono::nanoseconds measured{0};  ///< since the agent looked
    std::chrono::nanoseconds batch{0};
    std::deque<Batch> on_card;
    std::map<std::int64_t, std::chrono::nanoseconds> used;  ///< by tenth of a second
  };

  [[nodiscard]] std::chrono::nanoseconds next_event() const;
  [[nodiscard]] static std::size_t most_on_card(const Container& container);
  void advance(const std::string& name, Container& container);
  void launch(Container& container);
  void let_agent_look();

  testing::Random random_;
  Arbiter arbiter_;
  std::map<std::string, Container> containers_;
  std::chrono::nanoseconds now_{0};
  std::chrono::nanoseconds card_free_{0};
  std::chrono::nanoseconds next_look_{0};
  bool news_ = false;
  bool looked_ = false;  ///< the agent, a moment ago
};

}  // namespace tangram::node::lease
