#pragma once

#include "shim/cuda/abi.hpp"
#include "shim/cuda/records.hpp"
#include "shim/process.hpp"

/// Which card of the container's limits a call is about. Threads: safe.
namespace tangram::shim::cuda {

inline constexpr std::size_t kMaxDevices = 64;

/// A card that the driver does not identify, or whose limits cannot be read: nothing is granted
/// there.
inline constexpr std::size_t kUnknownCard = kNoCard + 1;

/// @returns kNoCard if it has no limit, or is no device: the driver then refuses the call
[[nodiscard]] std::size_t card_of(CUdevice device);
/// @returns -1 if it is no device's memory
[[nodiscard]] CUdevice device_of(const CUmemLocation& location);
/// @returns kNoCard as above, or if it is no device's memory
[[nodiscard]] std::size_t card_of(const CUmemLocation& location);

/// Where a call allocates.
struct Place {
  std::size_t card = kNoCard;
  CUdevice device = 0;
  CUcontext context = nullptr;
};
/// Of the calling thread's current context; kNoCard without one: the driver then refuses the call.
[[nodiscard]] Place current_place();
/// Of a stream's context.
/// @param per_thread  what the null stream is
[[nodiscard]] Place place_of(CUstream stream, bool per_thread);

/// Gives back a charge.
void give_back(const Charge& charge);

struct Ended {
  CUresult result = CUDA_SUCCESS;  ///< of the driver
  bool known = false;              ///< the thing was recorded
};
/// Ends a thing that has a charge of its own, and gives the charge back if the driver agrees. The
/// record goes first: as soon as the driver has ended it, another thread can get its number.
/// @param end  calls the driver
template <class End>
Ended end_recorded(Thing thing, End&& end) {
  const Removal removal = remove(thing);
  const CUresult result = end();
  if (removal.known && result == CUDA_SUCCESS) give_back(removal.charge);
  // The removal left room for it.
  if (removal.known && result != CUDA_SUCCESS) (void)record(thing, removal.charge, give_back);
  return {result, removal.known};
}

/// Accounts memory before the driver is asked for it, and gives it back unless it is kept.
class Reservation {
 public:
  /// @param rounding  as for reserve()
  Reservation(const char* call, std::size_t card, std::uint64_t bytes, std::uint64_t rounding = 0);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// False: the container would be above its limit. True also on a card without a limit.
  [[nodiscard]] bool granted() const { return granted_; }
  /// The memory was allocated, and is recorded by somebody else from now on.
  void keep() { bytes_ = 0; }

 private:
  std::size_t card_;
  std::uint64_t bytes_ = 0;
  bool granted_ = true;
};

}  // namespace tangram::shim::cuda
