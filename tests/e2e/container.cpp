// The program of every container on the end-to-end tests' node, also of their sandboxes. node.sh
// links it statically, so that an image contains only this file.
//
//   program hold         ends with status 0 on SIGTERM
//   program run MS       ends by itself after that many milliseconds, with status 0
//   program crash MS     the same with status 1
//   program env          prints its environment; for a further process in a container that runs
//
// It prints its part of a card, for `kubectl logs`. Every start writes a record of what the
// container was given, in the folder named by TANGRAM_E2E_RECORDS: a file UID.CONTAINER.NANOSECONDS
// with the environment, one variable a line. So a test sees each start of each container, however
// short it was.

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>

namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

long long nanoseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

/// Written under another name first, so that a reader never sees a partial record.
bool write_record() {
  const char* folder = variable("TANGRAM_E2E_RECORDS");
  if (*folder == '\0') return true;  // a sandbox
  char name[512];
  char hidden[512];
  const long long now = nanoseconds_now();
  const char* uid = variable("TANGRAM_E2E_POD_UID");
  const char* container = variable("TANGRAM_E2E_CONTAINER");
  std::snprintf(name, sizeof name, "%s/%s.%s.%lld", folder, uid, container, now);
  std::snprintf(hidden, sizeof hidden, "%s/.%s.%s.%lld", folder, uid, container, now);
  FILE* file = std::fopen(hidden, "w");
  if (file == nullptr) return false;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::fputs(*entry, file);
    std::fputc('\n', file);
  }
  return std::fclose(file) == 0 && std::rename(hidden, name) == 0;
}

/// What Tangram's agent gave the container.
void print_part() {
  const char* cards = variable("TANGRAM_CARD_UUIDS");
  if (*cards == '\0') {
    std::puts("no card");
  } else {
    std::printf("cards %s, at most %s bytes and %s thousandths of compute of each\n", cards,
                variable("TANGRAM_MEMORY_LIMIT_BYTES"), variable("TANGRAM_COMPUTE_LIMIT_MILLI"));
  }
}

int print_environment() {
  for (char** entry = environ; *entry != nullptr; ++entry) std::puts(*entry);
  return 0;
}

/// Waits for SIGTERM, SIGINT or the limit; negative = no limit. The first process of a container
/// ignores signals that it does not handle.
void wait_for_end(int limit_ms) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  pollfd wanted{};
  wanted.fd = signalfd(-1, &ends, SFD_CLOEXEC);
  wanted.events = POLLIN;
  poll(&wanted, 1, limit_ms);
}

}  // namespace

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "hold";
  if (std::strcmp(mode, "env") == 0) return print_environment();
  const int limit_ms = count > 2 ? std::atoi(arguments[2]) : -1;
  if (!write_record()) {
    std::printf("cannot write a record: %s\n", std::generic_category().message(errno).c_str());
    return 2;
  }
  print_part();
  if (limit_ms < 0) std::puts("runs until it is ended");
  std::fflush(stdout);
  wait_for_end(limit_ms);
  return std::strcmp(mode, "crash") == 0 ? 1 : 0;
}
