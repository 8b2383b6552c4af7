// The program of every container on the end-to-end tests' node, also of their sandboxes. node.sh
// links it statically, so that an image contains only this file.
//
//   program hold         ends with status 0 on SIGTERM
//   program run MS       ends by itself after that many milliseconds, with status 0
//   program crash MS     the same with status 1
//   program env          prints its environment; for a further process in a container that runs
//   program devices      prints the names of NVIDIA's device nodes in its /dev, sorted
//   program fill DIR MIB writes that many MiB into the folder, or until it is full, then as hold
//   program seize DIR    tries to take the place of the MPS daemon there, then as hold
//   program mps DIR      connects to the MPS daemon there without limits of its own, then as hold
//
// It prints its part of a card, for `kubectl logs`. Every start writes a record of what the
// container was given, in the folder named by TANGRAM_E2E_RECORDS: a file UID.CONTAINER.NANOSECONDS
// with the environment, one variable a line. So a test sees each start of each container, however
// short it was. What the last three found is in TANGRAM_E2E_FOUND.

#include "tests/fake_mps/packets.hpp"

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
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;
using tangram::fake_mps::ask;

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

int print_devices() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& node : fs::directory_iterator("/dev", error)) {
    const std::string name = node.path().filename();
    if (name.starts_with("nvidia")) names.insert(name);
  }
  for (const std::string& name : names) std::puts(name.c_str());
  return 0;
}

/// @returns "N entries before, M MiB"
std::string fill(const fs::path& folder, int mebibytes) {
  std::error_code error;
  const auto before = std::distance(fs::directory_iterator(folder, error), {});
  const std::vector<char> block(1U << 20U, 'x');
  const int file = ::open((folder / variable("TANGRAM_E2E_POD_UID")).c_str(),
                          O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  int written = 0;
  while (written < mebibytes &&
         ::write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size())) {
    ++written;
  }
  return std::to_string(before) + " entries before, " + std::to_string(written) + " MiB";
}

/// "WHAT=done" or "WHAT=EROFS"; reads errno.
std::string outcome(const char* what, bool done) {
  return std::string(what) + "=" + (done ? "done" : strerrorname_np(errno)) + " ";
}

/// @returns the outcome of every try
std::string seize(const std::string& folder) {
  const std::string control = folder + "/control";
  std::string outcomes = outcome("link", ::symlink("/tmp", (folder + "/link").c_str()) == 0);
  outcomes += outcome("rename", ::rename(control.c_str(), (folder + "/old").c_str()) == 0);
  ::unlink(control.c_str());
  outcomes += outcome("listen", tangram::fake_mps::listen_at(control) >= 0);
  outcomes += outcome("quit", ask(folder + "/control_privileged", "quit").has_value());
  return outcomes;
}

/// As a client without limits of its own, in its SM partition if it has one.
std::string connect_to_mps(const std::string& folder) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the only thread
  const char* const partition = std::getenv("CUDA_MPS_SM_PARTITION");
  std::string packet = "client - -";
  if (partition != nullptr) packet.append(" ").append(partition);
  return ask(folder + "/control", packet).value_or("nobody");
}

/// What a mode that looks around found; nothing for the others.
std::string look_around(std::string_view mode, const char* folder, const char* amount) {
  if (mode == "fill") return fill(folder, std::atoi(amount));
  if (mode == "seize") return seize(folder);
  if (mode == "mps") return connect_to_mps(folder);
  return "";
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
  if (std::strcmp(mode, "devices") == 0) return print_devices();
  const bool ends = std::strcmp(mode, "run") == 0 || std::strcmp(mode, "crash") == 0;
  const int limit_ms = ends && count > 2 ? std::atoi(arguments[2]) : -1;
  std::string found =
      look_around(mode, count > 2 ? arguments[2] : "", count > 3 ? arguments[3] : "");
  while (found.ends_with('\n') || found.ends_with(' ')) found.pop_back();
  if (!found.empty()) ::setenv("TANGRAM_E2E_FOUND", found.c_str(), 1);
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
