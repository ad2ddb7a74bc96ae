"""Every block of code in README.md, CONTRIBUTING.md, SECURITY.md and docs/ runs in a test, or has a reason why not.

    blocks.py SOURCE BUILD     run those of blocks.tsv that say `run`, in one instance; fail when a block has no row
    blocks.py --list SOURCE    print each block with its row

A row of blocks.tsv is PAGE, LANGUAGE, BEGINS, HOW, WHAT, with tabs. BEGINS is how the block begins, with \\n for a new line, or * for each
block of the page in that language. A row with BEGINS goes before one with *. HOW is one of these:

    test   the test WHAT runs it
    run    it runs here. WHAT is a file of frames/ in which it stands as @BLOCK@ (in C, as BLOCK;), or - for none. A line of just ... is
           @STEP@. In a console block, what follows a command is its output, as tour.py compares it
    never  WHAT is the reason

setup.sh makes the files and tables that the blocks name.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration/cli"))
from tour import matches, on_disk  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OPTIONAL = "dask_"  # tests that are there only where Dask is
FENCE = re.compile(r"^ *```(\w*)$")


def pages(source):
    return [source / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted((source / "docs").glob("*.md"))


def blocks(source):
    """(page, line, language, text) of every fenced block."""
    for path in pages(source):
        begun = None
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            fence = FENCE.match(line)
            if fence and begun is None:
                begun = (number + 1, fence[1] or "text", [])
            elif line.strip() == "```":
                yield str(path.relative_to(source)), begun[0], begun[1], "\n".join(begun[2]) + "\n"
                begun = None
            elif begun is not None:
                begun[2].append(line)
        if begun is not None:
            sys.exit(f"{path.name}:{begun[0]}: the block has no end")


def rows():
    lines = (HERE / "blocks.tsv").read_text(encoding="utf-8").splitlines()
    found = [line.replace("\\n", "\n").split("\t") for line in lines if line and not line.startswith("#")]
    for row in found:
        if len(row) != 5 or row[3] not in ("test", "run", "never") or not row[4]:
            sys.exit(f"blocks.tsv: a row is PAGE, LANGUAGE, BEGINS, HOW, WHAT: {row}")
    return found


def assign(source):
    """Each block with its row, and what is wrong: blocks without a row, and rows without a block."""
    table, used, wrong, found = rows(), set(), [], []
    for page, line, language, text in blocks(source):
        row = next((row for row in table if row[:2] == [page, language] and (row[2] == "*" or text.startswith(row[2]))), None)
        if row is None:
            wrong.append(f"{page}:{line}: no row of tests/docs/blocks.tsv has this {language} block: run it, or say why not")
        else:
            used.add(id(row))
            found.append((page, line, language, text, row))
    wrong += [f"blocks.tsv: no block is of this row: {row}" for row in table if id(row) not in used]
    return found, wrong


def tests(build):
    """Names of all tests."""
    told = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True).stdout)
    return {test["name"] for test in told["tests"]}


def framed(text, frame):
    """A block within its frame: the includes of a C block go to the top, for its frame is in a function."""
    outer = (HERE / "frames" / frame).read_text(encoding="utf-8")
    text = re.sub(r"^ *\.\.\.$", "@STEP@", text, flags=re.M)
    step = re.search(r"^// @STEP@ (.*)$", outer, re.M)
    if frame.endswith(".c"):
        includes = "".join(re.findall(r"^#include.*\n", text, re.M))
        text = re.sub(r"^#include.*\n", "", text, flags=re.M)
        outer = includes + outer
    return outer.replace("BLOCK;" if frame.endswith(".c") else "@BLOCK@", text).replace("@STEP@", step[1] if step else "@STEP@")


class Runner:
    """One directory and one instance for all blocks."""

    def __init__(self, source, build):
        self.source, self.build = source, build
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="granary-docs-"))
        self.env = dict(os.environ, PATH=f"{self.work}/bin:{build}/bin:{os.environ['PATH']}", GRANARY_INSTANCE=str(self.work / "i"),
                        NO_COLOR="1", PYTHONPATH=f"{build}/python", SOURCE=str(source), BUILD=str(build), LD_LIBRARY_PATH=f"{build}/lib")

    def call(self, command, text=""):
        done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.work, env=self.env,
                              timeout=60)
        return done.returncode, done.stdout

    def shell(self, text):
        return self.call(["bash", "-euo", "pipefail", "-c", text])

    def sql(self, text):
        return self.call(["granary", "sql"], text)

    def json(self, text):
        (self.work / "graph.json").write_text(text)
        return self.call(["granary", "run", "--discard", "graph.json"])

    def python(self, text):
        return self.call(["/usr/bin/python3", "-B", "-c", text])

    def c(self, text):
        (self.work / "block.c").write_text("#undef NDEBUG\n#include <assert.h>\n#include <stdlib.h>\n#include <string.h>\n" + text)
        status, told = self.call(["cc", "-Wall", "-Werror", "-Wno-unused-function", f"-I{self.source}/include", "-o", "block", "block.c",
                                  f"-L{self.build}/lib", "-lgranary"])
        return (status, told) if status else self.call(["./block"])

    def console(self, text):
        for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            _, got = self.call(["bash", "-uo", "pipefail", "-c", command])
            if not matches(expected.splitlines(), got):
                return 1, f"$ {command}\n{got}"
        return 0, ""

    def run(self, language, text, frame):
        if frame != "-":
            text = framed(text, frame)
            language = {".sh": "sh", ".py": "python"}.get(pathlib.Path(frame).suffix, language)
        return getattr(self, {"sh": "shell", "text": "shell"}.get(language, language))(text)

    def end(self):
        disks = on_disk(self.env["GRANARY_INSTANCE"])
        self.call(["granary", "down"])
        for directory in [*disks, self.work]:
            shutil.rmtree(directory, ignore_errors=True)


def main():
    if sys.argv[1] == "--list":
        for page, line, language, _, row in assign(pathlib.Path(sys.argv[2]).resolve())[0]:
            print(f"{page}:{line}", language, *row[3:], sep="\t")
        return
    source, build = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    found, wrong = assign(source)
    named = {name for *_, row in found for name in ([row[4]] if row[3] == "test" else re.findall(r"the test (\w+)", row[4]))}
    wrong += [f"blocks.tsv: there is no test {name}" for name in sorted(named - tests(build)) if not name.startswith(OPTIONAL)]
    runner, ran = Runner(source, build), 0
    try:
        status, told = runner.shell((HERE / "setup.sh").read_text())
        if status:
            sys.exit(f"setup.sh: status {status}\n{told}")
        for page, line, language, text, row in found:
            if row[3] == "run":
                ran += 1
                status, told = runner.run(language, text, row[4])
                if status:
                    wrong.append(f"{page}:{line}: status {status}\n{text}{told}")
    finally:
        runner.end()
    print("\n".join(wrong))
    print(f"{len(found)} blocks: {ran} ran here, {sum(row[3] == 'test' for *_, row in found)} in other tests, "
          f"{sum(row[3] == 'never' for *_, row in found)} never; {len(wrong)} are wrong")
    sys.exit(1 if wrong or ran < 20 else 0)


if __name__ == "__main__":
    main()
