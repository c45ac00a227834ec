"""Counts the lines of the templates' planners that stand in three planners or more.

  python3 repeated_lines.py FOLDER [MOST_LINES MOST_RUNS]

A planner is the file of generator/planner, in whichever of its folders, that has a template's name. Lines are compared
without their indent and their comments, and with the template's name as `NAME`. Aside are blank lines, lines of braces
and other punctuation alone, jumps (`return out;`, `continue;`, `} else {`), includes and other directives, and lines that
open or close a namespace. Lines in runs are those that another line follows or precedes in three planners or more: text
that was copied, where a line alone may be a function's head that the driver names. Prints the lines, most frequent first, and both shares; more
per cent than MOST_LINES or MOST_RUNS are an error.

Before there was one driver for all (generator/planner/search/planner.h) 1,187 of 3,410 lines stood in three planners or more,
34.8 %, and 826 of them in runs, 24.2 %; generator/planner had 9,288 lines of code.
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

FEW = 3  # planners that have a line
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
PUNCTUATION = re.compile(r"[{}()\[\];,]*")
JUMP = re.compile(r"(return( \w+)?|break|continue);|\} else \{|return \{")


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
        if not (PUNCTUATION.fullmatch(line) or JUMP.fullmatch(line) or re.match(r"#|namespace\b", line)):
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


def in_runs(planners):
    """How many lines stand in runs of two or more that FEW planners or more have."""
    having = defaultdict(set)
    for name, lines in planners.items():
        for pair in zip(lines, lines[1:]):
            having[pair].add(name)
    count = 0
    for lines in planners.values():
        starts = [len(having[pair]) >= FEW for pair in zip(lines, lines[1:])]
        count += sum(before or after for before, after in zip([False, *starts], [*starts, False]))
    return count


def main(root, *most):
    planners = planners_of(root)
    if len(planners) < FEW:
        print(f"{root} has {len(planners)} planners")
        return 1
    found = repeated(planners)
    total = sum(map(len, planners.values()))
    for line, count in found.most_common():
        print(f"{count:4} {line}")
    shares = [(100 * found.total() / total, f"{found.total()} of {total} lines"),
              (100 * in_runs(planners) / total, f"{in_runs(planners)} of them in runs")]
    print(f"{shares[0][1]} of {len(planners)} planners stand in {FEW} planners or more, {shares[0][0]:.1f} %; "
          f"{shares[1][1]}, {shares[1][0]:.1f} %")
    too_many = [words for (share, words), limit in zip(shares, most) if share > float(limit)]
    for words in too_many:
        print(f"{words} are too many: what planners share belongs to their driver, generator/planner/search/planner.h")
    return 1 if too_many else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
