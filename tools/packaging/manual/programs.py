"""Section 8: the daemons, as their --help tells."""
from __future__ import annotations

import os
import re
import subprocess
from typing import List

from roff import head, see_also, text

OPTION = re.compile(r"^ {2,}((?:-.,? )? *--\S+) +(\S.*)$")
NOT_OURS = ("Mandatory or optional arguments", "for any corresponding short options")


def page(path: str, version: str) -> str:
    name = os.path.basename(path)
    # Each option on a line of its own, however long.
    told = subprocess.run([path, "--help"], env={**os.environ, "ARGP_HELP_FMT": "rmargin=4000"}, stdout=subprocess.PIPE, check=True,
                          encoding="utf-8").stdout.split("\n")
    usage = re.sub(r"^Usage: ", "", told[0])
    prose: List[str] = []
    options: List[str] = []
    for line in told[1:]:
        option = OPTION.match(line)
        if option:
            options += [".TP", ".B " + text(" ".join(option.group(1).split())), text(option.group(2))]
        elif line.strip() and not line.startswith(NOT_OURS):
            prose += [".PP", text(line.strip())]
    summary = re.split(r"\.(?: |$)", prose[1])[0] if len(prose) > 1 else name
    return (head(name, 8, version, summary[0].lower() + summary[1:].replace("\\-", "-")) + f".SH SYNOPSIS\n.B {text(usage)}\n"
            + ".SH DESCRIPTION\n" + "\n".join(prose) + "\n.SH OPTIONS\n" + "\n".join(options) + "\n"
            + see_also(["granary(1)", "granary-up(1)"]))


def write(programs: List[str], out: str, version: str) -> None:
    os.makedirs(out, exist_ok=True)
    for path in programs:
        with open(os.path.join(out, os.path.basename(path) + ".8"), "w", encoding="utf-8") as file:
            file.write(page(path, version))
