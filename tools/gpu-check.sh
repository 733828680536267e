#!/bin/bash
# Runs the models, and every small graph of test/e2e, on an NVIDIA GPU (sm_61 or
# newer: newer drivers compile the same PTX) and compares with ONNX Runtime.
#
#   tools/gpu-check.sh            pack, then check, on a machine that can do both
#   tools/gpu-check.sh pack       on a machine that has built the project
#   tools/gpu-check.sh check      on a machine with a GPU, its driver and python3;
#                                 copy build/gpu-check there, nothing else
# PACK_OPTIONS goes to test/gpu/pack.py, CHECK_OPTIONS to its check.py.
set -euo pipefail
cd "$(dirname "$0")/.."

PACK=build/gpu-check
die() { echo "gpu-check: $*" >&2; exit 1; }

pack() {
  [ -x build/bin/pascaline-compile ] ||
    die "build/bin has no pascaline-compile; run tools/setup.sh and tools/build.sh first"
  # shellcheck disable=SC2086
  build/venv/bin/python test/gpu/pack.py "$PACK" ${PACK_OPTIONS:-}
}

check() {
  [ -f "$PACK/check.py" ] || die "there is no $PACK; run tools/gpu-check.sh pack first"
  ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' || ls /usr/lib*/*/libcuda.so.1 >/dev/null 2>&1 ||
    die "this machine has no NVIDIA driver (libcuda.so.1)"
  # shellcheck disable=SC2086
  python3 "$PACK/check.py" ${CHECK_OPTIONS:-}
}

case ${1:-all} in
all) pack; check ;;
pack) pack ;;
check) check ;;
*) die "no such step: $1; the steps are pack and check" ;;
esac
