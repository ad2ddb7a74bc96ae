"""Section 3: the public headers as pages. One for each group of functions that stand together without a blank line, of which the
names of the others are links; and one for each header, with its types and what it says of itself."""
from __future__ import annotations

import os
import re
from typing import Dict, List, NamedTuple

from roff import code, head, quoted, see_also, text

SLOT = re.compile(r"^(\S(?:[^ ]| (?! ))*?) {2,}(\S.*)$")


class Function(NamedTuple):
    name: str
    prototype: str
    comment: List[str]


class Header(NamedTuple):
    name: str  # "store.h"
    comment: List[str]
    groups: List[List[Function]]
    types: Dict[str, str]  # with the comment above


def lines_of(comment: str) -> List[str]:
    """What a comment says, without its frame."""
    body = re.sub(r"^/\*+|\*/$", "", comment.strip())
    return [re.sub(r"^ ?\* ?|^ {3}(?=\S)", "", line).rstrip() for line in body.strip("\n").strip(" ").split("\n")]


def read(path: str) -> Header:
    source = open(path, encoding="utf-8").read()
    first = re.match(r"/\*.*?\*/", source, re.S)
    assert first is not None, path
    groups: List[List[Function]] = []
    end = -1
    for found in re.finditer(r"(/\*(?:(?!\*/).)*\*/)\n(GRANARY_API[^;]*;)", source, re.S):
        comment, prototype = found.groups()
        name = re.search(r"\b(granary_\w+)\(", prototype)
        assert name is not None, prototype
        function = Function(name.group(1), prototype.replace("GRANARY_API ", ""), lines_of(comment))
        if found.start() == end + 1:
            groups[-1].append(function)
        else:
            groups.append([function])
        end = found.end()
    types: Dict[str, str] = {}
    for found in re.finditer(r"((?:^/\*(?:(?!\*/).)*\*/\n)?)(^(?:typedef )?(?:struct|enum)[ \w]*\{\n.*?^\}[ \w]*;)", source, re.S | re.M):
        named = re.search(r"\}\s*(\w+);$", found.group(2)) or re.match(r"(?:struct|enum) (\w+)", found.group(2))
        types[named.group(1) if named else f"constants {len(types)}"] = found.group(0)
    return Header(os.path.basename(path), lines_of(first.group(0)), groups, types)


def prose(lines: List[str]) -> str:
    """Paragraphs, slots ("ret_id  the id of it") and examples."""
    out: List[str] = []
    before = "blank"  # what the last line was: blank, text, slot, code
    hang = 0
    example: List[str] = []
    for line in lines + [""]:
        if example and not line.startswith("    "):
            out.append(code("\n".join(example)).rstrip("\n"))
            example = []
            before = "blank"
        slot = SLOT.match(line.strip()) if len(line) - len(line.lstrip()) <= 3 else None
        if not line:
            before = "blank"
        elif before == "slot" and len(line) - len(line.lstrip()) >= hang:
            out.append(text(line.strip()))
        elif slot and (before in ("blank", "slot") or len(slot.group(1).split()) <= 2):
            hang = max(line.index(slot.group(2)) - 1, 1)
            out += [".TP", ".B " + text(slot.group(1)), text(slot.group(2))]
            before = "slot"
        elif line.startswith("    "):
            example.append(line)
        else:
            out += ([".PP"] if before != "text" else []) + [text(line.strip())]
            before = "text"
    return "\n".join(out) + "\n"


def summary(comment: List[str], name: str) -> str:
    """The first sentence, for whatis; a comment that begins with a slot has none."""
    begun = " ".join(comment[: comment.index("")] if "" in comment else comment).strip()
    sentence = re.split(r"(?<=[a-z0-9)])[.;:](?:\s|$)", begun)[0]
    if not begun or SLOT.match(comment[0]) or re.match(r"Errors\b", sentence) or len(sentence) > 160:
        return name.replace("granary_", "").replace("_", " ")
    return sentence.rstrip(".")


def include(header: Header) -> str:
    return ".SH SYNOPSIS\n.nf\n" + f".B {text(f'#include <granary/{header.name}>')}\n"


def page_of(header: Header) -> str:
    return "granary.h" if header.name == "granary.h" else f"granary_{header.name}"


def function_page(header: Header, group: List[Function], version: str) -> str:
    name = group[0].name
    page = head(name, 3, version, summary(group[0].comment, name), ", ".join(f.name for f in group)) + include(header)
    for function in group:
        page += ".PP\n" + "".join(f".B {quoted(line)}\n" for line in function.prototype.split("\n"))
    page += ".fi\n.SH DESCRIPTION\n"
    for function in group:
        page += (f".SS {quoted(function.name + '()')}\n" if len(group) > 1 else "") + prose(function.comment)
    used = {word for function in group for word in re.findall(r"granary_\w+", function.prototype)}
    types = "".join(code(header.types[name]) for name in sorted(used & set(header.types)))
    if types:
        page += ".SH TYPES\n" + types
    return page + see_also([f"{page_of(header)}(3)", "granary_errors(3)"])


def header_page(header: Header, version: str) -> str:
    told = [re.sub(r"^granary: ", "", line) for line in header.comment]
    told = told[1:] if not told[0] else told
    begun = told[0]
    page = head(page_of(header), 3, version, re.split(r"[.(:;]", begun)[0].strip()) + include(header)
    page += ".fi\n.SH DESCRIPTION\n" + prose([begun[0].upper() + begun[1:]] + told[1:])
    if header.groups:
        page += ".SH FUNCTIONS\n"
    for function in (function for group in header.groups for function in group):
        page += f".TP\n.BR {text(function.name)} (3)\n{text(summary(function.comment, function.name))}\n"
    if header.types:
        page += ".SH TYPES\n" + "".join(".PP\n" + code(types, 0) for types in header.types.values())
    return page + see_also(["granary.h(3)", "granary_errors(3)"])


def errors_page(source: str, version: str) -> str:
    page = head("granary_errors", 3, version, "what the errors of granary mean")
    page += ".SH DESCRIPTION\nFunctions that can fail return\n.BR granary_err :\n.BR GRANARY_OK ,\nor one of these.\n"
    page += ".BR granary_error_message (3)\ntells of the last one what happened to which thing, and what to do next.\n"
    types = open(os.path.join(source, "include", "granary", "types.h"), encoding="utf-8").read()
    told = dict(re.findall(r"^    GRANARY_(E\w+) = -\d+, */\* (.*) \*/$", types, re.M))
    table = open(os.path.join(source, "include", "contract", "errors.def"), encoding="utf-8").read()
    for name, value, status in re.findall(r'^ERR\((E\w+), *(-?\d+), *(\d+),', table, re.M):
        page += f".TP\n.B {text(f'GRANARY_{name} ({value})')}\n{text(told[name])}. Exit status of commands: {status}.\n"
    return page + see_also(["granary_types.h(3)", "granary(1)"])


def write(source: str, out: str, version: str) -> None:
    os.makedirs(out, exist_ok=True)
    folder = os.path.join(source, "include", "granary")
    for name in sorted(os.listdir(folder)):
        header = read(os.path.join(folder, name))
        pages = {page_of(header): header_page(header, version)}
        for group in header.groups:
            pages[group[0].name] = function_page(header, group, version)
            pages.update({function.name: f".so man3/{group[0].name}.3\n" for function in group[1:]})
        for page, words in pages.items():
            with open(os.path.join(out, f"{page}.3"), "w", encoding="utf-8") as file:
                file.write(words)
    with open(os.path.join(out, "granary_errors.3"), "w", encoding="utf-8") as file:
        file.write(errors_page(source, version))
