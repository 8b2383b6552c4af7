#pragma once

#include <atomic>
#include <string_view>

/// The driver's own library behind a stand-in. The stand-in exports every name of it; what it does
/// not intercept is forwarded by entry points that cmake/StandInLibrary.cmake makes from
/// exports.txt. Threads: safe.
namespace tangram::shim {

/// What a stand-in library says about itself.
struct StandIn {
  const char* driver_library;  ///< the path of the driver's own
  int (*missing)();            ///< stands for a function that the driver lacks: returns its error
};
/// Of this library; defined once in it.
extern const StandIn kStandIn;  // NOLINT(bugprone-dynamic-static-initializers): it is constinit

/// The driver's own function.
/// @returns null if the driver lacks it, or is not there: one line on stderr says why
[[nodiscard]] void* driver_function(const char* name);

/// Whether the driver's library is loaded. If it is not, that may pass: the process was out of file
/// descriptors, say.
[[nodiscard]] bool is_driver_loaded();

/// A function of the driver that the stand-in calls itself. Looked up by resolve(), or at the first
/// call, which must not be made with a mutex then: the lookup waits for the loader, and who has the
/// loader may wait for that mutex. Calls kStandIn.missing if the driver lacks it.
template <class Signature>
class DriverFunction;

template <class... Arguments>
class DriverFunction<int(Arguments...)> {
 public:
  explicit constexpr DriverFunction(const char* name) : name_(name) {}
  int operator()(Arguments... arguments) { return address()(arguments...); }
  void resolve() { (void)address(); }

 private:
  using Function = int (*)(Arguments...);
  Function address() {
    void* target = target_.load(std::memory_order_acquire);
    if (target == nullptr) {
      target = driver_function(name_);
      const bool is_final = target != nullptr || is_driver_loaded();
      if (target == nullptr) target = reinterpret_cast<void*>(kStandIn.missing);
      if (is_final) target_.store(target, std::memory_order_release);
    }
    return reinterpret_cast<Function>(target);
  }

  const char* name_;
  std::atomic<void*> target_{nullptr};
};

}  // namespace tangram::shim
