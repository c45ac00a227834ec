"""Families of transposed convolutions, as architectures have them: each draws one layer with a chance.Chance.

A function returns a Drawn, or None where what it drew does not exist. `FAMILIES` names all.
"""

from layer import Layer


class Chance:
    """A sequence that is the same in every version of Python: of random.Random only random() is."""

    def __init__(self, random):
        self._random = random

    def any(self, *values):
        return values[int(self._random() * len(values))]

    def to(self, least, most):
        return least + int(self._random() * (most - least + 1))

    def happens(self, percent):
        return self._random() * 100 < percent


class Drawn:
    """A layer, and whether it has one dimension."""

    def __init__(self, layer, is_flat=False):
        self.layer, self.is_flat = layer, is_flat


def _pair(value):
    return list(value) if isinstance(value, (tuple, list)) else [value, value]


def image(batch, channels, size, kernel, stride, padding=0, output_padding=0, dilation=1, groups=1, bias=False):
    """channels: (in, out); a number stands for both axes."""
    height, width = _pair(size)
    return Drawn(Layer("", *channels, _pair(kernel), _pair(stride), _pair(padding), _pair(output_padding), _pair(dilation),
                       groups, bias, batch, height, width))


def signal(batch, channels, length, kernel, stride, padding=0, output_padding=0, dilation=1, groups=1, bias=False):
    return Drawn(Layer("", *channels, [1, kernel], [1, stride], [0, padding], [0, output_padding], [1, dilation], groups,
                       bias, batch, 1, length), is_flat=True)


def volume(batch, channels, size, kernel, stride, padding=0, output_padding=0, dilation=1, groups=1, bias=False):
    """size: (depth, height, width); a number stands for all axes, here and in what follows."""
    depth, height, width = triple(size)
    return Drawn(Layer("", *channels, triple(kernel), triple(stride), triple(padding), triple(output_padding), triple(dilation),
                       groups, bias, batch, height, width, depth))


def triple(value):
    return list(value) if isinstance(value, (tuple, list)) else [value] * 3


def _frame(c):
    """Height and width of a picture that a network gets: square ones for training, others for use."""
    return c.any((256, 256), (512, 512), (384, 384), (224, 224), (320, 320), (640, 640), (480, 640), (512, 1024),
                 (736, 1280), (1024, 1024), (544, 960))


def _part(size, factor):
    return [max(1, -(-each // factor)) for each in size]


def dcgan(c):
    base, level = c.any(32, 48, 64, 96, 128), c.to(0, 5)
    batch = c.any(1, 16, 32, 64, 128, 256)
    if level == 0:
        return image(batch, (c.any(64, 100, 128, 256), 8 * base), 1, 4, 1)
    size = 2 << level
    channels = 16 * base >> level
    return image(batch, (channels, c.any(1, 3) if level == 5 or (level == 4 and c.happens(50)) else channels // 2), size, 4, 2, 1)


def stylegan(c):
    level = c.to(0, 7)
    channels = [512, 512, 512, 512, 512, 256, 128, 64, 32]
    batch = c.any(1, 2, 4, 8, 16)
    pair = channels[level], channels[level + 1]
    if c.happens(50):  # modulated weights: each image has its own, as a group
        return image(1, (batch * pair[0], batch * pair[1]), 4 << level, 3, 2, groups=batch)
    return image(batch, pair, 4 << level, 3, 2)


def _unet(c, kernel, padding, output_padding):
    base, level = c.any(16, 24, 32, 48, 64, 96, 128), c.to(1, 5)
    size = _part(_frame(c), 1 << level)
    return image(c.any(1, 2, 4, 8, 16, 32), (base << level, base << level - 1), size, kernel, 2, padding, output_padding,
                 bias=c.happens(70))


def unet2x2(c):
    return _unet(c, 2, 0, 0)


def unet4x4(c):
    return _unet(c, 4, 1, 0)


def unet3x3(c):
    return _unet(c, 3, 1, 1)


def pix2pix(c):
    base, level = c.any(32, 64, 64, 96), c.to(1, 7)
    wide = [8, 16, 16, 16, 16, 8, 4, 2][level]
    narrow = [8, 8, 8, 8, 4, 2, 1][level] * base if level < 7 else c.any(1, 3)
    return image(c.any(1, 4, 8, 16, 32, 64), (wide * base, narrow), 1 << level, 4, 2, 1, bias=level == 7)


def fcn(c):
    kernel, stride = c.any((4, 2), (4, 2), (16, 8), (32, 16), (64, 32))
    classes = c.any(2, 12, 19, 21, 34, 59, 150)
    # A bilinear head enlarges the scores from the stride's size; the 2x ones lie at an eighth or a sixteenth.
    size = _part(_frame(c), stride if stride > 2 else c.any(16, 32))
    padding = c.any(0, (kernel - stride) // 2)
    return image(c.any(1, 2, 4, 8, 16), (classes, classes), size, kernel, stride, padding,
                 groups=c.any(1, classes), bias=c.happens(20))


def pose(c):
    level = c.to(0, 2)
    kernel, padding, output_padding = c.any((4, 1, 0), (4, 1, 0), (3, 1, 1), (2, 0, 0))
    height, width = c.any((8, 6), (12, 9), (8, 8), (16, 16))
    channels = c.any(512, 768, 1024, 2048) if level == 0 else 256
    return image(c.any(1, 8, 16, 32, 64, 128), (channels, 256), (height << level, width << level), kernel, 2, padding,
                 output_padding)


def mask_head(c):
    rois, size, channels = c.any(20, 50, 100, 200, 300, 512, 1000), c.any(7, 14, 14, 14, 28), c.any(128, 256, 256, 512)
    if c.happens(30):  # key points
        return image(rois, (2 * channels, c.any(14, 17, 21)), size, 4, 2, 1, bias=True)
    return image(rois, (channels, channels), size, 2, 2, bias=True)


def sam(c):
    size = c.any(32, 48, 64)
    if c.happens(50):  # a simple feature pyramid
        channels = c.any(192, 384, 768, 1024, 1280)
        channels, size = (channels, size) if c.happens(50) else (channels // 2, 2 * size)
        return image(c.any(1, 2, 4, 8), (channels, channels // 2), size, 2, 2, bias=True)
    batch = c.any(1, 3, 8, 16, 32, 64)
    return image(batch, (256, 64), size, 2, 2, bias=True) if c.happens(50) else image(batch, (64, 32), 2 * size, 2, 2, bias=True)


def yolo_proto(c):
    channels = c.any(64, 96, 128, 192, 256, 320, 384)
    size = c.any((80, 80), (40, 40), (48, 80), (60, 80), (96, 160), (160, 160), (52, 52))
    return image(c.any(1, 2, 4, 8, 16, 32), (channels, channels), size, 2, 2, bias=True)


def _rise(c, rates, channels, frames, batch):
    """(batch, (in, out), length, rate) of one of the steps that raise the sampling rate."""
    level, length = c.to(0, len(rates) - 1), frames
    for rate in rates[:level]:
        length *= rate
    return batch, (channels >> level, channels >> level + 1), length, rates[level]


def hifigan(c):
    rates, channels = c.any(((8, 8, 2, 2), 512), ((8, 8, 2, 2), 128), ((8, 8, 4), 256), ((4, 4, 2, 2, 2, 2), 1536),
                            ((5, 4, 4, 2, 2), 512), ((8, 8, 2, 2, 2), 512))
    batch, pair, length, rate = _rise(c, rates, channels, c.any(32, 64, 128, 256, 500, 800, 1024), c.any(1, 4, 8, 16, 32, 64))
    return signal(batch, pair, length, 2 * rate, rate, rate // 2 + rate % 2, rate % 2, bias=True)


def melgan(c):
    rates, channels = c.any(((8, 8, 2, 2), 512), ((8, 4, 2), 384), ((5, 5, 3), 384))
    batch, pair, length, rate = _rise(c, rates, channels, c.any(32, 80, 160, 320, 640), c.any(1, 8, 16, 48, 64))
    return signal(batch, pair, length, 2 * rate, rate, rate // 2 + rate % 2, rate % 2, bias=True)


def encodec(c):
    rates, channels = c.any(((8, 5, 4, 2), 512), ((8, 5, 4, 4), 1024))
    batch, pair, length, rate = _rise(c, rates, channels, c.any(50, 75, 150, 375, 750, 1500), c.any(1, 2, 4, 16, 32))
    return signal(batch, pair, length, 2 * rate, rate, bias=True)  # trimmed after it


def dac(c):
    rates, channels = c.any(((8, 8, 4, 2), 1536), ((8, 5, 4, 2), 1536))
    batch, pair, length, rate = _rise(c, rates, channels, c.any(43, 86, 128, 172, 430, 860), c.any(1, 2, 4, 8, 16, 72))
    return signal(batch, pair, length, 2 * rate, rate, -(-rate // 2), rate % 2, bias=True)


def istft(c):
    points = c.any(256, 512, 1024, 2048, 4096)
    hop = points // c.any(2, 4, 4)
    pair = (c.any(points // 2 + 1, points + 2), 1)
    return signal(c.any(1, 2, 8, 12, 16), pair, c.any(64, 128, 200, 340, 500, 1000), points, hop, c.any(0, points // 2))


def separation(c):
    if c.happens(50):  # Conv-TasNet's decoder: a learned basis
        kernel = c.any(16, 20, 32, 40)
        return signal(c.any(1, 2, 8, 12), (c.any(256, 512), 1), c.any(1599, 3199, 7999, 15999), kernel, kernel // 2)
    level = c.to(0, 5)  # Demucs
    channels = c.any(48, 64) << level
    return signal(c.any(1, 2, 4, 16), (channels, channels // 2 if level else c.any(1, 4, 8)),
                  c.any(44100, 88200, 176400, 441000) >> 2 * (level + 1), 8, 4, bias=True)


def wavenet(c):
    if c.happens(50):  # a filter over the mel bands, one axis stretched
        scale = c.any(2, 4, 4, 5, 8)
        return image(c.any(1, 2, 4, 8), (1, 1), (80, c.any(100, 500, 2000, 8000)), (c.any(1, 3), scale), (1, scale),
                     (0, 0), bias=True)
    hop = c.any(16, 64, 128, 256)
    return signal(c.any(1, 2, 4, 8, 12), (80, 80), c.any(63, 128, 400, 800), c.any(2, 4) * hop, hop, bias=True)


def fsrcnn(c):
    scale, size = c.any(2, 3, 4), c.any((270, 480), (360, 640), (540, 960), (180, 320), (128, 128), (32, 32))
    batch = c.any(16, 64) if size == (32, 32) else c.any(1, 1, 4)
    return image(batch, (c.any(32, 48, 56), c.any(1, 1, 3)), size, 9, scale, 4, scale - 1, bias=True)


def pillars(c):
    scale, size = c.any(1, 2, 4), c.any((496, 432), (400, 400), (512, 512), (468, 468), (400, 352), (320, 560))
    wide = c.any(1, 2)
    pair = {1: (64 * wide, 128), 2: (128, 128 * wide), 4: (256, 128 * wide)}[scale]
    return image(c.any(1, 2, 4, 8), pair, _part(size, 2 * scale), scale, scale)


def super_resolution(c):
    size = c.any((24, 24), (32, 32), (48, 48), (64, 64), (128, 128), (180, 320), (270, 480), (339, 510))
    batch = c.any(1, 1, 2) if size[1] > 200 else c.any(1, 8, 16, 32)
    kernel, stride, padding = c.any((4, 2, 1), (4, 2, 1), (6, 2, 2), (8, 4, 2), (12, 8, 2), (3, 2, 1))
    channels = c.any(1, 3, 32, 64, 64, 128, 256)
    return image(batch, (channels, channels), size, kernel, stride, padding, 1 if kernel == 3 else 0, bias=c.happens(60))


def autoencoder(c):
    if c.happens(40):
        base = c.any(16, 32, 64)
        pair, size = c.any(((2 * base, base), 7), ((base, 1), 14), ((4 * base, 2 * base), 4), ((base, 3), 16))
        return image(c.any(64, 128, 256, 512), pair, size, 3, 2, 1, 1, bias=True)
    base = c.any(32, 64, 128, 256)
    return image(c.any(8, 16, 32, 64, 128), (base, c.any(3, base // 2, base // 2, base)), c.any(8, 16, 32, 64, 128), 4, 2, 1,
                 bias=True)


def diffusion(c):
    channels = c.any(64, 128, 192, 256, 320, 384, 512, 640, 1280)
    return image(c.any(1, 2, 4, 8, 16, 64), (channels, channels), c.any(4, 8, 16, 32, 64, 128), 4, 2, 1, bias=True)


def medical(c):
    kind = c.to(0, 3)
    size = c.any(6, 8, 12, 16, 20, 24, 32, 48, 64, 80, 96, 128)
    batch = c.any(1, 2, 4, 8, 12, 24)
    if kind == 0:  # MONAI's UNet: what comes up next to what was skipped
        pair = c.any((384, 64), (128, 32), (64, 16), (32, c.any(2, 3, 14)), (768, 128))
        return image(batch, pair, size, 3, 2, 1, 1, bias=True)
    if kind == 1:  # UNETR
        pair = c.any((768, 128), (768, 64), (128, 64), (768, 32), (256, 128), (512, 256))
        return image(batch, pair, size, 2, 2)
    if kind == 2:  # V-Net
        pair = c.any((256, 128), (256, 64), (128, 32), (64, 16))
        return image(batch, pair, size, 2, 2, bias=True)
    pair, stride = c.any((512, 512), (320, 256), (256, 128), (128, 64), (64, 32)), c.any((1, 2), (2, 1), (2, 2))
    return image(batch, pair, (size, c.any(1, 2) * size), stride, stride, bias=c.happens(50))


def espnet(c):
    classes = c.any(2, 5, 12, 19, 20, 21)
    return image(c.any(1, 2, 4, 8, 16), (classes, classes), _part(_frame(c), c.any(2, 4, 8)), 2, 2)


def enet(c):
    frame, batch = _frame(c), c.any(1, 2, 4, 6, 10, 16)
    kind = c.to(0, 4)
    if kind == 0:
        return image(batch, (16, c.any(2, 12, 19, 20)), _part(frame, 2), 3, 2, 1, 1)
    if kind == 1:  # the last layer of ERFNet
        return image(batch, (16, c.any(2, 12, 19, 20)), _part(frame, 2), 2, 2, bias=True)
    pair, factor = [((32, 32), 8), ((128, 64), 8), ((64, 16), 4)][kind - 2]
    return image(batch, pair, _part(frame, factor), 3, 2, 1, 1, bias=kind > 2)


def linknet(c):
    frame, batch = _frame(c), c.any(1, 2, 4, 8, 10, 16)
    level = c.to(0, 5)
    if level == 5:
        return image(batch, (32, c.any(1, 2, 11, 19)), _part(frame, 2), 2, 2, bias=True)
    if level == 4:
        return image(batch, (64, 32), _part(frame, 4), 3, 2, c.any(0, 1), bias=True)
    channels = c.any(128, 256) >> level  # a quarter of what comes in
    return image(batch, (channels, channels), _part(frame, 32 >> level), 3, 2, 1, 1, bias=c.happens(50))


def depth(c):
    """What a vision transformer's tokens become: DPT."""
    channels = c.any((48, 96), (96, 192), (128, 256), (256, 512))
    size = c.any((24, 24), (37, 37), (27, 48), (16, 16), (32, 32), (37, 49))
    scale = c.any(2, 4)
    of = channels[0] if scale == 4 else channels[1]
    return image(c.any(1, 2, 4, 8, 16), (of, of), size, scale, scale, bias=True)


def centers(c):
    """CenterNet: learned steps, and depthwise ones that begin as bilinear filters."""
    batch, size = c.any(1, 8, 16, 32), c.any((16, 16), (32, 32), (64, 64), (24, 40), (48, 80), (96, 320), (128, 128))
    if c.happens(50):
        channels, factor = c.any(64, 128, 256), c.any(2, 2, 4, 8)
        return image(batch, (channels, channels), size, 2 * factor, factor, factor // 2, groups=channels)
    return image(batch, c.any((512, 256), (256, 256), (256, 128), (128, 64)), size, 4, 2, 1)


FAMILIES = {
    "dcgan": ("DCGAN", dcgan),
    "stylegan": ("StyleGAN", stylegan),
    "unet2": ("U-Net, 2x2", unet2x2),
    "unet4": ("U-Net, 4x4", unet4x4),
    "unet3": ("U-Net, 3x3", unet3x3),
    "pix2pix": ("pix2pix", pix2pix),
    "fcn": ("FCN", fcn),
    "pose": ("SimpleBaseline", pose),
    "mask": ("Mask R-CNN", mask_head),
    "sam": ("SAM, ViTDet", sam),
    "proto": ("YOLO segmentation", yolo_proto),
    "hifigan": ("HiFi-GAN, BigVGAN", hifigan),
    "melgan": ("MelGAN", melgan),
    "encodec": ("EnCodec", encodec),
    "dac": ("DAC", dac),
    "istft": ("inverse STFT", istft),
    "separate": ("Conv-TasNet, Demucs", separation),
    "wavenet": ("WaveNet, WaveGlow", wavenet),
    "fsrcnn": ("FSRCNN", fsrcnn),
    "pillars": ("PointPillars", pillars),
    "sr": ("EDSR, LapSRN, DBPN", super_resolution),
    "ae": ("VQ-VAE and other autoencoders", autoencoder),
    "diffusion": ("diffusion U-Net", diffusion),
    "medical": ("MONAI, UNETR, V-Net, nnU-Net", medical),
    "espnet": ("ESPNet", espnet),
    "enet": ("ENet, ERFNet", enet),
    "linknet": ("LinkNet", linknet),
    "dpt": ("DPT", depth),
    "centers": ("CenterNet", centers),
}
