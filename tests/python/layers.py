"""Random layers for the tests, and what their results are held against."""

import math
import random

import torch
import torch.nn.functional as F

#: Relative L2 errors against float64 within each type.
BOUNDS = {torch.float64: 1e-14, torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
TORCHS = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MEMORY_FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}


class Sample:
    """A random layer of one to three dimensions, with tensors that require gradients."""

    def __init__(self, seed, device, dtype, dimensions=None):
        draw = random.Random(seed)
        n = dimensions or draw.choice((1, 2, 2, 3))

        def each(low, high):
            return tuple(draw.randint(low, high) for _ in range(n))

        while True:
            groups = draw.choice((1, 1, 2))
            stride, dilation, kernel, extents = each(1, 3), each(1, 2), each(1, 3), each(1, 4)
            padding = each(0, 1)
            output_padding = tuple(draw.randrange(max(s, d)) for s, d in zip(stride, dilation))
            out = [(e - 1) * s - 2 * p + d * (k - 1) + o + 1
                   for e, s, p, d, k, o in zip(extents, stride, padding, dilation, kernel, output_padding)]
            if min(out) >= 1:
                break
        self.dimensions = n
        self.arguments = {"stride": stride, "padding": padding, "output_padding": output_padding, "groups": groups,
                          "dilation": dilation}
        self.x = self._tensor((draw.randint(1, 2), groups * draw.randint(1, 2), *extents), device, dtype,
                              draw.random() < 0.5)
        shape = (self.x.shape[1], draw.randint(1, 2), *kernel)
        self.weight = self._tensor(shape, device, dtype, draw.random() < 0.5)
        self.bias = None
        if draw.random() < 0.5:
            self.bias = self._tensor((groups * shape[1],), device, dtype, False)

    @staticmethod
    def _tensor(shape, device, dtype, channels_last):
        tensor = torch.randn(shape, dtype=torch.float64).to(dtype).to(device)
        if channels_last and len(shape) > 3:
            tensor = tensor.contiguous(memory_format=MEMORY_FORMATS[len(shape) - 2])
        elif channels_last:
            tensor = tensor.transpose(1, 2).contiguous().transpose(1, 2)
        return tensor.requires_grad_()

    def tensors(self):
        """x, weight and, where there is one, bias."""
        return tuple(tensor for tensor in (self.x, self.weight, self.bias) if tensor is not None)

    def torchs(self, x, weight, bias=None):
        """torch's output."""
        return TORCHS[self.dimensions](x, weight, bias, **self.arguments)

    def ours(self, x, weight, bias=None, **named):
        """convtgen's."""
        import convtgen.torch as ct

        function = {1: ct.conv_transpose1d, 2: ct.conv_transpose2d, 3: ct.conv_transpose3d}[self.dimensions]
        return function(x, weight, bias, **self.arguments, **named)

    def __repr__(self):
        return f"Sample({tuple(self.x.shape)}, {tuple(self.weight.shape)}, {self.arguments})"


def relative_error(value, exact):
    """Relative L2 error of a tensor against one of float64."""
    exact = exact.double()
    norm = exact.norm().item()
    return (value.double() - exact).norm().item() / norm if norm else value.double().norm().item()


def assert_close(value, exact, dtype, what, magnitude=None):
    """Within the bound of the type; a result of few terms may be off by its own rounding more. `magnitude` has the sums
    of the terms' absolute values: terms may cancel, and a result of few elements has none that are larger. So errors of
    4 roundings of these are fine too."""
    assert value.shape == exact.shape, what
    eps = torch.finfo(dtype).eps
    bound = BOUNDS[dtype] + eps
    error = relative_error(value, exact)
    if magnitude is not None and bool(((value.double() - exact).abs() <= 4 * eps * magnitude).all()):
        return
    assert math.isfinite(error) and error <= bound, f"{what}: relative error {error}, bound {bound}"
