"""Runs the snippets of the README: readme.py PROJECT. convtgen is on the PATH, pkg-config knows the package.

Each block of code has its check here, in the README's order; a new one without a check is an error.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

PROJECT = pathlib.Path(sys.argv[1])
UP = "layer up { conv_transpose2d 16 -> 8; kernel 4; stride 2; padding 1; input 1x16x16 }\n"


def run(command, **options):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"README: '{command}' exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def npy(path, shape):
    """float32 in NumPy's format 1.0, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html."""
    count = 1
    for extent in shape:
        count *= extent
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * ((64 - (10 + len(head) + 1) % 64) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(4 * count))


def layer_block(code):
    """The layer, whose emitted source has the lines of the block after it."""
    pathlib.Path("asymmetric.convt").write_text(code)
    run("convtgen check asymmetric.convt")


def source_block(code):
    source = run("convtgen emit asymmetric.convt")
    for line in code.splitlines():
        if line.strip() not in source:
            sys.exit(f"README: the source of its layer has no line '{line.strip()}'")
    said = re.search(r"becomes (\d+) lines", README)
    lines = source.count("\n")
    if not said or abs(int(said[1]) - lines) > 0.1 * lines:
        sys.exit(f"README: the source of its layer has {lines} lines")


def start_block(code):
    """Scripts that install and build everything: CI runs one, and both are there and parse."""
    for line in code.splitlines():
        run(f"test -x '{PROJECT / line.split()[0]}' && bash -n '{PROJECT / line.split()[0]}'")


def install_block(code):
    """The presets are there. (The test package.install installs: a second time here would confuse package.uninstall.)"""
    for line in code.splitlines():
        line = line.split("#")[0].strip()
        if preset := re.match(r"cmake --preset (\w+) && cmake --build --preset (\w+)$", line):
            run(f"cmake --list-presets | grep '\"{preset[1]}\"'", cwd=PROJECT)
            run(f"cmake --build --list-presets | grep '\"{preset[2]}\"'", cwd=PROJECT)
        elif re.match(r"cmake --install build/release --prefix \S+$", line):
            run("grep -q '\"binaryDir\": \"${sourceDir}/build/${presetName}\"' CMakePresets.json", cwd=PROJECT)
        elif line.startswith("cmake/"):
            run(f"test -x '{PROJECT / line.split()[0]}'")
        else:
            sys.exit(f"README: no check of '{line}'")


def command_block(code):
    pathlib.Path("layers.convt").write_text(UP)
    npy(pathlib.Path("x.npy"), (1, 16, 16, 16))
    npy(pathlib.Path("w.npy"), (16, 8, 4, 4))
    shutil.copy(PROJECT / "tests/onnx/models/decoder.onnx", "model.onnx")
    for line in code.splitlines():
        command = re.sub(r"\s+#.*", "", line)
        if command == "convtgen doctor":
            run(command + " || true")  # it says what is missing here
        elif command.startswith("convtgen tune"):
            run(command + " --device host")  # as there may be no GPU
        else:
            run(command)
    for made in ["out/up_forward.sm_90a.cu", "out/up_forward.sm_80.cubin", "out/net.h", "y.npy"]:
        if not pathlib.Path(made).exists():
            sys.exit(f"README: its commands make no {made}")


def program_block(code):
    """C++ as it stands, in a program that says what it leaves open."""
    pathlib.Path("program.cpp").write_text(
        """#include <cstdio>
#include <cstdlib>
#include <vector>
""" + code.splitlines()[0] + """
void* allocate(std::size_t bytes) { return bytes == 0 ? nullptr : std::aligned_alloc(128, (bytes + 127) / 128 * 128); }
int main() {
  const std::int64_t batch = 1, height = 2, width = 3;
  std::vector<float> xs(512 * 6, 1.0f), weights(512 * 256 * 16, 0.5f), ys(256 * 24, -1.0f);
  const float *x = xs.data(), *weight = weights.data();
  float* y = ys.data();
  void* stream = nullptr;
""" + "\n".join(code.splitlines()[1:]) + """
  // The outputs at the image's corner have one tap of each axis.
  std::printf("%g\\n", ys[0]);
  return ys[0] == 512 * 0.5f ? 0 : 1;
}
""")
    run("${CXX:-g++} -std=c++17 -Wall -Werror program.cpp -o program $(pkg-config --cflags --libs convtgen)")
    run("./program", env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))


def python_block(code):
    """Python as it stands, on CPU tensors; where the build has no Python package, it is Python."""
    compile(code, "README.md", "exec")
    build = pathlib.Path(os.environ["CONVTGEN_BUILD"])
    python = re.search(r"^Python_EXECUTABLE:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M)
    if not (build / "python/convtgen/_native.abi3.so").exists() or not python:
        return
    pathlib.Path("model.py").write_text(
        """import torch
model, example = torch.nn.Sequential(torch.nn.ConvTranspose2d(3, 2, 3)), torch.ones(1, 3, 4, 4)
""" + code)
    run(f"'{python[1]}' model.py", env=dict(os.environ, PYTHONPATH=str(build / "python")))


CHECKS = [layer_block, source_block, start_block, install_block, command_block, program_block, python_block]
README = (PROJECT / "README.md").read_text()
blocks = re.findall(r"^```\w*\n(.*?)^```$", README, re.M | re.S)
if len(blocks) != len(CHECKS):
    sys.exit(f"README: {len(blocks)} blocks of code, and {len(CHECKS)} checks")
for check, block in zip(CHECKS, blocks):
    check(block)
print(f"README: {len(blocks)} blocks of code run")
