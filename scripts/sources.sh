# shellcheck shell=bash
# Which of our C++ sources a check looks at; sourced, after lib.sh, by tidy and check-gcc.
#
#   default_base             the commit whose changes are looked at: origin/main; on it, or without a remote, the
#                            previous commit; without one, nothing
#   base_of_hours N          the last commit that is N hours older than HEAD; without one, the first commit
#   sources_of PRESET BASE   the sources that the preset compiles, one per line; with a base only those that changed
#                            since, uncommitted changes included. Not those that the build generates. Fails without
#                            the commit, or if the preset compiles none of the tree

default_base() {
  local head
  head=$(repo_git rev-parse HEAD)
  local base
  for base in origin/main HEAD~1; do
    repo_git rev-parse --quiet --verify "$base^{commit}" >/dev/null || continue
    base=$(repo_git merge-base "$base" HEAD) || continue
    [ "$base" != "$head" ] || continue
    echo "$base"
    return
  done
}

base_of_hours() {
  local before base
  before=$(($(repo_git log -1 --format=%ct) - $1 * 3600))
  base=$(repo_git rev-list -1 --before="$before" HEAD)
  [ -n "$base" ] || base=$(repo_git rev-list --max-parents=0 HEAD | tail -n 1)
  echo "$base"
}

# changed_sources BASE: .cpp files, one per line; with repeats. A changed header counts as a change of every file
# that includes it directly.
changed_sources() {
  {
    repo_git diff --name-only --diff-filter=d "$1"
    repo_git ls-files --others --exclude-standard
  } | while read -r file; do
    case $file in
      *.cpp) echo "$file" ;;
      *.hpp) repo_git grep --untracked --files-with-matches --fixed-strings \
        "#include \"$file\"" -- '*.cpp' || true ;;
      .clang-tidy | */.clang-tidy) repo_git ls-files -- "${file%.clang-tidy}*.cpp" ;;
    esac
  done
}

compiled_sources() { # PRESET
  jq --exit-status --raw-output --arg root "$(pwd -P)/" --arg build "$(pwd -P)/build/" '
    [.[].file | select(startswith($root) and (startswith($build) | not)) | ltrimstr($root)] | unique |
    if length > 0 then .[] else false end' "build/$1/compile_commands.json" ||
    die "the compile database of the preset $1 has no file of $(pwd -P)"
}

sources_of() { # PRESET BASE
  local compiled changed
  compiled=$(compiled_sources "$1") || return
  if [ -z "$2" ]; then
    echo "$compiled"
    return
  fi
  repo_git rev-parse --quiet --verify "$2^{commit}" >/dev/null || die "there is no commit $2"
  changed=$(changed_sources "$2") || return
  comm -12 <(sort <<<"$compiled") <(sort -u <<<"$changed")
}

# compile_command PRESET FILE: how the preset compiles it.
compile_command() {
  jq --exit-status --raw-output --arg file "$(pwd -P)/$2" 'map(select(.file == $file))[0].command' \
    "build/$1/compile_commands.json"
}
