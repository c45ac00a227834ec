"""The program `convtgen`, which the package brings along."""

import os
import subprocess
import sys
from pathlib import Path

from .core import Error, Layer, Status

_PROGRAM = Path(__file__).parent / "bin" / "convtgen"


def main():
    """The command `convtgen`: becomes the program."""
    os.execv(_PROGRAM, [str(_PROGRAM), *sys.argv[1:]])


def _run(verb, layer, direction, arch):
    text = layer.text if isinstance(layer, Layer) else Layer(layer).text
    call = [_PROGRAM, verb, "-e", text, "--direction", direction, "--arch", arch]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(Status.UNSUPPORTED, done.stderr.strip())
    return done.stdout


def emit(layer, *, direction="forward", arch="sm_90a"):
    """The CUDA source of a layer's kernel, as `convtgen emit` writes it.

    Args:
      layer: a Layer, or its text.
      direction: one of DIRECTIONS, which the layer must have.
      arch: "sm_80", "sm_90a", ...: what the kernel is chosen for.

    Raises:
      Error: the text is no layer, or there is no kernel for it; the message names the field.
    """
    return _run("emit", layer, direction, arch)


def explain(layer, *, direction="forward", arch="sm_90a"):
    """Which kernel a layer gets, what it costs and why, as `convtgen explain` prints it. Arguments and errors as emit()."""
    return _run("explain", layer, direction, arch)
