"""Trains a small 3D U-Net that finds balls and boxes in noisy volumes, with torch's transposed convolutions and with
convtgen's.

    unet3d.py [--compute tf32]... [--steps 200] [--seeds 5] [--picture unet3d.png] [--json OUT]

As medical U-Nets do, it up-samples by transposed convolutions whose kernel is their stride. Volumes are generated. Exits
with 1 where convtgen's mean loss of the last 20 steps differs from torch's by more than two standard deviations of
torch's seeds.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import comparison

_SIZES = {False: {"width": 16, "levels": 3, "extent": 64, "batch": 4, "batches": 16},
          True: {"width": 2, "levels": 2, "extent": 8, "batch": 1, "batches": 2}}
_CLASSES = 3  # background, ball, box


def _block(in_channels, channels):
    return nn.Sequential(nn.Conv3d(in_channels, channels, 3, padding=1, bias=False), nn.BatchNorm3d(channels), nn.ReLU(),
                         nn.Conv3d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm3d(channels), nn.ReLU())


class UNet3d(nn.Module):
    """(batch, 1, depth, height, width) to (batch, classes, depth, height, width); extents are multiples of 2^levels."""

    def __init__(self, width, levels):
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList(_block(a, b) for a, b in zip([1, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose3d(2 * each, each, 2, stride=2) for each in reversed(widths[:-1]))
        self.merge = nn.ModuleList(_block(2 * each, each) for each in reversed(widths[:-1]))
        self.classes = nn.Conv3d(width, _CLASSES, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool3d(x, 2))
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], 1))
        return self.classes(x)


def bodies(count, extent, generator):
    """(volumes of noise with two balls and two boxes, the class of each voxel)."""
    at = [torch.arange(extent).view([1] + [extent if axis == own else 1 for axis in range(3)]) for own in range(3)]
    classes = torch.zeros(count, extent, extent, extent, dtype=torch.long)

    def draw(low, high):
        return (torch.rand(3, count, 1, 1, 1, generator=generator) * (high - low) + low) * extent

    for kind in (1, 2, 1, 2):
        center, size = draw(0.15, 0.85), draw(0.1, 0.25)
        distances = [(axis - place).abs() for axis, place in zip(at, center)]
        if kind == 1:
            inside = sum(distance ** 2 for distance in distances) <= size[0] ** 2
        else:
            inside = torch.stack([d.expand_as(classes) <= s for d, s in zip(distances, size)]).all(0)
        classes[inside] = kind
    volumes = torch.randn(count, 1, extent, extent, extent, generator=generator) * 0.7
    return volumes + (classes > 0).unsqueeze(1), classes


class Training:
    """As comparison.py requires it."""

    def __init__(self, options, compute, seed):
        sizes = _SIZES[options.small]
        torch.manual_seed(seed)
        self._compute, self._device = compute, options.device
        self.model = UNet3d(sizes["width"], sizes["levels"]).to(options.device)
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        generator = torch.Generator().manual_seed(seed)
        data = (bodies(sizes["batch"], sizes["extent"], generator) for _ in range(sizes["batches"]))
        self._batches = [(volumes.to(options.device), classes.to(options.device)) for volumes, classes in data]
        self.example = (self._batches[0][0],)

    def step(self, number):
        """One step of training."""
        volumes, classes = self._batches[number % len(self._batches)]
        self._optimizer.zero_grad()
        with comparison.autocast(self._device, self._compute):
            loss = F.cross_entropy(self.model(volumes), classes)
        loss.backward()
        self._optimizer.step()
        return {"loss": loss.detach()}


def main(words):
    options = comparison.parse(comparison.training_parser(__doc__, "unet3d.png"), words)
    return comparison.compare_trainings("unet3d", Training, options, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
