#pragma once

#include "base/clock.hpp"
#include "base/sleeper.hpp"
#include "kube/api.hpp"
#include "kube/rest/rest_config.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace tangram::kube {

/// Limits of RestApi.
struct RestOptions {
  std::string user_agent = "tangram";  ///< "tangram-extender/0.1.0"
  // kube-scheduler's 50 and 100 are for one bind at a time; Tangram binds several hundred pods a
  // second, and the server's own priority-and-fairness filter protects it better than we can.
  int qps = 500;
  int burst = 1000;
  /// Of a watch that requests bookmarks: they come about every minute, so three are missing.
  std::chrono::milliseconds watch_silence{180'000};
  /// Of what a GET is answered with. It takes up to twice that while it grows, which must fit into
  /// the agent's 512 MiB. 500 objects of 20 KiB are 10 MiB; ListPages requests longer pages again,
  /// of fewer objects. More than max_object, so that a page of one object always fits.
  std::size_t max_body = std::size_t{64} << 20U;
  /// Of everything else, which is one object: a frame of a watch, the answer to a write, an error.
  /// etcd takes 1.5 MiB as it is set by default. The API server writes '<' as \u003c, so that is
  /// 9 MiB of JSON, and somewhat more of short members with long names. The rest is for clusters
  /// that have raised etcd's limit.
  std::size_t max_object = std::size_t{32} << 20U;
};

/// A real API server, over HTTP/1.1 and TLS 1.2 or newer.
///
/// Each exchange has a connection of its own, from a pool that keeps them alive. So calls never
/// wait for each other, and what happens to a connection happens to one request.
///
/// * The rate limit holds back calls, in the order they come; not watches, nor urgent calls.
/// * 401: credentials are read again, and if they changed the request is sent once more.
/// * 429 with a Retry-After that fits the deadline: sent again after it, at most ten times; the
/// same
///   for a 5xx to a GET or to the start of a watch. A write that met a 5xx may have been applied,
///   so it is the caller's. Otherwise the Response, with its retry_after, is handed back.
/// * A GET whose kept connection turns out dead is sent again at once; a write only if nothing of
/// it
///   was sent (else kTimeout).
/// * A watch that breaks or is silent for too long: kTimeout. One that sends too long a frame, and
/// a
///   GET that finds too much: kTooLarge.
/// Redirects are answers, and the environment's proxies are not used.
/// Threads: safe. Destroy it after the last call has returned.
class RestApi final : public KubeApi {
 public:
  /// Reads the credentials' files; sends nothing.
  /// @returns kInvalidArgument, kNotFound: what is wrong with the configuration
  static Result<std::unique_ptr<RestApi>> create(const RestConfig& config, RestOptions options,
                                                 const Clock& clock,
                                                 Sleeper sleeper = sleep_until_stopped);
  ~RestApi() override;

  Result<Response> call(const Request& request) override;
  /// Ends within a tenth of a second of stop, whatever the server does.
  Result<Response> watch(const Request& request, const WatchFrame& frame,
                         std::stop_token stop) override;

 private:
  struct Impl;
  explicit RestApi(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::kube
