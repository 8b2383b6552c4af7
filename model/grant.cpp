#include "model/grant.hpp"

#include "base/quote.hpp"
#include "model/codec.hpp"
#include "model/request.hpp"

#include <algorithm>

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
      .member("milliLimit", card.compute_limit.count())
      .end_object();
}

void write_container(json::Writer& out, const ContainerGrant& container) {
  out.begin_object().member("name", container.container).key("cards").begin_array();
  for (const GrantedCard& card : container.cards) write_card(out, card);
  out.end_array().end_object();
}

GrantedCard read_card(json::Reader& in) {
  GrantedCard card;
  codec::Members members;
  const auto mebibytes = [&] { return Mebibytes(codec::number(in, 0, codec::kMaxMebibytes)); };
  const auto milli = [&] { return MilliGpu(codec::number(in, 0, codec::kMilliPerCard)); };
  in.object([&](std::string_view key) {
    members.add(key);
    if (key == "uuid") {
      card.uuid = codec::name(in);
    } else if (key == "memMiB") {
      card.memory = mebibytes();
    } else if (key == "milli") {
      card.compute = milli();
    } else if (key == "memLimitMiB") {
      card.memory_limit = mebibytes();
    } else if (key == "milliLimit") {
      card.compute_limit = milli();
    } else {
      in.skip();
    }
  });
  members.require(in, {"uuid", "memMiB", "milli", "memLimitMiB", "milliLimit"});
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
  codec::Members members;
  in.object([&](std::string_view key) {
    members.add(key);
    if (key == "name") {
      container.container = codec::name(in);
    } else if (key == "cards") {
      in.array([&] { add_card(in, container.cards, read_card(in)); });
    } else {
      in.skip();
    }
  });
  members.require(in, {"name", "cards"});
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

void read_member(json::Reader& in, Grant& grant, std::string_view key) {
  if (key == "version") {
    codec::version(in, Grant::kVersion);
  } else if (key == "podUID") {
    grant.pod_uid = codec::name(in);
  } else if (key == "node") {
    grant.node = codec::name(in);
  } else if (key == "issuedAt") {
    grant.issued_at = codec::text(in, kMaxTimestamp);
  } else if (key == "isolation") {
    grant.isolation = read_isolation(in);
  } else if (key == "containers") {
    in.array([&] { add_container(in, grant.containers, read_container(in)); });
  } else if (key == "sig") {
    grant.signature = codec::text(in, kMaxSignature);
  } else {
    in.skip();
  }
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
  codec::Members members;
  in.object([&](std::string_view key) {
    members.add(key);
    read_member(in, grant, key);
  });
  members.require(in, {"version", "podUID", "node", "issuedAt", "isolation", "containers"});
  if (grant.containers.empty()) in.fail("the grant has no containers");
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "grant: " + done.error().message);
  }
  return grant;
}

}  // namespace tangram::model
