#include "model/grant.hpp"

#include "base/quote.hpp"
#include "model/codec.hpp"
#include "model/request.hpp"

namespace tangram::model {

namespace {

// An Ed25519 signature is 88 characters of base64; other schemes' fit as well.
constexpr std::size_t kMaxSignature = 1024;
constexpr std::size_t kMaxTimestamp = 64;

void write_card(json::Writer& out, const GrantedCard& card) {
  out.begin_object()
      .member("uuid", card.uuid)
      .member("memMiB", card.memory.count())
      .member("milli", card.compute.count())
      .member("memLimitMiB", card.memory_limit.count())
      .member("milliLimit", card.compute_limit.count());
  if (card.whole) out.member("whole", *card.whole);
  if (card.memory_limits != MemoryLimits::kNone) {
    out.member("memoryLimits", to_string(card.memory_limits));
  }
  out.end_object();
}

void write_container(json::Writer& out, const ContainerGrant& container) {
  out.begin_object().member("name", container.container).key("cards").begin_array();
  for (const GrantedCard& card : container.cards) write_card(out, card);
  out.end_array().end_object();
}

/// Of a newer program's grant it cannot be said whether this program can do what was promised.
MemoryLimits read_memory_limits(json::Reader& in) {
  const std::string_view text = in.string();
  const auto means = parse_memory_limits(text);
  if (!means) in.fail(not_memory_limits(text));
  return means.value_or(MemoryLimits::kNone);
}

GrantedCard read_card(json::Reader& in) {
  GrantedCard card;
  codec::object(
      in, {"uuid", "memMiB", "milli", "memLimitMiB", "milliLimit"}, "uuid",
      codec::card_id_into(card.uuid), "memMiB", codec::into(card.memory, 0, codec::kMaxMebibytes),
      "milli", codec::into(card.compute, 0, codec::kMilliPerCard), "memLimitMiB",
      codec::into(card.memory_limit, 0, codec::kMaxMebibytes), "milliLimit",
      codec::into(card.compute_limit, 0, codec::kMilliPerCard), "whole",
      [&](json::Reader& in_whole) { card.whole = in_whole.boolean(); }, "memoryLimits",
      [&](json::Reader&) { card.memory_limits = read_memory_limits(in); });
  return card;
}

template <class Unit>
void check_limit(json::Reader& in, const GrantedCard& card, std::string_view member, Unit amount,
                 Unit limit) {
  if (limit >= amount) return;
  in.fail("card " + quote(card.uuid) + ": " + std::string(member) + " is " + to_string(limit) +
          ", below the granted " + to_string(amount));
}

void add_card(json::Reader& in, std::vector<GrantedCard>& cards, GrantedCard card) {
  check_limit(in, card, "memLimitMiB", card.memory, card.memory_limit);
  check_limit(in, card, "milliLimit", card.compute, card.compute_limit);
  for (const GrantedCard& known : cards) {
    if (known.uuid == card.uuid) in.fail("card " + quote(card.uuid) + " stands twice");
  }
  if (cards.size() == kMaxCardsPerContainer) {
    in.fail("more than " + std::to_string(kMaxCardsPerContainer) + " cards in one container");
  }
  cards.push_back(std::move(card));
}

ContainerGrant read_container(json::Reader& in) {
  ContainerGrant container;
  codec::object(
      in, {"name", "cards"}, "name", codec::container_name_into(container.container), "cards",
      [&](json::Reader&) { in.array([&] { add_card(in, container.cards, read_card(in)); }); });
  if (container.cards.empty()) {
    in.fail("container " + quote(container.container) + " has no cards");
  }
  return container;
}

void add_container(json::Reader& in, std::vector<ContainerGrant>& containers,
                   ContainerGrant container) {
  for (const ContainerGrant& known : containers) {
    if (known.container == container.container) {
      in.fail("container " + quote(container.container) + " stands twice");
    }
  }
  if (containers.size() == kMaxGpuContainers) {
    in.fail("more than " + std::to_string(kMaxGpuContainers) + " containers");
  }
  containers.push_back(std::move(container));
}

Isolation read_isolation(json::Reader& in) {
  const std::string_view text = in.string();
  const auto mode = parse_isolation(text);
  if (!mode) in.fail(not_an_isolation(text));
  return mode.value_or(Isolation::kNone);
}

}  // namespace

std::string encode(const Grant& grant) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("version", Grant::kVersion)
      .member("podUID", grant.pod_uid)
      .member("node", grant.node)
      .member("issuedAt", grant.issued_at)
      .member("isolation", to_string(grant.isolation))
      .key("containers")
      .begin_array();
  for (const ContainerGrant& container : grant.containers) write_container(out, container);
  out.end_array();
  if (!grant.signature.empty()) out.member("sig", grant.signature);
  out.end_object();
  return text;
}

Result<Grant> decode_grant(std::string text) {
  json::Reader in(text);
  Grant grant;
  const auto isolation = [&](json::Reader&) { grant.isolation = read_isolation(in); };
  const auto containers = [&](json::Reader&) {
    in.array([&] { add_container(in, grant.containers, read_container(in)); });
  };
  codec::object(in, {"version", "podUID", "node", "issuedAt", "isolation", "containers"}, "version",
                codec::version_of(Grant::kVersion), "podUID", codec::into(grant.pod_uid), "node",
                codec::into(grant.node), "issuedAt",
                codec::text_into(grant.issued_at, kMaxTimestamp), "isolation", isolation,
                "containers", containers, "sig", codec::text_into(grant.signature, kMaxSignature));
  if (grant.containers.empty()) in.fail("the grant has no containers");
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "grant: " + done.error().message);
  }
  return grant;
}

}  // namespace tangram::model
