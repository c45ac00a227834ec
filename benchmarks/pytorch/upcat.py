"""A step of a U-Net's training with UpCat, against the same model after accelerate() alone.

    upcat.py [--mode tf32]... [--most 1.0] [--json OUT]

Both models have the same parameters and are accelerated with the policy "always"; times are medians over blocks of steps
that take turns, by CUDA events and by the host's clock. Exits with 1 where a step with UpCat takes more than --most times
the other one, or its gradients are beyond the bounds of architectures.py.
"""

import argparse
import sys

import torch

import convtgen.torch as ct
import measuring
from unet import UNet

_SIZES = {False: (32, 4, 8, 256), True: (8, 2, 2, 16)}  # width, levels, batch, extent; of --small


class Joined(UNet):
    """The U-Net whose up-samplings write into the tensors that skips are concatenated to."""

    def __init__(self, width, levels):
        super().__init__(width, levels)
        self.up = torch.nn.ModuleList(ct.UpCat(up, skip_first=True) for up in self.up)

    def join(self, up, x, skip):
        return up(x, skip)


def _models(mode, options):
    """(the model after accelerate(), the same with UpCat, their input)."""
    width, levels, batch, extent = _SIZES[options.small]
    dtype, is_channels_last, _ = measuring.MODES[mode]
    torch.manual_seed(0)
    plain, joined = UNet(width, levels), Joined(width, levels)
    for ours, theirs in zip(joined.parameters(), plain.parameters()):
        ours.data.copy_(theirs.data)
    x = torch.randn(batch, 1, extent, extent)
    models = [model.to(options.device, dtype) for model in (plain, joined)]
    x = x.to(options.device, dtype)
    if is_channels_last:
        models = [model.to(memory_format=torch.channels_last) for model in models]
        x = x.to(memory_format=torch.channels_last)
    for model in models:
        ct.accelerate(model, policy="always")
    return *models, x


def measure(mode, options):
    """A row of the table."""
    plain, joined, x = _models(mode, options)
    kind = "training"
    away = {name: measuring.distance(ours, theirs) for (name, ours), theirs in
            zip(measuring.results(joined, [x], mode, kind).items(), measuring.results(plain, [x], mode, kind).values())}
    steps = [measuring.caller(model, [x], mode, kind) for model in (plain, joined)]
    for step in steps:
        step()
    (plain_ms, plain_wall), (joined_ms, joined_wall) = measuring.alternating_ms(steps, options.device, options.blocks,
                                                                                options.block_ms * 1e-3)
    return {"mode": mode, "accelerate_ms": plain_ms, "upcat_ms": joined_ms, "ratio": joined_ms / plain_ms,
            "wall_ratio": joined_wall / plain_wall, "distance": away,
            "right": all(distance <= measuring.BOUNDS[name][mode] for name, distance in away.items())}


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", action="append", choices=list(measuring.MODES), help="default: all")
    parser.add_argument("--most", type=float, default=1.0)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--block-ms", type=float, default=100, help="about how long a block of steps takes")
    options = measuring.common_options(parser).parse_args(words)
    measuring.set_switches()
    content = measuring.head("upcat.py", options, words)
    print(f"gpu {content['gpu']}; pytorch {content['pytorch']}; commit {options.commit}; upcat.py {' '.join(words)}")
    print(f"{'mode':<6}{'accelerate ms':>15}{'UpCat ms':>10}{'ratio':>8}{'wall':>8}")
    rows, fine = [], True
    for mode in options.mode or measuring.MODES:
        row = measure(mode, options)
        fine = fine and row["ratio"] <= options.most and row["right"]
        rows.append(row)
        print(f"{mode:<6}{row['accelerate_ms']:>15.3f}{row['upcat_ms']:>10.3f}{row['ratio']:>8.3f}{row['wall_ratio']:>8.3f}"
              f"{'' if row['ratio'] <= options.most else '  SLOWER'}{'' if row['right'] else '  WRONG'}")
    if options.json:
        measuring.write_json(options.json, {**content, "rows": rows})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
