"""words.py finds a planted word and a document that is too long, and nothing where words are allowed."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIST = "# Words that are gone.\nbut for\nSums | cli/old.h templates/*\n"


class Words(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {"tests/words.txt": LIST, "cli/main.cpp": "// Plain words.\n", **files}.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.py")
            ran = subprocess.run([sys.executable, "-B", script, root], capture_output=True, text=True)
            self.assertEqual(ran.stderr, "")
            return ran.returncode, ran.stdout.splitlines()

    def test_a_tree_without_them(self):
        for text in ("int Sums_ = aSums;\n", "All but four.\n", "// no but\n// forks\n"):
            code, lines = self.run_on({"docs/text.md": text})
            self.assertEqual((code, len(lines)), (0, 1), lines)
            self.assertRegex(lines[0], "none in [23] files")

    def test_a_word_and_its_line(self):
        self.assertEqual(self.run_on({"cli/a.h": "int i;\n// All but for one.\nSums s;\n"}),
                         (1, ["cli/a.h:2: but for", "cli/a.h:3: Sums"]))

    def test_over_the_end_of_a_line(self):
        for text in ("/// All but\n/// for one.\n", "# All but\n# for one.\n", "All but\nfor one.\n",
                     "/* All but\n * for one. */\n", 'print("all but "\n      "for one")\n'):
            self.assertEqual(self.run_on({"cli/a.h": text}), (1, ["cli/a.h:1: but for"]), text)

    def test_files_that_may_have_a_word(self):
        self.assertEqual(self.run_on({"cli/old.h": "Sums s;\n", "templates/gemm/a.h": "Sums s;\n"})[0], 0)
        self.assertEqual(self.run_on({"cli/old.h": "Sums s;  // but for\n"}), (1, ["cli/old.h:1: but for"]))

    def test_documents_that_are_too_long(self):
        longest = {"README.md": "word " * 1300, "docs/architecture.md": "word\n" * 4700, "docs/other.md": "word " * 5000}
        self.assertEqual(self.run_on(longest)[0], 0)
        for name, most in (("README.md", 1300), ("docs/architecture.md", 4700)):
            self.assertEqual(self.run_on({**longest, name: longest[name] + "word"}),
                             (1, [f"{name}: {most + 1} words; at most {most}"]))


if __name__ == "__main__":
    unittest.main()
