#!/usr/bin/env bash
# Puts NVRTC into a folder: install_nvrtc.sh <folder> [<version of CUDA, such as 12.4 or 13.0>]; else the newest of
# CUDA 13.
# From PyPI's nvidia-cuda-nvrtc, unless the folder has it already.
# Returns 1, with a line that says so, where the package can't be had: everything but compiling works without it.
set -euo pipefail
folder=${1:?usage: install_nvrtc.sh <folder> [<version of CUDA>]}
case ${2:-} in
  "") package="nvidia-cuda-nvrtc>=13,<14" ;;
  12.*) package="nvidia-cuda-nvrtc-cu12==$2.*" ;;
  *) package="nvidia-cuda-nvrtc==$2.*" ;;
esac
if compgen -G "$folder/nvidia/*/lib/libnvrtc.so.*" >/dev/null; then
  exit 0
fi
echo "installing: nvidia-cuda-nvrtc (into the build folder)" >&2
if ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$folder" \
    "$package" >&2; then
  echo "install_nvrtc.sh: the package nvidia-cuda-nvrtc could not be installed; compiling will not work" >&2
  exit 1
fi
