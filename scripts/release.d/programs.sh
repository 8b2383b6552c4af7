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
# Debian's packages that programs for arm64 are compiled and linked with.
# shellcheck disable=SC2034 # for those that source this
arm64_libraries=(
  libc6-dev libstdc++-12-dev libboost1.81-dev rapidjson-dev libcurl4-openssl-dev libssl-dev prometheus-cpp-dev
  libyaml-cpp-dev libcli11-dev libspdlog-dev zlib1g-dev libgtest-dev libgmock-dev libbenchmark-dev
  libgrpc++-dev libprotobuf-dev
)

# stage_programs STRIP BUILD FOLDER: copies them without what only debuggers read.
stage_programs() {
  local file
  for file in "${release_files[@]}"; do
    mkdir -p "$3/${file%/*}"
    "$1" -o "$3/$file" "$2/$file"
  done
}
