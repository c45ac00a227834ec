"""Results of compare.py and compare_gradients.py as JSON: a head with chip, commit and date, and a row for each
measurement. Needs neither a GPU nor PyTorch.

Times are in milliseconds. All layers are timed in rounds, one round after the other: "rounds_ms" has the median of each
round, and "ms" is the median of these. "ms_ahead" is the same with weights prepared before the call.
"""

import json
import math
import statistics
from typing import NamedTuple

_PARTS = ("cudnn", "convtgen")
_TIMES = ("ms", "ms_ahead")


class ResultsError(ValueError):
    """A file that does not hold results."""


class Key(NamedTuple):
    """What is measured in a row."""

    direction: str
    mode: str
    layout: str
    weights: str
    layer: str

    @property
    def group(self):
        """All but the layer, as a heading."""
        return " ".join(word for word in self[:4] if word not in ("forward", "contiguous"))


def key_of(row):
    return Key(row.get("direction", "forward"), row["mode"], row["layout"], row.get("weights", "contiguous"), row["layer"])


def is_right(row):
    """Whether our result was right, and timed."""
    return not row["convtgen"]["wrong"] and row["convtgen"]["ms"] > 0


def rounds_of(row, part, name="ms"):
    """The medians of the rounds. Files from before there were rounds have one number."""
    times = row[part]
    return times.get(f"rounds_{name}") or [times[name]]


def ready_name(row):
    """The name of cuDNN's time with weights in the order that it requires: we are compared with that."""
    return "ms_ahead" if "ms_ahead" in row["cudnn"] else "ms"


def joined(rounds):
    """One row of the rows of the same measurement in each round. The first one was checked, so it has all else."""
    row = dict(rounds[0])
    for part in _PARTS:
        row[part] = dict(row[part])
        for name in _TIMES:
            if name in row[part]:
                times = [each[part][name] for each in rounds]
                row[part] |= {name: statistics.median(times), f"rounds_{name}": times}
    return row


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else math.nan


def _with_nulls(value):
    """For JSON, which has no NaN."""
    if isinstance(value, dict):
        return {key: _with_nulls(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_nulls(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_nans(row):
    """As it was measured: the tables print NaN."""
    for part in _PARTS:
        row[part] = {key: math.nan if value is None else value for key, value in row[part].items()}
    return row


def text_of(results):
    """One row a line, so that a measurement shows as a line of a diff."""
    head = {key: value for key, value in results.items() if key != "rows"}
    lines = [f" {json.dumps(key)}: {json.dumps(_with_nulls(value), allow_nan=False)}," for key, value in head.items()]
    rows = ",\n".join(f"  {json.dumps(_with_nulls(row), allow_nan=False)}" for row in results["rows"])
    return "\n".join(["{", *lines, ' "rows": [', rows, " ]", "}"]) + "\n"


def write_results(path, results):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_of(results))


def read_results(path):
    """Errors: ResultsError."""
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: {error}") from error
    try:
        if not results["rows"]:
            raise ResultsError(f"{path}: no rows")
        for row in results["rows"]:
            key_of(row), row["cudnn"]["ms"], row["convtgen"]["ms"], row["convtgen"]["wrong"]
        results["rows"] = [_with_nans(row) for row in results["rows"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{path}: no results of compare.py or compare_gradients.py: {error!r} is missing") from error
    return results
