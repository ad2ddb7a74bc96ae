"""Tables of SQLite databases: the rows that Python's sqlite3 reads, however they are cut; types as declared, or as values are; and databases that
are locked, changed, damaged or hostile give an error that says so."""
import contextlib
import datetime
import json
import os
import random
import sqlite3
import subprocess
import threading

from granary_test import GranaryError, Instance

random.seed(int(os.environ.get('GRANARY_SEED', '3')))


def values(column):
    valid = [True] * len(column) if column.valid is None else column.valid
    return [(v.item() if hasattr(v, 'item') else v) if ok else None for v, ok in zip(column.values, valid)]


def rows_of(frame):
    columns = {name: values(column) for name, column in frame.items()}
    return [tuple(row) for row in zip(*columns.values())]


with Instance(executors=2, memory='512M') as granary:
    top = os.path.join(granary.directory, 'files')
    os.mkdir(top)

    def path(*parts):
        return os.path.join(top, *parts)

    @contextlib.contextmanager
    def database(name):
        connection = sqlite3.connect(path(name), isolation_level=None)
        connection.execute('PRAGMA synchronous = OFF')
        try:
            yield connection
        finally:
            connection.close()

    def read(name, chunk_bytes=0, **more):
        return granary.run({'x': {'op': 'read_sqlite', 'path': path(name), **more}}, 'x', chunk_bytes)

    def fails(name, *words, **more):
        granary.fails({'x': {'op': 'read_sqlite', 'path': path(name), **more}}, 'x', *words)

    def sql(text):
        return [tuple(row.values()) for row in json.loads(granary.command('sql', '--json', text))]

    # ---- random tables: rows, however they are cut ----
    texts = ['a', '', "it's", '漢字', 'x' * 300, 'nul\0byte', None]
    for case, (kind, how) in enumerate([('rowid', ''), ('rowid', ''), ('primary', ''), ('without', ' WITHOUT ROWID'), ('shadowed', '')]):
        name = f'r{case}.db'
        with database(name) as db:
            if case % 2:
                db.execute('PRAGMA journal_mode = WAL')
            first = {'rowid': 'a BIGINT', 'primary': 'a INTEGER PRIMARY KEY', 'without': 'a INTEGER PRIMARY KEY', 'shadowed': '"_rowid_" INT, a INT'}[kind]
            db.execute(f'CREATE TABLE "the ""table""" ({first}, "odd ""name" TEXT, r REAL, v VARCHAR(20), n, d DECIMAL(9,2)){how}')
            count = random.choice([1, 1000, 20000])
            db.execute('BEGIN')
            numbers = sorted(random.sample(range(-10**6, 10**6), count))
            for i in numbers:
                row = [i, random.choice(texts), random.choice([None, i / 8, 1e300]), random.choice(texts), random.choice([None, i]), random.choice([1, 2.5, None])]
                db.execute(f'INSERT INTO "the ""table""" VALUES ({"?, " if kind == "shadowed" else ""}?, ?, ?, ?, ?, ?)', ([7] if kind == 'shadowed' else []) + row)
            db.execute('COMMIT')
            if kind == 'rowid':
                db.execute('DELETE FROM "the ""table""" WHERE a % 3 = 0')
            theirs = db.execute('SELECT * FROM "the ""table""" ORDER BY ' + ('a' if kind in ('primary', 'without') else 'rowid')).fetchall()
            for chunk_bytes in (0, 4096, 20000):
                frame = read(name, chunk_bytes)
                assert {n: c.dtype for n, c in frame.items() if n in 'arvn'} == \
                    {'a': 'int64', 'r': 'float64', 'v': 'string', 'n': 'int64' if any(row[-2] is not None for row in theirs) else 'string'}, frame
                assert rows_of(frame) == theirs, (kind, chunk_bytes)
            assert sql(f"SELECT count(*), sum(a), sum(r) FROM '{path(name)}' WHERE a > 0")[0][0] == sum(row[-6] > 0 for row in theirs)

    # ---- types ----
    with database('t.sqlite') as db:
        db.execute('CREATE TABLE t (yes BOOLEAN, no BOOL, day DATE, at DATETIME, stamp TIMESTAMP, late DATE, any, mixed, texts NUMERIC, empty, raw BLOB, text_blob BLOB)')
        db.execute("INSERT INTO t VALUES (1, 2, '2024-02-29', '2024-02-29 12:00:00.5', '2020-01-01', 5, 1, 1, 'x', NULL, x'00ff', 'text')")
        db.execute("INSERT INTO t VALUES (0, 1, NULL, '1969-12-31T23:59:59', '2020-01-01 01:00:00', '2020-01-01', 2.5, 'b', 1, NULL, NULL, NULL)")
    names = ['yes', 'no', 'day', 'at', 'stamp', 'late', 'any', 'mixed', 'texts', 'empty', 'text_blob']
    frame = granary.run({'r': {'op': 'read_sqlite', 'path': path('t.sqlite')}, 'x': {'op': 'select', 'input': 'r', 'columns': names}}, 'x')
    assert [frame[n].dtype for n in names] == ['bool', 'int64', 'date', 'timestamp', 'timestamp', 'string', 'float64', 'string', 'string', 'string', 'string'], \
        {n: frame[n].dtype for n in names}
    day = (datetime.date(2024, 2, 29) - datetime.date(1970, 1, 1)).days
    assert rows_of(frame) == [(True, 2, day, day * 86400 * 10**6 + 43200500000, 1577836800 * 10**6, '5', 1.0, '1', 'x', None, 'text'),
                              (False, 1, None, -10**6, (1577836800 + 3600) * 10**6, '2020-01-01', 2.5, 'b', '1', None, None)], rows_of(frame)
    fails('t.sqlite', "column 'raw' has BLOBs", 'dtypes')
    fails('t.sqlite', "column 'raw'", 'a BLOB', 'rowid 1', dtypes={'raw': 'string'})
    fails('t.sqlite', "column 'yes' is date", 'an integer 1', 'rowid 1', dtypes={'yes': 'date', 'raw': 'string'})
    fails('t.sqlite', "'lost'", dtypes={'lost': 'string'})
    got = granary.run({'r': {'op': 'read_sqlite', 'path': path('t.sqlite'), 'dtypes': {'yes': 'string', 'any': 'decimal(2)', 'no': 'int8'}},
                       'x': {'op': 'select', 'input': 'r', 'columns': ['yes', 'any', 'no']}}, 'x')
    assert rows_of(got) == [('1', 100, 2), ('0', 250, 1)], rows_of(got)
    with database('fit.db') as db:
        db.execute('CREATE TABLE t (i INTEGER, r REAL, s TEXT)')
        db.execute("INSERT INTO t VALUES (1, 1, 2), ('12', '2.5', 'x')")
        assert rows_of(read('fit.db')) == [(1, 1.0, '2'), (12, 2.5, 'x')]
        db.execute("INSERT INTO t (rowid, i) VALUES (77, 'many')")
        fails('fit.db', 'fit.db', "table 't'", 'rowid 77', "column 'i' is int64", "a text 'many'", '`dtypes` can read the column as string')
        assert values(read('fit.db', dtypes={'i': 'string'})['i']) == ['1', '12', 'many']
        db.execute('DELETE FROM t WHERE rowid = 77')
        db.execute('INSERT INTO t VALUES (1.5, NULL, NULL)')
        fails('fit.db', 'a real number 1.5', 'rowid 3')
        assert values(read('fit.db', dtypes={'i': 'float64'})['i']) == [1.0, 12.0, 1.5]
        db.execute("UPDATE t SET i = 1, s = CAST(x'ff' AS TEXT) WHERE rowid = 3")
        fails('fit.db', "column 's' is string", 'a text', 'rowid 3')

    # ---- which table ----
    with database('many.db') as db:
        db.execute('CREATE TABLE b (x)')
        db.execute('CREATE VIEW v AS SELECT x + 1 AS y, x FROM b')
        db.execute('INSERT INTO b VALUES (1), (2)')
        assert rows_of(read('many.db')) == [(1,), (2,)]  # a view is no other table
        db.execute('CREATE TABLE a (z)')
        fails('many.db', 'many.db', "'table' must say which", 'a, b, v')
        fails('many.db', "no table 'c'", 'a, b, v', table='c')
        assert rows_of(read('many.db', table='v')) == [(2, 1), (3, 2)] and rows_of(read('many.db', table='B')) == [(1,), (2,)]
        assert rows_of(read('many.db', table='a')) == []
        for said in ("'v'", '"table" => \'v\'', "'v', dtypes => array['x int64']"):
            assert sql(f"SELECT sum(y) FROM read_sqlite('{path('many.db')}', {said}) WHERE x > 1") == [(3,)]
        ended = subprocess.run([os.path.join(os.environ['GRANARY_BIN'], 'granary'), 'sql', f"SELECT * FROM '{path('many.db')}'"],
                               env={**os.environ, 'GRANARY_INSTANCE': granary.instance}, capture_output=True, text=True)
        assert 'a, b, v' in ended.stderr and 'line 1, column 15' in ended.stderr, ended.stderr
    with database('none.db') as db:
        db.execute('PRAGMA user_version = 1')
    fails('none.db', 'has no table')
    os.mkdir(path('folder'))
    for number in range(3):
        with database(f'folder/{number}.db') as db:
            db.execute('CREATE TABLE t (n INT, s TEXT)')
            db.execute('INSERT INTO t VALUES (?, ?)', (number, str(number)))
    assert rows_of(read('folder/*.db')) == [(n, str(n)) for n in range(3)]
    assert sql(f"SELECT sum(n), count(s) FROM '{path('folder/*.db')}'") == [(3, 3)]
    granary.command('load', 'loaded', path('folder/2.db'))
    assert sql('SELECT n, s FROM loaded') == [(2, '2')]

    # ---- writers ----
    with database('w.db') as db:
        db.execute('PRAGMA journal_mode = WAL')
        db.execute('CREATE TABLE t (n INT)')
        for number in range(5):  # each is in the log alone, and a result is not recalled for another
            db.execute('INSERT INTO t VALUES (?)', (number,))
            assert sql(f"SELECT sum(n) FROM '{path('w.db')}'") == [(sum(range(number + 1)),)]
        assert os.path.getsize(path('w.db-wal')) > 0
    with database('l.db') as db:
        db.execute('CREATE TABLE t (n INT)')
        db.execute('INSERT INTO t VALUES (1)')
        db.execute('BEGIN EXCLUSIVE')
        db.execute('INSERT INTO t VALUES (2)')
        fails('l.db', 'l.db', 'a writer has locked it')
        db.execute('ROLLBACK')
        assert rows_of(read('l.db')) == [(1,)]
    # Behind the plan, while no executor is there to read: what was looked at is not what is there.
    with database('c.db') as db:
        db.execute('CREATE TABLE t (n INT, b BOOL)')
        db.execute('WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 50000) INSERT INTO t SELECT x, 1 FROM c')
        changed, failed = 0, 0
        for attempt in range(12):
            stop = threading.Event()
            def write():
                with database('c.db') as other:
                    while not stop.is_set():
                        other.execute('UPDATE t SET n = n + 1 WHERE rowid = 1')
            writer = threading.Thread(target=write, daemon=True)
            writer.start()
            try:
                rows = values(read('c.db', 30000)['n'])
                assert sorted(rows)[1:] == list(range(2, 50001)) or len(rows) == 50000
                changed += 1
            except GranaryError as error:
                assert 'was changed since the graph was submitted' in str(error) or 'locked' in str(error), error
                failed += 1
            stop.set()
            writer.join()
        assert failed > 0, (changed, failed)
        assert len(read('c.db', 30000)['n']) == 50000

    # ---- damaged, encrypted, hostile ----
    with open(path('x.db'), 'wb') as file:
        file.write(os.urandom(8192))
    fails('x.db', 'x.db', 'no SQLite database, or is encrypted')
    with open(path('e.db'), 'wb'):
        pass
    fails('e.db', 'has no table')
    os.mkfifo(path('p.db'))
    fails('p.db', 'no regular file')
    fails('lost.db', 'lost.db', 'No such file')
    with open(path('c.db'), 'rb') as file:
        good = file.read()
    damaged = 0
    for attempt in range(40):
        bad = bytearray(good)
        for _ in range(random.choice([1, 20, 2000])):
            bad[random.randrange(100 if attempt % 4 else 0, len(bad))] = random.randrange(256)
        with open(path('bad.db'), 'wb') as file:
            file.write(bad if attempt % 5 else bad[:random.randrange(len(bad))])
        try:
            read('bad.db', 30000)
        except GranaryError as error:
            damaged += 'bad.db' in str(error)
            assert 'bad.db' in str(error) and 'died' not in str(error), error
    assert damaged > 10, damaged
    with database('h.db') as db:
        db.execute('CREATE TABLE t (n INT)')
        db.execute('INSERT INTO t VALUES (1)')
        db.execute('CREATE VIEW endless AS WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c')
        db.execute('CREATE VIEW ends AS WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 1000) SELECT sum(x) AS n FROM c')
        db.execute("CREATE VIEW loads AS SELECT load_extension('/tmp/evil.so') AS n")
        db.execute("CREATE VIEW pragmas AS SELECT * FROM pragma_database_list")
    with database('wrong.db') as db:
        db.execute('CREATE TABLE t (n INT)')
        db.execute('PRAGMA writable_schema = ON')
        db.execute("INSERT INTO sqlite_master VALUES ('table', 'wrong', 'wrong', 99999, 'CREATE TABLE wrong (a, b)')")
    fails('h.db', 'does not end soon', table='endless')
    assert rows_of(read('h.db', table='ends')) == [(500500,)]
    fails('h.db', 'h.db', table='loads')
    fails('h.db', 'h.db', table='pragmas')
    fails('wrong.db', 'wrong.db', 'is damaged', table='wrong')
    assert rows_of(read('h.db', table='t')) == [(1,)]
    with database('rows.db') as db:
        db.execute('CREATE VIEW rows AS WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c')
    fails('rows.db', 'does not end soon')
