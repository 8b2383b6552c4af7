# shellcheck shell=bash
# Compiles the programs of Kubernetes from pinned Go modules; sourced by scripts/e2e.
#
#   program NAME            prints the path of the program
#   build_programs NAME...  compiles the missing programs
#   demand_tools NAME...    ends the script, before anything is compiled, if the machine lacks a command that
#                           compiling or running those programs needs
#   kubernetes_versions     prints the versions of Kubernetes that the modules pin, "1.30.14", one a line
#   use_kubernetes 1.30     chooses the control plane's version for this script and those that it starts
#
# The programs are in a cache outside the tree, with a folder for each version of a module's files, so all
# checkouts of the same versions share them. Compiling all programs takes about 15 minutes on two cores.

e2e_cache=${TANGRAM_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tangram-e2e}
go_modules=$repo_root/tests/e2e/go

control_plane=(etcd kube-apiserver kube-controller-manager kube-scheduler kubectl)
other_schedulers=(kube-scheduler-1.28 1.37/kube-scheduler) # the oldest and the newest that we support
autoscalers=(karpenter-kwok)
node_programs=(kubelet containerd containerd-shim-runc-v2 ctr)
older_containerd=(1.7/containerd 1.7/containerd-shim-runc-v2 1.7/ctr)
nvidia_toolkit=(nvidia-ctk nvidia-ctk-installer nvidia-cdi-hook nvidia-container-runtime nvidia-container-runtime.cdi
  nvidia-container-runtime.legacy nvidia-container-runtime-hook)
chart_programs=(helm)

# MODULE -> the version of Kubernetes that it pins, "1.36.3"; nothing if it pins none.
pinned_kubernetes() {
  sed -n 's#^.*k8s.io/kubernetes v\([0-9.]*\)$#\1#p' "$go_modules/$1/go.mod" | head -n 1
}

kubernetes_versions() {
  local module
  for module in "$go_modules"/kubernetes*; do pinned_kubernetes "${module##*/}"; done | sort -V
}

use_kubernetes() { # MAJOR.MINOR
  local minor=$1 current
  kubernetes_versions | grep --quiet "^${minor//./\\.}\." ||
    die "no module pins Kubernetes $minor; there are: $(kubernetes_versions | paste -sd ' ')"
  current=$(pinned_kubernetes kubernetes)
  [ "$minor" != "${current%.*}" ] || minor=
  export TANGRAM_E2E_KUBERNETES=$minor
}

# NAME -> "MODULE PACKAGE". $TANGRAM_E2E_KUBERNETES chooses the version of the control plane; VERSION/NAME is a program
# of that version.
source_of() {
  case $1 in
    etcd) echo kubernetes go.etcd.io/etcd/server/v3 ;;
    kube-scheduler-*) echo "${1#kube-}" k8s.io/kubernetes/cmd/kube-scheduler ;;
    kube-*)
      echo "kubernetes${TANGRAM_E2E_KUBERNETES:+-$TANGRAM_E2E_KUBERNETES}" "k8s.io/kubernetes/cmd/$1"
      ;;
    1.*/kube-*) echo "kubernetes-${1%/*}" "k8s.io/kubernetes/cmd/${1#*/}" ;;
    kubectl | kubelet) echo kubernetes "k8s.io/kubernetes/cmd/$1" ;;
    karpenter-kwok) echo karpenter sigs.k8s.io/karpenter/kwok ;;
    containerd | containerd-shim-runc-v2 | ctr)
      echo containerd "github.com/containerd/containerd/v2/cmd/$1"
      ;;
    1.7/*) echo containerd-1.7 "github.com/containerd/containerd/cmd/${1#1.7/}" ;;
    nvidia-*) echo nvidia "github.com/NVIDIA/nvidia-container-toolkit/cmd/$1" ;;
    helm) echo helm helm.sh/helm/v3/cmd/helm ;;
    *) die "no program \"$1\"" ;;
  esac
}

# MODULE -> its folder in the cache, named by a hash of its sources.
module_cache() {
  local hash
  hash=$(cat "$go_modules/$1/go.mod" "$go_modules/$1/go.sum" | sha256sum | cut -c1-12)
  echo "$e2e_cache/$1-$hash"
}

program() {
  local module package name=$1
  read -r module package < <(source_of "$1")
  : "$package"
  case $module in kubernetes-*) name=${1#*/} ;; esac
  echo "$(module_cache "$module")/bin/$name"
}

# Kubernetes reports its version from these variables, which its own build system sets. NVIDIA's programs link NVML when
# they use it.
link_flags() { # MODULE
  local version rest
  version=$(pinned_kubernetes "$1")
  echo -n "-s -w"
  [ "$1" != nvidia ] || echo -n " '-extldflags=-Wl,--unresolved-symbols=ignore-in-object-files -Wl,-z,lazy'"
  [ -n "$version" ] || return 0
  rest=${version#1.}
  local variables=k8s.io/component-base/version
  echo -n " -X $variables.gitVersion=v$version -X $variables.gitMajor=1"
  echo -n " -X $variables.gitMinor=${rest%%.*} -X $variables.gitTreeState=clean"
}

# --- Go itself -----------------------------------------------------------------------------------

# New enough for every module here. The sums are those of the archives that module proxies serve.
readonly own_go=1.26.8
declare -Ar own_go_sums=(
  [amd64]=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7
  [arm64]=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99
)

# The module proxy that Go asks first; nothing where that is a module's own host, or GOPROXY is off.
go_proxy() {
  local first
  first=$(go env GOPROXY)
  first=${first%%[,|]*}
  case $first in direct | off) ;; *) echo "${first%/}" ;; esac
}

go_is_enough() { # GO
  local has wants
  has=$("$1" env GOVERSION 2>/dev/null) || return 1
  wants=$(sed -n 's/^go //p' "$go_modules"/*/go.mod | sort -V | tail -n 1)
  [ "$(printf '%s\n' "$wants" "${has#go}" | sort -V | head -n 1)" = "$wants" ]
}

fetch_go() { # prints the path of the go command
  local arch=amd64 folder name zip proxy
  [ "$(uname -m)" = x86_64 ] || arch=arm64
  folder=$e2e_cache/go-$own_go
  if [ ! -x "$folder/bin/go" ]; then
    echo "e2e: fetching Go $own_go, because this machine's is missing or older" >&2
    proxy=$(go_proxy)
    [ -n "$proxy" ] || die "cannot fetch Go $own_go: go env GOPROXY names no proxy; install a newer Go"
    mkdir -p "$e2e_cache"
    name=v0.0.1-go$own_go.linux-$arch
    zip=$e2e_cache/$name.zip
    curl --fail --silent --show-error --location --retry 3 --output "$zip" \
      "$proxy/golang.org/toolchain/@v/$name.zip" || die "cannot fetch Go from the proxy of go env GOPROXY"
    echo "${own_go_sums[$arch]}  $zip" | sha256sum --check --quiet >&2 ||
      die "$zip has another checksum; remove it and try again"
    rm -rf "$folder.part" "$folder"
    unzip -q "$zip" -d "$folder.part"
    # Module archives have no file modes.
    chmod +x "$folder.part/golang.org/toolchain@$name"/{bin/*,pkg/tool/*/*}
    mv "$folder.part/golang.org/toolchain@$name" "$folder"
    rm -r "$folder.part" "$zip"
  fi
  echo "$folder/bin/go"
}

go_command() {
  if go_is_enough go; then command -v go; else fetch_go; fi
}

# --- the machine's own commands ------------------------------------------------------------------

demand_tools() { # NAME...
  local tool tools=(curl openssl jq) missing=()
  case " $* " in *" containerd "*) tools+=(runc) ;; esac
  if [ -n "$(missing_programs "$@")" ]; then
    tools+=(go)
    go_is_enough go || tools+=(unzip) # for a newer one
  fi
  for tool in "${tools[@]}"; do command -v "$tool" >/dev/null || missing+=("$tool"); done
  [ ${#missing[@]} -eq 0 ] || die "these commands are missing: ${missing[*]}; run scripts/install-deps --dev"
}

# --- building ------------------------------------------------------------------------------------

missing_programs() { # NAME...
  local name
  for name in "$@"; do [ -x "$(program "$name")" ] || echo "$name"; done
}

build_programs() {
  local missing
  mapfile -t missing < <(missing_programs "$@")
  [ ${#missing[@]} -gt 0 ] || return 0

  mkdir -p "$e2e_cache"
  # One builder at a time, because a second one would do the same work.
  exec {lock}>"$e2e_cache/lock"
  flock --nonblock "$lock" || {
    echo "e2e: waiting for another build in $e2e_cache" >&2
    flock "$lock"
  }
  mapfile -t missing < <(missing_programs "$@")
  local go number=0 name
  go=$(go_command)
  for name in "${missing[@]}"; do
    number=$((number + 1))
    echo "e2e: compiling $name ($number of ${#missing[@]})"
    build_program "$go" "$name"
  done
  exec {lock}>&-
}

# Karpenter's kinds of objects, which its program needs in the cluster.
keep_definitions() { # GO FOLDER
  local sources
  sources=$(cd "$go_modules/karpenter" && "$1" list -m -f '{{.Dir}}' sigs.k8s.io/karpenter)
  mkdir -p "$2"
  install --mode 644 "$sources"/{pkg,kwok}/apis/crds/*.yaml "$2"
}

build_program() { # GO NAME
  local go=$1 name=$2 module package target start=$SECONDS
  read -r module package < <(source_of "$name")
  target=$(program "$name")
  mkdir -p "${target%/*}"
  local log=${target%/bin/*}/${name//\//-}.log cgo=0
  [ "$module" != nvidia ] || cgo=1
  (
    cd "$go_modules/$module"
    env CGO_ENABLED=$cgo GOTOOLCHAIN=local GOWORK=off GOFLAGS=-buildvcs=false \
      "$go" build -trimpath -ldflags "$(link_flags "$module")" -o "$target.part" "$package"
  ) >"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    die "$name does not compile; the output is in $log"
  }
  [ "$module" != karpenter ] || keep_definitions "$go" "${target%/bin/*}/crds"
  mv "$target.part" "$target"
  echo "e2e: compiled $name in $((SECONDS - start)) s"
}
