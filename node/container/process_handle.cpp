#include "node/container/process_handle.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

// By number: <sys/pidfd.h> of glibc 2.36 declares these functions without C linkage.
long pidfd_open(std::int64_t pid) { return ::syscall(SYS_pidfd_open, pid, 0); }

long pidfd_send_signal(int descriptor, int signal) {
  return ::syscall(SYS_pidfd_send_signal, descriptor, signal, nullptr, 0);
}

Error failure(const std::string& what, int number) {
  return fail(number == ESRCH ? Errc::kNotFound : Errc::kUnavailable,
              what + ": " + std::generic_category().message(number));
}

}  // namespace

Result<ProcessHandle> ProcessHandle::open(std::int64_t pid) {
  const long descriptor = pidfd_open(pid);
  if (descriptor < 0) return failure("process " + std::to_string(pid), errno);
  return ProcessHandle(static_cast<int>(descriptor));
}

ProcessHandle::ProcessHandle(ProcessHandle&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

ProcessHandle::~ProcessHandle() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> ProcessHandle::kill() const {
  if (pidfd_send_signal(descriptor_, SIGKILL) == 0) return {};
  return failure("SIGKILL", errno);
}

}  // namespace tangram::node
