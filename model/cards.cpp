#include "model/cards.hpp"

#include "base/quote.hpp"
#include "model/codec.hpp"
#include "model/compute_chunks.hpp"

#include <algorithm>
#include <unordered_set>

namespace tangram::model {

namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxReason = 1024;     // a sentence for people
constexpr std::int64_t kMaxNumaNode = 4095;  // Linux allows 1024 nodes at most
constexpr std::int64_t kMaxLinkCount = 1000;
constexpr std::int64_t kMaxSharers = 1000;  // a share is at least one thousandth

void write_links(json::Writer& out, const std::vector<Link>& links) {
  out.key("links").begin_array();
  for (const Link& link : links) {
    out.begin_object()
        .member("to", link.peer)
        .member("type", link.type)
        .member("count", link.count)
        .end_object();
  }
  out.end_array();
}

void write_isolation(json::Writer& out, IsolationSet modes) {
  out.key("isolation").begin_array();
  for (const Isolation mode : kAllIsolationModes) {
    if (modes.has(mode)) out.string(to_string(mode));
  }
  out.end_array();
}

/// Without a sharing configuration pods that count cards get whole ones.
Replicas usual_replicas(CardKind kind) {
  return {.resource = kind == CardKind::kMig ? CardResource::kMig : CardResource::kGpu};
}

void write_replicas(json::Writer& out, const Replicas& replicas) {
  out.key("replicas")
      .begin_object()
      .member("of", to_string(replicas.resource))
      .member("count", replicas.count)
      .member("isolation", to_string(replicas.isolation))
      .member("oneEach", replicas.one_each)
      .end_object();
}

void write_card(json::Writer& out, const Card& card) {
  out.begin_object()
      .member("id", card.id)
      .member("kind", to_string(card.kind))
      .member("model", card.model)
      .member("memMiB", card.memory.count())
      .member("milli", card.compute.count())
      .member("healthy", card.healthy)
      .member("cordoned", card.cordoned)
      .member("reason", card.unavailable_reason)
      .member("numa", card.numa_node)
      .member("pci", card.pci_bus)
      .member("parent", card.parent);
  write_links(out, card.links);
  write_isolation(out, card.isolation);
  out.member("maxSharers", card.max_sharers).member("memoryLimits", to_string(card.memory_limits));
  if (card.compute_chunks > 0) out.member("computeChunks", card.compute_chunks);
  if (card.replicas != usual_replicas(card.kind)) write_replicas(out, card.replicas);
  out.end_object();
}

CardKind read_kind(json::Reader& in) {
  const std::string_view text = in.string();
  const auto kind = parse_card_kind(text);
  if (!kind) in.fail(quote(text) + " is not a kind of card; write physical or mig");
  return kind.value_or(CardKind::kPhysical);
}

Link read_link(json::Reader& in) {
  Link link;
  codec::object(in, {"to", "type"}, "to", codec::card_id_into(link.peer), "type",
                codec::into(link.type), "count", codec::into(link.count, 1, kMaxLinkCount));
  return link;
}

/// A mode that a newer agent knows and this program does not is one that no pod can ask for.
IsolationSet read_isolation(json::Reader& in) {
  IsolationSet modes;
  in.array([&] {
    if (const auto mode = parse_isolation(in.string())) modes.add(*mode);
  });
  return modes;
}

/// NVIDIA's MPS does not run on MIG instances, so they do not offer it unless their agent says so.
IsolationSet usual_isolation(CardKind kind) {
  const auto all = IsolationSet::all();
  return kind == CardKind::kMig ? all.without(Isolation::kMps) : all;
}

/// A means that a newer agent knows and this program does not can be promised to no pod.
MemoryLimits read_memory_limits(json::Reader& in) {
  return parse_memory_limits(in.string()).value_or(MemoryLimits::kNone);
}

MemoryLimits usual_memory_limits(IsolationSet modes) {
  return modes.has(Isolation::kMps) ? MemoryLimits::kMps : MemoryLimits::kNone;
}

/// A resource or a mode that this program does not know could not be asked for, or not enforced.
Replicas read_replicas(json::Reader& in) {
  Replicas replicas;
  const auto resource = [&](json::Reader& from) {
    const auto known = parse_card_resource(from.string());
    if (!known) from.fail("is no resource of cards; write gpu, gpu.shared, mig or mig.shared");
    replicas.resource = known.value_or(replicas.resource);
  };
  const auto mode = [&](json::Reader& from) {
    const auto known = parse_isolation(from.string());
    if (!known) from.fail("is no isolation mode; write mps, time-slice or none");
    replicas.isolation = known.value_or(replicas.isolation);
  };
  codec::object(in, {"of", "count", "isolation"}, "of", resource, "count",
                codec::into(replicas.count, 1, Replicas::kMost), "isolation", mode, "oneEach",
                replicas.one_each);
  return replicas;
}

Card read_card(json::Reader& in) {
  Card card;
  std::optional<Replicas> replicas;
  const auto shared = [&](json::Reader& from) {
    if (from.kind() == json::Kind::kNull) return from.skip();
    replicas = read_replicas(from);
  };
  std::optional<IsolationSet> isolation;
  std::optional<MemoryLimits> memory_limits;
  const auto kind = [&](json::Reader& from) { card.kind = read_kind(from); };
  const auto links = json::each(card.links, read_link);
  const auto modes = [&](json::Reader& from) {
    if (from.kind() == json::Kind::kNull) return from.skip();
    isolation = read_isolation(from);
  };
  const auto limits = [&](json::Reader& from) {
    if (from.kind() == json::Kind::kNull) return from.skip();
    memory_limits = read_memory_limits(from);
  };
  codec::object(
      in, {"id", "model", "memMiB"}, "id", codec::card_id_into(card.id), "kind", kind, "model",
      codec::card_model_into(card.model), "memMiB",
      codec::into(card.memory, 1, codec::kMaxMebibytes),
      // A share is of this card, so every card has 1000; another number would mean another thing.
      "milli", codec::into(card.compute, codec::kMilliPerCard, codec::kMilliPerCard), "maxSharers",
      codec::into(card.max_sharers, 1, kMaxSharers), "healthy", card.healthy, "cordoned",
      card.cordoned, "reason", codec::one_line_into(card.unavailable_reason, kMaxReason), "numa",
      codec::into(card.numa_node, -1, kMaxNumaNode), "pci",
      codec::optional_card_id_into(card.pci_bus), "parent",
      codec::optional_card_id_into(card.parent), "links", links, "isolation", modes, "memoryLimits",
      limits, "computeChunks", codec::into(card.compute_chunks, 0, kMaxComputeChunks), "replicas",
      shared);
  card.replicas = replicas.value_or(usual_replicas(card.kind));
  card.isolation = isolation.value_or(usual_isolation(card.kind));
  card.memory_limits = memory_limits.value_or(usual_memory_limits(card.isolation));
  if (card.compute_chunks > 0) {
    card.max_sharers = std::min(card.max_sharers, most_sharers(card.compute_chunks));
  }
  return card;
}

}  // namespace

std::optional<CardKind> parse_card_kind(std::string_view text) {
  const auto name = std::find(kCardKindNames.begin(), kCardKindNames.end(), text);
  if (name == kCardKindNames.end()) return std::nullopt;
  return static_cast<CardKind>(name - kCardKindNames.begin());
}

std::string encode_cards(const std::vector<Card>& cards) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("version", kVersion).key("cards").begin_array();
  for (const Card& card : cards) write_card(out, card);
  out.end_array().end_object();
  return text;
}

Result<std::vector<Card>> decode_cards(std::string text) {
  json::Reader in(text);
  std::vector<Card> cards;
  std::unordered_set<std::string> ids;
  const auto add = [&] {
    cards.push_back(read_card(in));
    const std::string& id = cards.back().id;
    if (!ids.insert(id).second) in.fail("card " + quote(id) + " stands twice");
    if (cards.size() > kMaxCardsPerNode) {
      in.fail("more than " + std::to_string(kMaxCardsPerNode) + " cards");
    }
  };
  codec::object(in, {"version", "cards"}, "version", codec::version_of(kVersion), "cards",
                [&](json::Reader&) { in.array(add); });
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "cards: " + done.error().message);
  }
  return cards;
}

}  // namespace tangram::model
