"""The programs that scripts/check-dashboards observes, on loopback: an API server in memory, two
replicas of the extender, an agent with a simulated kubelet and cards, and Prometheus. The system
assigns every port; every process ends with the stack."""
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import time
import urllib.request

from node import AGENT_NODE, Cards, Kubelet, NODE, PodProcess, UNHEALTHY

WAIT_SECONDS = 120  # for any single condition; on an idle machine each takes about a second
REPLICAS = ("tangram-extender-0", "tangram-extender-1")


def wait_for(what, probe, pause=0.1):
    """Waits until the probe returns a value that is true, and returns it."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        found = probe()
        if found:
            return found
        time.sleep(pause)
    raise SystemExit(f"check-dashboards: waited {WAIT_SECONDS} s for {what}")


def fetch(url, body=None, context=None, method=None):
    """The response, parsed if it is JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30, context=context) as response:
        text = response.read().decode()
        is_json = "json" in response.headers.get("Content-Type", "")
    return json.loads(text) if is_json else text


class Program:
    """A process whose log contains the port that it listens on."""

    def __init__(self, folder, name, command, environment=None):
        self.name = name
        self.log = folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdout=log, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, env=os.environ | (environment or {}), cwd=folder)

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def port_behind(self, words):
        def look():
            if self.process.poll() is not None:
                raise SystemExit(f"check-dashboards: {self.name} has ended:\n{self.output()}")
            found = re.search(re.escape(words) + r"\D*?(?:127\.0\.0\.1:)?(\d+)", self.output())
            return found and int(found[1])
        return wait_for(f"{self.name} to say \"{words}\"", look)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Stack:
    """`with` starts the stack; its end stops it in every case."""

    def __init__(self, repository, build, folder):
        self.repository = pathlib.Path(repository)
        self.bin = pathlib.Path(build).resolve() / "bin"
        self.nvml = self.bin.parent / "tests" / "fake_nvml" / "libnvidia-ml.so.1"
        self.folder = pathlib.Path(folder)
        self.programs = []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            program.stop()

    def run(self, name, command, environment=None):
        self.programs.append(Program(self.folder, name, command, environment))
        return self.programs[-1]

    def start(self):
        self.make_secrets()
        self.start_api()
        self.extenders = [self.start_extender(pod) for pod in REPLICAS]
        self.start_agent()
        self.leader = wait_for("a leader", self.find_leader)
        self.start_prometheus()
        wait_for(f"{UNHEALTHY} to become unhealthy", lambda: not self.card(UNHEALTHY).get("healthy", True))

    def card(self, uuid):
        for node in self.cluster()["nodes"]:
            for card in node["cards"]:
                if card["uuid"] == uuid:
                    return card
        return {}

    def make_secrets(self):
        for command in (["certificates", "--dir", "tls"], ["grant-key", "--out", "keys"]):
            subprocess.run([self.bin / "tangram-extender", *command], cwd=self.folder, check=True,
                           stdout=subprocess.DEVNULL)
        tls = self.folder / "tls"
        self.tls = ssl.create_default_context(cafile=tls / "ca.crt")
        self.tls.check_hostname = False  # the certificate has the names of Services
        self.tls.load_cert_chain(tls / "scheduler.crt", tls / "scheduler.key")

    def start_api(self):
        api = self.run("api", [
            self.bin / "tangram-fault-api", "--local",
            self.repository / "deploy" / "demo" / "cluster.yaml"])
        self.api = f"http://127.0.0.1:{api.port_behind('ready: http://')}"
        fetch(f"{self.api}/api/v1/nodes", NODE)
        for pod in REPLICAS:  # the leader labels its own pod
            fetch(f"{self.api}/api/v1/namespaces/tangram-system/pods",
                  {"metadata": {"name": pod}, "spec": {"containers": [{"name": "extender"}]}})
        storage = f"{self.api}/apis/storage.k8s.io/v1/namespaces/tangram-system"
        fetch(f"{storage}/csistoragecapacities",
              {"metadata": {"name": "tangram-wake"}, "storageClassName": "tangram.dev.wake"})
        # Without one, the first leader waits as long as a Lease lasts.
        leases = f"{self.api}/apis/coordination.k8s.io/v1/namespaces/tangram-system/leases"
        fetch(leases, {"metadata": {"name": "tangram-extender"}, "spec": {}})
        (self.folder / "kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.api}}],
            "users": [{"name": "u", "user": {}}]}), encoding="utf-8")

    def start_extender(self, pod):
        settings = {
            "kube.source": "kubeconfig", "kube.kubeconfig": self.folder / "kubeconfig",
            "server.listen": "127.0.0.1:0", "webhook.listen": "127.0.0.1:0",
            "metrics.listen": "127.0.0.1:0", "tls.certificate": "tls/tls.crt",
            "tls.key": "tls/tls.key", "tls.client_ca": "tls/ca.crt",
            "grants.signing_key": "keys/grant.key", "grants.public_keys": "keys/grant.pub",
            # The leader must keep its Lease even on a very busy machine.
            "leader_election.lease_duration_s": 120, "leader_election.renew_deadline_ms": 100000,
            # An isolation mode that needs no daemon on the agent's node.
            "scheduler.default_isolation": "none"}
        command = [self.bin / "tangram-extender"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        program = self.run(pod, command, {"POD_NAME": pod, "POD_NAMESPACE": "tangram-system"})
        return {"pod": pod, "server": program.port_behind("listens on 127.0.0.1:"),
                "webhook": program.port_behind("webhook on 127.0.0.1:"),
                "metrics": program.port_behind("metrics on 127.0.0.1:")}

    def start_agent(self):
        self.cards = Cards(self.folder / "nvml.json")
        self.cards.write(UNHEALTHY, os.getpid())
        self.kubelet = Kubelet(self.bin / "tangram-fake-kubelet", self.folder / "kubelet")
        self.programs.append(self.kubelet)
        agent = self.run("agent", [
            self.bin / "tangram-node", "--node-name", AGENT_NODE, "--kubeconfig", "kubeconfig",
            "--nvml-library", self.nvml, "--device-ids-by", "cdi-devices",
            "--kubelet-dir", "kubelet", "--plugin-dir", "kubelet/device-plugins", "--cdi-dir", "cdi",
            "--nvidia-cdi-dirs", "none", "--cards-by-runtime=true", "--state-dir", "state", "--run-dir", "run",
            "--grant-keys", "keys/grant.pub", "--audit-interval", "1",
            "--listen", "127.0.0.1:0"], {"TANGRAM_FAKE_NVML": str(self.cards.path)})
        self.agent_port = agent.port_behind("metrics on port")

    def run_pods(self, pods):
        """Starts the containers of pods on the agent's node; the first uses its card.
        @returns whether its process is in a control group of the pod"""
        for namespace, name, uid in pods:
            wait_for(f"{name} to start", lambda pod=(namespace, name, uid): self.kubelet.start(*pod))
        namespace, name, uid = pods[0]
        user = PodProcess(uid)
        self.programs.append(user)
        page = f"/api/v1/explain?namespace={namespace}&pod={name}"
        card = self.verb(page, None)["containers"][0]["cards"][0]["uuid"]
        self.cards.write(card, user.pid or os.getpid())
        return user.pid is not None

    def find_leader(self):
        for extender in self.extenders:
            page = fetch(f"http://127.0.0.1:{extender['metrics']}/metrics")
            if "\ntangram_leader 1\n" in page:
                return extender
        return None

    def start_prometheus(self):
        def job(name, ports, path="/metrics", **labels):
            return {"job_name": name, "metrics_path": path, "honor_labels": True,
                    "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports],
                                        "labels": {"cluster": "demo"} | labels}]}
        # Unchanged except for the interval.
        rules = (self.repository / "deploy/chart/tangram/files/rules.yaml").read_text("utf-8")
        (self.folder / "rules.yaml").write_text(
            re.sub(r"^  interval: .*$", "  interval: 1s", rules, flags=re.M), encoding="utf-8")
        # Scrapes the cards of both replicas, although one is enough: the rules must count every card once.
        metrics = [extender["metrics"] for extender in self.extenders]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [job("tangram-extender", metrics),
                               job("tangram-cards", metrics, "/metrics/cards"),
                               job("tangram-node", [self.agent_port], node=AGENT_NODE)]}
        # JSON is YAML.
        (self.folder / "prometheus.yaml").write_text(json.dumps(config), encoding="utf-8")
        program = self.run("prometheus", [
            "prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=data",
            "--web.listen-address=127.0.0.1:0"])
        self.prometheus = f"http://127.0.0.1:{program.port_behind('Listening on')}"

    def verb(self, path, body):
        return fetch(f"https://127.0.0.1:{self.leader['server']}{path}", body, self.tls)

    def cluster(self):
        """/api/v1/cluster of the leader."""
        return self.verb("/api/v1/cluster", None)
