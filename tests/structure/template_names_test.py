"""template_names.py finds a planted name, and nothing where tests may name a template."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from template_names import places


class TemplateNames(unittest.TestCase):
    def found(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("templates/direct/direct.cu", "templates/roll_gemm/roll_gemm.cu", "templates/gemm/tile.h", *files):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(files.get(name, ""))
            return places(root)

    def test_what_is_found(self):
        for text in ('plan("roll_gemm");', 'words("a roll_gemm plan")', '#include "generator/planner/roll_gemm.h"',
                     'R"(template roll_gemm)"', 'if (plan.template_name == "direct") {}',
                     'x.template_name != std::string_view("direct");'):
            name = text[text.index("roll") if "roll" in text else text.index("direct"):].split('"')[0].split(" ")[0]
            expected = [f"tests/cli/a_test.cpp:2: {name.split('.')[0].split(')')[0]}"]
            self.assertEqual(self.found({"tests/cli/a_test.cpp": "int i;\n" + text}), expected, text)
        self.assertEqual(self.found({"tests/search/draw.py": "\nTEMPLATES = ('roll_gemm',)\n"}),
                         ["tests/search/draw.py:2: roll_gemm"])

    def test_what_is_not(self):
        for name, text in {"tests/cli/a_test.cpp": '// "roll_gemm"\n/* "roll_gemm" */ f("direct"); g("my_roll_gemm");',
                           "tests/search/draw.py": '"""Of roll_gemm."""\n# "roll_gemm"\n',
                           "tests/planner/roll_gemm_test.cpp": 'plan("roll_gemm");',
                           "tests/template_facts/roll_gemm.cpp": '.name = "roll_gemm"'}.items():
            self.assertEqual(self.found({name: text}), [], name)


if __name__ == "__main__":
    unittest.main()
