"""The commands and options of granary that the pages name are there: options.py SOURCE BIN

Looked at are code spans and lines of code blocks that begin with `granary`, with the help of their command and of its part.
"""
import functools
import pathlib
import re
import subprocess
import sys

from blocks import FENCE, pages

source, programs = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
MAGIC = re.compile(r"granary (?:[a-z ]+ 1(?:\\n)?|python pickle)$")  # how a file begins, or its metadata: docs/formats.md


@functools.cache
def told(*words):
    return subprocess.run([programs / "granary", *words, "--help"], capture_output=True, text=True).stdout


def calls(path):
    """(line, words of one call) of a page."""
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if FENCE.match(line) or line.strip() == "```":
            inside = not inside
        for text in [line] if inside else re.findall(r"`([^`]+)`", line):
            if inside and not re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*granary ", text) or MAGIC.match(text):
                continue
            for part in re.split(r"[|;&(]|\$\(", text.removeprefix("$ ")):
                call = re.match(r"\s*(?:[A-Z_]+=\S+ )*granary ([a-z].*)", part)
                if call and not part.lstrip().startswith("granary: "):
                    yield number, re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", call[1]).split(" -- ")[0].split()


commands = set(re.findall(r"^  ([a-z]+) ", told(), re.M))
wrong, seen = [], 0
for page in pages(source):
    for number, words in calls(page):
        seen += 1
        if words[0] not in commands | {"help"}:
            wrong.append(f"{page.name}:{number}: no command `granary {words[0]}`")
            continue
        known = told(words[0])
        if len(words) > 1 and re.search(rf"^  {re.escape(words[1])} ", known, re.M):
            known = told(*words[:2])
        for option in words[1:]:
            name = re.match(r"--[a-z][a-z-]*", option)
            if name and not re.search(rf"(?<![\w-]){name[0]}(?![\w-])", known) and words[0] != "help":
                wrong.append(f"{page.name}:{number}: `granary {words[0]}` has no {name[0]}")
print("\n".join(wrong))
print(f"{seen} calls, {len(wrong)} are wrong")
sys.exit(1 if wrong or seen < 300 else 0)
