# shellcheck shell=bash
# Runs a list of stages and counts their results; sourced, after lib.sh, by .ci/run and check-all.
#
#   stage NAME COMMAND...   runs the command, a program or a function, with output to build/logs/NAME.log.
#                           Exit 77 means skipped; the last line of the output is the reason.
#                           If stages_wanted has names, other stages are left out.
#   finish                  prints the skipped stages, the causes of failures, and
#                           "N passed, N failed, N skipped", and exits, with 1 if a stage failed.
#
# Stages after a failed one still run, so that one run reports every failure.

readonly skipped_status=77
stages_wanted=()
declare -A stages_met=()
stages_passed=0
stages_failed=()
stages_skipped=()
mkdir -p build/logs

# skip REASON: ends a stage that is a function as skipped.
skip() {
  echo "$*"
  exit "$skipped_status"
}

stage() {
  local name=$1 log=build/logs/$1.log
  shift
  stages_met[$name]=1
  [ ${#stages_wanted[@]} -eq 0 ] || [[ " ${stages_wanted[*]} " == *" $name "* ]] || return 0
  echo "==> $name"
  local start=$SECONDS status=0
  # Not in a condition, where bash ignores set -e.
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  status=$?
  set -e
  local took=$((SECONDS - start))

  case $status in
    0)
      stages_passed=$((stages_passed + 1))
      grep -E 'tests passed,|^Total Test time' "$log" || tail -n 1 "$log"
      echo "$name: passed in $took s"
      ;;
    "$skipped_status")
      stages_skipped+=("$name: not run ($(tail -n 1 "$log"))")
      echo "${stages_skipped[-1]}"
      ;;
    *)
      stages_failed+=("$name")
      tail -n 150 "$log"
      echo "$name: FAILED in $took s, exit $status; its output is in $log"
      ;;
  esac
}

# causes_in LOG: the lines that tell why a stage failed, and its last ones. They are printed once more at
# the end, because some viewers of CI show only the end of its output.
causes_in() {
  local causes='Failure$|Sanitizer:|runtime error:|\berror:|\*\*\*Failed|^--- FAIL'
  grep --extended-regexp --after-context=4 --max-count=4 "$causes" "$1" | head -n 20
  tail -n 8 "$1"
}

finish() {
  echo
  local name
  for name in "${stages_failed[@]}"; do
    echo "failed: $name"
    causes_in "build/logs/$name.log" | cut -c 1-300 | sed 's/^/  /'
  done
  for name in "${stages_wanted[@]}"; do
    [ -n "${stages_met[$name]:-}" ] || {
      echo "failed: $name is not a stage; the stages are: ${!stages_met[*]}"
      stages_failed+=("$name")
    }
  done
  echo "$SECONDS s in total"
  if [ ${#stages_skipped[@]} -gt 0 ]; then
    printf '%s\n' "${stages_skipped[@]}"
  else
    echo "no stage was skipped"
  fi
  [ ${#stages_wanted[@]} -eq 0 ] || echo "other stages were left out on request"
  echo "$stages_passed passed, ${#stages_failed[@]} failed, ${#stages_skipped[@]} skipped"
  [ ${#stages_failed[@]} -eq 0 ] || exit 1
  exit 0
}
