#!/bin/bash
# Sets up, builds, and runs every test. The last line is "N passed, N failed".
#
#   tools/test.sh            everything; .ci/run calls this
#   tools/test.sh PART...    only these parts (see PARTS), after set-up and build
#
# A part that runs no test at all fails: silence is no proof. Results of each
# part are left in build/test-results/.
set -uo pipefail
cd "$(dirname "$0")/.."

PARTS=(format layers pass-tests alone lit unit cuda slice counters ops memory report refusals package check calibrate conformance fuzz fuzz-ptx graphs sanitized models)
RESULTS=build/test-results
PYTHON=build/venv/bin/python

passed=0 failed=0 skipped=0 summary=()
say() { echo "test: $*"; }
usage() { echo "test: $*; the parts are ${PARTS[*]}" >&2; exit 2; }

# add NAME PASSED FAILED SKIPPED SECONDS
add() {
  local failures=$3
  if [ $(($2 + $3)) -eq 0 ]; then
    echo "test: $1 ran no test" >&2
    failures=1
  fi
  passed=$((passed + $2)) failed=$((failed + failures)) skipped=$((skipped + $4))
  summary+=("$(printf '%-12s %5d passed %4d failed %4d skipped %5d s' "$1" "$2" "$failures" "$4" "$5")")
}

# A check is one test: its exit status.
check() {
  local name=$1 start=$SECONDS
  shift
  say "$name"
  if "$@"; then
    add "$name" 1 0 0 $((SECONDS - start))
  else
    add "$name" 0 1 0 $((SECONDS - start))
  fi
}

# A suite writes a file of results, which is counted; a non-zero exit status
# with no failure in the file (it died) is a failure of its own.
suite() {
  local name=$1 file=$2 start=$SECONDS status=0 counts
  shift 2
  say "$name"
  rm -f "$file"
  "$@" || status=$?
  read -ra counts < <("$PYTHON" test/tally.py "$file")
  if [ $status -ne 0 ] && [ "${counts[1]}" -eq 0 ]; then
    echo "test: $name stopped with status $status" >&2
    counts[1]=1
  fi
  add "$name" "${counts[@]}" $((SECONDS - start))
}

run_lit() {
  local status=0
  rm -f build/test/lit.json
  ninja -C build check || status=$?
  cp build/test/lit.json "$RESULTS/lit.json" || status=1
  return $status
}

run_part() {
  case $1 in
  format) check format .ci/check-format.sh ;;
  layers) check layers .ci/check-layers.sh ;;
  pass-tests) check pass-tests .ci/check-pass-tests.sh ;;
  alone) check alone .ci/check-runtime-alone.sh ;;
  lit) suite lit "$RESULTS/lit.json" run_lit ;;
  unit)
    suite unit "$RESULTS/unit.xml" ctest --test-dir build --output-on-failure \
      -j "${JOBS:-$(nproc)}" --output-junit "$PWD/$RESULTS/unit.xml" ;;
  # Operators and memory plans run under the emulator's sanitizer: a kernel must not only give
  # the right values, it must not get them by reading what it should not.
  ops | conformance | memory)
    PASCALINE_EMULATOR_SANITIZE=1 suite "$1" "$RESULTS/$1.json" \
      "$PYTHON" "test/e2e/$1.py" --json "$RESULTS/$1.json" ;;
  slice | counters | report | refusals | package | check | calibrate)
    suite "$1" "$RESULTS/$1.json" "$PYTHON" "test/e2e/$1.py" --json "$RESULTS/$1.json" ;;
  cuda)
    suite cuda "$RESULTS/cuda.json" "$PYTHON" test/emulator/cuda/run.py --json "$RESULTS/cuda.json"
    suite forms "$RESULTS/forms.json" "$PYTHON" test/emulator/forms/run.py --json "$RESULTS/forms.json" ;;
  fuzz)
    suite fuzz "$RESULTS/fuzz.json" "$PYTHON" test/fuzz/mutate.py --json "$RESULTS/fuzz.json" ;;
  fuzz-ptx)
    suite fuzz-ptx "$RESULTS/fuzz-ptx.json" "$PYTHON" test/fuzz/ptx.py --json "$RESULTS/fuzz-ptx.json" ;;
  graphs)
    suite graphs "$RESULTS/graphs.json" "$PYTHON" test/fuzz/random_graphs.py --json "$RESULTS/graphs.json" ;;
  sanitized)
    suite sanitized "$RESULTS/sanitized.json" "$PYTHON" test/fuzz/sanitized.py --json "$RESULTS/sanitized.json" ;;
  models)
    suite models "$RESULTS/models.json" "$PYTHON" test/models/run.py --json "$RESULTS/models.json" ;;
  esac
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=("${PARTS[@]}")
for part in "${parts[@]}"; do
  [[ " ${PARTS[*]} " == *" $part "* ]] || usage "no part is called $part"
done

tools/setup.sh || {
  echo "test: the set-up failed, so nothing was tested" >&2
  echo "0 passed, 1 failed"
  exit 1
}
mkdir -p "$RESULTS"
built=0 start=$SECONDS
if tools/build.sh; then
  add build 1 0 0 $((SECONDS - start))
  built=1
else
  add build 0 1 0 $((SECONDS - start))
fi
for part in "${parts[@]}"; do
  case $part in
  format | layers | pass-tests | alone) ;;
  *) [ $built = 1 ] || continue ;;
  esac
  run_part "$part"
done

echo
printf '%s\n' "${summary[@]}"
[ $skipped -eq 0 ] || echo "$skipped skipped, not counted as passed"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
