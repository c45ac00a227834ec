"""Each problem that structure.py must find, in a small tree that has no other."""

import os
import subprocess
import sys
import tempfile
import unittest

import structure

GOOD = {
    "templates/device/memory.h": "struct Tile { int n; };\n",
    "templates/gemm.cu": '#include "device/memory.h"\nstruct Accumulators {};\n',
    "templates/roll.cu": '#include "device/memory.h"\nstruct Accumulators {};  // another program\n',
    "generator/support/error.h": "namespace convtgen {\nstruct Error {};\n}\n",
    "generator/layer/layer.h": '#include "generator/support/error.h"\nnamespace convtgen {\nstruct Layer;\nclass Size {};\n}\n',
    "runtime/include/convtgen/convtgen.h": 'extern "C" {\ntypedef struct convtgen_layer convtgen_layer;\nstruct convtgen_size { int n; };\n}\n',
    "runtime/device/device.h": '#include <vector>\n#include "generator/layer/layer.h"\nnamespace convtgen {\nenum class Kind : int { kHost };\n}\n',
    "runtime/device/host/host.h": '#include "runtime/device/device.h"\n',
    "runtime/device/host/host.cpp": '#include "runtime/device/host/host.h"\n#include <convtgen/convtgen.h>\n',
    "cli/main.cpp": '#include "runtime/device/host/host.h"\n',
}


def problems(changed):
    return structure.check({**GOOD, **changed})


class Includes(unittest.TestCase):
    def found(self, changed, *words):
        found = problems(changed)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_right_tree_has_no_problems(self):
        self.assertEqual(problems({}), [])

    def test_shared_headers_of_templates_include_what_each_template_has(self):
        shared = {"templates/gemm/tile.h": '#include "layout.h"\n', "templates/gemm/gemm.cu": ""}
        self.assertEqual(problems(shared), [])
        self.found({"templates/gemm/tile.h": '#include "tiles.h"\n'}, 'templates/gemm/tile.h includes "tiles.h"')
        self.found({"runtime/jit/tile.h": '#include "layout.h"\n'}, 'runtime/jit/tile.h includes "layout.h"')

    def test_a_circle_between_files_of_one_folder(self):
        self.found(
            {
                "cli/a.h": '#pragma once\n#include "cli/b.h"\n',
                "cli/b.h": '#pragma once\n#include "cli/c.h"\n',
                "cli/c.h": '#pragma once\n  #  include "cli/a.h"\n',
            },
            "files include each other: cli/a.h, cli/b.h, cli/c.h",
        )

    def test_a_file_that_includes_itself(self):
        self.found({"cli/a.h": '#include "a.h"\n'}, "files include each other: cli/a.h")

    def test_a_circle_between_folders_that_is_none_between_files(self):
        self.found(
            {
                "runtime/jit/log.h": "",
                "runtime/jit/engine.h": '#include "runtime/tune/record.h"\n',
                "runtime/tune/record.h": "",
                "runtime/tune/tune.h": '#include "runtime/jit/log.h"\n',
            },
            "folders include each other: runtime/jit, runtime/tune",
            "runtime/jit/engine.h includes runtime/tune/record.h",
            "runtime/tune/tune.h includes runtime/jit/log.h",
        )

    def test_a_folder_and_one_in_it(self):
        self.found(
            {"runtime/device/open.cpp": '#include "runtime/device/host/host.h"\n'},
            "folders include each other: runtime/device, runtime/device/host",
        )

    def test_a_circle_through_a_path_that_is_relative(self):
        self.found(
            {"runtime/device/open.h": '#include "../device/host/host.h"\n'},
            "folders include each other: runtime/device, runtime/device/host",
        )

    def test_arrows_up(self):
        self.found({"generator/support/up.cpp": '#include "runtime/support/log.h"\n', "runtime/support/log.h": ""}, "stands above it")
        self.found({"generator/layer/up.cpp": "#include <convtgen/convtgen.h>\n"}, "stands above it")
        self.found({"runtime/support/up.cpp": '#include "cli/main.cpp"\n'}, "stands above it")
        self.found({"templates/up.cu": '#include "generator/support/error.h"\n'}, "stands above it")

    def test_cuda_itself(self):
        for header in ("cuda.h", "cuda_runtime.h", "cuda_fp16.h", "cuda/std/array", "nvrtc.h", "cooperative_groups.h", "mma.h"):
            for place in ("templates/device/memory.h", "generator/layer/layer.cpp", "runtime/device/cuda/driver.cpp"):
                self.found({place: f"#include <{header}>\n"}, f"{place} includes <{header}>")

    def test_a_name_of_no_file(self):
        self.found({"cli/a.cpp": '#include "cli/nothing.h"\n'}, "names no file")
        self.assertEqual(problems({"cli/a.cpp": '#include "convtgen_cli_embedded.h"\n'}), [])


class Types(unittest.TestCase):
    def test_one_name_in_two_files(self):
        for text in (
            "namespace convtgen {\nstruct Layer {};\nstruct Size {};\n}\n",
            "namespace convtgen { class alignas(16) Size final : public Base<int> { }; }\n",
            "namespace convtgen { namespace { int i; } enum class Size : long { kA }; }\n",
            "namespace convtgen { template <typename T> struct [[nodiscard]] Size { T t; }; }\n",
            'namespace convtgen { const char* kText = "}}"; /* } */ struct Size { }; }\n',
            'namespace convtgen { const char* kText = R"x(}")x"; constexpr int kMany = 1\'000; struct Size { }; }\n',
            "#define OPEN {\nnamespace convtgen { void f() { if (true) { } } struct Size { }; }\n",
        ):
            found = problems({"cli/a.cpp": text})
            self.assertEqual(found, ["type convtgen::Size is defined in cli/a.cpp and in generator/layer/layer.h"], text)

    def test_in_extern_c(self):
        found = problems({"cli/a.cpp": 'extern "C" {\nstruct convtgen_size { int n; };\n}\n'})
        self.assertEqual(len(found), 1, found)

    def test_within_one_template(self):
        found = problems({"templates/gemm.cu": '#include "device/memory.h"\nstruct Tile {};\n'})
        self.assertEqual(found, ["type Tile is defined in templates/device/memory.h and in templates/gemm.cu"])

    def test_what_is_no_second_type(self):
        for text in (
            "namespace convtgen { struct Size; struct Size* p; enum class Size : int; }\n",
            "namespace convtgen { namespace { struct Size { }; } }\n",
            "namespace convtgen::cli { struct Size { }; }\n",
            "namespace convtgen { struct Other { struct Size { }; }; }\n",
            "namespace convtgen { void f() { struct Size { }; } }\n",
            "namespace convtgen { struct Size f() { return {}; } template <class Size> void g() { } }\n",
            "namespace convtgen { template <> struct Size<int> { }; }\n",
            "namespace convtgen { // struct Size { };\n}\n",
            'namespace convtgen { const char* kText = "struct Size {};"; }\n',
        ):
            self.assertEqual(problems({"cli/a.cpp": text}), [], text)


class Command(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "structure.py")
            return subprocess.run([sys.executable, "-B", script, root], capture_output=True, text=True)

    def test_the_exit_code_tells(self):
        good = self.run_on(GOOD)
        self.assertEqual((good.returncode, good.stderr), (0, ""), good.stdout)
        bad = self.run_on({**GOOD, "generator/layer/up.cpp": '#include "runtime/device/device.h"\n'})
        self.assertEqual((bad.returncode, bad.stderr), (1, ""))
        self.assertIn("generator/layer/up.cpp includes runtime/device/device.h, which stands above it", bad.stdout)

    def test_a_wrong_folder_is_no_right_tree(self):
        self.assertEqual(self.run_on({"README.md": ""}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
