#pragma once

#include "kube/api.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// One connection of ApiServer.
namespace tangram::testing {

/// "/api/v1/pods?watch=1&limit=2", with the method's name, as the request that it is.
/// @returns nothing for a method or a target that no API server knows
[[nodiscard]] std::optional<kube::Request> read_request(std::string_view method,
                                                        std::string_view target);
/// Whether a request is a watch, not a list.
[[nodiscard]] bool asks_to_watch(const kube::Request& request);

/// Answers the requests of one connection, one after the other, on the thread that calls run().
class ApiConnection {
 public:
  struct Context {
    kube::KubeApi& api;
    boost::asio::ssl::context* tls;      ///< null: plain HTTP
    std::function<std::string()> token;  ///< that a request must bear; empty = none
  };
  ApiConnection(boost::asio::ip::tcp::socket socket, const Context& context)
      : socket_(std::move(socket)), context_(context) {}
  ApiConnection(const ApiConnection&) = delete;
  ApiConnection& operator=(const ApiConnection&) = delete;

  /// Until the client leaves or cut() is called.
  void run();
  /// Ends the connection at once. From any thread.
  void cut();
  [[nodiscard]] bool is_watching() const { return watching_; }
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  template <class Stream>
  void serve(Stream& stream);
  /// @returns whether the connection goes on
  template <class Stream, class Message>
  bool answer(Stream& stream, Message& message);
  template <class Stream>
  void stream_watch(Stream& stream, const kube::Request& request);

  boost::asio::ip::tcp::socket socket_;
  const Context context_;
  std::stop_source stop_;  ///< ends the watch
  std::atomic<bool> watching_ = false;
  std::atomic<bool> over_ = false;
  std::mutex closing_;  ///< a closed socket must not be shut down
  bool closed_ = false;
};

}  // namespace tangram::testing
