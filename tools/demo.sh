#!/bin/bash
# From nothing to an answer: sets up, builds, fetches a real picture classifier,
# compiles it, runs it on the GPU if there is one, else on the emulator, and
# compares the answer with ONNX Runtime's. Everything lands in build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."

MODEL=opennsfw_resnet50
DEMO=build/demo
say() { echo "demo: $*"; }
die() { echo "demo: $*" >&2; exit 1; }

tools/setup.sh
tools/build.sh
build/venv/bin/python test/models/fetch.py "$MODEL" || die "the model cannot be fetched"

rm -rf "$DEMO"
mkdir -p "$DEMO"
say "compiling build/models/$MODEL/model.onnx to $DEMO/model.pasc"
build/bin/pascaline-compile "build/models/$MODEL/model.onnx" -o "$DEMO/model.pasc" ||
  die "the model does not compile"
build/venv/bin/python test/models/demo.py "$MODEL" "$DEMO" || die "the demo ends here"
say "done"
