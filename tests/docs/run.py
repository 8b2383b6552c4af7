"""Runs the commands of the documentation, each in its world; tells of those that it does not run, and why.

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
# Of its own: mounts, network, processes. Whatever a world has started ends with its first process.
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
SKIPPED = 77  # as scripts/stages.sh has it


def demand_namespaces():
    done = subprocess.run([*NAMESPACES, "sh", "-c", "mount --make-rprivate / && ip link set lo up"],
                          capture_output=True, text=True)
    if done.returncode:
        print(f"check-docs: nothing was run: this machine gives no namespaces to who asks ({done.stderr.strip()})")
        sys.exit(SKIPPED)


def run(world, results, files):
    print(f"--- {world.name}", flush=True)
    scratch = tempfile.mkdtemp()
    try:
        done = subprocess.run([*NAMESPACES, HERE / "world.sh", world.kind, scratch, sys.executable,
                               HERE / "play.py", world.name, results, *files])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return done.returncode == 0


def reason(block, wanted):
    mark = block.mark
    if mark is None:
        return "nobody says who runs them"
    if mark.kind in ("run by", "not run"):
        return f"{mark.kind} {mark.text}" if mark.kind == "run by" else mark.text
    world = mark.world.split()[-1]
    return "" if wanted in ("all", world) else f"run: {world}, not asked for"


def main():
    wanted, results, files = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    files = files or blocks.pages()
    steps = [step for file in files for step in blocks.read(file)]
    left_out = collections.Counter(reason(step, wanted) for step in steps if isinstance(step, blocks.Block))
    to_run = left_out.pop("", 0)
    demand_namespaces()
    failed = [world.name for world in blocks.worlds(steps)
              if wanted in ("all", world.kind) and not run(world, results, files)]
    outcomes = (results / "outcomes").read_text().splitlines() if (results / "outcomes").exists() else []
    for why, count in left_out.most_common():
        print(f"not run: {count}, {why}")
    good = sum(line.startswith("passed") for line in outcomes)
    print(f"check-docs: {len(outcomes)} run, {good} passed, {sum(left_out.values())} not run")
    if len(outcomes) != to_run:
        sys.exit(f"check-docs: {to_run} blocks were to be run; of {to_run - len(outcomes)} nothing is known")
    if failed or good != len(outcomes):
        sys.exit(f"check-docs: failed in {', '.join(failed)}")


main()
