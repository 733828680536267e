#!/bin/bash
# Configures and builds everything into build/: build/bin, build/lib.
#
#   tools/build.sh [TARGET...]      all targets by default
#
# JOBS sets the number of parallel jobs. tools/setup.sh must have run once.
set -euo pipefail
cd "$(dirname "$0")/.."

LLVM=/usr/lib/llvm-19/lib/cmake
say() { echo "build: $*"; }
die() { echo "build: $*" >&2; exit 1; }

[ -f "$LLVM/mlir/MLIRConfig.cmake" ] ||
  die "MLIR 19 is not installed; run tools/setup.sh first"
# The ONNX schema is the onnx package's; the importer's classes are made of it.
PROTO=$(echo build/venv/lib/python3*/site-packages/onnx/onnx-ml.proto)
[ -f "$PROTO" ] || die "build/venv has no onnx-ml.proto; run tools/setup.sh first"

options=(
  -DCMAKE_BUILD_TYPE=Release
  -DMLIR_DIR="$LLVM/mlir"
  -DLLVM_DIR="$LLVM/llvm"
  -DPASCALINE_ONNX_PROTO="$PWD/$PROTO"
)
if command -v ccache >/dev/null; then
  # ccache leaves precompiled headers alone unless it is told this much.
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
say "configuring (log in build/configure.log)"
cmake -S . -B build -G Ninja "${options[@]}" >build/configure.log 2>&1 || {
  tail -20 build/configure.log >&2
  die "cmake cannot configure the build"
}
say "compiling"
ninja -C build -j "${JOBS:-$(nproc)}" "$@" || die "the build has errors, shown above"
say "done: build/bin, build/lib"
