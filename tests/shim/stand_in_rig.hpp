#pragma once

#include "shim/pages.hpp"
#include "tests/fake_cuda/card_file.hpp"
#include "tests/shim/client.hpp"
#include "tests/testing/temp_folder.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tangram::shim {

inline constexpr std::uint64_t kMiB = 1U << 20U;

/// A card, and the container's limit on it.
struct RigCard {
  std::uint64_t bytes = 32'510 * kMiB;
  std::uint64_t limit = 16'255 * kMiB;
  std::uint64_t pool_chunk = 2 * kMiB;
  std::uint64_t pitch = 512;
  std::uint64_t context_bytes = 0;
};

/// A folder as a container has it: the stand-in library in place of the driver's, the driver's own
/// beside it, and the pages; and the cards of the fake driver.
class StandInRig {
 public:
  explicit StandInRig(std::initializer_list<RigCard> of = {RigCard{}});

  /// Another container on the same cards. Before a client starts.
  void use_cards_of(const StandInRig& other);

  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  [[nodiscard]] LimitsPage& limits() { return *limits_; }
  [[nodiscard]] UsagePage& usage() { return *usage_; }
  [[nodiscard]] fake_cuda::CardFile& cards() { return *cards_; }

  /// Leases a card's time, as the agent does.
  void set_turn(Turn turn, std::size_t card = 0);
  /// Of a client that is the only process.
  [[nodiscard]] Account& only_account();

  /// What all living processes have, as the driver knows it.
  [[nodiscard]] std::uint64_t really_used(std::size_t card = 0);
  /// What the container has accounted. Gives back first what dead processes had.
  [[nodiscard]] std::uint64_t accounted(std::size_t card = 0);

 private:
  testing::TempFolder folder_;
  LimitsPage* limits_;
  UsagePage* usage_;
  fake_cuda::CardFile* cards_;
  int cards_fd_ = -1;
};

/// A command with numbers, for Client::run().
[[nodiscard]] std::string words(const std::string& command,
                                std::initializer_list<std::uint64_t> numbers);

/// A cuda_client in that folder, which finds the stand-in by LD_LIBRARY_PATH.
class Client : public CudaClient {
 public:
  explicit Client(const StandInRig& rig, const std::string& how = "plain",
                  const std::vector<std::string>& variables = {});
};

}  // namespace tangram::shim
