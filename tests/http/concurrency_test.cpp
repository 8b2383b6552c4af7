#include "http/server.hpp"
#include "tests/http/fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tangram::http {
namespace {

/// Threads that answer away from the io threads, as the slow verbs do.
class Workers {
 public:
  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Workers() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void run(std::function<void()> job) {
    {
      const std::scoped_lock lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

/// Every third request is answered at once, by another thread, and in pieces.
Handler mixed(Workers& workers, std::atomic<int>& turn) {
  return [&workers, &turn](Request request, Responder responder) {
    const int kind = turn++ % 3;
    if (kind == 0) return echo(request, std::move(responder));
    if (kind == 1) {
      const auto kept =
          std::make_shared<std::pair<Request, Responder>>(std::move(request), std::move(responder));
      return workers.run([kept] { echo(kept->first, std::move(kept->second)); });
    }
    Response response;
    response.producer = [text = request.method + " " + request.path + "|" + request.body,
                         at = std::size_t{0}](std::string& out) mutable {
      out += text.substr(at, 5);
      at += 5;
      return at < text.size();
    };
    responder.send(std::move(response));
  };
}

/// Sends `requests` requests; every 25th closes the connection. @returns the number of right
/// answers
int right_answers(std::uint16_t port, int client_number, int requests) {
  Client client;
  if (!client.connect("127.0.0.1", port)) return 0;
  int right = 0;
  for (int r = 0; r < requests; ++r) {
    const std::string path = "/" + std::to_string(client_number) + "/" + std::to_string(r);
    const std::string body(static_cast<std::size_t>(r) * 7, 'x');
    const Fields closing = {{"Connection", r % 25 == 24 ? "close" : "keep-alive"}};
    const auto reply = reply_of(client.request("POST", path, body, "text/plain", closing));
    if (reply.body == "POST " + path + "|" + body) ++right;
  }
  return right;
}

/// What clients that ask until the server stops have received.
struct Answers {
  void take(std::uint16_t port) {
    Client client;
    if (!client.connect("127.0.0.1", port)) return;
    while (const auto reply = client.request("GET", "/x")) {
      if (reply->body != "GET /x|") ++wrong;
      ++all;
      all.notify_all();
    }
  }
  std::atomic<int> all = 0;
  std::atomic<int> wrong = 0;
};

TEST(HttpConcurrencyTest, AnswersAThousandRequestsOfEightClientsEachWithItsOwn) {
  constexpr int kClients = 8;
  constexpr int kRequests = 125;
  Workers workers(2);
  std::atomic<int> turn = 0;
  auto options = local_options();
  options.threads = 4;
  const auto server = serve(mixed(workers, turn), options);

  std::atomic<int> right = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] { right += right_answers(server->port(), c, kRequests); });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(right, kClients * kRequests);
  const Counters counters = server->counters();
  EXPECT_EQ(counters.requests, static_cast<std::uint64_t>(kClients * kRequests));
  EXPECT_EQ(counters.accepted, static_cast<std::uint64_t>(kClients * (kRequests / 25)));
  EXPECT_EQ(counters.rejected, 0U);
}

TEST(HttpConcurrencyTest, StopsWhileClientsKeepAsking) {
  Workers workers(2);
  std::atomic<int> turn = 0;
  const auto server = serve(mixed(workers, turn));
  Answers answers;
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&] { answers.take(server->port()); });
  }
  for (int seen = answers.all; seen < 100; seen = answers.all) answers.all.wait(seen);
  server->stop();
  for (auto& client : clients) client.join();
  EXPECT_EQ(answers.wrong, 0);
  EXPECT_EQ(server->counters().open, 0U);
}

}  // namespace
}  // namespace tangram::http
