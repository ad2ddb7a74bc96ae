"""Programs built against these headers go on working with the libraries of one SOVERSION: abi.py SOURCE BUILD SOVERSION [record]

Public structs lie in the caller's memory: the library would overrun the one of a program that was built when it was
smaller. So each struct's size and members' places, each enumerator's value and each exported function is kept in
fixtures/abi-SOVERSION. What is there already must not change; what is new is added with `record`.
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
                lines += [f'printf("place {name}.{m} %zu\\n", offsetof({name}, {m}));' for m in members(body)]
            elif "#include" not in body:
                lines += [f'printf("value {v} %lld\\n", (long long){v});' for v in re.findall(r"^\s*(GRANARY_\w+)", body, re.M)]
    return "\n".join(lines + ["return 0;", "}"]) + "\n"


def layouts(source):
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "abi.c").write_text(program(source))
        subprocess.run(["cc", "-o", f"{work}/abi", f"{work}/abi.c", f"-I{source}/include"], check=True)
        return subprocess.run([f"{work}/abi"], check=True, capture_output=True, text=True).stdout.splitlines()


def functions(build):
    found = []
    for name in LIBRARIES:
        symbols = subprocess.run(["nm", "-D", "--defined-only", build / "lib" / name], check=True, capture_output=True, text=True).stdout
        found += [f"function {name} {line.split()[2].split('@')[0]}" for line in symbols.splitlines() if line.split()[1] == "T"]
    return found


def main():
    source, build, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    kept = source / "tests/upgrade/fixtures" / f"abi-{version}"
    now = layouts(source) + functions(build)
    assert len(now) > 400, f"only {len(now)} lines: the headers are not understood"
    if sys.argv[4:] == ["record"]:
        kept.write_text("\n".join(now) + "\n")
        return
    if not kept.exists():
        sys.exit(f"{kept.name} is missing: record it ({sys.argv[0]} SOURCE BUILD {version} record)")
    before = kept.read_text().splitlines()
    gone = sorted(set(before) - set(now))
    new = sorted(set(now) - set(before))
    for line in gone:
        print(f"changed or gone: {line}. Programs built against {version} break: raise the minor version in CMakeLists.txt")
    for line in new:
        print(f"not recorded: {line}")
    print(f"{len(now)} places, values and functions; {len(gone)} changed, {len(new)} new")
    sys.exit(1 if gone or new else 0)


main()
