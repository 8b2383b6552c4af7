# shellcheck shell=bash
# The chart's own pods on a real node; sourced by scripts/check-chart after cluster.sh. kubelet and containerd
# are those of the end-to-end tests. There is no pod network and no kube-proxy, so the chart's pods use the
# machine's network, with the addresses of API server and extender in their environment. All else is as in the
# chart: images, users, volumes, probes, rights, webhook, order of installation.

source scripts/packages.sh
source tests/e2e/nvidia_programs.sh
source tests/e2e/node.sh
source tests/chart/operator.sh
script_path=$repo_root/scripts/e2e # node.sh starts programs of the node through it

images=$repo_root/build/images # from scripts/check-image

# --- images --------------------------------------------------------------------------------------

load_image() { # ARCHIVE
  ctr_node images import --local "$1" >/dev/null
}

# An image with only the program, for statically linked programs.
load_program() { # NAME PROGRAM
  mkdir -p "$work/program/bin"
  cp "$2" "$work/program/bin/"
  load_image "$(pack_image "$1" "$work/program" '{"Env": ["PATH=/bin"]}')"
  rm -r "$work/program" "$node_root/image.tar"
}

# The API server's version, such as v1.36.3.
kubernetes_version() { kubectl_admin version --output json | jq -r .serverVersion.gitVersion; }

load_images() {
  local part
  for part in extender node; do load_image "$images/tangram-$part.tar"; done
  for part in kube-scheduler kubectl; do
    load_program "registry.k8s.io/$part:$(kubernetes_version)" "$(program "$part")"
  done
}

# --- the machine's network -----------------------------------------------------------------------

# A post-renderer: pods use the machine's network, with the API server in their environment and the extender
# in their hosts file.
write_renderer() {
  cat >"$work/on-the-host" <<END
#!/usr/bin/env bash
exec yq -y --arg port "$apiserver_port" '
  select(. != null) | if (.kind | IN("Deployment", "DaemonSet", "Job")) then .spec.template.spec |= (
    .hostNetwork = true | .hostAliases = [{ip: "127.0.0.1", hostnames: ["tangram-extender.$namespace.svc"]}]
    | (.containers[], .initContainers[]?) |= (.env += [
        {name: "KUBERNETES_SERVICE_HOST", value: "127.0.0.1"}, {name: "KUBERNETES_SERVICE_PORT", value: \$port}]))
  else . end'
END
  chmod +x "$work/on-the-host"
}

start_default_scheduler() {
  start kube-scheduler "$(program kube-scheduler)" --kubeconfig "$state/kube-scheduler.kubeconfig" \
    --leader-elect=false --secure-port 0
}

# Values with free ports of the machine.
machine_values() {
  local listen=0.0.0.0 # probes use the node's own address
  cat <<END
extender:
  config:
    server: {listen: "$listen:$(free_port)"}
    webhook: {listen: "$listen:$(free_port)"}
    metrics: {listen: "$listen:$(free_port)"}
agent:
  settings: {listen: "$listen:$(free_port)"}
END
}

# With signed grants required by all parts, as on a new cluster.
node_values() {
  cat <<END
image: {registry: localhost} # as the archives name them
signing: {generate: true, level: all}
END
  machine_values
}

# --- checks --------------------------------------------------------------------------------------

# pod_with FRACTION ARGUMENT...: a pod whose only request is its annotation, or with $isolation two.
pod_with() {
  kubectl_admin --namespace default create --filename - "${@:2}" <<END
apiVersion: v1
kind: Pod
metadata: {name: half, annotations: {tangram.dev/gpu-fraction: "$1"${isolation:+, tangram.dev/gpu-isolation: $isolation}}}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: $node_image
    args: [hold]
    env: [{name: TANGRAM_E2E_RECORDS, value: /records}]
    volumeMounts: [{name: records, mountPath: /records}]
  volumes: [{name: records, hostPath: {path: $node_root/records}}]
END
}

# The API server calls the webhook by its Service's name and verifies the chart's certificates.
webhook_rejects() {
  local message
  if message=$(pod_with 2 --dry-run=server 2>&1); then return 1; fi
  [[ $message == *"denied the request: pod half: tangram.dev/gpu-fraction"* ]]
}

wait_half() {
  kubectl_admin --namespace default wait --for=condition=Ready pod/half --timeout 120s >/dev/null || {
    kubectl_admin --namespace default describe pod half >&2
    explain_pods
    die "the pod with half a card does not start"
  }
}

grant_of_half() {
  kubectl_admin --namespace default get pod half --output json | jq -r '.metadata.annotations["tangram.dev/gpu-grant"]'
}

granted_card() { grant_of_half | jq -r '.containers[0].cards[0].uuid'; }

half_a_card() {
  wait_for kube-apiserver webhook_rejects
  pod_with 0.5 >/dev/null
  wait_half
  local granted
  granted=$(granted_card)
  [ -n "$(grant_of_half | jq -r '.sig // ""')" ] || die "the grant is not signed"
  grep -h -r '^TANGRAM_' "$node_root/records" | grep -q -x "TANGRAM_CARD_UUIDS=$granted" ||
    die "the container does not see the granted card $granted: $(cat "$node_root"/records/*)"
}

explain_pods() {
  kubectl_here get pods --output wide >&2 || true
  kubectl_here describe pods >&2 || true
  local pod
  for pod in $(kubectl_here get pods --output name); do
    kubectl_here logs "$pod" --all-containers --tail 20 >&2 || true
  done
}

check_on_node() {
  local why
  why=$(no_node_because)
  if [ -n "$why" ]; then
    echo "check-chart: the node checks did not run: ${why//$'\n'/; }"
    exit 77 # skipped, as in scripts/stages.sh
  fi
  [ -f "$images/tangram-node.tar" ] || die "there are no images in $images; run scripts/check-image"
  build_programs "${control_plane[@]}" "${node_programs[@]}" "${nvidia_toolkit[@]}"
  build release fake_nvml >/dev/null
  clear_state
  # The agent's pod creates this folder of the machine if it does not exist.
  local made=
  [ -d /etc/cdi ] || made=/etc/cdi
  # shellcheck disable=SC2064 # expands now, because the variable does not exist when the trap runs
  trap "stop_node; stop_cluster; remove_new_nodes '$(nvidia_nodes)'; rm -rf '$work'; [ -z '$made' ] || rmdir '$made' 2>/dev/null || true" EXIT
  trap 'exit 130' INT TERM
  # The API server calls webhooks at the endpoints of their Services, which are addresses of this machine.
  apiserver_flags=(--enable-aggregator-routing)
  start_node_control_plane
  start_default_scheduler
  start_node
  load_images
  kubectl_admin label node "$node_name" tangram.dev/agent=true >/dev/null
  kubectl_admin create namespace "$namespace" >/dev/null
  write_renderer
  node_values >"$work/node.yaml"
  local values=(--values deploy/chart/examples/kind.yaml --values "$work/node.yaml")

  # Helm does not pass hooks to the post-renderer, so this applies the job before the installation.
  chart_template "${values[@]}" --set "signing.kubectl.tag=$(kubernetes_version)" \
    --show-only templates/signing/generate.yaml | "$work/on-the-host" |
    kubectl_here apply --filename - >/dev/null
  kubectl_here wait --for=condition=Complete job/tangram-grant-key --timeout 120s >/dev/null || {
    explain_pods
    die "the job that makes the signing key does not end"
  }
  kubectl_here delete job,role,rolebinding,serviceaccount tangram-grant-key >/dev/null
  helm_on_cluster install tangram "$chart" "${values[@]}" --post-renderer "$work/on-the-host" \
    --wait --timeout 3m >/dev/null || {
    explain_pods
    die "the chart's pods do not become ready"
  }
  half_a_card
  echo "check-chart: the chart's pods run on a node, and a pod with an annotation sees its granted half card"
  kubectl_admin --namespace default delete pod half --wait >/dev/null
  helm_on_cluster uninstall tangram --wait >/dev/null
  kubectl_admin delete namespace "$namespace" --wait >/dev/null
  kubectl_admin label node "$node_name" tangram.dev/agent- >/dev/null
  check_on_operators_node
}
