#include "tests/e2e/usage.hpp"

#include <time.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace tangram::e2e {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSocket = "socket:[";

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::vector<std::string>> rows_of(std::string_view table) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines{std::string(table)};
  std::string line;
  std::getline(lines, line);  // the names of the columns
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

unsigned hex(std::string_view digits) {
  unsigned number = 0;
  std::from_chars(digits.begin(), digits.end(), number, 16);
  return number;
}

/// "0200007F", the bytes in the order of this machine, is "127.0.0.2".
std::string address_of(std::string_view digits) {
  constexpr std::size_t kIpv4Digits = 8;
  if (digits.size() != kIpv4Digits) return {};
  std::string address;
  for (std::size_t at = kIpv4Digits; at > 0; at -= 2) {
    address += (address.empty() ? "" : ".") + std::to_string(hex(digits.substr(at - 2, 2)));
  }
  return address;
}

int port_of(std::string_view end) { return static_cast<int>(hex(end.substr(end.find(':') + 1))); }

std::map<std::string, TcpSocket> tcp_sockets(const fs::path& net) {
  std::map<std::string, TcpSocket> all;
  for (const char* table : {"tcp", "tcp6"}) {
    for (auto& socket : parse_tcp_sockets(read(net / table))) all.emplace(socket.inode, socket);
  }
  return all;
}

std::set<std::string> unix_sockets(const fs::path& net) {
  constexpr std::size_t kInode = 6;
  std::set<std::string> all;
  for (const auto& row : rows_of(read(net / "unix"))) {
    if (row.size() > kInode) all.insert(row[kInode]);
  }
  return all;
}

/// What the process's descriptors refer to: "socket:[123]", "pipe:[45]", "/dev/null".
std::vector<std::string> descriptors_of(const fs::path& process) {
  std::vector<std::string> all;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(process / "fd", gone)) {
    const auto target = fs::read_symlink(entry.path(), gone);
    if (!gone) all.push_back(target.string());
  }
  return all;
}

int memory_mib(const fs::path& process) {
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoi(line.substr(6)) / 1024;
  }
  return 0;
}

}  // namespace

std::vector<TcpSocket> parse_tcp_sockets(std::string_view table) {
  constexpr std::size_t kLocal = 1;
  constexpr std::size_t kPeer = 2;
  constexpr std::size_t kInode = 9;
  std::vector<TcpSocket> all;
  for (const auto& row : rows_of(table)) {
    if (row.size() <= kInode) continue;
    const std::string& peer = row[kPeer];
    all.push_back({.inode = row[kInode],
                   .peer = address_of(peer.substr(0, peer.find(':'))),
                   .local_port = port_of(row[kLocal]),
                   .peer_port = port_of(peer)});
  }
  return all;
}

Usage usage_of(pid_t pid) {
  const fs::path process = "/proc/" + std::to_string(pid);
  Usage usage;
  usage.memory_mib = memory_mib(process);
  const auto tcp = tcp_sockets(process / "net");
  const auto local = unix_sockets(process / "net");
  for (const std::string& target : descriptors_of(process)) {
    ++usage.descriptors;
    if (!target.starts_with(kSocket)) {
      ++usage.others;
      continue;
    }
    const auto inode = target.substr(kSocket.size(), target.size() - kSocket.size() - 1);
    if (const auto found = tcp.find(inode); found != tcp.end()) {
      usage.tcp.push_back(found->second);
    } else if (local.contains(inode)) {
      ++usage.unix_sockets;
    } else {
      ++usage.dead_sockets;
    }
  }
  return usage;
}

std::chrono::duration<double> cpu_time_of(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace tangram::e2e
