#pragma once

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <functional>

namespace tangram {

/// Threads that help with loops whose turns do not depend on each other. A caller never waits for
/// a helper to come: it works itself, and waits at the end only for turns that helpers have begun.
/// Threads: safe; loops of several callers share the helpers.
class ParallelLoops {
 public:
  /// @param helpers  beside the caller; 0 = all loops run on the caller's thread
  explicit ParallelLoops(std::size_t helpers) : helpers_(helpers), idle_(helpers), pool_(helpers) {}
  ~ParallelLoops() { pool_.join(); }
  ParallelLoops(const ParallelLoops&) = delete;
  ParallelLoops& operator=(const ParallelLoops&) = delete;

  [[nodiscard]] std::size_t helpers() const { return helpers_; }

  /// @param turn    which one, below `turns`
  /// @param worker  which thread; no two at a time have the same number. The caller has 0, helpers
  ///                1 to `most_helpers`
  using Body = std::function<void(std::size_t turn, std::size_t worker)>;
  /// Returns when all turns are done. If some of them throw, the rest are done all the same, and
  /// what one of them threw is thrown here.
  void run(std::size_t turns, std::size_t most_helpers, const Body& body);

 private:
  [[nodiscard]] bool take_helper();

  const std::size_t helpers_;
  std::atomic<std::size_t> idle_;
  boost::asio::thread_pool pool_;
};

}  // namespace tangram
