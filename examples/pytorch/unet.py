"""Trains a small U-Net that finds circles and rectangles in noise, with torch's transposed convolutions and with
convtgen's.

    unet.py [--compute tf32]... [--steps 200] [--seeds 5] [--picture unet.png] [--json OUT]

The line that makes the difference is accelerate(model) in comparison.py. Images are generated. Exits with 1 where
convtgen's mean loss of the last 20 steps differs from torch's by more than two standard deviations of torch's seeds.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import comparison

_SIZES = {False: {"width": 32, "levels": 4, "extent": 128, "batch": 16, "batches": 32},
          True: {"width": 2, "levels": 2, "extent": 8, "batch": 2, "batches": 2}}
_CLASSES = 3  # background, circle, rectangle


def _block(in_channels, channels):
    return nn.Sequential(nn.Conv2d(in_channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())


class UNet(nn.Module):
    """(batch, 1, height, width) to (batch, classes, height, width); both extents are multiples of 2^levels."""

    def __init__(self, width, levels):
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList(_block(a, b) for a, b in zip([1, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * each, each, 2, stride=2) for each in reversed(widths[:-1]))
        self.merge = nn.ModuleList(_block(2 * each, each) for each in reversed(widths[:-1]))
        self.classes = nn.Conv2d(width, _CLASSES, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(self.join(up, x, skips.pop()))
        return self.classes(x)

    def join(self, up, x, skip):
        return torch.cat([skip, up(x)], 1)


def shapes(count, extent, generator):
    """(images of noise with two circles and two rectangles, the class of each pixel)."""
    row = torch.arange(extent).view(1, extent, 1)
    column = torch.arange(extent).view(1, 1, extent)
    classes = torch.zeros(count, extent, extent, dtype=torch.long)

    def draw(low, high):
        return (torch.rand(count, 1, 1, generator=generator) * (high - low) + low) * extent

    for kind in (1, 2, 1, 2):
        y, x, height, width = draw(0.1, 0.9), draw(0.1, 0.9), draw(0.08, 0.2), draw(0.08, 0.2)
        if kind == 1:
            inside = (row - y) ** 2 + (column - x) ** 2 <= height ** 2
        else:
            inside = ((row - y).abs() <= height) & ((column - x).abs() <= width)
        classes[inside] = kind
    images = torch.randn(count, 1, extent, extent, generator=generator) * 0.7
    return images + (classes > 0).unsqueeze(1), classes


class Training:
    """As comparison.py requires it."""

    def __init__(self, options, compute, seed):
        sizes = _SIZES[options.small]
        torch.manual_seed(seed)
        self._compute, self._device = compute, options.device
        self.model = UNet(sizes["width"], sizes["levels"]).to(options.device)
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        generator = torch.Generator().manual_seed(seed)
        data = (shapes(sizes["batch"], sizes["extent"], generator) for _ in range(sizes["batches"]))
        self._batches = [(images.to(options.device), classes.to(options.device)) for images, classes in data]
        self.example = (self._batches[0][0],)

    def step(self, number):
        """One step of training."""
        images, classes = self._batches[number % len(self._batches)]
        self._optimizer.zero_grad()
        with comparison.autocast(self._device, self._compute):
            loss = F.cross_entropy(self.model(images), classes)
        loss.backward()
        self._optimizer.step()
        return {"loss": loss.detach()}


def main(words):
    options = comparison.parse(comparison.training_parser(__doc__, "unet.png"), words)
    return comparison.compare_trainings("unet", Training, options, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
