"""Compares the code that two versions of convtgen emit and compile, without a GPU: is the machine code the same?

    same_code.py FILE.convt --before OLD/convtgen --after NEW/convtgen [--mode tf32]... [--arch sm_80]... [--every 4]

Both emit each layer in each mode, layout and direction for each architecture. Where the sources differ, both compile
to PTX; where that differs, to machine code too, since equal PTX gives equal machine code. Prints the counts and each
kernel with other machine code, and exits with 1 where there is one. Needs NVRTC, as `convtgen compile` finds it.
"""

import argparse
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile

from layer import GRADIENTS, MODES, names_in, with_mode
from machine_code import code_of, ptx_of

DIRECTIONS = ["forward", *GRADIENTS]


class Case:
    """A kernel that both versions make."""

    def __init__(self, text, name, mode, layout, direction, arch):
        self.name = f"{name} {mode} {layout} {direction} {arch}"
        self.text, self.direction, self.arch = text, direction, arch


class Version:
    """One of the two programs, with a store of its own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        os.makedirs(folder)

    def run(self, verb, case, *words):
        return subprocess.run([self.program, verb, "-e", case.text, "--direction", case.direction, "--arch", case.arch, *words],
                              check=True, capture_output=True, env={**os.environ, "CONVTGEN_CACHE_DIR": self.folder + "/store"})

    def source(self, case):
        return self.run("emit", case).stdout

    def compiled(self, case, kind):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            self.run("compile", case, "--format", kind, "-o", folder)
            (name,) = os.listdir(folder)
            with open(os.path.join(folder, name), "rb") as file:
                return file.read()


def canonical_forms(program, text):
    """[(name, canonical form)] of the layers of a file's text. The program prints layers with one line each."""
    forms = []
    for name in names_in(text):
        out = subprocess.run([program, "emit", "--layer", name, "--arch", "sm_80", "--direction", "forward", "-"], input=text,
                             check=True, capture_output=True, text=True).stdout
        forms.append((name, out.splitlines()[0].removeprefix("// ")))
    return forms


def verdict(versions, case):
    """"source", "PTX" or "machine code", whichever is equal first; "" where the machine code differs."""
    sources = [version.source(case) for version in versions]
    if sources[0] == sources[1]:
        return "source"
    ptx = [ptx_of(version.compiled(case, "ptx")) for version in versions]
    if ptx[0] == ptx[1]:
        return "PTX"
    codes = [code_of(version.compiled(case, "cubin")) for version in versions]
    return "machine code" if codes[0] == codes[1] else ""


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="layers")
    parser.add_argument("--before", required=True, metavar="CONVTGEN", help="the older program")
    parser.add_argument("--after", required=True, metavar="CONVTGEN", help="the newer one")
    parser.add_argument("--mode", action="append", choices=list(MODES), help="default: all")
    parser.add_argument("--layout", action="append", choices=["nchw", "nhwc"], help="default: both")
    parser.add_argument("--direction", action="append", choices=DIRECTIONS, help="default: all")
    parser.add_argument("--arch", action="append", help="default: sm_80 and sm_90a")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one of N kernels alone, by chance (default: 1)")
    parser.add_argument("--seed", default="1", help="of that choice")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels at a time")
    return parser.parse_args(words)


def cases_of(options):
    with open(options.file, encoding="utf-8") as file:
        forms = canonical_forms(options.before, file.read())
    cases = [Case(f"{with_mode(form, mode, layout)}; directions {direction}", name, mode, layout, direction, arch)
             for mode in options.mode or MODES for layout in options.layout or ["nchw", "nhwc"] for name, form in forms
             for direction in options.direction or DIRECTIONS for arch in options.arch or ["sm_80", "sm_90a"]]
    return random.Random(options.seed).sample(cases, len(cases) // options.every)


def main(words):
    options = options_of(words)
    cases = cases_of(options)
    with tempfile.TemporaryDirectory() as folder:
        versions = [Version(options.before, folder + "/before"), Version(options.after, folder + "/after")]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            verdicts = list(pool.map(lambda case: verdict(versions, case), cases))
    different = [case for case, equal in zip(cases, verdicts) if not equal]
    print(f"{len(cases)} kernels: equal source {verdicts.count('source')}, else equal PTX {verdicts.count('PTX')}, else equal "
          f"machine code {verdicts.count('machine code')}; different {len(different)}")
    for case in different:
        print(f"    {case.name}: {case.text}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
