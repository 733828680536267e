#!/bin/bash
# Installs what the build and the tests need, and nothing twice.
#
# For Debian 12 and Ubuntu 24.04, as root or with sudo. Where every package is
# already there no privilege is needed. System packages come through apt, the
# tests' Python packages go into build/venv, pinned by tools/requirements.txt.
# clang-format is pinned to 14: other versions format differently.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=(
  # the build
  g++ cmake ninja-build ccache lld-19
  # the compiler and the emulator
  llvm-19-dev libmlir-19-dev mlir-19-tools llvm-19-tools zlib1g-dev libzstd-dev
  libprotobuf-dev protobuf-compiler libboost-context-dev
  # the artifact
  libflatbuffers-dev flatbuffers-compiler
  # the tests
  libgtest-dev clang-format-14 python3 python3-venv binutils pkg-config
)
VENV=build/venv
STAMP=$VENV/requirements.stamp

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

# Installed means unpacked and configured; dpkg-query is quick enough to ask
# every time, so a package that was removed by hand comes back.
missing_packages() {
  local package
  for package in "${PACKAGES[@]}"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
      grep -qx installed || echo "$package"
  done
}

install_packages() {
  command -v dpkg-query >/dev/null ||
    die "this is neither Debian nor Ubuntu; install by hand: ${PACKAGES[*]}"
  local missing sudo=() log=build/setup-apt.log
  mapfile -t missing < <(missing_packages)
  if [ ${#missing[@]} -eq 0 ]; then
    say "system packages are there"
    return
  fi
  say "installing ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "needs root to install packages, and there is no sudo; run it as root"
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get -qq update >"$log" 2>&1 ||
    die "the package lists cannot be fetched; check the network (see $log)"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 ||
    die "apt-get cannot install ${missing[*]}; see $log"
}

# The stamp names the pins that were installed last; the imports make sure that
# they are still there.
venv_is_current() {
  [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$(pins)" ] &&
    "$VENV/bin/python" -c 'import lit, numpy, nvidia.cuda_nvrtc, onnx, onnxruntime, PIL, pytest' 2>/dev/null
}

pins() { python3 --version; sha256sum <tools/requirements.txt; }

install_python() {
  if venv_is_current; then
    say "python packages are there"
    return
  fi
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "$(python3 --version) is too old; the tests need python 3.11 or newer"
  local log=build/setup-pip.log
  say "installing the tests' python packages into $VENV"
  if ! "$VENV/bin/python" -c 'import pip' 2>/dev/null; then
    rm -rf "$VENV"
    python3 -m venv "$VENV" >"$log" 2>&1 || die "python3 cannot make $VENV; see $log"
  fi
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
    --require-hashes -r tools/requirements.txt >"$log" 2>&1 ||
    die "pip cannot install tools/requirements.txt; check the network (see $log)"
  pins >"$STAMP"
}

mkdir -p build
install_packages
install_python
say "done"
