"""The names that a shared header of templates takes from the template that includes it, and its list of them.

    needs.py ROOT          prints each header whose list is not that of the names; exits with 1 if there is one
    needs.py ROOT --write  writes the lists

Headers of the folders that templates share, those without a .cu, use names of the template's layout.h, or of headers
that stand before them. Those of device/ stand alone. The list begins with "// Needs:" and stands before "#pragma once". It has
the names that the templates define somewhere, and neither the header nor what it includes.
"""

import pathlib
import re
import sys
import textwrap

ALONE = "device"  # the shared headers that need no names
UNREAD = re.compile(r'//[^\n]*|/\*.*?\*/|^#[^\n]*|"(?:[^"\\\n]|\\.)*"', re.DOTALL | re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
NAME = re.compile(r"(?<![\w.>:])[A-Za-z_]\w*")
DEFINITION = re.compile(
    r"^(?:template <[^>]*>\s*)?"
    r"(?:(?:struct|enum(?: class)?)\s+(?:__align__\(\w+\)\s*)?(?P<type>\w+)\s*(?::[^{;]*)?\{"
    r"|using\s+(?P<alias>\w+)\s*="
    r"|(?:__constant__\s+)?constexpr\s+[\w:]+\s+(?P<constant>\w+)\s*(?:=|\[|\{)"
    r"|(?:__host__ |__device__ |__forceinline__ |inline |constexpr |static )+[\w:<>*& ]+?[\s*&](?P<function>\w+)\()",
    re.MULTILINE)
BLOCK = re.compile(r"^// Needs:.*\n(?://  .*\n)*", re.MULTILINE)


def code_of(text):
    """Without comments, strings and directives."""
    return UNREAD.sub("", text)


def defined_in(text):
    """The names that a file's own lines define, a function's with "(" after it."""
    return {name + ("(" if kind == "function" else "") for match in DEFINITION.finditer(code_of(text))
            for kind, name in match.groupdict().items() if name}


def used_in(text):
    """Its names; those that are called with "(" after them too."""
    code = code_of(text)
    return set(NAME.findall(code)) | {name + "(" for name in re.findall(r"(?<![\w.>:])([A-Za-z_]\w*)\(", code)}


def included_by(files, path, seen=None):
    """The files that it includes, and those that these include, as far as they are shared ones."""
    seen = set() if seen is None else seen
    for name in INCLUDE.findall(files[path]):
        if name in files and name not in seen:
            seen.add(name)
            included_by(files, name, seen)
    return seen


def needs_of(files, path):
    """The names, in the order of the alphabet. `files`: the text of each file by its path below templates/."""
    known = set().union(*(defined_in(text) for text in files.values()))
    own = defined_in(files[path]).union(*(defined_in(files[each]) for each in included_by(files, path)))
    needs = {name.replace("(", "()") for name in (used_in(files[path]) & known) - own}
    return sorted(needs, key=lambda name: (name.lower(), name))


def block_of(names):
    """Its lines; none where it needs nothing."""
    if not names:
        return ""
    return textwrap.fill(", ".join(names), 120, initial_indent="// Needs: ", subsequent_indent="//   ",
                         break_long_words=False) + "\n"


def with_block(text, names):
    """The header with this list."""
    without = BLOCK.sub("", text)
    return without.replace("#pragma once\n", block_of(names) + "#pragma once\n", 1)


def main(root, write):
    folder = pathlib.Path(root) / "templates"
    files = {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*"))
             if path.suffix in (".h", ".cu")}
    not_shared = {path.split("/")[0] for path in files if path.endswith(".cu")} | {ALONE}
    wrong = 0
    for path in files:
        if path.split("/")[0] in not_shared:
            continue
        wanted = with_block(files[path], needs_of(files, path))
        if wanted == files[path]:
            continue
        wrong += 1
        if write:
            (folder / path).write_text(wanted)
        else:
            print(f"templates/{path}: its list of needs is not:\n{block_of(needs_of(files, path))}"
                  "'tests/structure/needs.py . --write' writes it")
    return 1 if wrong and not write else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
