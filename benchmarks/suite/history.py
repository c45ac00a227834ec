"""Draws our speed over time: history.py [FOLDER] [--picture PICTURE]

Reads all JSON files of compare.py and compare_gradients.py in FOLDER (benchmarks/results) and the folders in it that have
a commit and a date. For each direction, mode and layout: a faint line a layer, cuDNN's time over ours (its weights ready,
ours packed in each call), by commit, and the geometric mean of the layers that all these commits have. Needs matplotlib
and no GPU.
"""

import argparse
import math
import os
import sys

from layer import MODES
from results import ResultsError, geometric_mean, is_right, key_of, ready_name, read_results

RESULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results")
# Of the layers of a panel, how many a commit has at least that counts in its mean.
LEAST_PART = 0.5


class Panel:
    """One direction, mode and layout: the ratio of each layer at each commit."""

    def __init__(self):
        self.ratios = {}  # commit -> layer -> ratios

    def add(self, commit, layer, ratio):
        self.ratios.setdefault(commit, {}).setdefault(layer, []).append(ratio)

    def of(self, commit):
        """layer -> ratio; several measurements of one commit by their geometric mean."""
        return {layer: geometric_mean(all_of) for layer, all_of in self.ratios.get(commit, {}).items()}

    def layers(self):
        return list(dict.fromkeys(layer for commit in self.ratios for layer in self.ratios[commit]))

    def common(self):
        """(commits with most of the layers, the layers that all of these have)."""
        least = LEAST_PART * len(self.layers())
        commits = [commit for commit, layers in self.ratios.items() if len(layers) >= least]
        return commits, [layer for layer in self.layers() if all(layer in self.ratios[commit] for commit in commits)]

    def means(self):
        """commit -> geometric mean over the layers in common."""
        commits, layers = self.common()
        return {commit: geometric_mean([self.of(commit)[layer] for layer in layers]) for commit in commits} if layers else {}


class History:
    """The panels of all results, and the date of each commit's first measurement."""

    def __init__(self):
        self.panels, self.dates = {}, {}  # (direction, mode, layout, weights) -> Panel; commit -> date

    def add(self, results):
        """Leaves out rows without a commit, and wrong ones."""
        for row in results["rows"]:
            commit = row.get("commit", results.get("commit"))
            if not commit or not results.get("date") or not is_right(row):
                continue
            self.dates[commit] = min(results["date"], self.dates.get(commit, results["date"]))
            ratio = row["cudnn"][ready_name(row)] / row["convtgen"]["ms"]
            if math.isfinite(ratio):
                self.panels.setdefault(key_of(row)[:4], Panel()).add(commit, row["layer"], ratio)

    def commits(self, panels):
        """All of these panels, in time."""
        return sorted({commit for panel in panels for commit in panel.ratios}, key=lambda commit: (self.dates[commit], commit))


def read_history(folder):
    """(History, the files that hold none)."""
    history, others = History(), []
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".json"):
                path = os.path.join(root, name)
                try:
                    history.add(read_results(path))
                except ResultsError:
                    others.append(path)
    return history, others


def _draw_panel(axis, panel, commits, plot):
    for layer in panel.layers():
        places = [(place, panel.of(commit)[layer]) for place, commit in enumerate(commits) if layer in panel.of(commit)]
        axis.plot(*zip(*places), color="#999999", linewidth=0.6, alpha=0.6, marker=".", markersize=2, zorder=1)
    means = panel.means()
    places = [(place, means[commit]) for place, commit in enumerate(commits) if commit in means]
    if places:
        axis.plot(*zip(*places), color=plot.OURS, linewidth=1.6, marker="o", markersize=3.5, zorder=3)
        for place, mean in places:
            axis.annotate(f"{mean:.2f}", (place, mean), (0, 4), textcoords="offset points", ha="center", fontsize=6.5,
                          color=plot.OURS, zorder=4)
    axis.axhline(1, color="black", linewidth=0.8, zorder=2)
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(plot.FixedLocator([2.0**step for step in range(-6, 8)]))
    axis.yaxis.set_major_formatter(plot.FuncFormatter(lambda value, _: f"{value:g}x"))
    axis.yaxis.set_minor_locator(plot.NullLocator())
    axis.grid(axis="y", color="#dddddd", linewidth=0.5)
    axis.set_axisbelow(True)


def draw(history, path):
    """A column for each direction (and order of weights), a row for each mode and layout."""
    import plot

    columns = list(dict.fromkeys((key[0], key[3]) for key in sorted(history.panels)))
    rows = sorted({key[1:3] for key in history.panels}, key=lambda row: (list(MODES).index(row[0]), row[1]))
    commits = {column: history.commits([panel for key, panel in history.panels.items() if (key[0], key[3]) == column])
               for column in columns}
    with plot.matplotlib.rc_context(plot.STYLE):
        figure, axes = plot.pyplot.subplots(
            len(rows), len(columns), squeeze=False, layout="constrained", sharex="col",
            figsize=(0.8 + sum(1.2 + 0.36 * max(4, len(commits[column])) for column in columns), 1.2 + 1.9 * len(rows)),
            width_ratios=[max(4, len(commits[column])) for column in columns])
        for i, (mode, layout) in enumerate(rows):
            for j, column in enumerate(columns):
                axis, panel = axes[i, j], history.panels.get((column[0], mode, layout, column[1]))
                axis.set_xlim(-0.5, len(commits[column]) - 0.5)
                axis.set_xticks(range(len(commits[column])),
                                [f"{history.dates[commit][5:10]} {commit}" for commit in commits[column]], rotation=60,
                                ha="right", rotation_mode="anchor")
                if panel is None:
                    axis.set_axis_off()
                    continue
                _draw_panel(axis, panel, commits[column], plot)
                weights = "" if column[1] == "contiguous" else f", weights {column[1]}"
                axis.set_title(f"{column[0]}, {mode} {layout.upper()}{weights}: {len(panel.common()[1])} layers", loc="left")
        for j in range(len(columns)):  # commits stand below the lowest panel of a column
            lowest = max(i for i in range(len(rows)) if axes[i, j].axison)
            axes[lowest, j].tick_params(labelbottom=True)
        figure.suptitle("Times as fast as cuDNN with its weights ready, by commit: geometric mean, and each layer", x=0.01, ha="left", fontsize=10)
        figure.savefig(path, dpi=150, metadata={"Software": None} if path.endswith(".png") else None)
        plot.pyplot.close(figure)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=RESULTS, help="where the JSON files are")
    parser.add_argument("--picture", help="default: history.png in the folder")
    options = parser.parse_args(words)
    history, others = read_history(options.folder)
    for path in others:
        print(f"not of the suite: {path}")
    if not history.panels:
        sys.exit(f"history.py: {options.folder}: no results with a commit and a date")
    picture = options.picture or os.path.join(options.folder, "history.png")
    draw(history, picture)
    print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
