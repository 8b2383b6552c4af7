# shellcheck shell=bash
# NVIDIA's own programs for containers of the real node: nvidia-smi from Debian's component non-free, and a program with
# its static CUDA runtime from PyPI. Sourced by scripts/e2e after programs.sh and scripts/packages.sh.
#
#   add_nvidia_programs FOLDER   copies nvidia-smi, cuda_runtime and watch_lookups.so into an image's folder
#
# ${missing_nvidia_programs[@]} says of each that cannot be had why: "nvidia-smi: REASON".
# They are fetched once, into the cache of the other programs.

readonly cudart=nvidia-cuda-runtime-cu12==12.9.79
nvidia_cache=$e2e_cache/nvidia
missing_nvidia_programs=()

fetch_nvidia_smi() {
  [ ! -x "$nvidia_cache/nvidia-smi" ] || return 0
  debian_package "$work/package" "" non-free nvidia-smi || return
  cp "$work/package/usr/lib/nvidia/current/nvidia-smi" "$nvidia_cache/"
}

fetch_static_cudart() {
  [ ! -e "$nvidia_cache/libcudart_static.a" ] || return 0
  wheel "$work/cudart" "$cudart" || return
  find "$work/cudart" -name libcudart_static.a -exec cp {} "$nvidia_cache/" \;
}

add_nvidia_programs() { # FOLDER
  local work tests=$repo_root/build/release/tests/cuda_runtime
  work=$(mktemp -d)
  mkdir -p "$nvidia_cache"
  if fetch_nvidia_smi; then
    cp "$nvidia_cache/nvidia-smi" "$1/"
  else
    missing_nvidia_programs+=("nvidia-smi: $fetch_failure")
  fi
  if fetch_static_cudart; then
    build release watch_lookups print_answers >/dev/null
    c++ -o "$1/cuda_runtime" "$tests/libprint_answers.a" "$nvidia_cache/libcudart_static.a" -ldl -lpthread -lrt
    cp "$tests/watch_lookups.so" "$1/"
  else
    missing_nvidia_programs+=("cuda_runtime: $fetch_failure")
  fi
  rm -rf "$work"
}
