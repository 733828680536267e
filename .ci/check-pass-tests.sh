#!/bin/bash
# Fails on a pass without a test, and on the odd spelling of a pass.
#
# A pass has one name in three spellings:
#   FuseEpilogue             def in passes/Passes.td, and passes/<stage>/FuseEpilogue.cpp
#   pascaline-fuse-epilogue  its flag
#   fuse-epilogue.mlir       its test, test/passes/<stage>/, which runs the flag
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

status=0
complain() { echo "check-pass-tests: $*" >&2; status=1; }

kebab() { sed -E 's/([a-z0-9])([A-Z])/\1-\2/g; s/([A-Z])([A-Z][a-z])/\1-\2/g' <<<"$1" | tr A-Z a-z; }

# Each pass as "Name flag"; a def may break its line after the colon.
passes=$(tr '\n' ' ' <passes/Passes.td |
  grep -oE 'def +[A-Za-z0-9]+ *: *(Interface)?Pass< *"[^"]*"' |
  sed -E 's/def +([A-Za-z0-9]+) *:.*"([^"]*)"/\1 \2/') || true
[ -n "$passes" ] || complain "passes/Passes.td declares no pass"

count=0
while read -r name flag; do
  [ -n "$name" ] || continue
  count=$((count + 1))
  short=$(kebab "$name")
  [ "$flag" = "pascaline-$short" ] ||
    complain "$name: its flag is $flag; by its name it is pascaline-$short"
  source=$(find passes -mindepth 2 -name "$name.cpp")
  if [ -z "$source" ]; then
    complain "$name: there is no passes/<stage>/$name.cpp"
    continue
  fi
  stage=$(basename "$(dirname "$source")")
  test=test/passes/$stage/$short.mlir
  if [ ! -f "$test" ]; then
    complain "$name: there is no $test"
  elif ! grep -qE "RUN:.*--?(pass-pipeline.*)?$flag" "$test" ; then
    complain "$name: $test does not run --$flag"
  elif ! grep -q 'CHECK' "$test"; then
    complain "$name: $test checks nothing"
  fi
done <<<"$passes"

# A source file that declares a pass which Passes.td does not know.
for source in $(grep -rlE 'impl::[A-Za-z]+Base<' passes --include='*.cpp' || true); do
  for name in $(grep -oE 'impl::[A-Za-z0-9]+Base<' "$source" | sed -E 's/impl::(.*)Base</\1/' | sort -u); do
    grep -q "^$name " <<<"$passes" || complain "$source: $name is not in passes/Passes.td"
  done
done

[ $status -eq 0 ] && echo "check-pass-tests: ok, $count passes"
exit $status
