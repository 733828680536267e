#!/bin/sh
# An application's view: installs the runtime, builds docs/examples against the
# install tree alone, and runs the result as far as the machine allows.
#
#   install-test.sh SOURCE BUILD [WRITE-SAMPLE EMULATOR.so]
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --component runtime --prefix "$work/prefix" >/dev/null
cmake -S "$source/docs/examples" -B "$work/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/build" >>"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }

# No such file: the library is found and answers.
if "$work/build/run" /no/such.pasc emulator 2>"$work/err"; then
  echo 'install-test: the example ran a model that is not there' >&2
  exit 1
fi
grep -q '^run: ' "$work/err" || { cat "$work/err" >&2; exit 1; }

if [ $# -ge 4 ]; then
  "$3" "$work/add.pasc"
  PASCALINE_EMULATOR=$4 "$work/build/run" "$work/add.pasc" emulator >"$work/out"
  grep -qx 'constant\[0\] = 0' "$work/out" || { cat "$work/out" >&2; exit 1; }
fi
