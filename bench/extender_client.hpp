#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench {

/// The extender as kube-scheduler and people reach it: over HTTP, and by nothing else.
/// Every call blocks, on one connection. @returns kUnavailable or kTimeout if there is no answer,
/// kInvalidArgument if it is not what the protocol says
/// Threads: one at a time.
class ExtenderClient {
 public:
  static Result<ExtenderClient> connect(const std::string& host, std::uint16_t port);
  ~ExtenderClient();
  ExtenderClient(ExtenderClient&&) noexcept;
  ExtenderClient& operator=(ExtenderClient&&) noexcept;

  using Reasons = std::map<std::string, std::string>;  ///< by node
  struct Filtered {
    std::vector<std::string> nodes;  ///< that can take the pod, best first
    Reasons failed;                  ///< cannot now; evicting pods might help
    Reasons unresolvable;            ///< cannot, whoever leaves
    std::string error;               ///< the pod itself is wrong
  };
  /// @param pod  the v1.Pod as JSON
  Result<Filtered> filter(std::string_view pod, const std::vector<std::string>& nodes);

  struct Score {
    std::string host;
    std::int64_t score = 0;  ///< 0..10
  };
  Result<std::vector<Score>> prioritize(std::string_view pod,
                                        const std::vector<std::string>& nodes);

  struct PodName {
    std::string ns;
    std::string name;
    std::string uid;
  };
  /// @returns why it was refused; empty = bound
  Result<std::string> bind(const PodName& pod, const std::string& node);

  struct Page {
    int status = 0;
    std::string body;
  };
  Result<Page> get(const std::string& target);

  /// The body of any 200.
  Result<std::string> post(std::string_view path, std::string body);

 private:
  struct Connection;
  explicit ExtenderClient(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

/// What /filter answers. @returns kInvalidArgument if it is not what the protocol says
Result<ExtenderClient::Filtered> decode_filter_reply(std::string reply);

/// {"Pod":...,"Nodes":null,"NodeNames":[...]}, as Go writes it.
[[nodiscard]] std::string filter_body(std::string_view pod, const std::vector<std::string>& nodes);
/// {"PodName":...,"PodNamespace":...,"PodUID":...,"Node":...}
[[nodiscard]] std::string bind_body(const ExtenderClient::PodName& pod, std::string_view node);

}  // namespace tangram::bench
