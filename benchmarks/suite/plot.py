"""Draws what compare.py measured: plot.py RESULTS.json FOLDER [--panel tf32-nchw]... [--format svg|png]

FOLDER/ratio.svg has a bar for each layer, cuDNN's time over ours; FOLDER/roofline.svg the speed of both against the
ceilings of the chip. One panel for each mode and layout. Needs matplotlib and no GPU.
"""

import argparse
import json
import math
import os
import statistics
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot.py: the pictures need matplotlib, which is not here: python3 -m pip install matplotlib")
matplotlib.use("agg")  # no window
from matplotlib import pyplot
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from layer import COPY_BYTES_PER_SECOND, FLOPS

# Okabe and Ito's colours, which colour-blind people can distinguish; shapes and labels show the same.
OURS, CUDNN, LINES = "#0072B2", "#D55E00", "#555555"
STYLE = {"font.size": 8, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False,
         "svg.hashsalt": "convtgen"}  # equal results, equal files


def panels_of(rows):
    """(title, rows) for each mode and layout, in the order in which they were measured."""
    groups = {}
    for row in rows:
        groups.setdefault((row["mode"], row["layout"]), []).append(row)
    return [(f"{mode} {layout.upper()}", part) for (mode, layout), part in groups.items()]


def ratio_of(row):
    """cuDNN's time over ours; None where a result was wrong."""
    return None if row["convtgen"]["ms"] is None or row["convtgen"]["wrong"] else row["cudnn"]["ms"] / row["convtgen"]["ms"]


def _short(number):
    return f"{number:.2f}" if number < 1 else f"{number:.1f}" if number < 10 else f"{number:.0f}"


def draw_ratio(results):
    panels = panels_of(results["rows"])
    layers = list(dict.fromkeys(row["layer"] for row in results["rows"]))
    ratios = [ratio for row in results["rows"] if (ratio := ratio_of(row)) is not None]
    low, high = min([1.0, *ratios]) / 1.5, max([1.0, *ratios]) * 1.6
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(1.2 + 0.32 * len(layers), 0.9 + 1.9 * len(panels)),
                                   sharex=True, squeeze=False, layout="constrained")
    for axis, (title, rows) in zip(axes[:, 0], panels):
        right = [ratio for row in rows if (ratio := ratio_of(row)) is not None]
        for row in rows:
            place, ratio = layers.index(row["layer"]), ratio_of(row)
            if ratio is None:
                axis.text(place, 1, " wrong", rotation=90, ha="center", va="bottom", color=CUDNN)
                continue
            axis.bar(place, ratio - 1, bottom=1, width=0.7, color=OURS if ratio >= 1 else CUDNN,
                     hatch=None if ratio >= 1 else "////", edgecolor="white", linewidth=0)
            axis.annotate(_short(ratio), (place, ratio), (0, 2 if ratio >= 1 else -2), textcoords="offset points",
                          ha="center", va="bottom" if ratio >= 1 else "top", fontsize=6.5)
        axis.axhline(1, color="black", linewidth=0.8)
        mean = f": geometric mean {_short(statistics.geometric_mean(right))}" if right else ""
        axis.set_title(f"{title}{mean}", loc="left")
        axis.set_yscale("log")
        axis.set_ylim(low, high)
        steps = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
        axis.yaxis.set_major_locator(FixedLocator([2.0**step for step in steps]))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.grid(axis="y", color="#dddddd", linewidth=0.5)
        axis.set_axisbelow(True)
    axes[-1, 0].set_xticks(range(len(layers)), layers, rotation=60, ha="right", rotation_mode="anchor")
    axes[-1, 0].set_xlim(-0.7, len(layers) - 0.3)
    figure.suptitle(f"Times as fast as cuDNN ({results['gpu']})", x=0.01, ha="left", fontsize=10)
    return figure


def _label(axis, names, marks):
    """Writes each name (x, y, text) at the nearest free place around its point, none over another or over a mark (x, y)."""
    boxes = [(x - 3, y - 3, x + 3, y + 3) for x, y in (axis.transData.transform(mark) for mark in marks)]
    scale = axis.figure.dpi / 72  # pixels of a point
    inside = axis.get_window_extent()
    turns = [math.pi * step / 8 for step in (0, 8, 4, 12, 2, 6, 14, 10, 1, 7, 15, 9, 3, 5, 13, 11)]
    for x, y, text in sorted(names):
        at_x, at_y = axis.transData.transform((x, y))
        width, height = 3.6 * len(text) * scale, 6 * scale
        for distance, turn in ((d, t) for d in range(5, 90, 3) for t in turns):
            left = at_x + distance * scale * math.cos(turn) - width * (1 - math.cos(turn)) / 2
            low = at_y + distance * scale * math.sin(turn) - height / 2
            box = (left, low, left + width, low + height)
            free = all(box[0] > b[2] or box[2] < b[0] or box[1] > b[3] or box[3] < b[1] for b in boxes)
            if free and inside.x0 < box[0] and box[2] < inside.x1 and inside.y0 < box[1] and box[3] < inside.y1:
                break
        boxes.append(box)
        offset = ((left + width / 2 - at_x) / scale, (low + height / 2 - at_y) / scale)
        axis.annotate(text, (x, y), offset, textcoords="offset points", fontsize=6, ha="center", va="center",
                      color="#222222", arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": OURS, "shrinkA": 3,
                                                   "shrinkB": 2} if distance > 8 else None)


def draw_roofline(results):
    panels = panels_of(results["rows"])
    figure, axes = pyplot.subplots(len(panels), 1, squeeze=False, layout="constrained",
                                   figsize=(9, 0.6 + 3.8 * len(panels)))
    labels = []
    for axis, (title, rows) in zip(axes.flat, panels):
        ceiling = FLOPS[rows[0]["mode"]]
        intensity = [row["gflop"] / row["gbyte"] for row in rows]
        left, right = min(intensity) / 1.6, max(intensity + [ceiling / COPY_BYTES_PER_SECOND]) * 2.5
        knee = ceiling / COPY_BYTES_PER_SECOND
        axis.plot([left, knee, right], [left * COPY_BYTES_PER_SECOND / 1e12, ceiling / 1e12, ceiling / 1e12],
                  color=LINES, linewidth=1)
        axis.text(right, ceiling / 1e12, f"{ceiling / 1e12:.0f} Tflop/s ", ha="right", va="bottom", fontsize=6.5,
                  color=LINES)
        axis.text(left, left * COPY_BYTES_PER_SECOND / 1e12 * 1.5, f" {COPY_BYTES_PER_SECOND / 1e12:g} TB/s",
                  ha="left", va="bottom", fontsize=6.5, color=LINES)
        names, marks = [], []
        for row, x in zip(rows, intensity):
            cudnn = row["gflop"] / row["cudnn"]["ms"]  # Tflop/s
            axis.plot(x, cudnn, marker="s", markersize=4, markerfacecolor="none", color=CUDNN, linestyle="none")
            marks.append((x, cudnn))
            if ratio_of(row) is not None:
                ours = row["gflop"] / row["convtgen"]["ms"]
                axis.plot([x, x], [cudnn, ours], color="#bbbbbb", linewidth=0.6, zorder=0)
                axis.plot(x, ours, marker="o", markersize=4, color=OURS, linestyle="none")
                marks.append((x, ours))
                names.append((x, ours, row["layer"]))
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(left, right)
        axis.set_ylim(min(y for _, y in marks) / 2, ceiling / 1e12 * 1.8)
        axis.set_title(title, loc="left")
        axis.set_xlabel("flop/byte (each array moved once)")
        axis.set_ylabel("Tflop/s")
        axis.grid(color="#e5e5e5", linewidth=0.5)
        axis.set_axisbelow(True)
        labels.append((axis, names, marks))
    axes.flat[0].plot([], [], marker="o", color=OURS, linestyle="none", markersize=4, label="convtgen")
    axes.flat[0].plot([], [], marker="s", color=CUDNN, linestyle="none", markersize=4, markerfacecolor="none",
                      label="cuDNN")
    axes.flat[0].legend(loc="lower right", frameon=False)
    figure.suptitle(f"Speed against the ceilings of {results['gpu']}", x=0.01, ha="left", fontsize=10)
    figure.canvas.draw()  # the layout is known from here on
    for label in labels:
        _label(*label)
    return figure


def draw(results, folder, form="svg"):
    os.makedirs(folder, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        for name, picture in (("ratio", draw_ratio), ("roofline", draw_roofline)):
            path = os.path.join(folder, f"{name}.{form}")
            figure = picture(results)
            figure.savefig(path, dpi=150, metadata={"Date": None} if form == "svg" else {"Software": None})
            pyplot.close(figure)
            print(path)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", help="a JSON file of compare.py")
    parser.add_argument("folder", help="where the pictures go")
    parser.add_argument("--panel", action="append", help="mode-layout: these alone")
    parser.add_argument("--format", default="svg", choices=["svg", "png"])
    options = parser.parse_args(words)
    try:
        with open(options.results, encoding="utf-8") as file:
            results = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"plot.py: {options.results}: {error}")
    if not results.get("rows"):
        sys.exit(f"plot.py: {options.results}: no rows; compare.py --json makes such a file")
    panels = list(dict.fromkeys(f"{row['mode']}-{row['layout']}" for row in results["rows"]))
    if unknown := set(options.panel or []) - set(panels):
        sys.exit(f"plot.py: {options.results} has no panel {', '.join(sorted(unknown))}; it has {', '.join(panels)}")
    wanted = options.panel or panels
    results["rows"] = [row for row in results["rows"] if f"{row['mode']}-{row['layout']}" in wanted]
    draw(results, options.folder, options.format)


if __name__ == "__main__":
    main(sys.argv[1:])
