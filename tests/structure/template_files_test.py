"""template_files.py finds a file that the table lacks, and one that it has too many."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from template_files import problems

TABLE = """# Contributing

## A template

| file | the same of a template for tests alone | what it holds |
|---|---|---|
| `templates/NAME/NAME.cu` | `tests/templates/NAME/NAME.cu` | the kernel |
| `generator/planner/*/NAME.cpp` | | its planner |
| `generator/planner/table/templates.cpp` | `tests/templates/table.cpp` | its line |
| `tests/template_facts/NAME.cpp` | | facts |

The commit that added
`tests/templates/toy_1`.

## A property
"""
FILES = {"docs/contributing.md": TABLE, "templates/roll/roll.cu": "", "templates/gemm/tile.h": "",
         "generator/planner/forward/roll.cpp": "",
         "tests/template_facts/roll.cpp": "", "tests/templates/toy_1/toy_1.cu": "", "tests/templates/table.cpp": "toy_1"}


class TemplateFiles(unittest.TestCase):
    def found(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in (FILES | changes).items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text)
            return problems(root)

    def test_a_tree_as_the_table_has_it(self):
        self.assertEqual(self.found({"tests/a.cpp": "toy_10 toy"}), [])

    def test_what_differs_is_found(self):
        self.assertEqual(self.found({"tests/a.cpp": "f(toy_1);"}), ["tests/a.cpp names toy_1, and is not listed"])
        self.assertEqual(self.found({"tests/templates/table.cpp": ""}),
                         ["tests/templates/table.cpp is listed for toy_1, and does not name it"])
        self.assertEqual(self.found({"tests/template_facts/roll.cpp": None}),
                         ["tests/template_facts/roll.cpp is missing, a file of each template"])
        self.assertEqual(self.found({"generator/planner/forward/roll.cpp": None}),
                         ["generator/planner/*/roll.cpp is missing, a file of each template"])
        more = "".join(f"| `a/{number}.cpp` | | more |\n" for number in range(10))
        self.assertEqual(self.found({"docs/contributing.md": TABLE.replace("| `tests/template_facts", more + "| `tests/template_facts")}),
                         ["the table lists 14 files; at most 12"])


if __name__ == "__main__":
    unittest.main()
