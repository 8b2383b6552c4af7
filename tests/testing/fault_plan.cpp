#include "tests/testing/fault_plan.hpp"

#include "base/json.hpp"
#include "base/number.hpp"
#include "kube/local/yaml_to_json.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tangram::testing {

namespace {

using Kind = Fault::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 10> kKinds{{
    {"refuse", Kind::kRefuseBefore},
    {"lose-before", Kind::kLoseBefore},
    {"lose-answer", Kind::kLoseAnswer},
    {"answer", Kind::kAnswer},
    {"hold", Kind::kHold},
    {"delay", Kind::kDelay},
    {"delay-answer", Kind::kDelayAnswer},
    {"cut-watch", Kind::kCutWatch},
    {"expire-watch", Kind::kExpireWatch},
    {"delay-frames", Kind::kDelayFrames},
}};

constexpr std::array<kube::Method, 5> kMethods{kube::Method::kGet, kube::Method::kPost,
                                               kube::Method::kPut, kube::Method::kPatch,
                                               kube::Method::kDelete};

void read_method(json::Reader& in, FaultRule& rule) {
  const std::string_view name = in.string();
  const auto* const found = std::find_if(
      kMethods.begin(), kMethods.end(), [&](kube::Method m) { return kube::to_string(m) == name; });
  if (found == kMethods.end()) return in.fail("write GET, POST, PUT, PATCH or DELETE");
  rule.match.method = *found;
}

void read_kind(json::Reader& in, FaultRule& rule) {
  const std::string_view name = in.string();
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const auto& known) { return known.first == name; });
  if (found != kKinds.end()) {
    rule.fault.kind = found->second;
    return;
  }
  std::string known;
  for (const auto& kind : kKinds) known.append(known.empty() ? "" : ", ").append(kind.first);
  in.fail("write one of " + known);
}

std::int64_t read_count(json::Reader& in, std::int64_t least, std::int64_t most) {
  const std::int64_t count = in.integer();
  if (count >= least && count <= most) return count;
  in.fail("write " + std::to_string(least) + " to " + std::to_string(most));
  return least;
}

void read_probability(json::Reader& in, FaultRule& rule) {
  const std::string text = in.scalar_text();
  rule.probability = parse_number<double>(text).value_or(-1);
  if (!(rule.probability >= 0 && rule.probability <= 1)) in.fail("write 0 to 1");
}

// Far more than any test needs; small enough that nothing overflows.
constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr std::int64_t kMaxDelayMs = 600'000;  // ten minutes: a longer wait is a hold

bool read_match(json::Reader& in, std::string_view key, FaultRule& rule) {
  if (key == "method") {
    read_method(in, rule);
  } else if (key == "path-ends") {
    rule.match.path_ends = in.string();
  } else if (key == "path-starts") {
    rule.match.path_starts = in.string();
  } else if (key == "watch") {
    rule.match.watch = in.boolean();
  } else {
    return false;
  }
  return true;
}

bool read_fault(json::Reader& in, std::string_view key, FaultRule& rule) {
  Fault& fault = rule.fault;
  if (key == "fault") {
    read_kind(in, rule);
  } else if (key == "status") {
    fault.status = static_cast<int>(read_count(in, 100, 599));
  } else if (key == "retry-after") {
    fault.retry_after = std::chrono::seconds(read_count(in, 0, kMaxCount));
  } else if (key == "delay-ms") {
    fault.delay = std::chrono::milliseconds(read_count(in, 0, kMaxDelayMs));
  } else if (key == "frames") {
    fault.frames = static_cast<std::uint64_t>(read_count(in, 0, kMaxCount));
  } else {
    return false;
  }
  return true;
}

bool read_when(json::Reader& in, std::string_view key, FaultRule& rule) {
  if (key == "times") {
    rule.times = static_cast<std::uint64_t>(read_count(in, 0, kMaxCount));
  } else if (key == "every") {
    rule.every = static_cast<std::uint64_t>(read_count(in, 1, kMaxCount));
  } else if (key == "probability") {
    read_probability(in, rule);
  } else if (key == "seen" || key == "hits") {
    in.skip();  // so that what was read can be written back
  } else {
    return false;
  }
  return true;
}

FaultRule read_rule(json::Reader& in) {
  FaultRule rule;
  bool named = false;
  in.object([&](std::string_view key) {
    named = named || key == "fault";
    const bool known =
        read_match(in, key, rule) || read_fault(in, key, rule) || read_when(in, key, rule);
    if (!known) in.fail("is no member of a rule");
  });
  if (in.failed()) return rule;
  if (!named) in.fail("a rule needs fault");
  if (rule.fault.kind == Kind::kAnswer && rule.fault.status == 0) in.fail("answer needs status");
  rule.match.watch = rule.match.watch || is_of_watches(rule.fault.kind);
  return rule;
}

void write_rule(json::Writer& out, const FaultRule& rule) {
  if (rule.match.method) out.member("method", kube::to_string(*rule.match.method));
  if (!rule.match.path_starts.empty()) out.member("path-starts", rule.match.path_starts);
  if (!rule.match.path_ends.empty()) out.member("path-ends", rule.match.path_ends);
  if (rule.match.watch) out.member("watch", true);
  const Fault& fault = rule.fault;
  out.member("fault", to_string(fault.kind));
  if (fault.status != 0) out.member("status", fault.status);
  if (fault.retry_after) out.key("retry-after").integer(fault.retry_after->count());
  if (fault.delay.count() != 0) out.key("delay-ms").integer(fault.delay.count());
  if (is_of_watches(fault.kind)) out.key("frames").integer(static_cast<std::int64_t>(fault.frames));
  if (rule.times != 0) out.key("times").integer(static_cast<std::int64_t>(rule.times));
  if (rule.every != 1) out.key("every").integer(static_cast<std::int64_t>(rule.every));
  if (rule.probability < 1) out.member("probability", rule.probability);
}

}  // namespace

std::string_view to_string(Fault::Kind kind) {
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const auto& known) { return known.second == kind; });
  return found->first;
}

bool is_of_watches(Fault::Kind kind) {
  return kind == Kind::kCutWatch || kind == Kind::kExpireWatch || kind == Kind::kDelayFrames;
}

Result<FaultScript> parse_faults(const std::string& text) {
  auto documents = kube::yaml_to_json(text);
  if (!documents) return documents.error();
  FaultScript script;
  if (documents->empty()) return script;
  if (documents->size() > 1) return fail(Errc::kInvalidArgument, "write one document");
  json::Reader in(documents->front().json);
  in.object([&](std::string_view key) {
    if (key == "seed") {
      script.seed = static_cast<std::uint64_t>(in.integer());
    } else if (key == "rules") {
      in.array([&] { script.rules.push_back(read_rule(in)); });
    } else {
      in.fail("write seed or rules");
    }
  });
  if (auto done = in.finish(); !done) return done.error();
  return script;
}

void FaultPlan::add(FaultRule rule) {
  const std::scoped_lock lock(mutex_);
  entries_.push_back({std::move(rule)});
}

void FaultPlan::set(FaultScript script) {
  const std::scoped_lock lock(mutex_);
  seed_ = script.seed.value_or(seed_);
  random_.seed(seed_);
  entries_.clear();
  for (FaultRule& rule : script.rules) entries_.push_back({std::move(rule)});
}

std::optional<Fault> FaultPlan::next(const kube::Request& request, bool watch) {
  const std::scoped_lock lock(mutex_);
  for (Entry& entry : entries_) {
    const CallMatch& match = entry.rule.match;
    if (match.watch == watch && match.matches(request) && is_due(entry)) return entry.rule.fault;
  }
  return std::nullopt;
}

bool FaultPlan::is_due(Entry& entry) {
  const FaultRule& rule = entry.rule;
  if (rule.times != 0 && entry.hits >= rule.times) return false;
  if (++entry.seen % rule.every != 0) return false;
  // Not std::bernoulli_distribution: what that draws differs between libraries.
  constexpr double kSteps = 9007199254740992.0;  // 2^53, the precision of a double
  const double drawn = static_cast<double>(random_() >> 11U) / kSteps;
  if (drawn >= rule.probability) return false;
  ++entry.hits;
  return true;
}

std::size_t FaultPlan::left() const {
  const std::scoped_lock lock(mutex_);
  std::size_t left = 0;
  for (const Entry& entry : entries_) {
    if (entry.rule.times != 0) left += entry.rule.times - entry.hits;
  }
  return left;
}

std::string FaultPlan::to_json() const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  json::Writer out(text);
  out.begin_object().key("seed").integer(static_cast<std::int64_t>(seed_));
  out.key("rules").begin_array();
  for (const Entry& entry : entries_) {
    out.begin_object();
    write_rule(out, entry.rule);
    out.key("seen").integer(static_cast<std::int64_t>(entry.seen));
    out.key("hits").integer(static_cast<std::int64_t>(entry.hits)).end_object();
  }
  out.end_array().end_object();
  return text;
}

}  // namespace tangram::testing
