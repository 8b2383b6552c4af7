"""The users and the kube-scheduler of a small cluster: pods arrive, pass the webhook, are filtered
and bound, and some end. The results are known, to be compared with those of Prometheus."""
import itertools
import random
import time
import urllib.error

from node import AGENT_NODE
from stack import fetch, wait_for

# Annotations and the number of pods with them. The last two kinds do not fit any card.
KINDS = [
    ({"gpu-fraction": "0.25"}, 40),
    ({"gpu-mem": "8Gi"}, 40),
    ({"gpu-fraction": "0.5", "gpu-model": "A100*,H100*"}, 30),
    ({"gpu-mem": "16Gi", "gpu-compute": "0"}, 10),
    ({"gpu-count": "2"}, 12),
    ({"gpu-count": "2", "gpu-fraction": "0.9"}, 12),
    ({"gpu-fraction": "0.5", "gpu-model": "B200*"}, 2),
    ({"gpu-fraction": "0.3333"}, 2),
]
ON_AGENT = 4  # quarters of cards, on the node with an agent


class Load:
    """Deterministic, except for its timing."""

    def __init__(self, stack):
        self.stack = stack
        self.random = random.Random(1)
        self.bound = {}  # uid -> (namespace, name)
        self.on_agent = []  # (namespace, name, uid) of pods that stay on the agent's node
        self.outcomes = {}  # uid of a pending pod -> the reason given to kube-scheduler
        nodes = fetch(f"{stack.api}/api/v1/nodes")["items"]
        self.nodes = [node["metadata"]["name"] for node in nodes]
        self.numbers = itertools.count()

    def play(self, seconds):
        """Pods of all kinds arrive, spread over the time; some end."""
        arrivals = [kind for kind, count in KINDS for _ in range(count)]
        self.random.shuffle(arrivals)
        for _ in range(ON_AGENT):
            self.arrive({"gpu-fraction": "0.25"}, [AGENT_NODE])
        began = time.monotonic()
        for i, annotations in enumerate(arrivals):
            self.arrive(annotations, self.nodes)
            if i % 10 == 9:
                self.end_one()
            # Not to synchronise: rates need samples over some time.
            time.sleep(max(0.0, began + seconds * (i + 1) / len(arrivals) - time.monotonic()))
        # kube-scheduler does not ask about a pod without a slot.
        self.create({"gpu-fraction": "0.1"}, slots={})

    def create(self, annotations, slots=None):
        name = f"pod-{next(self.numbers)}"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": name, "namespace": "load",
            "annotations": {f"tangram.dev/{key}": value for key, value in annotations.items()}},
            "spec": {"containers": [{"name": "main", "image": "none", "resources": {
                "limits": {"tangram.dev/gpu-slot": "1"} if slots is None else slots}}]}}
        self.review(pod)
        made = fetch(f"{self.stack.api}/api/v1/namespaces/load/pods", pod)
        self.outcomes[made["metadata"]["uid"]] = "not_asked"
        return made

    def review(self, pod):
        """Calls the webhook as the API server would, and ignores its answer."""
        fetch(f"https://127.0.0.1:{self.stack.leader['webhook']}/admission/mutate", {
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
                "uid": pod["metadata"]["name"], "operation": "CREATE", "namespace": "load",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {"username": "load"}, "object": pod}}, self.stack.tls)

    def arrive(self, annotations, nodes):
        """Creates a pod and schedules it until it is bound or fits nowhere."""
        pod = self.create(annotations)
        self.await_watch(pod["metadata"])
        wait_for(f"an outcome for {pod['metadata']['name']}", lambda: self.schedule(pod, nodes))

    def schedule(self, pod, nodes):
        """Acts as kube-scheduler. False: a temporary obstacle, so try again."""
        meta = pod["metadata"]
        answer = self.stack.verb("/filter", {"Pod": pod, "Nodes": None, "NodeNames": nodes})
        if answer["Error"]:
            return False
        kept = answer["NodeNames"] or []
        if not kept:
            self.outcomes[meta["uid"]] = self.outcome(answer)
            return True
        bound = self.stack.verb("/bind", {
            "PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"],
            "Node": kept[0]})
        if bound["Error"]:
            return False
        del self.outcomes[meta["uid"]]
        self.bound[meta["uid"]] = (meta["namespace"], meta["name"])
        if kept[0] == AGENT_NODE:
            self.on_agent.append((meta["namespace"], meta["name"], meta["uid"]))
        return True

    def await_watch(self, meta):
        """Waits until the leader has seen the pod; it does not count requests for unknown pods."""
        page = f"/api/v1/explain?namespace={meta['namespace']}&pod={meta['name']}"

        def known():
            try:
                self.stack.verb(page, None)
            except urllib.error.HTTPError as error:
                return error.code != 404  # 400: its annotations are invalid
            return True
        wait_for(f"the watch to show {meta['name']}", known, pause=0.01)

    @staticmethod
    def outcome(answer):
        """The reason, by the sentences of docs/protocol.md; the one closest to a fit comes first."""
        reasons = set()
        for nodes in ("FailedNodes", "FailedAndUnresolvableNodes"):
            reasons |= set((answer[nodes] or {}).values())
        for sentence, reason in (("annotations of the pod are not valid", "invalid"),
                                 ("containers of the pod do not fit", "room"),
                                 ("no GPU card has enough free", "room"),
                                 ("no place for another sharer", "sharers"),
                                 ("in use with another isolation", "isolation_busy")):
            if any(sentence in one for one in reasons):
                return reason
        return "no_such_card"

    def end_one(self):
        staying = {uid for _, _, uid in self.on_agent}
        uid = self.random.choice(sorted(self.bound.keys() - staying))
        namespace, name = self.bound.pop(uid)
        fetch(f"{self.stack.api}/api/v1/namespaces/{namespace}/pods/{name}",
              {"gracePeriodSeconds": 0}, method="DELETE")
