#pragma once

#include "base/clock.hpp"
#include "base/sleeper.hpp"
#include "kube/api.hpp"
#include "kube/list_watch_codec.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube {

/// Receives what the API server has of one kind of object, in order, on the reflector's thread.
/// The texts live as long as the call.
///
/// A list is delivered object by object, so that it is never in memory as text. It counts once it
/// has ended: one that breaks off is followed by the beginning of another.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  virtual void begin_list() = 0;
  /// An object of the list; delivered again, it has changed meanwhile.
  virtual void listed(std::string_view object) = 0;
  /// An object of the list was deleted before the list had ended.
  virtual void unlisted(std::string_view object) = 0;
  /// The list is complete and consistent: whatever is not in it does not exist.
  virtual void end_list() = 0;
  /// About how much memory the list so far takes; 0 outside a list.
  [[nodiscard]] virtual std::size_t kept_bytes() const = 0;
  /// One change since.
  virtual void change(EventType type, std::string_view object) = 0;
};

class ListPages;

/// Gathers a list and hands it over in one piece: for kinds of which there are few.
class WholeListSink : public ObjectSink {
 public:
  /// A full, consistent list: whatever is not in it does not exist.
  virtual void replace(std::vector<std::string> objects) = 0;

  void begin_list() final;
  void listed(std::string_view object) final;
  void unlisted(std::string_view object) final;
  void end_list() final;
  [[nodiscard]] std::size_t kept_bytes() const final { return kept_; }

 private:
  void forget(const std::string& key);

  std::map<std::string, std::string> objects_;  ///< by object_key()
  std::size_t kept_ = 0;                        ///< bytes of objects_
};

struct ReflectorOptions {
  std::string path;                 ///< "/api/v1/pods"
  std::string field_selector = {};  ///< "status.phase!=Succeeded,status.phase!=Failed"
  int page_size = 500;  ///< client-go's; ListPages requests fewer where objects are large
  /// Of what the sink keeps of one list: more is refused. How long the list is, does not matter.
  /// 150,000 pods, the most that Kubernetes is built for, are 300 MiB in the extender, which has
  /// the former ones beside them and 2 GiB in all.
  std::size_t max_kept_bytes = std::size_t{1} << 30U;
  std::chrono::milliseconds first_backoff{800};  ///< client-go's: 0.8 s, doubled up to 30 s
  std::chrono::milliseconds max_backoff{30'000};
  /// Servers need not have the kind, or let it be read: where one does not (404, 403), run()
  /// returns.
  bool optional = false;
};

/// Keeps a sink in step with the API server: a list, then WATCH from the list's resourceVersion.
///
/// The list is a streaming one (the same stream first has what exists, then what changes) from
/// servers that have it: Kubernetes 1.34 and newer, unless switched off. Others refuse the first
/// one with 400, 403 or 422, or answer with a bookmark before its end; from then on it is LIST,
/// page by page. A streaming list that fails otherwise is followed by one such LIST.
///
///     list --ok--> watch --end of stream--> watch, from the last version seen (bookmarks count)
///      ^             |----410, or an ERROR frame with that code----> list
///      |             |----the server is behind what was seen-------> list
///      |             |----a frame is too long, after a back-off----> list, by pages
///      '--error------'--other errors, after a back-off--> the same again
///
/// A server that was restored from a backup begins again at an earlier version. It sends nothing to
/// a watch from a later one until it has reached it again, and of what it dropped it never tells.
/// So after a watch that ended before its time, or in which nothing came for two minutes, the next
/// one is opened only if the server's version is not an earlier one. An earlier one, and a watch
/// that goes back, are answered as a 410.
///
/// The back-off doubles up to the maximum and starts anew once a watch has delivered an event or
/// has lasted a second: a list that succeeds is no sign yet that its watch will. It is at least the
/// server's Retry-After. A 410 is answered at once the first time, and after a back-off when it
/// follows another one. A frame that is too long is always followed by a back-off: users who can
/// write such an object could otherwise cause list after list. A list that expires half-way (410)
/// starts over. It is an error if the sink would keep too much of a list, or if ListPages reports
/// one.
class Reflector {
 public:
  Reflector(KubeApi& api, ReflectorOptions options, ObjectSink& sink, const Clock& clock,
            Sleeper sleeper = sleep_until_stopped);

  /// Runs until stop, or as of ReflectorOptions::optional. Blocks; errors are logged and counted,
  /// never thrown.
  void run(const std::stop_token& stop);

  /// Throws the position away and lists anew, consistently and at once: a running watch, or a wait
  /// before the next try, is cut short. From any thread.
  /// @returns the ticket: once Health::relisted is as large, a list that began after this call has
  ///          been delivered
  std::uint64_t relist();
  /// As relist(), unless a list that was asked for is still to come: calling relist() again and
  /// again would cut that one short each time. From any thread.
  void relist_unless_asked();

  struct Health {
    bool synced = false;  ///< a list has been delivered
    /// A watch goes on from it, or is being opened; false in a list and in a back-off.
    bool following = false;
    std::string version;         ///< all up to this one has been delivered
    TimePoint last_heard{};      ///< last list, event or bookmark
    std::uint64_t lists = 0;     ///< delivered
    std::uint64_t relisted = 0;  ///< newest ticket of relist() that is served
    std::uint64_t watches = 0;   ///< opened
    std::uint64_t errors = 0;    ///< that led to a back-off or a new list
  };
  /// From any thread.
  [[nodiscard]] Health health() const;

 private:
  /// What went wrong, and what follows from it.
  struct Failure {
    bool expired = false;    ///< list again; otherwise the same again
    bool too_large = false;  ///< a frame is: list again by pages, after a back-off
    int status = 0;          ///< of HTTP; 0 = no such answer
    std::string message;
    std::optional<std::chrono::seconds> retry_after = {};
  };
  using Outcome = std::optional<Failure>;  ///< nothing: all went well

  std::stop_source begin_turn();
  Outcome take_turn(const std::stop_token& stop);
  Outcome check_position();
  Outcome stream(const std::stop_token& stop);
  Outcome list(const std::stop_token& stop);
  Outcome watch(const std::stop_token& stop);
  Outcome take(const std::string& text);
  Outcome take_listed(WatchEvent frame);
  Outcome take_page(ListPages& pages);
  [[nodiscard]] static Failure refused(const std::string& what, const Response& response);
  [[nodiscard]] Outcome keeps_too_much() const;
  Outcome judge_end(const Result<Response>& response, bool worked);
  [[nodiscard]] Request watch_request() const;
  [[nodiscard]] std::map<std::string, std::string> selection() const;
  void end_list();
  template <class Change>
  void change_health(const Change& change);
  void begin_watch();
  void recover(const Failure& failure, const std::stop_token& stop);
  [[nodiscard]] std::chrono::milliseconds spread(std::chrono::milliseconds wait) const;

  KubeApi& api_;
  const ReflectorOptions options_;
  ObjectSink& sink_;
  const Clock& clock_;
  const Sleeper sleeper_;

  // Of run()'s thread.
  std::string version_;  ///< last one seen; empty = must list
  std::chrono::milliseconds backoff_;
  bool expired_before_ = false;  ///< a 410, and no event of a watch since
  bool interrupted_ = false;     ///< the last watch ended before its time
  bool streams_ = true;          ///< the server has not refused a streaming list
  bool by_pages_ = false;        ///< the last streaming list failed: the next one is not
  bool listing_ = false;         ///< a streaming list is being delivered
  std::uint64_t serving_ = 0;    ///< newest ticket from before this turn

  mutable std::mutex mutex_;
  // Under mutex_.
  Health health_;
  std::uint64_t asked_ = 0;  ///< newest ticket
  std::stop_source turn_;    ///< ends what run() does at the moment
};

/// Between two looks for a kind that the server does not have: its administrator may switch it on.
inline constexpr std::chrono::seconds kLookForKind{60};

/// Keeps a sink in step with a kind that servers have in different versions, or not at all, until
/// stop. Blocks. Where it is gone, what the sink has stays.
/// @param versions  the first that the server has is watched
void watch_if_served(KubeApi& api, std::vector<ReflectorOptions> versions, ObjectSink& sink,
                     const Clock& clock, const std::stop_token& stop,
                     const Sleeper& sleeper = sleep_until_stopped);

}  // namespace tangram::kube
