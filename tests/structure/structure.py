"""Reads the #includes and the types of the source tree, and says what breaks its structure.

  python3 structure.py FOLDER

What it finds: includes in a circle, between files or between folders (each folder is a node, whatever it lies in); an
include of what stands above (templates, generator, runtime, cli, from the lowest up); headers of CUDA, which is opened
at run time; an include that names no file; a class, struct or enum of one full name in two files of a program.
"""

import re
import sys
from pathlib import Path, PurePosixPath

# From the lowest up: each may include its own files and those below.
LEVELS = ("templates", "generator", "runtime", "cli")
# Where an include's name begins, besides the folder of the file that it stands in.
ROOTS = ("", "runtime/include/", "templates/")
# Embedded texts that other programs are made from: the user's, and what templatec reads.
TEXTS = ("generator/launcher/support/", "generator/templatec/prelude.cuh")
ENDINGS = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}
# What each template has in its own folder, for the headers that it shares with others.
OF_EACH_TEMPLATE = {"columns.h", "layout.h", "products.h"}
# Headers that the build makes of embedded files.
MADE = re.compile(r"convtgen_\w+_embedded\.h")
CUDA = re.compile(r"(cuda|cudart|nvrtc|nvvm|curand|cublas|cudnn)[\w/.]*|(mma|cooperative_groups)(\.h|/.*)")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Comments, and literals whose insides are no code.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TOKEN = re.compile(r"[A-Za-z_]\w*|::|\[\[|\]\]|[^\s\w]")


def read_tree(root):
    """The source files, by their paths from the root."""
    files = {}
    for level in LEVELS:
        for path in sorted(Path(root, level).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in ENDINGS and not name.startswith(TEXTS):
                files[name] = path.read_text(encoding="utf-8")
    return files


def folder_of(name):
    return str(PurePosixPath(name).parent)


def level_of(name):
    return LEVELS.index(name.split("/")[0])


def normal(name):
    parts = []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def read_includes(files):
    """Which files each includes, and what is wrong with an include by itself."""
    includes, problems = {name: [] for name in files}, []
    for name, text in files.items():
        for quote, included in INCLUDE.findall(text):
            places = [folder_of(name) + "/"] if quote == '"' else []
            found = next((p for p in (normal(r + included) for r in places + list(ROOTS)) if p in files), None)
            if found:
                includes[name].append(found)
            elif CUDA.fullmatch(included):
                problems.append(f"{name} includes <{included}>: CUDA is opened at run time")
            elif quote == '"' and not MADE.fullmatch(included) and not (
                level_of(name) == 0 and included in OF_EACH_TEMPLATE
            ):
                problems.append(f"{name} includes \"{included}\", which names no file")
    return includes, problems


def circles(arrows):
    """The groups of nodes that reach each other (Tarjan, without recursion)."""
    index, low, stack, on_stack, groups = {}, {}, [], set(), []
    for start in arrows:
        if start in index:
            continue
        work = [(start, iter(arrows[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(arrows[to])))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1 or node in arrows[node]:
                        groups.append(sorted(group))
    return groups


def check_includes(files):
    includes, problems = read_includes(files)
    for group in circles(includes):
        problems.append("files include each other: " + ", ".join(group))
    arrows = {folder_of(name): {} for name in files}
    for name, all_of_it in includes.items():
        for included in all_of_it:
            if level_of(included) > level_of(name):
                problems.append(f"{name} includes {included}, which stands above it")
            if folder_of(included) != folder_of(name):
                arrows[folder_of(name)].setdefault(folder_of(included), f"{name} includes {included}")
    for group in circles(arrows):
        witnesses = [arrows[a][b] for a in group for b in group if b in arrows[a]]
        problems.append("folders include each other: " + ", ".join(group) + "".join("\n    " + w for w in witnesses))
    return problems


def closing(tokens, i, opening, end):
    """After the bracket that closes the one at i."""
    depth = 0
    while i < len(tokens):
        depth += (tokens[i] == opening) - (tokens[i] == end)
        i += 1
        if depth == 0:
            break
    return i


def type_head(tokens, i):
    """Where the body of the type begins whose keyword is at i, and its name; nothing where it is no definition."""
    i += 1
    if tokens[i - 1] == "enum" and tokens[i] in ("class", "struct"):
        i += 1
    name = ""
    while i < len(tokens):
        token = tokens[i]
        if token == "[[":
            i = closing(tokens, i, "[[", "]]")
        elif token == "(" and name in ("alignas", "__align__", "__attribute__"):
            i, name = closing(tokens, i, "(", ")"), ""
        elif token == "::":
            name += token
            i += 1
        elif token == "<" and name:  # a specialisation is a type of its own
            end = closing(tokens, i, "<", ">")
            name += "".join(tokens[i:end])
            i = end
        elif token == "final" or token.isidentifier():
            # A macro or an attribute may stand before the name: the last word is it.
            name = name if token == "final" else (name + token if name.endswith("::") else token)
            i += 1
        else:
            break
    if i < len(tokens) and tokens[i] == ":":  # what it is derived from, or an enum's type
        while i < len(tokens) and tokens[i] not in "{;":
            i = closing(tokens, i, "<", ">") if tokens[i] == "<" else i + 1
    return (i, name) if i < len(tokens) and tokens[i] == "{" else None


def types_of(text):
    """The full names of the types that a text defines and other files could name: none in a function or in a namespace
    without a name."""
    tokens = TOKEN.findall(DIRECTIVE.sub(" ", NO_CODE.sub(" ", text)))
    names, scopes, i = [], [], 0
    while i < len(tokens):
        token = tokens[i]
        if token == "namespace":
            end = i + 1
            while end < len(tokens) and tokens[end] not in "{;=":
                end += 1
            if end < len(tokens) and tokens[end] == "{":
                scopes.append("".join(t for t in tokens[i + 1 : end] if t != "inline") or None)
            i = end
        elif token in ("class", "struct", "union", "enum"):
            head = type_head(tokens, i)
            if head:
                i, name = head
                scopes.append(name or None)
                if None not in scopes:
                    names.append("::".join(scope for scope in scopes if scope))
        elif token == "{":
            scopes.append("" if i > 0 and tokens[i - 1] == "extern" else None)  # extern "C"
        elif token == "}" and scopes:
            scopes.pop()
        i += 1
    return names


def programs(files):
    """The sets of files that make one program: a template each for itself, all else together."""
    includes, _ = read_includes(files)
    for name in files:
        if level_of(name) == 0 and name.endswith(".cu"):
            closure, rest = set(), [name]
            while rest:
                if (file := rest.pop()) not in closure:
                    closure.add(file)
                    rest += includes[file]
            yield sorted(closure)
    yield [name for name in files if level_of(name) > 0]


def check_types(files):
    problems = set()
    for program in programs(files):
        places = {}
        for file in program:
            for name in types_of(files[file]):
                places.setdefault(name, set()).add(file)
        for name, where in places.items():
            if len(where) > 1:
                problems.add(f"type {name} is defined in " + " and in ".join(sorted(where)))
    return sorted(problems)


def check(files):
    return check_includes(files) + check_types(files)


def main():
    files = read_tree(sys.argv[1])
    missing = [level for level in LEVELS if not any(name.startswith(level + "/") for name in files)]
    problems = check(files) + [f"there is no source in {level}/" for level in missing]
    for problem in problems:
        print(problem)
    types = sum(len(types_of(text)) for text in files.values())
    print(f"{len(files)} files, {types} types, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
