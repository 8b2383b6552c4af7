#pragma once

#include "base/clock.hpp"
#include "http/server.hpp"
#include "tests/e2e/cluster.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tangram::e2e {

/// A mutating webhook like those of service meshes: adds a container before the others to every pod
/// of a namespace.
class Injector {
 public:
  enum class Adds : std::uint8_t {
    /// "injected", between Tangram's first and last call.
    kOnce,
    /// Another at each call, after Tangram's last one; it is called again for what others changed.
    kAgain,
  };
  explicit Injector(Cluster& cluster, const std::string& ns = "default", Adds adds = Adds::kOnce);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  [[nodiscard]] int calls() const { return calls_; }

 private:
  Cluster& cluster_;
  const std::string name_;
  SystemClock clock_;
  std::atomic<int> calls_ = 0;
  std::unique_ptr<http::Server> server_;
};

}  // namespace tangram::e2e
