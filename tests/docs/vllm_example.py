"""Runs the command of deploy/examples/vllm.yaml with a vLLM and a PyTorch that only pretend: what part of the card it
asks for, by what the card shows."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import blocks

SHARE = 16255 << 20
# What the card shows as its total; the part that vLLM must get.
CASES = {"driver, library": (SHARE, "0.900"), "mps, none": (2 * SHARE, "0.450")}
TORCH = """
import os
class cuda:
    class get_device_properties:
        def __init__(self, index):
            assert index == 0
            self.total_memory = int(os.environ["TOTAL"])
"""


def command_of(manifest):
    start = re.search(r"args:\n( +)- \|\n", manifest)
    lines = []
    for line in manifest[start.end():].splitlines():
        if line.strip() and not line.startswith(start[1] + " "):
            break
        lines.append(line)
    return blocks.without_indent(lines)


def part_for(total, folder):
    """The value of --gpu-memory-utilization."""
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(folder),
                   "PYTHONDONTWRITEBYTECODE": "1", "TOTAL": str(total), "TANGRAM_MEMORY_LIMIT_BYTES": str(SHARE)}
    command = command_of((blocks.ROOT / "deploy/examples/vllm.yaml").read_text())
    done = subprocess.run(["sh", "-ec", command], env=environment, capture_output=True, text=True, check=True)
    return re.search(r"--gpu-memory-utilization (\S+)", done.stdout)[1]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "torch.py").write_text(TORCH)
    (folder / "vllm").write_text('#!/bin/sh\necho "$@"\n')
    (folder / "vllm").chmod(0o755)
    for means, (total, wanted) in CASES.items():
        found = part_for(total, folder)
        if found != wanted:
            sys.exit(f"check-docs: deploy/examples/vllm.yaml asks for {found} of the card with {means}, not for {wanted}")
