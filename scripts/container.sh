# shellcheck shell=bash
# Runs programs as a container has them: with a stand-in library in the place of a driver's library, the driver's own
# beside the pages of the container. Sourced, after lib.sh; the caller has a folder $work.
#
#   container_of LIBRARY DRIVER STAND-IN   DRIVER is the file of the driver's own library, STAND-IN the name of the
#                                          folder in build/release/shim; then chooses between the next two
#   at_real_paths COMMAND...               as root: in a mount namespace of its own, all files where a container has them
#   in_folder COMMAND...                   else: the tests' stand-in, which has its root in the current folder
#   in_container COMMAND...                the chosen one; $container_place says which that is
#   bare COMMAND...                        over the driver's own library
#   container_share=(CARD-UUID LIMIT-MIB USED-MIB)
#   container_writable=usage               if its processes account memory

# Where the dynamic loader finds the driver's libraries, and the stand-in its files.
readonly container_libraries=/usr/lib/x86_64-linux-gnu
readonly container_root=/usr/local/tangram
container_writable=

bare() { LD_LIBRARY_PATH=$work/tangram/driver "$@"; }

with_share() { # FOLDER COMMAND...
  local folder=$1
  shift
  "$repo_root/build/release/bin/tangram-run-with-share" "$folder" "${container_share[@]}" "$@"
}

# Nothing else can be written below the root, so the stand-in has to do without that.
at_real_paths() {
  with_share "$work/tangram" unshare --mount bash -euc '
    work=$1 libraries=$2 root=$3 writable=$4
    shift 4
    mount -t overlay overlay -o "lowerdir=$work/overlay$libraries:$libraries" "$libraries"
    mount -t overlay overlay -o "lowerdir=$work/overlay/usr/local:/usr/local" /usr/local
    mount --bind "$work/tangram" "$root"
    mount -o remount,bind,ro "$root"
    [ -z "$writable" ] || mount --bind "$work/tangram/$writable" "$root/$writable"
    exec "$@"' bash "$work" "$container_libraries" "$container_root" "$container_writable" "$@"
}

in_folder() {
  local stand_in=$repo_root/build/release/shim/test_$container_stand_in
  (cd "$work" && LD_LIBRARY_PATH=$stand_in with_share tangram "$@")
}

container_of() {
  local library=$1 driver=$2
  container_stand_in=$3
  mkdir -p "$work/tangram/driver" "$work/overlay$container_libraries" "$work/overlay$container_root"
  cp "$driver" "$work/tangram/driver/$library"
  cp "build/release/shim/$container_stand_in/$library" "$work/overlay$container_libraries"
  if at_real_paths test -e "$container_root/limits" 2>"$work/mounts.log"; then
    container_run=at_real_paths
    container_place="mounted at the real paths"
    echo "the stand-in is mounted at $container_libraries/$library, its files at $container_root"
  else
    container_run=in_folder
    container_place="found through LD_LIBRARY_PATH"
    echo "the stand-in is found through LD_LIBRARY_PATH: cannot mount ($(tail -n 1 "$work/mounts.log"))"
  fi
}

in_container() { "$container_run" "$@"; }
