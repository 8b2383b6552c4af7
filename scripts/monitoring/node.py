"""The parts of a GPU node besides its agent: cards of the fake NVML, a kubelet, and a process of a
pod that uses memory of a card."""
import glob
import json
import os
import pathlib
import subprocess

AGENT_NODE = "agent-a"
CARD_MIB = 80 * 1024
USED_MIB = 10 * 1024  # by the only process that uses a card
BUSY_PERCENT = 37
XID = 79  # a fault of the card, not of an application
CARDS = [f"GPU-agent-{i}" for i in range(3)]
UNHEALTHY = CARDS[2]
MODEL = "NVIDIA A100-SXM4-80GB"

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": AGENT_NODE}, "status": {
    "capacity": {"cpu": "64", "memory": "512Gi", "pods": "110"},
    "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"},
    "nodeInfo": {"kubeletVersion": "v1.31.0", "containerRuntimeVersion": "containerd://2.0.0"}}}


class Cards:
    """The script of the fake NVML (tests/fake_nvml): one card is busy, one becomes unhealthy."""

    def __init__(self, path):
        self.path = path
        self.events = [{"atMs": 1000, "card": UNHEALTHY, "xid": XID}]
        self.used = {}  # by card, MiB

    def write(self, card, pid):
        """Process `pid` uses memory of the card. Events happen once, with the first script."""
        self.used = {card: USED_MIB}
        cards = [{"uuid": uuid, "model": MODEL, "memMiB": CARD_MIB, "pci": f"0000:{i + 1:02x}:00.0",
                  "utilization": BUSY_PERCENT if uuid == card else 0,
                  "processes": [{"pid": pid, "memMiB": USED_MIB}] if uuid == card else []}
                 for i, uuid in enumerate(CARDS)]
        whole = self.path.with_suffix(".new")
        whole.write_text(json.dumps({"driverVersion": "550.54.15", "cudaVersion": "12.4",
                                     "cards": cards, "events": self.events}), encoding="utf-8")
        whole.rename(self.path)
        self.events = []


class Kubelet:
    """tangram-fake-kubelet: admits containers and lets the agent prepare their starts."""

    def __init__(self, binary, folder):
        self.process = subprocess.Popen([binary, folder], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def start(self, namespace, pod, uid):
        """True when the container can start; otherwise try again."""
        print(namespace, pod, uid, "main", file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip() == "started"

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class PodProcess:
    """A process in a control group with the name of a pod's, by which the agent finds its pod.
    `pid` is None if the group cannot be made, which needs root."""

    def __init__(self, pod_uid):
        self.process = subprocess.Popen(["sleep", "infinity"])
        self.groups = []
        self.pid = self.process.pid if self.join(pod_uid) else None

    def join(self, pod_uid):
        name = f"tangram-check-{os.getpid()}"
        for root in ["/sys/fs/cgroup", *sorted(glob.glob("/sys/fs/cgroup/*/"))]:
            if not (pathlib.Path(root) / "cgroup.procs").exists():
                continue
            outer = pathlib.Path(root) / name
            inner = outer / f"pod{pod_uid}"
            try:
                for group in (outer, inner):
                    group.mkdir()
                    self.groups.append(group)
                (inner / "cgroup.procs").write_text(str(self.process.pid), encoding="utf-8")
                return True
            except OSError:
                self.leave()
        return False

    def leave(self):
        while self.groups:
            self.groups.pop().rmdir()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.leave()
