#include "tests/e2e/real_node.hpp"

#include "base/json.hpp"
#include "tests/e2e/environment.hpp"
#include "tests/e2e/process.hpp"

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace tangram::e2e {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

// Kubelet saves its state before it ends. containerd itself takes 10 s if shims hang.
constexpr auto kEndLimit = 20s;

/// A process that has ended has no entry in /proc, or its status is not collected yet (Z).
bool alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  const auto after_name = line.rfind(") ");
  return after_name != std::string::npos && line[after_name + 2] != 'Z';
}

void write_instances(const std::vector<std::string>& uuids, json::Writer& out) {
  constexpr int kMib = 9728;
  out.member("mig", true).key("instances").begin_array();
  int number = 1;
  for (const std::string& uuid : uuids) {
    out.begin_object().member("uuid", uuid).member("profile", "1g.10gb").member("memMiB", kMib);
    out.member("gi", number++).member("ci", 0).end_object();
  }
  out.end_array();
}

}  // namespace

fs::path RealNode::root() const { return environment().state / "node"; }
fs::path RealNode::records() const { return root() / "records"; }
fs::path RealNode::cdi() const { return root() / "run/cdi"; }
fs::path RealNode::plugins() const { return root() / "lib/kubelet/device-plugins"; }

fs::path RealNode::journal() const { return root() / "lib/tangram/allocations"; }
std::string RealNode::pod_resources() const {
  return root() / "lib/kubelet/pod-resources/kubelet.sock";
}
std::string RealNode::runtime() const { return root() / "run/containerd/containerd.sock"; }

std::string RealNode::agent_address() const {
  std::string port;
  std::ifstream(root() / "agent-port") >> port;
  return "127.0.0.1:" + port;
}

pid_t RealNode::pid(const std::string& program) const {
  pid_t pid = 0;
  std::ifstream(environment().state / "run" / program) >> pid;
  return pid != 0 && alive(pid) ? pid : 0;
}

void RealNode::wait_gone(const std::string& program, pid_t pid) const {
  const auto deadline = std::chrono::steady_clock::now() + kEndLimit;
  while (alive(pid)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(program + " does not end");
    }
    std::this_thread::sleep_for(2ms);  // polls: waitpid needs a child process
  }
}

void RealNode::kill(const std::string& program) const {
  if (const pid_t running = pid(program); running != 0) {
    ::kill(running, SIGKILL);
    wait_gone(program, running);
  }
}

void RealNode::stop(const std::string& program) const {
  if (const pid_t running = pid(program); running != 0) {
    ::kill(running, SIGTERM);
    wait_gone(program, running);
  }
}

void RealNode::signal(const std::string& program, int number) const {
  if (const pid_t running = pid(program); running != 0) ::kill(running, number);
}

void RealNode::start(const std::string& program, const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {environment().control, "node-start", program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const fs::path log = environment().state / "logs/node-start.log";
  auto control = Process::start(command, log);
  if (!control) throw std::runtime_error(control.error().message);
  while (control->running()) std::this_thread::sleep_for(5ms);  // polls, like ExtenderProcess
  if (pid(program) == 0) throw std::runtime_error(program + " does not start:\n" + tail(log));
}

void RealNode::place_driver(const std::string& place) const {
  const fs::path log = environment().state / "logs/node-driver.log";
  auto control = Process::start({environment().control, "node-driver", place}, log);
  if (!control) throw std::runtime_error(control.error().message);
  while (control->running()) std::this_thread::sleep_for(5ms);
}

void RealNode::lose_power() const {
  for (const char* program : {"tangram-node", "kubelet", "containerd"}) kill(program);
  auto control = Process::start({environment().control, "node-lose-power"},
                                environment().state / "logs/node-start.log");
  if (!control) throw std::runtime_error(control.error().message);
  while (control->running()) std::this_thread::sleep_for(5ms);
}

void RealNode::write_cards(const std::vector<CardSpec>& cards) const {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("driverVersion", "550.54.15").member("cudaVersion", "12.4");
  out.key("cards").begin_array();
  int number = 0;
  for (const auto& card : cards) {
    out.begin_object().member("uuid", card.id).member("model", "NVIDIA " + card.model);
    out.member("memMiB", card.memory_mib).member("minor", number);
    out.member("pci", "0000:" + std::to_string(10 + number++) + ":00.0");
    out.key("processes").begin_array();
    for (const CardProcess& process : card.processes) {
      out.begin_object().member("pid", process.pid).member("memMiB", process.memory_mib);
      out.end_object();
    }
    out.end_array();
    if (!card.instances.empty()) write_instances(card.instances, out);
    out.end_object();
  }
  out.end_array().key("events").begin_array();
  for (const auto& card : cards) {
    if (card.healthy) continue;
    constexpr int kFallenOffTheBus = 79;
    out.begin_object().member("atMs", 0).member("card", card.id);
    out.member("xid", kFallenOffTheBus).end_object();
  }
  out.end_array().end_object();

  const fs::path file = root() / "cards.json";
  const fs::path part = root() / "cards.json.part";
  std::ofstream(part) << text;
  fs::rename(part, file);
}

}  // namespace tangram::e2e
