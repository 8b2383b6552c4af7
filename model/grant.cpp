#include "model/grant.hpp"

#include "base/quote.hpp"
#include "model/amounts_codec.hpp"
#include "model/codec.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <utility>

namespace tangram::model {

namespace {

// An Ed25519 signature is 88 characters of base64; other schemes' fit as well.
constexpr std::size_t kMaxSignature = 1024;
constexpr std::size_t kMaxTimestamp = 64;

void write_card(json::Writer& out, const GrantedCard& card) {
  out.begin_object().member("uuid", card.uuid);
  codec::write_amounts(out, card.amounts());
  if (card.whole) out.member("whole", *card.whole);
  if (card.memory_limits != MemoryLimits::kNone) {
    out.member("memoryLimits", to_string(card.memory_limits));
  }
  if (card.former) {
    out.key("former");
    codec::write(out, *card.former);
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
  codec::read_amounts(
      in, {"uuid", "memMiB", "milli", "memLimitMiB", "milliLimit"}, card, "uuid",
      codec::card_id_into(card.uuid), "whole",
      [&](json::Reader& in_whole) { card.whole = in_whole.boolean(); }, "memoryLimits",
      [&](json::Reader&) { card.memory_limits = read_memory_limits(in); }, "former",
      [&](json::Reader&) { card.former = codec::amounts(in); });
  return card;
}

void add_card(json::Reader& in, std::vector<GrantedCard>& cards, GrantedCard card) {
  codec::check_limits(in, card.uuid, card.amounts());
  if (card.former) codec::check_limits(in, card.uuid, *card.former);
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

/// Has any card, of any container, such amounts?
bool has_former(const Grant& grant) {
  return std::ranges::any_of(grant.containers, [](const ContainerGrant& container) {
    return std::ranges::any_of(container.cards,
                               [](const GrantedCard& card) { return card.former.has_value(); });
  });
}

/// The same card for the same container; a whole one with the same amounts.
bool same_part(const GrantedCard& a, const GrantedCard& b) {
  return a.uuid == b.uuid && a.whole == b.whole && a.memory_limits == b.memory_limits &&
         (!a.whole.value_or(true) || a.amounts() == b.amounts());
}

bool same_parts(const ContainerGrant& a, const ContainerGrant& b) {
  return a.container == b.container && std::ranges::equal(a.cards, b.cards, same_part);
}

}  // namespace

CardAmounts larger_of(const CardAmounts& a, const CardAmounts& b) {
  return {.memory = std::max(a.memory, b.memory),
          .compute = std::max(a.compute, b.compute),
          .memory_limit = std::max(a.memory_limit, b.memory_limit),
          .compute_limit = std::max(a.compute_limit, b.compute_limit)};
}

void GrantedCard::set_amounts(const CardAmounts& amounts) {
  memory = amounts.memory;
  compute = amounts.compute;
  memory_limit = amounts.memory_limit;
  compute_limit = amounts.compute_limit;
}

bool same_cards(const std::vector<ContainerGrant>& a, const std::vector<ContainerGrant>& b) {
  return std::ranges::equal(a, b, same_parts);
}

bool revises(const Grant& later, const Grant& earlier) {
  return later.revision > earlier.revision && later.pod_uid == earlier.pod_uid &&
         later.node == earlier.node && later.issued_at == earlier.issued_at &&
         later.isolation == earlier.isolation && same_cards(later.containers, earlier.containers);
}

std::string encode(const Grant& grant) {
  std::string text;
  json::Writer out(text);
  out.begin_object()
      .member("version", Grant::kVersion)
      .member("podUID", grant.pod_uid)
      .member("node", grant.node)
      .member("issuedAt", grant.issued_at);
  if (grant.revision > 0) out.member("revision", grant.revision);
  if (grant.former_refused) out.member("formerRefused", true);
  if (grant.max_burst > 0) out.member("maxBurst", grant.max_burst);
  out.member("isolation", to_string(grant.isolation)).key("containers").begin_array();
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
  const auto former_refused = [&](json::Reader&) { grant.former_refused = in.boolean(); };
  codec::object(in, {"version", "podUID", "node", "issuedAt", "isolation", "containers"}, "version",
                codec::version_of(Grant::kVersion), "podUID", codec::into(grant.pod_uid), "node",
                codec::into(grant.node), "issuedAt",
                codec::text_into(grant.issued_at, kMaxTimestamp), "revision",
                codec::into(grant.revision, 0, Grant::kMaxRevision), "formerRefused",
                former_refused, "maxBurst", codec::into(grant.max_burst, 0, codec::kMilliPerCard),
                "isolation", isolation, "containers", containers, "sig",
                codec::text_into(grant.signature, kMaxSignature));
  if (grant.containers.empty()) in.fail("the grant has no containers");
  if (grant.revision == 0 && has_former(grant)) in.fail("former amounts without a revision");
  if (grant.former_refused && !has_former(grant)) in.fail("formerRefused without former amounts");
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "grant: " + done.error().message);
  }
  return grant;
}

}  // namespace tangram::model
