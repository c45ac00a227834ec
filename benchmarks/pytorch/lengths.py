"""Eight lengths of one 1D layer: in turn, as a vocoder sees them, and each by itself.

    lengths.py [--mode tf32]... [--most 1.05] [--json OUT]

The layer is HiFi-GAN's third upsampling at batch 1. First each length is called twice, which makes its kernel: the first
four have one of their own, the others share one whose length is open. Then calls of one length after another, and calls
of a single length, take turns; times are medians over blocks, by CUDA events and by the host's clock.

Exits with 1 where the eight in turn take more than --most times the sum of the eight singly, or where anything was
compiled or tuned after the first calls.
"""

import argparse
import sys

import torch

import convtgen
import convtgen.torch as ct
import measuring

LENGTHS = (6400, 7168, 8192, 5120, 9216, 7936, 4096, 8704)
_MADE = ("prepared", "compiles", "loads")  # of convtgen.counters(); to tune is to make kernels too


def measure(mode, options):
    """A row of the table."""
    dtype = measuring.MODES[mode][0]
    lengths = [length // 64 for length in LENGTHS] if options.small else LENGTHS
    torch.manual_seed(0)
    layer = ct.ConvTranspose1d(128, 64, 4, stride=2, padding=1).to(options.device, dtype)
    inputs = [torch.randn(1, 128, length, device=options.device, dtype=dtype) for length in lengths]

    def call_all():
        for x in inputs:
            layer(x)

    beginning = convtgen.counters()
    with torch.no_grad(), measuring.autocast(mode, options.device):
        for _ in range(2):
            call_all()
        before = convtgen.counters()
        calls = [call_all, *(lambda x=x: layer(x) for x in inputs)]
        together, *singly = measuring.alternating_ms(calls, options.device, options.blocks, options.block_ms * 1e-3)
    after = convtgen.counters()
    return {"mode": mode, "in_turn_ms": together[0], "singly_ms": [each[0] for each in singly],
            "ratio": together[0] / sum(each[0] for each in singly),
            "wall_ratio": together[1] / sum(each[1] for each in singly),
            "kernels": before["prepared"] - beginning["prepared"],
            "made": {name: after[name] - before[name] for name in _MADE}}


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", action="append", choices=list(measuring.MODES), help="default: all")
    parser.add_argument("--most", type=float, default=1.05)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--block-ms", type=float, default=20, help="about how long a block of calls takes")
    options = measuring.common_options(parser).parse_args(words)
    measuring.set_switches()
    content = measuring.head("lengths.py", options, words)
    print(f"gpu {content['gpu']}; pytorch {content['pytorch']}; commit {options.commit}; lengths.py {' '.join(words)}")
    print(f"{'mode':<6}{'in turn ms':>12}{'sum singly ms':>15}{'ratio':>8}{'wall':>8}  made since")
    rows, fine = [], True
    for mode in options.mode or measuring.MODES:
        row = measure(mode, options)
        is_fine = row["ratio"] <= options.most and not any(row["made"].values())
        fine = fine and is_fine
        rows.append(row)
        print(f"{mode:<6}{row['in_turn_ms']:>12.4f}{sum(row['singly_ms']):>15.4f}{row['ratio']:>8.3f}"
              f"{row['wall_ratio']:>8.3f}  {row['made']}{'' if is_fine else '  MORE THAN IT MAY'}")
    if options.json:
        measuring.write_json(options.json, {**content, "rows": rows})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
