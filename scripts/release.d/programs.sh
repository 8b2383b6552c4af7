# shellcheck shell=bash
# What a release contains of the build, for scripts/release and build-arm64; sourced, after lib.sh.

# shellcheck disable=SC2034 # for those that source this
release_targets=(
  tangram-extender tangram-node tangram-memory-hook tangram-launcher stand_in_cuda stand_in_nvml kubectl-tangram
)
release_files=(
  bin/tangram-extender bin/tangram-node bin/tangram-memory-hook bin/tangram-launcher bin/kubectl-tangram
  shim/stand_in_cuda/libcuda.so.1 shim/stand_in_nvml/libnvidia-ml.so.1
)

# stage_programs STRIP BUILD FOLDER: copies them without what only debuggers read.
stage_programs() {
  local file
  for file in "${release_files[@]}"; do
    mkdir -p "$3/${file%/*}"
    "$1" -o "$3/$file" "$2/$file"
  done
}
