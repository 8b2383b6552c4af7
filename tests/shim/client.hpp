#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::shim {

/// How a cuda_client is started.
struct ClientStart {
  std::vector<std::string> command;      ///< ends with the client's own arguments
  std::vector<std::string> environment;  ///< "NAME=value": all that it has
  std::string folder;                    ///< its current folder
  std::string errors;                    ///< the file of its stderr
};

/// A running cuda_client (cuda_client.cpp). Threads: one.
class CudaClient {
 public:
  struct Answer {
    int result = -1;
    std::vector<std::uint64_t> values;
    [[nodiscard]] std::uint64_t value() const { return values.empty() ? 0 : values.front(); }
  };
  explicit CudaClient(const ClientStart& start);
  ~CudaClient();
  CudaClient(const CudaClient&) = delete;
  CudaClient& operator=(const CudaClient&) = delete;

  /// Carries out a command and waits for its answer. @returns -1 if the program has ended
  Answer run(const std::string& command);
  /// Sends a command without waiting for its answer.
  void send(const std::string& command) const;
  /// The answer to the first command whose answer was not received yet.
  Answer receive();
  /// SIGKILL, and waits for its end.
  void kill();
  /// Lets it run on until it ends by itself. @returns its exit status, or -1 if it was killed
  int finish();
  [[nodiscard]] std::string errors() const;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int to_ = -1;
  int from_ = -1;
  std::string errors_;
};

}  // namespace tangram::shim
