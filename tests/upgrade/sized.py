"""Structs may grow: a program that was compiled with smaller or larger ones works with these libraries.

    sized.py SOURCE BUILD

Takes the last member from every struct that may grow (granary/sized.h), in a copy of the headers; adds three to each in
another copy; compiles sized.c with each of them, and runs that on an instance of its own.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def structs_of(source):
    """The structs with a first size."""
    return re.findall(r"^ +first_(\w+) =", (source / "libclient/base/unsized.h").read_text(), re.M)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def smaller(body):
    """The body of a struct without its last member, of which there are several."""
    last = body.rstrip().rstrip(";").rindex(";")
    return body[:last + 1] + "\n"


def larger(body):
    return body + "    uint64_t grown[3];\n"


def headers(source, folder, structs, change):
    """A copy of the public headers with each struct changed."""
    changed = 0
    (folder / "granary").mkdir(parents=True)
    for path in sorted((source / "include/granary").glob("*.h")):
        text = without_comments(path.read_text())
        for name in structs:
            begin = text.find(f"typedef struct {name} {{")
            if begin < 0:
                continue
            begin = text.index("{", begin) + 1
            end = text.index(f"\n}} {name};", begin) + 1
            text = text[:begin] + change(text[begin:end]) + text[end:]
            changed += 1
        (folder / "granary" / path.name).write_text(text)
    assert changed == len(structs), f"{changed} structs of {len(structs)} found"
    return folder


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    structs = structs_of(source)
    assert len(structs) > 25
    with tempfile.TemporaryDirectory(prefix="granary-test-") as work:
        work = pathlib.Path(work)
        includes = {"as they are": (source / "include", []),
                    "smaller": (headers(source, work / "smaller", structs, smaller), []),
                    "larger": (headers(source, work / "larger", structs, larger), ["-DGROWN"])}
        environment = dict(os.environ, GRANARY_INSTANCE=str(work / "instance"), LD_LIBRARY_PATH=str(build / "lib"))
        environment.pop("GRANARY_SESSION", None)
        said = {}
        for name, (include, options) in includes.items():
            subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror", *options, f"-I{include}", "-o", work / "client",
                            source / "tests/upgrade/sized.c", f"-L{build}/lib", "-lgranary-worker", "-lgranary-store"], check=True)
            subprocess.run([build / "bin/granary", "up", "--executors", "1", "--memory", "32M"], check=True, env=environment,
                           stdout=subprocess.DEVNULL)
            try:
                done = subprocess.run([work / "client"], env=environment, capture_output=True, text=True)
            finally:
                subprocess.run([build / "bin/granary", "down"], env=environment, stdout=subprocess.DEVNULL)
            said[name] = done.stdout
            if done.returncode != 0:
                sys.exit(f"structs {name}: {done.stdout}{done.stderr}status {done.returncode}")
        for name, text in said.items():
            if text != said["as they are"]:
                sys.exit(f"structs {name}:\n{text}\ninstead of:\n{said['as they are']}")
    print(f"{len(structs)} structs; with smaller and with larger ones, all calls gave the same")


main()
