"""Pages as man(7) describes them: text whose signs mean themselves, paragraphs, lists, examples."""
from __future__ import annotations

import textwrap
from typing import List


def text(line: str) -> str:
    """A line that means itself: no request, no escape, and hyphens that can be copied."""
    line = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\`").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + line if line[:1] in (".", "'", "\\") else line


def quoted(argument: str) -> str:
    """One argument of a macro."""
    return '"' + text(argument).replace('"', '""') + '"'


def head(name: str, section: int, version: str, summary: str, names: str = "") -> str:
    return (f".TH {quoted(name.upper())} {section} \"\" {quoted('granary ' + version)} \"granary\"\n"
            f".SH NAME\n{text(names or name)} \\- {text(summary)}\n")


def code(block: str, indent: int = 4) -> str:
    lines = "\n".join(text(line) for line in textwrap.dedent(block).rstrip("\n").split("\n"))
    return f".RS {indent}\n.nf\n{lines}\n.fi\n.RE\n"


def see_also(pages: List[str]) -> str:
    """Of "granary_connect(3)"."""
    marked = [f".BR {text(page[:-3])} {page[-3:]}" for page in pages]
    return ".SH SEE ALSO\n" + ",\n".join(marked) + "\n" if marked else ""
