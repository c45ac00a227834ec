"""Times of calls on a GPU, and what is known of its clocks."""

import statistics
import subprocess

import torch

_FLUSH_BYTES = 256 << 20  # several times the L2 cache
_WARM_UP = 3
_LOAD_LAUNCHES = 4000  # about 250 ms on an H200
_CLOCKS = {"sm_max_mhz": "clocks.max.sm", "memory_max_mhz": "clocks.max.memory", "power_limit_w": "power.limit",
           "sm_mhz": "clocks.sm"}


class Flush:
    """Takes what a call left out of the L2 cache, by writing several times its size. Then the cache is full of lines that
    whoever reads something new writes to memory first, as after a layer that wrote its outputs. Where these are `read`
    again, the lines are in memory already, and a call takes the time of its own bytes alone."""

    def __init__(self, read):
        self._buffer, self._read = torch.empty(_FLUSH_BYTES // 4, dtype=torch.int32, device="cuda"), read

    def __call__(self):
        self._buffer.zero_()
        if self._read:
            self._buffer.max()


def median_ms(call, flush, repeats):
    times = []
    for repeat in range(repeats + _WARM_UP):
        flush()
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
        flush()
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
