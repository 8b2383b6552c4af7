#include "http/page_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tangram::http {
namespace {

TEST(PageQueueTest, MakesOnePageAtATimeAndShedsWhatIsTooMuch) {
  std::promise<void> begun;
  std::promise<void> go_on;
  auto gate = go_on.get_future().share();
  PageQueue queue;
  const auto slow =
      queue.in_turn([&, first = std::make_shared<std::atomic<bool>>(true)](const Request&) {
        if (first->exchange(false)) begun.set_value();
        gate.wait();
        return text_response(200, "page");
      });
  std::mutex mutex;
  std::vector<Response> answers;
  const auto ask = [&] {
    slow({}, Responder([&](Response response) {
           const std::scoped_lock lock(mutex);
           answers.push_back(std::move(response));
         }));
  };
  ask();
  begun.get_future().wait();
  for (std::size_t i = 0; i < PageQueue::kWaiting; ++i) ask();
  EXPECT_TRUE(answers.empty());
  ask();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].status, 503);
  EXPECT_EQ(answers[0].headers.at(0).name, "Retry-After");
  go_on.set_value();
  queue.drain();
  ASSERT_EQ(answers.size(), PageQueue::kWaiting + 2);
  EXPECT_EQ(answers.back().status, 200);
}

}  // namespace
}  // namespace tangram::http
