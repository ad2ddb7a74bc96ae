"""Which tests a tier of tools/check leaves to later ones, and what the tests of each room may take.

    budget.py skip TIER       a regular expression for `ctest -E`: the tests of later tiers than first, all or release
    budget.py compare BUILD   what the first tier's tests took in BUILD, room by room, beside budgets.tsv

A room is a folder of tests. Its time is processor time, daemons included, as the meter wrote it (tests/support/meter.c):
how busy the machine is changes that little. A room over its budget is told; more than twice of it is a failure.
"""
import pathlib
import re
import sys

TIERS = ["first", "all", "release"]
HERE = pathlib.Path(__file__).parent


def rows(name):
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def later_than(tier):
    return [name for name, its_tier, _ in rows("tiers.tsv") if TIERS.index(its_tier) > TIERS.index(tier)]


def flat(name):
    """What the expression matches, without groups: ctest leaves nothing out, and says nothing, when an expression has more than ten."""
    names = re.findall(r"(?:[^|(]|\([^)]*\))+", name)
    if len(names) > 1:
        return [one for alternative in names for one in flat(alternative)]
    before, group, after = re.fullmatch(r"([^(]*)(?:\(([^)]*)\))?(.*)", name).groups()
    return [name] if group is None else [one for word in group.split("|") for one in flat(before + word + after)]


def skip(tier):
    names = [one for name in later_than(tier) for one in flat(name)]
    print(f"^({'|'.join(names)})$" if names else "^$")


def compare(build):
    taken = {}
    later = re.compile("|".join(later_than("first")))
    for path in (build / "times").rglob("*"):
        if path.is_file() and not later.fullmatch(path.name):
            room = str(path.parent.relative_to(build / "times"))
            taken.setdefault(room, []).append((float(path.read_text().split()[0]), path.name))
    budgets = {room: float(seconds) for room, seconds in rows("budgets.tsv")}
    failed = False
    for room in sorted(set(budgets) | set(taken)):
        seconds = sum(test[0] for test in taken.get(room, []))
        if room not in budgets:
            print(f"{room}: {seconds:.1f} s, and no budget: give it one in tests/budgets.tsv")
            failed = True
        elif seconds > budgets[room]:
            print(f"{room}: {seconds:.1f} s of processor time, its budget is {budgets[room]:g} s. The longest:",
                  ", ".join(f"{name} {time:.1f} s" for time, name in sorted(taken[room], reverse=True)[:5]))
            failed = failed or seconds > 2 * budgets[room]
    total = sum(test[0] for tests in taken.values() for test in tests)
    print(f"{total:.0f} s of processor time in {sum(map(len, taken.values()))} tests; the budgets are {sum(budgets.values()):g} s")
    return failed


def main():
    if sys.argv[1:2] == ["skip"] and sys.argv[2:] and sys.argv[2] in TIERS:
        skip(sys.argv[2])
    elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 3:
        sys.exit(compare(pathlib.Path(sys.argv[2])))
    else:
        sys.exit(__doc__)


main()
