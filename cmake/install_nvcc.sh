#!/usr/bin/env bash
# Puts nvcc into a folder: install_nvcc.sh <folder>, and prints where it is then. From PyPI's packages of the parts of the
# CUDA toolkit that it needs, unless the folder has them already. Returns 1, with a line that says so, where they can't be
# had: only what is built through nvcc needs it.
set -euo pipefail
folder=${1:?usage: install_nvcc.sh <folder>}
if ! compgen -G "$folder/nvidia/*/bin/nvcc" >/dev/null; then
  echo "installing: nvcc and what it needs (into the build folder)" >&2
  if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$folder" \
      'nvidia-cuda-nvcc>=13,<14' 'nvidia-cuda-crt>=13,<14' 'nvidia-nvvm>=13,<14' 'nvidia-cuda-runtime>=13,<14' \
      'nvidia-cuda-cccl>=13,<14' >&2; then
    echo "install_nvcc.sh: the package nvidia-cuda-nvcc could not be installed; nothing is built through nvcc" >&2
    exit 1
  fi
fi
compgen -G "$folder/nvidia/*/bin/nvcc"
