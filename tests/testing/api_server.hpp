#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tangram::testing {

/// Serves any KubeApi over HTTP/1.1 on the loopback interface, as a real API server would be met:
/// keep-alive, watches in chunks, one JSON frame a line. What the KubeApi answers with an error
/// (nothing reached it, no answer in time) ends the connection without an answer.
///
/// A test tool: a blocking thread for each connection, two for a watch; good for some hundred.
/// Threads: every method from any thread; the KubeApi must outlive the server and is called from
/// many threads at once.
class ApiServer {
 public:
  /// PEM texts.
  struct Tls {
    std::string certificate;
    std::string key;
    std::string client_ca = {};  ///< if set, clients must show a certificate that it signed
  };
  struct Options {
    std::uint16_t port = 0;         ///< 0: the system chooses
    std::optional<Tls> tls = {};    ///< nothing: plain HTTP
    std::string bearer_token = {};  ///< if set, what does not carry it gets 401
  };

  /// @returns kUnavailable  the port cannot be had; kInvalidArgument  a PEM text is none
  static Result<std::unique_ptr<ApiServer>> start(kube::KubeApi& api, Options options);
  static Result<std::unique_ptr<ApiServer>> start(kube::KubeApi& api) { return start(api, {}); }
  ~ApiServer();  ///< stops
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  ///< "http://127.0.0.1:40123"

  /// From now on requires another token, also on open connections.
  void require_token(std::string token);
  /// Cuts every connection at once, as a server that dies does. New ones are welcome.
  void drop_connections();
  /// Cuts the connections that carry a watch.
  void cut_watches();
  /// Cuts every connection and refuses new ones until resume(); the port stays this server's.
  void pause();
  /// @returns kUnavailable  the port cannot be listened on again
  Result<void> resume();
  /// Cuts every connection, ends every watch, waits for all threads. A call that the KubeApi delays
  /// is waited for.
  void stop();

  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t watches() const;

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::testing
