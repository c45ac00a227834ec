"""Counts the lines of the templates' planners that stand in three planners or more.

  python3 repeated_lines.py FOLDER [MOST]

A planner is the file of generator/planner, in whichever of its folders, that has a template's name. Lines are compared
without their indent and their comments, and with the template's name as `NAME`. Aside are blank lines, lines of braces
and other punctuation alone, includes and other directives, and lines that open or close a namespace. Prints the lines,
most frequent first, and the share; with MOST, more than so many per cent are an error.

Before there was one driver for all (generator/planner/search/) 1,366 of 3,607 lines stood in three planners or more,
37.9 %, and generator/planner had 9,288 lines of code.
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

FEW = 3  # planners that have a line
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
PUNCTUATION = re.compile(r"[{}()\[\];,]*")


def templates_of(root):
    return {path.parent.name for path in Path(root, "templates").glob("*/*.cu") if path.stem == path.parent.name}


def lines_of(text, name):
    """The lines of a template's planner that count."""
    bare = COMMENT_OR_TEXT.sub(lambda found: found[0] if found[0].startswith('"') else "", text)
    camel = "".join(word.capitalize() for word in name.split("_"))
    own = re.compile(rf"(?<![a-z0-9]){name}(?![a-z0-9])|\bk?{camel}\b")
    lines = []
    for line in bare.splitlines():
        line = line.strip()
        if not PUNCTUATION.fullmatch(line) and not re.match(r"#|namespace\b", line):
            lines.append(own.sub("NAME", line))
    return lines


def planners_of(root):
    """The lines of each planner, by its template."""
    names = templates_of(root)
    paths = sorted(Path(root, "generator/planner").rglob("*.cpp"))
    return {path.stem: lines_of(path.read_text(encoding="utf-8"), path.stem) for path in paths if path.stem in names}


def repeated(planners):
    """How often each line stands that is in FEW planners or more."""
    having = defaultdict(set)
    for name, lines in planners.items():
        for line in lines:
            having[line].add(name)
    return Counter(line for lines in planners.values() for line in lines if len(having[line]) >= FEW)


def main(root, most=None):
    planners = planners_of(root)
    if len(planners) < FEW:
        print(f"{root} has {len(planners)} planners")
        return 1
    found = repeated(planners)
    total = sum(map(len, planners.values()))
    share = 100 * found.total() / total
    for line, count in found.most_common():
        print(f"{count:4} {line}")
    print(f"{found.total()} of {total} lines of {len(planners)} planners stand in {FEW} planners or more: {share:.1f} %")
    if most is not None and share > float(most):
        print(f"at most {most} %: what planners share belongs to their driver, generator/planner/search/")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
