#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

/// The connections of one server, and which of them must go where there are too many. Internal to
/// the server.
namespace tangram::http {

/// What the server needs of a connection, whatever its stream. drain() and cut() may be called
/// from any thread.
class Connection {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// How much a client has shown.
  enum class Standing : std::uint8_t {
    kUnproven,  ///< it never got an answer
    kServed,    ///< it did
    kVerified,  ///< its certificate is vouched for
  };

  /// @param origin  whose it is: connections of one origin compete with each other first
  explicit Connection(std::string origin) : origin_(std::move(origin)) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Ends the connection if it is idle; else the answer in the making is its last.
  virtual void drain() = 0;
  /// Ends the connection at once.
  virtual void cut() = 0;

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] Standing standing() const { return standing_; }
  /// Since when it waits for its client, to send or to take something; Instant::max() = it does
  /// not.
  [[nodiscard]] Instant waits_since() const { return Instant(Instant::duration(waits_since_)); }

 protected:
  void stand(Standing standing) { standing_ = standing; }
  void waits_from(Instant since) { waits_since_ = since.time_since_epoch().count(); }

 private:
  const std::string origin_;
  std::atomic<Standing> standing_ = Standing::kUnproven;
  std::atomic<Instant::rep> waits_since_ = Instant::max().time_since_epoch().count();
};

/// Threads: safe; but reserve() and add() belong together, on one thread.
class Connections {
 public:
  using Pointer = std::shared_ptr<Connection>;
  using Instant = Connection::Instant;

  /// A newcomer has so long to get its first answer before it counts as one that stalls: a
  /// handshake and a request take a few round trips.
  static constexpr std::chrono::seconds kGrace{2};

  explicit Connections(std::size_t most) : most_(most) {}

  enum class Place : std::uint8_t {
    kServe,
    kTurnAway,  ///< answer 503
    kNone,      ///< close without a word
  };
  /// What becomes of a newcomer. Where all places are taken, one of the strangers that wait for
  /// their clients is cut, of the origin that has most of them: first one that has got no answer
  /// within kGrace, then one that has got one, then any; of equals, the one that has waited
  /// longest. A verified client is cut only where there are no strangers. So one host cannot take
  /// the places of others, and, among clients of one origin, those that stall lose theirs to those
  /// that talk.
  Place reserve(Instant now);

  /// @returns false if close() came first: the connection must not begin
  bool add(const Pointer& connection, Place place);
  void remove(const Pointer& connection);

  /// Takes no more, and drains those that are there.
  void close();
  bool all_ended_within(std::chrono::milliseconds time);
  /// Cuts all and waits for their end. @returns how many there were
  std::size_t cut_all();

  struct Counts {
    std::uint64_t open = 0;
    std::uint64_t turned_away = 0;
    std::uint64_t evicted = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  enum class State : std::uint8_t { kServed, kTurnedAway, kEvicted };
  using All = std::map<Pointer, State>;

  [[nodiscard]] std::size_t count(State state) const;
  [[nodiscard]] std::string largest_origin() const;
  bool evict_one(Instant now);

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  All all_;
  std::array<std::size_t, 3> by_state_{};
  bool closed_ = false;
  std::uint64_t turned_away_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace tangram::http
