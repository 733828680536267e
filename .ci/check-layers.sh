#!/bin/bash
# Fails when a file includes a folder above its own. The order is
#   runtime <- compiler <- passes <- tools <- test
# The emulator lives in the runtime's folder but is a library of its own: it may
# use LLVM, and no more of the project than the driver API's header. The
# compiler may see one header of the runtime, the artifact format's.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

status=0
# forbid WHAT INCLUDES SENTENCE PATH...: an include of INCLUDES in a PATH fails.
# Lines that match ALLOW are let through.
forbid() {
  local who=$1 pattern=$2 sentence=$3 hits
  shift 3
  hits=$(grep -rnE "^ *#? *include [<\"]($pattern)" "$@" \
           --include='*.h' --include='*.c' --include='*.cpp' --include='*.inc' \
           --include='*.td' --include='*.fbs' 2>/dev/null |
         grep -vE "[<\"](${ALLOW:-none})") || return 0
  echo "$hits" >&2
  echo "check-layers: $who $sentence" >&2
  status=1
}

compiler='compiler/|passes/|tools/|pascaline/compile'
forbid runtime "$compiler|llvm|mlir" 'must build without the compiler and without LLVM' \
  $(ls -d runtime/* | grep -v '^runtime/emulator$')
forbid emulator "$compiler|mlir" 'must know neither the compiler nor MLIR' runtime/emulator
ALLOW='(runtime/include/)?pascaline/artifact' \
  forbid compiler 'passes/|tools/|runtime/|pascaline/' \
  'may include nothing above it, and of the runtime only pascaline/artifact*.h' compiler
forbid passes 'tools/|runtime/|pascaline/' 'must know neither the tools nor the runtime' passes
forbid 'pascaline (the tool)' 'compiler/|passes/|llvm|mlir' 'links the runtime only' tools/pascaline

# The runtime's libraries must not be linked against LLVM either.
if grep -rniE 'llvm|mlir' runtime --include=CMakeLists.txt | grep -v '^runtime/emulator/' |
   grep -vE '^[^:]*:[0-9]+: *#'; then
  echo "check-layers: the runtime's CMakeLists.txt names LLVM" >&2
  status=1
fi

[ $status -eq 0 ] && echo "check-layers: ok"
exit $status
