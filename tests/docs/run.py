"""Runs the commands of the documentation, each in its environment; lists those that it does not run, and why.

    run.py tree|cluster|all RESULTS [PAGE...]
"""
import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile

import blocks

HERE = pathlib.Path(__file__).resolve().parent
# For mounts, network and processes. All processes of an environment end with its first process.
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
SKIPPED = 77  # as in scripts/stages.sh


def demand_namespaces():
    done = subprocess.run([*NAMESPACES, "sh", "-c", "mount --make-rprivate / && ip link set lo up"],
                          capture_output=True, text=True)
    if done.returncode:
        print(f"check-docs: no command was run: namespaces are not permitted here ({done.stderr.strip()})")
        sys.exit(SKIPPED)


def run(environment, results, files):
    print(f"--- {environment.name}", flush=True)
    scratch = tempfile.mkdtemp()
    try:
        done = subprocess.run([*NAMESPACES, HERE / "environment.sh", environment.kind, scratch, sys.executable,
                               HERE / "run_blocks.py", environment.name, results, *files])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return done.returncode == 0


def reason(block, wanted):
    mark = block.mark
    if mark is None:
        return "no comment says how they are tested"
    if mark.kind in ("run by", "not run"):
        return f"{mark.kind} {mark.text}" if mark.kind == "run by" else mark.text
    kind = mark.environment.split()[-1]
    return "" if wanted in ("all", kind) else f"run: {kind}, not requested"


def main():
    wanted, results, files = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    files = files or blocks.pages()
    steps = [step for file in files for step in blocks.read(file)]
    left_out = collections.Counter(reason(step, wanted) for step in steps if isinstance(step, blocks.Block))
    to_run = left_out.pop("", 0)
    demand_namespaces()
    failed = [environment.name for environment in blocks.environments(steps)
              if wanted in ("all", environment.kind) and not run(environment, results, files)]
    outcomes = (results / "outcomes").read_text().splitlines() if (results / "outcomes").exists() else []
    for why, count in left_out.most_common():
        print(f"not run: {count}, {why}")
    good = sum(line.startswith("passed") for line in outcomes)
    print(f"check-docs: {len(outcomes)} run, {good} passed, {sum(left_out.values())} not run")
    if len(outcomes) != to_run:
        sys.exit(f"check-docs: {to_run - len(outcomes)} of {to_run} blocks have no outcome")
    if failed or good != len(outcomes):
        sys.exit(f"check-docs: failed in {', '.join(failed)}")


main()
