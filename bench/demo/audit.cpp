#include "bench/demo/audit.hpp"

#include <set>
#include <string_view>
#include <utility>

namespace tangram::bench::demo {

namespace {

constexpr std::int64_t kMilliPerCard = 1000;

std::string not_there(const std::string& uid, const std::string& card, const std::string& node) {
  return "pod " + uid + ": card " + card + " is not on node " + node;
}

}  // namespace

Result<void> Audit::add_node(const std::string& node, std::string cards) {
  std::map<std::string, Card> read;
  json::Reader in(cards);
  const auto read_card = [&] {
    std::string uuid;
    bool healthy = true;
    bool cordoned = false;
    Card card;
    card.node = node;
    card.number = read.size();
    json::read_members(in, "id", uuid, "memMiB", card.mem_mib, "maxSharers", card.max_sharers,
                       "healthy", healthy, "cordoned", cordoned);
    card.available = healthy && !cordoned;
    read.emplace(uuid, card);
  };
  const auto read_cards = [&](json::Reader& cards_in) { cards_in.array(read_card); };
  json::read_members(in, "cards", read_cards);
  if (auto done = in.finish(); !done) return done.error();
  cards_.merge(read);
  return {};
}

Audit::Part Audit::read_part(json::Reader& in) {
  Part part;
  json::read_members(in, "uuid", part.uuid, "memMiB", part.mem_mib, "milli", part.milli, "whole",
                     part.whole);
  return part;
}

Result<Audit::Grant> Audit::read_grant(std::string text) {
  Grant grant;
  json::Reader in(text);
  const auto read_container = [&] {
    json::read_members(in, "cards", json::each(grant.parts, read_part));
  };
  const auto read_containers = [&](json::Reader& containers) { containers.array(read_container); };
  json::read_members(in, "podUID", grant.pod_uid, "node", grant.node, "isolation", grant.isolation,
                     "containers", read_containers);
  if (auto done = in.finish(); !done) return done.error();
  return grant;
}

void Audit::check(bool holds, const std::string& otherwise) {
  ++checks_;
  if (!holds) broken_.push_back(otherwise);
}

void Audit::bound(const std::string& uid, const std::string& node, std::string text) {
  auto grant = read_grant(std::move(text));
  check(grant.has_value(), "pod " + uid + ": its grant cannot be read");
  if (!grant) return;
  check(grant->pod_uid == uid, "pod " + uid + ": its grant was issued to " + grant->pod_uid);
  check(grant->node == node,
        "pod " + uid + " is bound to node " + node + ", but its grant is for node " + grant->node);
  check(!grant->parts.empty(), "pod " + uid + ": its grant has no card");
  check(!granted_.contains(uid), "pod " + uid + " was bound twice");
  add_grant(*grant, 1);
  for (const Part& part : grant->parts) {
    const auto card = cards_.find(part.uuid);
    check(card != cards_.end() && card->second.node == node, not_there(uid, part.uuid, node));
    if (card != cards_.end()) check_card(part.uuid, card->second, uid);
  }
  granted_.insert_or_assign(uid, std::move(*grant));
}

void Audit::bound_without_grant(const std::string& pod) {
  check(false, "pod " + pod + " requests a card and is bound without a grant");
}

void Audit::check_card(const std::string& uuid, const Card& card, const std::string& uid) {
  int sharers = 0;
  int modes = 0;
  for (const auto& [mode, count] : card.sharers) {
    sharers += count;
    modes += count > 0 ? 1 : 0;
  }
  const std::string with = "card " + uuid + ", with pod " + uid + ": ";
  check(card.available, with + "it is unhealthy or cordoned");
  check(card.granted_mem_mib <= card.mem_mib, with + std::to_string(card.granted_mem_mib) +
                                                  " MiB granted of " +
                                                  std::to_string(card.mem_mib));
  check(card.granted_milli <= kMilliPerCard,
        with + std::to_string(card.granted_milli) + " milli granted of 1000");
  check(sharers <= card.max_sharers,
        with + std::to_string(sharers) + " sharers of at most " + std::to_string(card.max_sharers));
  check(modes <= 1, with + "shared in two isolation modes at one time");
  check(card.whole == 0 || sharers <= 1, with + "shared, though a container has it whole");
}

void Audit::add_grant(const Grant& grant, int sign) {
  for (const Part& part : grant.parts) {
    const auto card = cards_.find(part.uuid);
    if (card == cards_.end()) continue;
    card->second.granted_mem_mib += sign * part.mem_mib;
    card->second.granted_milli += sign * part.milli;
    card->second.sharers[grant.isolation] += sign;
    if (part.whole) card->second.whole += sign;
  }
}

void Audit::removed(const std::string& uid) {
  const auto grant = granted_.find(uid);
  if (grant == granted_.end()) return;
  add_grant(grant->second, -1);
  granted_.erase(grant);
}

void Audit::compare(const drawing::ClusterView& shown) {
  std::set<std::string> seen;
  for (const drawing::NodeView& node : shown.nodes) {
    for (const drawing::CardView& card : node.cards) {
      seen.insert(card.uuid);
      const auto ours = cards_.find(card.uuid);
      check(ours != cards_.end() && ours->second.node == node.name,
            "card " + card.uuid + " is shown on node " + node.name + ", which does not list it");
      if (ours == cards_.end()) continue;
      const std::string where = "card " + card.uuid + " of node " + node.name + ": ";
      check(card.granted_mem_mib == ours->second.granted_mem_mib,
            where + std::to_string(card.granted_mem_mib) + " MiB shown as granted, but the pods' " +
                "grants sum to " + std::to_string(ours->second.granted_mem_mib));
      check(card.granted_milli == ours->second.granted_milli,
            where + std::to_string(card.granted_milli) + " milli shown as granted, but the pods' " +
                "grants sum to " + std::to_string(ours->second.granted_milli));
    }
  }
  check(seen.size() == cards_.size(), std::to_string(cards_.size()) + " cards are listed by the " +
                                          "nodes, " + std::to_string(seen.size()) + " are shown");
}

std::vector<Audit::Part> Audit::parts_of(const std::string& uid) const {
  const auto grant = granted_.find(uid);
  return grant == granted_.end() ? std::vector<Part>{} : grant->second.parts;
}

std::string Audit::name_on_node(const std::string& uuid) const {
  const auto card = cards_.find(uuid);
  return "#" + (card == cards_.end() ? uuid : std::to_string(card->second.number));
}

std::int64_t Audit::granted_milli() const {
  std::int64_t sum = 0;
  for (const auto& [uuid, card] : cards_) sum += card.granted_milli;
  return sum;
}

std::int64_t Audit::capacity_milli() const {
  return kMilliPerCard * static_cast<std::int64_t>(cards_.size());
}

}  // namespace tangram::bench::demo
