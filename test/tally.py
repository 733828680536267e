"""Counts the results of one part of the tests: prints "passed failed skipped".

    tally.py lit.json | junit.xml | results.json

Reads lit's --output, ctest's --output-junit, and what test/e2e/harness.py
writes. tools/test.sh adds the counts up. A file that is missing or cannot be
read is one failure: a part that died must not look like a part without tests.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LIT_PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def count(path):
    """(passed, failed, skipped) of one file of results."""
    if path.suffix == ".xml":
        return count_junit(ElementTree.parse(path).getroot())
    return count_tests(json.loads(path.read_text(encoding="utf-8"))["tests"])


def count_tests(tests):
    """lit's list of tests, and ours, which has the same shape."""
    codes = [test["code"] for test in tests]
    passed = sum(code in LIT_PASSED for code in codes)
    skipped = sum(code in LIT_SKIPPED for code in codes)
    return passed, len(codes) - passed - skipped, skipped


def count_junit(root):
    """ctest's report; a test that did not run is a failure, unless it said that it skips."""
    cases = list(root.iter("testcase"))
    passed = sum(case.get("status") == "run" for case in cases)
    skipped = sum(skips(case) for case in cases)
    return passed, len(cases) - passed - skipped, skipped


def skips(case):
    """Whether a test of ctest's report is disabled or skipped itself."""
    reason = case.find("skipped")
    return case.get("status") == "disabled" or (
        reason is not None and reason.get("message", "").startswith("SKIP_"))


def main():
    """Print the three numbers on one line."""
    try:
        numbers = count(Path(sys.argv[1]))
    except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
        print(f"tally: {sys.argv[1]}: {error}", file=sys.stderr)
        numbers = 0, 1, 0
    print(*numbers)


if __name__ == "__main__":
    main()
