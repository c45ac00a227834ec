"""Writes the blocks of a document as files: blocks.py DOCUMENT FOLDER

FOLDER/blocks gets a file for each block of sh (1_the_program.sh, after its chapter) and of python (layer.py, after the
last program that the text before it names).
"""

import re
import sys
from pathlib import Path


def blocks(text):
    """(name, code) of each, in the document's order."""
    found, chapter, count = [], "", 0
    for heading, language, code in re.findall(r"^## ([^\n]+)$|^```(sh|python)\n(.*?)^```$", text, re.M | re.S):
        if heading:
            chapter = heading
        elif language == "sh":
            count += 1
            found.append((f"{count}_{re.sub(r'[^a-z]+', '_', chapter.lower())}.sh", code))
        else:
            before = text[:text.index(code)]
            found.append((re.findall(r"\b(\w+\.py)\b", before)[-1], code))
    return found


def main(document, folder):
    found = blocks(document.read_text())
    if not found:
        sys.exit(f"blocks.py: {document} has no block of sh or python")
    (folder / "blocks").mkdir()
    for name, code in found:
        (folder / "blocks" / name).write_text(code)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
