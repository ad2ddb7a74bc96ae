"""The SELECTs of corpus/*.test, run by granary alone and compared with the answers that stand there: corpus.py [FILE...]

The files are sqllogictest's: `statement ok`, `statement error` with a part of the message, `query nosort|rowsort` with rows behind ----, their values
between tabs. Where $GRANARY_PEERS has DuckDB, it is asked the same, so that no answer is only ours. --write puts DuckDB's answers into the files.
--optimized runs what the optimiser makes of each SELECT, written as a graph again.
"""
import ctypes
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / 'differ'), str(HERE.parents[1] / 'support' / 'py')]

from caretaker import Caretaker
from granary_test import GranaryError, _check, _library
from logic_test import read_logic_test
from suite import Asker, Session, granary_rows, peer_rows, same_item

from engine import Engine

_library.granary_sql_execute_sized.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]


def shown(value):
    """A value as it stands in a file."""
    if value is None:
        return 'NULL'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f'{value:.9g}'
    if isinstance(value, list):
        return '[' + ', '.join(shown(item) for item in value) + ']'
    return str(value).replace('\n', '\\n').replace('\t', '\\t') or '(empty)'


def lines_of(rows, sort):
    lines = ['\t'.join(shown(value) for value in row) for row in rows]
    return sorted(lines) if sort == 'rowsort' else lines


class Corpus:
    def __init__(self, engine, session):
        self.engine, self.session, self.asker = engine, session, Asker(engine)
        self.wrong = 0

    def fail(self, path, record, told):
        self.wrong += 1
        print(f'{path.name}:{record.line}: {told}\n    {record.sql}')

    def statement(self, sql):
        raw = sql.encode()
        _check(_library.granary_sql_execute_sized(self.engine.client, raw, len(raw), 60000, None, 0))

    def run(self, path):
        if self.session:
            self.session.ask(open=True)
        for record in read_logic_test(path.read_text()):
            sql = record.sql.strip().rstrip(';')
            if record.kind == 'statement' and record.expect == 'error':
                self.refused(path, record, sql)
            elif record.kind == 'statement':
                try:
                    self.statement(sql)
                except GranaryError as error:
                    self.fail(path, record, f'refused: {error}')
                if self.session:
                    self.session.ask(run=sql)
            else:
                self.query(path, record, sql)
        for table in re.findall(r'^create table (\w+)', path.read_text(), re.M):
            self.engine.command('sql', f'drop table {table}')

    def refused(self, path, record, sql):
        """A SELECT that both refuse; the answer is a part of our message."""
        if self.engine.optimizer:  # whose names are not the statement's
            return
        try:
            self.asker.ask(sql)
            self.fail(path, record, 'answered, not refused')
        except GranaryError as error:
            if not record.answer or record.answer[0] not in str(error):
                self.fail(path, record, f'another message: {error}')
            elif not str(error).startswith('line '):
                self.fail(path, record, f'no place: {error}')

    def query(self, path, record, sql):
        want = [line for line in record.answer or []]
        try:
            found = lines_of(granary_rows(self.asker.ask(sql)), record.sort)
        except GranaryError as error:
            self.fail(path, record, f'refused: {error}')
            return
        if found != want:
            self.fail(path, record, f'{found}, not {want}')
        if self.session and record.expect != 'ours':
            theirs = self.session.ask(rows=sql)
            if 'error' in theirs or lines_of(peer_rows(theirs), record.sort) != want:
                self.fail(path, record, f'DuckDB gives {theirs.get("error") or lines_of(peer_rows(theirs), record.sort)}, not {want}')


def write(path, session):
    """DuckDB's answers behind the queries of a file."""
    session.ask(open=True)
    blocks, text = [], path.read_text()
    records = {record.line: record for record in read_logic_test(text)}
    at = 1
    for block in text.split('\n\n'):
        record = next((records[line] for line in range(at, at + block.count('\n') + 2) if line in records), None)
        at += block.count('\n') + 2
        if record and record.kind == 'statement' and record.expect == 'ok':
            session.ask(run=record.sql.strip().rstrip(';'))
        if record and record.kind == 'query' and record.expect != 'ours':
            theirs = session.ask(rows=record.sql.strip().rstrip(';'))
            rows = ['!!! ' + theirs['error'].split('\n')[0]] if 'error' in theirs else lines_of(peer_rows(theirs), record.sort)
            block = '\n'.join([block.split('\n----')[0].rstrip('\n'), '----'] + rows)
        blocks.append(block.rstrip('\n'))
    path.write_text('\n\n'.join(blocks) + '\n')


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:] if not name.startswith('--')] or sorted((HERE / 'corpus').glob('*.test'))
    session = Session() if Session.there() else None
    if '--write' in sys.argv:
        for path in files:
            write(path, session)
        return 0
    with Caretaker(), Engine(executors=2, optimized='--optimized' in sys.argv) as engine:
        corpus = Corpus(engine, session)
        for path in files:
            corpus.run(path)
    if session:
        session.close()
    print(f'{corpus.wrong} wrong')
    return 1 if corpus.wrong else 0


if __name__ == '__main__':
    sys.exit(main())
