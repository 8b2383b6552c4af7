#include "cli/explain_view.hpp"

#include "base/json.hpp"

#include <string_view>

namespace tangram::cli {

namespace {

/// Reads the members that `take` knows, by name, and passes over the others.
template <class Take>
void read_members(json::Reader& in, const Take& take) {
  in.object([&](std::string_view key) {
    if (!take(key)) in.skip();
  });
}

bool take(json::Reader& in, std::string& into) {
  into = in.string_or_null();
  return true;
}
bool take(json::Reader& in, std::int64_t& into) {
  into = in.integer();
  return true;
}
bool take(json::Reader& in, bool& into) {
  into = in.boolean();
  return true;
}
bool take(json::Reader& in, std::vector<std::string>& into) {
  in.array([&] { into.emplace_back(in.string()); });
  return true;
}
/// An array of objects, each read by `read`.
template <class Item, class Read>
bool take(json::Reader& in, std::vector<Item>& into, const Read& read) {
  in.array([&] { into.push_back(read(in)); });
  return true;
}

ExplainedFinding read_finding(json::Reader& in) {
  ExplainedFinding finding;
  read_members(in, [&](std::string_view key) {
    if (key == "finding") return take(in, finding.finding);
    return key == "message" && take(in, finding.message);
  });
  return finding;
}

ExplainedContainer::Held read_held(json::Reader& in) {
  ExplainedContainer::Held held;
  read_members(in, [&](std::string_view key) {
    if (key == "uuid") return take(in, held.uuid);
    if (key == "memMiB") return take(in, held.mem_mib);
    if (key == "milli") return take(in, held.milli);
    if (key == "memLimitMiB") return take(in, held.mem_limit_mib);
    return key == "milliLimit" && take(in, held.milli_limit);
  });
  return held;
}

ExplainedContainer read_container(json::Reader& in) {
  ExplainedContainer container;
  read_members(in, [&](std::string_view key) {
    if (key == "name") return take(in, container.name);
    if (key == "count") return take(in, container.count);
    if (key == "share") return take(in, container.share);
    if (key == "memMiB") return take(in, container.mem_mib);
    if (key == "milli") return take(in, container.milli);
    return key == "cards" && take(in, container.cards, read_held);
  });
  return container;
}

ExplainedCard::Verdict read_verdict(json::Reader& in) {
  ExplainedCard::Verdict verdict;
  read_members(in, [&](std::string_view key) {
    if (key == "name") return take(in, verdict.container);
    if (key == "needMemMiB") return take(in, verdict.need_mem_mib);
    if (key == "needMilli") return take(in, verdict.need_milli);
    return key == "why" && take(in, verdict.why);
  });
  return verdict;
}

ExplainedCard read_card(json::Reader& in) {
  ExplainedCard card;
  read_members(in, [&](std::string_view key) {
    if (key == "uuid") return take(in, card.uuid);
    if (key == "model") return take(in, card.model);
    if (key == "memMiB") return take(in, card.mem_mib);
    if (key == "freeMemMiB") return take(in, card.free_mem_mib);
    if (key == "freeMilli") return take(in, card.free_milli);
    if (key == "sharers") return take(in, card.sharers);
    if (key == "maxSharers") return take(in, card.max_sharers);
    if (key == "isolation") return take(in, card.mode);
    if (key == "reason") return take(in, card.reason);
    return key == "containers" && take(in, card.verdicts, read_verdict);
  });
  return card;
}

ExplainedNode read_node(json::Reader& in) {
  ExplainedNode node;
  read_members(in, [&](std::string_view key) {
    if (key == "name") return take(in, node.name);
    if (key == "fits") return take(in, node.fits);
    if (key == "score") return take(in, node.score);
    if (key == "wouldGet") return take(in, node.would_get);
    if (key == "why") return take(in, node.why);
    if (key == "fragmented") return take(in, node.fragmented);
    return key == "cards" && take(in, node.cards, read_card);
  });
  return node;
}

bool read_request(json::Reader& in, ExplainView& view) {
  read_members(in, [&](std::string_view key) {
    if (key == "isolation") return take(in, view.isolation);
    if (key == "models") return take(in, view.models);
    return key == "containers" && take(in, view.containers, read_container);
  });
  return true;
}

}  // namespace

Result<ExplainView> read_explain_view(std::string json) {
  ExplainView view;
  json::Reader in(json);
  read_members(in, [&](std::string_view key) {
    if (key == "namespace") return take(in, view.ns);
    if (key == "name") return take(in, view.name);
    if (key == "state") return take(in, view.state);
    if (key == "node") return take(in, view.node);
    if (key == "isolation") return take(in, view.isolation);
    if (key == "policy") return take(in, view.policy);
    if (key == "request") return read_request(in, view);
    if (key == "containers") return take(in, view.containers, read_container);
    if (key == "findings") return take(in, view.findings, read_finding);
    if (key == "nodes") return take(in, view.nodes, read_node);
    if (key == "summary") return take(in, view.summary);
    return key == "note" && take(in, view.note);
  });
  if (auto done = in.finish(); !done) return done.error();
  return view;
}

}  // namespace tangram::cli
