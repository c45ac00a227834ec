"""Whether docs/packages.md lists the files of a release, with their sizes within a tenth: sizes.py DOCUMENT DIR"""

import fnmatch
import re
import sys
from pathlib import Path


def problems(document, sizes):
    """`sizes`: bytes of each file by its name."""
    rows = re.findall(r"^\| `(\S+)` \|.*\| ([\d,.]+) \|$", document, re.M)
    said, missing = [], set(sizes)
    for name, kilobytes in rows:
        matching = fnmatch.filter(sizes, name.replace("VERSION", "*").replace("TAG", "*"))
        found = [each for each in matching if each.count("/") == name.count("/")]
        if len(found) != 1:
            said.append(f"{name} is {found}")
            continue
        missing -= set(found)
        if abs(float(kilobytes.replace(",", "")) * 1000 / sizes[found[0]] - 1) > 0.1:
            said.append(f"{found[0]} has {sizes[found[0]]} bytes; the document has {kilobytes} KB")
    return said + [f"{name} is not in the document's table" for name in sorted(missing)]


def main(document, folder):
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    found = problems(document.read_text(), sizes)
    print("\n".join(found) or f"the sizes of {len(sizes)} files are as {document.name} says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
