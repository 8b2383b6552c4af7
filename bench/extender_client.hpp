#pragma once

#include "base/result.hpp"
#include "http/client.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::bench {

/// A client of the extender's HTTP API, as kube-scheduler and people use it. Every call blocks, on
/// one connection. @returns kUnavailable or kTimeout without a reply, kInvalidArgument for a reply
/// against the protocol
/// Threads: one at a time.
class ExtenderClient {
 public:
  /// @param tls  nothing = plain HTTP
  static Result<ExtenderClient> connect(const std::string& host, std::uint16_t port,
                                        const std::optional<http::ClientTls>& tls = {});

  using Reasons = std::map<std::string, std::string>;  ///< by node
  struct Filtered {
    std::vector<std::string> nodes;  ///< that fit the pod, best first
    Reasons failed;                  ///< evicting pods might help
    Reasons unresolvable;            ///< evicting pods does not help
    std::string error;               ///< the pod is invalid
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
  /// @returns why it was rejected; empty = bound
  Result<std::string> bind(const PodName& pod, const std::string& node);

  struct Page {
    int status = 0;
    std::string body;
  };
  Result<Page> get(const std::string& target);

  /// The body of any 200.
  Result<std::string> post(std::string_view path, std::string body);

 private:
  explicit ExtenderClient(http::Client http) : http_(std::move(http)) {}

  http::Client http_;
};

/// Decodes a reply of /filter. @returns kInvalidArgument for a reply against the protocol
Result<ExtenderClient::Filtered> decode_filter_reply(std::string reply);

/// {"Pod":...,"Nodes":null,"NodeNames":[...]}, as Go writes it.
[[nodiscard]] std::string filter_body(std::string_view pod, const std::vector<std::string>& nodes);
/// {"PodName":...,"PodNamespace":...,"PodUID":...,"Node":...}
[[nodiscard]] std::string bind_body(const ExtenderClient::PodName& pod, std::string_view node);

}  // namespace tangram::bench
