"""Programs built against these headers go on working with the libraries of one SOVERSION: abi.py SOURCE BUILD SOVERSION [record]

Each struct's size and members' places, each enumerator's value and each exported function is kept in
fixtures/abi-SOVERSION. What is there already must not change; what is new is added with `record`. A struct that comes
with the caller's size of it (granary/sized.h) may grow: a new member begins where the struct ended, and the last one
fills it, for padding may be anything. The libraries export granary_* alone, the shared ones with the version of their SOVERSION.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

LIBRARIES = ["libgranary-store.so", "libgranary.so", "libgranary-worker.so"]


def enclosed(text, start):
    """Where the brace at start ends."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    sys.exit("a header has an open brace")


def members(body):
    """Names of a struct's members; those of structs and unions without a name count as the outer one's."""
    found = []
    body = re.sub(r"\b(?:struct|union|enum)\s*\{", "{", body)
    at = 0
    while at < len(body):
        brace, semicolon = body.find("{", at), body.find(";", at)
        if 0 <= brace < semicolon:
            end = enclosed(body, brace)
            name = body[end + 1:body.index(";", end)].strip()
            found += [name] if name else members(body[brace + 1:end])
            at = body.index(";", end) + 1
        elif semicolon >= 0:
            for part in body[at:semicolon].split(","):
                name = re.search(r"\(\*(\w+)\)|(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\d+)?$", part.strip())
                if name:
                    found.append(name.group(1) or name.group(2))
            at = semicolon + 1
        else:
            break
    return found


def program(source):
    """A C program that prints the size of each public struct, its members' places, and each enumerator."""
    headers = sorted((source / "include/granary").glob("*.h"))
    lines = ["#include <stddef.h>", "#include <stdio.h>"] + [f"#include <granary/{path.name}>" for path in headers] + ["int main(void) {"]
    for path in headers:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)
        for found in re.finditer(r"typedef (struct|enum)\s*\w*\s*(\{)", text):
            end = enclosed(text, found.start(2))
            name = text[end + 1:text.index(";", end)].strip()
            body = text[found.start(2) + 1:end]
            if found.group(1) == "struct":
                lines.append(f'printf("struct {name} %zu\\n", sizeof({name}));')
                found_members = members(body)
                last = found_members[-1]
                lines += [f'printf("place {name}.{m} %zu\\n", offsetof({name}, {m}));' for m in found_members]
                lines.append(f'printf("end {name} %zu\\n", offsetof({name}, {last}) + sizeof((({name} *)0)->{last}));')
            elif "#include" not in body:
                lines += [f'printf("value {v} %lld\\n", (long long){v});' for v in re.findall(r"^\s*(GRANARY_\w+)", body, re.M)]
    return "\n".join(lines + ["return 0;", "}"]) + "\n"


def layouts(source):
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "abi.c").write_text(program(source))
        subprocess.run(["cc", "-o", f"{work}/abi", f"{work}/abi.c", f"-I{source}/include"], check=True)
        return subprocess.run([f"{work}/abi"], check=True, capture_output=True, text=True).stdout.splitlines()


def symbols(path, *options):
    """(kind, name) of the global symbols that a library defines."""
    listing = subprocess.run(["nm", "-g", "--defined-only", *options, path], check=True, capture_output=True, text=True).stdout
    return [line.split()[1:] for line in listing.splitlines() if len(line.split()) == 3]


def functions(build, version):
    """What the libraries export; ends the program when one shows what it must not."""
    found = []
    for name in LIBRARIES:
        shared = [(kind, symbol) for kind, symbol in symbols(build / "lib" / name, "-D") if kind != "A"]
        for kind, symbol in shared:
            if not re.fullmatch(rf"granary_\w+@@GRANARY_{re.escape(version)}", symbol):
                sys.exit(f"{name} exports {symbol}")
        archive = symbols(build / "lib" / name.replace(".so", ".a"))
        for _, symbol in archive:
            if not symbol.startswith("granary_"):
                sys.exit(f"{name.replace('.so', '.a')} shows {symbol}")
        assert len(archive) == len(shared) > 50, f"{name}: {len(shared)} names, in the archive {len(archive)}"
        found += [f"function {name} {symbol.split('@')[0]}" for kind, symbol in shared if kind == "T"]
    return found


def sizes(lines):
    return {line.split()[1]: int(line.split()[2]) for line in lines if line.startswith("struct ")}


def grown(source, before, now):
    """The lines of before that need not be in now, because their struct has grown as it may; and structs that grew wrongly."""
    growing = set(re.findall(r"^ +first_(\w+) =", (source / "libclient/base/unsized.h").read_text(), re.M))
    excused, wrong = [], []
    old, new = sizes(before), sizes(now)
    ends = dict(line.split()[1:] for line in before if line.startswith("end "))
    for name in sorted(set(old) & set(new)):
        added = sorted(int(line.split()[2]) for line in set(now) - set(before) if line.startswith(f"place {name}."))
        if added and name in growing and added[0] == old[name] and f"end {name} {new[name]}" in now:
            excused += [f"struct {name} {old[name]}", f"end {name} {ends[name]}"]
        elif added:
            wrong.append(f"a member at {added[0]} of struct {name}, which ended at {old[name]}")
    return excused, wrong


def main():
    source, build, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    kept = source / "tests/upgrade/fixtures" / f"abi-{version}"
    now = layouts(source) + functions(build, version)
    assert len(now) > 400, f"only {len(now)} lines: the headers are not understood"
    if sys.argv[4:] == ["record"]:
        kept.write_text("\n".join(now) + "\n")
        return
    if not kept.exists():
        sys.exit(f"{kept.name} is missing: record it ({sys.argv[0]} SOURCE BUILD {version} record)")
    before = kept.read_text().splitlines()
    excused, wrong = grown(source, before, now)
    gone = sorted(set(before) - set(now) - set(excused)) + wrong
    new = sorted(set(now) - set(before))
    for line in gone:
        print(f"changed or gone: {line}. Programs built against {version} break: raise the minor version in CMakeLists.txt")
    for line in new:
        print(f"not recorded: {line}")
    print(f"{len(now)} places, values and functions; {len(gone)} changed, {len(new)} new")
    sys.exit(1 if gone or new else 0)


main()
