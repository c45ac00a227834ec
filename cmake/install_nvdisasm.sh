#!/usr/bin/env bash
# Puts nvdisasm into a folder: install_nvdisasm.sh <folder>, and prints where it is then. From PyPI's nvidia-cuda-nvdisasm,
# unless the folder has it already. Returns 1, with a line that says so, where the package can't be had: only tests that
# look at machine code need it.
set -euo pipefail
folder=${1:?usage: install_nvdisasm.sh <folder>}
if ! compgen -G "$folder/nvidia/*/bin/nvdisasm" >/dev/null; then
  echo "installing: nvidia-cuda-nvdisasm (into the build folder)" >&2
  if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$folder" \
      'nvidia-cuda-nvdisasm>=13,<14' >&2; then
    echo "install_nvdisasm.sh: the package nvidia-cuda-nvdisasm could not be installed; machine code is not looked at" >&2
    exit 1
  fi
fi
compgen -G "$folder/nvidia/*/bin/nvdisasm"
