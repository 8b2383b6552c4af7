#pragma once

#include "shim/cuda/abi.hpp"
#include "tests/fake_cuda/card_file.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

/// This process's part of the fake driver.
namespace fake_cuda {

// Only the types of CUDA's driver interface are the stand-in library's.
using namespace tangram::shim::cuda;  // NOLINT(google-build-using-namespace)

inline constexpr CUresult kNotInitialized = 3;
inline constexpr CUresult kInvalidDevice = 101;
inline constexpr CUresult kInvalidContext = 201;
inline constexpr CUresult kNotSupported = 801;

struct Context {
  CUdevice device = 0;
  bool primary = false;
  std::uint64_t heap_bytes = 8U << 20U;
  int references = 1;
};

/// Memory at an address, an array, or a handle.
struct Block {
  CUdevice device = -1;  ///< -1 = host
  std::uint64_t bytes = 0;
  const Context* context = nullptr;
  struct Pool* pool = nullptr;
  int references = 1;
  int mappings = 0;
  bool exported = false;        ///< nobody closes what a handle was exported as
  CUstream freed_in = nullptr;  ///< the pointer was freed, and ends when this stream is waited for
};

struct Pool {
  CUdevice device = -1;  ///< -1 = host
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  std::uint64_t threshold = 0;
  bool exported = false;  ///< it gives nothing back
};

struct Graph {
  std::map<CUdevice, std::uint64_t> bytes;  ///< of its nodes
  bool backed = false;                      ///< an instance that has run has memory
  std::uint64_t kernels_ns = 0;             ///< of the kernels that were captured
  Graph* parent = nullptr;                  ///< it was moved there
};

struct Mapping {
  std::uint64_t bytes = 0;
  std::uint64_t handle = 0;
};

/// A piece of an array: the array's handle, and what names the piece.
using Piece = std::pair<std::uint64_t, std::array<unsigned, 8>>;

struct Machine {
  std::recursive_mutex mutex;
  CardFile* file = nullptr;  ///< null before cuInit()
  int fd = -1;
  std::size_t process = 0;
  std::map<std::uint64_t, Block> pointers;
  std::map<std::uint64_t, Block> arrays;
  std::map<std::uint64_t, Block> handles;
  std::map<std::uint64_t, Mapping> mappings;
  std::map<Piece, std::uint64_t> mapped_pieces;  ///< their handles
  std::map<std::uint64_t, std::uint64_t>
      free_addresses;  ///< by size: an address is used again soon
  std::uint64_t next_address = 0x7f0000000000U;
  std::uint64_t next_narrow_address = 0x10000000U;  ///< of functions with pointers of 32 bits
  std::vector<Context*> contexts;
  std::vector<Context*> ended_contexts;  ///< their handles are used again
  Context* primary[kMaxCards] = {};
  int primary_references[kMaxCards] = {};
  std::vector<Pool*> pools;
  Pool* default_pool[kMaxCards] = {};
  Pool* current_pool[kMaxCards] = {};
  std::vector<Graph*> graphs;
  std::uint64_t graph_reserved[kMaxCards] = {};
  std::uint64_t graph_used[kMaxCards] = {};
  Pool* managed_pool = nullptr;  ///< by default
  Graph* capturing = nullptr;
  std::map<CUstream, std::uint64_t> stream_ends_ns;  ///< when a stream's work ends
  std::set<CUstream> destroyed_streams;
  void (*in_launch)() = nullptr;  ///< that a tool wants to be called in the next launch
};
Machine& machine();

/// Of the calling thread.
std::vector<Context*>& context_stack();
Context* current_context();

/// Takes memory of a card, or says CUDA_ERROR_OUT_OF_MEMORY.
CUresult take(CUdevice device, std::uint64_t bytes);
void give(CUdevice device, std::uint64_t bytes);
/// An address that nobody has.
std::uint64_t new_address(std::uint64_t bytes);
void free_address(std::uint64_t address, std::uint64_t bytes);
/// Is there such a device?
bool is_device(CUdevice device);
/// Which stream of the current context a handle means in a function of this kind. The null stream
/// is the context.
CUstream stream_of(CUstream stream, bool per_thread);
/// The card does it once all that it was given before is done. No time is no work.
void run_on_card(CUstream stream, std::uint64_t ns);
CUresult free_pointer(CUdeviceptr pointer);
/// What was freed in the order of a stream ends. @param stream  as stream_of() says; null = of all
void end_freed_in(CUstream stream);
/// Waits while this is 1 and then 2, as cards.hold says.
void hold_if_wanted(std::atomic<int>& hold);
/// What is mapped to an array no longer is.
void unmap_pieces(std::uint64_t array);
/// Everything of a context ends.
void end_context(Context* context);

}  // namespace fake_cuda

#define FAKE_CUDA extern "C" __attribute__((visibility("default")))
