"""Runs commands of the documentation in the world that world.sh has made.

    play.py NAME RESULTS FILE...    the world's name, a folder, the pages

Writes a line for each block as it ends, its output to RESULTS/PAGE:LINE.log, and the outcome to
RESULTS/outcomes. Fails if a block did.
"""
import pathlib
import re
import subprocess
import sys
import time

import blocks

# What stands in the documentation for something of the reader's.
PLACEHOLDERS = [
    (r"\bbuild/dev/", "build/release/"),  # the preset that is built here
    (r"\bNODE\b", "a100-a"),
    (r"\bUUID\b", "GPU-3c1d4205-205a-5207-ad00-c6d239a9fbf4"),  # the first card of that node
    (r"\bPOD\b", "waiting"),
    (r"\bNS\b", "default"),
    (r"\bNAME\b", "team-a"),
    (r"\bGROUP\b", "gpu-users"),
    (r"\bADDRESS\b", "10.96.0.42"),
    (r"\bYOURS\.yaml", "deploy/chart/examples/policies-only.yaml"),
    (r"GPU-5f2a…", "GPU-3c1d4205-205a-5207-ad00-c6d239a9fbf4"),
    (r"tangram-node-…", "$(kubectl -n tangram-system get pods -o name | grep -m1 /tangram-node-)"),
    (r"helm upgrade …", "helm upgrade tangram deploy/chart/tangram --namespace tangram-system"),
    (r"&& helm install …", "&& echo there is room"),
]

BLOCK_SECONDS = 300
# Commands that only look. A reader looks again until something is there.
LOOKS = re.compile(r"(kubectl( --?n(amespace)? ?\S+)* (get (?!events)|describe|logs|tangram (top|pods|explain|doctor))|curl -sk? )")
# Table headings in what a transcript shows.
HEADING = re.compile(r"[A-Z#]+(\s+([A-Z#]+|GiB))+")

PRELUDE = r"""
set -eo pipefail
export FORWARDED=$(mktemp -u)
listening() { cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == "0A"' | wc -l; }
listeners=$(listening)
# After a command that goes on: until it listens.
settle() {
  for ((tries = 0; tries < 600; tries++)); do
    if [ -e "$FORWARDED" ] || [ "$(listening)" -gt "$listeners" ]; then
      rm -f "$FORWARDED"
      listeners=$(listening)
      return
    fi
    kill -0 $! 2>/dev/null || break
    sleep 0.1
  done
  echo "play: it does not listen" >&2
  return 1
}
look() { # COMMAND
  local said status
  for ((tries = 0; tries < 60; tries++)); do
    status=0
    said=$(eval "$1" 2>"$FORWARDED.errors") || status=$?
    if [ "$status" -eq 0 ] && [ -n "$said" ]; then break; fi
    sleep 0.5
  done
  printf '%s\n' "$said"
  cat "$FORWARDED.errors" >&2 && rm "$FORWARDED.errors"
  if [ -z "$said" ]; then echo "play: it prints nothing" >&2 && return 1; fi
  return "$status"
}
"""


def split(text):
    """Command by command: lines, until bash has all of one."""
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


def as_played(command, block):
    if block.mark.goes_on:
        return "{ " + command + "\n} &\nsettle"
    if command.rstrip().endswith("&"):
        return command + "\nsettle"
    if block.is_transcript:
        # An answer "no" is one, too: docs/cli.md.
        return "{ " + command + "\n} || [ $? -eq 3 ]"
    if LOOKS.match(command):
        return "look " + quoted(command)
    return command + "\n[ $? -eq 0 ]"  # "false && b" would not end the block


def script_of(block):
    text = block.commands
    for pattern, value in PLACEHOLDERS:
        text = re.sub(pattern, lambda _: value, text)
    lines = [PRELUDE]
    for command in split(text):
        if command.strip():
            lines += ["printf '$ %s\\n' " + quoted(command), as_played(command, block)]
    return "\n".join(lines)


def missing_heading(block, said):
    """A transcript's table has the headings that the program prints."""
    printed = {" ".join(line.split()) for line in said.splitlines()}
    for line in block.text.splitlines():
        words = " ".join(line.split())
        if HEADING.fullmatch(words) and words not in printed:
            return words
    return ""


def missing_line(block, said):
    """What stands there is a part of what the command prints."""
    lines = [line.rstrip() for line in block.text.splitlines()]
    printed = [line.rstrip() for line in said.splitlines()]
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
            out.write(f"play: not through after {BLOCK_SECONDS} s\n".encode())
            return 124


def play(step, log):
    """What is wrong; nothing if it went well."""
    if isinstance(step, blocks.Hand):
        status = run(f"source tests/docs/hands.sh; {step.name}", log)
        return f"exit {status}" if status else ""
    status = run(script_of(step), log)
    if status:
        return f"exit {status}"
    said, missing = log.read_text(errors="replace"), ""
    if step.mark.kind == "printed by":
        missing = missing_line(step, said)
    elif step.is_transcript:
        missing = missing_heading(step, said)
    return f"prints no such line: {missing}" if missing else ""


def main():
    name, results = sys.argv[1], pathlib.Path(sys.argv[2])
    steps = [step for file in sys.argv[3:] for step in blocks.read(file)]
    world = next(world for world in blocks.worlds(steps) if world.name == name)
    failed = False
    for step in [*world.before, *world.steps]:
        counted = step in world.steps and isinstance(step, blocks.Block)
        place = f"{step.file}:{step.line}"
        log = results / (place.replace("/", "_") + ".log")
        start = time.monotonic()
        fault = play(step, log)
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
            break  # what comes after it has nothing to stand on
    sys.exit(failed)


if __name__ == "__main__":
    main()
