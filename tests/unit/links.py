#!/usr/bin/python3
"""What the pages point at is there: files and headings of links, and source files named in backquotes.

    links.py SOURCE_DIRECTORY
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = [*root.glob("*.md"), *sorted((root / "docs").glob("*.md"))]
folders = ("docs", "executor", "include", "libclient", "sched", "store", "tests", "tools")
sources = [str(path.relative_to(root)) for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
wrong = []


def without_code(text):
    return re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)


def anchors(path):
    """As GitHub makes them of headings: small letters, blanks as '-', no other signs."""
    headings = re.findall(r"^#+ (.*)$", without_code(path.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "")).lower().replace(" ", "-") for heading in headings}


def exists(name):
    return any(source == name or source.endswith("/" + name) for source in sources)


for page in pages:
    if page.name == "CHANGELOG.md": # tells of files as they were
        continue
    text = without_code(page.read_text())
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{page.relative_to(root)}:{number}"
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            if not file.exists():
                wrong.append(f"{where}: there is no {target}")
            elif anchor and anchor not in anchors(file):
                wrong.append(f"{where}: {path or page.name} has no heading #{anchor}")
        for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:c|h|py|sh|def|proto|pml|cmake))`", line):
            if "NAME" not in name and not exists(name):
                wrong.append(f"{where}: there is no file {name}")

print("\n".join(wrong))
sys.exit(1 if wrong else 0)
