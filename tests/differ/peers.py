"""The engines that are asked the same: PostgreSQL, started here in a directory of its own, and Python's SQLite."""
import datetime
import decimal
import glob
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile


class Postgres:
    """A private server on a socket of its own; gone with close()."""

    @staticmethod
    def binaries():
        found = sorted(glob.glob('/usr/lib/postgresql/*/bin/postgres'))
        return os.path.dirname(found[-1]) if found else None

    @staticmethod
    def there():
        try:
            import psycopg2  # noqa: F401
        except ImportError:
            return False
        return Postgres.binaries() is not None

    def __init__(self):
        import psycopg2
        self.directory = tempfile.mkdtemp(prefix='granary-differ-')
        self.data = os.path.join(self.directory, 'data')
        # PostgreSQL does not run as root.
        self.user = pwd.getpwnam('nobody') if os.getuid() == 0 else None
        if self.user:
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.command('initdb', '-D', self.data, '-U', 'differ', '-A', 'trust', '-E', 'UTF8', '--lc-collate=C', '--lc-ctype=C.UTF-8', '--no-sync')
        self.server = subprocess.Popen([os.path.join(self.binaries(), 'postgres'), '-D', self.data, '-k', self.directory, '-c', 'listen_addresses=', '-c', 'fsync=off',
                                        '-c', 'jit=off', '-c', 'statement_timeout=20s', '-c', 'max_connections=10'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       cwd=self.directory, start_new_session=True, **self.identity())  # no signals of a terminal
        self.command('pg_isready', '-h', self.directory, '-t', '60', '-U', 'differ', check=False)
        for _ in range(600):  # pg_isready returns at once while there is no socket
            try:
                self.connection = psycopg2.connect(host=self.directory, user='differ', dbname='postgres')
                break
            except psycopg2.OperationalError:
                if self.server.poll() is not None:
                    raise
                self.command('pg_isready', '-h', self.directory, '-t', '1', '-U', 'differ', check=False)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        # Dates before year 1 and after 9999 have no value in Python: as text.
        for oid in (1082, 1114):
            psycopg2.extensions.register_type(psycopg2.extensions.new_type((oid,), f'TEXT{oid}', lambda text, _: text), self.connection)
        self.error = psycopg2.Error

    def identity(self):
        environment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}  # a sanitizer's runtime is not for it
        return {'env': environment, **({'user': self.user.pw_uid, 'group': self.user.pw_gid} if self.user else {})}

    def command(self, name, *arguments, check=True):
        subprocess.run([os.path.join(self.binaries(), name), *arguments], check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.directory, **self.identity())

    def run(self, sql):
        self.cursor.execute(sql)

    def rows(self, sql):
        self.cursor.execute(sql)
        return [[plain(v) for v in row] for row in self.cursor.fetchall()]

    def close(self):
        self.connection.close()
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Sqlite:
    error = sqlite3.Error

    def __init__(self):
        self.database = sqlite3.connect(':memory:')
        self.database.execute('pragma case_sensitive_like = on')

    def run(self, sql):
        self.database.execute(sql)

    def rows(self, sql):
        return [[plain(v) for v in row] for row in self.database.execute(sql)]

    def close(self):
        self.database.close()


class DuckDb:
    """One node that is fed with statements; it ends with its input."""

    class error(Exception):
        pass

    @staticmethod
    def there():
        return os.path.isdir(os.path.join(os.environ.get('GRANARY_PEERS', ''), 'node_modules/@duckdb/node-api')) and shutil.which('node') is not None

    def __init__(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'duckdb.js')
        environment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}
        self.process = subprocess.Popen(['node', program, os.path.abspath(os.environ['GRANARY_PEERS'])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        start_new_session=True, env=environment)

    def rows(self, sql):
        self.process.stdin.write(json.dumps(sql) + '\n')
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if 'error' in answer:
            raise self.error(answer['error'])
        return [[plain(of_duckdb(value, type)) for value, type in zip(row, answer['types'])] for row in answer['rows']]

    def run(self, sql):
        self.rows(sql)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def of_duckdb(value, type):
    """Its JSON has long numbers, decimals and what is no number as text."""
    if value is None:
        return None
    if type.startswith('DECIMAL'):
        return decimal.Decimal(value)
    if type in ('DOUBLE', 'FLOAT'):
        return float(value)
    return int(value) if type.endswith(('INT', 'INTEGER')) else value


def plain(value):
    """Dates and timestamps as text, midnight as the day alone."""
    if isinstance(value, datetime.datetime):
        value = value.isoformat(' ')
    elif isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str) and value.endswith(' 00:00:00') and len(value) >= 19:
        return value[:-9]
    return value
