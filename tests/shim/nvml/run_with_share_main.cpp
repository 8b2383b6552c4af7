// tangram-run-with-share FOLDER CARD-UUID LIMIT-MIB USED-MIB COMMAND...
//
// Writes the pages of a container into the folder, accounts memory as one of its processes, and
// runs the command meanwhile. Exits as the command does.

#include "tests/shim/nvml/container_pages.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace {

int run(char** command) {
  const pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tangram::shim::testing;
  if (argc < 6) {
    std::fputs("tangram-run-with-share FOLDER CARD-UUID LIMIT-MIB USED-MIB COMMAND...\n", stderr);
    return 2;
  }
  try {
    write_pages(argv[1], {{.uuid = argv[2], .limit_mib = std::stoull(argv[3])}});
    ContainerProcess process(argv[1], 0, getpid());
    process.account(0, std::stoull(argv[4]));
    return run(argv + 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tangram-run-with-share: %s\n", error.what());
    return 1;
  }
}
