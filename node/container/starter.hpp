#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "kube/event_series.hpp"
#include "node/cards/card_source.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/container/claims.hpp"
#include "node/container/grant_check.hpp"
#include "node/container/journal.hpp"
#include "node/container/memory_limiters.hpp"
#include "node/container/processes.hpp"
#include "node/container/start_identifier.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/kubelet/checkpoint.hpp"
#include "node/kubelet/container_runtime.hpp"
#include "node/kubelet/device_plugin.hpp"
#include "node/kubelet/pod_resources.hpp"
#include "node/pods/local_pods.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace tangram::node {

/// Makes every container start with the cards that its pod was granted, and with no others.
///
/// A slot does not identify a card. allocate() returns the name of a new CDI device that does not
/// exist yet; prepare_start() finds out which container has the slot, checks the pod's grant, and
/// only then writes the CDI spec of that name. If anything fails in between, the runtime finds no
/// such device and does not start the container. Every start writes the spec again, with a mark of
/// its own by which DeviceChecker knows that the container has the device.
///
/// Threads: safe. No lock is held during a call to kubelet, the API server or the driver.
class ContainerStarter final : public SlotKeeper {
 public:
  struct Parts {
    std::function<Result<std::vector<SlotOwner>>()> slot_owners;  ///< kubelet's checkpoint, now
    PodLister& lister;
    PodSource& pods;
    CardSource& source;
    std::function<CardsPtr()> cards;
    Processes& processes;
    std::function<Enforcer&(model::Isolation)> enforcer;
    MemoryLimiters& memory_limiters;
    Journal& journal;
    CdiFolder& cdi;
    /// Of the vendor's own CDI specs, for these cards: Vendor::cdi_edits().
    std::function<Result<CdiEdits>(const std::vector<std::string>&)> vendor_edits;
    std::function<void(kube::EventNote)> report_event;
    std::function<std::uint64_t()> random;    ///< called on many threads, under a lock
    Required<std::function<void()>> started;  ///< called before a start is allowed
    /// The revision of the pod's grant that was published as applied; 0 = none. Called under
    /// Journal::lock_claims().
    Required<std::function<int(std::string_view pod_uid)>> applied_revision;
    /// What the container runtime tells of itself, now; empty = nothing.
    Required<std::function<RuntimeConfig()>> runtime_config;
    const Clock& clock;
    Sleeper sleeper = sleep_until_stopped;
  };
  struct Settings {
    std::string node;
    std::string boot = {};  ///< the kernel's id of this boot; empty = not known
    NamePath name_path = NamePath::kCdiDevices;
    VendorRuntime runtime;
    /// A container may start without edits that give it its cards: the vendor's runtime adds them
    /// by the variable, or there are none to be seen.
    bool cards_by_runtime = false;
    /// From writing a spec to answering kubelet. The runtime reads the file after an inotify event,
    /// within 5 ms in all of 1,200 measured cases on two busy cores. A miss costs a retry of
    /// kubelet's; at a later start of the container the runtime still has the former spec, so the
    /// container has the former mark, which DeviceChecker knows, too.
    std::chrono::milliseconds spec_delay{30};
  };

  ContainerStarter(Parts parts, Settings settings);

  Result<AllocateResponse> allocate(const std::vector<std::string>& slots) override;
  Result<void> prepare_start(const std::vector<std::string>& slots) override;

  /// The claims of all pods of the node.
  [[nodiscard]] std::vector<CardClaim> claims() const;

  struct Counts {
    std::uint64_t allocated = 0;
    std::uint64_t prepared = 0;
    std::uint64_t refused = 0;    ///< cannot start
    std::uint64_t postponed = 0;  ///< another try may succeed
  };
  [[nodiscard]] Counts counts() const;

 private:
  /// What a container may use.
  struct Admission {
    model::ContainerGrant granted;
    model::Isolation isolation = model::Isolation::kNone;
    bool whole = false;
    std::string grant;  ///< its text
  };

  Result<void> prepare(const Start& start);
  Result<void> record(const Start& start, const Admission& admission, const std::string& spec,
                      const std::string& mark);
  Result<JournalEntry> journal_entry(const Start& start) const;
  Result<JournalEntry> entry_of(const Start& start, const Admission& admission) const;
  Result<Admission> admit(const Start& start);
  [[nodiscard]] Result<void> check_revision(const LocalPod& pod) const;
  Result<Admission> claim_cards(const Start& start, const std::vector<model::Card>& here,
                                const std::vector<OrphanedMemory>& orphaned);
  Result<void> put_first(const JournalEntry& entry);
  [[nodiscard]] std::vector<CardClaim> claims_with(const Start& start) const;
  [[nodiscard]] std::vector<CardClaim> claims_of_others(const LocalPod& pod,
                                                        std::string_view container) const;
  Result<std::string> make_spec(const Start& start, const Admission& admission,
                                const std::string& mark);
  Result<void> release_other_modes(const std::vector<std::string>& ids, const Admission& admission);
  Result<void> prepare_sharing(const Start& start, const Admission& admission,
                               ContainerEdits& edits);
  Result<void> limit_memory(const Start& start, const Admission& admission, CdiEdits& vendor,
                            ContainerEdits& edits);
  [[nodiscard]] std::uint64_t random_number();
  void report(const LocalPod& pod, const Error& error) const;
  Result<void> count(Result<void> outcome);

  const Parts parts_;
  const Settings settings_;
  const StartIdentifier identifier_;
  std::mutex random_;
  mutable std::mutex mutex_;
  Counts counts_;  ///< under mutex_
};

}  // namespace tangram::node
