"""Stands in for the kubelets of nodes without a machine, so that the commands of the documentation work: pods
become Running and Ready, and `kubectl logs` answers. One pod each of the extender and the second kube-scheduler
really runs, with the files, arguments and identity of that pod.

    kubelet.py STATE PROGRAMS      STATE: the control plane's folder; PROGRAMS: a folder of programs, named as images

Containers are processes of this machine in their own mount namespace, as root and on its network.
scripts/check-chart --node checks images, users and limits on a real kubelet. Agents do not run: there are no cards.
"""
import base64
import http.client
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

STATE, PROGRAMS = (pathlib.Path(argument) for argument in sys.argv[1:3])
ADDRESS = "10.244.0.1"  # of every pod; endpoints on loopback are not allowed
LOGS_PORT = 10250
ROUND_SECONDS = 0.3
API_PORT = int((STATE / "apiserver-port").read_text())
PKI = STATE / "pki"
PODS = STATE / "pods"

running = {}  # image name -> (pod's UID, process)


def api(method, path, body=None, content="application/json"):
    context = ssl.create_default_context(cafile=PKI / "ca.crt")
    context.load_cert_chain(PKI / "admin.crt", PKI / "admin.key")
    connection = http.client.HTTPSConnection("127.0.0.1", API_PORT, context=context, timeout=30)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": content})
        answer = connection.getresponse()
        text = answer.read()
        return json.loads(text) if answer.status < 300 else None
    finally:
        connection.close()


def merge(path, body):
    return api("PATCH", path, body, "application/merge-patch+json")


def path_of(pod):
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


# ---- Files. None if a required Secret or ConfigMap is missing.

def files_of(volume, namespace):
    if "configMap" in volume:
        kind, name = "configmaps", volume["configMap"]["name"]
    elif "secret" in volume:
        kind, name = "secrets", volume["secret"]["secretName"]
    else:
        return {}
    found = api("GET", f"/api/v1/namespaces/{namespace}/{kind}/{name}")
    if found is None:
        return {} if (volume.get("configMap") or volume["secret"]).get("optional") else None
    data = found.get("data") or {}
    return {key: base64.b64decode(text) if kind == "secrets" else text.encode() for key, text in data.items()}


def identity(pod):
    """The files that kubelet projects into every pod; None if its account is gone."""
    meta, account = pod["metadata"], pod["spec"]["serviceAccountName"]
    wanted = {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}}}
    token = api("POST", f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token", wanted)
    return token and {"token": token["status"]["token"].encode(), "namespace": meta["namespace"].encode(),
                      "ca.crt": (PKI / "ca.crt").read_bytes()}


def write_volumes(pod, container):
    """The folder of each volume, by its path in the container; None while one is missing."""
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    places = {}
    for mount in container.get("volumeMounts", []):
        if "serviceaccount" in mount["mountPath"]:
            files = identity(pod)
        else:
            files = files_of(volumes[mount["name"]], pod["metadata"]["namespace"])
        if files is None:
            return None
        folder = PODS / pod["metadata"]["uid"] / mount["name"]
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        places[mount["mountPath"]] = folder
    return places


# ---- Programs.

def image_name(container):
    return container["image"].rsplit("/", 1)[-1].split(":")[0]


def environment(pod, container):
    fields = {"metadata.name": pod["metadata"]["name"], "metadata.namespace": pod["metadata"]["namespace"],
              "spec.nodeName": pod["spec"]["nodeName"]}
    named = {e["name"]: e.get("value") or fields.get(e.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath"), "")
             for e in container.get("env", [])}
    return {**os.environ, **named, "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(API_PORT)}


def start(pod, container):
    """Does nothing while a Secret or ConfigMap is missing."""
    places = write_volumes(pod, container)
    if places is None:
        return
    mounts = "".join(f"mkdir -p {path}; mount --bind {folder} {path}; " for path, folder in places.items())
    log = open(PODS / f"{pod['metadata']['name']}.log", "ab")
    command = [str(PROGRAMS / image_name(container)), *container.get("command", [])[1:], *container.get("args", [])]
    process = subprocess.Popen(["unshare", "--mount", "sh", "-ec", mounts + 'exec "$@"', "sh", *command],
                               env=environment(pod, container), stdout=log, stderr=log, start_new_session=True)
    running[image_name(container)] = (pod["metadata"]["uid"], process)


def answers(container):
    probe = container.get("readinessProbe", {}).get("httpGet")
    if not probe:
        return True
    port = next(p["containerPort"] for p in container["ports"] if p["name"] == probe["port"])
    try:
        url = f"{probe.get('scheme', 'HTTP').lower()}://127.0.0.1:{port}{probe['path']}"
        return urllib.request.urlopen(url, timeout=2, context=ssl._create_unverified_context()).status == 200
    except OSError:
        return False


def keep_running(pod):
    """Starts the pod's program, unless it runs already, in this pod or for another replica. Returns whether it did.

    A program that ended by itself is a fault that a restart would hide: it ends kubelet, and so the run."""
    container = pod["spec"]["containers"][0]
    name = image_name(container)
    if not (PROGRAMS / name).exists():
        return True
    _, process = running.get(name, (None, None))
    if process is not None:
        if process.poll() is None:
            return True
        sys.exit(f"{name} ended by itself, with {process.returncode}")
    start(pod, container)
    return False


def is_ready(pod):
    container = pod["spec"]["containers"][0]
    # Other replicas are ready if the running one is.
    return keep_running(pod) and (image_name(container) not in running or answers(container))


def end(pod):
    name = image_name(pod["spec"]["containers"][0])
    if running.get(name, ("",))[0] == pod["metadata"]["uid"]:
        process = running.pop(name)[1]
        process.terminate()
        process.wait()
    api("DELETE", path_of(pod) + "?gracePeriodSeconds=0")


def publish_ready(pod):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    condition = {"status": "True", "lastTransitionTime": now}
    kept = [c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"]
    merge(path_of(pod) + "/status", {"status": {
        "phase": "Running", "startTime": now, "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}], "hostIP": ADDRESS,
        "conditions": kept + [{"type": kind, **condition} for kind in ("Initialized", "ContainersReady", "Ready")],
        "containerStatuses": [{"name": c["name"], "image": c["image"], "imageID": c["image"], "ready": True,
                               "started": True, "restartCount": 0, "state": {"running": {"startedAt": now}}}
                              for c in pod["spec"]["containers"]]}})


def sync_pods():
    for pod in (api("GET", "/api/v1/pods") or {"items": []})["items"]:
        if pod["metadata"].get("deletionTimestamp"):
            end(pod)
        elif not pod["spec"].get("nodeName"):
            continue
        elif pod["status"].get("phase") == "Running":
            keep_running(pod)  # its replica that ran for both may be gone
        elif pod["status"].get("phase") == "Pending" and is_ready(pod):
            publish_ready(pod)


# ---- kubectl logs, which the API server forwards to kubelet.

class Logs(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        pod = self.path.split("?")[0].split("/")[3]
        log = PODS / f"{pod}.log"
        text = log.read_bytes() if log.exists() else b"this node has no machine\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def serve_logs():
    server = http.server.ThreadingHTTPServer((ADDRESS, LOGS_PORT), Logs)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PKI / "kube-apiserver.crt", PKI / "kube-apiserver.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main():
    PODS.mkdir(exist_ok=True)
    serve_logs()
    for node in api("GET", "/api/v1/nodes")["items"]:
        merge(f"/api/v1/nodes/{node['metadata']['name']}/status", {"status": {
            "addresses": [{"type": "InternalIP", "address": ADDRESS}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": LOGS_PORT}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "StandsIn", "message": "no machine"}]}})
    while True:
        try:
            sync_pods()
        except (OSError, http.client.HTTPException) as problem:
            print(problem, flush=True)  # the API server may be restarting
        time.sleep(ROUND_SECONDS)


main()
