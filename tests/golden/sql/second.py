"""PostgreSQL beside DuckDB, for the scripts of its own suite: where the two disagree, it knows better what was meant."""
import datetime
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / 'differ')]

from peers import Postgres

TEXT = (1082, 1114, 1184, 114, 3802)  # date, timestamp, timestamptz, json, jsonb: as text
FLOAT4 = 700
# What a statement means to PostgreSQL and is an error: values that do not fit, types that do not meet, groups, windows, rows of a subquery, names of two meanings. Others say that it lacks something.
MEANT = ('22', '21', '42804', '42803', '42P10', '42P19', '42846', '42725', '42P20', '42702', '42712')
SYNTAX = '42601'


class Second:
    """A server, and one database after the other."""

    @staticmethod
    def there():
        return Postgres.there()

    def __init__(self):
        import psycopg2
        self.library = psycopg2
        self.server = Postgres()
        self.connection, self.number = None, 0
        self.server.run('set statement_timeout = 0')  # a database takes its time where the machine is busy

    def open(self):
        self.shut()
        self.number += 1
        self.server.run(f'create database suite{self.number}')
        self.connection = self.library.connect(host=self.server.directory, user='differ', dbname=f'suite{self.number}', options='-c timezone=UTC')
        self.connection.autocommit = True
        self.library.extensions.register_type(self.library.extensions.new_type(TEXT, 'TEXT', lambda text, _: text), self.connection)

    def shut(self):
        if self.connection:
            self.connection.close()
            try:
                self.server.run(f'drop database suite{self.number} with (force)')
            except self.library.Error:  # something of the script's still stands on it
                pass
        self.connection = None

    def run(self, sql):
        self.answer(sql)

    def answer(self, sql):
        """{'rows': ...}, {'error': its code} or {}: nothing is known."""
        if self.connection is None:
            return {}
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
                if cursor.description is None:
                    return {}
                return {'rows': [[value_of(value) for value in row] for row in cursor.fetchall()], 'rough': any(column.type_code == FLOAT4 for column in cursor.description)}
        except (self.library.OperationalError, self.library.InterfaceError):
            if self.connection.closed:
                self.shut()
        except self.library.Error as error:
            return {'error': error.pgcode or ''}
        except (ValueError, OverflowError):  # no value of Python
            pass
        return {}

    def close(self):
        self.shut()
        self.server.close()


def value_of(value):
    if isinstance(value, list):
        return [value_of(item) for item in value]
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.time):
        return value.isoformat()
    return bytes(value).decode('latin-1') if isinstance(value, memoryview) else value


def refuses(answer, ours):
    """Whether it refuses what we refuse with these words."""
    code = answer.get('error', '')
    return code.startswith(MEANT) or (code == SYNTAX and ('syntax error' in ours or 'trailing junk' in ours))
