"""Finds words that are gone, and documents that are too long: words.py PROJECT. tests/words.txt lists the words."""

import fnmatch
import pathlib
import re
import subprocess
import sys

FOLDERS = ["README.md", "CHANGELOG.md", "benchmarks", "cli", "cmake", "docs", "examples", "generator", "runtime",
           "templates", "tests"]
# What programs write, and what was measured before a word was gone.
NOT_READ = ["*.sexp", "*.json", "*.svg", "*.png", "benchmarks/results/*", "docs/kernel-notes.md", "tests/*/corpus/*",
            "tests/words.txt", "tests/structure/words_test.py"]
# Words that a document may have, as `wc -w` counts them. A fact that is about one file stands at that file's head.
MOST_WORDS = {"README.md": 1300, "docs/architecture.md": 4700}


def patterns(text):
    """Of each line of words.txt the compiled pattern, for whole words and, ten times as fast, for any; and the globs."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, files = line.partition(" | ")
            word = rf"(?:{word})(?!\w)".replace(" ", r"\s+")
            found.append((re.compile(r"(?<!\w)" + word), re.compile(word), files.split()))
    return found


def gone_words(root, wanted, files):
    """Each place that has one: "file:line: the word as it is there"."""
    places = []
    for name in files:
        if any(fnmatch.fnmatch(name, each) for each in NOT_READ):
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        # A sentence goes on over a line's end, the sign of the next comment line, and the quotes of adjacent literals.
        flat = re.sub(r'"?\n\s*(?://+|#|\*|")? ?', lambda end: " " * len(end[0]), text)
        for pattern, anywhere, allowed in wanted:
            if not anywhere.search(flat) or any(fnmatch.fnmatch(name, each) for each in allowed):
                continue
            for match in pattern.finditer(flat):
                places.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {' '.join(match[0].split())}")
    return places


def too_long(root, files):
    """Each document with more words than it may have."""
    counts = {name: len((root / name).read_text().split()) for name in files if name in MOST_WORDS}
    return [f"{name}: {count} words; at most {MOST_WORDS[name]}" for name, count in counts.items()
            if count > MOST_WORDS[name]]


def main(root):
    listed = subprocess.run(["git", "ls-files", "--", *FOLDERS], cwd=root, capture_output=True, text=True)
    files = [name for name in listed.stdout.split("\n") if name and (root / name).is_file()]
    if not files:  # an archive of the sources
        files = [str(path.relative_to(root)) for folder in FOLDERS for path in [root / folder, *(root / folder).rglob("*")]
                 if path.is_file()]
    places = gone_words(root, patterns((root / "tests/words.txt").read_text()), files) + too_long(root, files)
    print("\n".join(places) or f"none in {len(files)} files")
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
