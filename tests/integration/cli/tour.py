"""Run the commands of a page's console blocks (README.md, docs/tutorial.md) and compare what they print.

Lines that begin with "$ " are commands (one ending in a backslash goes on in the next line); what follows is their output, stdout and
stderr together. "..." in an expected line stands for anything, a line of just "..." for any lines. All blocks share one shell, to which an undefined variable is an error.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

MARK = "@@tour-end@@"


def blocks(path):
    """(line number, command, expected lines) of every command."""
    found, inside, number = [], False, 0
    command = None
    for line in open(path, encoding="utf-8"):
        number += 1
        line = line.rstrip("\n")
        if line.startswith("```"):
            inside = line == "```console"
            continue
        if not inside:
            continue
        if command is not None and command[1].endswith("\\"):
            command[1] = command[1] + "\n" + line
        elif line.startswith("$ "):
            command = [number, line[2:], []]
            found.append(command)
        else:
            command[2].append(line)
    return found


def matches(expected, got):
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append("(?:.*\n)*?")
        else:
            parts.append(".*?".join(re.escape(p) for p in line.rstrip().split("...")) + r"[ \t]*\n")
    return re.fullmatch("".join(parts), got) is not None


def on_disk(instance):
    """Where an instance that is up keeps what is to outlive it; none when it is not up."""
    try:
        with open(os.path.join(instance, "instance.json"), encoding="utf-8") as file:
            tag = json.load(file)["shm_prefix"].strip(".").rsplit(".", 1)[1]
    except OSError:
        return set()
    return {f"/var/tmp/granary-{os.getuid()}-{tag}"}


def main():
    page, source, programs = sys.argv[1:4]
    name = os.path.basename(page)
    work = tempfile.mkdtemp(prefix="granary-tour-")
    env = dict(os.environ, PATH=programs + os.pathsep + os.environ["PATH"], GRANARY_INSTANCE=os.path.join(work, "i"),
               NO_COLOR="1")
    shell = subprocess.Popen(["bash", "-u"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             cwd=source, env=env)
    failures = 0
    disks = set()
    commands = blocks(page)
    for number, command, expected in commands:
        shell.stdin.write(f"{{ {command}\n}} </dev/null\necho '{MARK}'\n")
        shell.stdin.flush()
        got = ""
        while True:
            line = shell.stdout.readline()
            if line == "":
                sys.exit(f"{name}:{number}: the shell ended at: {command}\n{got}")
            if line.endswith(MARK + "\n"):
                got += line[: -len(MARK) - 1]
                break
            got += line
        disks |= on_disk(env["GRANARY_INSTANCE"])
        if got and not got.endswith("\n"):
            got += "\n"
        if not matches(expected, got):
            failures += 1
            print(f"{name}:{number}: {command}\n--- expected\n" + "\n".join(expected) + f"\n--- got\n{got}")
    shell.stdin.close()
    shell.wait()
    subprocess.run(["granary", "down"], env=env, capture_output=True)
    for directory in disks | {work}:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{len(commands)} commands of {name}, {failures} differ")
    sys.exit(1 if failures or len(commands) < 5 else 0)


if __name__ == "__main__":
    main()
