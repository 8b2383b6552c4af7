#pragma once

#include "base/result.hpp"
#include "extender/http_client.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::bench {

/// Speaks to the extender as kube-scheduler does: the same JSON, one keep-alive connection.
/// Threads: one at a time.
class ExtenderClient {
 public:
  static Result<ExtenderClient> connect(std::uint16_t port);

  /// @param pod_json  the whole v1.Pod
  /// @returns the short-list; kConflict with the extender's Error
  Result<std::vector<std::string>> filter(std::string_view pod_json,
                                          const std::vector<std::string_view>& nodes);

  struct Score {
    std::string host;
    std::int64_t score = 0;
  };
  Result<std::vector<Score>> prioritize(std::string_view pod_json,
                                        const std::vector<std::string_view>& nodes);

  struct PodName {
    std::string ns;
    std::string name;
    std::string uid;
  };
  /// @returns kConflict with the extender's Error
  Result<void> bind(const PodName& pod, std::string_view node);

  /// The body of any 200. @returns kUnavailable for other statuses
  Result<std::string> post(std::string_view path, std::string body);

 private:
  explicit ExtenderClient(extender::HttpClient client) : client_(std::move(client)) {}

  extender::HttpClient client_;
};

/// {"PodName":...,"PodNamespace":...,"PodUID":...,"Node":...}
[[nodiscard]] std::string bind_body(const ExtenderClient::PodName& pod, std::string_view node);

/// {"Pod":...,"Nodes":null,"NodeNames":[...]}, as Go writes it.
[[nodiscard]] std::string filter_body(std::string_view pod_json,
                                      const std::vector<std::string_view>& nodes);

}  // namespace tangram::bench
