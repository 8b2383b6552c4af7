// kube-scheduler beside hostile clients: its throughput, and the cost of the clients.
//
// The clients need CPU themselves, and so does the kernel for them. On a small machine all
// programs lack that, whatever the server does. So the same pods also come while clients that
// connect as often are reset at once by a server that does nothing else.

#include "tests/e2e/attack.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/resetting_server.hpp"
#include "tests/e2e/usage.hpp"
#include "tests/e2e/webhook.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <vector>

namespace tangram::e2e {
namespace {

/// Of bind.workers: the bounds below follow from it.
constexpr int kBindWorkers = 8;
/// Connections to the API server: one for each bind, for each of three watches, for the tasks in
/// the background and for events.
constexpr int kApiConnections = kBindWorkers + 3 + 2;
/// By which libcurl wakes the thread that waits for a connection.
constexpr int kUnixSocketsEach = 2;

/// Polls /healthz every 100 ms, more often than kubelet does.
class Probe {
 public:
  explicit Probe(const ExtenderProcess& extender)
      : thread_([this, &extender](const std::stop_token& stop) {
          while (!stop.stop_requested()) ask(extender);
        }) {}
  /// Read it after the end of the probe.
  struct Result {
    int requests = 0;
    int failed = 0;
    double slowest_s = 0;
  };
  Result end() {
    thread_.request_stop();
    thread_.join();
    return result_;
  }

 private:
  void ask(const ExtenderProcess& extender) {
    const auto begin = TimePoint::clock::now();
    ++result_.requests;
    if (!extender.get("/healthz").starts_with("ok")) ++result_.failed;
    result_.slowest_s =
        std::max(result_.slowest_s, seconds_between(begin, TimePoint::clock::now()));
    std::this_thread::sleep_for(100ms);
  }

  Result result_;
  std::jthread thread_;
};

/// The same pods three times: without hostile clients, beside those of a server that resets them,
/// and beside those of the extender.
struct Round {
  double calm_rate = 0;  ///< pods per second
  double beside_rate = 0;
  double attacked_rate = 0;
  int hostile = 0;  ///< connections of the extender's attack
  double attackers_cpu_s = 0;
  double attacked_s = 0;
  Usage attacked;  ///< of the extender, before the attack ends
};

template <class Value>
double total(const std::vector<Round>& rounds, Value Round::*value) {
  double sum = 0;
  for (const Round& round : rounds) sum += static_cast<double>(round.*value);
  return sum;
}

class SoakTest : public E2eTest {
 protected:
  SoakTest() {
    cluster_.add_nodes(mixed_nodes(sized(300, 100)));
    extender_.start_ready();
    scheduler_.emplace(
        start_scheduler({.extender_url = extender_.url(), .certificates = certificates_}));
  }

  Round play(int number) {
    Round round;
    const auto name = "round-" + std::to_string(number);
    // Each comes first equally often, so that drift affects all equally.
    for (int turn = 0; turn < 3; ++turn) {
      switch ((number + turn) % 3) {
        case 0:
          round.calm_rate = pods_per_second(name + "-calm");
          break;
        case 1:
          round.beside_rate = rate_beside_clients(name + "-beside");
          break;
        default:
          attack(name + "-attacked", round);
      }
    }
    std::cout << "round " << number << ": " << round.calm_rate << " pods/s, beside the clients "
              << round.beside_rate << ", attacked " << round.attacked_rate << ", MiB "
              << round.attacked.memory_mib << std::endl;
    return round;
  }

  Usage usage() { return usage_of(extender_.process().pid()); }

  /// Everything that the attackers opened is closed, and the rest is what the configuration allows.
  /// @param before  after an attack, so that everything was used once
  /// @returns what is open now
  Usage expect_nothing_leaked(const Usage& before) {
    Usage after = usage();
    const auto deadline =
        TimePoint::clock::now() + 60s;  // lingering connections end within seconds
    while (!settled(before, after) && TimePoint::clock::now() < deadline) {
      std::this_thread::sleep_for(100ms);
      after = usage();
    }
    EXPECT_EQ(from_attackers(after), 0);
    EXPECT_EQ(after.dead_sockets, 0);
    EXPECT_EQ(accepted(after), served());
    EXPECT_LE(after.others, before.others);
    EXPECT_LE(std::ranges::count(after.tcp, apiserver_port(), &TcpSocket::peer_port),
              kApiConnections);
    EXPECT_LE(after.unix_sockets, kApiConnections * kUnixSocketsEach);
    return after;
  }

  ExtenderProcess extender_{{.name = "extender-soak",
                             .settings = {"bind.workers=" + std::to_string(kBindWorkers)},
                             .certificates = webhook_certificates()}};

 private:
  /// From the first bind to the last.
  double pods_per_second(const std::string& name) {
    PodWatcher watcher(*api_);
    cluster_.add_pods(mixed_pods(pods_, name));
    EXPECT_TRUE(watcher.wait_bound(pods_, 3min)) << name;
    std::vector<TimePoint> times;
    for (const auto& [uid, pod] : watcher.pods()) times.push_back(pod.bound);
    const auto [first, last] = std::ranges::minmax(times);
    cluster_.clear_pods();
    EXPECT_TRUE(watcher.wait([](const SeenPods& seen) { return count_present(seen) == 0; }, 1min));
    return static_cast<double>(pods_ - 1) / seconds_between(first, last);
  }

  double rate_beside_clients(const std::string& name) {
    const ResettingServer server;
    const Attack attack(server.port());
    await_begin(attack);
    return pods_per_second(name);
  }

  void attack(const std::string& name, Round& round) {
    const Attack attack(static_cast<std::uint16_t>(extender_.port()));
    await_begin(attack);
    const TimePoint begin = TimePoint::clock::now();
    round.attacked_rate = pods_per_second(name);
    round.attacked = usage();
    round.hostile = attack.begun();
    round.attackers_cpu_s = attack.cpu_seconds();
    round.attacked_s = seconds_between(begin, TimePoint::clock::now());
  }

  static void await_begin(const Attack& attack) {
    const auto deadline = TimePoint::clock::now() + 30s;
    while (attack.begun() < Attack::kClients / 2 && TimePoint::clock::now() < deadline) {
      std::this_thread::sleep_for(50ms);
    }
  }

  bool settled(const Usage& before, const Usage& now) {
    return from_attackers(now) == 0 && now.dead_sockets == 0 && now.others <= before.others &&
           accepted(now) == served();
  }
  static std::ptrdiff_t from_attackers(const Usage& usage) {
    return std::ranges::count(usage.tcp, Attack::kAddress, &TcpSocket::peer);
  }
  [[nodiscard]] std::ptrdiff_t accepted(const Usage& usage) const {
    return std::ranges::count_if(usage.tcp, [this](const TcpSocket& socket) {
      return socket.local_port == extender_.port() && socket.peer_port != 0;
    });
  }
  [[nodiscard]] std::ptrdiff_t served() const {
    return static_cast<std::ptrdiff_t>(
        extender_.metric("tangram_http_connections", R"(listener="server")"));
  }

  const int pods_ = sized(400, 150);
  std::filesystem::path certificates_ = webhook_certificates();
  std::optional<Process> scheduler_;
};

TEST_F(SoakTest, SchedulesAsFastBesideHostileClients) {
  const auto length = sized<std::chrono::seconds>(10min, 30s);
  play(0);  // opens what stays open
  const Usage before = usage();

  std::vector<Round> rounds;
  Probe probe(extender_);
  const auto end = TimePoint::clock::now() + length;
  while (TimePoint::clock::now() < end) rounds.push_back(play(static_cast<int>(rounds.size()) + 1));
  const Probe::Result health = probe.end();
  expect_books_right_soon(extender_);
  EXPECT_EQ(health.failed, 0);
  EXPECT_LT(health.slowest_s, 1.0);

  std::vector<double> of_calm;
  std::vector<double> clients_alone;
  std::vector<double> ratios;
  for (const Round& round : rounds) {
    of_calm.push_back(round.attacked_rate / round.calm_rate);
    clients_alone.push_back(round.beside_rate / round.calm_rate);
    ratios.push_back(round.attacked_rate / round.beside_rate);
  }
  EXPECT_GE(percentile(ratios, 50), sized(0.9, 0.5));
  EXPECT_GE(percentile(of_calm, 50), sized(0.75, 0.4)) << "beside what the clients themselves need";
  const double hostile = total(rounds, &Round::hostile);
  EXPECT_GT(hostile, Attack::kClients / 2);
  const double shed = extender_.metric("tangram_http_shed_total");
  const double too_fast = extender_.metric("tangram_http_shed_total", R"(what="rate")");
  EXPECT_GT(too_fast, 0);
  const Usage after = expect_nothing_leaked(before);
  // Later attacks reuse the memory of the first ones and may add little.
  const auto memory = [&](std::size_t round) { return rounds.at(round).attacked.memory_mib; };
  const int early = std::max(memory(0), memory(rounds.size() / 3));
  EXPECT_LE(memory(rounds.size() - 1), early + std::max(32, early / 10));
  Figures("soak")
      .add("seconds", static_cast<int>(length.count()))
      .add("rounds", static_cast<int>(rounds.size()))
      .add("hostile_connections", static_cast<int>(hostile))
      .add("attackers_cores",
           total(rounds, &Round::attackers_cpu_s) / total(rounds, &Round::attacked_s))
      .median("throughput_ratio", ratios)
      .median("ratio_of_calm", of_calm)
      .median("clients_alone_ratio_of_calm", clients_alone)
      .add("memory_mib_before", before.memory_mib)
      .add("memory_mib_first_attack", memory(0))
      .add("memory_mib_last_attack", memory(rounds.size() - 1))
      .add("descriptors_before", before.descriptors)
      .add("descriptors_under_attack", rounds.back().attacked.descriptors)
      .add("descriptors_after", after.descriptors)
      .add("shed", static_cast<int>(shed))
      .add("too_fast", static_cast<int>(too_fast))
      .add("health_asked", health.requests)
      .add("health_slowest_s", health.slowest_s);
}

}  // namespace
}  // namespace tangram::e2e
