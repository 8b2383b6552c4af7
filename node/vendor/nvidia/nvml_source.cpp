#include "node/vendor/nvidia/nvml_source.hpp"

#include "base/quote.hpp"

#include <algorithm>
#include <map>

namespace tangram::node::nvidia {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long a wait stays in the library at a time: another call may need to close the session.
constexpr milliseconds kSlice{500};

/// Processes may start between the call for their number and the one for the list.
constexpr unsigned kSlack = 32;
constexpr int kTries = 5;
/// More than any card can serve: a larger number is an error.
constexpr unsigned kMaxProcesses = 65'536;

using ProcessList = nvml::Code (*)(nvml::Device, unsigned*, nvml::ProcessInfo*);

std::vector<nvml::ProcessInfo> read_processes(NvmlAsk& ask, ProcessList list, nvml::Device device) {
  std::vector<nvml::ProcessInfo> processes(kSlack);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    auto count = static_cast<unsigned>(processes.size());
    const bool done = ask(list, device, &count, processes.data());
    if (done) {
      processes.resize(std::min<std::size_t>(count, processes.size()));
      return processes;
    }
    if (ask.last() != nvml::Code::kInsufficientSize || count > kMaxProcesses) break;
    processes.resize(std::size_t{count} + kSlack);
  }
  return {};
}

/// One entry for each process: some are in several lists, and each has all of its memory.
std::vector<CardProcess> merged(const std::vector<std::vector<nvml::ProcessInfo>>& lists) {
  std::map<std::int64_t, std::uint64_t> by_pid;
  for (const auto& list : lists) {
    for (const nvml::ProcessInfo& process : list) {
      const bool known = process.used_memory != nvml::kUnknownBytes;
      auto& bytes = by_pid[process.pid];
      bytes = std::max(bytes, known ? process.used_memory : 0);
    }
  }
  std::vector<CardProcess> processes;
  processes.reserve(by_pid.size());
  for (const auto& [pid, bytes] : by_pid) processes.push_back({pid, bytes});
  return processes;
}

CardActivity read_activity(NvmlAsk& ask, nvml::Device device) {
  CardActivity activity;
  NvmlMemory memory;
  if (read_nvml_memory(ask, device, memory)) activity.memory_used_bytes = memory.used;
  nvml::Utilization rates{};
  const bool known = ask(ask.call().utilization, device, &rates);
  activity.utilization = known ? static_cast<double>(std::min(rates.gpu, 100U)) / 100 : -1;
  const nvml::Functions& call = ask.call();
  activity.processes = merged({read_processes(ask, call.compute_processes, device),
                               read_processes(ask, call.mps_processes, device),
                               read_processes(ask, call.graphics_processes, device)});
  return activity;
}

}  // namespace

NvmlSource::NvmlSource(std::function<std::string()> find_library, std::shared_ptr<MigLayout> mig)
    : find_library_(std::move(find_library)), mig_(std::move(mig)) {}

NvmlSource::~NvmlSource() { close_session(); }

Result<NvmlSource::Shared> NvmlSource::enter() {
  for (;;) {
    {
      Shared lock(session_mutex_);
      if (initialized_ && !over_) return lock;
    }
    const std::unique_lock all(session_mutex_);
    if (initialized_ && !over_) continue;
    close_session();
    if (auto opened = open_session(); !opened) return opened.error();
  }
}

Result<void> NvmlSource::open_session() {
  if (!library_) {
    auto opened = NvmlLibrary::open(find_library_());
    if (!opened) return opened.error();
    library_ = std::move(opened.value());
  }
  if (const nvml::Code code = library_->call().init(); code != nvml::Code::kSuccess) {
    const std::string reason = library_->error_text(code);
    library_.reset();  // the one that fits the driver may be installed by the next time
    return fail(Errc::kUnavailable, "the NVIDIA driver does not answer: " + reason);
  }
  initialized_ = true;
  over_ = false;
  return {};
}

void NvmlSource::close_session() {
  events_.reset();
  if (initialized_) library_->call().shutdown();
  initialized_ = false;
}

Result<void> NvmlSource::check(const NvmlAsk& ask) {
  if (!ask.broken()) return {};
  over_ = true;
  return fail(Errc::kUnavailable, "the NVIDIA driver does not answer: " + ask.broken_text());
}

Result<Inventory> NvmlSource::inventory() {
  auto session = enter();
  if (!session) return session.error();
  NvmlAsk ask(*library_);
  NvmlInventory found = read_nvml_inventory(ask);
  if (auto good = check(ask); !good) return good.error();
  // A card that comes back is seen by a new session only.
  if (ask.met_lost_card()) over_ = true;
  const std::lock_guard lock(layout_mutex_);
  mig_->replace(found.layout);
  if (layout_ != found.layout) {
    layout_ = std::move(found.layout);
    layout_changed_.notify_all();
  }
  return std::move(found.inventory);
}

Result<std::vector<Fault>> NvmlSource::wait_for_faults(milliseconds limit) {
  const std::lock_guard one(wait_mutex_);
  const auto end = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    auto faults = wait_once(std::clamp(left, milliseconds(0), kSlice));
    if (!faults || !faults->empty() || Clock::now() >= end) return faults;
  }
}

Result<std::vector<Fault>> NvmlSource::wait_once(milliseconds limit) {
  bool listed = false;
  {
    const std::lock_guard lock(layout_mutex_);
    listed = !layout_.empty();
  }
  if (!listed) {
    if (auto cards = inventory(); !cards) return cards.error();
  }
  auto session = enter();
  if (!session) return session.error();
  std::vector<NvmlPhysical> layout;
  {
    const std::lock_guard lock(layout_mutex_);
    layout = layout_;
  }
  if (!events_ || events_->layout() != layout) {
    events_.reset();
    NvmlAsk registration(*library_);
    events_ = std::make_unique<NvmlEvents>(*library_, registration, layout);
    if (auto good = check(registration); !good) return good.error();
  }
  if (!events_->any()) {
    session->unlock();
    wait_for_layout(layout, limit);
    return std::vector<Fault>{};
  }
  NvmlAsk ask(*library_);
  auto faults = events_->wait(ask, limit);
  if (auto good = check(ask); !good) return good.error();
  if (ask.met_lost_card()) {
    over_ = true;  // the next set leaves that card out
    if (faults.empty())
      return fail(Errc::kUnavailable, "a card is lost, and the driver does not report which");
  }
  return faults;
}

void NvmlSource::wait_for_layout(const std::vector<NvmlPhysical>& known, milliseconds limit) {
  std::unique_lock lock(layout_mutex_);
  layout_changed_.wait_for(lock, limit, [&] { return layout_ != known; });
}

Result<nvml::Device> NvmlSource::device_of(NvmlAsk& ask, const std::string& card) {
  nvml::Device device = nullptr;
  if (ask(ask.call().device_by_uuid, card.c_str(), &device)) return device;
  if (auto good = check(ask); !good) return good.error();
  if (ask.last() == nvml::Code::kGpuIsLost) {
    return fail(Errc::kUnavailable, "card " + quote_if_needed(card) + " does not answer");
  }
  return fail(Errc::kNotFound, "there is no card " + quote_if_needed(card));
}

Result<CardActivity> NvmlSource::activity(std::string_view card) {
  auto session = enter();
  if (!session) return session.error();
  NvmlAsk ask(*library_);
  const auto device = device_of(ask, std::string(card));
  if (!device) return device.error();
  CardActivity activity = read_activity(ask, *device);
  if (auto good = check(ask); !good) return good.error();
  if (ask.met_lost_card()) {
    return fail(Errc::kUnavailable,
                "card " + quote_if_needed(std::string(card)) + " does not answer");
  }
  return activity;
}

Result<void> NvmlSource::set_exclusive_process(std::string_view card, bool exclusive) {
  auto session = enter();
  if (!session) return session.error();
  NvmlAsk ask(*library_);
  const auto device = device_of(ask, std::string(card));
  if (!device) return device.error();
  const int mode = exclusive ? nvml::kExclusiveProcess : nvml::kDefaultMode;
  if (ask(ask.call().set_compute_mode, *device, mode)) return {};
  if (auto good = check(ask); !good) return good.error();
  const std::string what = "the compute mode of card " + quote_if_needed(std::string(card)) +
                           " cannot be set: " + ask.last_text();
  if (ask.last() == nvml::Code::kNoPermission) {
    return fail(Errc::kInvalidArgument, what + "; run the agent as root, privileged");
  }
  if (ask.last() == nvml::Code::kNotSupported || ask.last() == nvml::Code::kFunctionNotFound) {
    return fail(Errc::kInvalidArgument, what + "; share it by time-slice, not by mps");
  }
  return fail(Errc::kUnavailable, what);
}

}  // namespace tangram::node::nvidia
