#!/bin/bash
# Builds the runtime without the compiler and checks what an app would link:
# the C and C++ libraries only, under 1 MB stripped.
set -euo pipefail
cd "$(dirname "$0")/.."

BUILD=build/runtime-only
LIMIT=1000000
die() { echo "runtime-alone: $*" >&2; exit 1; }

options=(-DCMAKE_BUILD_TYPE=Release -DPASCALINE_BUILD_COMPILER=OFF)
if command -v ccache >/dev/null; then
  options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
mkdir -p build
cmake -S . -B "$BUILD" -G Ninja "${options[@]}" >build/runtime-only.log 2>&1 ||
  { tail -20 build/runtime-only.log >&2; die "cmake cannot configure the runtime alone"; }
ninja -C "$BUILD" -j "${JOBS:-$(nproc)}" >build/runtime-only.log 2>&1 ||
  { tail -40 build/runtime-only.log >&2; die "the runtime alone does not build"; }
grep -iE '^(LLVM|MLIR)_DIR' "$BUILD/CMakeCache.txt" && die "the runtime's build looked for LLVM"

library=$(readlink -f "$BUILD/lib/libpascaline.so") && [ -f "$library" ] ||
  die "the build made no $BUILD/lib/libpascaline.so"
others=$(ldd "$library" | awk '{print $1}' |
  grep -vE '^(linux-vdso\.so|libc\.so|libm\.so|libstdc\+\+\.so|libgcc_s\.so|/lib.*/ld-linux|libdl\.so|libpthread\.so)' || true)
[ -z "$others" ] || die "libpascaline.so links $others; it may link the C and C++ libraries only"

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library"
size=$(stat -c %s "$stripped")
[ "$size" -lt $LIMIT ] || die "libpascaline.so has $size bytes stripped; the limit is $LIMIT"
echo "runtime-alone: ok, $size bytes stripped, links $(ldd "$library" | awk '{print $1}' | xargs -n1 basename | tr '\n' ' ')"
