#!/usr/bin/python3
"""A run that is killed, interrupted or terminated leaves no process and no file behind."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

DIFFER = pathlib.Path(__file__).parent / 'differ.py'


def check(number):
    with tempfile.TemporaryDirectory(prefix='granary-test-') as directory:
        os.chmod(directory, 0o711)  # PostgreSQL's user has a directory in it
        run = subprocess.Popen([sys.executable, str(DIFFER), '--part', 'sql_cases', '--minutes', '5', '--findings', os.path.join(directory, 'findings')],
                               stdout=subprocess.PIPE, text=True, env={**os.environ, 'TMPDIR': directory})
        begun = run.stdout.readline()
        assert begun.startswith('asking'), begun
        run.send_signal(number)
        run.stdout.read()  # its end is that of all who had it: of the caretaker, too
        run.wait()
        assert os.listdir(directory) == [], (number, os.listdir(directory))
        named = [p for p in pathlib.Path('/proc').glob('[0-9]*/environ') if directory.encode() in environment(p)]
        assert named == [], (number, named)


def environment(path):
    try:
        return path.read_bytes()
    except OSError:
        return b''


for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
    check(number)
