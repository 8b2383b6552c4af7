# shellcheck shell=bash
# Starts and stops a control plane on loopback; sourced by scripts/e2e after programs.sh and
# certificates.sh. All its state is under $state.

state=${TANGRAM_E2E_DIR:-$repo_root/build/e2e}
mkdir -p "$state"
state=$(cd "$state" && pwd)
apiserver_port=
apiserver_flags=() # additional flags

# --- processes -----------------------------------------------------------------------------------

# pid_of NAME: the process that was started under that name, if it still runs. The start time detects
# another process with the same number.
pid_of() {
  local pid started
  read -r pid started 2>/dev/null <"$state/run/$1" || return 1
  [ "$(start_time "$pid")" = "$started" ] || return 1
  echo "$pid"
}

# Nothing for a process that has ended, even if its status is not collected yet (Z).
start_time() {
  awk '{ sub(/^.*\) /, ""); if ($1 != "Z") print $20 }' "/proc/$1/stat" 2>/dev/null || true
}

# start NAME COMMAND...: runs it in its own session, so that Ctrl-C reaches only this script.
start() {
  local name=$1
  shift
  mkdir -p "$state/run" "$state/logs"
  (cd "$state" && exec setsid "$@" >>"$state/logs/$name.log" 2>&1 </dev/null) &
  echo "$! $(start_time $!)" >"$state/run/$name"
  disown
}

stop() { # NAME
  local pid
  if pid=$(pid_of "$1"); then
    kill -TERM "$pid" 2>/dev/null || true
    kill -CONT "$pid" 2>/dev/null || true
    local waited
    for ((waited = 0; waited < 50; waited++)); do
      pid_of "$1" >/dev/null || break
      sleep 0.1
    done
    if pid_of "$1" >/dev/null; then kill -KILL "$pid" 2>/dev/null || true; fi
  fi
  rm -f "$state/run/$1"
}

running() { [ ! -d "$state/run" ] || ls "$state/run"; }

# wait_for NAME COMMAND...: waits until the command succeeds; NAME is the program that must run meanwhile.
readonly start_limit_seconds=60 # kube-apiserver takes 5 s on two idle cores
wait_for() {
  local name=$1 deadline=$((SECONDS + start_limit_seconds))
  shift
  until "$@" >/dev/null 2>&1; do
    if ! pid_of "$name" >/dev/null || [ "$SECONDS" -ge "$deadline" ]; then
      tail -n 20 "$state/logs/$name.log" >&2
      die "$name did not start; its output is in $state/logs/$name.log"
    fi
    sleep 0.2
  done
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; } # PORT

# Below the range of ports that the system assigns, and unused now.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); do
    if ! answers "$port"; then break; fi
  done
  echo "$port"
}

# --- the control plane ---------------------------------------------------------------------------

start_etcd() {
  rm -f "$state"/etcd*.sock:0 # of an earlier start
  # Sockets in our own folder need neither ports nor certificates. Tests do not need durability.
  start etcd "$(program etcd)" --name e2e --data-dir "$state/etcd" --unsafe-no-fsync \
    --listen-client-urls "unix://etcd.sock:0" \
    --advertise-client-urls "unix://etcd.sock:0" \
    --listen-peer-urls "unix://etcd-peer.sock:0" \
    --initial-advertise-peer-urls "unix://etcd-peer.sock:0" \
    --initial-cluster "e2e=unix://etcd-peer.sock:0" --log-level warn
  wait_for etcd test -S "$state/etcd.sock:0"
}

start_apiserver() {
  run_apiserver kube-apiserver "$apiserver_port"
  wait_for kube-apiserver kubectl_admin get --raw /readyz
}

# Another one before the same etcd. $state/NAME-2.kubeconfig reaches it as $state/NAME.kubeconfig does the
# first one.
start_second_apiserver() {
  local port name
  port=$(free_port)
  for name in admin tangram-extender; do
    sed "s#127.0.0.1:$(cat "$state/apiserver-port")\$#127.0.0.1:$port#" "$state/$name.kubeconfig" \
      >"$state/$name-2.kubeconfig"
    chmod 600 "$state/$name-2.kubeconfig"
  done
  run_apiserver kube-apiserver-2 "$port"
  wait_for kube-apiserver-2 "$(program kubectl)" --kubeconfig "$state/admin-2.kubeconfig" get --raw /readyz
}

# PodGroups are off unless the API server is told otherwise, and each release has its own version of them.
pod_group_flags() {
  local version
  version=$(pinned_kubernetes "kubernetes${TANGRAM_E2E_KUBERNETES:+-$TANGRAM_E2E_KUBERNETES}")
  case $version in
    1.36.*) echo --feature-gates=GenericWorkload=true --runtime-config=scheduling.k8s.io/v1alpha2=true ;;
    1.3[7-9].*) echo --feature-gates=GenericWorkload=true --runtime-config=scheduling.k8s.io/v1beta1=true ;;
  esac
}

run_apiserver() { # NAME PORT
  local with_hosts=() group_flags
  read -ra group_flags <<<"$(pod_group_flags)"
  # shellcheck disable=SC2016 # the inner shell expands it
  [ ! -f "$state/hosts" ] || with_hosts=(unshare --mount --propagation private
    sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh)
  # No endpoint of the service "kubernetes": Kubernetes allows none on loopback, and no pod asks it.
  start "$1" "${with_hosts[@]}" "$(program kube-apiserver)" --v=1 \
    --etcd-servers "unix://etcd.sock:0" \
    --bind-address 127.0.0.1 --secure-port "$2" \
    --advertise-address 127.0.0.1 --endpoint-reconciler-type none \
    --cert-dir "$state/pki" --client-ca-file "$state/pki/ca.crt" \
    --tls-cert-file "$state/pki/kube-apiserver.crt" \
    --tls-private-key-file "$state/pki/kube-apiserver.key" \
    --kubelet-client-certificate "$state/pki/admin.crt" \
    --kubelet-client-key "$state/pki/admin.key" --kubelet-preferred-address-types Hostname,InternalIP \
    --admission-control-config-file "$state/admission-control.yaml" \
    --authorization-mode Node,RBAC --allow-privileged --service-cluster-ip-range 10.96.0.0/16 \
    --service-account-issuer https://kubernetes.default.svc \
    --service-account-key-file "$state/pki/service-accounts.key" \
    --service-account-signing-key-file "$state/pki/service-accounts.key" "${group_flags[@]}" "${apiserver_flags[@]}"
}

# Ends it as a crash does: at once.
kill_apiserver() {
  local pid
  apiserver_port=$(cat "$state/apiserver-port")
  if pid=$(pid_of kube-apiserver); then kill -KILL "$pid"; fi
  while answers "$apiserver_port"; do sleep 0.02; done # its threads end after the process
}

# On the same port. Also starts it after a test has killed it.
restart_apiserver() {
  kill_apiserver
  start_apiserver
}

# Makes a backup of everything that the API server has stored.
save_etcd() {
  kill_apiserver
  stop etcd
  rm -rf "$state/etcd.saved"
  cp -a "$state/etcd" "$state/etcd.saved"
  start_etcd
  start_apiserver
}

# Goes back to the backup. Kubernetes requires that its own programs restart with it; a test restarts its
# kube-scheduler.
restore_etcd() {
  stop kube-controller-manager
  kill_apiserver
  stop etcd
  rm -rf "$state/etcd"
  cp -a "$state/etcd.saved" "$state/etcd"
  start_etcd
  start_apiserver
  start_controller_manager "$(cat "$state/controllers")"
}

# For fake nodes, without node-lifecycle, taint-eviction and pod-garbage-collector: those nodes have no
# heartbeats, so these controllers would taint them and delete their pods.
readonly fake_node_controllers='*,-node-lifecycle-controller,-taint-eviction-controller,-pod-garbage-collector-controller'

start_controller_manager() { # CONTROLLERS
  start kube-controller-manager "$(program kube-controller-manager)" --v=1 \
    --kubeconfig "$state/kube-controller-manager.kubeconfig" --leader-elect=false --secure-port 0 \
    --use-service-account-credentials \
    --service-account-private-key-file "$state/pki/service-accounts.key" \
    --root-ca-file "$state/pki/ca.crt" --controllers "$1"
  wait_for kube-controller-manager \
    kubectl_admin --namespace default get serviceaccount default
}

kubectl_admin() { "$(program kubectl)" --kubeconfig "$state/admin.kubeconfig" "$@"; }

# Removes the state of an earlier run, including its logs.
clear_state() {
  [ -z "$(running)" ] || die "a cluster already runs in $state; scripts/e2e down stops it"
  rm -rf "$state"
  mkdir -p "$state"
  chmod 700 "$state"
}

start_control_plane() { # CONTROLLERS
  rm -rf "$state/etcd" "$state/pki"
  apiserver_port=$(free_port)
  echo "$apiserver_port" >"$state/apiserver-port"
  make_certificates
  write_admission_config
  local user
  for user in admin kube-scheduler kube-controller-manager; do
    write_certificate_kubeconfig "$user"
  done
  start_etcd
  start_apiserver
  echo "$1" >"$state/controllers"
  start_controller_manager "$1"
  echo "e2e: kube-apiserver listens on 127.0.0.1:$apiserver_port"
}

stop_cluster() {
  local name
  # Clients first, so that they log no failures.
  for name in $(running | grep -v -x -e etcd -e kube-apiserver) kube-apiserver etcd; do
    stop "$name"
  done
}

# --- Tangram -------------------------------------------------------------------------------------

# The identity of deploy/scheduler/rbac.yaml, with a token like a pod's.
make_extender_identity() {
  kubectl_admin apply -f "$repo_root/deploy/scheduler/rbac.yaml" \
    -f "$repo_root/deploy/scheduler/policy.yaml" >/dev/null
  kubectl_admin --namespace tangram-system create token tangram-extender --duration 24h \
    >"$state/tangram-extender.token"
  chmod 600 "$state/tangram-extender.token"
  write_kubeconfig tangram-extender "tokenFile: $state/tangram-extender.token"
  make_grant_keys
}

# As in docs/signing.md: the extender signs grants, and all parts require signatures.
make_grant_keys() {
  rm -rf "$state/grant-key" "$state/grant-keys"
  "$extender_program" grant-key --out "$state/grant-key" >/dev/null
  mkdir "$state/grant-keys"
  cp "$state/grant-key/grant.pub" "$state/grant-keys/first.pub"
}

start_extender() { # PORT
  start tangram-extender "$extender_program" --set "server.listen=127.0.0.1:$1" \
    --set "grants.signing_key=$state/grant-key/grant.key" \
    --set "grants.public_keys=$state/grant-keys" --set grants.required=true \
    --set kube.source=kubeconfig --set "kube.kubeconfig=$state/tangram-extender.kubeconfig" \
    --set leader_election.enabled=false # there is one replica, and no pod to label
  wait_for tangram-extender curl --fail --silent "http://127.0.0.1:$1/readyz"
}

# The shipped configuration, with this cluster's addresses and without TLS, for an extender on loopback.
write_scheduler_config() { # EXTENDER_PORT
  sed -e "s#^\( *-\{0,1\} *\)urlPrefix:.*#\1urlPrefix: http://127.0.0.1:$1#" \
    -e "s#kubeconfig:.*#kubeconfig: $state/kube-scheduler.kubeconfig#" \
    -e "s#leaderElect:.*#leaderElect: false#" \
    -e '/^ *\(enableHTTPS\|tlsConfig\|caFile\|certFile\|keyFile\|serverName\):/d' \
    "$repo_root/deploy/scheduler/scheduler-config.yaml" >"$state/scheduler-config.yaml"
}

# Nodes without a machine, with 8 cards each.
make_nodes() { # COUNT
  local number
  for ((number = 1; number <= $1; number++)); do
    jq --null-input --arg name "gpu-$number" '
      {cpu: "128", memory: "1024Gi", pods: "110", "tangram.dev/gpu-slot": "128"} as $amounts |
      {version: 1, cards: [range(8) | {id: "GPU-\($name)-\(.)", model: "A100-SXM4-80GB", memMiB: 81920}]}
        as $cards |
      {apiVersion: "v1", kind: "Node",
       metadata: {name: $name, labels: {"tangram.dev/gpu": "true"},
                  annotations: {"tangram.dev/cards": ($cards | tojson)}},
       status: {capacity: $amounts, allocatable: $amounts,
                conditions: [{type: "Ready", status: "True", reason: "Example", message: "no machine"}]}}'
  done | kubectl_admin create -f - >/dev/null
  # Admission taints every new node, and the controller that removes the taint does not run here.
  kubectl_admin taint nodes --all node.kubernetes.io/not-ready:NoSchedule- >/dev/null
}

start_scheduler() {
  start kube-scheduler "$(program kube-scheduler)" --v=1 --secure-port 0 \
    --config "$state/scheduler-config.yaml"
}
