"""Families of transposed convolutions of volumes, as architectures have them: each draws one layer with a chance.Chance."""

from architectures import volume


def _patch(c):
    """Depth, height and width of what a network of medical volumes gets."""
    return c.any((128, 128, 128), (96, 96, 96), (64, 192, 192), (128, 160, 112), (32, 256, 256), (160, 160, 64), (64, 64, 64))


def nnunet(c):
    """Kernel = stride, and at the first levels of thick slices no step in depth."""
    level, deep = c.to(1, 5), c.happens(75)
    pair = [(32, 32), (64, 32), (128, 64), (256, 128), (320, 256), (320, 320)][level]
    step = (2, 2, 2) if deep else (1, 2, 2)
    size = [max(2, each >> (level if axis or deep else level - 1)) for axis, each in enumerate(_patch(c))]
    return volume(c.any(1, 2, 2, 4), pair, size, step, step, bias=c.happens(40))


def monai(c):
    """Its UNet: 3x3x3, stride 2, what comes up next to what was skipped."""
    level = c.to(0, 3)
    pair = [(32, c.any(2, 3, 14)), (64, 16), (128, 32), (384, 64)][level]
    return volume(c.any(1, 2, 4, 8), pair, [max(2, each >> level + 1) for each in _patch(c)], 3, 2, 1, 1, bias=True)


def transformer(c):
    """UNETR and SwinUNETR: 2x2x2 from the tokens on."""
    level = c.to(0, 4)
    pair = c.any([(768, 384), (384, 192), (192, 96), (96, 48), (48, 48)], [(768, 128), (256, 128), (128, 64), (64, 32), (768, 32)])[level]
    size = c.any((96, 96, 96), (128, 128, 128))
    return volume(c.any(1, 2, 4), pair, [each >> 5 - level for each in size], 2, 2)


def vnet(c):
    level = c.to(0, 3)
    pair = [(256, 128), (256, 64), (128, 32), (64, 16)][level]
    return volume(c.any(1, 2, 4), pair, [each >> 4 - level for each in c.any((64, 128, 128), (128, 128, 128), (48, 96, 96))], 2, 2,
                  bias=True)


def shapes(c):
    """3D-GAN: voxels from noise."""
    level = c.to(0, 4)
    batch = c.any(16, 32, 64, 100)
    if level == 0:
        return volume(batch, (200, 512), 1, 4, 1)
    pair = [(512, 256), (256, 128), (128, 64), (64, 1)][level - 1]
    return volume(batch, pair, 2 << level, 4, 2, 1, bias=c.happens(50))


def video(c):
    """Decoders of video: steps in space, sometimes in time too."""
    channels = c.any(64, 96, 128, 192, 256, 512)
    frames, size = c.any(4, 8, 16, 17), c.any((16, 16), (28, 28), (32, 32), (64, 64), (30, 52))
    kernel, stride, padding = c.any(((1, 2, 2), (1, 2, 2), 0), ((3, 4, 4), (1, 2, 2), 1), ((4, 4, 4), (2, 2, 2), 1),
                                    ((2, 4, 4), (2, 2, 2), (0, 1, 1)))
    return volume(c.any(1, 2, 4), (channels, channels // c.any(1, 2)), (frames, *size), kernel, stride, padding, bias=c.happens(70))


def stereo(c):
    """PSMNet, GwcNet: hourglasses over cost volumes."""
    pair = c.any((64, 64), (64, 32), (32, 32), (128, 64))
    return volume(c.any(1, 2, 4), pair, c.any((12, 16, 32), (24, 32, 64), (24, 32, 78), (12, 34, 60)), 3, 2, 1, 1)


def points(c):
    """Occupancy and detection: voxel grids that are flat."""
    pair = c.any((128, 64), (64, 64), (64, 32), (256, 128))
    kernel, stride, padding = c.any(((2, 2, 2), 2, 0), ((3, 3, 3), 2, 1), ((1, 4, 4), (1, 2, 2), (0, 1, 1)))
    output_padding = 1 if kernel == (3, 3, 3) else 0
    return volume(c.any(1, 2, 4), pair, c.any((4, 50, 50), (8, 100, 100), (10, 128, 128), (5, 88, 100)), kernel, stride, padding,
                  output_padding)


FAMILIES_3D = {
    "nnunet": ("nnU-Net", nnunet),
    "monai": ("MONAI's UNet", monai),
    "unetr": ("UNETR, SwinUNETR", transformer),
    "vnet": ("V-Net", vnet),
    "gan3d": ("3D-GAN", shapes),
    "video": ("decoders of video", video),
    "stereo": ("PSMNet, GwcNet", stereo),
    "voxels": ("occupancy, detection", points),
}
