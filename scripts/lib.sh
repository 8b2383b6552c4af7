# shellcheck shell=bash
# Shared by the scripts in this folder and below; sourced, not run. Leaves the shell in the repository's root.
set -euo pipefail

script_path=$(cd "$(dirname "$0")" && pwd -P)/${0##*/}
repo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)  # as CMake names it
script_name=${script_path#"$repo_root"/}
script_name=${script_name#scripts/}
cd "$repo_root"
caller_folder=$OLDPWD

# from_caller PATH: what it meant where the caller is.
from_caller() { case $1 in "" | /*) echo "$1" ;; *) echo "$caller_folder/$1" ;; esac; }

# A script's help is the comment at its top.
show_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$script_path"; }

die() {
  echo "$script_name: $*" >&2
  exit 1
}

# git refuses a tree that another user owns, which is common in containers.
repo_git() { git -c safe.directory="$repo_root" "$@"; }

# Our own C++ files, tracked or new.
cpp_files() {
  repo_git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' |
    while read -r file; do [ ! -e "$file" ] || echo "$file"; done
}

# As many jobs as cores, limited by memory: the compiler takes about 1.5 GiB for a sanitized file that
# includes Beast.
build_jobs() {
  local cores by_memory
  cores=$(nproc)
  by_memory=$(awk '/^MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# Clang 14's thread sanitizer does not work with the address randomisation of recent kernels, and CMake
# runs the tests at build time to list them.
without_randomisation() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

in_preset() { # PRESET COMMAND...
  local preset=$1
  shift
  if [ "$preset" = tsan ]; then without_randomisation "$@"; else "$@"; fi
}

# configure PRESET: quiet unless it fails. Anew if the presets have changed: CMake would keep their
# earlier values, and drop them all once if the compiler is another one.
configure() {
  local fresh=()
  [ build/"$1"/CMakeCache.txt -nt CMakePresets.json ] || fresh=(--fresh)
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$repo_root
  fi
  local log
  if ! log=$(cmake --preset "$1" "${fresh[@]}" 2>&1); then
    echo "$log" >&2
    die "cmake --preset $1 failed; if packages are missing, run scripts/install-deps --dev"
  fi
}

# build PRESET [TARGET...]: builds all targets, or these.
build() {
  local preset=$1
  shift
  configure "$preset"
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  in_preset "$preset" cmake --build --preset "$preset" --parallel "$(build_jobs)" "${targets[@]}"
}

# run_ctest PRESET [ARGUMENT...]: runs every test of the preset that needs neither a cluster nor a GPU.
run_ctest() {
  local preset=$1
  shift
  in_preset "$preset" ctest --preset "$preset" --label-exclude '^(e2e|gpu)$' \
    --parallel "$(nproc)" "$@"
}

# npm_packages FOLDER: fetches the packages that its package-lock.json pins by checksum; runs none of their scripts.
npm_packages() {
  local fetched=$1/node_modules/.lock
  cmp --silent "$1/package-lock.json" "$fetched" && return
  npm --prefix "$1" ci --ignore-scripts --no-audit --no-fund >/dev/null || return
  cp "$1/package-lock.json" "$fetched"
}
