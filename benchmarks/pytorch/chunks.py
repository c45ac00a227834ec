"""Chunks of frames through HiFi-GAN's four up-samplings: StreamingConvTranspose1d against the operator itself.

    chunks.py [--mode tf32]... [--frames 4]... [--most 1.0] [--json OUT]

Batch 1. With the operator each chunk is called together with the frames that its outputs read, and what is not final is
cut off: what a program without a streaming module does. Times are of a chunk through all four layers, medians over
blocks that take turns, by CUDA events and by the host's clock. Exits with 1 where a chunk takes more than --most times
the operator's by the events, or its outputs differ by more than the mode's bound.
"""

import argparse
import sys

import torch
import torch.nn.functional as F

import convtgen.torch as ct
import measuring

_LAYERS = ((512, 16, 8), (256, 16, 8), (128, 4, 2), (64, 4, 2))  # channels, kernel, stride


class _Overlapping(torch.nn.Module):
    """A layer by torch's operator: the last frames of the chunk before are called again."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.context = -(-layer.kernel_size[0] // layer.stride[0]) - 1
        self.kept = None

    def forward(self, chunk):
        if self.kept is None:
            self.kept = chunk.new_zeros(*chunk.shape[:2], self.context)
        x = torch.cat((self.kept, chunk), 2)
        self.kept = x[:, :, x.shape[2] - self.context:].clone()
        layer, stride = self.layer, self.layer.stride[0]
        y = F.conv_transpose1d(x, layer.weight, layer.bias, stride=stride)
        first = self.context * stride
        return y[:, :, first:first + chunk.shape[2] * stride]


def _chain(layers):
    def call(x):
        with torch.no_grad():
            for layer in layers:
                x = layer(x)
        return x

    return call


def measure(mode, frames, options):
    """A row of the table."""
    dtype = measuring.MODES[mode][0]
    torch.manual_seed(0)
    shrink = 16 if options.small else 1
    # Without padding an output is final as soon as its frame is there, so both make as many outputs of each chunk.
    layers = [torch.nn.ConvTranspose1d(channels // shrink, channels // shrink // 2, kernel, stride=stride)
              .to(options.device, dtype) for channels, kernel, stride in _LAYERS]
    chunks = [torch.randn(1, _LAYERS[0][0] // shrink, frames, device=options.device, dtype=dtype) for _ in range(8)]
    theirs, ours = _chain([_Overlapping(layer) for layer in layers]), _chain([ct.StreamingConvTranspose1d(layer) for layer in layers])
    with measuring.autocast(mode, options.device):
        away = max(measuring.distance(ours(chunk).float(), theirs(chunk).float()) for chunk in chunks)
        times = measuring.alternating_ms([lambda: theirs(chunks[0]), lambda: ours(chunks[0])], options.device, options.blocks,
                                         options.block_ms * 1e-3)
    (their_ms, their_wall), (our_ms, our_wall) = times
    return {"mode": mode, "frames": frames, "operator_ms": their_ms, "streaming_ms": our_ms, "ratio": our_ms / their_ms,
            "wall_ratio": our_wall / their_wall, "distance": away, "right": away <= measuring.BOUNDS["output"][mode]}


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", action="append", choices=["tf32", "f16"], help="default: both")
    parser.add_argument("--frames", action="append", type=int, help="of a chunk; default: 2, 8 and 32")
    parser.add_argument("--most", type=float, default=1.0)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--block-ms", type=float, default=30, help="about how long a block of chunks takes")
    options = measuring.common_options(parser).parse_args(words)
    measuring.set_switches()
    content = measuring.head("chunks.py", options, words)
    print(f"gpu {content['gpu']}; pytorch {content['pytorch']}; commit {options.commit}; chunks.py {' '.join(words)}")
    print(f"{'mode':<6}{'frames':>8}{'operator ms':>13}{'streaming ms':>14}{'ratio':>8}{'wall':>8}")
    rows, fine = [], True
    for mode in options.mode or ["tf32", "f16"]:
        for frames in options.frames or (2, 8, 32):
            row = measure(mode, frames, options)
            fine = fine and row["ratio"] <= options.most and row["right"]
            rows.append(row)
            print(f"{mode:<6}{frames:>8}{row['operator_ms']:>13.4f}{row['streaming_ms']:>14.4f}{row['ratio']:>8.3f}"
                  f"{row['wall_ratio']:>8.3f}{'' if row['ratio'] <= options.most else '  SLOWER'}{'' if row['right'] else '  WRONG'}")
    if options.json:
        measuring.write_json(options.json, {**content, "rows": rows})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
