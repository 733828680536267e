#!/bin/sh
# A library exports what its header declares, under the version of its map, and
# nothing else.
#
#   exports-test.sh LIBRARY HEADER MACRO VERSION [ALLOWED-VERSION]
#
# MACRO marks the header's functions. Symbols of ALLOWED-VERSION are let through.
set -eu
library=$1 header=$2 macro=$3 version=$4 allowed=${5:-none}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration may run over lines: its name is what stands before the first
# bracket after the macro.
tr '\n' ' ' <"$header" | grep -oE "$macro +[a-z][^(;]*\(" |
  sed -E 's/.*[ *]([a-z_0-9]+)\($/\1/' | sort -u >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 2 ] ||
  { echo "exports-test: $header declares next to nothing with $macro" >&2; exit 1; }
nm -D --defined-only "$library" | awk '{print $3}' |
  grep -vE "@@($allowed)\$|^($version|$allowed)(@@.*)?\$" |
  sort -u >"$work/exported"
sed "s/\$/@@$version/" "$work/declared" | sort -u >"$work/expected"
if ! diff "$work/expected" "$work/exported" >"$work/diff"; then
  echo "exports-test: $library differs from $header (<: missing, >: stray)" >&2
  cat "$work/diff" >&2
  exit 1
fi
echo "exports-test: ok, $(wc -l <"$work/exported") functions of $version"
