#!/usr/bin/env bash
# Prepares an environment for commands of the documentation and runs them in it. run.py starts it in namespaces of
# its own (mounts, network, processes): files that a command writes do not remain, every port is free, and its
# processes end with the environment.
#
#   tests/docs/environment.sh tree|cluster SCRATCH COMMAND...

kind=$1 scratch=$2
shift 2
set -euo pipefail
repo_root=$(cd "$(dirname "$0")/../.." && pwd)

over() { # FOLDER NAME: keeps later writes to the folder in memory
  mkdir -p "$scratch/layers/$2"/{upper,work}
  mount -t overlay overlay \
    -o "lowerdir=$1,upperdir=$scratch/layers/$2/upper,workdir=$scratch/layers/$2/work" "$1"
}

mount --make-rprivate /
mkdir -p "$scratch/layers"
mount -t tmpfs tmpfs "$scratch/layers"
# Only the caches of the home folder are used.
export TANGRAM_E2E_CACHE=${TANGRAM_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tangram-e2e}
export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
export HOME=$scratch/layers/home
mkdir -p "$HOME/.config/fish/completions" # as fish creates it
over "$repo_root" tree
over /etc etc
over /usr/local local
mount -t tmpfs tmpfs /run
cd "$repo_root"
rm -rf build/e2e # of the checkout; removed only in this environment

ip link set lo up
source scripts/lib.sh
programs=$scratch/layers/programs
mkdir -p "$programs"
# docs/cli.md installs it; the pages call other programs by their paths.
ln -s "$repo_root/build/release/bin/kubectl-tangram" "$programs"
command -v sudo >/dev/null || ln -s "$(command -v env)" "$programs/sudo" # all commands run as root
export PATH=$programs:$PATH

if [ "$kind" = cluster ]; then
  source tests/docs/cluster.sh
  start_cluster "$programs"
fi
"$@"
