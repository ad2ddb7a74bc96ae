#!/usr/bin/python3
"""Sentences of the pages and of the public headers' comments are short enough for somebody who reads English as a second language.

    prose.py SOURCE_DIRECTORY [--list WORDS]

Each page has a limit of words a sentence; a longer one fails, with its line. A sentence ends at . ! or ? before a blank, at ·, and with its
paragraph, list item, table cell or comment block. A cell's list may also have
semicolons. A name in backquotes, or a list of them, counts as one word, and so does a link's address; blocks of code count nothing.
Outside cells, no sentence begins with a free relative: "Who asks ...", "What is ..." has no named subject.
--list prints every sentence of more than WORDS words, longest first, and the figures of each page: how many sentences, the 50th and 90th
percentile, and the longest, of those outside tables.
"""
import pathlib
import re
import sys

LIMIT = 30
# Pages that are reference tables of attributes, one row an operator, and not sentences.
NO_CELLS = {"docs/operators.md"}
# A free relative as the subject; questions, and titles of up to four words, are fine.
RELATIVE = re.compile(r"[*(\"' ]*(?:Who|Whoever|Whose|What|Whatever|That it)\b")
ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.")
ENDS = re.compile(r"(?<=[.!?])[)*_\"']*\s+(?=[\"'(*_`\[A-Z0-9-]|[a-z]+_|granary\b)|\s·\s")
BLOCK = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+|^#+\s|^<|^\||^```|^\s*$|^!\[")


def plain(text):
    """Text without the marks: a piece of code or a link's text stands as words do."""
    text = re.sub(r"``.*?``|`[^`]*`", "CODE", text)
    text = re.sub(r"CODE(?:(?:,| and| or)? CODE)+", "CODE", text)
    text = re.sub(r"!?\[[^\] ]*\]\([^)]*\)", "PAGE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?<=\d) (?=\d{3}\b)", "", text)
    text = re.sub(r"https?://\S+", "LINK", text)
    return text.replace("**", "")


def sentences(text):
    for abbreviation in ABBREVIATIONS:
        text = text.replace(abbreviation, abbreviation.replace(".", ""))
    return [s for s in ENDS.split(text) if s.strip()]


def words(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


def blocks_of_page(text, cells):
    """(line, text, whether it is a cell) of each paragraph, list item and table cell."""
    begun, block, code = 0, [], False
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.lstrip().startswith("```"):
            code = not code
            line = ""
        elif code:
            continue
        if BLOCK.match(line):
            if block:
                yield begun, " ".join(block), False
            block = []
            if line.startswith("|"):
                if cells:
                    for cell in re.split(r"(?<!\\)\||;", plain(line)):
                        yield number, cell, True
                continue
            if line.startswith(("#", "<")) or not line.strip():
                continue
            line = re.sub(r"^\s*(?:[-*+]|\d+\.)\s+", "", line)
        if not block:
            begun = number
        block.append(line.strip())


def blocks_of_header(text):
    """(line, text) of each paragraph of a comment; a line further right than the text (a slot, a table, an example) begins a new one."""
    begun, block, inside, indent = 0, [], False, 0
    for number, line in enumerate(text.split("\n"), 1):
        if not inside and "/*" not in line:
            continue
        body = line.split("/*", 1)[1].lstrip("*!<") if not inside else re.sub(r"^\s*\*(?!/) ?", "", line)
        ends = "*/" in body
        body = body.split("*/")[0].rstrip()
        slot = re.match(r"\s*\S.*? {2,}\S", body) is not None
        column = len(body) - len(body.lstrip())
        if block and (not body.strip() or slot or column > indent or not inside or body.lstrip().startswith(("- ", "|"))):
            yield begun, " ".join(block), False
            block = []
        if body.strip():
            if not block:
                begun, indent = number, max(column, 0) if not slot else 99
            block.append(body.strip() if not slot else body.strip().split("  ", 1)[1].strip())
        inside = not ends
        if ends and block:
            yield begun, " ".join(block), False
            block = []


def measured(root):
    """(page, [(words, line, sentence, whether it is of a cell)]) of every page and header."""
    pages = [root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md", *sorted((root / "docs").glob("*.md"))]
    for path in [*[page for page in pages if page.exists()], *sorted((root / "include/granary").glob("*.h"))]:
        name, text = str(path.relative_to(root)), path.read_text()
        blocks = blocks_of_header(text) if path.suffix == ".h" else blocks_of_page(text, name not in NO_CELLS)
        found = [(len(words(s)), line, s, cell) for line, block, cell in blocks for s in sentences(plain(block)) if words(s)]
        yield name, found


def main():
    root = pathlib.Path(sys.argv[1])
    shown = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[2] == "--list" else None
    bad = 0
    for name, found in measured(root):
        limit = LIMIT if shown is None else shown
        long = [f for f in found if f[0] > limit]
        bad += len(long)
        for count, line, sentence, cell in found if shown is None else []:
            if RELATIVE.match(sentence) and count > 4 and not cell and not sentence.strip().rstrip("*").endswith("?"):
                bad += 1
                print(f"{name}:{line}: begins with a free relative, name the subject: {sentence}")
        for count, line, sentence, _ in sorted(long, key=lambda f: f[1] if shown is None else -f[0]):
            print(f"{name}:{line}: {count} words, at most {limit}: {sentence}")
        if shown is not None and found:
            sizes = sorted(f[0] for f in found if not f[3])
            print(f"{name}: {len(sizes)} sentences, p50 {sizes[len(sizes) // 2]}, p90 {sizes[len(sizes) * 9 // 10]}, longest {sizes[-1]}, "
                  f"{len(long)} of more than {limit}")
    sys.exit(1 if bad and shown is None else 0)


main()
