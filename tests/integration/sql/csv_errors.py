#!/usr/bin/python3
"""Records of CSV files that do not fit: left out, listed, and written aside, however a file is cut and whoever is killed.

    csv_errors.py BIN_DIRECTORY
"""
import csv
import gzip
import json
import os
import pathlib
import random
import signal
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()
SKIP, LIST = "errors => 'skip'", "errors => 'list'"


class Files(CommandLine):
    def rows(self, text):
        return json.loads(self.must('sql', '--json', text))

    def write(self, name, data):
        path = os.path.join(self.base, name)
        with open(path, 'wb') as file:
            file.write(data)
        return path

    def refuse(self, *words, call):
        ended = self.call(*call)
        assert ended.returncode != 0, f'{call}: it was done'
        missing = [word for word in words if word not in ended.stderr]
        assert not missing, f'{call}: no {missing} in: {ended.stderr}'


def made(rng, count, delimiter=b','):
    """A file of which we know what fits: its bytes, rows and list."""
    lines, rows, bad = [b'n,x,d,s\n'], [], []
    line = 2
    for n in range(count):
        kind = rng.randrange(40)
        text = [b'%d' % n, b'%d.25' % (n % 9), b'2020-01-%02d' % (1 + n % 28), b'text %d' % (n % 5)]
        reason = column = None
        if kind == 0:
            text[1], column = b'x%d' % n, 'x'
            reason = f"'x{n}' is not float64"
        elif kind == 1:
            text[2], column = b'2020-02-31', 'd'
            reason = "'2020-02-31' is not date"
        elif kind == 2:
            text.append(b'5')
            reason = '5 fields, expected 4'
        elif kind == 3:
            text = text[:2]
            reason = '2 fields, expected 4'
        elif kind == 4:
            text[3] = b'\xe4'
            reason = 'not UTF-8'
        elif kind == 5:
            text[3] = b'"a ""b""\n, c"'
        elif kind == 6:
            text.append(b'')  # a delimiter behind the record
        elif kind == 7:
            text[1] = b''
        whole = b','.join(text)
        if reason is None:
            rows.append({'n': n, 'x': None if kind == 7 else n % 9 + 0.25, 'd': text[2].decode(), 's': 'a "b"\n, c' if kind == 5 else text[3].decode()})
        else:
            bad.append({'line': line, 'column_name': column, 'reason': reason, 'text': whole.decode(errors='replace')})
        lines.append(whole + rng.choice([b'\n', b'\n', b'\n', b'\r\n']))
        line += 1 + whole.count(b'\n')
    return b''.join(lines), rows, bad


def check_random(files):
    for seed, count in enumerate([1, 7, 300, 60000]):
        data, rows, bad = made(random.Random(seed), count)
        if count < 50:  # few values: nine of ten may not be alike
            data = data.replace(b'n,x,d,s\n', b'n,x,d,s\n' + b'0,0.25,2020-01-01,t\n' * 90)
            rows = [{'n': 0, 'x': 0.25, 'd': '2020-01-01', 's': 't'}] * 90 + rows
            bad = [{**row, 'line': row['line'] + 90} for row in bad]
        for name, content in (('r.csv', data), ('r.csv.gz', gzip.compress(data, 1))):
            files.write(name, content)
            assert files.rows(f"select * from read_csv('{name}', {SKIP})") == rows, (seed, name)
            listed = files.rows(f"select line, column_name, reason, text from read_csv('{name}', {LIST})")
            assert listed == bad, (seed, name, [pair for pair in zip(listed, bad) if pair[0] != pair[1]][:1])
            # Which records fit does not depend on what of them is read.
            assert files.rows(f"select count(*) as k from read_csv('{name}', {SKIP})") == [{'k': len(rows)}]
            assert files.rows(f"select sum(n) as k from read_csv('{name}', ignore_errors => true)") == [{'k': sum(row['n'] for row in rows)}]


def check_cases(files):
    files.write('u.csv', b'a,b\n"1",2\n3,"x\n4,5\n')
    assert files.rows(f"select * from read_csv('u.csv', {SKIP})") == [{'a': 1, 'b': 2}, {'a': 4, 'b': 5}]
    assert files.rows(f"select * from read_csv('u.csv', {LIST})") == [
        {'file': 'u.csv', 'line': 3, 'column_name': None, 'reason': 'the quotes that begin here do not end', 'text': '3,"x'}]
    files.write('v.csv', b"a;b\n1;2\n3;'x\n4;5\n")  # the same in another dialect
    assert files.rows(f"select * from read_csv('v.csv', {SKIP}, delimiter => ';', quote => '''')") == [{'a': 1, 'b': 2}, {'a': 4, 'b': 5}]
    files.write('w.csv', b'1,2\n' * 9 + b'3\n4,5\n')
    assert files.rows(f"select * from read_csv('w.csv', {SKIP}, header => false)") == [{'c0': 1, 'c1': 2}] * 9 + [{'c0': 4, 'c1': 5}]
    # A dtype that is given; without one, a column of many texts is text.
    files.write('x.csv', b'a\n1\nx\n3\n')
    assert files.rows(f"select * from read_csv('x.csv', {SKIP})") == [{'a': '1'}, {'a': 'x'}, {'a': '3'}]
    assert files.rows(f"select * from read_csv('x.csv', {SKIP}, dtypes => array['a int64'])") == [{'a': 1}, {'a': 3}]
    assert files.rows(f"select line, reason from read_csv('x.csv', {LIST}, dtypes => array['a int64'])") == [{'line': 3, 'reason': "'x' is not int64"}]
    # Each kind of value against a stray text; what is not alike is text.
    for good, dtype in ((b'2020-01-01', 'date'), (b'2020-01-01 10:00:00', 'timestamp'), (b'2020-01-01T10:00:00Z', 'timestamptz'), (b'10:00:00', 'time'),
                        (b'true', 'bool'), (b'7', 'int64'), (b'7.5', 'float64')):
        files.write('y.csv', b'a\n' + (good + b'\n') * 19 + b'stray\n')
        assert files.rows(f"select count(*) as k from read_csv('y.csv', {SKIP})") == [{'k': 19}], dtype
        assert files.rows(f"select reason from read_csv('y.csv', {LIST})") == [{'reason': f"'stray' is not {dtype}"}]
    # Nothing fits, nothing is wrong, nothing is there.
    assert files.rows(f"select * from read_csv('x.csv', {SKIP}, dtypes => array['a date'])") == []
    assert len(files.rows(f"select * from read_csv('x.csv', {LIST}, dtypes => array['a date'])")) == 3
    assert files.rows(f"select * from read_csv('x.csv', {LIST})") == []
    files.write('e.csv', b'')
    assert files.rows(f"select * from read_csv('e.csv', {SKIP})") == files.rows(f"select * from read_csv('e.csv', {LIST})") == []
    # Many files, and what is there beside them.
    os.mkdir(os.path.join(files.base, 'k=7'))
    files.write('k=7/a.csv', b'a,b\n1,2\n3\n')
    files.write('k=7/b.csv', b'a,b\n1,2,3\n5,6\n')
    assert files.rows(f"select a, b, k from read_csv('k=7/*.csv', {SKIP})") == [{'a': 1, 'b': 2, 'k': 7}, {'a': 5, 'b': 6, 'k': 7}]
    assert files.rows(f"select file, line, k from read_csv('k=7/*.csv', {LIST})") == [
        {'file': 'k=7/a.csv', 'line': 3, 'k': 7}, {'file': 'k=7/b.csv', 'line': 2, 'k': 7}]
    # Without the option each is the error that it was, with the remedy.
    for name, place in (('u.csv', 'u.csv:3:'), ('w.csv', 'w.csv:10:'), ('k=7/*.csv', 'k=7/a.csv:3:')):
        files.refuse(place, "'errors' 'skip'", call=('sql', f"select * from '{name}'"))
    files.refuse('x.csv:3:', "'x' is not int64", "'errors' 'skip'", call=('sql', "select * from read_csv('x.csv', dtypes => array['a int64'])"))
    files.refuse("is 'maybe'; it can be 'refuse', 'skip' or 'list'", call=('sql', "select * from read_csv('x.csv', errors => 'maybe')"))
    files.refuse('no option', call=('sql', "select * from read_ndjson('x.ndjson', ignore_errors => true)"))


def check_load(files):
    data, rows, bad = made(random.Random(9), 5000)
    files.write('l.csv', data)
    files.must('load', 'l', '--rejects', 'rejected.csv', 'l.csv')
    assert files.rows('select * from l') == rows
    with open(os.path.join(files.base, 'rejected.csv'), encoding='utf-8', newline='') as file:
        found = [{**row, 'line': int(row['line']), 'column_name': row['column_name'] or None} for row in csv.DictReader(file)]
    assert found == [{'file': 'l.csv', **row} for row in bad]
    files.must('load', 'l', '--replace', '--rejects', 'rejected.csv', 'l.csv', 'k=7/a.csv')
    assert len(files.rows("select * from 'rejected.csv'")) == len(bad) + 1
    files.refuse('no/such', call=('load', 'm', '--rejects', 'no/such/folder.csv', 'l.csv'))
    files.refuse("no table 'm'", call=('sql', 'select * from m'))
    files.refuse('no file is CSV', call=('load', 'm', '--rejects', 'r.csv', 'm.ndjson'))
    assert [graph['key'] for graph in json.loads(files.must('graphs', '--json'))] == ['l']


def check_killed(files):
    """Executors die while files are read and written: every record is in the table or in the file, and once."""
    data, rows, bad = made(random.Random(4), 40000)
    files.write('d.csv', data)
    done = threading.Event()
    killed = []

    def kill():
        rng = random.Random(1)
        while not done.wait(0.1):
            pids = [row['pid'] for row in json.loads(files.must('executors', '--json')) if row.get('pid')]
            for pid in pids[:1] if rng.random() < 0.7 else []:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                except ProcessLookupError:
                    pass

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        for _ in range(12):
            ended = None
            while ended is None or 'executors died running it' in ended.stderr:  # three beneath one subtask, and it is given up
                ended = files.call('load', 'd', '--replace', '--no-recall', '--chunk-bytes', '256K', '--rejects', 'killed.csv', 'd.csv')
            assert ended.returncode == 0, ended.stderr
            assert files.rows("select count(*) as k, sum(n) as s from d") == [{'k': len(rows), 's': sum(row['n'] for row in rows)}]
            with open(os.path.join(files.base, 'killed.csv'), encoding='utf-8', newline='') as file:
                assert [int(row['line']) for row in csv.DictReader(file)] == [row['line'] for row in bad]
    finally:
        done.set()
        thread.join()
    assert len(killed) > 2
    print(f'{len(killed)} executors killed')


with Files(binaries) as files:
    check_cases(files)
    check_random(files)
    check_load(files)
    check_killed(files)
