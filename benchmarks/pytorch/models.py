"""Ten architectures with transposed convolutions, built from their definitions, with random weights.

ARCHITECTURES has them by name: an Architecture makes the model and its inputs, in the sizes in which it is usually
trained and served, or with small=True in tiny ones for tests.
"""

import sys
from pathlib import Path
from typing import Callable, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "pytorch"))

import dcgan  # noqa: E402
import hifigan  # noqa: E402


class Architecture(NamedTuple):
    """One of the ten.

    Attributes:
      make: a function of `small` that gives the model as it is trained.
      inference, training: the shapes of the model's inputs.
      small_inference, small_training: the same with small=True.
      layers: how many transposed convolutions it has.
      for_inference: a function that makes a trained model one for inference, in place; None where nothing is to do.
    """

    make: Callable
    inference: list
    training: list
    small_inference: list
    small_training: list
    layers: int
    for_inference: Callable | None = None

    def shapes(self, kind, small):
        """Of the inputs; `kind` is "inference" or "training"."""
        return getattr(self, f"small_{kind}" if small else kind)


# ---- pix2pix: the U-Net of 8 levels (Isola et al. 2017) ----


class _Pix2PixLevel(nn.Module):
    """Down, the levels below, and up; its output is concatenated to its input, except that of the outermost."""

    def __init__(self, outer, inner, below, *, is_outermost=False, dropout=False):
        super().__init__()
        is_innermost = below is None
        down = [nn.Conv2d(3 if is_outermost else outer, inner, 4, stride=2, padding=1, bias=is_outermost or is_innermost)]
        if not is_outermost:
            down.insert(0, nn.LeakyReLU(0.2))
            if not is_innermost:
                down.append(nn.BatchNorm2d(inner))
        up = [nn.ReLU(), nn.ConvTranspose2d(inner if is_innermost else 2 * inner, outer, 4, stride=2, padding=1,
                                            bias=is_outermost)]
        up += [nn.Tanh()] if is_outermost else [nn.BatchNorm2d(outer)]
        if dropout:
            up.append(nn.Dropout(0.5))
        self.layers = nn.Sequential(*down, *([] if is_innermost else [below]), *up)
        self.is_outermost = is_outermost

    def forward(self, x):
        y = self.layers(x)
        return y if self.is_outermost else torch.cat([x, y], 1)


def _pix2pix(small):
    width = 2 if small else 64
    level = _Pix2PixLevel(8 * width, 8 * width, None)
    for _ in range(3):
        level = _Pix2PixLevel(8 * width, 8 * width, level, dropout=True)
    for outer in (4, 2, 1):
        level = _Pix2PixLevel(outer * width, 2 * outer * width, level)
    return _Pix2PixLevel(3, width, level, is_outermost=True)


# ---- U-Net (Ronneberger et al. 2015): convolutions without padding, skips cropped ----


def _crop(x, like):
    top, left = ((a - b) // 2 for a, b in zip(x.shape[2:], like.shape[2:]))
    return x[:, :, top:top + like.shape[2], left:left + like.shape[3]]


class _UNet(nn.Module):
    def __init__(self, width, levels=4):
        super().__init__()

        def double(in_channels, channels):
            return nn.Sequential(nn.Conv2d(in_channels, channels, 3), nn.ReLU(), nn.Conv2d(channels, channels, 3), nn.ReLU())

        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList(double(a, b) for a, b in zip([1, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * each, each, 2, stride=2) for each in reversed(widths[:-1]))
        self.merge = nn.ModuleList(double(2 * each, each) for each in reversed(widths[:-1]))
        self.classes = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = up(x)
            x = merge(torch.cat([_crop(skips.pop(), x), x], 1))
        return self.classes(x)


# ---- FCN-8s (Long et al. 2015): the head, on VGG's features ----


class _FCN8s(nn.Module):
    """pool3 at an eighth of the image's extents, pool4 at a sixteenth, fc7 at a thirty-second."""

    def __init__(self, pool3, pool4, fc7, classes=21):
        super().__init__()
        self.score_pool3, self.score_pool4 = nn.Conv2d(pool3, classes, 1), nn.Conv2d(pool4, classes, 1)
        self.score_fc7 = nn.Conv2d(fc7, classes, 1)
        self.up2 = nn.ConvTranspose2d(classes, classes, 4, stride=2, padding=1, bias=False)
        self.up2_pool4 = nn.ConvTranspose2d(classes, classes, 4, stride=2, padding=1, bias=False)
        self.up8 = nn.ConvTranspose2d(classes, classes, 16, stride=8, padding=4, bias=False)

    def forward(self, pool3, pool4, fc7):
        y = self.up2(self.score_fc7(fc7)) + self.score_pool4(pool4)
        return self.up8(self.up2_pool4(y) + self.score_pool3(pool3))


# ---- SimpleBaseline (Xiao et al. 2018): ResNet-50 and three transposed convolutions ----


class _Bottleneck(nn.Module):
    def __init__(self, in_channels, channels, stride):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(in_channels, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels))
        self.shortcut = nn.Identity()
        if stride > 1 or in_channels != 4 * channels:
            self.shortcut = nn.Sequential(nn.Conv2d(in_channels, 4 * channels, 1, stride=stride, bias=False),
                                          nn.BatchNorm2d(4 * channels))

    def forward(self, x):
        return F.relu(self.layers(x) + self.shortcut(x))


def _pose(small):
    width, blocks, up, joints = (2, (1, 1, 1, 1), 4, 3) if small else (64, (3, 4, 6, 3), 256, 17)
    layers = [nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
              nn.MaxPool2d(3, stride=2, padding=1)]
    channels = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            layers.append(_Bottleneck(channels, width << stage, 2 if stage > 0 and block == 0 else 1))
            channels = 4 * width << stage
    for _ in range(3):
        layers += [nn.ConvTranspose2d(channels, up, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(up), nn.ReLU()]
        channels = up
    return nn.Sequential(*layers, nn.Conv2d(channels, joints, 1))


# ---- Mask R-CNN (He et al. 2017): the mask head, on aligned regions ----


def _mask_rcnn(small):
    width, classes = (4, 3) if small else (256, 80)
    layers = []
    for _ in range(4):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, width, 2, stride=2), nn.ReLU(), nn.Conv2d(width, classes, 1))


# ---- Segment Anything (Kirillov et al. 2023): output_upscaling of the mask decoder ----


class _LayerNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


def _sam(small):
    width = 32 if small else 256
    return nn.Sequential(nn.ConvTranspose2d(width, width // 4, 2, stride=2), _LayerNorm2d(width // 4), nn.GELU(),
                         nn.ConvTranspose2d(width // 4, width // 8, 2, stride=2), nn.GELU())


# ---- YOLOv8-seg: Proto, which makes the prototypes of masks ----


def _yolo_proto(small):
    width, masks = (4, 2) if small else (256, 32)

    def conv(in_channels, channels, kernel):
        return nn.Sequential(nn.Conv2d(in_channels, channels, kernel, padding=kernel // 2, bias=False),
                             nn.BatchNorm2d(channels, eps=1e-3), nn.SiLU())

    return nn.Sequential(conv(width, width, 3), nn.ConvTranspose2d(width, width, 2, stride=2), conv(width, width, 3),
                         conv(width, masks, 1))


# ---- FSRCNN (Dong et al. 2016), for a scale of 3 ----


def _fsrcnn(small):
    d, s, m = (4, 2, 1) if small else (56, 12, 4)
    layers = [nn.Conv2d(1, d, 5, padding=2), nn.PReLU(d), nn.Conv2d(d, s, 1), nn.PReLU(s)]
    for _ in range(m):
        layers += [nn.Conv2d(s, s, 3, padding=1), nn.PReLU(s)]
    return nn.Sequential(*layers, nn.Conv2d(s, d, 1), nn.PReLU(d),
                         nn.ConvTranspose2d(d, 1, 9, stride=3, padding=4, output_padding=2))


def _dcgan(small):
    return dcgan.Generator(latent=4, width=1) if small else dcgan.Generator(latent=100, width=64)


def _hifigan(small):
    return (hifigan.Generator(width=16, mels=4) if small else hifigan.Generator()).normalize()


ARCHITECTURES = {
    "dcgan": Architecture(_dcgan, [(128, 100, 1, 1)], [(128, 100, 1, 1)], [(1, 4, 1, 1)], [(2, 4, 1, 1)], 5),
    "pix2pix": Architecture(_pix2pix, [(16, 3, 256, 256)], [(16, 3, 256, 256)], [(1, 3, 256, 256)], [(1, 3, 256, 256)], 8),
    "unet": Architecture(lambda small: _UNet(2 if small else 64), [(4, 1, 572, 572)], [(4, 1, 572, 572)], [(1, 1, 188, 188)],
                         [(1, 1, 188, 188)], 4),
    "fcn8s": Architecture(lambda small: _FCN8s(4, 4, 4, 2) if small else _FCN8s(256, 512, 4096),
                          [(16, 256, 64, 64), (16, 512, 32, 32), (16, 4096, 16, 16)],
                          [(16, 256, 64, 64), (16, 512, 32, 32), (16, 4096, 16, 16)],
                          [(1, 4, 4, 4), (1, 4, 2, 2), (1, 4, 1, 1)], [(1, 4, 4, 4), (1, 4, 2, 2), (1, 4, 1, 1)], 3),
    "pose": Architecture(_pose, [(64, 3, 256, 192)], [(32, 3, 256, 192)], [(1, 3, 64, 32)], [(2, 3, 64, 32)], 3),
    "mask_rcnn": Architecture(_mask_rcnn, [(100, 256, 14, 14)], [(256, 256, 14, 14)], [(1, 4, 3, 3)], [(2, 4, 3, 3)], 1),
    "sam": Architecture(_sam, [(64, 256, 64, 64)], [(16, 256, 64, 64)], [(1, 32, 4, 4)], [(2, 32, 4, 4)], 2),
    "yolo_proto": Architecture(_yolo_proto, [(16, 256, 80, 80)], [(16, 256, 80, 80)], [(1, 4, 4, 4)], [(2, 4, 4, 4)], 1),
    # 430 frames are five seconds of speech; it is trained on segments of 32.
    "hifigan": Architecture(_hifigan, [(1, 80, 430)], [(16, 80, 32)], [(1, 4, 4)], [(1, 4, 4)], 4,
                            hifigan.Generator.remove_norms),
    "fsrcnn": Architecture(_fsrcnn, [(1, 1, 360, 640)], [(128, 1, 24, 24)], [(1, 1, 5, 5)], [(2, 1, 5, 5)], 1),
}


def _scale_weights(model):
    # So that signals keep about their size, as in a trained model: torch's defaults let biases dominate deep ones.
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            terms = module.in_channels // module.groups * module.kernel_size[0] * module.kernel_size[1]
            if isinstance(module, nn.ConvTranspose2d):
                terms /= module.stride[0] * module.stride[1]
            nn.init.normal_(module.weight, 0, (1.5 / terms) ** 0.5)
            if module.bias is not None:
                nn.init.normal_(module.bias, 0, 0.05)


def inputs(name, kind, small=False, device="cpu"):
    """Random inputs in float32; `kind` is "inference" or "training"."""
    return [torch.randn(shape, device=device) for shape in ARCHITECTURES[name].shapes(kind, small)]


def build(name, kind, small=False, device="cpu"):
    """The model with random weights, in float32: for "inference" in eval mode, with running statistics that fit its
    weights; for "training" in training mode. Equal seeds of torch give equal models."""
    architecture = ARCHITECTURES[name]
    model = architecture.make(small)
    _scale_weights(model)
    model.to(device).train()
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    if norms:
        momenta = [module.momentum for module in norms]
        for module in norms:
            module.momentum = 1.0
        with torch.no_grad():
            model(*inputs(name, "training", small, device))
        for module, momentum in zip(norms, momenta):
            module.momentum = momentum
    if kind == "inference":
        if architecture.for_inference is not None:
            architecture.for_inference(model)
        model.eval()
    return model
