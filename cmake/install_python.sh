#!/usr/bin/env bash
# Makes a Python environment with what the Python package's build and tests need, and prints its interpreter:
# install_python.sh <folder> [<PyTorch as pip names it>]. PyTorch is most of it: some 2 GB. Returns 1, with a line that
# says so, where it can't be had.
set -euo pipefail
folder=${1:?usage: install_python.sh <folder> [<PyTorch>]}
pytorch=${2:-torch>=2.6}
python=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")/bin/python
if ! "$python" -c 'import cffi, expecttest, numpy, pytest, torch' >/dev/null 2>&1; then
  echo "installing: PyTorch, pytest, cffi (into $folder)" >&2
  if ! { python3 -m venv --clear "$folder" &&
         "$python" -m pip install --quiet --disable-pip-version-check 'cffi>=1.17' expecttest numpy pytest "$pytorch"; } >&2; then
    echo "install_python.sh: PyTorch could not be installed; the Python package is not tested" >&2
    exit 1
  fi
fi
echo "$python"
