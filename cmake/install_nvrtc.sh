#!/usr/bin/env bash
# Puts NVRTC into a folder: install_nvrtc.sh <folder>. From PyPI's nvidia-cuda-nvrtc, unless the folder has it already.
# Returns 1, with a line that says so, where the package can't be had: everything but compiling works without it.
set -euo pipefail
folder=${1:?usage: install_nvrtc.sh <folder>}
if compgen -G "$folder/nvidia/*/lib/libnvrtc.so.*" >/dev/null; then
  exit 0
fi
echo "installing: nvidia-cuda-nvrtc (into the build folder)" >&2
if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$folder" \
    'nvidia-cuda-nvrtc>=13,<14' >&2; then
  echo "install_nvrtc.sh: the package nvidia-cuda-nvrtc could not be installed; compiling will not work" >&2
  exit 1
fi
