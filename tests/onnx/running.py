"""The program, as the tests of this folder run it. $CONVTGEN_PROGRAM is its path."""

import json
import os
import subprocess

import numpy as np

PROGRAM = os.environ["CONVTGEN_PROGRAM"]
#: The relative L2 error that a result may have, by its dtype: what `convtgen run` allows, and as much of the other side.
BOUNDS = {"f64": 1e-13, "f32": 4e-6, "f16": 2e-3}


def import_model(path, folder, *options):
    """What `convtgen import --json` prints; the layers are in folder/l.convt, the weights in folder."""
    command = [PROGRAM, "import", path, "-o", folder / "l.convt", "--weights", folder, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    return json.loads(done.stdout)


def run_layer(row, folder, x):
    """y of a layer that was imported, on the host device, which `convtgen run` also compares with the definition."""
    np.save(folder / "x.npy", x)
    command = [PROGRAM, "run", folder / "l.convt", "--layer", row["name"], "--device", "host", "--x", folder / "x.npy",
               "--out", folder / "y.npy", "--w", row["weight"]]
    if "bias" in row:
        command += ["--bias", row["bias"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{row}\n{done.stdout}{done.stderr}"
    return np.load(folder / "y.npy")


def relative_error(y, expected):
    y, expected = y.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    assert y.shape == expected.shape, (y.shape, expected.shape)
    return np.linalg.norm(y - expected) / max(np.linalg.norm(expected), 1e-30)


