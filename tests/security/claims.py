#!/usr/bin/python3
"""Every claim of docs/security.md names a test that exists, and the numbers follow one another.

    claims.py SOURCE_DIRECTORY
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
text = (source / "docs/security.md").read_text().split("## Claims")[1].split("\n## ")[0]
claims = re.findall(r"^\| (\d+) \| .+ \| .+ \| (.*) \|$", text, re.M)
tests = {path: path.read_text() for path in (source / "tests").rglob("*") if path.suffix in (".c", ".py", ".sh")}
wrong = []

if [int(number) for number, _ in claims] != list(range(1, len(claims) + 1)) or len(claims) < 40:
    wrong.append(f"the claims' numbers are {[number for number, _ in claims]}")
for number, claim in claims:
    names = re.findall(r"`(\w+)`", claim)  # of the last column
    if not names:
        wrong.append(f"claim {number} names no test")
    for name in names:
        # defined, at the start of a line: a function in C or Python, or a step of a script
        pattern = re.compile(rf"^(?: *def )?{name}\(", re.M)
        if not any(pattern.search(body) for body in tests.values()):
            wrong.append(f"claim {number}: there is no test {name}")
print("\n".join(wrong) if wrong else f"{len(claims)} claims, each with tests")
sys.exit(1 if wrong else 0)
