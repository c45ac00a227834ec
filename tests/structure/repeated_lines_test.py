"""repeated_lines.py counts what planners share, whatever their templates' names, and nothing that is aside."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


class RepeatedLines(unittest.TestCase):
    def run_on(self, planners, *most):
        with tempfile.TemporaryDirectory() as root:
            for name, text in planners.items():
                template = pathlib.Path(root, "templates", name, name + ".cu")
                planner = pathlib.Path(root, "generator", "planner", "forward", name + ".cpp")
                for path, content in ((template, ""), (planner, text)):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content)
            pathlib.Path(root, "generator", "planner", "cost.cpp").write_text("int own = 0;\nint shared = 0;\n")
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repeated_lines.py")
            ran = subprocess.run([sys.executable, "-B", script, root, *most], capture_output=True, text=True)
            self.assertEqual(ran.stderr, "")
            return ran.returncode, ran.stdout.splitlines()

    def test_lines_of_three(self):
        shared = "int shared = 0;\n"
        code, lines = self.run_on({"a_b": shared + "int a;\n", "c": "  " + shared + shared, "d": shared, "e": "int e;\n"})
        self.assertEqual(code, 0)
        self.assertEqual(lines, ["   4 int shared = 0;",
                                 "4 of 6 lines of 4 planners stand in 3 planners or more, 66.7 %; "
                                 "0 of them in runs, 0.0 %"])

    def test_runs(self):
        run = "int first;\nint second;\n"
        code, lines = self.run_on({"a": run + "int aaa;\n", "b": "int bbb;\n" + run, "c": "int first;\nint ccc;\nint second;\n",
                                   "d": "int ddd;\n" + run + "int last;\n"})
        self.assertIn("8 of 13 lines", lines[-1])
        self.assertIn("6 of them in runs", lines[-1])

    def test_two_are_too_few(self):
        self.assertIn("0 of 3 lines", self.run_on({"a": "int i;\n", "b": "int i;\n", "c": "int c;\n"})[1][-1])

    def test_names_of_templates(self):
        text = "const Template kNAME = of<NAME>(programs::name(), \"name\");\nint name_seconds;\n"
        code, lines = self.run_on({name: text.replace("name", name).replace("NAME", camel)
                                   for name, camel in (("roll", "Roll"), ("turn_gemm", "TurnGemm"), ("direct", "Direct"))})
        self.assertIn("6 of 6 lines", lines[-1])
        code, lines = self.run_on({name: f"int plans_{name}();\nint {name}s;\n" for name in ("rows", "mma", "tap")})
        self.assertIn("3 of 6 lines", lines[-1])

    def test_what_is_aside(self):
        text = "#include <array>\nnamespace a {\n// Words.\n/* More\n   of them. */\n}\n});\nreturn out;\n} else {\ncontinue;\n" \
               "break;\nreturn;\nreturn {\n}  // namespace a\n"
        planners = {name: text + f'int {name * 3} = 1;  // its own\n' for name in ("a", "b", "c")}
        self.assertIn("0 of 3 lines", self.run_on(planners)[1][-1])
        planners = {name: text + 'auto text = "// no comment";\n' for name in ("a", "b", "c")}
        self.assertIn('   3 auto text = "// no comment";', self.run_on(planners)[1])

    def test_the_limit(self):
        planners = {name: f"int shared;\nint {name * 3};\n" for name in ("a", "b", "c")}
        self.assertEqual(self.run_on(planners, "50", "0")[0], 0)
        code, lines = self.run_on(planners, "49.9", "0")
        self.assertEqual(code, 1)
        self.assertIn("3 of 6 lines are too many", lines[-1])
        planners = {name: f"int shared;\nint other;\nint {name * 3};\n" for name in ("a", "b", "c")}
        code, lines = self.run_on(planners, "100", "66")
        self.assertEqual(code, 1)
        self.assertIn("6 of them in runs are too many", lines[-1])
        self.assertEqual(self.run_on({"a": "int a;\n"})[0], 1)


if __name__ == "__main__":
    unittest.main()
