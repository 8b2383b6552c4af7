# shellcheck shell=bash
# Three commands on a node as NVIDIA's GPU Operator leaves it, up to a pod that prints its share; sourced by
# tests/chart/node.sh. The driver is in a container, its toolkit (the real one, by its own installer) is installed and
# not the default runtime, and CDI is on in containerd. Stand-ins: the cards, the driver's files and NVML.

source tests/e2e/stock.sh

# A post-renderer: what this machine lacks. Pods use its network, so that there is room for one of each; NVML is the fake
# one, and the host is the node's namespace.
write_operator_renderer() {
  local host
  host=/proc/$(pid_of node)/root
  cat >"$work/on-the-operators-node" <<END
#!/usr/bin/env bash
"$work/on-the-host" | yq -y --arg cards "$host$node_root/cards.json" --arg root "$host" '
  if .kind == "Deployment" then .spec.replicas = 1
  elif .kind == "DaemonSet" then .spec.template.spec.containers[].env += [
    {name: "TANGRAM_FAKE_NVML", value: \$cards}, {name: "TANGRAM_NODE_HOST_ROOT", value: \$root}]
  else . end'
END
  chmod +x "$work/on-the-operators-node"
}

nvidia_nodes() { find /dev -maxdepth 1 -name 'nvidia*' | sort; }

# What the agent made in the machine's /dev.
remove_new_nodes() { # THOSE_BEFORE
  comm -13 <(echo "$1") <(nvidia_nodes) | xargs --no-run-if-empty rm -f
}

seconds_of() { # COMMAND...: runs it and sets $took
  local begun=$EPOCHREALTIME
  "$@"
  took=$(awk -v begun="$begun" -v ended="$EPOCHREALTIME" 'BEGIN { printf "%.1f", ended - begun }')
}

install_by_helm() {
  helm_on_cluster install tangram "$chart" --create-namespace --set image.registry=localhost --wait --timeout 3m \
    --values "$work/machine.yaml" --post-renderer "$work/on-the-operators-node" >/dev/null || {
    explain_pods
    die "the chart's pods do not become ready"
  }
}

label_node() {
  kubectl_admin label node "$node_name" tangram.dev/agent=true nvidia.com/gpu.deploy.device-plugin=false >/dev/null
  kubectl_here rollout status daemonset/tangram-node --timeout 2m >/dev/null || {
    explain_pods
    die "the agent does not become ready"
  }
}

run_pod() {
  local isolation=time-slice # the stand-in driver has no MPS, which is the default
  pod_with 0.5 >/dev/null
  wait_half
}

# What its program finds: the card that was granted, by its variables and its device nodes.
check_share() {
  local card minor seen
  card=$(granted_card)
  kubectl_admin --namespace default logs half | grep -q "^cards $card, at most " ||
    die "the pod does not print its card $card: $(kubectl_admin --namespace default logs half)"
  minor=$(jq --raw-output --arg card "$card" '.cards[] | select(.uuid == $card) | .minor' "$node_root/cards.json")
  seen=$(kubectl_admin --namespace default exec half -- /program devices | tr ' ' '\n' | grep -x 'nvidia[0-9]*')
  [ "$seen" = "nvidia$minor" ] || die "the pod sees \"$seen\" instead of nvidia$minor alone"
}

check_on_operators_node() {
  local took installed labelled ran
  write_cards
  stop containerd
  place_driver container
  start_containerd --toolkit
  kubectl_admin wait --for=condition=Ready "node/$node_name" --timeout 60s >/dev/null
  write_operator_renderer
  machine_values >"$work/machine.yaml"
  seconds_of install_by_helm && installed=$took
  seconds_of label_node && labelled=$took
  seconds_of run_pod && ran=$took
  check_share
  echo "check-chart: on a node as GPU Operator leaves it: helm install $installed s, kubectl label $labelled s," \
    "kubectl create to a running pod with its share $ran s"
}
