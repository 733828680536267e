#!/bin/sh
# An application's view: installs components, builds docs/examples against the
# install tree alone, with CMake and with pkg-config, and runs the results as
# far as the build has what they need.
#
#   install-test.sh SOURCE BUILD [WRITE-SAMPLE]
#
# With WRITE-SAMPLE the build has the emulator and the compiler too.
set -eu
source=$1 build=$2 sample=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PASCALINE_EMULATOR
fail() { echo "install-test: $*" >&2; exit 1; }
# Prints the log where a command fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$1 ends with an error"; }; }
expect() { # OUTPUT COMMAND...
  wanted=$1
  shift
  "$@" >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; fail "$* ends with an error"; }
  grep -qx "$wanted" "$work/out" || { cat "$work/out" "$work/err" >&2; fail "$* does not print $wanted"; }
}

install_component() { quietly cmake --install "$build" --component "$1" --prefix "$work/built"; }
install_component runtime
if [ -n "$sample" ]; then
  install_component emulator
  install_component compiler
fi
# The tree may be moved.
mv "$work/built" "$work/prefix"

quietly cmake -S "$source/docs/examples" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix"
quietly cmake --build "$work/build"

# A component that is not there is said.
cat >"$work/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.22)
project(none LANGUAGES C)
find_package(pascaline REQUIRED COMPONENTS trainer)
LISTS
if cmake -S "$work" -B "$work/none" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1; then
  fail 'find_package found a component that does not exist'
fi
grep -q 'component trainer is not installed' "$work/log" || { cat "$work/log" >&2; fail 'find_package gives no reason'; }

# With pkg-config and no CMake.
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name pascaline.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion pascaline)" = "$("$work/prefix/bin/pascaline" --version | sed 's/.* //')" ] ||
  fail "pkg-config's version is not the tool's"
# Flags are words.
# shellcheck disable=SC2046
quietly ${CC:-cc} "$source/docs/examples/run.c" -o "$work/run" $(pkg-config --cflags --libs pascaline) \
  -Wl,-rpath,"$(pkg-config --variable=libdir pascaline)"

for run in "$work/build/run" "$work/run"; do
  # No such file: the library is found and answers.
  if "$run" /no/such.pasc emulator 2>"$work/err"; then
    fail 'the example ran a model that is not there'
  fi
  grep -q '^run: ' "$work/err" || { cat "$work/err" >&2; fail 'the example has no sentence'; }
done

if [ -n "$sample" ]; then
  # The emulator is found beside the runtime.
  "$sample" "$work/add.pasc"
  for run in "$work/build/run" "$work/run"; do
    expect 'constant\[0\] = 0' "$run" "$work/add.pasc" emulator
  done
  # 0x3f3f3f3f is 0.747059.
  expect '0 1.49412' "$work/build/threads" "$work/add.pasc" emulator
  # y = exp(x), four floats, as an ONNX file.
  printf '\010\010:4\012\013\012\001x\022\001y\042\003Exp\022\003expZ\017\012\001x\022\012\012\010\010\001\022\004' >"$work/exp.onnx"
  printf '\012\002\010\004b\017\012\001y\022\012\012\010\010\001\022\004\012\002\010\004B\004\012\000\020\021' >>"$work/exp.onnx"
  expect 'y\[0\] = 1' "$work/build/compile" "$work/exp.onnx" emulator
  # shellcheck disable=SC2046
  quietly ${CC:-cc} "$source/docs/examples/compile.c" -o "$work/compile" \
    $(pkg-config --cflags --libs pascaline pascaline-compiler) \
    -Wl,-rpath,"$(pkg-config --variable=libdir pascaline)"
  expect 'y\[0\] = 1' "$work/compile" "$work/exp.onnx" emulator
  quietly "$work/prefix/bin/pascaline-compile" "$work/exp.onnx" -o "$work/exp.pasc"
  quietly "$work/prefix/bin/pascaline" inspect "$work/exp.pasc"
fi
echo 'install-test: ok'
