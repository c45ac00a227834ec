"""Times ten architectures with torch's transposed convolutions and with accelerate(): inference and a training step.

    architectures.py [--model unet]... [--mode tf32]... [--kind inference]... [--policy auto] [--json OUT]

Modes: tf32 (float32, NCHW), f16 (float16, channels last), bf16 (float32 under bf16 autocast, NCHW). Both models have the
same weights, and cuDNN runs in benchmark mode. Kernels and choices are prepared before. Then blocks of calls take turns;
times are medians over blocks, by CUDA events and by the host's clock. A step is the zeroing of gradients, forward,
backward, and plain SGD. Most of these models wait for the CPU, whose time differs by some percent from one pair of
models to another that does the same. So each case is built --builds times, or up to --most-builds times where the ratios
of builds are further apart than --spread, and the build of the median ratio counts.

Outputs, and in training all gradients, are compared: the relative L2 distance of both must be within the bound of the
mode (measuring.py), or within 2.5 times torch's own distance from strict fp32 where the model amplifies roundings.

Exits with 1 where results differ, where the geometric mean of ours / torch over a mode and kind is above --most-mean, or
where one is above --most.
"""

import argparse
import copy
import gc
import sys

import torch

import convtgen.torch as ct
import measuring
import models

_KINDS = ("inference", "training")


def choices_of(report):
    """{direction: [layers that run convtgen's kernels, layers]}."""
    found = {}
    for _, shape, direction, runs, _, _ in report.rows():
        if shape:
            count = found.setdefault(direction, [0, 0])
            count[0] += runs == "convtgen"
            count[1] += 1
    return found


def prepared_copy(model, inputs, mode, policy):
    """(an accelerated copy of a model, its report), with kernels and choices ready."""
    ours = copy.deepcopy(model)
    report = ct.accelerate(ours, policy=policy)
    with measuring.autocast(mode, inputs[0].device):
        ct.prepare(ours, *inputs, progress=False)
    ours.load_state_dict(model.state_dict())  # prepare() ran the model once, which moves running statistics
    return ours, report


def _ratio(both):
    torchs, own = both
    return own[0] / torchs[0]


def _spread(times):
    ratios = [_ratio(both) for both in times]
    return max(ratios) / min(ratios) - 1


def measure(name, mode, kind, options):
    """A row of the table; its times are those of the build with the median ratio."""
    theirs, inputs = measuring.build(name, kind, mode, options.small, options.device)
    times = []
    while len(times) < options.builds or (len(times) < options.most_builds and _spread(times) > options.spread):
        model = copy.deepcopy(theirs)
        ours, report = prepared_copy(model, inputs, mode, options.policy)
        if not times:
            exact = measuring.strict_results(model, inputs, kind)
            compared = measuring.compare(measuring.results(model, inputs, mode, kind),
                                         measuring.results(ours, inputs, mode, kind), exact, mode)
            del exact
        calls = [measuring.caller(each, inputs, mode, kind) for each in (model, ours)]
        times.append(measuring.alternating_ms(calls, options.device, options.blocks, options.block_ms * 1e-3))
    torchs, own = sorted(times, key=_ratio)[len(times) // 2]
    return {"model": name, "mode": mode, "kind": kind, "torch_ms": torchs[0], "convtgen_ms": own[0],
            "ratio": own[0] / torchs[0], "ratios": [_ratio(both) for both in times],
            "torch_wall_ms": torchs[1], "convtgen_wall_ms": own[1], "compared": compared,
            "choices": choices_of(report), "report": report.rows()}


def _chosen(row):
    short = {"forward": "y", "grad_input": "gx", "grad_weight": "gw", "training": "step", "all": "all"}
    return " ".join(f"{short[direction]} {ours}/{count}" for direction, (ours, count) in row["choices"].items())


def print_table(rows, options):
    """Whether all is as right and as fast as it should be."""
    fine = True
    for mode in dict.fromkeys(row["mode"] for row in rows):
        print(f"\n{mode:<12}{'kind':<11}{'torch ms':>10}{'ours ms':>10}{'ratio':>8}{'wall':>8}{'output':>10}{'gradients':>11}"
              "  layers by convtgen")
        for row in (row for row in rows if row["mode"] == mode):
            errors = {name: f"{each['distance']:.1e}" for name, each in row["compared"].items()}
            wrong = [name for name, each in row["compared"].items() if not each["right"]]
            note = f"  DIFFERENT {', '.join(wrong)}" if wrong else "  SLOWER" if row["ratio"] > options.most else ""
            fine = fine and not note
            print(f"{row['model']:<12}{row['kind']:<11}{row['torch_ms']:>10.3f}{row['convtgen_ms']:>10.3f}{row['ratio']:>8.3f}"
                  f"{row['convtgen_wall_ms'] / row['torch_wall_ms']:>8.3f}{errors['output']:>10}"
                  f"{errors.get('gradients', ''):>11}  {_chosen(row)}{note}")
        for kind in dict.fromkeys(row["kind"] for row in rows):
            ratios = [row["ratio"] for row in rows if (row["mode"], row["kind"]) == (mode, kind)]
            mean = measuring.geometric_mean(ratios)
            note = "  SLOWER" if mean > options.most_mean else ""
            fine = fine and not note
            print(f"{'geom. mean':<12}{kind:<11}{'':>20}{mean:>8.3f}{note}")
    return fine


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=list(models.ARCHITECTURES), help="default: all")
    parser.add_argument("--mode", action="append", choices=list(measuring.MODES), help="default: all")
    parser.add_argument("--kind", action="append", choices=_KINDS, help="default: both")
    parser.add_argument("--policy", default="auto", choices=["auto", "always", "never"])
    parser.add_argument("--builds", type=int, default=3, help="of each case, at least")
    parser.add_argument("--most-builds", type=int, default=9, help="of each case")
    parser.add_argument("--spread", type=float, default=0.05, help="of the ratios of builds, above which more are made")
    parser.add_argument("--blocks", type=int, default=9, help="of each build")
    parser.add_argument("--block-ms", type=float, default=30, help="about how long a block of calls takes")
    parser.add_argument("--most-mean", type=float, default=1.00)
    parser.add_argument("--most", type=float, default=1.05)
    return measuring.common_options(parser).parse_args(words)


def main(words):
    options = options_of(words)
    measuring.set_switches()
    content = measuring.head("architectures.py", options, words)
    rows = []
    for mode in options.mode or measuring.MODES:
        for name in options.model or models.ARCHITECTURES:
            for kind in options.kind or _KINDS:
                rows.append(measure(name, mode, kind, options))
                gc.collect()
                if torch.device(options.device).type == "cuda":
                    torch.cuda.empty_cache()
                print(f"{mode} {name} {kind}: {rows[-1]['ratio']:.3f}", file=sys.stderr, flush=True)
                if options.json:  # after each case, so that a run that is ended leaves what it has
                    measuring.write_json(options.json, {**content, "rows": rows})
    print(f"gpu {content['gpu']}; pytorch {content['pytorch']}; cuDNN {content['cudnn']}; commit {options.commit}; "
          f"architectures.py {' '.join(words)}")
    return 0 if print_table(rows, options) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
