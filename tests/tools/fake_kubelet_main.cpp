// tangram-fake-kubelet: the side of kubelet that a device plugin sees, on real sockets, for running
// an agent where there is no kubelet. Wiring only.

#include "tests/node/kubelet/fake_kubelet.hpp"

#include <exception>
#include <iostream>
#include <sstream>
#include <string>

namespace {

using tangram::testing::FakeKubelet;

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

/// Admits the container, unless it was, and lets the plugin prepare its start.
std::string start(FakeKubelet& kubelet, const FakeKubelet::Owner& owner) {
  if (kubelet.slots_of(owner).empty()) {
    if (auto refusal = kubelet.admit(owner); !refusal.empty()) return refusal;
  }
  auto refusal = kubelet.start_container(owner);
  return refusal.empty() ? "started" : refusal;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr
        << "usage: tangram-fake-kubelet FOLDER\n"
           "  FOLDER gets device-plugins/ and pod-resources/. Each line of input, NAMESPACE POD "
           "UID CONTAINER, starts a\n"
           "  container with one slot; the answer is \"started\", or what the plugin says. Ends "
           "with its input.\n";
    return kBadUsage;
  }
  FakeKubelet kubelet(argv[1], 1);
  kubelet.start();
  for (std::string line; std::getline(std::cin, line);) {
    FakeKubelet::Owner owner;
    std::istringstream(line) >> owner.ns >> owner.pod >> owner.uid >> owner.container;
    std::cout << start(kubelet, owner) << std::endl;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tangram-fake-kubelet: " << error.what() << "\n";
  return kFailed;
}
