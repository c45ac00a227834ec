"""The tables of benchmarks/results: as compare.py and compare_gradients.py print them, or from their JSON files."""

import os
import re
from typing import NamedTuple

from results import geometric_mean, key_of, read_results

SUMMARY = re.compile(r"(?:geometric means )?over [\d of]+: .*?([\d.]+)[, ].* ([\d.]+) % of the floor")
RESULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results")


class Row(NamedTuple):
    """A layer's times in milliseconds, and how many times as fast as cuDNN it is, which was rounded by itself."""

    layer: str
    cudnn: float
    ours: float
    ratio: float
    floor: float
    template: str


class Table(NamedTuple):
    """A direction in a mode and a layout. `section` is the last line before it that begins with "==== ".

    `stated` is the mean ratio and the share of the floor as they were printed, from times that had not been rounded."""

    section: str
    direction: str
    mode: str
    layout: str
    rows: list
    stated: tuple = None

    def of(self, layers):
        return self._replace(rows=[row for row in self.rows if row.layer in layers], stated=None)

    def computed(self):
        """The geometric means of the ratios and of the shares of the floor."""
        return (geometric_mean([row.ratio for row in self.rows]),
                geometric_mean([row.floor / row.ours for row in self.rows]))

    @property
    def mean(self):
        return (self.stated or self.computed())[0]

    @property
    def share(self):
        return (self.stated or self.computed())[1]

    @property
    def least(self):
        return min(self.rows, key=lambda row: (row.ratio, row.cudnn / row.ours))

    @property
    def slower(self):
        """The layers at which cuDNN is faster."""
        return [row for row in self.rows if row.ratio < 1]


def tables_in(text):
    """Of printed tables, in their order. Rows without a template are of whole training steps."""
    found, section, columns = [], "", []
    for line in text.splitlines():
        if line.startswith("==== "):
            section, columns = line[5:], []
        elif head := re.fullmatch(r"(?:(grad_input|grad_weight|step) )?(\w+) (nchw|nhwc)", line):
            found.append(Table(section, head[1] or "forward", head[2], head[3], []))
        elif line.startswith("layer "):
            columns = re.split(r" {2,}", line)
        elif found and columns and re.match(r"\w+( +[-+.\de]+){6,}( |$)", line):
            cells = dict(zip(reversed(columns), reversed(line.split() if line[-1] != " " else [*line.split(), ""])))
            numbers = [float(cells[name]) for name in ("cuDNN ms", "ours ms", "ratio", "floor ms")]
            found[-1].rows.append(Row(line.split()[0], *numbers, cells["template"]))
        elif found and (means := SUMMARY.match(line)):
            found[-1] = found[-1]._replace(stated=(float(means[1]), float(means[2]) / 100))
    return found


def tables_of(name):
    """Of a file of benchmarks/results."""
    path = os.path.join(RESULTS, name)
    if not name.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            return tables_in(file.read())
    found = {}
    for row in read_results(path)["rows"]:
        key, cudnn, ours = key_of(row), row["cudnn"]["ms"], row["convtgen"]["ms"]
        found.setdefault(key[:3], Table("", *key[:3], [])).rows.append(
            Row(key.layer, cudnn, ours, cudnn / ours, row["floor_ms"], row["convtgen"]["template"]))
    return list(found.values())


def table_of(name, mode, layout, direction="forward", section=""):
    """The first such table of a file, in a section whose heading begins so."""
    return next(table for table in tables_of(name)
                if table[1:4] == (direction, mode, layout) and table.section.startswith(section))
