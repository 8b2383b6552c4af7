#pragma once

#include "http/server.hpp"
#include "kube/api.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace tangram::e2e {

/// A minimal extender: filter returns the next N names in turn, prioritize has no preference, bind
/// binds without a grant. The baseline of Tangram's throughput.
class NullExtender {
 public:
  /// @param short_list  names that filter returns; 0 = all
  NullExtender(kube::KubeApi& api, int short_list);
  [[nodiscard]] std::string url() const;

 private:
  http::Response answer(http::Request& request);
  std::string filter(std::string& body);
  std::string bind(const std::string& body);

  kube::KubeApi& api_;
  std::size_t short_list_;
  std::atomic<std::size_t> turn_{0};
  std::unique_ptr<http::Server> server_;
};

}  // namespace tangram::e2e
