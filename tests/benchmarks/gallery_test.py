"""The gallery is what convtgen and the results give now, and its pages are in order: gallery_test.py CONVTGEN

CONVTGEN_UPDATE_GOLDENS=1 writes the pages.
"""

import os
import shutil
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "suite"))

import gallery
from gallery_pages import problems_of

CONVTGEN = None


class CommittedTest(unittest.TestCase):
    def test_pages_are_current(self):
        wanted = gallery.files_of(CONVTGEN)
        if os.environ.get("CONVTGEN_UPDATE_GOLDENS"):
            gallery.write(wanted)
        self.assertEqual(sorted(os.listdir(gallery.FOLDER)), sorted(wanted))
        for name, text in wanted.items():
            with open(os.path.join(gallery.FOLDER, name), encoding="utf-8") as file:
                self.assertMultiLineEqual(file.read(), text, f"{name}: CONVTGEN_UPDATE_GOLDENS=1 writes it")

    def test_pages_are_in_order(self):
        self.assertEqual(problems_of(gallery.FOLDER, ROOT), [])

    def test_each_page_shows_taps(self):
        for shown in gallery.LAYERS:
            with open(os.path.join(gallery.FOLDER, f"{shown.layer}.html"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"<mark>.*// taps? \(\d", shown.layer)


class FindsTest(unittest.TestCase):
    """Each planted fault is found."""

    def planted(self, name, old, new):
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, "docs", "gallery")
            shutil.copytree(gallery.FOLDER, folder)
            for file in ("README.md", "benchmarks/results/forward_h200.txt", "benchmarks/results/volumes_h200.txt"):
                os.makedirs(os.path.dirname(os.path.join(root, file)), exist_ok=True)
                shutil.copy(os.path.join(ROOT, file), os.path.join(root, file))
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn(old, text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new, 1))
            return problems_of(folder, root)

    def test_faults(self):
        body = "</body>"
        cases = [
            ("unet1.html", body, "<p>\n</body>", "unet1.html: </body> closes nothing"),
            ("unet1.html", 'href="index.html"', 'href="indx.html"', "unet1.html: link to nothing, indx.html"),
            ("unet1.html", 'href="index.html"', 'href="../../../x"', "unet1.html: link to nothing, ../../../x"),
            ("unet1.html", 'href="index.html"', 'href="https://x.org/"', "unet1.html: link to outside, https://x.org/"),
            ("unet1.html", ' role="img"', "", "unet1.html: <svg> without role=img, aria-label or viewBox"),
            ("unet1.html", 'img" aria-label=', 'img" label=', "<svg> without role=img, aria-label or viewBox"),
            ("unet1.html", body, '<img src="index.html"></body>', "unet1.html: <img> without alt"),
            ("unet1.html", body, "<h1>2</h1></body>", "unet1.html: 2 headings <h1>"),
            ("unet1.html", 'name="viewport"', 'name="port"', "unet1.html: no <meta name=viewport>"),
            ("unet1.html", body, "<script></script></body>", "unet1.html: <script>"),
            ("unet1.html", body, "x" * 16_000 + body, "bytes, more than 16000"),
            ("index.html", 'href="unet1.html"', 'href="unet4.html"', "unet1.html: index.html has no link to it"),
            ("gallery.css", "--dim: #9da7b3", "--dim: #444444", "gallery.css: dark: contrast of --dim on --ground"),
            ("gallery.css", "--dim: #9da7b3; ", "", "gallery.css: colour --dim is not in both schemes"),
            ("gallery.css", "var(--dim)", "var(--din)", "gallery.css: colour --din is nowhere"),
        ]
        for name, old, new, wanted in cases:
            with self.subTest(wanted):
                found = self.planted(name, old, new)
                self.assertTrue(any(wanted in each for each in found), found)


if __name__ == "__main__":
    CONVTGEN = sys.argv.pop()
    unittest.main()
