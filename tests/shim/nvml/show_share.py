"""Prints what pynvml, the Python binding that frameworks use, says about the first card, in MiB: total
and used memory by both functions, and the processes with theirs."""

import pynvml

MEBIBYTE = 1 << 20


def text(memory):
    assert memory.used + memory.free + getattr(memory, "reserved", 0) == memory.total
    return f"{memory.total // MEBIBYTE} {memory.used // MEBIBYTE}"


pynvml.nvmlInit()
card = pynvml.nvmlDeviceGetHandleByIndex(0)
first = text(pynvml.nvmlDeviceGetMemoryInfo(card))
second = text(pynvml.nvmlDeviceGetMemoryInfo(card, version=pynvml.nvmlMemory_v2))
processes = pynvml.nvmlDeviceGetComputeRunningProcesses(card)
rows = " ".join(f"{row.pid}:{row.usedGpuMemory // MEBIBYTE}" for row in processes)
print(f"memory {first}; v2 {second}; processes {rows}")
pynvml.nvmlShutdown()
