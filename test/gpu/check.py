#!/usr/bin/env python3
"""Runs a pack (pack.py) on this machine's GPU and compares; needs Python and the driver only.

    check.py [--device gpu] [--jobs N] [--only WORD...] [--bench]

Prints a line for each item that is wrong, with --bench the measured times of the large ones, and
"N passed, N failed" at the end.
"""

import argparse
import array
import ast
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 300
BENCHED_BYTES = 1 << 20  # artifacts from this size on are models
CODES = {"f4": "f", "f8": "d", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I",
         "i8": "q", "u8": "Q", "b1": "B"}


def read_npy(path):
    """(type, shape, values) of a C-ordered .npy file."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{path.name}: is no .npy file")
    width = 2 if data[6] == 1 else 4
    length = int.from_bytes(data[8:8 + width], "little")
    header = ast.literal_eval(data[8 + width:8 + width + length].decode("latin1"))
    body = data[8 + width + length:]
    kind = header["descr"].lstrip("<|=")
    if header["fortran_order"]:
        raise ValueError(f"{path.name}: is in Fortran order")
    if kind == "f2":
        values = struct.unpack(f"<{len(body) // 2}e", body)
    else:
        values = array.array(CODES[kind], body)
    return kind, tuple(header["shape"]), values


def compare(folder, out, output):
    """What is wrong with one output, or None."""
    kind, shape, got = read_npy(out / output["got"])
    wanted_kind, wanted_shape, want = read_npy(folder / output["want"])
    if (kind, shape) != (wanted_kind, wanted_shape):
        return f"is {kind}{list(shape)}, should be {wanted_kind}{list(wanted_shape)}"
    wrong, worst = 0, 0.0
    for a, b in zip(got, want):
        if a == b or (a != a and b != b):
            continue
        error = abs(a - b)
        worst = max(worst, error) if error == error else math.inf
        if output["exact"] or not (math.isfinite(b)
                                   and error <= output["atol"] + output["rtol"] * abs(b)):
            wrong += 1
    return f"{wrong} of {len(want)} values wrong, worst error {worst:.3g}" if wrong else None


def call(*words):
    """Run the tool; its last line on stderr if it fails."""
    result = subprocess.run([str(HERE / "bin/pascaline"), *map(str, words)], capture_output=True,
                            text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    if result.returncode:
        last = result.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
        return f"pascaline {words[0]}: exit {result.returncode}: {last[0]}"
    return None


def check(folder, args):
    """(name, problem or None, seconds)."""
    item = json.loads((folder / "item.json").read_text(encoding="utf-8"))
    start = time.perf_counter()
    problem = None
    with tempfile.TemporaryDirectory() as out:
        inputs = [w for name, file in item["inputs"] for w in ("--input", f"{name}={folder / file}")]
        try:
            problem = call("run", folder / "model.pasc", *inputs, "--output-dir", out, "--device",
                           args.device)
            for output in [] if problem else item["outputs"]:
                found = compare(folder, Path(out), output)
                problem = problem or (found and f"{output['got']}: {found}")
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            problem = str(error)
    return item["name"], problem, time.perf_counter() - start


def bench(folder, args):
    """Print the measured times of one model."""
    with tempfile.TemporaryDirectory() as out:
        report = Path(out) / "bench.json"
        problem = call("bench", folder / "model.pasc", "--device", args.device, "--json", report,
                       "--warmup", "10", "--iterations", "100")
        if problem:
            print(f"check: {folder.name}: {problem}")
            return
        text = report.read_text(encoding="utf-8")
        if os.environ.get("OUT"):  # a folder whose files are brought back from another machine
            (Path(os.environ["OUT"]) / f"bench-{folder.name}.json").write_text(text, encoding="utf-8")
        found = json.loads(text)
        total = found["total_us"]
        print(f"bench {folder.name} on {found['device']} ({found['kind']}): "
              f"min {total['min']:.0f} us, median {total['median']:.0f} us, p99 {total['p99']:.0f} us")


def main():
    """All items of the pack."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--only", nargs="+", metavar="WORD")
    parser.add_argument("--bench", action="store_true")
    args = parser.parse_args()
    folders = [f for f in sorted((HERE / "items").iterdir())
               if not args.only or any(word in f.name for word in args.only)]
    failed = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for name, problem, seconds in pool.map(lambda f: check(f, args), folders):
            failed += problem is not None
            if problem:
                print(f"FAIL  {name} ({seconds:.1f} s): {problem}", flush=True)
    if args.bench:
        for folder in folders:
            if (folder / "model.pasc").stat().st_size >= BENCHED_BYTES:
                bench(folder, args)
    print(f"{len(folders) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not folders else 0)


if __name__ == "__main__":
    main()
