// The programs that a test of the page needs, started as a user would.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const bin = path.join(process.env.TANGRAM_BIN ?? path.join(root, "build/release/bin"));
export const demoCluster = path.join(root, "deploy/demo/cluster.yaml");

const kStart = 400_000; // ms: a large cluster on a machine that is busy

/** Runs a program until stop(). @returns what `pattern` found in its output, and how to stop it */
function start(program, args, pattern) {
  const child = spawn(path.join(bin, program), args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  return new Promise((resolve, reject) => {
    let output = "";
    const patience = setTimeout(() => reject(new Error(`${program} said nothing of ${pattern}: ${output}`)), kStart);
    const listen = (bytes) => {
      output += bytes;
      const found = output.match(pattern);
      if (!found) return;
      clearTimeout(patience);
      resolve({ found, stop });
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("error", reject);
    ended.then((status) => reject(new Error(`${program} ended with ${status}: ${output}`)));
  });
}

async function asked(url, options) {
  const response = await fetch(url, options);
  const text = await response.text();
  if (!response.ok) throw new Error(`${options?.method ?? "GET"} ${url}: ${response.status} ${text}`);
  return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
}

const json = (method, body) => ({ method, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });

/** An API server in memory and an extender that reads it. @param yaml  file of the cluster */
export async function startCluster(yaml) {
  const folder = mkdtempSync(path.join(tmpdir(), "tangram-page-"));
  const api = await start("tangram-fault-api", ["--local", yaml], /ready: (http:\S+),/);
  const server = api.found[1];
  const kubeconfig = path.join(folder, "kubeconfig");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "test",
      clusters: [{ name: "test", cluster: { server } }],
      users: [{ name: "test", user: {} }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    }),
  );
  const startExtender = (port) =>
    start(
      "tangram-extender",
      [`server.listen=127.0.0.1:${port}`, "kube.source=kubeconfig", `kube.kubeconfig=${kubeconfig}`, "leader_election.enabled=false"].flatMap((setting) => ["--set", setting]),
      /listens on 127\.0\.0\.1:(\d+)/,
    );
  let extender = await startExtender(0);
  const port = extender.found[1];
  const url = `http://127.0.0.1:${port}`;
  const ready = async () => {
    while ((await fetch(`${url}/readyz`).catch(() => ({}))).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await ready();
  const pods = (namespace) => `${server}/api/v1/namespaces/${namespace}/pods`;
  return {
    url,
    get: (target) => asked(url + target),
    /** @param annotations  without their prefix */
    createPod: (namespace, name, annotations) =>
      asked(pods(namespace), json("POST", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { namespace, name, annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`tangram.dev/${key}`, value])) },
        spec: { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { "tangram.dev/gpu-slot": "1" } } }] },
      })),
    deletePod: (namespace, name) => asked(`${pods(namespace)}/${name}?gracePeriodSeconds=0`, { method: "DELETE" }),
    createNode: (name, cards) =>
      asked(`${server}/api/v1/nodes`, json("POST", {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name, annotations: { "tangram.dev/cards": JSON.stringify({ version: 1, cards }) } },
        status: { allocatable: { cpu: "32", memory: "128Gi" } },
      })),
    /** As kube-scheduler would, once the extender has seen the pod. */
    async bindPod({ metadata: { namespace, name, uid } }, node) {
      for (let tries = 0; ; ++tries) {
        const { Error: why } = await asked(`${url}/bind`, json("POST", { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node }));
        if (!why) return;
        if (tries === 50) throw new Error(why);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    stopExtender: () => extender.stop(),
    async restartExtender() {
      extender = await startExtender(port);
      await ready();
    },
    async stop() {
      await extender.stop();
      await api.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** tangram-demo with a busy cluster of so many nodes. */
export async function startCrowd(nodes) {
  const { found, stop } = await start("tangram-demo", ["--nodes", String(nodes)], /page: (http:\S+?)\/\s/);
  return { url: found[1], stop };
}
