"""Which of both runs with the policy "auto", convtgen's kernel or JAX's own operator: measured once, and kept.

A choice is of a layer with its sizes, a direction and a chip. It is kept in the store of compiled kernels, so all
processes of a user that share the store choose alike.
"""

import json
import time

import jax

from ..core import choice as kept_choice
from ..core import version

_MARGIN = 0.97  # a kernel is chosen where it takes less than this part of JAX's time
_ROUNDS, _ROUND_SECONDS, _MOST_CALLS = 7, 2e-3, 100
_MEMORY = 4  # times the operands must be free to measure them


def is_faster(platform, what, ours, theirs, operands):
    """Whether convtgen's kernel was measured to be faster than JAX's operator, now or before.

    Args:
      platform: "cuda" or "cpu".
      what: the layer, the direction and the architecture.
      ours, theirs: functions of two arrays.
      operands: the shapes and types of these.

    Programs of several processes must be alike, and those measure each for itself. So JAX's operator runs there, and
    where too little memory is free, but that is not kept.
    """
    if jax.process_count() > 1:
        return False
    device = jax.local_devices(backend=platform)[0]
    key = f"convtgen.jax: {what}\n{device.device_kind}\njax {jax.__version__}, convtgen {version()}"
    kept = _of(kept_choice(key))
    if kept is None:
        if not _has_memory(device, operands):
            return False
        with jax.ensure_compile_time_eval(), jax.default_device(device):
            own, other = _seconds((ours, theirs), operands)
        runs = "convtgen" if own < _MARGIN * other else "jax"
        made = json.dumps({"runs": runs, "convtgen_ms": own * 1e3, "jax_ms": other * 1e3})
        kept = _of(kept_choice(key, made)) or runs
    return kept == "convtgen"


def _of(text):
    try:
        return json.loads(text)["runs"]
    except (ValueError, KeyError, TypeError):
        return None


def _has_memory(device, operands):
    found = device.memory_stats()  # None on the CPU
    if not found or "bytes_limit" not in found:
        return True
    needed = _MEMORY * sum(one.size * one.dtype.itemsize for one in operands)
    return found["bytes_limit"] - found["bytes_in_use"] > needed


def _seconds(functions, operands):
    """Of a call of each function on random arrays. They take turns, and the least of their rounds counts: what else the
    machine does makes a round longer, never shorter."""
    keys = jax.random.split(jax.random.key(0), len(operands))
    arrays = [jax.random.normal(key, one.shape, one.dtype) for key, one in zip(keys, operands)]
    compiled = [jax.jit(function) for function in functions]
    counts = []
    for function in compiled:
        for _ in range(2):
            jax.block_until_ready(function(*arrays))
        counts.append(min(_MOST_CALLS, int(_ROUND_SECONDS / _round(function, arrays, 1)) + 1))
    rounds = [[_round(function, arrays, count) for function, count in zip(compiled, counts)] for _ in range(_ROUNDS)]
    return [min(times) for times in zip(*rounds)]


def _round(function, arrays, count):
    begin = time.perf_counter()
    for _ in range(count):
        result = function(*arrays)
    jax.block_until_ready(result)
    return (time.perf_counter() - begin) / count
