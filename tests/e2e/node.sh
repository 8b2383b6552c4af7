# shellcheck shell=bash
# A real node on this machine, as root: containerd, kubelet, and Tangram's agent with a fake NVML;
# sourced by scripts/e2e after cluster.sh.
#
# Kubelet and others use fixed paths (/var/lib/kubelet/device-plugins, /run/containerd/s, /var/run/cdi).
# To let clusters run side by side and leave no files behind, the node's programs run in their own mount
# namespace, in which /run, /var/lib and /var/log are folders under $state/node. Killing their control
# group ends them, even if this script has failed.

node_name=gpu-node
node_image=e2e.tangram.dev/program:1 # of sandboxes, and of containers unless they name the next one
cuda_image=e2e.tangram.dev/cuda:1    # the same program; requests all cards, as images with CUDA do
libc_image=e2e.tangram.dev/libc:1    # the same program, clients of NVIDIA's libraries, and what these need
node_root=$state/node
node_group=tangram-e2e-$(cksum <<<"$state" | cut -d ' ' -f 1)
declare -Ar node_folders=([/run]=run [/var/lib]=lib [/var/log]=log)

# --- requirements --------------------------------------------------------------------------------

# Prints why this machine cannot run a node, one reason a line; nothing if it can.
no_node_because() {
  local node_group=$node_group-probe
  command -v runc >/dev/null || echo "runc is missing; run scripts/install-deps --dev"
  [ -c /dev/kmsg ] || echo "kubelet needs /dev/kmsg"
  if [[ $state/ =~ ^(/run|/var/lib|/var/log)/ ]]; then
    echo "the node hides ${BASH_REMATCH[1]}; set TANGRAM_E2E_DIR to a folder elsewhere"
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "kubelet needs root"
    return 0 # the rest cannot be known without
  fi
  unshare --mount --propagation private true 2>/dev/null || echo "mount namespaces are not permitted here"
  { make_groups && remove_groups; } 2>/dev/null || echo "control groups cannot be made under /sys/fs/cgroup"
}

demand_node() {
  local why
  why=$(no_node_because)
  [ -z "$why" ] || die "this machine cannot run a node: ${why//$'\n'/; }"
}

# --- control groups ------------------------------------------------------------------------------

unified_groups() { [ -f /sys/fs/cgroup/cgroup.controllers ]; } # only cgroup v2

# The folder of our group in every hierarchy; v1 has a hierarchy for each controller.
group_folders() {
  if unified_groups; then
    echo "/sys/fs/cgroup/$node_group"
  else
    awk -v group="$node_group" '$3 ~ /^cgroup2?$/ { print $2 "/" group }' /proc/mounts | sort -u
  fi
}

# programs/ contains the node's programs and their shims; kubelet makes kubepods/.
make_groups() {
  local folder controllers
  for folder in $(group_folders); do
    mkdir -p "$folder"
    if unified_groups; then
      controllers=$(sed 's/\([^ ]*\)/+\1/g' /sys/fs/cgroup/cgroup.controllers)
      echo "$controllers" >/sys/fs/cgroup/cgroup.subtree_control
      echo "$controllers" >"$folder/cgroup.subtree_control"
    elif [ -f "$folder/cgroup.clone_children" ]; then
      # Without this a new cpuset has no processors, and no process can enter it.
      echo 1 >"$folder/cgroup.clone_children"
      if [ -f "$folder/cpuset.cpus" ]; then
        cat "${folder%/*}/cpuset.cpus" >"$folder/cpuset.cpus"
        cat "${folder%/*}/cpuset.mems" >"$folder/cpuset.mems"
      fi
    fi
    mkdir -p "$folder/programs"
  done
}

group_processes() {
  local folder
  for folder in $(group_folders); do
    [ ! -d "$folder" ] || find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | sort -un
}

# Kills all processes in the groups, including containers and shims.
kill_groups() { # [PROCESS]: not this one
  local waited processes
  for ((waited = 0; waited < 100; waited++)); do
    processes=$(group_processes | grep -v -x -e "${1:-none}" || true)
    [ -n "$processes" ] || return 0
    # shellcheck disable=SC2086 # one argument each
    kill -KILL $processes 2>/dev/null || true
    sleep 0.1
  done
  die "processes of the node do not end: $processes"
}

remove_groups() {
  local folder
  for folder in $(group_folders); do
    [ ! -d "$folder" ] || find "$folder" -depth -type d -exec rmdir {} +
  done
}

# --- the namespace -------------------------------------------------------------------------------

# The first process of the namespace makes its mounts, and then only keeps it alive.
hold_namespace() {
  enter_groups
  local target
  for target in "${!node_folders[@]}"; do
    mount --bind "$node_root/${node_folders[$target]}" "$target"
  done
  mount --make-shared /run # as systemd does: pods of the chart mount below it for each other
  # Kubelet sets some settings of the whole machine. These files show it the values that it wants.
  local setting
  for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    mkdir -p "$node_root/sysctl/${setting%/*}"
    echo "${setting#*=}" >"$node_root/sysctl/${setting%=*}"
    mount --bind "$node_root/sysctl/${setting%=*}" "/proc/sys/${setting%=*}"
  done
  touch "$node_root/ready"
  exec sleep infinity
}

enter_groups() {
  local folder
  for folder in $(group_folders); do echo $BASHPID >"$folder/programs/cgroup.procs"; done
}

start_namespace() {
  local target
  for target in "${node_folders[@]}"; do mkdir -p "$node_root/$target"; done
  mkdir -p "$node_root/records" "$node_root/cdi" "$node_root/pki"
  make_groups
  start node unshare --mount --propagation private "$script_path" node-namespace
  wait_for node test -f "$node_root/ready"
}

in_node() { nsenter --target "$(pid_of node)" --mount --wd="$node_root" -- "$@"; }

start_in_node() { # NAME COMMAND...
  local name=$1
  shift
  start "$name" "$script_path" node-exec "$(pid_of node)" "$@"
}

# Runs a program in the groups and the namespace, with the process id of this shell.
node_exec() { # PID COMMAND...
  local pid=$1
  shift
  enter_groups
  exec nsenter --target "$pid" --mount --wd="$node_root" -- "$@"
}

# --- the image -----------------------------------------------------------------------------------

digest() { sha256sum "$1" | cut -d ' ' -f 1; }

# add_blob FILE MEDIATYPE: adds the file to the image layout; prints its descriptor.
add_blob() {
  local sum
  sum=$(digest "$1")
  cp "$1" "$node_root/image/blobs/sha256/$sum"
  jq --null-input --compact-output --arg type "$2" --arg sum "sha256:$sum" \
    --argjson size "$(stat --format %s "$1")" '{mediaType: $type, digest: $sum, size: $size}'
}

# pack_image NAME FOLDER CONFIG: makes an OCI image whose only layer is the folder; CONFIG is its configuration in
# JSON. Prints the archive's path.
pack_image() {
  local image=$node_root/image layer config manifest type=application/vnd.oci.image
  rm -rf "$image"
  mkdir -p "$image/blobs/sha256"
  tar --create --file "$image/layer.tar" --directory "$2" --owner 0 --group 0 .
  layer=$(add_blob "$image/layer.tar" "$type.layer.v1.tar")
  jq --null-input --arg diff "sha256:$(digest "$image/layer.tar")" --argjson config "$3" '
    {architecture: "amd64", os: "linux", config: $config,
     rootfs: {type: "layers", diff_ids: [$diff]}}' >"$image/config.json"
  config=$(add_blob "$image/config.json" "$type.config.v1+json")
  jq --null-input --arg type "$type.manifest.v1+json" --argjson config "$config" \
    --argjson layer "$layer" \
    '{schemaVersion: 2, mediaType: $type, config: $config, layers: [$layer]}' >"$image/manifest.json"
  manifest=$(add_blob "$image/manifest.json" "$type.manifest.v1+json")
  jq --null-input --arg name "$1" --argjson manifest "$manifest" '
    {schemaVersion: 2,
     manifests: [$manifest + {annotations: {"io.containerd.image.name": $name}}]}' >"$image/index.json"
  echo '{"imageLayoutVersion": "1.0.0"}' >"$image/oci-layout"
  tar --create --file "$node_root/image.tar" --directory "$image" blobs index.json oci-layout
  rm -r "$image"
  echo "$node_root/image.tar"
}

# The images of the tests' pods: one static program.
import_images() {
  local folder=$node_root/program program='{"Entrypoint": ["/program"]}'
  mkdir -p "$folder"
  c++ -std=c++20 -Os -static -I . -o "$folder/program" tests/e2e/container.cpp
  strip "$folder/program"
  mv "$(pack_image "$node_image" "$folder" "$program")" "$node_root/program.tar"
  import_image "$node_root/program.tar"
  import_image "$(pack_image "$cuda_image" "$folder" \
    "$(jq '. + {Env: ["NVIDIA_VISIBLE_DEVICES=all"]}' <<<"$program")")"
  cp "$repo_root/build/release/tests/shim/cuda_client" "$folder"
  add_nvidia_programs "$folder"
  printf '%s\n' "${missing_nvidia_programs[@]}" >"$node_root/missing-programs"
  add_libraries "$folder"
  import_image "$(pack_image "$libc_image" "$folder" "$program")"
  rm -r "$folder"
}

# This machine's C and C++ libraries, as far as the image's programs and the stand-in libraries need them.
add_libraries() { # FOLDER
  local libraries=usr/lib/x86_64-linux-gnu program library
  mkdir -p "$1/lib64" "$1/$libraries"
  cp --dereference /lib64/ld-linux-x86-64.so.2 "$1/lib64/"
  cp --dereference /lib64/ld-linux-x86-64.so.2 "$1/$libraries/" # for another namespace of the loader
  for program in cuda_client cuda_runtime nvidia-smi; do
    [ ! -e "$1/$program" ] || ldd "$1/$program"
  done | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u >"$node_root/libraries"
  for library in $(<"$node_root/libraries") /lib/x86_64-linux-gnu/lib{dl.so.2,pthread.so.0,rt.so.1}; do
    cp --dereference "$library" "$1/$libraries/"
  done
  ln -s usr/lib "$1/lib"
  ln -s libcuda.so.1 "$1/$libraries/libcuda.so"
}

import_image() { ctr_node images import --local "$1" >/dev/null; }

# --- containerd ----------------------------------------------------------------------------------

#   --version=1.7         instead of 2.1
#   --cdi=false           CDI devices are ignored
#   --runtime=nvidia      NVIDIA's runtime is the default: the stand-in of nvidia/, or with
#   --toolkit             the real one, installed by its installer, as the handler `nvidia`
#   --mode=legacy         of the real one; its own choice otherwise
#   --annotations         the real one heeds the annotations by which CDI devices can be named
#   --nri                 with NRI, and the toolkit's plugin there
#
# Sets containerd_version, has_cdi, runtime, toolkit, mode, annotations and nri.
parse_containerd_options() { # OPTION...
  containerd_version=2.1 has_cdi=true runtime=runc toolkit=false mode=auto annotations=nvidia.cdi.k8s.io/ nri=false
  local option
  for option in "$@"; do
    case $option in
      --version=*) containerd_version=${option#*=} ;;
      --cdi=*) has_cdi=${option#*=} ;;
      --runtime=*) runtime=${option#*=} ;;
      --toolkit) toolkit=true ;;
      --annotations) annotations=cdi.k8s.io/ ;;
      --mode=*) mode=${option#*=} ;;
      --nri) nri=true ;;
      *) die "containerd has no option \"$option\"" ;;
    esac
  done
}

# What 1.7 and 2 name differently: the version of the configuration, where the store is, and the section of CRI, which
# follows.
containerd_head() {
  if [ "$containerd_version" = 1.7 ]; then
    cat <<END
version = 2
root = "/var/lib/containerd-1.7"
state = "/run/containerd-1.7"
[plugins."$cri"]
sandbox_image = "$node_image"
END
  else
    cat <<END
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "$node_image"
[plugins."$cri"]
END
  fi
}

write_containerd_config() {
  local cri=io.containerd.cri.v1.runtime bin_dirs="bin_dirs = [\"$node_root/cni\"]"
  local stand_in_runtime=$repo_root/tests/e2e/nvidia/nvidia-container-runtime
  [ "$containerd_version" != 1.7 ] || { cri=io.containerd.grpc.v1.cri && bin_dirs="bin_dir = \"$node_root/cni\""; }
  mkdir -p "$node_root/cni"
  # The node is not ready without a network; its pods use the machine's.
  echo '{"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}' \
    >"$node_root/cni/10-none.conflist"
  {
    containerd_head
    cat <<END
# Otherwise runc fails where root cannot lower the score.
restrict_oom_score_adj = true
enable_cdi = $has_cdi
cdi_spec_dirs = ["$node_root/cdi", "/var/run/cdi"]
[plugins."$cri".cni]
conf_dir = "$node_root/cni"
$bin_dirs
[plugins."$cri".containerd]
default_runtime_name = "$runtime"
[plugins."$cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[grpc]
address = "/run/containerd/containerd.sock"
END
    ! $nri || printf '[plugins."io.containerd.nri.v1.nri"]\ndisable = false\n'
    $toolkit || printf '[plugins."%s".containerd.runtimes.nvidia%s]\n%s\n' "$cri" "" \
      'runtime_type = "io.containerd.runc.v2"' "$cri" .options "BinaryName = \"$stand_in_runtime\""
  } >"$node_root/containerd.toml"
}

# The program's name of programs.sh, in the version that runs.
of_containerd() { # NAME
  if [ "$containerd_version" = 1.7 ]; then program "1.7/$1"; else program "$1"; fi
}

ctr_node() {
  in_node "$(program ctr)" --address /run/containerd/containerd.sock --namespace k8s.io "$@"
}

start_containerd() { # OPTION...: of parse_containerd_options
  local containerd_version has_cdi runtime toolkit mode annotations nri
  parse_containerd_options "$@"
  stop nvidia-nri
  if $toolkit; then
    runtime=runc write_containerd_config
    install_toolkit "$runtime" "$mode" "$annotations"
  else
    write_containerd_config
  fi
  TANGRAM_FAKE_NVML=$node_root/cards.json PATH=$(dirname "$(of_containerd containerd-shim-runc-v2)"):$stock_folder/bin:$PATH \
    start_in_node containerd "$(of_containerd containerd)" --config "$node_root/containerd.toml"
  wait_for containerd ctr_node version
  # Each version has its own store of images.
  [ ! -f "$node_root/program.tar" ] || [ -n "$(ctr_node images list --quiet "name==$node_image")" ] ||
    import_image "$node_root/program.tar"
  if $nri; then start_nri_plugin; fi
}

# --- kubelet -------------------------------------------------------------------------------------

make_node_identity() {
  make_certificate node "/O=system:nodes/CN=system:node:$node_name" clientAuth
  write_certificate_kubeconfig node
}

write_kubelet_config() {
  cat >"$node_root/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: $(free_port)
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $state/pki/ca.crt}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$node_group
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
protectKernelDefaults: true
makeIPTablesUtilChains: false
oomScoreAdj: 0
maxPods: 250
# Tests wait until the node reports a change of slots; by default that takes up to 10 s.
nodeStatusUpdateFrequency: 1s
serializeImagePulls: false
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
# The shortest allowed, because containers crash often in tests.
crashLoopBackOff: {maxContainerRestartPeriod: 1s}
END
}

start_kubelet() {
  start_in_node kubelet "$(program kubelet)" --config "$node_root/kubelet.yaml" \
    --kubeconfig "$state/node.kubeconfig" --hostname-override "$node_name" \
    --root-dir /var/lib/kubelet --v=2
}

# --- Tangram's agent -----------------------------------------------------------------------------

agent_program=$repo_root/build/release/bin/tangram-node

# The identity of deploy/node/rbac.yaml, with a token that names the node, like a pod's: without it
# deploy/node/policy.yaml rejects every write.
make_agent_identity() {
  kubectl_admin apply -f "$repo_root/deploy/node/rbac.yaml" -f "$repo_root/deploy/node/policy.yaml" \
    >/dev/null
  kubectl_admin --namespace tangram-system create token tangram-node --duration 24h \
    --bound-object-kind Node --bound-object-name "$node_name" >"$state/tangram-node.token"
  chmod 600 "$state/tangram-node.token"
  write_kubeconfig tangram-node "tokenFile: $state/tangram-node.token"
  free_port >"$node_root/agent-port"
}

# Eight cards for the fake NVML; tests replace this file.
write_cards() {
  jq --null-input '{driverVersion: "550.54.15", cudaVersion: "12.4", cards: [range(8) | {
      uuid: "GPU-e2e-\(.)", model: "NVIDIA A100-SXM4-80GB", memMiB: 81920, minor: .,
      pci: "0000:\(. + 10):00.0"}]}' >"$node_root/cards.json"
}

launcher_program=$repo_root/build/release/bin/tangram-launcher

# As in the pod of tangram-mps: MPS daemons run beside it, and do not end with the agent.
start_launcher() {
  ! pid_of tangram-launcher >/dev/null || return 0
  in_node mkdir -p /run/tangram # kubelet makes it for that pod
  start_in_node tangram-launcher "$launcher_program" serve
  wait_for tangram-launcher in_node "$launcher_program" run -- true
}

# start_agent [--program=PATH] ARGUMENT...: an agent of an earlier version does not know all flags.
start_agent() {
  # Nothing of a driver is on this machine.
  local program=$agent_program launcher="$launcher_program run --" cards=--cards-by-runtime=true
  [[ " $* " != *" --cards-by-runtime="* ]] || cards=
  if [[ ${1:-} == --program=* ]]; then
    program=${1#*=} launcher=env cards=
    shift
  fi
  start_launcher
  PATH=$repo_root/build/release/tests/fake_mps:$repo_root/tests/e2e/nvidia:$PATH TANGRAM_FAKE_NVML=$node_root/cards.json \
    start_in_node tangram-node "$program" \
    --node-name "$node_name" --kubeconfig "$state/tangram-node.kubeconfig" \
    --nvml-library "$repo_root/build/release/tests/fake_nvml/libnvidia-ml.so.1" \
    --grant-keys "$state/grant-keys" --require-signed-grants ${cards:+"$cards"} \
    --mps-launcher "$launcher" --listen "127.0.0.1:$(cat "$node_root/agent-port")" "$@"
  wait_for tangram-node answers "$(cat "$node_root/agent-port")"
}

# --- the whole node ------------------------------------------------------------------------------

# Kubelet listens on loopback, which is no valid address of a Node. Therefore kube-apiserver connects to it
# by the node's name, and sees a file of hosts with that name.
start_node_control_plane() {
  { cat /etc/hosts && echo "127.0.0.1 $node_name"; } >"$state/hosts"
  start_control_plane '*'
}

# Half a card, with the only image and the only network that the node has.
write_example_pod() {
  cat >"$state/pod.yaml" <<END
apiVersion: v1
kind: Pod
metadata:
  name: half
  annotations:
    tangram.dev/gpu-fraction: "0.5"
spec:
  schedulerName: tangram
  hostNetwork: true
  enableServiceLinks: false
  automountServiceAccountToken: false
  containers:
  - name: main
    image: $node_image
    imagePullPolicy: Never
    resources:
      limits:
        tangram.dev/gpu-slot: 1
END
}

start_node() {
  write_example_pod
  start_namespace
  start_containerd
  import_images
  make_node_identity
  write_kubelet_config
  start_kubelet
  wait_for kubelet kubectl_admin wait --for=condition=Ready "node/$node_name" --timeout 5s
}

# Starts one of the node's programs after a test has stopped it.
start_node_program() { # NAME ARGUMENT...
  case $1 in
    containerd) start_containerd "${@:2}" ;;
    kubelet) start_kubelet ;;
    tangram-node) start_agent "${@:2}" ;;
    *) die "the node has no program \"$1\"" ;;
  esac
}

# Simulates a power failure: only the disk remains.
lose_power() {
  kill_groups "$(pid_of node)"
  # shellcheck disable=SC2016 # awk's variable
  in_node sh -c 'awk "\$2 ~ \"^/run/\" { print \$2 }" /proc/mounts | sort -r | xargs --no-run-if-empty umount'
  rm -rf "${node_root:?}"/run/*
}

start_gpu_node() {
  start_node
  make_agent_identity
  write_cards
  start_agent
}

stop_node() {
  local name
  for name in tangram-node tangram-launcher kubelet nvidia-nri containerd node; do stop "$name"; done
  kill_groups
  remove_groups
}
