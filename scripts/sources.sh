# shellcheck shell=bash
# Which of our C++ sources a check looks at; sourced, after lib.sh, by tidy and check-gcc.
#
#   default_base             the commit whose changes are looked at: origin/main; on it, or without a remote, the
#                            previous commit; without one, nothing
#   sources_of PRESET BASE   the sources that the preset compiles, one per line; with a base only those that changed
#                            since, uncommitted changes included. Not those that the build generates

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
  jq -r --arg root "$repo_root/" --arg build "$repo_root/build/" \
    '.[].file | select(startswith($root) and (startswith($build) | not)) | ltrimstr($root)' \
    "build/$1/compile_commands.json" | sort -u
}

sources_of() { # PRESET BASE
  if [ -z "$2" ]; then
    compiled_sources "$1"
  else
    comm -12 <(compiled_sources "$1") <(changed_sources "$2" | sort -u)
  fi
}

# compile_command PRESET FILE: how the preset compiles it.
compile_command() {
  jq --exit-status --raw-output --arg file "$repo_root/$2" 'map(select(.file == $file))[0].command' \
    "build/$1/compile_commands.json"
}
