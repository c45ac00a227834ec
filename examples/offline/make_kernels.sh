#!/usr/bin/env bash
# Makes kernels/: all that the program takes over. Needs convtgen and NVRTC; run it once, keep what it made.
set -euo pipefail
cd "$(dirname "$0")"
architectures=sm_80,sm_90a,compute_80  # A100; H100 and H200; PTX for all later chips
convtgen check layers.convt
convtgen compile layers.convt --arch $architectures -o kernels --manifest kernels/manifest.json
convtgen launcher layers.convt --arch $architectures -o kernels --namespace offline
