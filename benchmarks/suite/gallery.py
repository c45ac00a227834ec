"""Writes the gallery, docs/gallery: gallery.py CONVTGEN

A page for each layer of LAYERS: its text, its plan and why, the heart of its source, and its times as they stand in
benchmarks/results; and a first page of all of them. Equal sources of convtgen give equal pages. Needs no GPU.
"""

import html
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from typing import NamedTuple

from layer import MODES
from tables import Row, tables_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "docs", "gallery")
CHIP, ARCHITECTURE = "NVIDIA H200", "sm_90a"
# Layers and their times; the first table of a mode and a layout is the forward direction's.
FILES = [("layers.convt", "forward_h200.txt"), ("layers_3d.convt", "volumes_h200.txt")]
MOST_LINES = 44  # of an excerpt


class Shown(NamedTuple):
    """A layer of the gallery, and the mode and layout whose plan and source its page shows."""

    layer: str
    mode: str
    layout: str
    about: str


LAYERS = [
    Shown("unet1", "f16", "nhwc", "U-Net's first up-sampling. Kernel and stride are equal: each output has one tap."),
    Shown("unet4", "tf32", "nchw", "U-Net's last up-sampling: few channels and many pixels, so memory limits it."),
    Shown("dcgan4", "tf32", "nchw", "The usual layer of generators, kernel 4 with stride 2: four phases of four taps."),
    Shown("dcgan5", "f16", "nhwc", "A generator's last layer makes three channels, which are few for a tensor core."),
    Shown("fsrcnn4", "f16", "nchw", "Super-resolution by 4 to a single channel, with 81 taps in 16 phases."),
    Shown("pose3", "f32x3", "nchw", "An up-sampling of a pose network, in fp32 made of three fp16 products."),
    Shown("mrcnn", "f16", "nhwc", "The mask head of Mask R-CNN: 100 small images, one tap for each output."),
    Shown("pillars", "tf32", "nchw", "An up-sampling by 4 for detection in point clouds, of images with odd sizes."),
    Shown("fcn8dw", "tf32", "nchw", "Bilinear up-sampling by 8, each channel by itself: no sum over channels."),
    Shown("hifi1", "f16", "nhwc", "One axis: the first up-sampling of a vocoder, by 8, with two taps in each phase."),
    Shown("nnunet_up4", "f16", "nhwc", "A volume: the fourth up-sampling of nnU-Net."),
    Shown("monai_u3", "f16", "nhwc", "A volume with overlapping taps: kernel 3 with stride 2 on three axes."),
]


class Time(NamedTuple):
    """A layer's times in a mode and a layout."""

    mode: str
    layout: str
    row: Row

    @property
    def title(self):
        return f"{self.mode} {self.layout.upper()}"


class Layer(NamedTuple):
    model: str
    text: str
    times: list
    results: str


class Page(NamedTuple):
    shown: Shown
    layer: Layer
    text: str
    plan: dict
    source: str


# ---- What stands in files ----


def times_of(results):
    """{layer: [Time]} of the first table of each mode and layout."""
    found, seen = {}, set()
    for table in tables_of(results):
        if table.direction == "forward" and (table.mode, table.layout) not in seen:
            seen.add((table.mode, table.layout))
            for row in table.rows:
                found.setdefault(row.layer, []).append(Time(table.mode, table.layout, row))
    return found


def layers_of_files():
    """{name: Layer}. A layer's model is the comment before it."""
    found = {}
    for layers, results in FILES:
        times = times_of(results)
        with open(os.path.join(ROOT, "benchmarks", layers), encoding="utf-8") as file:
            for model, block, name in re.findall(r"^# (.+)\n(layer (\w+) \{[^}]*\})", file.read(), re.M):
                found[name] = Layer(model, block, times[name], results)
    return found


def run(convtgen, *words):
    """convtgen's output, without records of this machine's store."""
    with tempfile.TemporaryDirectory() as store:
        ran = subprocess.run([convtgen, *words], capture_output=True, text=True,
                             env=os.environ | {"CONVTGEN_CACHE_DIR": store})
    if ran.returncode:
        sys.exit(f"gallery.py: '{convtgen} {' '.join(words)}' fails\n{ran.stderr}")
    return ran.stdout


def page_of(convtgen, shown, layer):
    settings = f"  dtype {MODES[shown.mode]}\n  compute {shown.mode}\n  layout {shown.layout}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layer.convt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(layer.text[:-1] + settings + "}\n")
        run(convtgen, "fmt", "-i", path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        plan = run(convtgen, "explain", path, "--arch", ARCHITECTURE, "--chip", CHIP, "--no-compile", "--json")
        return Page(shown, layer, text, json.loads(plan)[0], run(convtgen, "emit", path, "--arch", ARCHITECTURE))


# ---- The heart of a source ----

TAPS = re.compile(r"// taps? \(\d")


def heart_of(source):
    """The lines of the function whose comments name the taps, from its own comment on. Of a long one, those
    around the taps."""
    lines = source.splitlines()
    taps = [i for i, line in enumerate(lines) if TAPS.search(line)]
    if not taps:
        sys.exit("gallery.py: a source without a comment that names taps")
    first = taps[0]
    while lines[first - 1] and not lines[first - 1].startswith("}"):
        first -= 1
    last = lines.index("}", taps[0])
    if last - first >= MOST_LINES:
        first = max(first, taps[0] - 12)
        last = min(last, first + MOST_LINES - 1)
    return textwrap.dedent("\n".join(lines[first:last + 1])).split("\n")


# ---- Pictures: SVG, whose colours are the style sheet's ----

WIDTH, ROW = 340, 17


def short(number):
    """Three digits, without trailing zeros."""
    digits = max(0, 2 - math.floor(math.log10(number)))
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_at(x, y, text, kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind and f" class={chr(34)}{kind}{chr(34)}"}>{html.escape(text)}</text>'


def picture(height, title, alternative, parts):
    return "\n".join([f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(alternative)}">',
                      f"<title>{html.escape(title)}</title>", *parts, "</svg>"])


def bar(x, y, width, kind):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{ROW - 4}" class="{kind}"/>'


def draw_times(page):
    """For each mode and layout, cuDNN's time and ours as bars, with the floor as a line over both."""
    times = page.layer.times
    left, right = 62, 76
    scale = (WIDTH - left - right) / max(time.row.cudnn for time in times)
    parts, said = [], []
    for i, time in enumerate(times):
        y = i * (3 * ROW + 12) + 4
        floor = f"floor {short(time.row.floor)} ms"
        parts.append(text_at(0, y + 11, f"{time.title}: {short(time.row.ratio)}x; {floor}", "head"))
        bars = [("cuDNN", "cudnn", time.row.cudnn), ("convtgen", "ours", time.row.ours)]
        for line, (name, kind, ms) in enumerate(bars, 1):
            parts += [text_at(0, y + line * ROW + 11, name), bar(left, y + line * ROW, ms * scale, kind),
                      text_at(left + ms * scale + 5, y + line * ROW + 11, f"{short(ms)} ms")]
        at = left + time.row.floor * scale
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y + ROW - 2}" y2="{y + 3 * ROW - 2}" class="floor"/>')
        said.append(f"{time.title}: cuDNN {short(time.row.cudnn)} ms, convtgen {short(time.row.ours)} ms, {floor}")
    return picture(len(times) * (3 * ROW + 12), f"Times of {page.layer.model}", "; ".join(said), parts)


def time_of(page):
    """The time of the mode and layout that the page shows."""
    return next(time for time in page.layer.times if (time.mode, time.layout) == page.shown[1:3])


def draw_ratios(pages):
    """A bar for each layer, from 1, logarithmic."""
    left, right = 164, 46
    ratios = [time_of(page).row.ratio for page in pages]
    scale = (WIDTH - left - right) / math.log(max(ratios))
    parts, said = [], []
    for i, (page, ratio) in enumerate(zip(pages, ratios)):
        y = i * (ROW + 4) + 4
        length = math.log(ratio) * scale
        parts += [text_at(0, y + 11, re.split(r",| \(", page.layer.model)[0]), bar(left, y, length, "ours"),
                  text_at(left + length + 5, y + 11, f"{short(ratio)}x")]
        said.append(f"{page.layer.model} {short(ratio)}x")
    height = len(pages) * (ROW + 4) + 6
    parts.append(f'<line x1="{left}" x2="{left}" y1="0" y2="{height}" class="floor"/>')
    return picture(height, "Speed-up over cuDNN", "; ".join(said), parts)


# ---- Pages ----


def style():
    """The style sheet, which is written by hand where the pages are."""
    with open(os.path.join(FOLDER, "gallery.css"), encoding="utf-8") as file:
        return file.read()


def document(title, body):
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="gallery.css">
</head>
<body>
{body}
</body>
</html>
"""


def link(page):
    return f'<a href="{page.shown.layer}.html">{html.escape(page.layer.model)}</a>'


def block(text, label):
    """Code, which scrolls by itself, also by keys."""
    return f'<pre tabindex="0" role="region" aria-label="{html.escape(label)}">{text}</pre>'


def others_of(plan):
    """The fastest candidate of each other template that the planner ranked: [(template, words, microseconds)]."""
    fastest = {}
    for each in plan["candidates"]:
        if each["template"] != plan["plan"]["template"] and each["predicted_seconds"]:
            fastest.setdefault(each["template"], each)
    return [(each["template"], each["summary"], short(each["predicted_seconds"] * 1e6)) for each in fastest.values()]


def plan_part(page):
    plan, template = page.plan, page.plan["plan"]["template"]
    facts = [("Template", template), ("Tile", plan["tile"]), ("Why", plan["why"]), ("Tuning record", plan["record"]),
             ("Predicted", f"{short(plan['predicted_seconds'] * 1e6)} us")]
    if (measured := time_of(page).row.template) != template:
        facts.append(("Measured", f"The time above is an earlier plan's, of {measured}."))
    parts = [f"<h2>The plan in {time_of(page).title}, and why</h2>", "<dl>",
             *(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in facts), "</dl>"]
    others = ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in others_of(plan)]
    if others:
        parts += ["<p>The best that other templates offer, as the planner predicts them:</p>", "<table>",
                  "<tr><th>Template</th><th>Tile</th><th>us</th></tr>", *others, "</table>"]
    return parts


def heart_part(page):
    lines = heart_of(page.source)
    code = "\n".join(f"<mark>{html.escape(line)}</mark>" if TAPS.search(line) else html.escape(line) for line in lines)
    return ["<h2>The heart of the kernel</h2>", block(code, "Excerpt of the CUDA source"),
            '<p class="dim">From the output of <code>convtgen emit</code>. Comments name the taps: kernel row, kernel '
            "column.</p>"]


def page_text(page, before, after):
    shown = page.shown
    body = ['<nav><a href="index.html">All layers</a>', f"<span>Before: {link(before)}</span>",
            f"<span>Next: {link(after)}</span></nav>",
            f"<h1>{html.escape(page.layer.model)}</h1>", f"<p>{html.escape(shown.about)}</p>",
            "<h2>The layer</h2>", block(html.escape(page.text.rstrip()), "The layer's text"),
            "<h2>Its time</h2>", "<figure>", draw_times(page),
            "<figcaption>Forward on an H200, medians. The line is the floor, the least time that the chip needs for "
            "the layer's bytes or products. From "
            f'<a href="../../benchmarks/results/{page.layer.results}">{page.layer.results}</a>.</figcaption>',
            "</figure>",
            *plan_part(page), *heart_part(page)]
    return document(f"{page.layer.model} - convtgen", "\n".join(body))


def index_text(pages):
    body = ['<nav><a href="../../README.md">convtgen</a></nav>', "<h1>Layers and their kernels</h1>",
            "<p>Each page shows a layer's text, its time, the plan and why, and the heart of the CUDA source.</p>",
            "<figure>", draw_ratios(pages),
            "<figcaption>Speed-up over cuDNN on an H200, from 1, on a logarithmic scale, in the mode and layout that "
            "the layer's page shows.</figcaption>", "</figure>", "<dl>",
            *(f"<dt>{link(page)}: {time_of(page).title}, <code>{page.plan['plan']['template']}</code></dt>"
              f"<dd>{html.escape(page.shown.about)}</dd>" for page in pages), "</dl>"]
    return document("Layers and their kernels - convtgen", "\n".join(body))


def files_of(convtgen):
    """{name: text} of the gallery."""
    layers = layers_of_files()
    pages = [page_of(convtgen, shown, layers[shown.layer]) for shown in LAYERS]
    files = {"gallery.css": style(), "index.html": index_text(pages)}
    for i, page in enumerate(pages):
        files[f"{page.shown.layer}.html"] = page_text(page, pages[i - 1], pages[(i + 1) % len(pages)])
    return files


def write(files):
    """Makes them the gallery's only ones."""
    os.makedirs(FOLDER, exist_ok=True)
    for name in set(os.listdir(FOLDER)) - set(files):
        os.remove(os.path.join(FOLDER, name))
    for name, text in files.items():
        with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(files_of(sys.argv[1]))
