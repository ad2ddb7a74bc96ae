"""Every global function and table of the product is used by another file: symbols.py BUILD_DIRECTORY.

What only its own file uses is static, and what nobody uses goes. What only tests use is listed here with the reason why it is
global all the same. Reads the object files of a build with nm.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

# name: why no other file of the product uses it
KEPT = {
    "level_memory": "the memory level's row of the table of levels; the store does memory's work itself",
    "minimise_places": "the algorithm apart from schedules, for its own test",
    "gr_tzone_free": "as gr_tzone_parse",
    "gr_tzone_parse": "the parser apart from files, for its own tests",
    "peer_stream_look": "the parser apart from sockets, for its own test",
    "topology_parse": "text instead of a file, for its own test",
    "store_turn": "tests of the store turn it themselves",
    "store_die": "tests let a store die without a process",
    "gr_config_parse": "the parser apart from files, for its fuzz target",
    "gr_simd_limit": "tests run all instruction sets that the machine has",
    "gr_region_absorb": "the plan's test world joins the batches of a plan",
    "gr_schema_nearest": "the name apart from the message, for its own test",
    "gr_join_how_name": "tests name joins as graphs do",
}
# Made by other programs, or for them.
GENERATED = re.compile(r"^(granary_|main$|granary__|tpch_q|bench_peer_|bench_questions$|command_|view_make_|PyInit_)")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PRELOAD = "torture/preload"  # stands before libc's functions, which others call by name


def globals_of(files):
    """({name: file that defines it}, names that are used from elsewhere)"""
    defined, used = {}, set()
    for first in range(0, len(files), 200):
        listing = subprocess.run(["nm", "-A", "-g", *files[first:first + 200]], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            path, rest = line.split(".o:", 1)
            fields = rest.split()
            if fields[0] == "U":
                used.add(fields[1])
            elif len(fields) == 3 and fields[1] in "TDBRV":
                defined.setdefault(fields[2], path)
    return defined, used


def rows_of_tables():
    """Whether a table's row makes a global of that name: whichever file has it, others declare it."""
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".h", ".def") and path.relative_to(SOURCE).parts[0] not in ("build", "tests")]
    words, prefixes = set(), set()
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".def":
            words.update(re.findall(r"\w+", text))
        else:
            prefixes.update(re.findall(r"^#define .*\b([a-z]\w*_)##", text, re.M))
    return lambda name: any(name.startswith(prefix) and name[len(prefix):] in words for prefix in prefixes)


def main():
    build = sys.argv[1]
    is_row = rows_of_tables()
    product, tests = [], []
    # What the build makes now: a directory may have object files of sources that are gone.
    for command in json.load(open(os.path.join(build, "compile_commands.json"), encoding="utf-8")):
        path = re.search(r" -o (\S+\.o) ", command["command"]).group(1)
        (tests if path.startswith("tests/") else product).append(os.path.join(build, path))
    defined, used = globals_of(product)
    _, used_by_tests = globals_of(tests)
    assert len(defined) > 1000, f"only {len(defined)} globals in {build}: is it a build?"
    wrong = 0
    for name in sorted(defined):
        if name in used or GENERATED.match(name) or is_row(name) or PRELOAD in defined[name]:
            continue
        place = re.sub(r"CMakeFiles/[^/]*/", "", os.path.relpath(defined[name], build))
        if name in used_by_tests:
            if name not in KEPT:
                wrong += 1
                print(f"{place}: only tests use {name}: delete it, or give the reason in symbols.py")
        else:
            wrong += 1
            print(f"{place}: no other file uses {name}: make it static, or delete it")
    for name in sorted(KEPT):
        if name not in defined or name in used:
            wrong += 1
            print(f"symbols.py: {name} needs no exception any more")
    print(f"{len(defined)} globals, {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
