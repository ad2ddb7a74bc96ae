#!/usr/bin/python3
"""docs/seeds.md names functions that a header declares (public ones: in include/granary, and a library or the executor
exports them), commands that granary has, and tests that ctest runs; each row says what serves it, or that nothing does yet.

    seeds.py SOURCE_DIRECTORY BUILD_DIRECTORY
"""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
build = pathlib.Path(sys.argv[2])
text = (source / "docs/seeds.md").read_text()
wrong = []

public = "\n".join(path.read_text() for path in (source / "include/granary").glob("*.h"))
inside = "\n".join(path.read_text() for room in ("sched", "executor", "store", "libclient") for path in (source / room).rglob("*.h"))
commands = set(re.findall(r"^COMMAND\((\w+),", (source / "tools/cli/command/commands.def").read_text(), re.M))
tests = set(re.findall(r"Test +#\d+: (\S+)", subprocess.run(["ctest", "-N"], cwd=build, capture_output=True, text=True, check=True).stdout))
exported = set()
for path in [*(build / "lib").glob("*.so"), build / "bin/granary-executor"]:
    exported |= set(re.findall(r" [TDR] (granary_\w+)", subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout))

rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in text.splitlines() if line.startswith("| ") and not line.startswith("| seed ")]
sections = re.findall(r"^## (\d+):", text, re.M)
if sections != ["000", "001", "002", "003", "004"]:
    wrong.append(f"sections are {sections}")
if len(rows) < 70:
    wrong.append(f"only {len(rows)} rows")
for seed, functions, command, names in rows:
    for function in re.findall(r"`(\w+)\(\)`", functions):
        declared = public if function.startswith("granary_") else inside
        if not re.search(rf"\b{function}\(", declared):
            wrong.append(f"{seed}: no header declares {function}()")
        elif function.startswith("granary_") and function not in exported:
            wrong.append(f"{seed}: nothing exports {function}()")
    for name in re.findall(r"`granary (\w+)", command):
        if name not in commands:
            wrong.append(f"{seed}: there is no command granary {name}")
    found = re.findall(r"`(\w+)`", names)
    wrong += [f"{seed}: ctest has no test {name}" for name in found if name not in tests]
    if not found and "not yet" not in functions:
        wrong.append(f"{seed}: no test is named, and it does not say 'not yet'")

for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
