"""Which layers got slower or faster than in earlier results, by more than their noise. Needs neither a GPU nor PyTorch.

The noise of a measurement is how far a round's median lies from the median of all rounds, at most, relative to it. A
layer has changed where new / old is beyond the noise of both results together, and beyond LEAST.
"""

import dataclasses
import math
import statistics

from results import geometric_mean, is_right, key_of, ready_name, rounds_of

LEAST = 0.01
# Of a measurement with fewer rounds than this the noise is not known: then as much is assumed.
FEWEST_ROUNDS = 3
ASSUMED = 0.05
# Two layers whose noise is beyond this can differ much and still count as unchanged.
LOUD = 0.10
# Clocks that differ by less count as the same.
CLOCK_TOLERANCE = 0.02

BY = {"times": "times in ms", "ratios": "our time / cuDNN's of the same run, with cuDNN's weights ready"}


@dataclasses.dataclass
class Measured:
    """One side of a comparison: the median over rounds, and its noise."""

    value: float
    noise: float
    is_assumed: bool

    @staticmethod
    def of(row, by):
        values = rounds_of(row, "convtgen")
        if by == "ratios":
            values = [ours / cudnn for ours, cudnn in zip(values, rounds_of(row, "cudnn", ready_name(row)))]
        value = statistics.median(values)
        if len(values) < FEWEST_ROUNDS:
            return Measured(value, ASSUMED, True)
        return Measured(value, max(abs(each / value - 1) for each in values), False)


@dataclasses.dataclass
class Change:
    """A layer that both results have."""

    before: Measured
    after: Measured
    templates: tuple

    @property
    def factor(self):
        """New / old: above 1 is slower."""
        return self.after.value / self.before.value

    @property
    def noise(self):
        return max(LEAST, self.before.noise + self.after.noise)

    @property
    def verdict(self):
        if self.factor > 1 + self.noise:
            return "SLOWER"
        return "faster" if self.factor < 1 / (1 + self.noise) else ""


@dataclasses.dataclass
class Comparison:
    by: str
    differences: list  # of the conditions, in words
    changes: dict  # Key -> Change
    only_before: list
    only_after: list
    other_layers: list  # equal names, other sizes
    wrong_before: list
    wrong_after: list

    def with_verdict(self, verdict):
        return {key: change for key, change in self.changes.items() if change.verdict == verdict}

    @property
    def passes(self):
        """Nothing is slower, nothing became wrong, and there was something to compare."""
        return bool(self.changes) and not self.with_verdict("SLOWER") and not self.wrong_after


def _clock_differences(before, after):
    if not before or not after:
        which = "both" if not before and not after else "the earlier results" if not before else "the newer results"
        return [f"clocks: not known of {which}"]
    return [f"clocks: {name} {after.get(name)}, was {before.get(name)}" for name in sorted(before | after)
            if name not in before or name not in after
            or abs(after[name] - before[name]) > CLOCK_TOLERANCE * before[name]]


def differences_of(before, after):
    """(of chip, flush and clocks, of the software), in words."""
    chip, software = ([f"{name}: {after.get(name)}, was {before.get(name)}" for name in names
                       if before.get(name) != after.get(name)] for names in (("gpu",), ("cudnn", "pytorch")))
    flushes = [results.get("flush", "written") for results in (before, after)]
    if flushes[0] != flushes[1]:
        chip.append(f"flush: {flushes[1]}, was {flushes[0]}")
    return chip + _clock_differences(before.get("clocks"), after.get("clocks")), software


def _is_same_layer(before, after):
    """Old files have no text of the layer, but its work."""
    return (before.get("text", "") == after.get("text", "") if "text" in before and "text" in after
            else math.isclose(before.get("gflop", 0), after.get("gflop", 0), rel_tol=1e-9)
            if "gflop" in before and "gflop" in after else True)


def compare(before, after, by=None):
    """By ratios where chip or clocks differ or are not known, else by times; `by` decides instead."""
    chip, software = differences_of(before, after)
    found = Comparison(by or ("ratios" if chip else "times"), chip + software, {}, [], [], [], [], [])
    old, new = ({key_of(row): row for row in results["rows"]} for results in (before, after))
    found.only_before = [key for key in old if key not in new]
    for key, row in new.items():
        if not is_right(row):
            found.wrong_after.append(key)
        elif key not in old:
            found.only_after.append(key)
        elif not _is_same_layer(old[key], row):
            found.other_layers.append(key)
        elif not is_right(old[key]):
            found.wrong_before.append(key)
        else:
            found.changes[key] = Change(Measured.of(old[key], found.by), Measured.of(row, found.by),
                                        (old[key]["convtgen"].get("template", ""), row["convtgen"].get("template", "")))
    return found


def _print_keys(title, keys, compared=None):
    """By groups; one that nothing of was compared has all its layers here, which need no names."""
    groups = {}
    for key in keys:
        groups.setdefault(key.group, []).append(key.layer)
    for group, layers in groups.items():
        names = ", ".join(layers) if compared is None or group in compared else f"all {len(layers)} layers"
        print(f"{title}: {group}: {names}")


def _print_group(group, changes):
    mean = geometric_mean([change.factor for change in changes.values()])
    print(f"{group}: {len(changes)} layers in both, geometric mean of new / old {mean:.3f}")
    width = max(len(key.layer) for key in changes) + 1
    for key, change in sorted(changes.items(), key=lambda item: -item[1].factor):
        if change.verdict:
            old, new = change.templates
            print(f"    {key.layer:<{width}}{change.before.value:>9.4f} ->{change.after.value:>9.4f}{change.factor:>8.3f}"
                  f"  noise {change.noise:.3f}{' (assumed)' if change.before.is_assumed or change.after.is_assumed else ''}"
                  f"  {change.verdict}{f'  {old} -> {new}' if old != new else ''}")


def print_comparison(found, before, path):
    print(f"\nagainst {path}: {', '.join(f'{name} {before[name]}' for name in ('gpu', 'commit', 'date') if before.get(name))}")
    for difference in found.differences:
        print(f"differs: {difference}")
    print(f"compared: {BY[found.by]}")
    groups = {}
    for key, change in found.changes.items():
        groups.setdefault(key.group, {})[key] = change
    for group, changes in groups.items():
        _print_group(group, changes)
    _print_keys("only in these results", found.only_after, groups)
    _print_keys("only in the earlier results", found.only_before, groups)
    _print_keys("another layer of the same name", found.other_layers)
    _print_keys("wrong in the earlier results", found.wrong_before)
    _print_keys("WRONG in these results", found.wrong_after)
    _print_keys(f"noise beyond {LOUD:.0%}", [key for key, change in found.changes.items() if change.noise > LOUD])
    assumed = sum(change.before.is_assumed or change.after.is_assumed for change in found.changes.values())
    if assumed:
        print(f"noise not measured, {ASSUMED:.0%} assumed for a result: {assumed} layers")
    if not found.changes:
        print("nothing to compare: no layer is in both results")
    slower, faster = found.with_verdict("SLOWER"), found.with_verdict("faster")
    print(f"{len(slower)} slower, {len(faster)} faster, {len(found.changes) - len(slower) - len(faster)} within their noise")
