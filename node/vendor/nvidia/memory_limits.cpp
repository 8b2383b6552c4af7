#include "node/vendor/nvidia/memory_limits.hpp"

#include "node/hook/dmem.hpp"
#include "node/hook/limit_memory.hpp"
#include "node/vendor/nvidia/nvml_library.hpp"

#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::node::nvidia {
namespace {

using nvml::Code;

/// What to do about an error.
std::string advice(Code code) {
  // Not a switch: the driver answers with more codes than the agent distinguishes.
  const std::map<Code, std::string> advices{
      {Code::kInvalidArgument, "the limit may be larger than the card's memory"},
      {Code::kNotSupported, std::string("turn off MIG on the card, ") + hook::kLimitOtherwise},
      {Code::kNoPermission, "run this program as root, on the host"},
      {Code::kNotFound,
       "the runtime, or the node's owner, must write +dmem to cgroup.subtree_control of every "
       "cgroup above it, or load the driver with NVreg_RegistryDwords=RmMemacctMode=1"},
      {Code::kDriverNotLoaded, "load the kernel module nvidia"},
      {Code::kFunctionNotFound, std::string("install r615 or newer, ") + hook::kLimitOtherwise},
      {Code::kOperatingSystem,
       "the driver finds cgroups only if cgroup v2 is mounted at /sys/fs/cgroup"},
      {Code::kGpuIsLost, "reset the card, or restart the node"},
      {Code::kVersionMismatch, "restart the node: its driver was upgraded"},
  };
  const auto found = advices.find(code);
  return found == advices.end() ? std::string("look at the driver's messages in the kernel's log")
                                : found->second;
}

class NvmlMemoryLimiter final : public hook::MemoryLimiter {
 public:
  /// Of a library with a session, which this one ends.
  explicit NvmlMemoryLimiter(std::unique_ptr<NvmlLibrary> library) : library_(std::move(library)) {}
  ~NvmlMemoryLimiter() override { library_->call().shutdown(); }
  NvmlMemoryLimiter(const NvmlMemoryLimiter&) = delete;
  NvmlMemoryLimiter& operator=(const NvmlMemoryLimiter&) = delete;

  Result<void> check(const std::string& /*cgroup*/, const std::string& card) override {
    if (card.starts_with("MIG-")) {
      return fail(
          Errc::kInvalidArgument,
          card +
              " is a MIG instance, whose memory the card itself limits; the driver takes no "
              "other limit");
    }
    nvml::Device device = nullptr;
    const Code found = library_->call().device_by_uuid(card.c_str(), &device);
    if (found == Code::kNotFound || found == Code::kInvalidArgument) {
      return fail(Errc::kNotFound, "the driver has no card " + card + " (" +
                                       library_->error_text(found) +
                                       "); delete the pod, and look at the node's cards");
    }
    if (found != Code::kSuccess) return failed("does not open " + card, found);
    devices_[card] = device;
    return {};
  }

  Result<void> set(const std::string& cgroup, const hook::MemoryLimit& limit) override {
    nvml::SetMemoryLimits limits{
        .cgroup = cgroup.c_str(), .soft = 0, .hard = hook::bytes_of(limit.amount)};
    const Code done = library_->call().set_memory_limits(devices_.at(limit.card), &limits);
    if (done == Code::kSuccess) return {};
    return failed(
        "does not limit " + limit.card + " to " + to_string(limit.amount) + " for " + cgroup, done);
  }

  Result<std::uint64_t> read(const std::string& cgroup, const std::string& card) override {
    const auto limits = ask(cgroup, card);
    if (!limits) return limits.error();
    if (limits->soft == 0) return limits->hard;
    return fail(Errc::kConflict, card + ": a soft limit of 0 was set, and one of " +
                                     std::to_string(limits->soft) + " bytes is in force for " +
                                     cgroup + "; another program may have changed it");
  }

  Result<std::uint64_t> in_use(const std::string& cgroup, const std::string& card) override {
    const auto limits = ask(cgroup, card);
    if (!limits) return limits.error();
    return limits->used;
  }

 private:
  [[nodiscard]] Result<nvml::GetMemoryLimits> ask(const std::string& cgroup,
                                                  const std::string& card) const {
    nvml::GetMemoryLimits limits{.cgroup = cgroup.c_str(), .soft = 0, .hard = 0, .used = 0};
    const Code done = library_->call().get_memory_limits(devices_.at(card), &limits);
    if (done != Code::kSuccess) return failed("does not say the limit of " + card, done);
    return limits;
  }

  [[nodiscard]] Error failed(const std::string& what, Code code) const {
    return fail(Errc::kUnavailable, "the NVIDIA driver " + what + " (" +
                                        library_->error_text(code) + "): " + advice(code));
  }

  std::unique_ptr<NvmlLibrary> library_;
  std::map<std::string, nvml::Device> devices_;  ///< those that were checked
};

/// What has to be open for some limits.
struct OpenLimiters {
  std::unique_ptr<hook::MemoryLimiter> driver;  ///< null if no card of NVIDIA is among them
  std::unique_ptr<hook::MemoryLimiter> kernel;
};

Result<OpenLimiters> open_limiters(const LimiterPlaces& places, const hook::Limits& limits) {
  OpenLimiters open{.driver = nullptr,
                    .kernel = std::make_unique<hook::DmemLimiter>(places.cgroups)};
  if (limits.nvidia.empty()) return open;
  auto driver = open_memory_limiter(places.find_nvml());
  if (!driver) return driver.error();
  open.driver = std::move(*driver);
  return open;
}

std::string driver_version(const NvmlLibrary& library) {
  std::array<char, nvml::kTextSize + 1> text{};  // ends also where the library does not say so
  const Code read = library.call().driver_version(text.data(), nvml::kTextSize);
  return read == Code::kSuccess ? text.data() : "of this node";
}

}  // namespace

Result<std::unique_ptr<hook::MemoryLimiter>> open_memory_limiter(const std::string& path) {
  auto opened = NvmlLibrary::open(path);
  if (!opened) return fail(opened.error().code, "--nvml " + path + ": " + opened.error().message);
  const nvml::Functions& call = (*opened)->call();
  // It looks for no card yet, so a broken one does not keep containers of others from starting.
  if (const Code begun = call.init(); begun != Code::kSuccess) {
    return fail(Errc::kUnavailable, "the NVIDIA driver does not answer (" +
                                        (*opened)->error_text(begun) + "): " + advice(begun));
  }
  const bool has_limits = call.set_memory_limits != nullptr && call.get_memory_limits != nullptr;
  const std::string version = has_limits ? "" : driver_version(**opened);
  std::unique_ptr<hook::MemoryLimiter> limiter =
      std::make_unique<NvmlMemoryLimiter>(std::move(*opened));
  if (has_limits) return limiter;
  return fail(Errc::kUnavailable, "the NVIDIA driver " + version +
                                      " is older than r615 and has no memory limits; install r615 "
                                      "or newer, " +
                                      hook::kLimitOtherwise);
}

Result<void> set_memory_limits(const LimiterPlaces& places, const std::string& cgroup,
                               const hook::Limits& limits) {
  const auto open = open_limiters(places, limits);
  if (!open) return open.error();
  std::vector<hook::CardLimits> cards{{*open->kernel, limits.dmem}};
  if (open->driver) cards.push_back({*open->driver, limits.nvidia});
  return hook::limit_memory(cgroup, cards);
}

Result<std::uint64_t> memory_in_use(const LimiterPlaces& places, const std::string& cgroup,
                                    const std::string& card) {
  const auto driver = open_memory_limiter(places.find_nvml());
  if (!driver) return driver.error();
  if (auto checked = (*driver)->check(cgroup, card); !checked) return checked.error();
  return (*driver)->in_use(cgroup, card);
}

}  // namespace tangram::node::nvidia
