#include "kube/lease.hpp"

#include "base/json_members.hpp"
#include "kube/json_doc.hpp"
#include "kube/object_scan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tangram::kube {

namespace {

/// What Kubernetes' schema allows, and what no sum overflows with.
constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();

/// @returns nothing for null
std::optional<std::int64_t> read_int32(json::Reader& in) {
  std::optional<std::int64_t> number;
  json::read_into(in, number);
  if (number && (*number < 0 || *number > kMostInt32)) {
    in.fail(std::to_string(*number) + " is not a count of 32 bits");
  }
  return number;
}

void set_record(JsonDoc& doc, const LeaseRecord& record) {
  doc.set_string({"spec", "holderIdentity"}, record.holder);
  if (record.duration) doc.set_integer({"spec", "leaseDurationSeconds"}, record.duration->count());
  doc.set_string({"spec", "acquireTime"}, record.acquire_time);
  doc.set_string({"spec", "renewTime"}, record.renew_time);
  doc.set_integer({"spec", "leaseTransitions"}, record.transitions);
}

}  // namespace

Result<LeaseRecord> read_lease(std::string text) {
  static const json::Outline kOutline{.members = {{"kind"},
                                                  {"metadata", {{"uid"}}},
                                                  {"spec",
                                                   {{"holderIdentity"},
                                                    {"acquireTime"},
                                                    {"renewTime"},
                                                    {"leaseDurationSeconds"},
                                                    {"leaseTransitions"}}}}};
  json::Reader in(text, kOutline);
  LeaseRecord record;
  std::string kind;
  std::optional<std::int64_t> duration;
  std::optional<std::int64_t> transitions;
  json::read_members(in, "kind", kind, "metadata", json::members("uid", record.uid), "spec",
                     json::members("holderIdentity", record.holder, "acquireTime",
                                   record.acquire_time, "renewTime", record.renew_time,
                                   "leaseDurationSeconds", json::value(duration, read_int32),
                                   "leaseTransitions", json::value(transitions, read_int32)));
  if (auto done = in.finish(); !done) return done.error();
  if (kind != "Lease") {
    return fail(Errc::kInvalidArgument, "expected a Lease, not \"" + kind + "\"");
  }
  if (duration) record.duration = std::chrono::seconds(*duration);
  record.transitions = transitions.value_or(0);
  return record;
}

std::string new_lease(const std::string& ns, const std::string& name, const LeaseRecord& record) {
  JsonDoc doc = *JsonDoc::parse(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease"})");
  doc.set_string({"metadata", "name"}, name);
  doc.set_string({"metadata", "namespace"}, ns);
  set_record(doc, record);
  return doc.text();
}

Result<std::string> with_record(const std::string& text, const LeaseRecord& record) {
  auto doc = JsonDoc::parse(without_managed_fields(text));
  if (!doc) return doc.error();
  set_record(*doc, record);
  return doc->text();
}

LeaseSighting sighted(const std::optional<LeaseSighting>& before, LeaseRecord record,
                      TimePoint now) {
  if (before && before->record == record) return *before;
  return {std::move(record), now};
}

LeaseMove next_move(const LeaseSighting& seen, std::string_view identity,
                    std::chrono::seconds otherwise, TimePoint now) {
  if (seen.record.holder == identity) return LeaseMove::kRenew;
  if (seen.record.holder.empty()) return LeaseMove::kTakeOver;
  const auto age = now - seen.since;
  return age < seen.record.duration.value_or(otherwise) ? LeaseMove::kWait : LeaseMove::kTakeOver;
}

LeaseRecord claimed(const LeaseRecord& before, const std::string& identity,
                    std::chrono::seconds duration, WallTime now) {
  const bool ours = before.holder == identity;
  const std::string time = rfc3339_micro(now);
  return {.holder = identity,
          .duration = duration,
          .acquire_time = ours && !before.acquire_time.empty() ? before.acquire_time : time,
          .renew_time = time,
          .transitions = std::min(before.transitions + (ours ? 0 : 1), kMostInt32)};
}

LeaseRecord given_back(const LeaseRecord& before, WallTime now) {
  const std::string time = rfc3339_micro(now);
  return {.holder = "",
          .duration = std::chrono::seconds(1),
          .acquire_time = time,
          .renew_time = time,
          .transitions = before.transitions};
}

}  // namespace tangram::kube
