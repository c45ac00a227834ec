"""Jitted inference and training steps of small decoders in JAX, with convtgen.jax.conv_transpose and with JAX's own.

    decoders.py [--model image]... [--mode tf32]... [--policy always] [--most 1.0] [--small] [--json OUT]

Both run the same parameters. A program's time is that of calls one after the other, without a wait between them, over
their number; the programs take turns, and the median of the rounds counts. Exits with 1 where results are further apart
than the mode allows, or where convtgen's time is more than --most times JAX's.
"""

import argparse
import functools
import json
import statistics
import sys
import time

import jax
import jax.numpy as jnp

import convtgen.jax as cj

#: Channels, (kernel, stride) of each layer, the input's extents, the batch.
MODELS = {
    "image": ((512, 512, 256, 128, 64, 3), ((4, 2),) * 5, (4, 4), 128),  # a DCGAN's generator
    "sound": ((512, 256, 128, 64, 32), ((16, 8), (16, 8), (4, 2), (4, 2)), (64,), 16),  # a HiFi-GAN's up-samplings
    "volume": ((128, 64, 32, 16), ((2, 2), (2, 2), (2, 2)), (8, 8, 8), 8),  # a 3D U-Net's decoder
}
#: (type, jax.lax's precision, compute mode).
MODES = {"tf32": (jnp.float32, "default", None), "f32x3": (jnp.float32, "highest", "f32x3"),
         "f16": (jnp.float16, None, None), "bf16": (jnp.bfloat16, None, None)}
#: Relative L2 distance of results that is fine. A ReLU whose input is rounded to the other side of zero changes a
#: gradient by a whole term.
BOUNDS = {"inference": {"tf32": 5e-3, "f32x3": 2e-5, "f16": 1e-2, "bf16": 5e-2},
          "training": {"tf32": 3e-2, "f32x3": 3e-3, "f16": 5e-2, "bf16": 1e-1}}
_ROUNDS, _ROUND_SECONDS = 9, 0.05


def model_of(name, small):
    """(channels, layers, extents, batch)."""
    channels, layers, extents, batch = MODELS[name]
    if small:
        return (4, 3, 2), layers[:2], (2,) * len(extents), 2
    return channels, layers, extents, batch


def parameters_of(name, dtype, small):
    """(weights, the input)."""
    channels, layers, extents, batch = model_of(name, small)
    keys = jax.random.split(jax.random.key(0), len(layers) + 1)
    weights = []
    for key, (kernel, stride), ins, outs in zip(keys, layers, channels, channels[1:]):
        taps = (kernel,) * len(extents)
        scale = (2 / (ins * (kernel / stride) ** len(extents))) ** 0.5
        weights.append((jax.random.normal(key, (*taps, ins, outs)) * scale).astype(dtype))
    return weights, jax.random.normal(keys[-1], (batch, *extents, channels[0])).astype(dtype)


def forward(weights, x, name, precision, **named):
    """The decoder's output."""
    strides = [(stride,) * (x.ndim - 2) for _, stride in MODELS[name][1]]
    for place, (weight, stride) in enumerate(zip(weights, strides)):
        x = cj.conv_transpose(x, weight, stride, "SAME", precision=precision, **named)
        x = jax.nn.relu(x) if place + 1 < len(weights) else jnp.tanh(x)
    return x


def programs(name, precision, **named):
    """{"inference": ..., "training": ...}: functions of weights and the input."""
    run = functools.partial(forward, name=name, precision=precision, **named)

    def loss(weights, x):
        y = run(weights, x).astype(jnp.float32)
        return (y * jnp.linspace(-1, 1, y.shape[-2])[:, None]).mean()

    def step(weights, x):
        gradients = jax.grad(lambda weights: 1e3 * loss(weights, x))(weights)
        return [weight - 1e-6 * gradient for weight, gradient in zip(weights, gradients)], gradients

    return {"inference": jax.jit(run), "training": jax.jit(step)}


def distance(ours, theirs):
    """Relative L2 distance of all arrays together."""
    pairs = [(jnp.asarray(one, jnp.float32), jnp.asarray(other, jnp.float32))
             for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs))]
    away = sum(float(jnp.sum((one - other) ** 2)) for one, other in pairs)
    return (away / sum(float(jnp.sum(other**2)) for _, other in pairs)) ** 0.5


def milliseconds(functions, arguments):
    """Of a call of each function; they take turns."""
    counts = []
    for function in functions:
        for _ in range(3):
            jax.block_until_ready(function(*arguments))
        begin = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        counts.append(max(1, int(_ROUND_SECONDS / (time.perf_counter() - begin))))
    rounds = []
    for _ in range(_ROUNDS):
        times = []
        for function, count in zip(functions, counts):
            begin = time.perf_counter()
            for _ in range(count):
                result = function(*arguments)
            jax.block_until_ready(result)
            times.append((time.perf_counter() - begin) / count * 1e3)
        rounds.append(times)
    return [statistics.median(times) for times in zip(*rounds)]


def measure(name, mode, options):
    """Rows of the table."""
    dtype, precision, compute = MODES[mode]
    arguments = parameters_of(name, dtype, options.small)
    ours = programs(name, precision, compute=compute, policy=options.policy)
    theirs = programs(name, precision, policy="never")
    for kind, own in ours.items():
        own_result, their_result = own(*arguments), theirs[kind](*arguments)
        if kind == "training":  # of the steps only the gradients differ
            own_result, their_result = own_result[1], their_result[1]
        away = distance(own_result, their_result)
        convtgen_ms, jax_ms = milliseconds((own, theirs[kind]), arguments)
        yield {"model": name, "mode": mode, "kind": kind, "jax_ms": jax_ms, "convtgen_ms": convtgen_ms,
               "distance": away, "is_right": away <= BOUNDS[kind][mode]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--policy", default="always")
    parser.add_argument("--most", type=float)
    parser.add_argument("--small", action="store_true", help="tiny models, to see that all runs")
    parser.add_argument("--json")
    options = parser.parse_args()
    print(f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, policy {options.policy}")
    print(f"{'model':<8}{'mode':<7}{'kind':<11}{'JAX ms':>10}{'convtgen ms':>13}{'ratio':>8}{'distance':>11}")
    rows = []
    for name in options.model or MODELS:
        for mode in options.mode or MODES:
            for row in measure(name, mode, options):
                ratio = row["convtgen_ms"] / row["jax_ms"]
                print(f"{name:<8}{mode:<7}{row['kind']:<11}{row['jax_ms']:>10.3f}{row['convtgen_ms']:>13.3f}"
                      f"{ratio:>8.3f}{row['distance']:>11.1e}{'' if row['is_right'] else '  WRONG'}", flush=True)
                rows.append(row)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    is_slow = options.most is not None and any(row["convtgen_ms"] > options.most * row["jax_ms"] for row in rows)
    return 0 if not is_slow and all(row["is_right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
