"""The tables of docs/performance.md and README.md are what benchmarks/results give: performance_test.py

CONVTGEN_UPDATE_GOLDENS=1 writes them.
"""

import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "suite"))

import performance
from tables import RESULTS, Row, tables_in, tables_of


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class CommittedTest(unittest.TestCase):
    def test_tables_are_current(self):
        for name in performance.DOCUMENTS:
            if os.environ.get("CONVTGEN_UPDATE_GOLDENS"):
                performance.write(name)
            text = text_of(name)
            self.assertMultiLineEqual(text, performance.written(name, text), f"{name}: CONVTGEN_UPDATE_GOLDENS=1 writes it")

    def test_sentences_of_the_readme(self):
        words = " ".join(text_of("README.md").split())
        for sentence in performance.readme_sentences():
            self.assertIn(sentence, words)

    def test_a_changed_figure_is_found(self):
        for name, old, new in [("docs/performance.md", "| 1.925 (5.232) |", "| 1.926 (5.232) |"),
                               ("README.md", "**3.51**", "**3.52**")]:
            text = text_of(name)
            self.assertIn(old, text)
            self.assertEqual(performance.written(name, text.replace(old, new, 1)), text)

    def test_a_missing_table_is_an_error(self):
        for name, line in [("docs/performance.md", "<!-- layers -->\n"), ("README.md", "| Hopper |")]:
            with self.assertRaisesRegex(ValueError, "0 times instead of once"):
                performance.written(name, text_of(name).replace(line, ""))


class ResultsTest(unittest.TestCase):
    def test_each_table_has_the_means_that_were_printed(self):
        count = 0
        for name in sorted(os.listdir(RESULTS)):
            for table in tables_of(name) if name.endswith(".txt") else []:
                with self.subTest(name=name, table=table[:4]):
                    mean, share = table.computed()
                    self.assertAlmostEqual(mean, table.stated[0], delta=0.01)
                    self.assertAlmostEqual(share, table.stated[1], delta=0.002)
                count += 1
        self.assertGreater(count, 60)

    def test_json_is_as_printed(self):
        for printed, exact in zip(tables_of("forward_h200.txt"), tables_of("forward_h200.json"), strict=True):
            self.assertEqual(printed[1:4], exact[1:4])
            self.assertEqual([row.layer for row in printed.rows], [row.layer for row in exact.rows])
            self.assertEqual([f"{row.ours:.4f}" for row in printed.rows], [f"{row.ours:.4f}" for row in exact.rows])


PRINTED = """==== forward, 1234567

tf32 nchw
layer     cuDNN ms     ahead   ours ms     ahead   ratio   ahead  floor ms  % floor   rel. L2  cuDNN L2  template
kb57        4.0000    3.0000    1.0000    1.0000    4.00    3.00    0.5000     50.0   2.9e-04   2.9e-04  its_template
kb64        0.5000    0.5000    0.5000    0.5000    0.99    1.00    0.1000     20.0   2.9e-04   2.9e-04  shift_gemm
geometric means over 2: 1.99 times cuDNN, 1.73 with weights made ready ahead, 31.6 % of the floor (cuDNN 15.8 %)

==== others

step f16 nhwc
layer     cuDNN ms   ours ms   ratio  floor ms  % floor   rel. L2  template
kb57       18.8573    7.9565    2.37    5.1540     64.8   0.0e+00  
over 1 of 1: geometric mean 2.37, least 2.37; 64.8 % of the floor
"""


class TablesTest(unittest.TestCase):
    def test_what_was_printed(self):
        forward, step = tables_in(PRINTED)
        self.assertEqual(forward[:4], ("forward, 1234567", "forward", "tf32", "nchw"))
        self.assertEqual(forward.rows[0], Row("kb57", 4, 1, 4, 0.5, "its_template"))
        self.assertEqual(forward.stated, (1.99, 0.316))
        self.assertEqual((forward.least.layer, [row.layer for row in forward.slower]), ("kb64", ["kb64"]))
        self.assertEqual(step[:4], ("others", "step", "f16", "nhwc"))
        self.assertEqual(step.rows, [Row("kb57", 18.8573, 7.9565, 2.37, 5.154, "")])
        self.assertEqual((step.mean, step.share), (2.37, 0.648))

    def test_means_of_some_layers_are_computed(self):
        self.assertEqual(tables_in(PRINTED)[0].of(["kb57"]).mean, 4)
        self.assertAlmostEqual(tables_in(PRINTED)[0].of(["kb57"]).share, 0.5)


if __name__ == "__main__":
    unittest.main()
