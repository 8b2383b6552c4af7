#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 0;
  Fields headers;
  std::string body;  ///< chunks joined; still compressed if the server compressed it

  /// The first header of that name, letter case ignored; "" if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// How to speak TLS. All texts are PEM.
struct ClientTls {
  std::string ca;                ///< of the authorities that sign the server's certificate
  std::string server_name;       ///< in its certificate; "" = the host that is connected to
  std::string certificate = {};  ///< shown if the server requests one; "" = none
  std::string key = {};
};

/// A small blocking HTTP/1.1 client: one connection, kept between requests.
///
/// Every call ends after `timeout`. Errors: kUnavailable, the server cannot be
/// reached or closed the connection; kTimeout; kInvalidArgument, the answer is not HTTP.
/// Threads: one at a time.
class Client {
 public:
  explicit Client(std::chrono::milliseconds timeout = std::chrono::seconds(30));
  /// Over TLS. Texts that cannot be used make connect() fail with kInvalidArgument.
  explicit Client(ClientTls tls, std::chrono::milliseconds timeout = std::chrono::seconds(30));
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// `host` is a name or an address. A connection that was open is closed first.
  Result<void> connect(const std::string& host, std::uint16_t port);

  /// Sends a request and waits for its answer. Connects anew if the last answer, or a failure,
  /// ended the connection; does not repeat a request.
  Result<Reply> request(std::string_view method, std::string_view target, std::string body = {},
                        std::string_view content_type = "application/json",
                        const Fields& headers = {});

  /// Sends bytes as they are.
  Result<void> send(std::string_view bytes);
  /// Waits for one answer, interim ones ("100 Continue") included. `to_head`: it has no body.
  Result<Reply> receive(bool to_head = false);
  /// Waits until the server ends the connection.
  /// @returns kConflict if it sends something first.
  Result<void> wait_for_close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::http
