"""Tests of others that need not pass: a table of ids, or their beginnings, and reasons."""


def read(path: str) -> dict[str, str]:
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                id, _, reason = line.rstrip("\n").partition("\t")
                found[id] = reason
    return found
