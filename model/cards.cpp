#include "model/cards.hpp"

#include "base/quote.hpp"
#include "model/codec.hpp"

#include <unordered_set>
#include <utility>

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
  out.member("maxSharers", card.max_sharers).end_object();
}

CardKind read_kind(json::Reader& in) {
  const std::string_view text = in.string();
  const auto kind = parse_card_kind(text);
  if (!kind) in.fail(quote(text) + " is not a kind of card; write physical or mig");
  return kind.value_or(CardKind::kPhysical);
}

Link read_link(json::Reader& in) {
  Link link;
  codec::Members members;
  in.object([&](std::string_view key) {
    members.add(key);
    if (key == "to") {
      link.peer = codec::name(in);
    } else if (key == "type") {
      link.type = codec::name(in);
    } else if (key == "count") {
      link.count = static_cast<int>(codec::number(in, 1, kMaxLinkCount));
    } else {
      in.skip();
    }
  });
  members.require(in, {"to", "type"});
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

/// What decides where a pod fits.
bool read_capacity(json::Reader& in, Card& card, std::string_view key) {
  if (key == "id") {
    card.id = codec::name(in);
  } else if (key == "kind") {
    card.kind = read_kind(in);
  } else if (key == "model") {
    card.model = codec::name(in);
  } else if (key == "memMiB") {
    card.memory = Mebibytes(codec::number(in, 1, codec::kMaxMebibytes));
  } else if (key == "milli") {
    // A share is of this card, so every card has 1000; another number would mean another thing.
    card.compute = MilliGpu(codec::number(in, codec::kMilliPerCard, codec::kMilliPerCard));
  } else if (key == "maxSharers") {
    card.max_sharers = static_cast<int>(codec::number(in, 1, kMaxSharers));
  } else {
    return false;
  }
  return true;
}

/// Where the card sits, and whether it may be used.
bool read_circumstance(json::Reader& in, Card& card, std::string_view key) {
  if (key == "healthy") {
    card.healthy = in.boolean();
  } else if (key == "cordoned") {
    card.cordoned = in.boolean();
  } else if (key == "reason") {
    card.unavailable_reason = codec::text(in, kMaxReason);
  } else if (key == "numa") {
    card.numa_node = static_cast<int>(codec::number(in, -1, kMaxNumaNode));
  } else if (key == "pci") {
    card.pci_bus = codec::text(in);
  } else if (key == "parent") {
    card.parent = codec::text(in);
  } else if (key == "links") {
    in.array([&] { card.links.push_back(read_link(in)); });
  } else {
    return false;
  }
  return true;
}

Card read_card(json::Reader& in) {
  Card card;
  codec::Members members;
  std::optional<IsolationSet> isolation;
  in.object([&](std::string_view key) {
    members.add(key);
    if (key == "isolation" && in.kind() != json::Kind::kNull) {
      isolation = read_isolation(in);
    } else if (!read_capacity(in, card, key) && !read_circumstance(in, card, key)) {
      in.skip();
    }
  });
  members.require(in, {"id", "model", "memMiB"});
  card.isolation = isolation.value_or(usual_isolation(card.kind));
  return card;
}

class CardList {
 public:
  void add(json::Reader& in, Card card) {
    if (!ids_.insert(card.id).second) in.fail("card " + quote(card.id) + " stands twice");
    if (cards_.size() == kMaxCardsPerNode) {
      in.fail("more than " + std::to_string(kMaxCardsPerNode) + " cards");
    }
    cards_.push_back(std::move(card));
  }
  std::vector<Card> take() { return std::move(cards_); }

 private:
  std::vector<Card> cards_;
  std::unordered_set<std::string> ids_;
};

}  // namespace

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
  CardList cards;
  codec::Members members;
  in.object([&](std::string_view key) {
    members.add(key);
    if (key == "version") {
      codec::version(in, kVersion);
    } else if (key == "cards") {
      in.array([&] { cards.add(in, read_card(in)); });
    } else {
      in.skip();
    }
  });
  members.require(in, {"version", "cards"});
  if (auto done = in.finish(); !done) {
    return fail(Errc::kInvalidArgument, "cards: " + done.error().message);
  }
  return cards.take();
}

}  // namespace tangram::model
