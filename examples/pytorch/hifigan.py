"""Times the generator of HiFi-GAN V1 at batch 1, as a text-to-speech server runs it: with torch's transposed
convolutions, with convtgen's, and with convtgen's and weights packed once (freeze).

    hifigan.py [--compute tf32]... [--frames 100]... [--json OUT]

Weights are random. A frame is 256 samples, at 22,050 Hz 11.6 ms. Exits with 1 where outputs differ by more than the
bound of the mode.
"""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import weight_norm

import comparison
import convtgen.torch as ct

#: Relative L2 distances that two ways to compute may have.
BOUNDS = {"f32x3": 1e-4, "tf32": 5e-3, "bf16": 4e-2}


def _padding(kernel, dilation=1):
    return (kernel - 1) * dilation // 2


class _ResidualBlock(nn.Module):
    """ResBlock1: three times a dilated convolution and a plain one, with a residual."""

    def __init__(self, channels, kernel, dilations=(1, 3, 5)):
        super().__init__()
        self.dilated = nn.ModuleList(nn.Conv1d(channels, channels, kernel, dilation=each, padding=_padding(kernel, each))
                                     for each in dilations)
        self.plain = nn.ModuleList(nn.Conv1d(channels, channels, kernel, padding=_padding(kernel)) for _ in dilations)

    def forward(self, x):
        for dilated, plain in zip(self.dilated, self.plain):
            x = x + plain(F.leaky_relu(dilated(F.leaky_relu(x, 0.1)), 0.1))
        return x


class Generator(nn.Module):
    """Mel spectrograms (batch, 80, frames) to samples (batch, 1, 256 * frames). V1 with width 512."""

    def __init__(self, width=512, mels=80, strides=(8, 8, 2, 2), kernels=(16, 16, 4, 4), block_kernels=(3, 7, 11)):
        super().__init__()
        self.before = nn.Conv1d(mels, width, 7, padding=3)
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for stride, kernel in zip(strides, kernels):
            self.ups.append(nn.ConvTranspose1d(width, width // 2, kernel, stride=stride, padding=(kernel - stride) // 2))
            width //= 2
            self.blocks.append(nn.ModuleList(_ResidualBlock(width, each) for each in block_kernels))
        self.after = nn.Conv1d(width, 1, 7, padding=3)
        self._initialize()

    def _initialize(self):
        # Signals keep about their size from layer to layer, as they do in a trained generator.
        for module in self.modules():
            if isinstance(module, (nn.Conv1d, nn.ConvTranspose1d)):
                terms = module.in_channels * module.kernel_size[0]
                terms /= module.stride[0] if isinstance(module, nn.ConvTranspose1d) else 1
                nn.init.normal_(module.weight, 0, terms ** -0.5)
                nn.init.zeros_(module.bias)

    def normalize(self):
        """Adds the weight norms, with which it is trained."""
        for module in list(self.modules()):
            if isinstance(module, (nn.Conv1d, nn.ConvTranspose1d)):
                weight_norm(module)
        return self

    def remove_norms(self):
        """For inference."""
        for module in list(self.modules()):
            if parametrize.is_parametrized(module, "weight"):
                parametrize.remove_parametrizations(module, "weight")
        return self

    def forward(self, x):
        x = self.before(x)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / len(blocks)
        return torch.tanh(self.after(F.leaky_relu(x)))


def measure(options, compute, frames):
    """A row of the table."""
    comparison.set_precision(compute)
    torch.manual_seed(frames)
    reference = (Generator(width=16, mels=4) if options.small else Generator()).to(options.device).eval()
    mels = torch.randn(1, reference.before.in_channels, frames, device=options.device)
    plain, frozen = copy.deepcopy(reference), copy.deepcopy(reference)
    with torch.no_grad(), comparison.autocast(options.device, compute):
        for model in (plain, frozen):
            report = comparison.accelerate(model, compute, options.policy)
            ct.prepare(model, mels, progress=False)
        ct.freeze(frozen)
        expected, *found = (model(mels).double() for model in (reference, plain, frozen))
        times = comparison.alternating_ms([lambda model=model: model(mels) for model in (reference, plain, frozen)],
                                          options.device, blocks=1 if options.small else 9,
                                          block_seconds=0 if options.small else 0.05)
    distance = max(float((each - expected).norm() / expected.norm()) for each in found)
    return {"compute": compute, "frames": frames, "torch_ms": times[0][1], "convtgen_ms": times[1][1],
            "frozen_ms": times[2][1], "distance": distance, "right": distance <= BOUNDS[compute], "report": str(report)}


def main(words):
    options = comparison.parser(__doc__)
    options.add_argument("--frames", type=int, action="append", help="lengths; default: 50, 200, 800")
    options = comparison.parse(options, words)
    rows = []
    for compute in options.compute:
        for frames in options.frames or ([4] if options.small else [50, 200, 800]):
            rows.append(measure(options, compute, frames))
        print(f"\n{compute}\n{rows[-1]['report']}")
    print(f"\nhifigan: gpu {comparison.device_name(options.device)}; pytorch {torch.__version__}; batch 1; wall time")
    print(f"{'compute':<9}{'frames':>7}{'torch ms':>10}{'ours ms':>10}{'ratio':>8}{'frozen ms':>11}{'ratio':>8}{'rel. L2':>10}")
    for row in rows:
        print(f"{row['compute']:<9}{row['frames']:>7}{row['torch_ms']:>10.3f}{row['convtgen_ms']:>10.3f}"
              f"{row['convtgen_ms'] / row['torch_ms']:>8.3f}{row['frozen_ms']:>11.3f}"
              f"{row['frozen_ms'] / row['torch_ms']:>8.3f}{row['distance']:>10.1e}{'' if row['right'] else '  DIFFERENT'}")
    if options.json:
        comparison.write_json(options.json, {"example": "hifigan", "gpu": comparison.device_name(options.device),
                                             "pytorch": torch.__version__, "command": ["hifigan.py", *words], "rows": rows})
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
