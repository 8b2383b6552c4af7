"""Runs commands of the documentation in the environment that environment.sh has prepared.

    run_blocks.py NAME RESULTS PAGE...    NAME: of the environment; RESULTS: a folder

Prints a line for each block, and writes its output to RESULTS/PAGE:LINE.log and the outcome to
RESULTS/outcomes. Fails if a block fails.
"""
import pathlib
import re
import subprocess
import sys
import time

import blocks

# Placeholders in the documentation, and their values here.
PLACEHOLDERS = [
    (r"\bbuild/dev/", "build/release/"),  # the preset that is built here
    (r"\bNODE\b", "a100-a"),
    (r"\bUUID\b", "GPU-3c1d4205-205a-5207-ad00-c6d239a9fbf4"),  # the first card of that node
    (r"\bPOD\b", "waiting"),
    (r"\bNS\b", "default"),
    (r"\bNAME\b", "team-a"),
    (r"\bGROUP\b", "gpu-users"),
    (r"\bADDRESS\b", "10.96.0.42"),
    (r"\bYOURS\.yaml", "deploy/chart/examples/eks.yaml"),
    (r"GPU-5f2a…", "GPU-3c1d4205-205a-5207-ad00-c6d239a9fbf4"),
    (r"tangram-node-…", "$(kubectl -n tangram-system get pods -o name | grep -m1 /tangram-node-)"),
    (r"helm upgrade …", "helm upgrade tangram deploy/chart/tangram --namespace tangram-system"),
    (r"&& helm install …", "&& echo there is room"),
]

BLOCK_SECONDS = 300
# Commands that only read. They are repeated until they print something, as a reader would.
READS = re.compile(r"(kubectl( --?n(amespace)? ?\S+)* (get (?!events)|describe|logs|tangram (top|pods|explain|doctor))|curl -sk? )")
# Table headings in a transcript.
HEADING = re.compile(r"[A-Z#]+(\s+([A-Z#]+|GiB))+")

PRELUDE = r"""
set -eo pipefail
export FORWARDED=$(mktemp -u)
listening() { cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == "0A"' | wc -l; }
listeners=$(listening)
# Waits until a command in the background listens.
await_listening() {
  for ((tries = 0; tries < 600; tries++)); do
    if [ -e "$FORWARDED" ] || [ "$(listening)" -gt "$listeners" ]; then
      rm -f "$FORWARDED"
      listeners=$(listening)
      return
    fi
    kill -0 $! 2>/dev/null || break
    sleep 0.1
  done
  echo "run_blocks: the command does not listen" >&2
  return 1
}
retry() { # COMMAND
  local output status
  for ((tries = 0; tries < 60; tries++)); do
    status=0
    output=$(eval "$1" 2>"$FORWARDED.errors") || status=$?
    if [ "$status" -eq 0 ] && [ -n "$output" ]; then break; fi
    sleep 0.5
  done
  printf '%s\n' "$output"
  cat "$FORWARDED.errors" >&2 && rm "$FORWARDED.errors"
  if [ -z "$output" ]; then echo "run_blocks: the command prints nothing" >&2 && return 1; fi
  return "$status"
}
"""


def split(text):
    """The single commands: collects lines until bash accepts them as complete."""
    found, pending = [], []
    for line in text.splitlines():
        pending.append(line)
        done = subprocess.run(["bash", "-n"], input="\n".join(pending) + "\n", capture_output=True, text=True)
        if done.returncode == 0 and not done.stderr and not line.endswith(("\\", "|")):
            found.append("\n".join(pending))
            pending = []
    return found + (["\n".join(pending)] if pending else [])


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def prepared(command, block):
    if block.mark.goes_on:
        return "{ " + command + "\n} &\nawait_listening"
    if command.rstrip().endswith("&"):
        return command + "\nawait_listening"
    if block.is_transcript:
        # Exit 3 is the answer "no": docs/cli.md.
        return "{ " + command + "\n} || [ $? -eq 3 ]"
    if READS.match(command):
        return "retry " + quoted(command)
    return command + "\n[ $? -eq 0 ]"  # because "false && b" does not end the block


def script_of(block):
    text = block.commands
    for pattern, value in PLACEHOLDERS:
        text = re.sub(pattern, lambda _: value, text)
    lines = [PRELUDE]
    for command in split(text):
        if command.strip():
            lines += ["printf '$ %s\\n' " + quoted(command), prepared(command, block)]
    return "\n".join(lines)


def missing_heading(block, output):
    """A heading of the transcript's table that the program does not print."""
    printed = {" ".join(line.split()) for line in output.splitlines()}
    for line in block.text.splitlines():
        words = " ".join(line.split())
        if HEADING.fullmatch(words) and words not in printed:
            return words
    return ""


def missing_line(block, output):
    """A line of the page that the command does not print."""
    lines = [line.rstrip() for line in block.text.splitlines()]
    printed = [line.rstrip() for line in output.splitlines()]
    if any(printed[i:i + len(lines)] == lines for i in range(len(printed))):
        return ""
    return next((line for line in lines if line not in printed), lines[0])


def run(script, log):
    with open(log, "wb") as out:
        process = subprocess.Popen(["bash", "-c", script], cwd=blocks.ROOT, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, start_new_session=True)
        try:
            return process.wait(BLOCK_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out.write(f"run_blocks: not finished after {BLOCK_SECONDS} s\n".encode())
            return 124


def fault_of(step, log):
    """Runs the step; returns what failed, or nothing."""
    if isinstance(step, blocks.ManualStep):
        status = run(f"source tests/docs/manual_steps.sh; {step.name}", log)
        return f"exit {status}" if status else ""
    status = run(script_of(step), log)
    if status:
        return f"exit {status}"
    output, missing = log.read_text(errors="replace"), ""
    if step.mark.kind == "printed by":
        missing = missing_line(step, output)
    elif step.is_transcript:
        missing = missing_heading(step, output)
    return f"does not print: {missing}" if missing else ""


def main():
    name, results = sys.argv[1], pathlib.Path(sys.argv[2])
    steps = [step for file in sys.argv[3:] for step in blocks.read(file)]
    environment = next(one for one in blocks.environments(steps) if one.name == name)
    failed = False
    for step in [*environment.before, *environment.steps]:
        counted = step in environment.steps and isinstance(step, blocks.Block)
        place = f"{step.file}:{step.line}"
        log = results / (place.replace("/", "_") + ".log")
        start = time.monotonic()
        fault = fault_of(step, log)
        took = f"{time.monotonic() - start:.1f} s"
        if fault:
            failed = True
            print(f"{place}  FAILED  {took}  {fault}\n{log.read_text(errors='replace')}", flush=True)
        elif counted:
            print(f"{place}  passed  {took}", flush=True)
        if counted:
            with open(results / "outcomes", "a") as outcomes:
                outcomes.write(f"{'failed' if fault else 'passed'} {place}\n")
        elif fault:
            break  # the steps after it depend on it
    sys.exit(failed)


if __name__ == "__main__":
    main()
