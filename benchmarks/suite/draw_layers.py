"""Draws layers for the fit of the planner's cost models, and for its judgement: draw_layers.py --seed S --count N
[--volumes] [--exclude FILE.convt]... [--output FILE.convt]

Most are of architectures that people use (architectures.py), each family as often as the others; the rest are legal
layers at random. All are different, and none is a layer of an excluded file, whatever its batch and bias. Equal arguments
give equal files, on every machine. What a layer costs is limited: see is_bearable().

The layers have no compute mode: compare.py, and defaults in front of them, give them one.
"""

import argparse
import math
import random
import sys

from architectures import FAMILIES, Chance, image, signal, volume
from architectures_3d import FAMILIES_3D
from layer import layers_in

RANDOM_PERCENT = 30
# Of one family in a row, draws that give nothing new. Then the next one has its turn.
MOST_TRIES = 200
LEAST_MS, MOST_MS = 0.003, 3
MOST_BYTES = 4e9
MOST_TAPS = 4096  # docs/language.md


def is_bearable(layer):
    """Not empty, legal, and on an H200 neither below what a launch costs nor too slow to measure many plans of."""
    return (min(layer.out_extents) > 0 and layer.taps <= MOST_TAPS
            and layer.in_channels % layer.groups == layer.out_channels % layer.groups == 0
            and all(o < max(s, d) for o, s, d in zip(layer.output_padding, layer.stride, layer.dilation))
            and layer.bytes("f32") <= MOST_BYTES and LEAST_MS <= layer.floor_ms("tf32") <= MOST_MS)


def any_legal(c):
    """Kernels up to 7, strides up to 4, dilation, groups, output_padding, channels that are no powers of two."""
    is_flat = c.happens(15)
    both = c.happens(60)

    def axes(draw):
        value = draw()
        return [value, value if both else draw()]

    kernel = axes(lambda: c.to(1, 7))
    stride = axes(lambda: c.any(1, 1, 2, 2, 3, 4))
    dilation = axes(lambda: c.to(2, 3)) if c.happens(25) else [1, 1]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    padding = [c.any(0, most // 2, most // 2, most, c.to(0, most)) for most in reach]
    output_padding = [c.to(0, max(s, d) - 1) if c.happens(30) else 0 for s, d in zip(stride, dilation)]
    groups = c.any(1, 1, 1, 1, 1, 1, 2, 4, 8, 32)
    unit = c.any(1, 2, 3, 4, 8) if groups > 1 else c.any(1, 3, 8, 8, 16, 16, 32)
    channels = [groups * unit * c.any(1, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16) for _ in range(2)]
    batch, bias = c.any(1, 1, 2, 4, 7, 16, 32, 64), c.happens(50)
    if is_flat:
        length = c.any(c.to(16, 500), c.to(500, 5000), c.to(5000, 100000))
        return signal(batch, channels, length, kernel[1], stride[1], padding[1], output_padding[1], dilation[1], groups, bias)
    size = [c.any(c.to(4, 32), c.to(16, 128), c.to(64, 400)) for _ in range(2)]
    return image(batch, channels, size, kernel, stride, padding, output_padding, dilation, groups, bias)


def any_legal_volume(c):
    """Kernels up to 5, strides up to 3, dilation, groups, output_padding, channels that are no powers of two."""
    def axes(draw):
        return [draw() for _ in range(3)]

    kernel = axes(lambda: c.any(1, 2, 3, 3, 4, 5))
    stride = axes(lambda: c.any(1, 1, 2, 2, 3))
    dilation = axes(lambda: c.to(1, 2)) if c.happens(25) else [1, 1, 1]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    padding = [c.any(0, most // 2, most // 2, most) for most in reach]
    output_padding = [c.to(0, max(s, d) - 1) if c.happens(30) else 0 for s, d in zip(stride, dilation)]
    groups = c.any(1, 1, 1, 1, 1, 1, 2, 4, 8)
    unit = c.any(1, 2, 4, 8) if groups > 1 else c.any(1, 3, 8, 8, 16, 16, 32)
    channels = [groups * unit * c.any(1, 1, 2, 3, 4, 5, 6, 8) for _ in range(2)]
    size = axes(lambda: c.any(c.to(3, 16), c.to(8, 32), c.to(16, 96)))
    return volume(c.any(1, 1, 2, 4, 8, 16), channels, size, kernel, stride, padding, output_padding, dilation, groups,
                  c.happens(50))


def shape_of(layer):
    """What decides whether two layers are the same, whatever their batch and bias."""
    return (layer.in_channels, layer.out_channels, *layer.kernel, *layer.stride, *layer.padding, *layer.output_padding,
            *layer.dilation, layer.groups, *layer.extents)


def drawn(seed, count, excluded=(), of_volumes=False):
    """[(a comment, Drawn)], with names. `excluded`: Layers."""
    chance = Chance(random.Random(seed).random)
    left_out, taken = {shape_of(layer) for layer in excluded}, set()
    families, at_random = (FAMILIES_3D, any_legal_volume) if of_volumes else (FAMILIES, any_legal)
    families, layers, numbers, turn = list(families.items()), [], {}, 0
    while len(layers) < count:
        if chance.happens(RANDOM_PERCENT):
            name, (title, draw) = "random", ("any legal layer", at_random)
        else:
            name, (title, draw) = families[turn % len(families)]
            turn += 1
        for _ in range(MOST_TRIES):
            found = draw(chance)
            shape = shape_of(found.layer)
            if shape not in left_out and (shape, found.layer.batch) not in taken and is_bearable(found.layer):
                taken.add((shape, found.layer.batch))
                numbers[name] = numbers.get(name, 0) + 1
                found.layer.name = f"{name}_{numbers[name]}"
                layers.append((title, found))
                break
    return layers


def text_of(title, of):
    """As `convtgen fmt` lays it out."""
    layer = of.layer
    first = 1 if of.is_flat else 0

    def pair(values):
        return "x".join(map(str, values[first:]))

    size = f"{layer.batch}x{pair(layer.extents)}"
    properties = {"kernel": pair(layer.kernel)}
    for name, values, neutral in (("stride", layer.stride, 1), ("padding", layer.padding, 0),
                                  ("output_padding", layer.output_padding, 0), ("dilation", layer.dilation, 1)):
        if any(value != neutral for value in values):
            properties[name] = pair(values)
    if layer.groups != 1:
        properties["groups"] = str(layer.groups)
    properties["input"] = size
    width = max(len(name) for name in properties)
    lines = [f"# {title}", f"layer {layer.name} {{",
             f"  conv_transpose{len(layer.kernel) - first}d {layer.in_channels} -> {layer.out_channels}"]
    lines += [f"  {name:<{width}} {value}" for name, value in properties.items()]
    return "\n".join(lines + (["  bias"] if layer.bias else []) + ["}"])


def file_of(seed, count, exclude, of_volumes):
    excluded = []
    for path in exclude:
        with open(path, encoding="utf-8") as file:
            excluded += layers_in(file.read())
    head = [f"# {count} layers, written by this command in the project's folder:",
            f"# benchmarks/suite/draw_layers.py --seed {seed} --count {count}{' --volumes' if of_volumes else ''}"]
    head += [f"#   --exclude {path}" for path in exclude]
    return "\n\n".join(["\n".join(head), *(text_of(*each) for each in drawn(seed, count, excluded, of_volumes))]) + "\n"


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True, help="how many layers")
    parser.add_argument("--volumes", action="store_true", help="layers of three axes")
    parser.add_argument("--exclude", action="append", default=[], metavar="FILE.convt", help="draw none of its layers")
    parser.add_argument("--output", metavar="FILE.convt", help="default: standard output")
    options = parser.parse_args(words)
    text = file_of(options.seed, options.count, options.exclude, options.volumes)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
