# shellcheck shell=bash
# Runs a check on our C++ sources; sourced, after lib.sh, by tidy and check-gcc.
#
#   check_sources PRESET BASE FUNCTION
#                            calls the function, which is exported, with each file of sources_of, several at a time;
#                            fails if one call does
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
  jq --exit-status --raw-output --arg root "$repo_root/" --arg build "$repo_root/build/" '
    [.[].file | select(startswith($root) and (startswith($build) | not)) | ltrimstr($root)] | unique |
    if length > 0 then .[] else false end' "build/$1/compile_commands.json" ||
    die "the compile database of the preset $1 has no file of $repo_root"
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
  jq --exit-status --raw-output --arg file "$repo_root/$2" 'map(select(.file == $file))[0].command' \
    "build/$1/compile_commands.json"
}

check_sources() { # PRESET BASE FUNCTION
  local files
  build "$1" generated_sources >/dev/null
  files=$(sources_of "$1" "$2") || return
  [ -z "$2" ] || echo "$script_name: changes since $(repo_git rev-parse --short "$2")"
  [ -n "$files" ] || { echo "$script_name: no C++ file changed" && return; }
  echo "$script_name: $(wc -l <<<"$files") files"
  export repo_root
  export -f compile_command "$3"
  xargs --delimiter='\n' --max-args=1 --max-procs="$(build_jobs)" bash -o pipefail -c '"$@"' "$script_name" "$3" <<<"$files" ||
    die "there are findings; see above"
}
