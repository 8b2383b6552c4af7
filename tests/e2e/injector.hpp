#pragma once

#include "base/clock.hpp"
#include "http/server.hpp"
#include "tests/e2e/cluster.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace tangram::e2e {

/// A mutating webhook like those of service meshes: adds a container "injected" before the others
/// to every pod of the tests' namespace. Its name sorts after Tangram's webhook, so it is called
/// after it.
class Injector {
 public:
  explicit Injector(Cluster& cluster);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  [[nodiscard]] int calls() const { return calls_; }

 private:
  Cluster& cluster_;
  SystemClock clock_;
  std::atomic<int> calls_ = 0;
  std::unique_ptr<http::Server> server_;
};

}  // namespace tangram::e2e
