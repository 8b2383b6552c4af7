#include "node/launcher/server.hpp"

#include "base/quote.hpp"
#include "base/signals.hpp"
#include "node/launcher/command.hpp"

#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace tangram::node::launcher {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// After a client could not be accepted, most likely for lack of files or memory.
constexpr auto kAcceptPause = 100ms;

constexpr std::size_t kMostNameBytes = 200;  // of a command in a line of the log

std::string reason() { return std::generic_category().message(errno); }

std::string name_of(const Request& request) {
  std::string name;
  for (const std::string& argument : request.arguments) {
    if (name.size() > kMostNameBytes) break;
    name += (name.empty() ? "" : " ") + quote_if_needed(argument);
  }
  return name.substr(0, kMostNameBytes);
}

Result<Request> request_in(const Received& received) {
  if (!received.is_whole) {
    return fail(Errc::kTooLarge, "the message has more than " + std::to_string(kMostRequestBytes) +
                                     " bytes or " + std::to_string(kFiles) + " files");
  }
  if (received.files.size() != kFiles) {
    return fail(Errc::kInvalidArgument, "the message has " + std::to_string(received.files.size()) +
                                            " files instead of " + std::to_string(kFiles));
  }
  return decode_request(received.bytes);
}

}  // namespace

Server::Server(ServerSettings settings, Descriptor listener)
    : settings_(std::move(settings)), listener_(std::move(listener)) {}

Result<Server> Server::create(ServerSettings settings) {
  auto listener = listen_at(settings.socket);
  if (!listener) return listener.error();
  return Server(std::move(settings), std::move(*listener));
}

Result<void> Server::begin() {
  sigset_t awaited = block_stop_signals();
  ::sigaddset(&awaited, SIGCHLD);
  (void)::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  // A daemon's parent ends at its start; the daemon becomes a child of this process.
  const bool adopts = ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
  signals_ = Descriptor(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
  if (adopts && signals_.is_open()) return {};
  return fail(Errc::kUnavailable, "cannot look after child processes: " + reason());
}

Result<void> Server::run() {
  open_standard_files();
  if (auto begun = begin(); !begun) return begun;
  spdlog::info("listening at {}", settings_.socket);
  for (;;) {
    std::vector<pollfd> events = awaited();
    if (::poll(events.data(), events.size(), wait_limit()) < 0 && errno != EINTR) {
      return fail(Errc::kUnavailable, "cannot wait for clients: " + reason());
    }
    if (events.front().revents != 0 && !take_signals()) break;
    serve(events);
  }
  for (const auto& [pid, name] : commands_) (void)::kill(-pid, SIGKILL);
  spdlog::info("stopped");
  return {};
}

bool Server::accepts() const {
  return clients_.size() < settings_.most_clients && Clock::now() >= accepts_from_;
}

/// The signals, the listener, and each client in its order.
std::vector<pollfd> Server::awaited() const {
  std::vector<pollfd> all{{signals_.get(), POLLIN, 0},
                          {accepts() ? listener_.get() : -1, POLLIN, 0}};
  for (const Client& client : clients_) {
    // What a client sends behind its request is not read.
    const short wanted = client.command == 0 ? POLLIN : POLLRDHUP;
    all.push_back({client.socket.get(), wanted, 0});
  }
  return all;
}

/// In milliseconds; -1 = until something happens.
int Server::wait_limit() const {
  constexpr auto kNever = TimePoint::max();
  TimePoint next = kNever;
  for (const Client& client : clients_) {
    if (client.command == 0) next = std::min(next, client.until);
  }
  const auto now = Clock::now();
  if (accepts_from_ > now) next = std::min(next, accepts_from_);
  if (next == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void Server::serve(const std::vector<pollfd>& events) {
  constexpr std::size_t kFirstClient = 2;
  for (std::size_t i = kFirstClient; i < events.size(); ++i) {
    Client& client = clients_[i - kFirstClient];
    if (events[i].revents != 0 && client.socket.is_open()) attend(client);
  }
  refuse_silent();
  std::erase_if(clients_, [](const Client& client) { return !client.socket.is_open(); });
  if (events[1].revents != 0) accept_clients();
}

bool Server::take_signals() {
  bool goes_on = true;
  signalfd_siginfo about{};
  while (::read(signals_.get(), &about, sizeof(about)) == sizeof(about)) {
    if (about.ssi_signo != SIGCHLD) goes_on = false;
  }
  // One SIGCHLD may stand for several children.
  reap();
  return goes_on;
}

void Server::accept_clients() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) {
    if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED) return;
    spdlog::error("a client cannot be accepted: {}", reason());
    accepts_from_ = Clock::now() + kAcceptPause;
    return;
  }
  Client client{std::move(socket), Clock::now() + settings_.patience};
  const auto peer = peer_of(client.socket.get());
  if (peer != ::geteuid()) {
    spdlog::warn("a client of user {} was refused", peer ? std::to_string(*peer) : "unknown");
    refuse(client, "it runs commands only for its own user");
    return;
  }
  clients_.push_back(std::move(client));
}

void Server::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    end_of(pid, exit_code_of(status));
  }
}

void Server::end_of(pid_t pid, int exit_code) {
  const auto command = commands_.find(pid);
  if (command == commands_.end()) return;  // a daemon
  if (exit_code != 0) spdlog::info("{}: exit code {}", command->second, exit_code);
  commands_.erase(command);
  for (Client& client : clients_) {
    if (client.command == pid) reply(client, Ended{exit_code});
  }
}

void Server::attend(Client& client) {
  if (client.command == 0) return answer_request(client);
  spdlog::warn("{}: killed, because its client has left", commands_[client.command]);
  (void)::kill(-client.command, SIGKILL);
  client.socket.reset();
}

void Server::answer_request(Client& client) {
  std::string name;
  const auto started = start_command(client, name);
  if (!started) return refuse(client, started.error().message);
  if (*started == 0) return client.socket.reset();
  client.command = *started;
  commands_.emplace(*started, std::move(name));
}

/// @returns 0 if the client has left without a request
Result<pid_t> Server::start_command(Client& client, std::string& name) {
  const auto received = receive_message(client.socket.get(), kMostRequestBytes);
  if (!received) return received.error();
  if (received->bytes.empty() && received->is_whole) return 0;
  const auto request = request_in(*received);
  if (!request) return request.error();
  if (commands_.size() >= settings_.most_commands) {
    return fail(Errc::kUnavailable, std::to_string(commands_.size()) +
                                        " commands run already; try again when one has ended");
  }
  std::array<int, kFiles> files{};
  std::transform(received->files.begin(), received->files.end(), files.begin(),
                 [](const Descriptor& file) { return file.get(); });
  name = name_of(*request);
  return start(*request, files);
}

void Server::reply(Client& client, const Reply& reply) {
  // A client that has left needs none.
  (void)send_message(client.socket.get(), encode(reply));
  client.socket.reset();
}

void Server::refuse(Client& client, const std::string& why) {
  spdlog::warn("a request was refused: {}", why);
  reply(client, Refused{why});
}

void Server::refuse_silent() {
  const auto now = Clock::now();
  for (Client& client : clients_) {
    if (client.socket.is_open() && client.command == 0 && client.until <= now) {
      refuse(client, "no request has arrived in time");
    }
  }
}

}  // namespace tangram::node::launcher
