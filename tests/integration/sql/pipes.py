#!/usr/bin/python3
"""Pipes as sources and as targets: stdin in every format, FIFOs by their paths, rows to stdout, and what can go wrong.

    pipes.py BIN_DIRECTORY
"""
import bz2
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()
TEXT = b'n,s\n' + b''.join(b'%d,text %d\n' % (n, n % 7) for n in range(20000))
WANT = {'k': 20000, 't': 20000 * 19999 // 2}
QUERY = "select count(*) as k, sum(n) as t from '-'"


class Pipes(CommandLine):
    def ready(self):
        self.spool = os.path.join(self.base, 'spool')
        os.mkdir(self.spool)
        self.environment['TMPDIR'] = self.spool

    def feed(self, data, *arguments, **options):
        """A command with bytes on its stdin."""
        return subprocess.run([self.granary, *arguments], env=self.environment, cwd=self.base, input=data, capture_output=True, **options)

    def rows(self, data, text):
        ended = self.feed(data, 'sql', '--json', text)
        assert ended.returncode == 0, ended.stderr.decode()
        return json.loads(ended.stdout)

    def refuse(self, words, data, *arguments):
        ended = self.feed(data, *arguments)
        assert ended.returncode not in (0, 1) and words in ended.stderr.decode(), (arguments, words, ended)
        assert '/proc/' not in ended.stderr.decode(), ended.stderr  # files are named as they were
        assert os.listdir(self.spool) == []


def stream_of(file):
    """An Arrow file's messages, which are a stream: without its magic and its footer."""
    footer = int.from_bytes(file[-10:-6], 'little')
    return file[8:-10 - footer]


def check_sources(pipes):
    for data in (TEXT, gzip.compress(TEXT), bz2.compress(TEXT), TEXT.replace(b',', b'\t'), '\ufeff'.encode() + TEXT, TEXT.decode().encode('utf-16')):
        assert pipes.rows(data, QUERY) == [WANT], data[:10]
    lines = b''.join(b'{"n": %d}\n' % n for n in range(20000))
    for data in (lines, gzip.compress(lines), b'[' + lines.replace(b'\n', b',\n')[:-2] + b']'):
        assert pipes.rows(data, QUERY) == [WANT]
    pipes.must('sql', 'create table made (n bigint, s varchar)')
    for name in ('parquet', 'arrow', 'csv.zst', 'ndjson'):
        ended = pipes.feed(TEXT, 'sql', '--format', name, "select * from '-'")
        assert ended.returncode == 0, ended.stderr
        assert pipes.rows(ended.stdout, QUERY) == [WANT], name
        if name == 'arrow':
            stream = stream_of(ended.stdout)
    assert pipes.rows(stream, QUERY) == [WANT]
    assert pipes.rows(stream[:-8], QUERY) == [WANT]  # an end that is not said
    assert pipes.rows(stream, "select count(distinct s) as k from read_arrow('/dev/stdin')") == [{'k': 7}]
    # Options, other names of it, and two uses of what can be read once.
    assert pipes.rows(b'1;x\n2;y\n', "select c0 from read_csv('/dev/stdin', delim => ';', header => false)") == [{'c0': 1}, {'c0': 2}]
    assert pipes.rows(b'a\n1\n', "select s.a, t.a as b from '-' s, '/dev/fd/0' t") == [{'a': 1, 'b': 1}]
    assert pipes.rows(b'a\n1\n', 'select stdin.a from \'-\'') == [{'a': 1}]
    # A file, from where the shell has left it.
    path = os.path.join(pipes.base, 'file.csv')
    with open(path, 'wb') as file:
        file.write(TEXT)
    with open(path, 'rb') as file:
        assert json.loads(subprocess.run([pipes.granary, 'sql', '--json', QUERY], env=pipes.environment, stdin=file, stdout=subprocess.PIPE).stdout) == [WANT]
    with open(path, 'rb', buffering=0) as file:
        file.read(4 + 2 * 9)
        told = subprocess.run([pipes.granary, 'sql', '--json', "select count(*) as k from read_csv('-', header => false)"], env=pipes.environment,
                              stdin=file, stdout=subprocess.PIPE).stdout
        assert 19990 < json.loads(told)[0]['k'] < 20000, told
    # Graphs, tables, and statements that change them.
    graph = {'nodes': {'a': {'op': 'read_csv', 'path': '-'}, 's': {'op': 'sort', 'input': 'a', 'by': ['n'], 'descending': [True]}}, 'targets': ['s']}
    with open(os.path.join(pipes.base, 'g.json'), 'w', encoding='utf-8') as file:
        json.dump(graph, file)
    assert pipes.feed(b'n\n1\n3\n2\n', 'run', '--discard', '--csv', 'g.json').stdout == b'n\n3\n2\n1\n'
    assert pipes.feed(TEXT, 'load', 'loaded', '-').returncode == 0
    assert pipes.rows(b'', 'select count(*) as k, sum(n) as t from loaded') == [WANT]
    assert pipes.feed(TEXT, 'sql', "copy made from '/dev/stdin' (format csv)").returncode == 0
    assert pipes.rows(b'', 'select count(*) as k, sum(n) as t from made') == [WANT]


def check_fifos(pipes):
    path = os.path.join(pipes.base, 'fifo.csv')
    os.mkfifo(path)

    def write():
        with open(path, 'wb') as file:
            file.write(TEXT)

    for text in ("select count(*) as k, sum(n) as t from 'fifo.csv'", "select count(*) as k, sum(n) as t from read_csv('./fifo.csv')"):
        writer = threading.Thread(target=write)
        writer.start()
        assert pipes.rows(b'', text) == [WANT]
        writer.join()
    got = []

    def read():
        with open(path, 'rb') as file:
            got.append(file.read())

    reader = threading.Thread(target=read)
    reader.start()
    pipes.must('sql', '-o', 'fifo.csv', 'select n, s from loaded where n < 3')
    reader.join()
    assert got == [b'n,s\n0,text 0\n1,text 1\n2,text 2\n'] and pathlib.Path(path).is_fifo()
    assert pipes.feed(b'', 'sql', '-o', '-', 'select n from loaded where n < 2').stdout == b'n\n0\n1\n'
    assert pipes.feed(b'', 'sql', '-o', '/dev/stdout', '--format', 'ndjson', 'select n from loaded where n < 2').stdout == b'{"n":0}\n{"n":1}\n'
    pipes.refuse('is there, and is no regular file', b'', 'sql', "copy loaded to 'fifo.csv'")
    # Whoever reads may go before the end.
    ended = subprocess.run(f"'{pipes.granary}' sql --format csv 'select * from loaded' | head -1", shell=True, env=pipes.environment, capture_output=True)
    assert ended.stdout == b'n,s\n' and ended.stderr == b'', ended


def check_errors(pipes):
    pipes.refuse('stdin: nothing came', b'', 'sql', QUERY)
    pipes.refuse('stdin: nothing came', b'', 'load', 'x', '-')
    pipes.refuse('stdin: nothing came', b"select * from '-'", 'sql', '-')  # the statement was all there was
    pipes.refuse('stdin:12: record has 1 field', b'n,b\n' + b'1,2\n' * 10 + b'3\n', 'sql', QUERY)
    pipes.refuse("no column 'n'; the only one is 'n,b'", b'n,b\n1,2\n3\n', 'sql', QUERY)  # lines that nothing divides
    # Writers that die in the midst.
    arrow = pipes.feed(TEXT, 'sql', '--format', 'arrow', "select * from '-'").stdout
    stream = stream_of(arrow)
    for cut in (4, 9, 100, len(stream) // 2, len(stream) - 12):
        pipes.refuse('midst of a message' if cut > 7 else 'stdin', stream[:cut], 'sql', "select n from read_arrow('-')")
    pipes.refuse('no message begins there', stream[:-8] + b'not a message at all', 'sql', "select n from read_arrow('-')")
    pipes.refuse('a message that is none', b'\xff\xff\xff\xff\x08\0\0\0' + bytes(8), 'sql', "select n from read_arrow('-')")
    pipes.refuse('stdin: ', gzip.compress(TEXT)[:-20], 'sql', QUERY)
    parquet = pipes.feed(TEXT, 'sql', '--format', 'parquet', "select * from '-'").stdout
    pipes.refuse('is no Parquet file, or not complete', parquet[:-30], 'sql', QUERY)
    pipes.refuse("3: the quotes that begin here do not end", b'n,s\n1,x\n2,"y\n', 'sql', QUERY)
    # No room, no folder.
    broken = dict(pipes.environment, TMPDIR='/no/such/folder')
    ended = subprocess.run([pipes.granary, 'sql', QUERY], env=broken, input=TEXT, capture_output=True)
    assert ended.returncode != 0 and b'/no/such/folder' in ended.stderr and b'$TMPDIR' in ended.stderr, ended
    limited = f"trap '' XFSZ; ulimit -f 64; exec '{pipes.granary}' sql \"{QUERY}\""
    ended = subprocess.run(['bash', '-c', limited], env=pipes.environment, input=TEXT, capture_output=True)
    assert ended.returncode != 0 and b'stdin, kept in ' in ended.stderr and b'File too large' in ended.stderr, ended
    # A terminal is none.
    leader, follower = os.openpty()
    ended = subprocess.run([pipes.granary, 'sql', QUERY], env=pipes.environment, stdin=follower, capture_output=True)
    assert ended.returncode != 0 and b'is a terminal' in ended.stderr, ended
    ended = subprocess.run([pipes.granary, 'sql', '--format', 'arrow', 'select * from loaded'], env=pipes.environment, stdout=follower, stderr=subprocess.PIPE)
    assert ended.returncode != 0 and b'stdout is a terminal' in ended.stderr, ended
    os.close(leader)
    os.close(follower)
    # Nor is a device, which has no end.
    pipes.refuse('/dev/zero: is a device', b'', 'sql', "select * from '/dev/zero'")
    pipes.refuse('/dev/urandom: is a device', b'', 'load', 'x', '/dev/urandom')
    with open('/dev/zero', 'rb') as zero:
        ended = subprocess.run([pipes.granary, 'sql', "select * from read_csv('-')"], env=pipes.environment, stdin=zero, capture_output=True)
    assert ended.returncode != 0 and b'stdin: is a device' in ended.stderr, ended
    pipes.refuse('/dev/null: nothing came', b'', 'sql', "select * from '/dev/null'")
    pipes.refuse('the ending tells the format', b'', 'sql', '--format', 'docx', 'select 1')
    pipes.refuse('name one of them', b'', 'sql', '--format', 'csv', '--csv', 'select 1')


def check_endless(pipes):
    """A pipe without an end leaves a part of the disk to others; one that fits is read on a disk that is nearly full."""
    script = '''mount -t tmpfs -o size=48m none "$1" || exit 77
export TMPDIR=$1
yes | "$2" sql "select * from read_csv('-')" 2>"$1/said"; [ $? = 5 ] || { cat "$1/said"; exit 1; }
grep -q "stdin, kept in $1: it does not end, .* 4.8 MiB are left to others" "$1/said" || { cat "$1/said"; exit 2; }
yes | "$2" table append endless - 2>"$1/said"; [ $? = 5 ] || { cat "$1/said"; exit 3; }
head -c 46M /dev/zero >"$1/filler"
seq 1000 | "$2" sql "select count(*) as n from '-'" >"$1/said" || exit 4
grep -q 1000 "$1/said" || exit 5'''
    pipes.must('sql', 'CREATE TABLE endless (n text)')
    folder = os.path.join(pipes.base, 'small')
    os.mkdir(folder)
    ended = subprocess.run(['unshare', '-rm', 'sh', '-c', script, 'sh', folder, pipes.granary], env=pipes.environment, capture_output=True)
    assert ended.returncode in (0, 77) or b'unshare:' in ended.stderr, ended


def check_killed(pipes):
    """What was read is gone with the command, however that ends; a read that waits can be interrupted."""
    for number in (signal.SIGKILL, signal.SIGINT):
        with subprocess.Popen([pipes.granary, 'sql', QUERY], env=pipes.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            process.stdin.write(TEXT)
            process.stdin.flush()
            deadline = time.monotonic() + 30
            while not any(pipes.spool in link for link in links(process.pid)):
                assert time.monotonic() < deadline and process.poll() is None
                time.sleep(0.01)
            assert os.listdir(pipes.spool) == []  # it has no name while it is there
            process.send_signal(number)
            assert process.wait() != 0
    assert os.listdir(pipes.spool) == []


def links(pid):
    found = []
    for number in os.listdir(f'/proc/{pid}/fd'):
        try:
            found.append(os.readlink(f'/proc/{pid}/fd/{number}'))
        except FileNotFoundError:
            pass
    return found


def check_private():
    """Without an instance that is up: the private one's processes read what we have."""
    with tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if name != 'GRANARY_INSTANCE'} | {'XDG_RUNTIME_DIR': home, 'TMPDIR': home}
        ended = subprocess.run([binaries / 'granary', 'sql', '--json', QUERY], env=environment, input=TEXT, capture_output=True)
        assert json.loads(ended.stdout) == [WANT], ended


with Pipes(binaries) as pipes:
    check_sources(pipes)
    check_fifos(pipes)
    check_errors(pipes)
    check_endless(pipes)
    check_killed(pipes)
check_private()
