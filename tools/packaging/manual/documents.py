"""Section 5: pages of docs/ that describe files. Of Markdown, what these have: headings, paragraphs, lists, tables, code."""
from __future__ import annotations

import os
import re
from typing import List, NamedTuple

from roff import code, head, see_also, text


class Page(NamedTuple):
    name: str
    summary: str
    file: str
    section: str  # of the file, by its heading; "": all
    see: List[str]


PAGES = [
    Page("granary.conf", "settings of an instance: /etc/granary/NAME.conf and ~/.config/granary/NAME.conf", "operations.md", "Settings",
         ["granary-config(1)", "granary-up(1)"]),
    Page("granary-graph", "the format of graphs", "graph-format.md", "", ["granary-run(1)", "granary_graph_submit_json(3)"]),
    Page("granary-formats", "what lies in objects, files and shared memory", "formats.md", "", ["granary-spill(5)", "granary-fsck(1)"]),
    Page("granary-spill", "files of objects that do not fit into memory", "formats.md", "Spill files", ["granary-formats(5)", "granary-store(8)"]),
]

STARTS_TEXT = re.compile(r"(?!```|\||#|- |\d+\. |!\[).")
CONTINUES = re.compile(r" *(?!```|\||#|- |\d+\. )\S")


def spans(line: str) -> str:
    """Code is bold, links are their words."""
    line = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", line)
    out = []
    for i, part in enumerate(re.split(r"`([^`]*)`", line)):
        if i % 2 == 1:
            out.append("\\fB" + text(part) + "\\fP")
        else:
            for j, words in enumerate(re.split(r"\*\*([^*]+)\*\*|(?<!\w)\*([^*]+)\*(?!\w)", part)):
                if words:
                    out.append(text(words) if j % 3 == 0 else ("\\fB" if j % 3 == 1 else "\\fI") + text(words) + "\\fP")
    joined = "".join(out)
    return "\\&" + joined if joined[:1] in (".", "'") else joined


def cells(line: str) -> List[str]:
    inside = re.split(r"(?<!\\)\|", line.strip().strip("|") if not line.strip().endswith("\\|") else line.strip()[1:])
    return [cell.strip().replace("\\|", "|") for cell in inside]


def table(rows: List[str]) -> str:
    """A list of terms: they fit any terminal. The first column is the term; the cells of others are named by their heads, but the last
    one. A table whose only head is its first one has a title."""
    heads, *found = [cells(row) for row in rows[:1] + rows[2:]]
    titled = heads[0] and not any(heads[1:])
    out = f".B {spans(heads[0])}\n" if titled else ""
    for row in found:
        last = len(heads) - 1
        named = [f"{head}: {cell}" if head and 0 < i < last else cell for i, (head, cell) in enumerate(zip(heads, row)) if i and cell]
        out += f".TP\n.B {spans(row[0])}\n".replace("\\fP", "\\fB") + spans("; ".join(named)) + "\n"
    return out


def body(lines: List[str]) -> str:
    out = ""
    position = 0
    while position < len(lines):
        line = lines[position]
        end = position + 1
        if line.startswith("```"):
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            out += code("\n".join(lines[position + 1:end]))
            end += 1
        elif line.startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            out += ".PP\n" + table(lines[position:end])
        elif re.match(r"#+ ", line):
            level, title = line.split(" ", 1)
            out += (".SH " if len(level) == 2 else ".SS ") + text(re.sub(r"`", "", title)) + "\n"
        elif not line.strip() or line.startswith("!["):
            out += ".PP\n" if end < len(lines) and STARTS_TEXT.match(lines[end]) else ""
        else:
            mark, words = re.match(r"(- +|\d+\. +)?(.*)", line).groups()  # type: ignore[union-attr]
            while end < len(lines) and CONTINUES.match(lines[end]):
                words += " " + lines[end].strip()
                end += 1
            out += (".IP \\(bu 2\n" if mark.startswith("-") else f".IP {mark.strip()} 4\n") if mark else ""
            out += spans(words.strip()) + "\n"
        position = end
    return out


def page(source: str, which: Page, version: str) -> str:
    lines = open(os.path.join(source, "docs", which.file), encoding="utf-8").read().split("\n")[1:]
    if which.section:
        begin = lines.index("## " + which.section) + 1
        ends = [i for i in range(begin, len(lines)) if lines[i].startswith("## ")]
        lines = [re.sub("^###", "##", line) for line in lines[begin:ends[0] if ends else len(lines)]]
    return head(which.name, 5, version, which.summary) + ".SH DESCRIPTION\n" + body(lines) + see_also(which.see)


def write(source: str, out: str, version: str) -> None:
    os.makedirs(out, exist_ok=True)
    for which in PAGES:
        with open(os.path.join(out, f"{which.name}.5"), "w", encoding="utf-8") as file:
            file.write(page(source, which, version))
