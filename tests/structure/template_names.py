"""Finds tests that name templates: template_names.py PROJECT. What suites must know of a template is in its facts.

A suite goes over tests/template_facts, so that a new template is in it by its file of facts. No test has a template's
name in a string, in an include or in a comparison with template_name, except

- the facts, the templates for tests alone, and committed sources
- tests of one template, whose names begin with the template's, as tests/planner/roll_gemm_test.cpp; those of the
  planner may name what they compare it with
- EXCEPTIONS, each with its reason

Comments may name templates.
"""

import io
import pathlib
import re
import sys
import tokenize

FOLDERS = ("tests/template_facts/", "tests/templates/", "tests/specializer/goldens/")
EXCEPTIONS = {
    "tests/planner/migrate_test.py": "records of earlier formats have these names",
    "tests/structure/template_names_test.py": "shows what is found",
}
# Words of their own: of `direct`, which takes every layer, users read much; `grad_bias` is a direction. Of these only
# comparisons are found.
WORDS = {"direct", "grad_bias"}

CPP = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<string>(?:\\.|[^"\\\n])*)"', re.DOTALL)
COMPARED = re.compile(r'template_name\s*[=!]=\s*(?:std::string_view\()?"(\w+)"')


def template_names(root):
    return {path.stem for path in root.glob("templates/*/*.cu") if path.stem == path.parent.name}


def strings_of_cpp(text):
    """(offset, text) of each string, and of what an include names."""
    for match in CPP.finditer(text):
        if match["string"] is not None or match["raw"] is not None:
            yield match.start(), match["string"] or match["raw"] or ""


def strings_of_python(text):
    begins = [0]
    for line in text.splitlines(True):
        begins.append(begins[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and not token.string.lstrip("rbuRBU").startswith('"""'):
            yield begins[token.start[0] - 1] + token.start[1], token.string


def places(root):
    """Each place that names a template: "file:line: name"."""
    names = template_names(root)
    word = re.compile(r"(?<![\w-])(" + "|".join(sorted(names - WORDS, key=len, reverse=True)) + r")(?![\w-])")
    found = []
    for path in sorted([*root.glob("tests/**/*.cpp"), *root.glob("tests/**/*.h"), *root.glob("tests/**/*.py")]):
        name = path.relative_to(root).as_posix()
        own = {each for each in names if path.name.startswith(each + "_")}
        is_of_planner = name.startswith("tests/planner/") and path.stem.removesuffix("_test") in names
        if name.startswith(FOLDERS) or name in EXCEPTIONS or is_of_planner:
            continue
        text = path.read_text(encoding="utf-8")
        strings = strings_of_python(text) if path.suffix == ".py" else strings_of_cpp(text)
        hits = [(at, match[1]) for at, string in strings for match in word.finditer(string)]
        hits += [(match.start(), match[1]) for match in COMPARED.finditer(text) if match[1] in names]
        found += [f"{name}:{text.count(chr(10), 0, at) + 1}: {each}" for at, each in sorted(set(hits)) if each not in own]
    return found


def main(root):
    found = places(root)
    gone = [f"{name} is an exception, and there is no such file" for name in EXCEPTIONS if not (root / name).is_file()]
    print("\n".join(found + gone) or "none")
    return 1 if found or gone else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
