"""The machine code of kernels that the store keeps."""

import os
import re
import struct


def code_of(elf):
    """The machine code of each function of a 64-bit ELF file, in an order that names don't decide."""
    (offset,), (size, count, names) = struct.unpack_from("<Q", elf, 40), struct.unpack_from("<3H", elf, 58)
    sections = [struct.unpack_from("<2I4Q", elf, offset + i * size) for i in range(count)]
    texts = elf[sections[names][4] :]
    code = []
    for name, _, _, _, at, length in sections:
        word = texts[name : texts.index(b"\0", name)].decode()
        if word.startswith(".text."):
            code.append(elf[at : at + length])
    return sorted(code)


def ptx_of(entry):
    """The PTX of an entry, without the digests in the names of its kernels, and without constants, which are in the code."""
    text = re.sub(rb"(convtgen_\w+?)_[0-9a-f]{16}", rb"\1", entry[entry.index(b".version") :])
    return re.sub(rb"(?m)^\.global [^\n]* _ZN\d+_INTERNAL_\w+ = \w+;\n", b"", text)


def stored_code(folder, key):
    """The machine code of the store's entry of this key, or its PTX where it has that: of kernels of an older chip.
    Errors: FileNotFoundError."""
    for root, _, files in os.walk(folder):
        for file in files:
            if file.endswith(f"-{key[:16]}.entry"):  # the prefix is the family of the entry
                with open(os.path.join(root, file), "rb") as stream:
                    entry = stream.read()
                at = entry.find(b"\x7fELF")
                return ptx_of(entry) if at < 0 else code_of(entry[at:])
    raise FileNotFoundError(f"no entry {key} in {folder}")
