"""Writes the tables of docs/performance.md and README.md, from benchmarks/results: performance.py

A table of performance.md stands between "<!-- NAME -->" and "<!-- end of NAME -->"; one of README.md is known by its
first line.
"""

import itertools
import os
import re

from layer import COPY_BYTES_PER_SECOND, layers_in
from results import geometric_mean, read_results
from tables import RESULTS, table_of

ROOT = os.path.dirname(os.path.dirname(RESULTS))
MODES = [("tf32", "nchw"), ("f16", "nhwc"), ("f16", "nchw"), ("f32x3", "nchw")]
HEAD = ["tf32 NCHW", "f16 NHWC", "f16 NCHW", "f32x3 NCHW"]
GRADIENTS = ["grad_input", "grad_weight"]
MMA_FLOPS = {"tf32": 322e12, "f16": 643e12, "f32x3": 643e12 / 3}  # of an H200 by mma.sync, as large products reach
# Layers of benchmarks/layers.convt; the means of gradients are of these, unless they are of all.
NINETEEN = ("kb57 kb64 kb65 kb69 kb71 kb74 kb78 unet1 unet4 dcgan2 dcgan4 pose1 pose3 mrcnn yoloseg sam2x2 pillars "
            "hifi1 hifi4").split()

with open(os.path.join(os.path.dirname(RESULTS), "layers.convt"), encoding="utf-8") as layer_file:
    LAYERS = {layer.name: layer for layer in layers_in(layer_file.read())}


# ---- Cells ----


def ms(time):
    return f"{time:.3f}" if time >= 0.1 else f"{time:.4f}"


def percent(share):
    return f"{100 * share:.0f} %"


def mean(table):
    return f"{table.mean:.2f}"


def bold_mean(table):
    return f"**{mean(table)}**"


def mean_and_least(table):
    return f"{mean(table)} ({table.least.layer} {table.least.ratio:.2f})"


def named(rows):
    return ", ".join(f"{row.layer} {row.ratio:.2f}" for row in sorted(rows, key=lambda row: row.ratio))


def table(head, rows):
    lines = [" ".join(["|", *(f"{cell} |" if cell else "|" for cell in cells)]) for cells in [head, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


# ---- The tables of results ----


def forward():
    return [table_of("forward_h200.json", mode, layout) for mode, layout in MODES]


def gradient(direction):
    return [table_of("gradients_h200.txt", mode, layout, direction) for mode, layout in MODES]


def sm_80(direction="forward"):
    section = {"forward": "forward as sm_80", "grad_input": "gradients of the input as sm_80",
               "grad_weight": "gradients of the weights as sm_80"}[direction]
    return [table_of("any_gpu_h200.txt", mode, layout, direction, section) for mode, layout in MODES]


def volumes(direction="forward"):
    return [table_of("volumes_h200.txt", mode, layout, direction) for mode, layout in MODES]


def of_nineteen(tables):
    return [each.of(NINETEEN) for each in tables]


# ---- docs/performance.md ----


def direct_table():
    with open(os.path.join(RESULTS, "direct_h200.txt"), encoding="utf-8") as file:
        text = file.read().rpartition("== layer (a)")[2]
    cudnn = float(re.search(r"strict fp32 ([\d.]+) ms", text)[1])
    ours, rate = (float(each) for each in re.search(r"time +([\d.]+) ms, (\S+) GFLOP/s", text).groups())
    share = rate / 51e3
    return table(["", "ms", "of the floor"], [["cuDNN", f"{cudnn:.2f}", percent(share * ours / cudnn)],
                                              ["convtgen `direct`", f"**{ours:.2f}**", percent(share)]])


def layers_table():
    tables = forward()
    rows = []
    for row in zip(*(each.rows for each in tables)):
        cells = [(f"{ms(each.ours)} ({ms(each.cudnn)})", f"{each.ratio:.2f}") for each in row]
        rows.append([row[0].layer, *itertools.chain(*cells)])
    rows.append(["geometric mean", *(cell for each in tables for cell in ("", bold_mean(each)))])
    rows.append(["of the floor", *(cell for each in tables for cell in ("", percent(each.share)))])
    return table(["layer", *(cell for name in HEAD for cell in (name, ""))], rows)


# Layers of other files, first plans unless a record that ships names them: what, file, mode, layout, section, direction.
OTHERS = [
    ("[60 drawn layers](../benchmarks/judge_1.convt)", "judge_h200.txt", "tf32", "nchw", ""),
    ("[the same as `sm_80`](../benchmarks/judge_1.convt)", "any_gpu_h200.txt", "tf32", "nchw", "judge_1 as sm_80"),
    *(("[others, every second](../benchmarks/judge.convt)", "judge_drawn_h200.txt", *each, "drawn layers, forward")
      for each in (("tf32", "nchw"), ("f16", "nhwc"), ("f32x3", "nchw"))),
    *((f"[gradients of {of}](../benchmarks/judge.convt)", "judge_drawn_h200.txt", *each, f"drawn layers, gradients of {of}",
       direction) for of, direction in (("the input", "grad_input"), ("the weights", "grad_weight")) for each in MODES[:2]),
    ("[volumes, every second](../benchmarks/judge_3d.convt)", "judge_drawn_h200.txt", "tf32", "nchw", "drawn layers, volumes"),
    ("[batch 1](../benchmarks/batch1.convt)", "batch1_h200.txt", "tf32", "nchw", ""),
    *(("[odd sizes](../benchmarks/outside.convt)", "outside_h200.txt", *each, "") for each in MODES[:2]),
    ("[many channels](../benchmarks/many_channels.convt)", "cliffs_h200.txt", "f16", "nhwc", "many channels"),
    *(("[unusual kinds](../benchmarks/cliffs.convt)", "cliffs_h200.txt", *each, "cliffs") for each in MODES),
]


def others_table():
    rows = []
    for what, name, mode, layout, section, *direction in OTHERS:
        each = table_of(name, mode, layout, *direction, section=section)
        slower = named(each.slower) or f"none; least {named([each.least])}"
        rows.append([what, f"{mode} {layout.upper()}", str(len(each.rows)), mean(each), percent(each.share), slower,
                     f"[`{name}`](../benchmarks/results/{name})"])
    return table(["what", "mode", "layers", "mean", "of the floor", "slower than cuDNN", "file"], rows)


def h100_table():
    forwards = [table_of("forward_h100.txt", *each) for each in MODES]
    of_weights = [table_of("grad_weight_h100.txt", *each, "grad_weight") for each in MODES]
    return table(["", *HEAD], [["forward, 25 layers", *map(mean_and_least, forwards)],
                               ["grad_weight, 19 layers", *map(mean_and_least, of_nineteen(of_weights))]])


def problems_in(name):
    """[(problem, reference's ms, our ms, ratio)] of what evaluate.py of examples/kernelbench printed."""
    with open(os.path.join(RESULTS, name), encoding="utf-8") as file:
        found = re.findall(r"^(\d/\d+) +([\d.]+) +([\d.]+) +([\d.]+)  yes", file.read(), re.M)
    return [(problem, *map(float, numbers)) for problem, *numbers in found]


def kernelbench_table(name, with_means):
    problems = problems_in(name)
    cells = [[problem, f"{ours:#.3g} ({reference:#.3g})", f"{ratio:.2f}"]
             for problem, reference, ours, ratio in problems]
    if with_means:
        cells += [[f"mean, level {level}", "",
                   f"**{geometric_mean([row[3] for row in problems if row[0][0] == level]):.2f}**"] for level in "12"]
    half = len(cells) // 2
    head = ["problem", "ours (PyTorch)", "ratio"]
    return table([*head, "", *head], [[*left, "", *right] for left, right in zip(cells[:half], cells[half:])])


def share_by_mma(each):
    """The arithmetic mean of the shares of the floor at the rates of products by mma.sync."""
    shares = []
    for row in each.rows:
        layer = LAYERS[row.layer]
        floor = max(layer.bytes(each.mode) / COPY_BYTES_PER_SECOND, layer.flops() / MMA_FLOPS[each.mode])
        shares.append(1e3 * floor / row.ours)
    return sum(shares) / len(shares)


def older_table():
    as_sm_80 = sm_80()

    def as_other(architecture, modes):
        return [mean(table_of("any_gpu_h200.txt", *each, section=f"forward as {architecture}")) if each in modes else ""
                for each in MODES]

    return table(["", *HEAD], [
        ["forward as `sm_80` (least)", *map(mean_and_least, as_sm_80)],
        ["of the floor", *(percent(each.share) for each in as_sm_80)],
        ["of the floor by `mma.sync`, arithmetic mean", *(percent(share_by_mma(each)) for each in as_sm_80)],
        ["grad_input as `sm_80`, 19 layers", *map(mean_and_least, of_nineteen(sm_80("grad_input")))],
        ["grad_weight as `sm_80`, 19 layers", *map(mean_and_least, of_nineteen(sm_80("grad_weight")))],
        ["forward as `sm_89`", *as_other("sm_89", MODES[:2])],
        ["forward as `sm_75`", *as_other("sm_75", MODES[1:3])]])


def volumes_table():
    own = volumes()
    older = [mean(table_of("volumes_h200.txt", *each, section="forward as sm_80")) for each in MODES[:2]]
    return table(["", *(name.replace("NCHW", "NCDHW").replace("NHWC", "NDHWC") for name in HEAD)], [
        ["forward (least)", *map(mean_and_least, own)],
        ["of the floor", *(percent(each.share) for each in own)],
        *([direction, *map(mean_and_least, volumes(direction))] for direction in GRADIENTS),
        ["forward as `sm_80`", *older, "", ""]])


def gradients_table():
    steps = [mean(table_of("gradients_h200.txt", *each, "step").of(NINETEEN)) for each in MODES[:2]]
    return table(["", *HEAD], [
        *([f"{direction}, 19 layers (least)", *map(mean_and_least, of_nineteen(gradient(direction)))]
          for direction in GRADIENTS),
        ["a step with forward, 19 layers", *steps, "", ""],
        *([f"{direction}, 25 layers", *map(mean, gradient(direction))] for direction in GRADIENTS),
        *([f"{direction}, of the floor", *(percent(each.share) for each in gradient(direction))]
          for direction in GRADIENTS)])


def slower_table():
    return table(["direction", "mode", "slower than cuDNN, of 25"],
                 [[direction, name, named(each.slower)] for direction in GRADIENTS
                  for name, each in zip(HEAD, gradient(direction))])


def performance_tables():
    return {"direct": direct_table(), "layers": layers_table(), "other layers": others_table(), "H100": h100_table(),
            "KernelBench": kernelbench_table("kernelbench_h200.txt", True),
            "KernelBench, volumes": kernelbench_table("kernelbench_3d_h200.txt", False),
            "older chips": older_table(), "volumes": volumes_table(), "gradients": gradients_table(),
            "slower gradients": slower_table()}


# ---- README.md ----


def least(each):
    return f"{each.least.ratio:.2f}"


def link(name, text):
    return f"[{text}](benchmarks/results/{name})"


def readme_tables():
    grad_input, grad_weight = (of_nineteen(gradient(direction)) for direction in GRADIENTS)
    hopper = [
        [link("forward_h200.txt", "25 layers") + ", forward", *map(bold_mean, forward())],
        ["the worst of them", *map(least, forward())],
        [link("gradients_h200.txt", "gradient of the input") + ", 19 layers",
         *map(mean, grad_input)],
        ["gradient of the weights", *map(mean, grad_weight)],
        [link("volumes_h200.txt", "12 volumes") + ", forward", *map(mean, volumes())],
        ["gradient of the input", *map(mean, volumes("grad_input"))],
        ["gradient of the weights", *map(mean, volumes("grad_weight"))]]
    older = [
        ["25 layers, forward", *map(bold_mean, sm_80())],
        ["the worst of them", *map(least, sm_80())],
        ["gradient of the input, 19 layers", *map(mean, of_nineteen(sm_80("grad_input")))],
        ["gradient of the weights", *map(mean, of_nineteen(sm_80("grad_weight")))]]
    return [table(["Hopper", *HEAD], hopper), table(["as `sm_80`", *HEAD], older)]


def readme_sentences():
    """What README.md says of these numbers besides."""
    judged = table_of("judge_h200.txt", "tf32", "nchw")
    count = {1: "one is", 2: "two are", 3: "three are"}[len(judged.slower)]
    rows = [row for row in read_results(os.path.join(RESULTS, "forward_h200.json"))["rows"] if row["layout"] == "nhwc"]
    converted = geometric_mean([row["cudnn"]["ms_ahead"] / row["convtgen"]["ms"] for row in rows])
    problems = sum(len(problems_in(name)) for name in ("kernelbench_h200.txt", "kernelbench_3d_h200.txt"))
    return [f"the tf32 mean is {mean(judged)}x; {count} slower (worst {least(judged)}x)",
            f"With cuDNN's weights converted in advance, the f16 NHWC mean is {converted:.2f}",
            f"passes for {problems} problems"]


# ---- The documents ----


def replaced(pattern, new, text):
    text, count = re.subn(pattern, lambda _: new, text, flags=re.M)
    if count != 1:
        raise ValueError(f"{count} times instead of once: {pattern}")
    return text


def written(name, text):
    """The text of docs/performance.md or README.md with its tables as they should be."""
    if name == "README.md":
        for each in readme_tables():
            text = replaced(rf"^{re.escape(each.partition(chr(10))[0])}(\n\|.*)+", each, text)
    else:
        for title, each in performance_tables().items():
            begin, end = f"<!-- {title} -->", f"<!-- end of {title} -->"
            text = replaced(rf"^{begin}\n(.*\n)*?{end}$", f"{begin}\n\n{each}\n\n{end}", text)
    return text


DOCUMENTS = ["docs/performance.md", "README.md"]


def write(name):
    path = os.path.join(ROOT, name)
    with open(path, encoding="utf-8") as file:
        text = written(name, file.read())  # before the file is emptied: it may fail
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        write(document)
