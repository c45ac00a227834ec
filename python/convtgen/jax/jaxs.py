"""JAX's own operators, for arrays that lie as kernels read them: what runs where there is no kernel."""

import jax
from jax import lax


def _forward(x, weight, layer):
    spans = [rate * (taps - 1) for rate, taps in zip(layer.dilation, layer.kernel)]
    pairs = [(span - before, span - after + more)
             for span, (before, after), more in zip(spans, layer.padding, layer.output_padding)]
    axes = "DHW"[3 - len(layer.extents):]
    orders = tuple(first + (second + axes if layer.layout == "nchw" else axes + second)
                   for first, second in (("N", "C"), ("I", "O"), ("N", "C")))
    return lax.conv_general_dilated(x, lax.rev(weight, layer.spatial_axes()), (1,) * len(spans), pairs,
                                    lhs_dilation=layer.stride, rhs_dilation=layer.dilation, dimension_numbers=orders,
                                    precision=layer.precision)


def run(first, second, direction, result, layer):
    """The result of a direction, of a jax.ShapeDtypeStruct: forward of x and weights, grad_input of grad_y and weights,
    grad_weight of x and grad_y."""
    if direction == "forward":
        return _forward(first, second, layer)
    if direction == "grad_input":
        return jax.linear_transpose(lambda x: _forward(x, second, layer), result)(first)[0]
    return jax.linear_transpose(lambda weight: _forward(first, weight, layer), result)(second)[0]
