#!/bin/bash
# Fails on C++ that clang-format 14 would change. The version is pinned: other
# versions disagree about details, and then everybody's diff is noise.
#
#   .ci/check-format.sh         checks
#   .ci/check-format.sh --fix   formats
set -euo pipefail
cd "$(dirname "$0")/.."

FORMAT=$(command -v clang-format-14) || {
  echo "check-format: clang-format-14 is not installed; run tools/setup.sh" >&2
  exit 1
}
mapfile -t files < <(find runtime compiler passes tools test -type f \
  \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) | sort)
mkdir -p build
if [ "${1:-}" = --fix ]; then
  "$FORMAT" -i "${files[@]}"
elif ! "$FORMAT" --dry-run --Werror "${files[@]}" 2>build/format.log; then
  grep -oE '^[^:]+' build/format.log | grep -E '\.(h|c|cpp|inc)$' | sort -u >&2
  echo "check-format: these differ from clang-format 14; run .ci/check-format.sh --fix" >&2
  exit 1
fi
echo "check-format: ok, ${#files[@]} files"
