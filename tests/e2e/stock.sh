# shellcheck shell=bash
# What stock GPU nodes have, on the node of node.sh: NVIDIA's driver as packages of the host or in a driver container, and
# NVIDIA's container toolkit, installed by its own installer. Sourced by scripts/e2e after node.sh.

stock_driver=550.54.15
stock_folder=$node_root/stock
toolkit_folder=$node_root/nvidia

# --- the driver ----------------------------------------------------------------------------------

is_mount() { in_node mountpoint --quiet "$1"; }

# What the kernel's modules show, in the node's namespace. The folders are there on every machine, and empty or of no use
# to the node's programs.
show_kernel_side() {
  local kernel=$stock_folder/kernel minor
  mkdir -p "$kernel/module/nvidia"
  echo "$stock_driver" >"$kernel/module/nvidia/version"
  { sed '/^Block/,$d' /proc/devices && printf '195 nvidia\n508 nvidia-uvm\n\nBlock devices:\n'; } >"$kernel/devices"
  for minor in {0..7}; do
    mkdir -p "$kernel/driver/nvidia/gpus/$minor"
    printf 'GPU UUID: \t %s\nDevice Minor: \t %s\n' "$(jq --raw-output ".cards[$minor].uuid" "$node_root/cards.json")" \
      "$minor" >"$kernel/driver/nvidia/gpus/$minor/information"
  done
  is_mount /sys/module || in_node mount --bind "$kernel/module" /sys/module
  is_mount /proc/driver || in_node mount --bind "$kernel/driver" /proc/driver
  is_mount /proc/devices || in_node mount --bind "$kernel/devices" /proc/devices
}

# The libraries of compute. NVML is the fake one: NVIDIA's runtime asks it.
write_driver() { # FOLDER
  local library
  mkdir -p "$1"
  for library in libcuda libnvidia-ml libnvidia-ptxjitcompiler; do
    echo "of the driver" >"$1/$library.so.$stock_driver"
    ln -sf "$library.so.$stock_driver" "$1/$library.so.1"
  done
  cp "$repo_root/build/release/tests/fake_nvml/libnvidia-ml.so.1" "$1/libnvidia-ml.so.$stock_driver"
}

# Where packages of Debian and Ubuntu have libraries, and below the root of a driver container.
place_driver() { # host|container|none
  local libraries=/usr/lib/x86_64-linux-gnu
  rm -rf "$node_root/run/nvidia/driver"
  if is_mount $libraries; then in_node umount --lazy $libraries; fi
  case $1 in
    host)
      write_driver "$stock_folder/host"
      in_node mount -t overlay -o "lowerdir=$stock_folder/host:$libraries" overlay $libraries
      ;;
    container) write_driver "$node_root/run/nvidia/driver$libraries" ;;
    none) return 0 ;;
    *) die "the driver cannot be in \"$1\"" ;;
  esac
  show_kernel_side
}

driver_root() {
  if [ -d "$node_root/run/nvidia/driver" ]; then echo /run/nvidia/driver; else echo /; fi
}

# --- the toolkit ---------------------------------------------------------------------------------

# What the toolkit's container has. libnvidia-container is C, no Go module: stand-ins take its place, and its command fails.
# Only the mode `legacy` runs it, which the toolkit's own mode `auto` does not choose any more.
make_toolkit_source() {
  local source=$stock_folder/toolkit name
  mkdir -p "$source/usr/bin" "$source/usr/lib64"
  for name in "${nvidia_toolkit[@]}"; do cp "$(program "$name")" "$source/usr/bin/"; done
  printf '#!/bin/sh\necho "nvidia-container-cli is not on this machine" >&2\nexit 1\n' >"$source/usr/bin/nvidia-container-cli"
  chmod +x "$source/usr/bin/nvidia-container-cli"
  touch "$source"/usr/lib64/libnvidia-container{,-go}.so.1
  # The installed wrappers start NVIDIA's runtime only if /proc/modules names its driver, and not every kernel has it.
  mkdir -p "$stock_folder/bin"
  # shellcheck disable=SC2016 # of the script
  printf '#!/bin/sh\n[ "$*" != /proc/modules ] || { echo "nvidia 1 0 - Live 0x0" && exit; }\nexec /bin/cat "$@"\n' \
    >"$stock_folder/bin/cat"
  chmod +x "$stock_folder/bin/cat"
}

# As the toolkit's container runs it.
toolkit_installer() { # ARGUMENT...
  echo "$(program nvidia-ctk-installer)" --runtime containerd --toolkit-install-dir "$toolkit_folder" \
    --toolkit-source-root "$stock_folder/toolkit" --driver-root "$(driver_root)" \
    --driver-root-ctr-path "$(driver_root)" --dev-root / --dev-root-ctr-path / \
    --nvidia-container-runtime.debug "$state/logs/nvidia-container-runtime.log" "$@"
}

# Adds NVIDIA's runtimes to containerd's configuration.
install_toolkit() { # runc|nvidia: the default runtime; the mode of NVIDIA's; the prefix of annotations that it heeds
  local as_default=false
  [ "$1" != nvidia ] || as_default=true
  [ -d "$stock_folder/toolkit" ] || make_toolkit_source
  mkdir -p "$node_root/conf.d"
  # shellcheck disable=SC2046 # one argument each
  in_node $(toolkit_installer --no-daemon --config "$node_root/containerd.toml" \
    --drop-in-config "$node_root/conf.d/99-nvidia.toml" --config-source file --restart-mode none \
    --set-as-default=$as_default --nvidia-container-runtime.mode "$2" \
    --nvidia-container-runtime.modes.cdi.annotation-prefixes "$3" \
    --nvidia-container-runtime-modes.cdi.annotation-prefixes "$3") >"$state/logs/nvidia-ctk-installer.log" 2>&1 ||
    die "the toolkit's installer failed; its output is in $state/logs/nvidia-ctk-installer.log"
}

# The toolkit's plugin of containerd's NRI.
start_nri_plugin() {
  # shellcheck disable=SC2046 # one argument each
  start_in_node nvidia-nri $(toolkit_installer --enable-nri-plugin --nri-namespace gpu-operator)
  wait_for nvidia-nri grep --quiet "Waiting for signal" "$state/logs/nvidia-nri.log"
}
