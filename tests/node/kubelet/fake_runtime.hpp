#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tangram::testing {

/// A container runtime on a real socket, as far as the agent asks it. Threads: safe.
class FakeRuntime {
 public:
  struct Container {
    std::string id;
    std::string pod_uid;
    std::string pod = "p";
    std::string container = "main";
    std::vector<std::string> env = {};
    bool running = true;
    std::int64_t created_at = 0;
    std::size_t padding = 0;  ///< bytes that the list has of it, as of a hook's annotation
  };

  explicit FakeRuntime(std::string socket);
  ~FakeRuntime();
  FakeRuntime(const FakeRuntime&) = delete;
  FakeRuntime& operator=(const FakeRuntime&) = delete;

  [[nodiscard]] const std::string& socket() const;
  void add(Container container);
  /// The JSON text that it tells of the container, instead of its own.
  void tell(const std::string& id, std::string info);
  /// The text that it tells of its configuration; none until then, as CRI-O.
  void tell_config(std::string config);
  /// Calls are not answered from now on, until their deadline.
  void hang();

  /// The containers that it was told to end, in order; they run no more.
  [[nodiscard]] std::vector<std::string> ended() const;
  [[nodiscard]] int lists() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::testing
