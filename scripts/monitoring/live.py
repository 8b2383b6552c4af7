#!/usr/bin/env python3
"""Runs every query of the dashboards and rules on a real Prometheus, which scrapes a running Tangram
under load, and compares the results with /api/v1/cluster. scripts/check-dashboards runs it.

    live.py BUILD        BUILD: the folder of a build, with bin/ and tests/fake_nvml/
"""
import collections
import json
import pathlib
import re
import sys
import tempfile
import urllib.error
import urllib.parse

from load import Load
from node import AGENT_NODE, BUSY_PERCENT, CARD_MIB, CARDS, UNHEALTHY, USED_MIB, XID
from stack import Stack, fetch, wait_for

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LOAD_SECONDS = 15
MIB = 1 << 20
# Values of Grafana's variables: all of them, and the agent's node.
CHOICES = {"cluster": ["demo", ".*"], "model": [".*"], "node": [".*"], "namespace": [".*"],
           "pod": [".*"], "order": ["topk", "bottomk"], "limit": ["50"],
           "__rate_interval": ["1m"]}
# Alerts with a cause in this cluster: only one node has an agent, two nodes have unhealthy cards, some
# pods are invalid and others do not fit, kubelet has no records before its first pod, and the machine may
# be slow because it runs other things, too.
EXPECTED_ALERTS = {
    "TangramAgentMissing", "TangramAuditsFail", "TangramBooksAreOld", "TangramCardsUnavailable",
    "TangramFragmented", "TangramGpusShort", "TangramPodsNeedAttention", "TangramSlow",
    "TangramXid"}


class Prometheus:
    def __init__(self, url):
        self.url = url
        self.queries = 0

    def ask(self, path, **arguments):
        self.queries += 1
        query = urllib.parse.urlencode(arguments, doseq=True)
        try:
            return fetch(f"{self.url}/api/v1/{path}?{query}")["data"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"check-dashboards: {arguments}: {error.read().decode()}") from error

    def query(self, expression):
        return [(sample["metric"], float(sample["value"][1]))
                for sample in self.ask("query", query=expression)["result"]]

    def values(self, expression, *labels):
        """The values by labels; each combination of labels must occur once."""
        found = {}
        for metric, value in self.query(expression):
            key = tuple(metric.get(label, "") for label in labels)
            if key in found:
                raise SystemExit(f"check-dashboards: {expression}: {key} occurs twice")
            found[key] = value
        return found

    def one(self, expression):
        found = self.query(expression)
        return found[0][1] if len(found) == 1 else None


# ---- Expected values.

def cards_of(cluster):
    for node in cluster["nodes"]:
        for place, card in enumerate(node["cards"]):
            yield node["name"], str(place), card


def expectations(stack, load):
    """Queries with their labels and expected values; only of values that no longer change."""
    cluster = stack.cluster()
    cards = list(cards_of(cluster))

    def by_card(value):
        return {(node, place, card["uuid"]): value(card) for node, place, card in cards}
    family = "max by (node, card, uuid) (%s)"
    labels = ("node", "card", "uuid")
    yield (family % "tangram_card_memory_capacity_bytes", labels,
           by_card(lambda c: c["memMiB"] * MIB))
    yield (family % "tangram_card_memory_granted_bytes", labels,
           by_card(lambda c: c["grantedMemMiB"] * MIB))
    yield (family % "tangram_card_compute_granted_ratio", labels,
           by_card(lambda c: c["grantedMilli"] / 1000))
    yield (family % "tangram_card_pods", labels,
           by_card(lambda c: len({pod["uid"] for pod in c["pods"]})))
    yield (family % "tangram_card_healthy", labels,
           by_card(lambda c: float(c["healthy"] and not c["cordoned"])))
    yield "max(tangram_nodes)", (), {(): sum(node["present"] for node in cluster["nodes"])}
    yield "max(tangram_cards)", (), {(): len(cards)}
    yield "sum(node_model:tangram_cards:count)", (), {(): len(cards)}
    yield ("sum by (node) (node_model:tangram_card_memory_granted_bytes:sum)", ("node",),
           {(node["name"],): sum(card["grantedMemMiB"] for card in node["cards"]) * MIB
            for node in cluster["nodes"] if node["cards"]})
    yield ("sum by (node) (node_model:tangram_card_pods:sum)", ("node",),
           {(node["name"],): sum(len({pod["uid"] for pod in card["pods"]})
                                 for card in node["cards"])
            for node in cluster["nodes"] if node["cards"]})
    yield ("sum by (granted) (model_granted:tangram_cards_by_compute:count)", ("granted",),
           dict(collections.Counter(
               (f"{min(10 * card['grantedMilli'] // card['milli'] / 10, 1):g}",)
               for _, _, card in cards)))
    yield "max(tangram_bound_pods)", (), {(): sum(node["pods"] for node in cluster["nodes"])}
    yield "max(tangram_pending_pods)", (), {(): len(cluster["pending"])}
    yield "max(tangram_assumed_pods)", (), {(): 0}
    # deploy/demo has three pending pods; the annotations of one are invalid.
    waiting = collections.Counter(load.outcomes.values()) + collections.Counter(
        {"not_asked": 2, "invalid": 1})
    yield ("reason:tangram_waiting_pods:max > 0", ("reason",),
           {(reason,): pods for reason, pods in waiting.items()})
    yield from panel_expectations(stack, cards, waiting)
    yield from agent_expectations(stack, load, cards)


def panel_expectations(stack, cards, waiting):
    """Expected values of the most important panels."""
    def panel(title, kind):
        packing = next(d for d in dashboards() if d["uid"] == "tangram-packing")
        found = next(p for p in packing["panels"] if (p["title"], p["type"]) == (title, kind))
        return filled(found["targets"][0]["expr"], {})[0]
    yield (panel("Memory granted", "table"), ("node", "card"),
           {(node, place): card["grantedMemMiB"] / card["memMiB"] for node, place, card in cards})
    yield (panel("Compute granted", "table"), ("node", "card"),
           {(node, place): card["grantedMilli"] / card["milli"] for node, place, card in cards})
    yield (panel("Pods", "table"), ("node", "card"),
           {(node, place): len({pod["uid"] for pod in card["pods"]}) for node, place, card in cards})
    yield (panel("Memory used", "table"), ("node", "card"),
           {(AGENT_NODE, str(i)): stack.cards.used.get(uuid, 0) / CARD_MIB
            for i, uuid in enumerate(CARDS)})
    yield (panel("Memory granted", "stat"), (),
           {(): sum(card["grantedMemMiB"] for _, _, card in cards)
            / sum(card["memMiB"] for _, _, card in cards)})
    yield panel("Waiting for room", "stat"), (), {(): waiting["room"]}


def agent_expectations(stack, load, cards):
    used = stack.cards.used
    yield ("tangram_node_card_memory_used_bytes", ("node", "uuid"),
           {(AGENT_NODE, uuid): used.get(uuid, 0) * MIB for uuid in CARDS})
    yield ("tangram_node_card_memory_capacity_bytes", ("node", "uuid"),
           {(AGENT_NODE, uuid): CARD_MIB * MIB for uuid in CARDS})
    yield ("tangram_node_card_utilization_ratio", ("uuid",),
           {(uuid,): BUSY_PERCENT / 100 if uuid in used else 0 for uuid in CARDS})
    yield "tangram_node_xid_errors_total", ("uuid", "xid"), {(UNHEALTHY, str(XID)): 1}
    yield "tangram_node_registered", ("node",), {(AGENT_NODE,): 1}
    yield ('tangram_node_container_starts_total{result="prepared"}', (),
           {(): len(load.on_agent)})
    # No pod here has a limit above its request, so limits equal the grants.
    limits = collections.Counter()
    for node, _, card in cards:
        for pod in card["pods"] if node == AGENT_NODE else []:
            limits[(pod["namespace"], pod["name"], card["uuid"])] += pod["memMiB"] * MIB
    labels = ("namespace", "pod", "uuid")
    yield "tangram_node_pod_memory_limit_bytes", labels, dict(limits)
    if stack.processes_have_pods:
        user = load.on_agent[0][1]
        yield ("tangram_node_pod_memory_used_bytes", labels,
               {key: USED_MIB * MIB if key[1] == user else 0 for key in limits})


def differs(got, wanted):
    if got.keys() != wanted.keys():
        return True
    return any(abs(got[key] - wanted[key]) > 1e-9 * max(1.0, abs(wanted[key])) for key in wanted)


def compare(prometheus, stack, load):
    """Waits until the values match, because Prometheus scrapes only once a second."""
    wrong = []

    def all_match():
        wrong.clear()
        for query, labels, wanted in expectations(stack, load):
            got = prometheus.values(query, *labels)
            if differs(got, wanted):
                wrong.append(f"{query}\n  Prometheus: {got}\n  Tangram:    {wanted}")
        return not wrong
    try:
        wait_for("Prometheus to show the values of Tangram", all_match)
    except SystemExit:
        for difference in wrong:
            print(difference, file=sys.stderr)
        raise
    return sum(1 for _ in expectations(stack, load))


# ---- Every query of every panel.

def dashboards():
    for path in sorted((REPOSITORY / "deploy/chart/tangram/files/dashboards").glob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def filled(expression, own):
    """The expression with every combination of values of its variables."""
    done = [expression]
    for name, choices in (CHOICES | own).items():
        variable = re.compile(r"\$" + name + r"\b|\$\{" + name + r"\}")
        done = [variable.sub(choice, text) for text in done
                for choice in (choices if variable.search(text) else choices[:1])]
    return done


def empty_panels(prometheus):
    """Panels without data; the cluster has data for each."""
    for dashboard in dashboards():
        variables = dashboard["templating"]["list"]
        own = {"node": [AGENT_NODE]} if dashboard["uid"] == "tangram-node" else {}
        for variable in variables:
            if variable["type"] != "query":
                continue
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                         variable["query"]["query"]).groups()
            for text in filled(series, own):
                if not prometheus.ask(f"label/{label}/values", **{"match[]": text}):
                    yield f"{dashboard['title']}: variable {variable['name']} has no value"
        for annotation in dashboard["annotations"]["list"]:
            for text in filled(annotation["expr"], own):
                prometheus.query(text)
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                for text in filled(target["expr"], own):
                    if not prometheus.query(text):
                        yield f"{dashboard['title']}, {panel['title']}: no data for {text}"


def rule_problems(prometheus):
    """Rules that fail, record nothing, or raise an unexpected alert."""
    count = 0
    for group in prometheus.ask("rules")["groups"]:
        for rule in group["rules"]:
            count += 1
            if rule["health"] != "ok":
                yield f"rule {rule['name']}: {rule['health']} {rule.get('lastError', '')}"
            found = prometheus.query(rule["query"])
            if rule["type"] == "recording" and not (found and prometheus.query(rule["name"])):
                yield f"rule {rule['name']} records nothing"
            if rule["type"] == "alerting" and found and rule["name"] not in EXPECTED_ALERTS:
                yield f"alert {rule['name']} is unexpected: {found}"
            for alert in rule.get("alerts", []):
                for key, text in alert["annotations"].items():
                    if "<error" in text or "<no value>" in text or not text:
                        yield f"alert {rule['name']}, {key}: {text}"
    if count == 0:
        yield "Prometheus has no rules"


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip())
        return 2
    with tempfile.TemporaryDirectory(prefix="tangram-dashboards-") as folder:
        with Stack(REPOSITORY, sys.argv[1], folder) as stack:
            print(f"running: API server, {len(stack.extenders)} extenders, agent, Prometheus on "
                  f"{stack.prometheus}; {LOAD_SECONDS} s of load")
            load = Load(stack)
            load.play(LOAD_SECONDS)
            stack.processes_have_pods = stack.run_pods(load.on_agent)
            if not stack.processes_have_pods:
                print("NOT CHECKED: what pods use. Control groups cannot be made here, so no process "
                      "belongs to a pod.\n  Run as root.")
            prometheus = Prometheus(stack.prometheus)
            compared = compare(prometheus, stack, load)
            print(f"compared: {compared} queries match /api/v1/cluster, the load and the fake NVML; "
                  f"{len(load.bound)} pods of the load are bound, {len(load.outcomes)} are pending")
            # The agent audits every second, and its pods have started just now.
            wait_for("the agent's records to agree",
                     lambda: not prometheus.query("tangram_node_drifts > 0"))
            wrong = list(rule_problems(prometheus)) + list(empty_panels(prometheus))
    for problem in wrong:
        print(problem, file=sys.stderr)
    if wrong:
        return 1
    print(f"live: {prometheus.queries} queries to Prometheus, no faults")
    return 0


if __name__ == "__main__":
    sys.exit(main())
