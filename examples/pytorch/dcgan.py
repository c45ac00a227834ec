"""Trains a DCGAN on generated images of discs, with torch's transposed convolutions and with convtgen's.

    dcgan.py [--compute tf32]... [--steps 200] [--seeds 5] [--picture dcgan.png] [--json OUT]

The line that makes the difference is accelerate(generator) in comparison.py. Exits with 1 where convtgen's mean loss of
the last 20 steps, the generator's or the discriminator's, differs from torch's by more than two standard deviations of
torch's seeds.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import comparison

_SIZES = {False: {"latent": 100, "width": 64, "discriminator": 32, "extent": 64, "batch": 64, "batches": 32},
          True: {"latent": 4, "width": 2, "discriminator": 2, "extent": 16, "batch": 2, "batches": 2}}

# Smooth labels, and a discriminator that learns slowly. Else it soon knows each image, and its loss is 0 with peaks
# that each rounding moves: no two trainings are alike, whatever computes them.
_REAL = 0.9


class Generator(nn.Module):
    """(batch, latent, 1, 1) to images (batch, 3, extent, extent); the extent is a power of two from 8 on."""

    def __init__(self, latent, width, extent=64):
        super().__init__()
        channels = width * extent // 8
        layers = [nn.ConvTranspose2d(latent, channels, 4, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
        while channels > width:
            layers += [nn.ConvTranspose2d(channels, channels // 2, 4, stride=2, padding=1, bias=False),
                       nn.BatchNorm2d(channels // 2), nn.ReLU()]
            channels //= 2
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.layers(z)


class Discriminator(nn.Module):
    """Images to (batch) logits: are they real?"""

    def __init__(self, width, extent):
        super().__init__()
        layers = [nn.Conv2d(3, width, 4, stride=2, padding=1, bias=False), nn.LeakyReLU(0.2)]
        extent //= 2
        while extent > 4:
            layers += [nn.Conv2d(width, 2 * width, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(2 * width),
                       nn.LeakyReLU(0.2)]
            width, extent = 2 * width, extent // 2
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, 1, 4, bias=False), nn.Flatten(0))

    def forward(self, x):
        return self.layers(x)


def _initialize(module):
    # As the paper has it.
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1, 0.02)


def discs(count, extent, generator):
    """Images from -1 to 1 of a disc in one colour on a background in another that gets darker."""

    def draw(*shape):
        return torch.rand(count, *shape, generator=generator)

    row = torch.arange(extent).view(1, 1, extent, 1) / extent
    column = torch.arange(extent).view(1, 1, 1, extent) / extent
    y, x, radius = (draw(1, 1, 1) * 0.4 + low for low in (0.3, 0.3, 0.1))
    inside = ((row - y) ** 2 + (column - x) ** 2 <= (radius * 0.7) ** 2).float()
    return (inside * draw(3, 1, 1) + (1 - inside) * draw(3, 1, 1) * (1 - 0.5 * row)) * 2 - 1


class Training:
    """As comparison.py requires it."""

    def __init__(self, options, compute, seed):
        sizes = _SIZES[options.small]
        torch.manual_seed(seed)
        self._compute, self._device = compute, options.device
        self.model = Generator(sizes["latent"], sizes["width"], sizes["extent"]).apply(_initialize).to(options.device)
        self._discriminator = Discriminator(sizes["discriminator"], sizes["extent"]).apply(_initialize).to(options.device)
        self._optimizers = [torch.optim.Adam(module.parameters(), lr=lr, betas=(0.5, 0.999))
                            for module, lr in ((self.model, 2e-4), (self._discriminator, 5e-5))]
        generator = torch.Generator().manual_seed(seed)
        self._batches = [(discs(sizes["batch"], sizes["extent"], generator).to(options.device),
                          torch.randn(sizes["batch"], sizes["latent"], 1, 1, generator=generator).to(options.device))
                         for _ in range(sizes["batches"])]
        self.example = (self._batches[0][1],)

    def _loss(self, images, is_real):
        logits = self._discriminator(images).float()
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, _REAL if is_real else 1 - _REAL))

    def step(self, number):
        """A step of the discriminator, then one of the generator."""
        real, z = self._batches[number % len(self._batches)]
        of_generator, of_discriminator = self._optimizers
        of_discriminator.zero_grad()
        with comparison.autocast(self._device, self._compute):
            made = self.model(z)
            loss = self._loss(real, True) + self._loss(made.detach(), False)
        loss.backward()
        of_discriminator.step()
        of_generator.zero_grad()
        with comparison.autocast(self._device, self._compute):
            generators = self._loss(made, True)
        generators.backward()
        of_generator.step()
        return {"generator": generators.detach(), "discriminator": loss.detach()}


def main(words):
    options = comparison.parse(comparison.training_parser(__doc__, "dcgan.png"), words)
    return comparison.compare_trainings("dcgan", Training, options, words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
