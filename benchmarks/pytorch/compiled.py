"""torch.compile of three architectures, with and without accelerate(), and a CUDA graph of one.

    compiled.py [--model dcgan]... [--mode tf32]... [--kind inference]... [--graph dcgan] [--json OUT]

Models are compiled with fullgraph=True, which fails at a graph break. Modes, kinds, bounds and times are
architectures.py's; results of the accelerated and compiled model are compared with those of the compiled model without
convtgen, and with those of the accelerated model that is not compiled. The graph is captured of the accelerated model
and of torch's; its results must agree with the model's own for new inputs.

Exits with 1 where results differ, or the geometric mean of ours / torch over a mode and kind is above --most-mean.
"""

import argparse
import gc
import sys

import torch

import convtgen.torch as ct
import measuring
import models
from architectures import prepared_copy

_KINDS = ("inference", "training")


class _Compiled:
    """A compiled model, as measuring.py calls models: `module` has the parameters."""

    def __init__(self, model, backend):
        self.module = model
        self._compiled = torch.compile(model, fullgraph=True, backend=backend)

    def __call__(self, *inputs):
        return self._compiled(*inputs)

    def __getattr__(self, name):
        return getattr(self.module, name)


def measure(name, mode, kind, options):
    """A row of the table."""
    torch._dynamo.reset()
    theirs, inputs = measuring.build(name, kind, mode, options.small, options.device)
    ours, report = prepared_copy(theirs, inputs, mode, options.policy)
    exact = measuring.strict_results(theirs, inputs, kind)
    eager = measuring.results(ours, inputs, mode, kind)
    both = [_Compiled(model, options.backend) for model in (theirs, ours)]
    found = [measuring.results(model, inputs, mode, kind) for model in both]
    compared = measuring.compare(*found, exact, mode)
    compared.update({f"{key}, eager": value for key, value in measuring.compare(eager, found[1], exact, mode).items()})
    del exact, eager, found
    calls = [measuring.caller(model, inputs, mode, kind) for model in both]
    torchs, own = measuring.alternating_ms(calls, options.device, options.blocks, options.block_ms * 1e-3)
    return {"model": name, "mode": mode, "kind": kind, "torch_ms": torchs[0], "convtgen_ms": own[0],
            "ratio": own[0] / torchs[0], "torch_wall_ms": torchs[1], "convtgen_wall_ms": own[1], "compared": compared,
            "report": report.rows()}


def measure_graph(name, mode, options):
    """A row for the CUDA graphs of a model's inference: torch's, ours, and ours with packed weights."""
    theirs, inputs = measuring.build(name, "inference", mode, options.small, options.device)
    ours, _ = prepared_copy(theirs, inputs, mode, options.policy)
    frozen, _ = prepared_copy(theirs, inputs, mode, options.policy)
    ct.freeze(frozen)
    replays, is_right = [], True
    for model in (theirs, ours, frozen):
        call = measuring.caller(model, inputs, mode, "inference")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = call()
        for _ in range(2):
            for each in inputs:
                each.normal_()
            expected = call().clone()
            graph.replay()
            torch.cuda.synchronize()
            away = measuring.distance(y.float(), expected.float())
            is_right = is_right and away <= measuring.BOUNDS["output"][mode]
        replays.append(graph.replay)
    times = measuring.alternating_ms(replays, options.device, options.blocks, options.block_ms * 1e-3)
    return {"model": name, "mode": mode, "right": is_right, "torch_ms": times[0][0], "convtgen_ms": times[1][0],
            "frozen_ms": times[2][0]}


def print_table(rows, graphs, options):
    """Whether all is as right and as fast as it should be."""
    fine = True
    print(f"\n{'mode':<6}{'model':<12}{'kind':<11}{'torch ms':>10}{'ours ms':>10}{'ratio':>8}  distances")
    for row in rows:
        wrong = [name for name, each in row["compared"].items() if not each["right"]]
        fine = fine and not wrong
        distances = ", ".join(f"{name} {each['distance']:.1e}" for name, each in row["compared"].items())
        print(f"{row['mode']:<6}{row['model']:<12}{row['kind']:<11}{row['torch_ms']:>10.3f}{row['convtgen_ms']:>10.3f}"
              f"{row['ratio']:>8.3f}  {distances}{'  DIFFERENT ' + ', '.join(wrong) if wrong else ''}")
    for mode, kind in dict.fromkeys((row["mode"], row["kind"]) for row in rows):
        mean = measuring.geometric_mean([row["ratio"] for row in rows if (row["mode"], row["kind"]) == (mode, kind)])
        is_slow = mean > options.most_mean
        fine = fine and not is_slow
        print(f"{mode:<6}{'geom. mean':<12}{kind:<11}{'':>20}{mean:>8.3f}{'  SLOWER' if is_slow else ''}")
    for row in graphs:
        fine = fine and row["right"]
        print(f"{row['mode']:<6}{row['model']:<12}CUDA graph: torch {row['torch_ms']:.3f} ms, ours {row['convtgen_ms']:.3f}, "
              f"frozen {row['frozen_ms']:.3f}{'' if row['right'] else '  DIFFERENT'}")
    return fine


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=list(models.ARCHITECTURES),
                        help="default: dcgan, unet and sam")
    parser.add_argument("--mode", action="append", choices=list(measuring.MODES), help="default: tf32")
    parser.add_argument("--kind", action="append", choices=_KINDS, help="default: both")
    parser.add_argument("--graph", default="dcgan", choices=[*models.ARCHITECTURES, "none"], help="the model of the graph")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--policy", default="auto", choices=["auto", "always", "never"])
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--block-ms", type=float, default=30, help="about how long a block of calls takes")
    parser.add_argument("--most-mean", type=float, default=1.00)
    return measuring.common_options(parser).parse_args(words)


def main(words):
    options = options_of(words)
    measuring.set_switches()
    is_cuda = torch.device(options.device).type == "cuda"
    rows, graphs = [], []
    for mode in options.mode or ["tf32"]:
        for name in options.model or ["dcgan", "unet", "sam"]:
            for kind in options.kind or _KINDS:
                rows.append(measure(name, mode, kind, options))
                gc.collect()
                print(f"{mode} {name} {kind}: {rows[-1]['ratio']:.3f}", file=sys.stderr, flush=True)
        if options.graph != "none" and is_cuda:
            graphs.append(measure_graph(options.graph, mode, options))
    content = measuring.head("compiled.py", options, words)
    print(f"gpu {content['gpu']}; pytorch {content['pytorch']}; cuDNN {content['cudnn']}; commit {options.commit}; "
          f"compiled.py {' '.join(words)}")
    fine = print_table(rows, graphs, options)
    if options.json:
        measuring.write_json(options.json, {**content, "rows": rows, "graphs": graphs})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
