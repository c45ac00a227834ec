"""Layers of JAX's arguments, and how their arrays lie.

Kernels read arrays of two orders. With "nhwc" x is (batch, extents..., channels), y too, and the weights are (input
channels, taps..., output channels); with "nchw" what stands last stands second in each.
"""

import math
from typing import NamedTuple


class Layer(NamedTuple):
    """What the operators of a layer share, whatever its batch and its channels.

    Attributes:
      layout: "nhwc" or "nchw".
      extents, kernel: of x and of the weights, one number for each axis, as the tuples below.
      padding: pairs (before, after).
      compute: the language's word.
      precision: a pair of jax.lax.Precision, for JAX's own operator.
      policy: "auto", "always" or "only"; "never" where the other two were measured.
      on_host: whether the CPU runs it on the host device.
    """

    layout: str
    extents: tuple
    kernel: tuple
    stride: tuple
    padding: tuple
    output_padding: tuple
    dilation: tuple
    compute: str
    precision: tuple
    policy: str
    on_host: bool

    def arranged(self, first, channels, extents):
        """The shape of x, y or weights."""
        return (first, channels, *extents) if self.layout == "nchw" else (first, *extents, channels)

    def channels_of(self, shape):
        """The channels of x or y of this shape, or the output channels of weights."""
        return shape[1] if self.layout == "nchw" else shape[-1]

    def spatial_axes(self):
        """Of an array, counted from 0."""
        first = 2 if self.layout == "nchw" else 1
        return tuple(range(first, first + len(self.extents)))

    def output_extents(self):
        """Of y: (in - 1) * stride - padding + dilation * (kernel - 1) + output_padding + 1 for each axis."""
        return tuple((extent - 1) * stride - sum(padding) + dilation * (taps - 1) + more + 1
                     for extent, taps, stride, padding, more, dilation in zip(
                         self.extents, self.kernel, self.stride, self.padding, self.output_padding, self.dilation))

    def text(self, batch, in_channels, out_channels, dtype):
        """The layer in convtgen's language; `dtype` is its word."""
        weight_layout = "contiguous" if self.layout == "nchw" else "channels_last"
        padding = "x".join(f"{before}:{after}" for before, after in self.padding)
        return (f"conv_transpose{len(self.extents)}d {in_channels} -> {out_channels}; kernel {_axes(self.kernel)}; "
                f"stride {_axes(self.stride)}; padding {padding}; output_padding {_axes(self.output_padding)}; "
                f"dilation {_axes(self.dilation)}; input {_axes((batch, *self.extents))}; dtype {dtype}; "
                f"compute {self.compute}; layout {self.layout}; weight_layout {weight_layout}; "
                "directions forward, grad_input, grad_weight")


def _axes(values):
    return "x".join(map(str, values))


def padding_pairs(padding, kernel, strides, dilation, is_consistent):
    """jax.lax.conv_transpose's `padding` as zeros before and after the input, whose elements the stride sets apart, for
    each axis; None where it is another word than 'SAME' and 'VALID'."""
    taps = [rate * (extent - 1) + 1 for extent, rate in zip(kernel, dilation)]
    if not isinstance(padding, str):
        pairs = tuple((int(before), int(after)) for before, after in padding)
        if is_consistent:
            pairs = tuple((k - 1 - before, k - 1 - after) for k, (before, after) in zip(taps, pairs))
        return pairs
    if padding == "SAME":
        return tuple(_split(k + s - 2, k - 1 if s >= k else math.ceil((k + s - 2) / 2)) for k, s in zip(taps, strides))
    if padding == "VALID":
        return tuple(_split(k + s - 2 + max(k - s, 0), k - 1) for k, s in zip(taps, strides))
    return None


def _split(both, before):
    return before, both - before


def as_padding(pairs, kernel, dilation):
    """(padding, output_padding) of the language for those zeros: a layer without padding has dilation * (kernel - 1) on
    each side. Negative padding has no layer."""
    spans = [rate * (extent - 1) for extent, rate in zip(kernel, dilation)]
    padding = tuple((span - before, max(span - after, 0)) for span, (before, after) in zip(spans, pairs))
    return padding, tuple(max(after - span, 0) for span, (_, after) in zip(spans, pairs))
