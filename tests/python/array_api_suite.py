"""Run array-api-tests (data-apis/array-api-tests at 412dc47, with its submodule array-api) on granary.array.

    GRANARY_BIN=build/release/bin array_api_suite.py PATH [ARGUMENT OF pytest]...
    array_api_suite.py --module numpy.array_api PATH ...       the oracle: what NumPy's own implementation passes

It needs python3-hypothesis and python3-pytest; array_suite/ stands in for two packages that Debian lacks. Nothing is written
to PATH. Tests of array_suite/exceptions.tsv may fail. $ARRAY_SUITE_SIZE (400) limits the elements of drawn arrays: the suite
compares element by element, each in a graph of its own. The exit status is that of pytest.
"""
from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "../support/py")
sys.path.insert(0, SUPPORT)
from array_test import BIN  # noqa: E402
from command_line import CommandLine  # noqa: E402


def run(module: str, path: str, arguments: list[str], environment: dict[str, str]) -> int:
    given = ["-p", "pytest_jsonreport", "-p", "granary_plugin", "-p", "no:cacheprovider", "-q", "--disable-deadline"]
    paths = [os.path.join(HERE, "array_suite"), HERE, os.path.join(os.path.dirname(BIN), "python")]
    examples = os.path.join(environment["TMPDIR"], "hypothesis")
    environment = {**environment, "ARRAY_API_TESTS_MODULE": module, "PYTHONDONTWRITEBYTECODE": "1", "GRANARY_BIN": BIN,
                   "PYTHONPATH": os.pathsep.join(paths), "HYPOTHESIS_STORAGE_DIRECTORY": examples}
    command = [sys.executable, "-B", "-m", "pytest", *given, *(arguments or ["array_api_tests"])]
    return subprocess.run(command, env=environment, cwd=path).returncode


def main() -> int:
    arguments = sys.argv[1:]
    module = "granary.array"
    if arguments[:1] == ["--module"]:
        module, arguments = arguments[1], arguments[2:]
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    with CommandLine(BIN, memory="512M") as instance:
        return run(module, os.path.abspath(arguments[0]), arguments[1:], {**instance.environment, "TMPDIR": instance.base})


if __name__ == "__main__":
    sys.exit(main())
