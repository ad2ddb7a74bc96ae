"""Random SELECTs over random tables against PostgreSQL and DuckDB, and those that it has against SQLite. Where one of the two differs, the other is asked, too."""
import ctypes
import decimal
import functools
import re

import numpy as np

from compare import same_by, same_rows
from draw import Draw, US, to_list
from granary_test import Column, GranaryError
from peers import DuckDb, Postgres, Sqlite, plain
from sql_subqueries import smaller_deep
from sql_tree import COLUMNS, PG_CASTS, PLAIN, TABLES, Maker, Writer

OUR_TYPES = {'int': 'int64', 'big': 'int64', 'float': 'float64', 'wild': 'float64', 'dec': 'decimal(2)', 'text': 'string', 'date': 'date', 'ts': 'timestamp', 'bool': 'bool'}
POOLS = {'int': [0, 1, 2, 3, 4, 5, -1, -3], 'big': [2**53 + 1, 2**53, -2**53 - 1, 2**63 - 1, -2**63, 1], 'float': [0.25 * k for k in range(-8, 12)] + [0.0],
         'wild': [float('nan'), float('inf'), float('-inf'), 0.0, -0.0, 1.5, -2.0], 'dec': [0, 125, -310, 1, 1234567890123456789, 500],
         'text': ['', 'a', 'ab', 'B', 'é', 'a_b', "it's", 'x', 'ba', ' a '], 'date': [10957, 11016, 10956, 11017, 11000, 18321],
         'ts': [10957 * US, 10958 * US + 1, 10958 * US + 11045 * 10**6, 10957 * US - 1, 11016 * US + 3600 * 10**6], 'bool': [True, False]}
PARSE = None
IN_TREE = re.compile('"([A-Za-z_]+)":(?:"([A-Z_]{3,})")?')
# Windows' functions that give the same whatever the order of rows that ORDER BY makes equal.
WHOLE_ORDER = ('rank', 'dense_rank', 'sum', 'count', 'avg', 'min', 'max')


class PgResult(ctypes.Structure):
    _fields_ = [('tree', ctypes.c_char_p), ('stderr', ctypes.c_char_p), ('error', ctypes.c_void_p)]


@functools.lru_cache(maxsize=4096)
def clauses(sql):
    """clause:NAME of every kind of node in the parse tree, field:NAME of its fields: by the library that granary parses with."""
    global PARSE
    if PARSE is None:
        library = ctypes.CDLL('libpg_query.so')
        library.pg_query_parse.restype = PgResult
        library.pg_query_free_parse_result.argtypes = [PgResult]
        PARSE = library
    result = PARSE.pg_query_parse(sql.encode())
    tree = '' if result.error else result.tree.decode()
    PARSE.pg_query_free_parse_result(result)
    found = set(IN_TREE.findall(tree))  # keys of objects, with what they have when that is a word of the grammar
    return [name_of_key(key) for key, _ in found] + [f'clause:{word.lower()}' for _, word in found if word]


@functools.cache
def name_of_key(key):
    """A node's key is written SelectStmt or A_Expr, a field's whereClause or agg_filter."""
    words = re.sub('([A-Z])', r'_\1', key).lower().lstrip('_').replace('__', '_')
    return f'clause:node_{words}' if key[0].isupper() else f'field:{words}'


def tables_of(seed):
    """{table: {column: values}}"""
    draw = Draw(f'tables/{seed}')
    made = {}
    for table in TABLES:
        rows = 0 if table == 'te' else draw.choice([1, 5, 12, 20, 30])
        columns = {'id': list(range(1, rows + 1))}
        for name, type in COLUMNS.items():
            if name != 'id':
                nulls = draw.choice([0, 0.1, 0.3, 1.0 if draw.chance(0.1) else 0.1])
                columns[name] = [None if draw.random() < nulls else draw.choice(POOLS[type]) for _ in range(rows)]
        made[table] = columns
    return made


def as_text(value, unit):
    return str(np.datetime64(value, unit)).replace('T', ' ')


def for_peer(value, type):
    """As a literal."""
    if value is None:
        return 'null'
    if type == 'dec':
        return str(decimal.Decimal(value).scaleb(-2))
    if type in ('date', 'ts'):
        return f"'{as_text(value, 'D' if type == 'date' else 'us')}'"
    if type == 'text':
        return "'" + value.replace("'", "''") + "'"
    return f"'{value}'" if isinstance(value, float) and not -1e9 < value < 1e9 or type == 'wild' else str(value)


def row_values(columns):
    """Rows of Python values of what granary gave, as peers.plain() has theirs."""
    lists = []
    for column in columns.values():
        values = to_list(column)
        if column.dtype.startswith('decimal'):
            scale = int(column.dtype[8:-1])
            values = [None if v is None else decimal.Decimal(v).scaleb(-scale, decimal.Context(prec=50)) for v in values]
        elif column.dtype in ('date', 'timestamp'):
            values = [None if v is None else plain(short(as_text(v, 'D' if column.dtype == 'date' else 'us'))) for v in values]
        lists.append(values)
    return [list(row) for row in zip(*lists)]


def short(text):
    return text.rstrip('0').rstrip('.') if '.' in text else text


class Part:
    name = 'sql_random'
    covers = ('clause:', 'field:')

    @staticmethod
    def aims(name):
        return name.startswith(Part.covers)

    def make(self, draw, number, want=None):
        peer = draw.choice(['sqlite', 'postgres', 'postgres', 'duckdb']) if not want else 'postgres'
        maker = Maker(draw, peer, want)
        query, _ = maker.query(draw.choice([1, 2, 2, 3]), True)
        return {'tables': number // 400, 'peer': peer, 'query': query}

    def hits(self, spec):
        return clauses(Writer('postgres').query(spec['query'])) + [f'sqlagg:{name}' for name in calls(spec['query'])]

    def open(self, engine):
        self.engine = engine
        self.peers = {'sqlite': Sqlite()}
        if Postgres.there():
            self.peers['postgres'] = Postgres()
        if DuckDb.there():
            self.peers['duckdb'] = DuckDb()
        self.loaded = None
        return True

    def close(self):
        for peer in self.peers.values():
            peer.close()

    def load(self, seed):
        if self.loaded == seed:
            return
        for table, columns in tables_of(seed).items():
            ours = {}
            for name, values in columns.items():
                type = OUR_TYPES[COLUMNS[name]]
                valid = [v is not None for v in values]
                empty = '' if type == 'string' else 0
                filled = [empty if v is None else v for v in values]
                code = {'int64': 'i8', 'float64': 'f8', 'date': 'i4', 'timestamp': 'i8', 'bool': '?'}.get(type)
                ours[name] = Column(type, np.array(filled, code) if code else filled, valid)
            self.engine.table(table, ours, pieces=2 if len(columns['id']) > 5 else 1)
            for dialect, peer in self.peers.items():
                types = {n: t for n, t in COLUMNS.items() if dialect != 'sqlite' or t in PLAIN}
                peer.run(f'drop table if exists {table}')
                kinds = PG_CASTS if dialect != 'sqlite' else {'int': 'integer', 'float': 'real', 'text': 'text'}
                peer.run(f'create table {table} ({", ".join(f"{n} {kinds[t]}" for n, t in types.items())})')
                rows = ', '.join('(' + ', '.join(for_peer(columns[n][i], t) for n, t in types.items()) + ')' for i in range(len(columns['id'])))
                if rows:
                    peer.run(f'insert into {table} values {rows}')
        self.loaded = seed

    def judge(self, specs):
        verdicts = [None] * len(specs)
        for seed in dict.fromkeys(s['tables'] for s in specs):
            self.load(seed)
            which = [i for i, s in enumerate(specs) if s['tables'] == seed]
            ours = self.engine.sql([Writer('granary').query(specs[i]['query']) for i in which])
            for i, answer in zip(which, ours):
                verdicts[i] = self.compare(specs[i], answer)
        return verdicts

    def compare(self, spec, ours):
        asked = spec['peer'] if spec['peer'] in self.peers else 'postgres'
        verdict = self.against(spec, ours, asked)
        third = {'postgres': 'duckdb', 'duckdb': 'postgres'}.get(asked)
        if verdict and verdict[0] == 'differs' and third in self.peers:
            other = self.against(spec, ours, third)
            says = 'agrees with granary' if other is None else 'cannot tell' if other[0] == 'refused' else 'differs as well'
            return ('differs', f'{verdict[1]}\n  {third} {says}')
        return verdict

    def against(self, spec, ours, asked):
        peer = self.peers.get(asked)
        if peer is None:
            return ('refused', 'PostgreSQL is not installed')
        try:
            theirs = peer.rows(Writer(asked).query(spec['query']))
        except peer.error as error:
            return ('refused', f'{asked}: {error}')
        if isinstance(ours, GranaryError):
            return ('differs', f'refused: {str(ours).splitlines()[0]}')
        order = spec['query']['order']
        differs = same_by(row_values(ours), theirs, [place - 1 for place, *_ in order]) if order else same_rows(row_values(ours), theirs, False)
        return ('differs', differs + f'\n  granary:  {row_values(ours)[:5]}\n  {asked}: {theirs[:5]}') if differs else None

    def smaller(self, spec):
        for query in smaller_query(spec['query']):
            yield {**spec, 'query': query}

    def show(self, spec):
        data = tables_of(spec['tables'])
        named = [t for t in TABLES if f' {t} ' in Writer('granary').query(spec['query'])]
        return '\n'.join([Writer('granary').query(spec['query']), f'  -- {spec["peer"]}: {Writer(spec["peer"]).query(spec["query"])}'] + [f'  -- {t}: {len(data[t]["id"])} rows of tables {spec["tables"]}' for t in named])


def calls(tree):
    """Names of aggregates in a query."""
    if isinstance(tree, dict):
        return [n for x in tree.values() for n in calls(x)]
    if isinstance(tree, list):
        inner = [n for x in tree for n in calls(x)]
        if tree and tree[0] == 'agg':
            inner.append(tree[2])
        if tree and tree[0] == 'percentile':
            inner.append('percentile_cont')
        return inner
    return []


def smaller_query(q):
    if 'recursive' in q:
        for i, arm in enumerate(q['arms']):
            for smaller in smaller_select(arm, False):
                if [name for _, name in smaller['items']] == [name for _, name in arm['items']]:
                    yield {**q, 'arms': q['arms'][:i] + [smaller] + q['arms'][i + 1:]}
        return
    for key in ('limit', 'offset', 'order'):
        if q[key] is not None and not (key == 'order' and q['limit'] is not None):
            yield {**q, key: None}
    if len(q['arms']) > 1:
        for arm in q['arms']:
            yield {**q, 'arms': [arm], 'between': []}
    for i in range(len(q['with'])):
        yield {**q, 'with': q['with'][:i] + q['with'][i + 1:]}
        for smaller in smaller_query(q['with'][i][1]):
            yield {**q, 'with': q['with'][:i] + [[q['with'][i][0], smaller, *q['with'][i][2:]]] + q['with'][i + 1:]}
    for i, arm in enumerate(q['arms']):
        for smaller in smaller_select(arm, len(q['arms']) == 1):
            order = q['order']
            if order and len(smaller['items']) < len(arm['items']):
                order = [[p, down, first] for p, (_, down, first) in enumerate(order, 1) if p <= len(smaller['items'])]
            yield {**q, 'arms': q['arms'][:i] + [smaller] + q['arms'][i + 1:], 'order': order}


def smaller_select(s, narrower):
    if s['distinct']:
        yield {**s, 'distinct': False}
    for key in ('where', 'having'):
        if s[key]:
            yield {**s, key: None}
    if s['group']:
        yield {**s, 'group': None}
        if s['group']['how'] != 'plain':
            yield {**s, 'group': {**s['group'], 'how': 'plain'}}
        for i in range(len(s['group']['keys'])):
            if len(s['group']['keys']) > 1:
                yield {**s, 'group': {**s['group'], 'keys': s['group']['keys'][:i] + s['group']['keys'][i + 1:]}}
    if s['named']:
        yield {**s, 'named': False}
    if s.get('star'):
        yield {k: v for k, v in s.items() if k != 'star'}
        return
    if narrower and len(s['items']) > 1:
        for i in range(len(s['items'])):
            yield {**s, 'items': s['items'][:i] + s['items'][i + 1:]}
    tree = s['from']
    if tree[0] == 'lateral':
        yield {**s, 'from': tree[2]}
        for inner in smaller_deep(tree[3]):
            yield {**s, 'from': [*tree[:3], inner, *tree[4:]]}
    if tree[0] == 'join':
        yield {**s, 'from': tree[2]}
        yield {**s, 'from': tree[3]}
        if tree[4]:
            for on in smaller_expr(tree[4]):
                yield {**s, 'from': tree[:4] + [on]}
    if tree[0] == 'sub':
        for inner in smaller_query(tree[1]):
            yield {**s, 'from': ['sub', inner, tree[2]]}
    for key in ('where', 'having'):
        if s[key]:
            for e in smaller_expr(s[key]):
                yield {**s, key: e}
    for i, (item, name) in enumerate(s['items']):
        for e in smaller_expr(item):
            yield {**s, 'items': s['items'][:i] + [[e, name]] + s['items'][i + 1:]}


def smaller_expr(e):
    """Each part of the same type in its place; then smaller parts."""
    def parts(x):
        if isinstance(x, list):
            if len(x) > 1 and isinstance(x[0], str) and hasattr(Writer, 'x_' + x[0]) and isinstance(x[1], str):
                yield x
            else:
                for one in x:
                    yield from parts(one)

    for child in e[2:]:
        for part in parts(child):
            if part[1] == e[1]:
                yield part
    if e[0] in ('scalar', 'exists', 'in_query', 'any_query', 'quantified'):
        for at, q in enumerate(e):
            for inner in smaller_deep(q) if isinstance(q, dict) else []:
                yield [*e[:at], inner, *e[at + 1:]]
    if e[0] == 'win':
        for i in range(len(e[3])):
            yield e[:3] + [e[3][:i] + e[3][i + 1:]] + e[4:]
        for i in range(len(e[4]) if not e[5] and e[2][0] in WHOLE_ORDER else 0):
            yield e[:4] + [e[4][:i] + e[4][i + 1:]] + e[5:]
        if e[5] and e[2][0] in WHOLE_ORDER:
            yield e[:5] + [None]
    if e[0] in ('agg', 'percentile') and e[-1]:
        yield e[:-1] + [None]

    def replaced(x):
        """x with one expression within it made smaller"""
        if isinstance(x, list):
            if len(x) > 1 and isinstance(x[0], str) and hasattr(Writer, 'x_' + x[0]) and isinstance(x[1], str):
                yield from smaller_expr(x)
            else:
                for i, one in enumerate(x):
                    for other in replaced(one):
                        yield x[:i] + [other] + x[i + 1:]

    for i in range(2, len(e)):
        for other in replaced(e[i]):
            yield e[:i] + [other] + e[i + 1:]
