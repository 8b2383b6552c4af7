#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

/// How fast connections may be opened, and by whom. Internal to the server.
namespace tangram::http {

/// A token bucket for each origin (see Connection): so many new connections per second in the
/// long run, and a burst of them at once after a pause.
///
/// Before the handshake a client is not authenticated. So an origin from which a verified client
/// has connected may open any number of connections for a while. Else
/// unauthenticated clients behind the same address could use up what that client needs:
/// kube-scheduler keeps two connections and opens one for each bind beyond those.
///
/// Threads: safe. What is known of an origin already costs no memory to ask.
class ConnectRate {
 public:
  /// Of more, the one that came longest ago is forgotten, and has a full bucket when it comes
  /// again: a client with more addresses than this is not limited by a limit per address anyway.
  /// 4,096 take less than 1 MiB, and no cluster has as many clients.
  static constexpr std::size_t kMostOrigins = 4'096;
  /// Longer than kube-scheduler keeps a connection on which nothing happens, 90 s, and than most
  /// pauses between its pods; short beside the life of a node, whose address another may get.
  static constexpr std::chrono::hours kVouchedFor{1};

  /// @param per_second  0 = any number; at most 1'000'000'000
  /// @param burst       at least 1, unless any number may come
  ConnectRate(int per_second, int burst);

  /// @returns false if the connection that just came is one too many
  bool admit(std::string_view origin, TimePoint now);
  /// A client with a verified certificate has connected from there.
  void vouch_for(std::string_view origin, TimePoint now);

  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Origin {
    std::string name;
    TimePoint next;        ///< when the next token would come if the bucket held one only
    TimePoint vouched_to;  ///< until then it may open any number
  };
  using Origins = std::list<Origin>;

  Origin& find_or_add(std::string_view name);

  const std::chrono::nanoseconds interval_;  ///< between two tokens; 0 = any number
  const std::chrono::nanoseconds credit_;    ///< what a full bucket is worth, less one token
  std::mutex mutex_;
  Origins origins_;  ///< the one that came last first
  std::unordered_map<std::string_view, Origins::iterator> by_name_;
  std::atomic<std::uint64_t> refused_ = 0;
};

}  // namespace tangram::http
