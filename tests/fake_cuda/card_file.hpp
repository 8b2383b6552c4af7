#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>

/// The cards that all processes with the fake driver share, as a file in the current folder: as the
/// kernel's driver would, it knows exactly what every process has, and takes it back when the
/// process has died. It shares no code with the stand-in library, whose accounting it checks.
namespace fake_cuda {

inline constexpr const char* kCardFile = "fake_cuda.cards";
inline constexpr std::size_t kMaxCards = 4;
inline constexpr std::size_t kMaxProcesses = 512;

struct Card {
  std::array<unsigned char, 16> uuid;
  std::uint64_t bytes;
  std::uint64_t pool_chunk;     ///< pools grow by multiples of it
  std::uint64_t pitch;          ///< pitches are multiples of it
  std::uint64_t context_bytes;  ///< that a context takes
  std::uint64_t most_used;      ///< that all processes had at the same time, ever
};

/// Of a kernel: grid, block, shared bytes, stream, parameters, extra. 0 = the function has none.
using LaunchArguments = std::array<std::uint64_t, 10>;

/// Written under the mutex only.
struct CardFile {
  pthread_mutex_t mutex;  ///< robust: a process may die with it
  std::uint32_t count;
  std::array<Card, kMaxCards> cards;
  /// By process. Its lock is the byte of its number, as an open file description lock.
  std::array<std::array<std::uint64_t, kMaxCards>, kMaxProcesses> used;
  /// When the card has done all work of all processes, which it does one after the other; on the
  /// steady clock.
  std::array<std::uint64_t, kMaxCards> busy_until_ns;
  /// What the card has done, or will do, for a process.
  std::array<std::array<std::uint64_t, kMaxCards>, kMaxProcesses> busy_ns;
  std::array<int, kMaxProcesses> pids;
  std::atomic<std::uint64_t> launches;
  LaunchArguments last_launch;  ///< written without the mutex
  std::atomic<int> fail_next;   ///< the result of the next allocation instead, if not 0
  /// 1: the next call that has ended a context does not return, but makes it 2, until it is 0
  /// again.
  std::atomic<int> hold;
  std::atomic<int> fail_pools;    ///< the result of all questions about pools instead, if not 0
  std::atomic<int> fail_waits;    ///< … of all calls that wait for a stream or context
  std::atomic<int> fail_exports;  ///< … of all exports of handles
  /// The card's time, instead of the steady clock, if not 0. It passes only while somebody waits:
  /// 10 us in each query of an event that was not reached, and to its end in what waits for work.
  std::atomic<std::uint64_t> clock_ns;
  std::atomic<bool> side_by_side;       ///< the work of a stream waits for no other stream
  std::atomic<unsigned> query_us;       ///< that each query of an event takes, on the real clock
  std::atomic<int> hold_launch;         ///< as `hold`, of the next launch
  std::atomic<int> hold_in_pool;        ///< … of the next allocation in a pool, before it
  std::atomic<int> hold_pool_reserved;  ///< … of the next question what a pool has, before it
  std::atomic<int> hold_pool_used;      ///< … of the next question what of a pool is in use
  std::atomic<int> hold_release;        ///< … of the next release of a handle, before it
  std::atomic<unsigned> dead_recorded;  ///< events that were recorded in a stream that is destroyed
};

/// Makes the file, with these cards. @returns null if that failed
CardFile* create_card_file(const char* path);
/// Maps it.
CardFile* open_card_file(const char* path, int* fd);

/// The robust mutex of the file.
class CardLock {
 public:
  explicit CardLock(CardFile& file);
  ~CardLock();
  CardLock(const CardLock&) = delete;
  CardLock& operator=(const CardLock&) = delete;

 private:
  CardFile& file_;
};

/// What a card has done for a process.
std::uint64_t busy_of(CardFile& file, std::size_t card, int pid);

/// What all living processes have on a card. Forgets what the dead had.
std::uint64_t used_now(CardFile& file, int fd, std::size_t card, std::size_t own_process);

}  // namespace fake_cuda
