"""Holds the files of a template to the table of docs/contributing.md ("A template"): template_files.py PROJECT.

The table's second column has the files of a template for tests alone, NAME. All files that name this template must be
those, and no others; the documents name it as the example. Each template of convtgen has the files of the first column
that have NAME in them and that no other template shares.
"""

import pathlib
import re
import sys

MOST = 12  # files of a template
FOLDERS = ("cli", "cmake", "generator", "runtime", "templates", "tests", "examples", "python", "benchmarks")
NOT_READ = {"tests/structure/template_files_test.py"}
OF_EACH = ("templates/", "generator/planner/", "tests/template_facts/")  # what each template has


def table(text):
    """The two columns of files, and the name of the example."""
    section = text[text.index("\n## A template\n"):]
    section = section[:section.index("\n## ", 1)]
    own, of_tests = [], []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`"):
            own.append(cells[0].strip("`"))
            if cells[1]:
                of_tests.append(cells[1].strip("`"))
    return own, of_tests, re.search(r"added\s+`tests/templates/(\w+)`", section)[1]


def naming(root, name):
    """The files whose path or text has the name, or an identifier of it: kSomeName of some_name."""
    word = re.compile(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])|{name.title().replace('_', '')}")
    found = set()
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            file = path.relative_to(root).as_posix()
            if path.is_file() and "__pycache__" not in file and file not in NOT_READ and (
                    word.search(file) or word.search(path.read_text(encoding="utf-8", errors="ignore"))):
                found.add(file)
    return found


def problems(root):
    own, of_tests, example = table((root / "docs/contributing.md").read_text(encoding="utf-8"))
    found = [f"the table lists {len(files)} files; at most {MOST}" for files in (own, of_tests) if len(files) > MOST]
    listed = {file.replace("NAME", example) for file in of_tests}
    named = naming(root, example)
    found += [f"{file} is listed for {example}, and does not name it" for file in sorted(listed - named)]
    found += [f"{file} names {example}, and is not listed" for file in sorted(named - listed)]
    for path in sorted(root.glob("templates/*/*.cu")):
        for file in own if path.stem == path.parent.name else []:
            wanted = file.replace("NAME", path.stem)
            if file != wanted and file.startswith(OF_EACH) and not any(root.glob(wanted)):
                found.append(f"{wanted} is missing, a file of each template")
    return found


def main(root):
    found = problems(root)
    print("\n".join(found) or "the files of templates are those of the table")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
