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

/// The connections of one server, and which of them are cut at the limit. Internal to
/// the server.
namespace tangram::http {

/// What the server needs of a connection, whatever its stream. drain() and cut() may be called
/// from any thread.
class Connection {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// What is known of the client.
  enum class Trust : std::uint8_t {
    kUnproven,  ///< it got no answer yet
    kServed,    ///< it got one
    kVerified,  ///< its certificate is verified
  };

  /// @param origin  the client's address: connections of one origin compete with each other first
  explicit Connection(std::string origin) : origin_(std::move(origin)) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Ends the connection if it is idle; otherwise after the current answer.
  virtual void drain() = 0;
  /// Ends the connection at once.
  virtual void cut() = 0;

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] Trust trust() const { return trust_; }
  /// Since when it waits for its client, to send or to take something; Instant::max() = it does
  /// not.
  [[nodiscard]] Instant waits_since() const { return Instant(Instant::duration(waits_since_)); }

 protected:
  void set_trust(Trust trust) { trust_ = trust; }
  void waits_from(Instant since) { waits_since_ = since.time_since_epoch().count(); }

 private:
  const std::string origin_;
  std::atomic<Trust> trust_ = Trust::kUnproven;
  std::atomic<Instant::rep> waits_since_ = Instant::max().time_since_epoch().count();
};

/// Threads: safe; but reserve() and add() belong together, on one thread.
class Connections {
 public:
  using Pointer = std::shared_ptr<Connection>;
  using Instant = Connection::Instant;

  /// A new connection counts as stalled if it has no answer after this time: a handshake and a
  /// request take a few round trips.
  static constexpr std::chrono::seconds kGrace{2};

  explicit Connections(std::size_t most) : most_(most) {}

  enum class Decision : std::uint8_t {
    kServe,
    kReject,  ///< answer 503
    kClose,   ///< close without an answer
  };
  /// Decides about a new connection. At the limit, cuts one that waits for its client and is not
  /// authenticated, of the origin with the most of these: first one without an answer within
  /// kGrace, then one with an answer, then any; of equals, the one that has waited longest. A
  /// verified client is cut only if there are no others. So one host cannot use up all connections,
  /// and of one origin's clients the stalled ones are cut first.
  Decision reserve(Instant now);

  /// @returns false if close() came first: the connection must not begin
  bool add(const Pointer& connection, Decision decision);
  void remove(const Pointer& connection);

  /// Accepts no more, and drains the open ones.
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
