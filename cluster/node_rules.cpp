#include "cluster/node_rules.hpp"

#include "base/json_members.hpp"
#include "model/annotations.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tangram::cluster {

namespace {

using Operator = kube::LabelSelector::Operator;
using json::Reader;

Operator operator_of(std::string_view text) {
  if (text == "In") return Operator::kIn;
  if (text == "NotIn") return Operator::kNotIn;
  if (text == "Exists") return Operator::kExists;
  if (text == "DoesNotExist") return Operator::kDoesNotExist;
  return Operator::kUnknown;  // Gt and Lt too
}

Taint read_taint(Reader& in) {
  Taint taint;
  json::read_members(in, "key", taint.key, "value", taint.value, "effect", taint.effect);
  return taint;
}

Toleration read_toleration(Reader& in) {
  Toleration toleration;
  const auto read_seconds = [&](Reader& it) {
    toleration.for_a_time = it.kind() != json::Kind::kNull;
    it.skip();
  };
  json::read_members(in, "key", toleration.key, "operator", toleration.op, "value",
                     toleration.value, "effect", toleration.effect, "tolerationSeconds",
                     read_seconds);
  return toleration;
}

kube::LabelSelector::Term read_term(Reader& in) {
  kube::LabelSelector::Term term;
  const auto read_operator = [](Reader& it) { return operator_of(it.string_or_null()); };
  json::read_members(in, "key", term.key, "operator", json::value(term.op, read_operator), "values",
                     term.values);
  return term;
}

/// A nodeSelectorTerm: an empty one matches nothing.
kube::LabelSelector read_node_term(Reader& in) {
  kube::LabelSelector selector;
  bool by_fields = false;
  const auto note_fields = [&](Reader& it) {
    it.array([&] {
      by_fields = true;
      it.skip();
    });
  };
  json::read_members(in, "matchExpressions", json::each(selector.terms, read_term), "matchFields",
                     note_fields);
  if (by_fields || selector.terms.empty()) {
    selector.terms.push_back({.key = "", .op = Operator::kUnknown, .values = {}});
  }
  return selector;
}

void note(PodRules& rules, const char* rule) {
  if (rules.open_rule.empty()) rules.open_rule = rule;
}

bool is_known(const kube::LabelSelector& selector) {
  return std::ranges::none_of(selector.terms,
                              [](const auto& term) { return term.op == Operator::kUnknown; });
}

void read_node_affinity(Reader& in, PodRules& rules) {
  const auto read_required = [&](Reader& required) {
    if (required.kind() == json::Kind::kNull) return required.skip();
    rules.has_node_affinity = true;
    json::read_members(required, "nodeSelectorTerms",
                       json::each(rules.node_affinity, read_node_term));
    if (!std::ranges::all_of(rules.node_affinity, is_known)) {
      note(rules, "its node affinity names fields, compares numbers or has an empty term");
    }
  };
  json::read_members(in, "requiredDuringSchedulingIgnoredDuringExecution", read_required);
}

/// Of podAffinity and podAntiAffinity.
auto required_terms(PodRules& rules, const char* rule, bool anti) {
  return [&rules, rule, anti](Reader& in) {
    const auto each_required = [&](Reader& required) {
      required.array([&] {
        note(rules, rule);
        rules.has_anti_affinity = rules.has_anti_affinity || anti;
        required.skip();
      });
    };
    json::read_members(in, "requiredDuringSchedulingIgnoredDuringExecution", each_required);
  };
}

void read_spread(Reader& in, PodRules& rules) {
  in.array([&] {
    std::string when;
    json::read_members(in, "whenUnsatisfiable", when);
    if (when != "ScheduleAnyway") note(rules, "its pods must be spread");
  });
}

/// Other device plugins' resources: which nodes have them free is not known here.
void read_resources(Reader& in, PodRules& rules) {
  const auto read_names = [&](Reader& amounts) {
    amounts.object([&](std::string_view name) {
      const bool of_plugin = name.find('/') != std::string_view::npos;
      if (of_plugin && !name.starts_with(model::kPrefix)) note(rules, "it requests other devices");
      if (name.starts_with("hugepages-")) note(rules, "it requests huge pages");
      if (name == "ephemeral-storage") note(rules, "it requests ephemeral storage");
      amounts.skip();
    });
  };
  json::read_members(in, "requests", read_names, "limits", read_names);
}

void read_containers(Reader& in, PodRules& rules) {
  const auto read_port = [&](Reader& port) {
    std::int64_t host_port = 0;
    json::read_members(port, "hostPort", host_port);
    if (host_port != 0) note(rules, "it needs a port of its node");
  };
  const auto read_ports = [&](Reader& ports) { ports.array([&] { read_port(ports); }); };
  const auto read_amounts = [&](Reader& amounts) { read_resources(amounts, rules); };
  in.array([&] { json::read_members(in, "ports", read_ports, "resources", read_amounts); });
}

/// As which kube-scheduler takes a cordon.
const Taint kCordon{.key = "node.kubernetes.io/unschedulable", .value = "", .effect = "NoSchedule"};

bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.for_a_time && taint.effect == "NoExecute") return false;
  if (toleration.op == "Exists") return toleration.key.empty() || toleration.key == taint.key;
  const bool equal = toleration.op.empty() || toleration.op == "Equal";
  return equal && toleration.key == taint.key && toleration.value == taint.value;
}

}  // namespace

Result<NodeRules> read_node_rules(std::string node) {
  static const json::Outline kOutline{
      .members = {{"metadata", {{"labels"}}},
                  {"spec", {{"taints"}, {"unschedulable"}}},
                  {"status", {{"conditions", {{"type"}, {"status"}}}}}}};
  Reader in(node, kOutline);
  NodeRules rules;
  const auto read_conditions = [&](Reader& conditions) {
    conditions.array([&] {
      std::string type;
      std::string status;
      json::read_members(conditions, "type", type, "status", status);
      if (type == "Ready") rules.ready = status == "True";
    });
  };
  json::read_members(in, "metadata", json::members("labels", rules.labels), "spec",
                     json::members("taints", json::each(rules.taints, read_taint), "unschedulable",
                                   rules.unschedulable),
                     "status", json::members("conditions", read_conditions));
  if (auto done = in.finish(); !done) return done.error();
  return rules;
}

Result<PodRules> read_pod_rules(std::string pod) {
  static const json::Outline kOutline{
      .members = {{"spec",
                   {{"nodeSelector"},
                    {"tolerations"},
                    {"affinity"},
                    {"terminationGracePeriodSeconds"},
                    {"topologySpreadConstraints"},
                    {"containers", {{"ports"}, {"resources"}}},
                    {"initContainers", {{"ports"}, {"resources"}}}}}}};
  Reader in(pod, kOutline);
  PodRules rules;
  const auto node_affinity = [&](Reader& it) { read_node_affinity(it, rules); };
  const auto spread = [&](Reader& it) { read_spread(it, rules); };
  const auto containers = [&](Reader& it) { read_containers(it, rules); };
  json::read_members(
      in, "spec",
      json::members(
          "nodeSelector", rules.node_selector, "tolerations",
          json::each(rules.tolerations, read_toleration), "affinity",
          json::members("nodeAffinity", node_affinity, "podAffinity",
                        required_terms(rules, "it must run beside certain pods", false),
                        "podAntiAffinity",
                        required_terms(rules, "it must not run beside certain pods", true)),
          "terminationGracePeriodSeconds", rules.grace_s, "topologySpreadConstraints", spread,
          "containers", containers, "initContainers", containers));
  if (auto done = in.finish(); !done) return done.error();
  return rules;
}

PodRules known_rules(PodRules rules) {
  rules.open_rule.clear();
  for (kube::LabelSelector& selector : rules.node_affinity) {
    std::erase_if(selector.terms, [](const auto& term) { return term.op == Operator::kUnknown; });
  }
  return rules;
}

bool takes(const NodeRules& node, const PodRules& pod) {
  if (!node.ready || !pod.open_rule.empty()) return false;
  const auto is_tolerated = [&](const Taint& taint) {
    return std::ranges::any_of(pod.tolerations,
                               [&](const auto& each) { return tolerates(each, taint); });
  };
  if (node.unschedulable && !is_tolerated(kCordon)) return false;
  const bool selected = std::ranges::all_of(pod.node_selector, [&](const auto& wanted) {
    const auto label = node.labels.find(wanted.first);
    return label != node.labels.end() && label->second == wanted.second;
  });
  const bool tolerated = std::ranges::all_of(node.taints, [&](const Taint& taint) {
    return taint.effect == "PreferNoSchedule" || is_tolerated(taint);
  });
  const bool liked =
      !pod.has_node_affinity || std::ranges::any_of(pod.node_affinity, [&](const auto& term) {
        return term.matches(node.labels);
      });
  return selected && tolerated && liked;
}

}  // namespace tangram::cluster
