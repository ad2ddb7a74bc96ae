#!/usr/bin/python3
"""The arrows between rooms: docs/architecture.md tells the same as USES in the CMakeLists.txt, no room is named in vain,
and a library stands behind one room only. (That a room reaches no header of a room it does not name, the compiler sees.)
And folders: none has more than 25 files, but those that are named below.

    arrows.py SOURCE_DIRECTORY
"""
import os
import pathlib
import re
import sys

# What implements include/granary is used through that, by linking.
PUBLIC_API = {"channel", "client", "data", "inspect", "live", "mutable", "object", "sql"}
COMMANDS = {"cli/channel", "cli/prompt", "cli/instance", "cli/look", "cli/mutable", "cli/objects", "cli/scheduler", "cli/work"}  # main.c knows theirs by commands.def
GENERATED = {"schema"}  # granary.proto as C, made while building

# header -> the only files that may include it
BEHIND = {
    "zmq.h": r"libclient/wire/message/zmq\.c",
    "sqlite3.h": r"libclient/sqlite/database\.c|sched/state/state_sqlite\.c|tools/bench/mutable/engine_sqlite\.c",
    "lz4frame.h": r"libclient/client/read/read_lz4\.c|libclient/data/arrow/inflate\.c|libclient/data/text/\w+\.c",
    "lz4.h": r"libclient/client/read/read_lz4\.c|libclient/pack/pack\.c|tools/bench/bench_spill\.c|executor/kernel/parquet/(codec|pack)\.c",
    "snappy-c.h": r"executor/kernel/parquet/(codec|pack)\.c",
    "zstd.h": r"executor/kernel/parquet/(codec|pack)\.c|libclient/data/arrow/inflate\.c|libclient/data/file/parquet\.c|libclient/data/text/\w+\.c",
    "zlib.h": r"executor/kernel/parquet/(codec|pack)\.c|libclient/data/arrow/inflate\.c|libclient/data/text/\w+\.c",
    "bzlib.h": r"libclient/data/text/\w+\.c",
    "jansson.h": r"libclient/graph/json/json_\w+\.c",
    "seccomp.h": r"executor/confine/calls\.c",
    "microhttpd.h": r"tools/web/(server|streams)\.[ch]",
    "numa.h": r"libclient/topology/topology\.c",
    "cblas.h": r"executor/kernel/tensor/(?:linalg/)?\w+\.c",
    "lapacke.h": r"executor/kernel/tensor/(?:linalg/)?\w+\.c",
    "pg_query.h": r"libclient/sql/parse/parse\.c",
    "pg_query/pg_query.pb-c.h": r"libclient/sql/parse/private\.h",
}

FILES_MOST = 25  # in a folder
# Folders that are larger, for their files are found by name: pages, modules of one package, tests.
LARGE = {"docs", "libclient/python/granary", "libclient/python/granary/array", "tests/differ", "tests/python"}
NO_SOURCE = {"build", "corpus", "fixtures", ".git", "__pycache__", ".mypy_cache", "node_modules"}

source = pathlib.Path(sys.argv[1])
wrong = []


def rooms_of_cmake():
    """name -> (folder, USES)"""
    rooms = {}
    for path in source.rglob("CMakeLists.txt"):
        if path.relative_to(source).parts[0] in ("build", "tests"):
            continue
        for kind, name, words in re.findall(r"\b(granary_room|granary_program)\((\S+)\s+([^)]*)\)", path.read_text()):
            if kind == "granary_room" or name == "granary":
                uses = re.search(r"\bUSES\s+([\w/\s]*?)(?=\bLINKS\b|$)", words)
                rooms[name] = (path.parent, set(uses[1].split()) if uses else set())
    return rooms


def rooms_of_docs():
    """name -> stands on"""
    rows = re.findall(r"^\| `([\w/]+)` \| \S+ \| ([\w/, ]*)\|", (source / "docs/architecture.md").read_text(), re.M)
    return {name: set(uses.replace(",", " ").split()) for name, uses in rows}


def files_of(folder):
    """A folder below is part of the room, unless it has a CMakeLists.txt of its own."""
    for path in sorted(folder.iterdir()):
        if path.suffix in (".c", ".h"):
            yield path
        elif path.is_dir() and not (path / "CMakeLists.txt").exists():
            yield from files_of(path)


def room_of(include, rooms):
    """"store/index/file.h": the floor store/index if there is one, else the room store."""
    folder, _, header = include.rpartition("/")
    while folder and folder not in rooms and folder not in GENERATED and "/" in folder:
        folder, _, below = folder.rpartition("/")
        header = f"{below}/{header}"
    return folder, header


def included_rooms(path, rooms, seen):
    """Rooms whose headers a file includes, itself or through these headers."""
    found = set()
    for include in re.findall(r'^#include "([\w./-]+)"', path.read_text(), re.M):
        room, header = room_of(include, rooms)
        if room == "granary":  # the public headers, not the program
            continue
        if room in rooms or room in GENERATED:
            found.add(room)
        if room in rooms and (room, header) not in seen:
            seen.add((room, header))
            found |= included_rooms(rooms[room][0] / header, rooms, seen)
    return found


rooms = rooms_of_cmake()
docs = rooms_of_docs()
if len(rooms) < 10:
    wrong.append("no rooms were found")
for name, (folder, uses) in sorted(rooms.items()):
    if docs.get(name) != uses:
        wrong.append(f"{name}: USES {sorted(uses)}, but docs/architecture.md says {sorted(docs.get(name, ['nothing']))}")
    needed = set()
    for path in files_of(folder):
        needed |= included_rooms(path, rooms, set())
    own_floors = {use for use in uses if use.startswith(name + "/")}  # what a room puts together
    for vain in uses - needed - PUBLIC_API - own_floors - (COMMANDS if name == "granary" else set()):
        wrong.append(f"{name}: names {vain} in USES, but includes nothing of it")
for name in docs.keys() - rooms.keys() - GENERATED:
    wrong.append(f"docs/architecture.md has a room {name} that is not there")

for path in source.rglob("*.[ch]"):
    place = path.relative_to(source).as_posix()
    if not place.startswith(("build", "tests/")):
        for header in re.findall(r"^#include <([\w./-]+)>", path.read_text(), re.M):
            if header in BEHIND and not re.fullmatch(BEHIND[header], place):
                wrong.append(f"{place}: <{header}> is included in {BEHIND[header]} only")

for folder, below, files in os.walk(source):
    below[:] = [name for name in below if name not in NO_SOURCE]
    place = pathlib.Path(folder).relative_to(source).as_posix()
    if len(files) > FILES_MOST and place not in LARGE:
        wrong.append(f"{place}: {len(files)} files, at most {FILES_MOST}: make a folder of those that belong together")
    if len(files) <= FILES_MOST and place in LARGE:
        wrong.append(f"{place}: {len(files)} files: LARGE need not name it any more")

print("\n".join(wrong) or f"{len(rooms)} rooms, every arrow as drawn")
sys.exit(1 if wrong else 0)
