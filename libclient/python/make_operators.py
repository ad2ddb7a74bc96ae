"""granary's operators and functions as JSON, from what the command itself tells of them: no second list of operators.

    make_operators.py GRANARY OUT.json       GRANARY: the command

`operators --json-schema` has the kinds, limits and defaults of parameters, `operators --markdown` the texts, and the functions of
expressions, groups and windows. Both are made from include/contract/ops/ops*.def; what they do not agree upon is an error.
"""
from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, Dict, List, Optional

Row = Dict[str, Any]
_PARAMETER = re.compile(r"\| `(\w+)` \| (\w+) \| (required|default `.*?`|) ?\| (.*) \|$")
_OPERATOR = re.compile(r"(.*) Inputs: (\d+)(?: to (\d+))?; gives: ([\w ]+)\.$")
_FUNCTION = re.compile(r"\| `([a-z]\w*\^?)\(([^`]*)\)` \| (.*?) \| (.*) \|$")


def ask(granary: str, *arguments: str) -> str:
    return subprocess.run([granary, "operators", *arguments], check=True, capture_output=True, text=True).stdout


def arguments(text: str) -> Row:
    """Of `x, window[, min_periods][, center]`: names, how many may be left out, and whether the last one repeats."""
    names = [part.strip() for part in text.replace("[", "").replace("]", "").split(",") if part.strip()]
    optional = text.count("[")
    variadic = bool(names) and names[-1] == "..."
    return {"arguments": names[:-1] if variadic else names, "optional": optional, "variadic": variadic}


def function(line: str, columns: int) -> Optional[Row]:
    """A row of a table of functions; None when it is another one. columns: which of the two last tells what it is."""
    found = _FUNCTION.match(line)
    if not found:
        return None
    name, takes, second, third = found.groups()
    doc, gives = (third, second) if columns == 2 else (second, third)
    expression_names = doc.split("; in SQL")[0]
    aliases = re.findall(r"`(\w+)`", expression_names.rpartition("; also ")[2]) if "; also " in expression_names else []
    text = expression_names.rpartition("; also ")[0] or expression_names
    return {"name": name, **arguments(takes), "gives": gives.strip(), "doc": text.strip(), "aliases": aliases}


def functions(text: str, columns: int) -> List[Row]:
    return [row for row in (function(line, columns) for line in text.splitlines()) if row]


def parameter(line: str, schema: Row) -> Optional[Row]:
    found = _PARAMETER.match(line)
    if not found:
        return None
    name, kind, presence, doc = found.groups()
    says = schema["properties"][name]
    one = says["anyOf"][0] if "anyOf" in says else says
    if (presence == "required") != (name in schema["required"]):
        raise SystemExit(f"make_operators.py: the two pages do not agree whether {name} is required")
    made = {"name": name, "kind": kind, "required": presence == "required", "doc": doc.replace("\\|", "|"),
            "expression": kind in ("string", "map") and bool(re.search(r"\bexpressions?\b|\bcondition\b|FUNCTION", doc))}
    for key in ("default", "minimum", "maximum"):
        if key in says:
            made[key] = says[key]
    if "enum" in one:
        made["enum"] = one["enum"]
    return made


def operator(section: str, text: str, schemas: Dict[str, Row]) -> Row:
    lines = text.splitlines()
    name = lines[0].strip()
    head = _OPERATOR.match(lines[2])
    if head is None:
        raise SystemExit(f"make_operators.py: {name}: no line tells its inputs: {lines[2]!r}")
    summary, least, most, gives = head.groups()
    schema = schemas[name]
    parameters = [p for p in (parameter(line, schema) for line in lines) if p]
    expected = set(schema["properties"]) - {"op", "input", "inputs"}
    if {p["name"] for p in parameters} != expected:
        raise SystemExit(f"make_operators.py: {name}: parameters {[p['name'] for p in parameters]}, not {sorted(expected)}")
    after = [i for i, line in enumerate(lines) if _PARAMETER.match(line)]
    notes = "\n".join(lines[(after[-1] + 1 if after else 3):]).strip()
    return {"name": name, "section": section, "summary": summary, "least": int(least), "most": int(most or least), "gives": gives,
            "parameters": parameters, "doc": notes}


def table(granary: str) -> Row:
    page = ask(granary, "--markdown")
    schemas = json.loads(ask(granary, "--json-schema"))["$defs"]
    found: List[Row] = []
    expressions: List[Row] = []
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        title, _, text = section.partition("\n")
        if title == "Functions of expressions":
            expressions = functions(text, 2)
        elif not title.startswith("Operators on chunks"):
            found += [operator(title, part, schemas) for part in re.split(r"^### ", text, flags=re.M)[1:]]
    by_name = {row["name"]: row for row in found}
    if set(by_name) != set(schemas) - {"node"}:
        raise SystemExit(f"make_operators.py: only one page has {sorted(set(by_name) ^ (set(schemas) - {'node'}))}")
    return {"operators": found, "functions": expressions, "aggregates": functions(by_name["groupby"]["doc"], 1),
            "windows": functions(by_name["window"]["doc"], 1)}


def main() -> None:
    made = table(sys.argv[1])
    if not (made["functions"] and made["aggregates"] and made["windows"]):
        raise SystemExit("make_operators.py: the page has no table of functions")
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump(made, out, indent=1, ensure_ascii=False)
        out.write("\n")


if __name__ == "__main__":
    main()
