"""versions.py finds what differs: versions_test.py PROJECT"""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import versions

PROJECT = Path(sys.argv.pop())
FILES = ["CHANGELOG.md", "cmake/ConvtgenDependencies.cmake", "cmake/ConvtgenDist.cmake",
         "cmake/packages/conda/recipe.yaml", "cmake/packages/vcpkg/portfile.cmake", "cmake/packages/vcpkg/vcpkg.json",
         "runtime/include/convtgen/convtgen.h"]


class Versions(unittest.TestCase):
    def after(self, file, old, new, tags=()):
        """What is said of the project with one change."""
        with tempfile.TemporaryDirectory() as folder:
            for name in FILES:
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(PROJECT / name, path)
            text = Path(folder, file).read_text()
            self.assertIn(old, text)
            Path(folder, file).write_text(text.replace(old, new, 1))
            return "\n".join(versions.problems(Path(folder), tags))

    def test_what_differs(self):
        version = versions.first(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text())
        conda, vcpkg = "cmake/packages/conda/recipe.yaml", "cmake/packages/vcpkg/vcpkg.json"
        for file, old, new, said in [
            ("CHANGELOG.md", f"## {version}", "## 99.0.0", "CHANGELOG.md's newest version: 99.0.0"),
            (conda, f'"{version}"', '"99.0.0"', "conda's version: 99.0.0"),
            (vcpkg, f'"{version}"', '"99.0.0"', "vcpkg's version: 99.0.0"),
            (conda, "path: convtgen-", "path: convtgen_", "conda's archive: convtgen_VERSION.tar.gz"),
            ("cmake/packages/vcpkg/portfile.cmake", "/convtgen-", "/other-", "vcpkg's archive: other-VERSION.tar.gz"),
            ("cmake/ConvtgenDist.cmake", "${name}.tar.gz", "${name}.zip", "dist's archive: convtgen-VERSION.zip"),
            ("cmake/ConvtgenDependencies.cmake", "find_package(fmt", "find_package(format", "the table of packages"),
            (conda, "    - protozero\n", "", "conda's dependencies"),
            (vcpkg, '"fmt"', '"format"', "vcpkg's dependencies"),
            (conda, "# Untested:", "# Tested:", "conda's recipe says that it is untested: False"),
        ]:
            self.assertIn(said, self.after(file, old, new))

    def test_the_tag(self):
        version = versions.first(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text())
        self.assertEqual(self.after("CHANGELOG.md", version, version, ["v" + version, "seen"]), "")
        self.assertIn("the commit's tag: v0.0.1", self.after("CHANGELOG.md", version, version, ["v0.0.1"]))


if __name__ == "__main__":
    unittest.main()
