"""Times of calls on a GPU, and what is known of its clocks."""

import statistics
import subprocess

import torch

FLUSH_BYTES = 256 << 20  # several times the L2 cache
_WARM_UP = 3
_LOAD_LAUNCHES = 4000  # about 250 ms on an H200
_CLOCKS = {"sm_max_mhz": "clocks.max.sm", "memory_max_mhz": "clocks.max.memory", "power_limit_w": "power.limit",
           "sm_mhz": "clocks.sm"}


def median_ms(call, flush, repeats):
    times = []
    for repeat in range(repeats + _WARM_UP):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        if repeat >= _WARM_UP:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def clocks_under_load(flush):
    """MHz and watts by name, while the chip writes memory; empty where nvidia-smi does not answer."""
    for _ in range(_LOAD_LAUNCHES):
        flush.zero_()
    try:
        answer = subprocess.run(
            ["nvidia-smi", f"--id=GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}",
             f"--query-gpu={','.join(_CLOCKS.values())}", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, check=True, timeout=30).stdout
        return {name: float(value) for name, value in zip(_CLOCKS, answer.split(","), strict=True)}
    except (OSError, ValueError, AttributeError, subprocess.SubprocessError):
        return {}
    finally:
        torch.cuda.synchronize()
