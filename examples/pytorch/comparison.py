"""What the examples share: options, precision, times, and a training with torch's transposed convolutions against the
same training with convtgen's.

    comparison.py RESULTS.json PICTURE.png     # draws the picture of an example's results again
"""

import argparse
import json
import statistics
import sys
import time

import torch

import convtgen.torch as ct

COMPUTES = ("f32x3", "tf32", "bf16")
_LAST = 20  # steps whose mean loss is compared
_WARM_UP = 10  # steps whose time does not count
_COLORS = {"torch": "#D55E00", "convtgen": "#0072B2"}  # Okabe and Ito's


def parser(description):
    """Options that all examples have."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compute", action="append", choices=COMPUTES,
                         help="f32x3, against torch's strict fp32; tf32; bf16, which is autocast. Default: all")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--policy", default="auto", choices=["auto", "always", "never"], help="of accelerate()")
    options.add_argument("--host-device", action="store_true", help="CPU tensors run on convtgen's host device, slowly")
    options.add_argument("--small", action="store_true", help="tiny sizes, for tests")
    options.add_argument("--json", help="where the numbers go")
    return options


def training_parser(description, picture):
    """Options of the examples that train."""
    options = parser(description)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--seeds", type=int, default=5, help="trainings of each kind")
    options.add_argument("--picture", default=picture, help="where the picture of the loss curves goes")
    return options


def parse(options, words):
    """The options, with the defaults that depend on others."""
    found = options.parse_args(words)
    found.compute = found.compute or list(COMPUTES)
    ct.use_host_device(found.host_device)
    return found


def set_precision(compute):
    """Sets torch's switches: with f32x3 torch computes in strict fp32, else its convolutions may use tf32."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = compute != "f32x3"
    torch.backends.cuda.matmul.allow_tf32 = compute != "f32x3"


def autocast(device, compute):
    """A context in which a model computes as it should."""
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=compute == "bf16")


def accelerate(model, compute, policy):
    """convtgen.torch.accelerate() with the compute mode of the comparison. Under autocast the type is the mode."""
    return ct.accelerate(model, policy=policy, compute=None if compute == "bf16" else compute)


def device_name(device):
    """"NVIDIA H200", or "cpu"."""
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else "cpu"


class _Clock:
    """Marks moments in a queue of work: on a GPU by events, so that nothing waits."""

    def __init__(self, device):
        self._is_cuda, self._marks = torch.device(device).type == "cuda", []

    def mark(self):
        if self._is_cuda:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter())

    def milliseconds(self):
        """Between each mark and the next."""
        if self._is_cuda:
            torch.cuda.synchronize()
            return [begin.elapsed_time(end) for begin, end in zip(self._marks, self._marks[1:])]
        return [(end - begin) * 1e3 for begin, end in zip(self._marks, self._marks[1:])]


def _block(function, count, device):
    """(milliseconds a call by the device's clock, by the host's) of `count` calls."""
    is_cuda = torch.device(device).type == "cuda"
    if is_cuda:
        torch.cuda.synchronize()
    clock, begin = _Clock(device), time.perf_counter()
    clock.mark()
    for _ in range(count):
        function()
    clock.mark()
    by_device = clock.milliseconds()[0]
    return by_device / count, (time.perf_counter() - begin) * 1e3 / count


def alternating_ms(functions, device, blocks=7, block_seconds=0.03):
    """Times functions that do the same, in blocks of calls that take turns.

    Args:
      blocks: of each function.
      block_seconds: about how long a block takes; a block is at least one call.

    Returns:
      For each function (milliseconds a call by the device's clock, by the host's), medians over its blocks.
    """
    for function in functions:  # compiles, and cuDNN finds its algorithms
        for _ in range(3 if torch.device(device).type == "cuda" else 1):
            function()
    once = _block(functions[0], 1, device)[1]
    count = max(1, min(1000, int(block_seconds * 1e3 / once)))
    times = [[] for _ in functions]
    for number in range(blocks):
        order = range(len(functions))
        for which in order if number % 2 == 0 else reversed(order):
            times[which].append(_block(functions[which], count, device))
    return [tuple(statistics.median(column) for column in zip(*of)) for of in times]


def _train(make, options, compute, seed, which):
    """One training: ({name of a loss: its values}, milliseconds of each step, the report as text or None).

    `make(options, compute, seed)` gives an object with
      model: the module that has the transposed convolutions;
      example: arguments of the model;
      step(number): one step of training, which returns {name of a loss: tensor}.
    """
    training = make(options, compute, seed)
    report = None
    if which == "convtgen":
        report = accelerate(training.model, compute, options.policy)
        with autocast(options.device, compute):
            ct.prepare(training.model, *training.example, progress=False)
    torch.manual_seed(seed)  # the same noise for both
    clock, losses = _Clock(options.device), []
    clock.mark()
    for number in range(options.steps):
        losses.append(training.step(number))
        clock.mark()
    times = clock.milliseconds()
    values = {name: [float(each[name]) for each in losses] for name in losses[0]}
    return values, times, None if report is None else str(report)


def _rows(compute, runs):
    """A row for each loss: whether convtgen's mean over seeds is within two standard deviations of torch's."""
    rows = []
    ms = {which: statistics.median([t for run in of for t in (run["ms"][_WARM_UP:] or run["ms"])])
          for which, of in runs.items()}
    for loss in runs["torch"][0]["losses"]:
        last = {which: [statistics.fmean(run["losses"][loss][-_LAST:]) for run in of] for which, of in runs.items()}
        mean, own = statistics.fmean(last["torch"]), statistics.fmean(last["convtgen"])
        deviation = statistics.stdev(last["torch"]) if len(last["torch"]) > 1 else None
        rows.append({"compute": compute, "loss": loss, "torch_mean": mean, "torch_deviation": deviation,
                     "convtgen_mean": own, "torch_ms": ms["torch"], "convtgen_ms": ms["convtgen"],
                     "within": None if deviation is None else abs(own - mean) <= 2 * deviation})
    return rows


def compare_trainings(name, make, options, words):
    """Trains with torch's and with convtgen's layers, prints a table, writes the picture and the numbers.

    Returns:
      The exit code: 1 where a loss of convtgen's differs from torch's by more than two standard deviations of torch's.
    """
    results = {"example": name, "gpu": device_name(options.device), "pytorch": torch.__version__,
               "command": [f"{name}.py", *words], "rows": [], "runs": []}
    for compute in options.compute:
        set_precision(compute)
        runs = {"torch": [], "convtgen": []}
        for seed in range(options.seeds):
            # They take turns at being first, so that a chip that changes its clock is fair to both.
            for which in ("torch", "convtgen") if seed % 2 == 0 else ("convtgen", "torch"):
                losses, ms, report = _train(make, options, compute, seed, which)
                runs[which].append({"losses": losses, "ms": ms})
                results["runs"].append({"compute": compute, "which": which, "seed": seed, "losses": losses, "ms": ms})
                print(f"{compute} {which} seed {seed}: {', '.join(f'{loss} {values[-1]:.4f}' for loss, values in losses.items())}",
                      file=sys.stderr, flush=True)
                if report is not None and seed == 0:
                    print(f"\n{compute}\n{report}\n", flush=True)
        results["rows"] += _rows(compute, runs)
    print(f"{name}: gpu {results['gpu']}; pytorch {torch.__version__}; {options.steps} steps, {options.seeds} seeds; "
          f"losses are means of the last {_LAST} steps")
    fine = print_table(results["rows"])
    if options.json:
        write_json(options.json, results)
    draw(results, options.picture)
    return 0 if fine else 1


def print_table(rows):
    """Whether all losses are within two standard deviations, or there was one seed alone."""
    print(f"{'compute':<9}{'loss':<15}{'torch':>9}{'2 sd':>9}{'convtgen':>10}{'torch ms':>10}{'ours ms':>9}{'ratio':>8}")
    for row in rows:
        deviation = "" if row["torch_deviation"] is None else f"{2 * row['torch_deviation']:.4f}"
        note = {True: "  within", False: "  DIFFERS", None: "  one seed, not judged"}[row["within"]]
        print(f"{row['compute']:<9}{row['loss']:<15}{row['torch_mean']:>9.4f}{deviation:>9}{row['convtgen_mean']:>10.4f}"
              f"{row['torch_ms']:>10.3f}{row['convtgen_ms']:>9.3f}{row['convtgen_ms'] / row['torch_ms']:>8.3f}{note}")
    return all(row["within"] is not False for row in rows)


def write_json(path, results):
    """Writes the numbers."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)


def draw(results, path):
    """The picture: both curves for each compute mode and loss, as the mean over seeds and the range of all seeds."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not here (python3 -m pip install matplotlib; then comparison.py RESULTS.json "
              "PICTURE.png)", file=sys.stderr)
        return
    matplotlib.use("agg")  # no window
    from matplotlib import pyplot

    rows = results["rows"]
    computes, losses = (list(dict.fromkeys(row[key] for row in rows)) for key in ("compute", "loss"))
    figure, axes = pyplot.subplots(len(losses), len(computes), squeeze=False, sharey="row", layout="constrained",
                                   figsize=(4.2 * len(computes), 3 * len(losses)))
    for row in rows:
        axis = axes[losses.index(row["loss"])][computes.index(row["compute"])]
        for which, color in _COLORS.items():
            curves = [run["losses"][row["loss"]] for run in results["runs"]
                      if (run["compute"], run["which"]) == (row["compute"], which)]
            by_step = list(zip(*curves))
            steps = range(1, len(by_step) + 1)
            axis.fill_between(steps, [min(of) for of in by_step], [max(of) for of in by_step], color=color, alpha=0.15,
                              linewidth=0)
            axis.plot(steps, [statistics.fmean(of) for of in by_step], color=color, linewidth=1.2,
                      linestyle="-" if which == "torch" else "--", label=f"{which}, {row[f'{which}_ms']:.2f} ms a step")
        axis.set_title(f"{row['compute']}: {row['loss']}", loc="left", fontsize=9)
        axis.set_xlabel("step")
        axis.grid(color="#e5e5e5", linewidth=0.5)
        axis.legend(frameon=False, fontsize=8)
    figure.suptitle(f"{results['example']} ({results['gpu']}): mean over seeds, and all seeds", x=0.01, ha="left", fontsize=10)
    figure.savefig(path, dpi=120, metadata={"Software": None} if path.endswith(".png") else None)
    pyplot.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as results_file:
        draw(json.load(results_file), sys.argv[2])
