"""Whether all that names the project's version, archive and dependencies agrees: versions.py PROJECT

The version: convtgen.h, the newest heading of CHANGELOG.md, the recipes, and a tag of the commit where it has one. The
archive: what the target `dist` makes, and what the recipes read. The dependencies: what ConvtgenDependencies.cmake
finds.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

# What CMake finds, and its names among the packages of conda and vcpkg.
PACKAGES = {
    "fmt": ("fmt", "fmt"),
    "nlohmann_json": ("nlohmann_json", "nlohmann-json"),
    "CLI11": ("cli11", "cli11"),
    "Boost": ("libboost-devel", "boost-context"),
    "sodium": ("libsodium", "libsodium"),
    "protozero": ("protozero", "protozero"),
}
OF_THE_SYSTEM = {"Threads"}


def first(pattern, text):
    found = re.search(pattern, text, re.M)
    return found[1] if found else "none"


def dependencies(cmake):
    """Of ConvtgenDependencies.cmake: what it finds, each once."""
    found = re.findall(r"^\s*find_package\((\w+)", cmake, re.M)
    found += re.findall(r"^\s*find_library\(\w+ NAMES (\w+)", cmake, re.M)
    found += re.findall(r"^\s*find_path\(\w+ (\w+)/", cmake, re.M)
    return set(found) - OF_THE_SYSTEM


def problems(root, tags):
    """Sentences; none where all agrees."""
    conda = (root / "cmake/packages/conda/recipe.yaml").read_text()
    port = (root / "cmake/packages/vcpkg/portfile.cmake").read_text()
    vcpkg = json.loads((root / "cmake/packages/vcpkg/vcpkg.json").read_text())
    header = (root / "runtime/include/convtgen/convtgen.h").read_text()
    version = ".".join(re.findall(r"^#define CONVTGEN_VERSION_[A-Z]+ (\d+)$", header, re.M))
    said = []

    def expect(what, expected, got):
        if expected != got:
            said.append(f"{what}: {got}; should be {expected}")

    expect("CHANGELOG.md's newest version", version, first(r"^## (\S+)", (root / "CHANGELOG.md").read_text()))
    expect("conda's version", version, first(r'^  version: "(.+)"$', conda))
    expect("vcpkg's version", version, vcpkg.get("version"))
    for tag in tags:
        if re.fullmatch(r"v\d.*", tag):
            expect("the commit's tag", "v" + version, tag)

    dist = (root / "cmake/ConvtgenDist.cmake").read_text()
    archive = "convtgen-VERSION.tar.gz"
    made = first(r"-o \$\{PROJECT_BINARY_DIR\}/(\S+)", dist).replace("${name}", first(r"^\s*set\(name (\S+)\)", dist))
    made = made.replace("${PROJECT_NAME}", "convtgen").replace("${PROJECT_VERSION}", "VERSION")
    of_port = first(r'ARCHIVE "\$\{CMAKE_CURRENT_LIST_DIR\}/(.+?)"', port)
    expect("dist's archive", archive, made)
    expect("conda's archive", archive, first(r"^  path: (.+)$", conda).replace("${{ version }}", "VERSION"))
    expect("vcpkg's archive", archive, of_port.replace("${VERSION}", "VERSION"))

    wanted = dependencies((root / "cmake/ConvtgenDependencies.cmake").read_text())
    expect("the table of packages here", sorted(wanted), sorted(PACKAGES))
    host = re.search(r"^  host:\n((?:    - .+\n)+)", conda, re.M)
    expect("conda's dependencies", sorted(each for each, _ in PACKAGES.values()),
           sorted(re.findall(r"^    - (\S+)", host[1], re.M)) if host else [])
    expect("vcpkg's dependencies", sorted(each for _, each in PACKAGES.values()),
           sorted(each for each in vcpkg.get("dependencies", []) if isinstance(each, str)))
    heads = {"conda's recipe": conda, "vcpkg's port": port, "vcpkg's manifest": vcpkg.get("$comment", "")}
    for name, text in heads.items():
        expect(f"{name} says that it is untested", True, "Untested:" in text)
    return said


def main(root):
    tags = []
    if (root / ".git").exists():
        asked = ["git", "tag", "--points-at", "HEAD"]
        tags = subprocess.run(asked, cwd=root, check=True, capture_output=True, text=True).stdout.split()
    found = problems(root, tags)
    print("\n".join(found) or "versions, archives and dependencies agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
