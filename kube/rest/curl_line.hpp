#pragma once

#include "kube/api.hpp"
#include "kube/rest/credentials.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// libcurl, and the only place that knows it.
namespace tangram::kube {

/// One HTTP exchange to be made.
struct HttpOrder {
  Method method = Method::kGet;
  std::string url;
  std::string connect_to;            ///< "host:port" instead of the URL's; "" = the URL's
  std::vector<std::string> headers;  ///< "Accept: application/json"
  std::string_view body;
  CredentialsPtr credentials;  ///< of TLS; the token is a header
  bool verify = true;
  bool gzip = false;  ///< offer the server to compress
  std::chrono::milliseconds timeout{};
  std::chrono::milliseconds silence{};  ///< longest wait between two bytes; 0 = any
};

/// How it ended.
struct HttpEnd {
  enum class Why {
    kAnswered,  ///< the whole answer came
    kEnough,    ///< the receiver wanted no more
    kStopped,   ///< stop was requested
    kBroken,    ///< no answer, or part of one: see reason
  };
  Why why = Why::kBroken;
  bool sent = false;  ///< a byte of the request may have reached the server
  int status = 0;     ///< 0 = none came
  std::optional<std::chrono::seconds> retry_after;
  std::string reason;
};

/// Takes bytes of the body, on the calling thread and outside of libcurl: it may block and throw.
/// @returns false if it wants no more
using BodyReceiver = std::function<bool(int status, std::string_view bytes)>;

/// One connection to a server, kept alive between exchanges. Threads: one at a time.
///
/// libcurl sends a request again by itself when a kept connection turns out to be dead. Here it may
/// do so only with GETs, or while not a byte has been sent: a write that may have arrived must not
/// go out twice.
class CurlLine {
 public:
  CurlLine();
  ~CurlLine();
  CurlLine(const CurlLine&) = delete;
  CurlLine& operator=(const CurlLine&) = delete;

  /// Never throws but what `receive` throws.
  HttpEnd run(const HttpOrder& order, const BodyReceiver& receive, const std::stop_token& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Lends lines, the one used last first: the others' connections may idle out. Threads: safe.
class LinePool {
 public:
  struct TakeBack {
    LinePool* pool = nullptr;
    void operator()(CurlLine* line) const { pool->take_back(std::unique_ptr<CurlLine>(line)); }
  };
  using Loan = std::unique_ptr<CurlLine, TakeBack>;  ///< gives its line back

  [[nodiscard]] Loan lend();

 private:
  void take_back(std::unique_ptr<CurlLine> line);

  std::mutex mutex_;
  std::vector<std::unique_ptr<CurlLine>> idle_;
};

/// The parts of a server's URL.
struct ServerUrl {
  std::string scheme;  ///< "https" or "http"
  std::string host;    ///< IPv6 in brackets
  std::string port;
  std::string path;  ///< "" or "/k8s/clusters/c-1": no slash at the end
};
/// @returns kInvalidArgument if it is no URL, or has what an API server's cannot have
[[nodiscard]] Result<ServerUrl> parse_server_url(const std::string& text);

}  // namespace tangram::kube
