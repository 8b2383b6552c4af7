#include "node/resize/resizer.hpp"

#include "base/sleeper.hpp"
#include "model/grant.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;
using model::ResizeRefusal;

// For what was freed or failed since, as MemoryChecker looks.
constexpr std::chrono::milliseconds kBetweenLooks = 1s;
// However often pods change: a look asks the driver and reads the journal.
constexpr std::chrono::milliseconds kAtLeast = 50ms;

constexpr std::string_view kUnvouched =
    "the pod's grant was changed by someone whose signature does not count here, which has no "
    "effect";
constexpr std::string_view kNoRevision =
    "the pod's grant was changed, and is no revision of the one that its containers were started "
    "by, so it has no effect; delete the pod, and create it with the new request";

std::uint64_t bytes_of(Mebibytes amount) {
  return static_cast<std::uint64_t>(amount.count()) << 20U;
}

Error unknown(std::string why) { return fail(Errc::kUnavailable, std::move(why)); }

bool is_earlier(const Claim& claim, int revision) {
  const auto grant = model::decode_grant(claim.grant);
  return grant && grant->revision < revision;
}

std::vector<model::Card> cards_of(const CardsNow& now) {
  std::vector<model::Card> cards;
  for (const InstalledCard& card : now.inventory.cards) cards.push_back(card.card);
  return cards;
}

}  // namespace

Resizer::Resizer(Parts parts)
    : parts_(std::move(parts)),
      meter_(parts_.source, parts_.processes, parts_.runtime, parts_.clock),
      limits_({.journal = parts_.journal,
               .limiters = parts_.limiters,
               .pods = parts_.pods,
               .processes = parts_.processes,
               .boot = parts_.boot,
               .clock = parts_.clock}),
      reports_(parts_.report_event, parts_.clock),
      now_{.answers = *parts_.previous, .released = {}} {}

void Resizer::restore() {
  limits_.all_to_set();
  set_limits({});
}

void Resizer::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    look();
    sleep_until_stopped(kAtLeast, stop);
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, stop, limits_.any_lowered() ? LimitsInForce::kSettling : kBetweenLooks,
                    [&] { return awake_; });
    awake_ = false;
  }
}

void Resizer::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  woken_.notify_all();
}

void Resizer::look() {
  if (!parts_.pods.synced()) return;
  ResizesRefused refusals;
  const std::vector<Resize> due = find_due(refusals);
  set_limits(take_steps(due, read(due), refusals));
  report_resized();
  answer(refusals);
}

/// @returns what is to be lowered
std::vector<const Resize*> Resizer::take_steps(const std::vector<Resize>& due, const Sight& sight,
                                               ResizesRefused& refusals) {
  std::vector<const Resize*> to_lower;
  const auto claims = parts_.journal.lock_claims();
  for (const Resize& resize : due) {
    ResizeRefused refusal;
    const Step done = is_current(resize) ? step(resize, sight, refusal) : Step::kWaits;
    if (done == Step::kLowers) to_lower.push_back(&resize);
    if (done != Step::kRefused) continue;
    refusal.revision = resize.pod->grant->revision;
    ResizeRefused& of_pod = refusals.try_emplace(resize.claim.pod_uid, refusal).first->second;
    // The extender takes a revision back for the others.
    if (of_pod.why == ResizeRefusal::kInUse) of_pod = std::move(refusal);
  }
  limits_.withdraw_all_but(due);
  return to_lower;
}

/// After the limits are set: a revision whose limits are not in force is not applied.
void Resizer::answer(const ResizesRefused& refusals) {
  PodResizes former;
  PodResizes now;
  bool first = false;
  {
    const auto claims = parts_.journal.lock_claims();
    now = pod_resizes(parts_.pods, parts_.journal, refusals, limits_.to_set(), published());
    const std::lock_guard lock(mutex_);
    former = std::exchange(now_, now);
    first = !std::exchange(looked_, true);
  }
  report(former.answers, now.answers, refusals);
  if (first || former != now) parts_.changed();
}

/// All claims of which the pod has a later revision that counts. Those that do not are refused.
std::vector<Resize> Resizer::find_due(ResizesRefused& refusals) const {
  std::vector<Resize> due;
  for (const JournalEntry& entry : parts_.journal.all()) {
    if (!entry.claim) continue;
    const LocalPodPtr pod = parts_.pods.find(entry.claim->pod_uid);
    if (!pod || !pod->grant || pod->grant->revision == 0) continue;
    auto resize = resize_of(entry, pod);
    if (resize && vouched_no_weaker(pod->grant_text, entry.claim->grant, *parts_.check)) {
      due.push_back(std::move(*resize));
    } else if (resize || is_earlier(*entry.claim, pod->grant->revision)) {
      refusals.try_emplace(entry.claim->pod_uid,
                           ResizeRefused{.why = ResizeRefusal::kOtherGrant,
                                         .sentence = std::string(resize ? kUnvouched : kNoRevision),
                                         .revision = pod->grant->revision});
    }
  }
  return due;
}

Resizer::Sight Resizer::read(const std::vector<Resize>& due) {
  std::set<std::string> shrunk;
  std::set<std::string> grown;
  for (const Resize& resize : due) {
    for (const CardChange& card : resize.cards) {
      if (card.lowers_memory()) shrunk.insert(card.now.uuid);
      if (grows(resize)) grown.insert(card.now.uuid);
    }
  }
  Sight sight{.since = parts_.clock.now(),
              .uses = {},
              .counted = {},
              .orphaned = std::vector<OrphanedMemory>{}};
  if (!shrunk.empty()) {
    sight.uses =
        meter_.read(shrunk, with_wanted(claims_of_present(parts_.pods, parts_.journal), due));
  }
  sight.counted = count(due);
  if (!grown.empty()) {
    sight.orphaned =
        orphaned_memory(parts_.source, {grown.begin(), grown.end()}, parts_.pods, parts_.processes,
                        card_claims(parts_.pods, parts_.journal, parts_.processes));
  }
  return sight;
}

Resizer::Counted Resizer::count(const std::vector<Resize>& due) const {
  Counted counted;
  for (const Resize& resize : due) {
    for (const CardChange& card : resize.cards) {
      if (!card.lowers_memory() || !card.means) continue;
      auto bytes = parts_.limiters.in_use(resize.allocation, *card.means, card.now.uuid);
      counted.emplace(std::pair(resize.allocation, card.now.uuid), std::move(bytes));
    }
  }
  return counted;
}

/// Neither the container has started again, nor the grant was changed, since find_due().
bool Resizer::is_current(const Resize& resize) const {
  const auto entry = parts_.journal.find(resize.allocation);
  const LocalPodPtr pod = parts_.pods.find(resize.claim.pod_uid);
  return entry && entry->claim == resize.claim && pod && pod->grant_text == resize.pod->grant_text;
}

Resizer::Step Resizer::step(const Resize& resize, const Sight& sight, ResizeRefused& refusal) {
  if (auto final = final_refusal(resize)) {
    limits_.withdraw(resize.allocation);
    refusal = std::move(*final);
    return Step::kRefused;
  }
  const auto room = check_room(resize, sight);
  const auto use = room ? check_use(resize, sight) : Result<void>{};
  if (room && use) {
    const auto lowered = limits_.lowered(resize, sight.since);
    if (lowered == LimitsInForce::Lowered::kJustNow) return Step::kWaits;
    if (lowered == LimitsInForce::Lowered::kYes) {
      return record(resize) ? Step::kApplied : Step::kWaits;
    }
    limits_.withdraw(resize.allocation);
    return Step::kLowers;
  }
  limits_.withdraw(resize.allocation);
  const Error& error = room ? use.error() : room.error();
  if (error.code == Errc::kUnavailable) {
    reports_.waits(resize, error.message);
    return Step::kWaits;
  }
  refusal = {.why = room ? ResizeRefusal::kInUse : ResizeRefusal::kNoRoom,
             .sentence = error.message};
  return Step::kRefused;
}

std::optional<ResizeRefused> Resizer::final_refusal(const Resize& resize) const {
  if (auto why = cannot_change(resize)) {
    return ResizeRefused{.why = ResizeRefusal::kCannotChange, .sentence = std::move(*why)};
  }
  const std::lock_guard lock(mutex_);
  const auto found = now_.answers.find(resize.claim.pod_uid);
  if (found == now_.answers.end() || found->second.refused != resize.pod->grant->revision ||
      found->second.why != ResizeRefusal::kNoRoom) {
    return std::nullopt;
  }
  return ResizeRefused{.why = ResizeRefusal::kNoRoom, .sentence = ""};
}

Result<void> Resizer::check_room(const Resize& resize, const Sight& sight) const {
  if (!grows(resize)) return {};
  const CardsPtr cards = parts_.cards();
  if (!cards->answers) return unknown("the driver does not answer");
  if (!sight.orphaned) return sight.orphaned.error();
  std::vector<CardClaim> others = card_claims(parts_.pods, parts_.journal, parts_.processes);
  std::erase_if(others, [&](const CardClaim& other) {
    return other.pod_uid == resize.claim.pod_uid &&
           other.container.container == resize.claim.container;
  });
  CardClaim wanted;
  wanted.pod_uid = resize.claim.pod_uid;
  wanted.isolation = resize.isolation();
  wanted.container = resize.wanted;
  return check_growth(wanted, cards_of(*cards), others, *sight.orphaned);
}

/// Does the container use more of the card than it is to have?
Result<bool> Resizer::is_over(const Resize& resize, const CardChange& card,
                              const Sight& sight) const {
  const std::string& container = resize.claim.container;
  const auto uses = sight.uses.find(card.now.uuid);
  if (uses == sight.uses.end()) return unknown("the driver does not answer");
  const bool over = std::ranges::any_of(uses->second, [&](const MemoryUse& use) {
    const bool is_its = use.container == container || use.container.empty();
    return use.pod_uid == resize.claim.pod_uid && is_its && is_over_limit(use);
  });
  const auto counted = sight.counted.find({resize.allocation, card.now.uuid});
  if (counted == sight.counted.end()) return over;
  const Result<std::uint64_t>& bytes = counted->second;
  if (bytes) return over || *bytes > bytes_of(card.wanted.memory_limit);
  return bytes.error().code == Errc::kNotFound ? Result<bool>(over)
                                               : unknown(bytes.error().message);
}

Result<void> Resizer::check_use(const Resize& resize, const Sight& sight) const {
  for (const CardChange& card : resize.cards) {
    if (!card.lowers_memory()) continue;
    const auto over = is_over(resize, card, sight);
    if (!over) return over.error();
    if (!*over) continue;
    return fail(Errc::kInvalidArgument, "container " + resize.claim.container +
                                            " uses more memory of card " + card.now.uuid +
                                            " than the smaller share; free some, and it is resized "
                                            "then, or request what it had before");
  }
  return {};
}

/// In the journal first: until a larger limit is recorded, the room is others' to claim.
bool Resizer::record(const Resize& resize) {
  auto entry = parts_.journal.find(resize.allocation);
  if (!entry || !entry->claim) return false;  // an audit may have removed it
  entry->claim->grant = resize.pod->grant_text;
  if (auto written = parts_.journal.put(*entry); !written) {
    limits_.withdraw(resize.allocation);
    reports_.waits(resize, written.error().message);
    return false;
  }
  limits_.to_set(resize.allocation);
  recorded_.insert_or_assign(resize.allocation, resize);
  return true;
}

/// Those whose limits are in force by now.
void Resizer::report_resized() {
  std::erase_if(recorded_, [&](const auto& named) {
    const auto& [allocation, resize] = named;
    if (limits_.to_set().contains(allocation)) return false;
    const auto entry = parts_.journal.find(allocation);
    const bool is_there = entry && entry->claim && entry->claim->grant == resize.pod->grant_text;
    if (is_there) reports_.resized(resize);
    return true;
  });
}

/// Its revision is not published as applied yet.
bool Resizer::is_awaited(const Claim& claim) const {
  const auto grant = model::decode_grant(claim.grant);
  return grant && grant->revision > applied_revision(claim.pod_uid);
}

/// Without the lock: it may wait for the driver. A resize begins where the limits in the journal
/// are in force.
void Resizer::set_limits(const std::vector<const Resize*>& to_lower) {
  const auto unset = set_by_journal();
  bool failed = false;
  for (const Resize* const resize : to_lower) {
    const auto why = unset.find(resize->allocation);
    const auto lowered = why == unset.end() ? limits_.lower(*resize) : unknown(why->second);
    if (!lowered) reports_.waits(*resize, lowered.error().message);
    failed = failed || !lowered;
  }
  if (failed) (void)set_by_journal();
}

/// @returns where it failed, and why
Resizer::Sentences Resizer::set_by_journal() {
  Sentences unset;
  limits_.set_by_journal([&](const JournalEntry& entry, const Error& error) {
    unset.emplace(entry.name, error.message);
    reports_.not_set(entry, error, is_awaited(*entry.claim));
  });
  return unset;
}

void Resizer::report(const model::ResizeAnswers& former, const model::ResizeAnswers& now,
                     const ResizesRefused& refusals) {
  for (const auto& [uid, answer] : now) {
    const auto found = former.find(uid);
    const model::ResizeAnswer before =
        found == former.end() ? model::ResizeAnswer{} : found->second;
    const bool refused =
        answer.refused > 0 && (answer.refused != before.refused || answer.why != before.why);
    {
      const std::lock_guard lock(mutex_);
      if (answer.applied > before.applied) ++counts_.applied;
      if (refused) ++counts_.refused.at(static_cast<std::size_t>(*answer.why));
    }
    const LocalPodPtr pod = refused ? parts_.pods.find(uid) : nullptr;
    if (pod) reports_.refused(pod->pod, refusals.find(uid)->second.sentence);
  }
}

std::optional<PodResizes> Resizer::state() const {
  const std::lock_guard lock(mutex_);
  return looked_ ? std::optional(now_) : std::nullopt;
}

int Resizer::applied_revision(std::string_view pod_uid) const {
  const std::lock_guard lock(mutex_);
  return applied_in(now_.answers, pod_uid);
}

model::ResizeAnswers Resizer::published() const {
  const std::lock_guard lock(mutex_);
  return now_.answers;
}

Resizer::Counts Resizer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tangram::node
