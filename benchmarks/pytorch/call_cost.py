"""CPU time of a call on a small layer: F.conv_transpose2d and what convtgen.torch has in its place.

    call_cost.py [--calls 2000] [--json OUT]

Calls are asynchronous: the GPU's queue is empty when a chunk of calls begins, and short when it ends, so that no call
waits for it. The cases take turns, chunk by chunk. A case's time is the median over its chunks, in microseconds a call;
"forward" is without gradients, "training" records them, "step" also computes them. Exits with 1 where
conv_transpose2d() takes more than --most-forward or --most-training microseconds more than F.conv_transpose2d, or a
module with policy "auto" than torch.nn.ConvTranspose2d.
"""

import argparse
import copy
import gc
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import convtgen.torch as ct
import measuring
from convtgen.torch import policy

_CHUNK = 50
_DTYPES = {"f32": torch.float32, "f16": torch.float16}


def _choose(report, runs):
    """Makes all choices of the layer that has one known call, in the place of measured ones."""
    for call in report.lines[0].calls():
        for asked in (*policy.DIRECTIONS, "training"):
            policy.chosen(call).choices[asked] = policy.Choice(runs, "chosen by call_cost.py")


def _accelerated(module, x, **named):
    copied = copy.deepcopy(module)
    report = ct.accelerate(copied, **named)
    ct.describe(copied, x)  # so that its call is known
    return copied, report


def cases(options, dtype):
    """{name: (function of no arguments)} for tensors that record gradients, or under no_grad do not."""
    def image(batch):
        return torch.randn(batch, 32, 8, 8, device=options.device, dtype=dtype, requires_grad=True)

    torch.manual_seed(0)
    module = torch.nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1).to(options.device, dtype)
    weight, bias = module.weight, module.bias
    x = image(1)
    own = ct.ConvTranspose2d(32, 16, 4, stride=2, padding=1).to(options.device, dtype)
    always, _ = _accelerated(module, x, policy="always")
    frozen, _ = _accelerated(module, x, policy="always")
    ct.freeze(frozen)
    # A choice is of a shape: the two choices get batches of their own.
    x_ours, x_torchs = image(2), image(3)
    auto_ours, report = _accelerated(module, x_ours)
    _choose(report, "convtgen")
    auto_torchs, report = _accelerated(module, x_torchs)
    _choose(report, "torch")
    return {"F.conv_transpose2d": lambda: F.conv_transpose2d(x, weight, bias, 2, 1),
            "torch.nn.ConvTranspose2d": lambda: module(x),
            "convtgen.torch.conv_transpose2d": lambda: ct.conv_transpose2d(x, weight, bias, 2, 1),
            "convtgen.torch.ConvTranspose2d": lambda: own(x),
            "accelerate, always": lambda: always(x),
            "accelerate, auto chose convtgen": lambda: auto_ours(x_ours),
            "accelerate, auto chose torch": lambda: auto_torchs(x_torchs),
            "accelerate and freeze": lambda: frozen(x)}


def _synchronize(device):
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def microseconds(functions, calls, device):
    """Of a call of each function: medians over chunks that take turns."""
    chunk = min(_CHUNK, calls)
    times = {name: [] for name in functions}
    for function in functions.values():
        for _ in range(min(20, calls)):
            function()
    for number in range(max(1, calls // chunk)):
        names = list(functions) if number % 2 == 0 else list(reversed(functions))
        for name in names:
            function = functions[name]
            _synchronize(device)
            begin = time.perf_counter()
            for _ in range(chunk):
                function()
            times[name].append((time.perf_counter() - begin) * 1e6 / chunk)
    _synchronize(device)
    return {name: statistics.median(of) for name, of in times.items()}


def stepping(function):
    """A function that computes the gradients of another one's result too."""
    grad_y = torch.ones_like(function())

    def step():
        torch.autograd.backward(function(), grad_y)

    return step


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000, help="of each case")
    parser.add_argument("--type", action="append", choices=list(_DTYPES), help="default: both")
    parser.add_argument("--most-forward", type=float, default=5, help="microseconds more than torch's")
    parser.add_argument("--most-training", type=float, default=30)
    return measuring.common_options(parser).parse_args(words)


def main(words):
    options = options_of(words)
    measuring.set_switches()
    content = measuring.head("call_cost.py", options, words)
    print(f"gpu {content['gpu']}; pytorch {content['pytorch']}; commit {options.commit}; call_cost.py {' '.join(words)}")
    rows, fine = [], True
    # A function is compared with torch's function, a module with torch's module.
    rivals = {"convtgen.torch.conv_transpose2d": "F.conv_transpose2d",
              "accelerate, auto chose convtgen": "torch.nn.ConvTranspose2d",
              "accelerate, auto chose torch": "torch.nn.ConvTranspose2d"}
    gc.disable()  # it would run in some chunks and not in others
    for name in options.type or _DTYPES:
        functions = cases(options, _DTYPES[name])
        with torch.no_grad():
            forward = microseconds(functions, options.calls, options.device)
        training = microseconds(functions, options.calls, options.device)
        step = microseconds({case: stepping(function) for case, function in functions.items()}, options.calls,
                            options.device)
        print(f"\n{name:<34}{'forward us':>12}{'more':>8}{'training us':>13}{'more':>8}{'step us':>10}{'more':>8}")
        for case in functions:
            more = [of[case] - of["F.conv_transpose2d"] for of in (forward, training, step)]
            rival = rivals.get(case, case)
            is_fine = (forward[case] - forward[rival] <= options.most_forward and
                       training[case] - training[rival] <= options.most_training)
            fine = fine and is_fine
            rows.append({"type": name, "case": case, "forward_us": forward[case], "training_us": training[case],
                         "forward_more_us": more[0], "training_more_us": more[1], "step_us": step[case],
                         "step_more_us": more[2], "is_fine": is_fine})
            print(f"{case:<34}{forward[case]:>12.2f}{more[0]:>8.2f}{training[case]:>13.2f}{more[1]:>8.2f}"
                  f"{step[case]:>10.2f}{more[2]:>8.2f}"
                  f"{'' if is_fine else '  MORE THAN IT MAY'}")
    gc.enable()
    if options.json:
        measuring.write_json(options.json, {**content, "rows": rows})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
