"""Comparisons of results, and their history, without a GPU, PyTorch or matplotlib."""

import contextlib
import copy
import importlib.util
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUITE = os.path.join(ROOT, "benchmarks", "suite")
sys.path.insert(0, SUITE)

import against
import history
from command import in_rounds
from history import History, read_history
from results import ResultsError, joined, key_of, read_results, write_results

CLOCKS = {"sm_max_mhz": 1980.0, "power_limit_w": 700.0, "sm_mhz": 1755.0}


def row(layer, ours, cudnn=(2.0, 2.0, 2.0), **more):
    """A row whose rounds took so long."""
    rounds = [{"layer": layer, "mode": "tf32", "layout": "nchw", "text": f"the layer {layer}", "gflop": 1.0,
               "gbyte": 1.0, "floor_ms": 0.1, **more,
               "cudnn": {"ms": theirs, "ms_ahead": theirs, "wrong": "", "relative_l2": 0.0},
               "convtgen": {"ms": mine, "ms_ahead": mine, "wrong": "", "relative_l2": 0.0, "template": "direct"}}
              for mine, theirs in zip(ours, cudnn, strict=True)]
    return joined(rounds)


def results(*rows, **head):
    return {"gpu": "NVIDIA H200", "pytorch": "2.11", "cudnn": 91900, "clocks": CLOCKS, "commit": "0123456",
            "date": "2026-01-02T03:04Z", **head, "rows": list(rows)}


def wrong(of):
    of = copy.deepcopy(of)
    of["convtgen"] |= {"wrong": "3 elements beyond their bounds", "ms": math.nan}
    return of


def verdicts(before, after, by=None):
    found = against.compare(before, after, by)
    return {key.layer: change.verdict for key, change in found.changes.items()}


def told(before, after):
    """What is printed, and whether it passes."""
    found, out = against.compare(before, after), io.StringIO()
    with contextlib.redirect_stdout(out):
        against.print_comparison(found, before, "earlier.json")
    return out.getvalue(), found.passes


class NoiseTest(unittest.TestCase):
    def test_a_result_is_the_median_of_its_rounds(self):
        self.assertEqual(row("a", (1.0, 3.0, 1.5))["convtgen"]["ms"], 1.5)
        self.assertEqual(row("a", (1.0, 3.0, 1.5))["convtgen"]["rounds_ms"], [1.0, 3.0, 1.5])

    def test_a_change_within_the_noise_of_both_is_none(self):
        # 4 % and 3 % off the median: 7 % together.
        before = results(row("a", (1.0, 1.04, 1.0)))
        for after, verdict in (((1.06, 1.06, 1.0918), ""), ((1.08, 1.08, 1.1124), "SLOWER"),
                               ((0.94, 0.94, 0.9682), ""), ((0.93, 0.93, 0.9579), "faster")):
            self.assertEqual(verdicts(before, results(row("a", after))), {"a": verdict}, after)

    def test_quiet_layers_still_may_differ_by_a_percent(self):
        before = results(row("a", (1.0, 1.0, 1.0)))
        self.assertEqual(verdicts(before, results(row("a", (1.009, 1.009, 1.009)))), {"a": ""})
        self.assertEqual(verdicts(before, results(row("a", (1.011, 1.011, 1.011)))), {"a": "SLOWER"})

    def test_without_rounds_noise_is_assumed_and_said(self):
        before = results(row("a", (1.0,), (2.0,)))
        del before["rows"][0]["convtgen"]["rounds_ms"]
        edge = 1 + against.ASSUMED
        self.assertEqual(verdicts(before, results(row("a", (edge - 0.01,) * 3))), {"a": ""})
        after = results(row("a", (edge + 0.01,) * 3))
        self.assertEqual(verdicts(before, after), {"a": "SLOWER"})
        self.assertIn("(assumed)", told(before, after)[0])
        self.assertIn("noise not measured, 5% assumed for a result: 1 layers", told(before, after)[0])

    def test_layers_too_noisy_to_judge_are_named(self):
        noisy = results(row("loud", (1.0, 1.2, 1.0)), row("quiet", (1.0, 1.01, 1.0)))
        self.assertIn("noise beyond 10%: tf32 nchw: loud\n", told(noisy, noisy)[0])


class ConditionsTest(unittest.TestCase):
    BEFORE = results(row("same", (1.0, 1.0, 1.0)), row("worse", (1.0, 1.0, 1.0)))
    # A chip that is twice as fast: one layer gains as much as cuDNN, the other less.
    AFTER = (row("same", (0.5, 0.5, 0.5), (1.0, 1.0, 1.0)), row("worse", (0.7, 0.7, 0.7), (1.0, 1.0, 1.0)))

    def test_on_one_chip_times_are_compared(self):
        self.assertEqual(verdicts(self.BEFORE, results(*self.AFTER)), {"same": "faster", "worse": "faster"})
        text, _ = told(self.BEFORE, results(*self.AFTER))
        self.assertIn("compared: times in ms", text)
        self.assertNotIn("differs", text)

    def test_where_chip_or_clocks_differ_ratios_are_compared(self):
        for head, said in (({"gpu": "NVIDIA B200"}, "gpu: NVIDIA B200, was NVIDIA H200"),
                           ({"clocks": CLOCKS | {"sm_mhz": 1200.0}}, "clocks: sm_mhz 1200.0, was 1755.0"),
                           ({"flush": "read"}, "flush: read, was written"),
                           ({"clocks": {}}, "clocks: not known of the newer results")):
            after = results(*self.AFTER, **head)
            self.assertEqual(verdicts(self.BEFORE, after), {"same": "", "worse": "SLOWER"}, head)
            text, passes = told(self.BEFORE, after)
            self.assertIn(f"differs: {said}\n", text)
            self.assertIn("compared: our time / cuDNN's of the same run", text)
            self.assertFalse(passes)
            self.assertEqual(verdicts(self.BEFORE, after, "times"), {"same": "faster", "worse": "faster"})

    def test_small_differences_of_clocks_are_none(self):
        text, _ = told(self.BEFORE, results(*self.AFTER, clocks=CLOCKS | {"sm_mhz": 1740.0}))
        self.assertNotIn("differs", text)

    def test_another_cudnn_is_said_and_times_are_compared(self):
        text, _ = told(self.BEFORE, results(*self.AFTER, cudnn=92000))
        self.assertIn("differs: cudnn: 92000, was 91900\n", text)
        self.assertIn("compared: times in ms", text)

    def test_noise_that_both_of_a_round_have_cancels_in_ratios(self):
        before = results(row("a", (1.0, 1.5, 1.0), (2.0, 3.0, 2.0)), gpu="other")
        after = results(row("a", (1.0, 1.0, 1.0), (1.9, 1.9, 1.9)))
        self.assertEqual(verdicts(before, after), {"a": "SLOWER"})
        self.assertEqual(verdicts(before, after, "times"), {"a": ""})

    def test_cudnn_counts_with_its_weights_ready(self):
        before, after = results(row("a", (1.0,) * 3), gpu="other"), results(row("a", (1.0,) * 3))
        after["rows"][0]["cudnn"]["rounds_ms"] = [9.0] * 3
        self.assertEqual(verdicts(before, after), {"a": ""})
        after["rows"][0]["cudnn"]["rounds_ms_ahead"] = [1.0] * 3
        self.assertEqual(verdicts(before, after), {"a": "SLOWER"})


class LayersTest(unittest.TestCase):
    def test_layers_of_one_side_are_named_and_fail_nothing(self):
        one = (1.0, 1.0, 1.0)
        before = results(row("a", one), row("gone", one), row("a", one, mode="f16"), row("b", one, mode="f16"))
        after = results(row("a", one), row("new", one))
        text, passes = told(before, after)
        self.assertIn("only in these results: tf32 nchw: new\n", text)
        self.assertIn("only in the earlier results: tf32 nchw: gone\n", text)
        self.assertIn("only in the earlier results: f16 nchw: all 2 layers\n", text)
        self.assertTrue(passes)

    def test_each_direction_mode_layout_and_order_of_weights_is_by_itself(self):
        one = (1.0, 1.0, 1.0)
        for other in ({"direction": "grad_input"}, {"mode": "f16"}, {"layout": "nhwc"}, {"weights": "channels_last"}):
            found = against.compare(results(row("a", one)), results(row("a", (9.0,) * 3, **other)))
            self.assertEqual((found.changes, len(found.only_after), len(found.only_before)), ({}, 1, 1), other)
            self.assertFalse(found.passes)

    def test_nothing_in_common_fails(self):
        text, passes = told(results(row("a", (1.0,) * 3)), results(row("b", (1.0,) * 3)))
        self.assertIn("nothing to compare", text)
        self.assertFalse(passes)

    def test_another_layer_of_the_same_name_is_not_compared(self):
        one = (1.0, 1.0, 1.0)
        before = results(row("a", one), row("b", one))
        for changed in ({"text": "larger"}, {"gflop": 2.0}):
            after = results(row("a", (5.0,) * 3, **changed), row("b", one))
            if "gflop" in changed:
                before["rows"][0].pop("text", None)
            text, passes = told(before, after)
            self.assertIn("another layer of the same name: tf32 nchw: a\n", text)
            self.assertTrue(passes)

    def test_what_became_wrong_fails_and_what_was_wrong_is_named(self):
        right, also = row("a", (1.0,) * 3), row("b", (1.0,) * 3)
        text, passes = told(results(right, also), results(wrong(right), also))
        self.assertIn("WRONG in these results: tf32 nchw: a\n", text)
        self.assertFalse(passes)
        text, passes = told(results(wrong(right), also), results(right, also))
        self.assertIn("wrong in the earlier results: tf32 nchw: a\n", text)
        self.assertTrue(passes)

    def test_a_changed_template_is_said(self):
        after = row("a", (3.0,) * 3)
        after["convtgen"]["template"] = "other"
        self.assertRegex(told(results(row("a", (1.0,) * 3)), results(after))[0], r"a +1\.0000 -> +3\.0000 .* SLOWER  direct -> other")


class RoundsTest(unittest.TestCase):
    def measure(self, wrong_layer=""):
        calls = []

        def once(case, is_first):
            calls.append((case.layer.name, is_first))
            one = row(case.layer.name, (float(len(calls)),), (1.0,))
            yield wrong(one) if case.layer.name == wrong_layer else one

        cases = [types.SimpleNamespace(layer=types.SimpleNamespace(name=name), mode="tf32", layout="nchw") for name in "ab"]
        return in_rounds(3, cases, once), calls

    def test_all_layers_of_a_round_come_before_the_next_round(self):
        rows, calls = self.measure()
        self.assertEqual(calls, [("a", True), ("b", True), ("a", False), ("b", False), ("a", False), ("b", False)])
        self.assertEqual([(each["layer"], each["convtgen"]["rounds_ms"]) for each in rows], [("a", [1, 3, 5]), ("b", [2, 4, 6])])

    def test_a_wrong_layer_is_not_timed_again(self):
        rows, calls = self.measure("a")
        self.assertEqual([name for name, _ in calls], ["a", "b", "b", "b"])
        self.assertTrue(rows[0]["convtgen"]["wrong"])
        self.assertEqual(len(rows[1]["convtgen"]["rounds_ms"]), 3)


class ProgramTest(unittest.TestCase):
    """The programs as they are called, where PyTorch must not be needed."""

    def run_program(self, program, *arguments):
        blocked = "import sys; sys.modules['torch'] = None; sys.path.insert(0, sys.argv[1]); sys.argv[1:2] = []; " \
                  f"import {program}; sys.exit({program}.main(sys.argv[1:]))"
        return subprocess.run([sys.executable, "-B", "-c", blocked, SUITE, *arguments], capture_output=True, text=True,
                              check=False)

    def files(self, folder, **kinds):
        paths = {}
        for name, of in kinds.items():
            paths[name] = os.path.join(folder, f"{name}.json")
            write_results(paths[name], of)
        return paths

    def test_exit_codes(self):
        one, two = (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)
        for program, direction in (("compare", {}), ("compare_gradients", {"direction": "grad_input"})):
            with tempfile.TemporaryDirectory() as folder:
                paths = self.files(folder, before=results(row("a", one, **direction)), same=results(row("a", one, **direction)),
                                   slower=results(row("a", two, **direction)),
                                   wrong=results(wrong(row("a", one, **direction))))
                for new, status in (("same", 0), ("slower", 1), ("wrong", 1)):
                    ended = self.run_program(program, "--results", paths[new], "--against", paths["before"])
                    self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
                    self.assertIn("against before.json", ended.stdout)
                ended = self.run_program(program, "--results", paths["before"], "--against", paths["slower"])
                self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
                self.assertIn("0 slower, 1 faster, 0 within their noise", ended.stdout)

    def test_only_what_is_asked_for_is_judged(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = self.files(folder, before=results(row("a", (1.0,) * 3), row("b", (1.0,) * 3)),
                               after=results(row("a", (1.0,) * 3), row("b", (2.0,) * 3)))
            words = ["--results", paths["after"], "--against", paths["before"]]
            self.assertEqual(self.run_program("compare", *words).returncode, 1)
            self.assertEqual(self.run_program("compare", *words, "--layer", "a").returncode, 0)
            self.assertIn("no row is what was asked for", self.run_program("compare", *words, "--layer", "c").stderr)

    def test_wrong_use_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = self.files(folder, before=results(row("a", (1.0,) * 3)))
            broken = os.path.join(folder, "broken.json")
            with open(broken, "w", encoding="utf-8") as file:
                json.dump({"rows": [{"layer": "a"}]}, file)
            for words, said in (([], "give either a file of layers or --results"),
                                (["a.convt", "--results", paths["before"]], "give either a file of layers or --results"),
                                (["--results", paths["before"], "--by", "times"], "--by goes with --against"),
                                (["--results", paths["before"], "--against", broken], "broken.json: no results of compare.py"),
                                (["--results", paths["before"], "--against", folder + "/none.json"], "none.json: ")):
                ended = self.run_program("compare", *words)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(said, ended.stderr)


class FilesTest(unittest.TestCase):
    def test_what_is_written_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.json")
            write_results(path, results(row("a", (1.0, 1.5, 1.25)), wrong(row("b", (1.0,) * 3))))
            again = read_results(path)
            self.assertEqual(again["rows"][0], row("a", (1.0, 1.5, 1.25)))
            self.assertTrue(math.isnan(again["rows"][1]["convtgen"]["ms"]))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(sum('"layer"' in line for line in file), 2)

    def test_committed_results_can_be_compared(self):
        folder = os.path.join(ROOT, "benchmarks", "results")
        paths = [os.path.join(folder, "forward_h200.json")] + [
            os.path.join(folder, "history", name) for name in sorted(os.listdir(os.path.join(folder, "history")))]
        for path in paths:
            of = read_results(path)
            self.assertTrue(of["commit"] and of["date"] and of["command"], path)
            found = against.compare(of, of)
            self.assertEqual((len(found.changes), found.passes), (len(of["rows"]), True), path)

    def test_rows_that_are_missing_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.json")
            write_results(path, results())
            with self.assertRaisesRegex(ResultsError, "no rows"):
                read_results(path)


class HistoryTest(unittest.TestCase):
    ONE = ("forward", "tf32", "nchw", "contiguous")

    def of(self, *all_results):
        history = History()
        for each in all_results:
            history.add(each)
        return history

    def test_means_are_over_the_layers_that_all_commits_have(self):
        history = self.of(
            results(row("a", (1.0,) * 3), row("b", (0.5,) * 3), commit="first", date="2026-01-01T00:00Z"),
            results(row("a", (0.5,) * 3), row("b", (0.25,) * 3), row("c", (0.001,) * 3), commit="second", date="2026-01-02T00:00Z"),
            results(row("c", (0.001,) * 3), commit="one layer", date="2026-01-03T00:00Z"))
        panel = history.panels[self.ONE]
        self.assertEqual(panel.common(), (["first", "second"], ["a", "b"]))
        means = panel.means()
        self.assertAlmostEqual(means["first"], math.sqrt(2.0 * 4.0))
        self.assertAlmostEqual(means["second"], math.sqrt(4.0 * 8.0))
        self.assertEqual(history.commits([panel]), ["first", "second", "one layer"])
        self.assertAlmostEqual(panel.of("one layer")["c"], 2000.0)

    def test_only_right_rows_with_commit_and_date_count(self):
        self.assertFalse(self.of(results(row("a", (1.0,) * 3), commit="")).panels)
        self.assertFalse(self.of(results(row("a", (1.0,) * 3), date="")).panels)
        self.assertFalse(self.of(results(wrong(row("a", (1.0,) * 3)))).panels)

    def test_a_row_may_have_a_commit_of_its_own(self):
        history = self.of(results(row("a", (1.0,) * 3), row("a", (1.0,) * 3, mode="f32x3", commit="later")))
        self.assertEqual(set(history.panels[self.ONE].ratios), {"0123456"})
        self.assertEqual(set(history.panels["forward", "f32x3", "nchw", "contiguous"].ratios), {"later"})

    def test_the_committed_files_give_one(self):
        history, _ = read_history(os.path.join(ROOT, "benchmarks", "results"))
        means = history.panels[self.ONE].means()
        self.assertGreaterEqual(len(means), 8)
        self.assertAlmostEqual(means["d78d9ae"], 2.79, 2)
        self.assertEqual(history.commits(history.panels.values()), sorted(history.dates, key=lambda c: (history.dates[c], c)))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not here")
    def test_a_picture_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            write_results(os.path.join(folder, "results.json"),
                          results(row("a", (1.0,) * 3), row("a", (1.0,) * 3, direction="grad_input", weights="channels_last")))
            self.assertEqual(history.main([folder]), 0)
            with open(os.path.join(folder, "history.png"), "rb") as file:
                self.assertEqual(file.read(4), b"\x89PNG")


if __name__ == "__main__":
    unittest.main()
