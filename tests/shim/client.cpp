#include "tests/shim/client.hpp"

#include "base/file.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>
#include <stdexcept>

namespace tangram::shim {
namespace {

/// As exec takes them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

CudaClient::CudaClient(const ClientStart& start) : errors_(start.errors) {
  int in[2];   // NOLINT(modernize-avoid-c-arrays)
  int out[2];  // NOLINT(modernize-avoid-c-arrays)
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const auto arguments = pointers_to(start.command);
  const auto environment = pointers_to(start.environment);
  pid_ = fork();
  if (pid_ == 0) {
    const int err = open(errors_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(err, 2) < 0 ||
        chdir(start.folder.c_str()) != 0) {
      _exit(126);
    }
    (void)execve(arguments[0], arguments.data(), environment.data());
    _exit(127);
  }
  (void)close(in[0]);
  (void)close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

CudaClient::~CudaClient() {
  kill();
  if (to_ >= 0) (void)close(to_);
  (void)close(from_);
}

void CudaClient::send(const std::string& command) const {
  const std::string line = command + "\n";
  (void)!write(to_, line.data(), line.size());
}

CudaClient::Answer CudaClient::run(const std::string& command) {
  send(command);
  return receive();
}

CudaClient::Answer CudaClient::receive() {
  std::string line;
  for (char c = 0; read(from_, &c, 1) == 1 && c != '\n';) line += c;
  std::istringstream words(line);
  Answer answer;
  if (!(words >> answer.result)) return {};
  for (std::uint64_t value = 0; words >> value;) answer.values.push_back(value);
  return answer;
}

void CudaClient::kill() {
  if (pid_ == 0) return;
  (void)::kill(pid_, SIGKILL);
  (void)waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

int CudaClient::finish() {
  (void)close(to_);
  to_ = -1;
  int status = 0;
  (void)waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string CudaClient::errors() const {
  const auto text = read_file(errors_);
  return text ? *text : std::string{};
}

}  // namespace tangram::shim
