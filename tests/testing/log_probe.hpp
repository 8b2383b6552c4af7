#pragma once

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::testing {

/// Captures the log during its lifetime, and signals the first line that contains a text.
/// To be made before and destroyed after the server: the logger is not swapped under its threads.
class LogProbe {
 public:
  explicit LogProbe(std::string wanted)
      : sink_(std::make_shared<Sink>(std::move(wanted))), before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("probe", sink_));
  }
  ~LogProbe() { spdlog::set_default_logger(before_); }
  LogProbe(const LogProbe&) = delete;
  LogProbe& operator=(const LogProbe&) = delete;

  void wait() { sink_->seen.get_future().wait(); }
  /// Those that contain the text.
  [[nodiscard]] std::vector<std::string> lines() { return sink_->lines(); }

 private:
  struct Sink final : spdlog::sinks::base_sink<std::mutex> {
    explicit Sink(std::string text) : wanted(std::move(text)) {}
    void sink_it_(const spdlog::details::log_msg& message) override {
      const std::string_view line(message.payload.data(), message.payload.size());
      if (line.find(wanted) == std::string_view::npos) return;
      found.emplace_back(line);
      if (signalled) return;
      signalled = true;
      seen.set_value();
    }
    void flush_() override {}
    std::vector<std::string> lines() {
      const std::lock_guard lock(mutex_);
      return found;
    }

    std::string wanted;
    std::promise<void> seen;
    bool signalled = false;
    std::vector<std::string> found;
  };

  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace tangram::testing
