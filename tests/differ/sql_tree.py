"""SELECTs as trees (lists and objects, so that JSON keeps them), drawn at random, and how each engine writes them.

An expression is [kind, type, ...]; types: int, big (beyond 2^53), float, wild (nan, infinities, -0.0), dec, text, date, ts, bool. All of a table's rows differ
in id, so that what depends on the order of rows can be asked for in a whole order.
"""
from sql_subqueries import Subqueries, write_query

COLUMNS = {'id': 'int', 'k': 'int', 'i': 'int', 'big': 'big', 'f': 'float', 'x': 'wild', 'n': 'dec', 's': 'text', 'd': 'date', 'ts': 'ts', 'b': 'bool'}
TABLES = ('ta', 'tb', 'tc', 'te')
PLAIN = ('int', 'float', 'text')  # what SQLite has, too
TYPES = ('int', 'int', 'float', 'text', 'big', 'wild', 'dec', 'date', 'ts', 'bool')
LITERALS = {
    'int': ['0', '1', '2', '3', '-1', '5'], 'big': ['9007199254740993', '-9007199254740993', '9223372036854775807', '1'],
    'float': ['0.25', '1.5', '-2.75', '100.0'], 'wild': ['0.0', '1.5'], 'dec': ['0.01', '1.25', '12345678901234567.89', '-3.10', '9007199254740992.5'],
    'text': ["''", "'a'", "'ab'", "'B'", "'é'", "'a_b'", "'it''s'", "'x'"], 'date': ["date '2000-02-29'", "date '1999-12-31'", "date '2000-01-05'"],
    'ts': ["timestamp '2000-01-02 03:04:05'", "timestamp '1999-12-31 23:59:59.999999'"], 'bool': ['true', 'false']}
PG_CASTS = {'int': 'bigint', 'big': 'bigint', 'float': 'float8', 'wild': 'float8', 'dec': 'numeric(20,2)', 'text': 'text', 'date': 'date', 'ts': 'timestamp', 'bool': 'boolean'}
OUR_CASTS = {**PG_CASTS, 'float': 'double precision', 'wild': 'double precision', 'dec': 'decimal(38,2)'}
EXACT = ('int', 'big', 'dec')  # whose values are compared to the last digit, whichever meet
PATTERNS = ["'a%'", "'%b'", "'_'", "'%'", "'a!_b'", "'%é%'", "''", "'__'"]
# What a draw has to choose for a clause or a field that few SELECTs have.
FOUND_IN = {name: feature for feature, names in {
    'is_true': 'is_true is_not_true is_false is_not_false is_unknown is_not_unknown node_boolean_test booltesttype', 'between': 'aexpr_between aexpr_not_between',
    'distinct_from': 'aexpr_distinct aexpr_not_distinct', 'like': 'aexpr_ilike aexpr_like', 'greatest': 'is_greatest is_least node_min_max_expr', 'in': 'aexpr_in items node_list',
    'nullif': 'aexpr_nullif', 'isnull': 'is_null is_not_null node_null_test nulltesttype', 'not': 'not_expr', 'or': 'or_expr', 'case': 'node_case_expr defresult result expr',
    'percentile': 'agg_order', 'filter': 'agg_filter', 'distinct': 'agg_distinct', 'n_rows': 'start_offset', 'framed': 'end_offset', 'over': 'over node_window_def partition_clause order_clause frame_options',
    'named': 'window_clause', 'based': 'refname', 'rollup': 'grouping_set_rollup node_grouping_set', 'cube': 'grouping_set_cube', 'sets': 'grouping_set_sets grouping_set_empty',
    'star': 'node_a_star', 'row': 'node_row_expr', 'any': 'oper_name any_sublink', 'all': 'all_sublink', 'lateral': 'lateral', 'intersect all': 'setop_intersect', 'except all': 'setop_except', 'exists': 'exists_sublink', 'in_list': 'testexpr', 'value': 'expr_sublink', 'union': 'setop_union',
    'union all': 'all', 'intersect': 'setop_intersect', 'except': 'setop_except', 'with': 'with_clause ctes ctename ctequery node_common_table_expr', 'with names': 'aliascolnames', 'recursive': 'recursive',
    'natural': 'is_natural', 'using': 'using_clause', 'left': 'join_left', 'right': 'join_right', 'full': 'join_full', 'inner': 'join_inner node_join_expr jointype quals larg rarg',
    'sub': 'subquery node_range_subselect', 'values': 'values_lists colnames', 'series': 'node_range_function functions', 'offset': 'limit_offset', 'limit': 'limit_count',
    'having': 'having_clause', 'cast_number': 'typmods', 'null': 'isnull'}.items() for name in names.split()}


class Maker(Subqueries):
    def __init__(self, draw, peer, want=None):
        self.draw, self.peer = draw, peer
        self.wanted = FOUND_IN.get((want or '').split(':')[-1])
        self.types = PLAIN if peer == 'sqlite' else TYPES
        self.named = 0
        self.ctes = []

    def chance(self, p, *features):
        """Whether: mostly when one of these is what is wanted."""
        return self.draw.chance(0.6 if self.wanted in features else p)

    def choice(self, among):
        """One of them: mostly what is wanted."""
        return self.wanted if self.wanted in among and self.draw.chance(0.6) else self.draw.choice(among)

    def name(self, prefix):
        self.named += 1
        return f'{prefix}{self.named}'

    # ---- expressions. scope: [alias, {column: type}, unique columns or None] ----

    def literal(self, type):
        return ['lit', type, 'null' if self.chance(0.02, 'null') else self.draw.choice(LITERALS[type])]

    def column(self, type, scope):
        among = [(alias, name) for alias, columns, _ in scope for name, t in columns.items() if t == type]
        if not among:
            return None
        alias, name = self.draw.choice(among)
        return ['col', type, alias, name]

    def leaf(self, type, scope):
        if not self.chance(0.25, 'null'):
            column = self.column(type, scope)
            if column:
                return column
        return self.literal(type)

    def expr(self, type, scope, depth):
        draw = self.draw
        if depth <= 0 or draw.chance(0.2):
            return self.leaf(type, scope)

        def sub(t=type):
            return self.expr(t, scope, depth - 1)

        common = ['leaf', 'case', 'simple_case', 'coalesce', 'nullif'] + (['greatest'] if type not in ('bool', 'wild') and self.peer != 'sqlite' else [])
        own = {'int': ['+', '-', '*', '//', '%', 'neg', 'abs', 'sign', 'length', 'position', 'extract', 'cast_float', 'chain'],
               'big': ['leaf', 'lit'], 'wild': ['leaf'], 'float': ['+', '-', '*', '/', 'neg', 'abs', 'floor', 'ceil', 'cast_int'],
               'dec': ['+', '-', 'neg', 'abs', 'cast_number', 'lit', 'plus_exact'],
               'text': ['||', 'lower', 'upper', 'substring', 'left', 'right', 'trim', 'replace', 'reverse', 'repeat', 'lpad', 'rpad', 'split_part', 'cast_text', 'initcap'],
               'date': ['plus_days', 'plus_months', 'trunc'], 'ts': ['plus_hours', 'trunc'],
               'bool': ['<', '=', '<>', '>=', 'and', 'or', 'not', 'isnull', 'between', 'in', 'like', 'distinct_from', 'is_true', 'starts', 'regex']}[type]
        if self.peer == 'sqlite':
            own = [o for o in own if o not in ('lower', 'upper', 'extract', 'left', 'right', 'reverse', 'repeat', 'lpad', 'rpad', 'split_part', 'initcap', 'floor', 'ceil', 'sign', 'cast_float',
                                               'position', 'distinct_from', 'is_true', 'starts', 'regex', 'cast_text', 'chain')]
        kind = self.choice(own * 2 + common) if type not in ('big', 'wild') else self.choice(own + common)
        if kind == 'leaf':
            return self.leaf(type, scope)
        if kind == 'lit':
            return self.literal(type)
        if kind == 'case':
            return ['case', type, [[self.expr('bool', scope, depth - 1), sub()] for _ in range(draw.randint(1, 2))], sub() if draw.chance(0.7) else None]
        if kind == 'simple_case':
            t = draw.choice(('int', 'text'))
            return ['simple_case', type, sub(t), [[self.literal(t), sub()]], sub() if draw.chance(0.7) else None]
        if kind in ('coalesce', 'greatest'):
            return ['call', type, draw.choice(['greatest', 'least']) if kind == 'greatest' else kind, [sub(), sub()] + ([sub()] if draw.chance(0.3) else [])]
        if kind == 'nullif':
            return ['call', type, 'nullif', [sub(), self.leaf(type, scope)]]
        if kind == 'chain':  # precedence: printed without brackets
            return ['chain', type, self.leaf('int', scope), *[y for _ in range(draw.randint(2, 3)) for y in (draw.choice(['+', '-', '*', '//', '%']), ['lit', 'int', draw.choice(['1', '2', '3', '7'])])]]
        if kind == 'plus_exact':
            return ['bin', type, draw.choice('+-'), sub(), self.leaf(draw.choice(EXACT), scope)]
        if type in ('int', 'float', 'dec') and kind in ('+', '-', '*', '//', '%', '/'):
            return ['bin', type, kind, sub() if kind != '*' else self.leaf(type, scope), self.leaf(type, scope) if kind in '*/%//' else sub()]
        if kind == 'neg':
            return ['neg', type, sub()]
        if kind in ('abs', 'sign', 'floor', 'ceil', 'lower', 'upper', 'reverse', 'initcap'):
            return ['call', type, kind, [sub()]]
        if kind == 'length':
            return ['call', type, draw.choice(['length', 'char_length']), [sub('text')]] if self.peer != 'sqlite' else ['call', type, 'length', [sub('text')]]
        if kind == 'position':
            return ['position', type, sub('text'), self.leaf('text', scope), draw.chance(0.5)]
        if kind == 'extract':
            return ['extract', type, draw.choice(['year', 'month', 'day', 'quarter', 'doy', 'dow', 'isodow', 'week']), sub('date')]
        if kind in ('cast_float', 'cast_int', 'cast_number', 'cast_text'):
            source = {'cast_float': 'float', 'cast_int': 'int', 'cast_number': 'int', 'cast_text': draw.choice(['int', 'dec', 'date', 'bool'])}[kind]
            return ['cast', type, sub(source), draw.chance(0.5)]
        if kind == '||':
            return ['bin', type, '||', sub(), sub()]
        if kind == 'substring':
            return ['substring', type, sub(), draw.randint(1, 4), draw.choice([None, 0, 1, 3]), draw.chance(0.5)]
        if kind in ('left', 'right', 'repeat'):
            return ['call', type, kind, [sub(), ['lit', 'int', str(draw.randint(-2 if kind != 'repeat' else 0, 3))]]]
        if kind in ('lpad', 'rpad'):
            return ['call', type, kind, [sub(), ['lit', 'int', str(draw.randint(0, 5))], ['lit', 'text', draw.choice(["' '", "'xy'"])]]]
        if kind == 'trim':
            return ['trim', type, sub(), draw.choice(['both', 'leading', 'trailing'])]
        if kind == 'replace':
            return ['call', type, 'replace', [sub(), ['lit', 'text', draw.choice(["'a'", "'b'", "'ab'"])], self.leaf('text', scope)]]
        if kind == 'split_part':
            return ['call', type, 'split_part', [sub(), ['lit', 'text', draw.choice(["'_'", "'b'"])], ['lit', 'int', str(draw.choice([1, 2, -1]))]]]
        if kind == 'plus_days':
            return ['bin', type, draw.choice('+-'), sub(), ['lit', 'int', str(draw.randint(0, 40))]]
        if kind in ('plus_months', 'plus_hours'):
            unit = draw.choice(['month', 'year', 'day']) if kind == 'plus_months' else draw.choice(['hour', 'minute', 'second', 'month'])
            return ['interval', type, draw.choice('+-'), sub(), draw.randint(0, 14), unit, draw.choice([0, 0, 1, 2])]
        if kind == 'trunc':
            return ['trunc', type, draw.choice(['year', 'month', 'week', 'day', 'quarter'] + (['hour'] if type == 'ts' else [])), sub()]
        return self.condition(kind, scope, depth)

    def condition(self, kind, scope, depth):
        draw = self.draw
        t = draw.choice([t for t in self.types if t != 'bool'])

        other = draw.choice(EXACT) if t in EXACT and self.peer != 'sqlite' and draw.chance(0.3) else t

        def sub(t):
            return self.expr(t, scope, depth - 1)

        if kind in ('<', '=', '<>', '>='):
            return ['bin', 'bool', draw.choice(['<', '<=', '=', '<>', '>', '>=']), sub(t), sub(other)]
        if kind in ('and', 'or'):
            return ['bin', 'bool', kind, sub('bool'), sub('bool')]
        if kind == 'not':
            return ['not', 'bool', sub('bool')]
        if kind == 'isnull':
            return ['isnull', 'bool', sub(t), draw.chance(0.5)]
        if kind == 'between':
            return ['between', 'bool', sub(t), self.leaf(t, scope), self.leaf(t, scope), draw.chance(0.3)]
        if kind == 'in':
            return ['in', 'bool', sub(t), [self.leaf(draw.choice([t, other]), scope) for _ in range(draw.randint(1, 3))] + ([['lit', t, 'null']] if draw.chance(0.15) else []), draw.chance(0.4)]
        if kind == 'like':
            return ['like', 'bool', sub('text'), draw.choice(PATTERNS), draw.chance(0.3), draw.chance(0.3) and self.peer != 'sqlite']
        if kind == 'distinct_from':
            return ['distinct_from', 'bool', sub(t), sub(other), draw.chance(0.5)]
        if kind == 'is_true':
            return ['is', 'bool', sub('bool'), draw.choice(['true', 'false', 'unknown', 'not true', 'not false', 'not unknown'])]
        if kind == 'regex':
            return ['regex', 'bool', sub('text'), draw.choice(["'^a'", "'[a-z]'", "'b$'", "'^[^a]*$'", "'é'", "'a|x'"]), draw.choice(['~', '!~'])]
        return ['call', 'bool', 'starts_with', [sub('text'), self.leaf('text', scope)]]

    # ---- FROM ----

    def source(self, depth, outer=True):
        """[from tree, scope entry]"""
        draw = self.draw
        alias = self.name('r')
        form = {'sub': 0.1, 'values': 0.95, 'series': 0.98, 'with': 0.3, 'with names': 0.3}.get(self.wanted) if draw.chance(0.5) else None
        form = form or draw.random()
        if depth > 0 and form < 0.15:
            query, columns = self.query(depth - 1)
            return ['sub', query, alias], [alias, columns, None]
        if self.ctes and form < 0.4:
            name, columns = draw.choice(self.ctes)
            return ['table', name, alias], [alias, dict(columns), None]
        if form > 0.97 and self.peer != 'sqlite':
            series = [draw.randint(-2, 2), draw.randint(0, 6), draw.choice([1, 2, 3])]
            return ['series', series, alias], [alias, {alias: 'int'}, [alias]]
        if form > 0.93:
            width = draw.randint(1, 2)
            rows = [[self.literal(t)[2] if draw.chance(0.8) else 'null' for t in ('int', 'text')[:width]] for _ in range(draw.randint(1, 3))]
            rows[0] = [LITERALS[t][1] for t in ('int', 'text')[:width]]
            return ['values', rows, alias], [alias, dict(zip(['v1', 'v2'][:width], ['int', 'text'])), None]
        table = draw.choice(TABLES[:3] * 3 + TABLES[3:])
        return ['table', table, alias], [alias, {n: t for n, t in COLUMNS.items() if t in self.types}, ['id']]

    def natural(self):
        """Two tables of few columns that share one or two."""
        draw = self.draw
        sides = []
        for own in draw.sample(['i', 's', 'f'], 2):
            sides.append(['narrow', draw.choice(TABLES[:3]), ['k', own] + (['id'] if len(sides) == 0 or draw.chance(0.3) else []), self.name('r')])
        joined = draw.choice(['inner', 'left', 'full'] if self.peer != 'sqlite' else ['inner', 'left'])
        return ['natural', joined, *sides], [[alias, {n: COLUMNS[n] for n in names if joined != 'full' or [s[2].count(n) for s in sides] != [1, 1]}, None] for _, _, names, alias in sides]

    def tables(self, depth):
        draw = self.draw
        if self.chance(0.03, 'natural'):
            return self.natural()
        tree, entry = self.source(depth)
        scope = [entry]
        for _ in range(1 if self.wanted in ('inner', 'left', 'right', 'full', 'using') else draw.choice([0, 0, 0, 1, 1, 2])):
            other, entry = self.source(depth)
            join = self.choice(['inner', 'left', 'right', 'full', 'cross'] if len(scope) == 1 else ['inner', 'left'])
            if join in ('right', 'full') and self.peer == 'sqlite':
                join = 'left'
            if join == 'cross':
                tree = ['join', 'cross', tree, other, None]
            else:
                t = draw.choice([t for t in ('int', 'text', 'int') if self.column(t, scope) and self.column(t, [entry])] or [None])
                if join in ('inner', 'left', 'right') and self.peer != 'sqlite' and draw.chance(0.15):  # on any condition
                    tree = ['join', join, tree, other, self.expr('bool', scope + [entry], 1)]
                elif t is None:
                    tree, join = ['join', 'cross', tree, other, None], 'cross'
                else:
                    on = ['bin', 'bool', '=', self.column(t, scope), self.column(t, [entry])]
                    if draw.chance(0.3):
                        on = ['bin', 'bool', 'and', on, self.expr('bool', scope + [entry] if join != 'full' else [entry], 1)]
                    if join == 'full':
                        on = on if on[2] == '=' else on[3]
                    if len(scope) == 1 and self.shared(scope[0], entry) and self.chance(0.4, 'using'):
                        on = ['using', 'bool', draw.choice(self.shared(scope[0], entry))]
                    tree = ['join', join, tree, other, on]
            scope = scope + [entry]
        if self.peer != 'sqlite' and self.chance(0.08, 'lateral'):
            tree, scope = self.lateral(tree, scope, min(depth, 1))
        return tree, scope

    @staticmethod
    def shared(left, right):
        """Names that USING may have."""
        return [n for n in ('k', 'i', 's') if left[1].get(n) and left[1].get(n) == right[1].get(n)]

    def subquery_condition(self, scope, depth):
        """IN, EXISTS or a value of another table, perhaps with a column of this one."""
        draw = self.draw
        if self.peer != 'sqlite' and draw.chance(0.8 if self.wanted == 'all' else 0.6):
            return self.deep_condition(scope, min(depth, 2))
        alias = self.name('q')
        inner = [alias, {n: t for n, t in COLUMNS.items() if t in self.types}, ['id']]
        table = draw.choice(TABLES)
        t = draw.choice([t for t in ('int', 'text') if self.column(t, scope)] or [None])
        if t is None:
            return self.literal('bool') if self.peer != 'sqlite' else ['bin', 'bool', '=', self.literal('int'), self.literal('int')]
        equal = ['bin', 'bool', '=', self.column(t, [inner]), self.column(t, scope)]
        where = self.expr('bool', [inner], 1) if draw.chance(0.6) else None
        kind = self.choice(['in', 'in_list', 'exists', 'exists', 'value', 'value', 'row'] + (['any'] if self.peer != 'sqlite' else []))
        if kind == 'row' and self.column('text', scope) and self.column('int', scope):
            return ['in_query', 'bool', ['row', 'row', self.column('int', scope), self.column('text', scope)],
                    {'table': table, 'alias': alias, 'item': ['pair', 'row', self.column('int', [inner]), self.column('text', [inner])], 'where': where}, False]
        if kind == 'any':
            return ['any_query', 'bool', self.column(t, scope), {'table': table, 'alias': alias, 'item': self.column(t, [inner]), 'where': where}]
        if kind in ('in', 'in_list', 'row'):
            return ['in_query', 'bool', self.column(t, scope), {'table': table, 'alias': alias, 'item': self.column(t, [inner]), 'where': where}, draw.chance(0.4)]
        where = ['bin', 'bool', 'and', equal, where] if where else equal
        if kind == 'exists':
            return ['exists', 'bool', {'table': table, 'alias': alias, 'item': ['lit', 'int', '1'], 'where': where}, draw.chance(0.4)]
        number = self.column('int', scope) or self.literal('int')
        item = ['agg', 'int', draw.choice(['max', 'min', 'count']), [['col', 'int', alias, 'i']], False, None]
        value = ['scalar', 'int', {'table': table, 'alias': alias, 'item': item, 'where': where if draw.chance(0.7) else None}]
        if draw.chance(0.4):
            value = ['call', 'int', 'coalesce', [value, ['lit', 'int', '0']]]
        return ['bin', 'bool', draw.choice(['<', '=', '>=']), number, value]

    # ---- aggregates and windows ----

    AGGREGATES = {'int': ['sum', 'min', 'max', 'count', 'count*', 'sum of different', 'bit_and', 'bit_or', 'bit_xor', 'regr_count', 'disc'], 'float': ['sum', 'avg', 'min', 'max', 'stddev', 'variance', 'stddev_pop', 'var_pop', 'stddev_samp', 'var_samp', 'percentile', 'corr', 'covar_samp',
                                                                         'avg of different', 'disc', 'covar_pop', 'regr_avgx', 'regr_avgy', 'regr_sxx', 'regr_syy', 'regr_sxy'],
                  'dec': ['sum', 'min', 'max'], 'text': ['min', 'max', 'string_agg', 'string_agg', 'disc'], 'date': ['min', 'max'], 'ts': ['min', 'max'], 'big': ['min', 'max'], 'wild': [], 'bool': ['bool_and', 'bool_or', 'every']}

    def aggregate(self, type, scope, depth):
        draw = self.draw
        functions = self.AGGREGATES[type]
        if self.peer == 'sqlite':
            functions = [f for f in functions if f in ('sum', 'avg', 'min', 'max', 'count', 'count*')]
        if not functions:
            return None
        function = self.choice(functions)
        within = self.expr('bool', scope, 1) if self.chance(0.25, 'filter') else None
        if function == 'count*':
            return ['agg', 'int', 'count', [], False, within]
        if function == 'percentile':
            return ['percentile', 'float', draw.choice(['0', '0.25', '0.5', '0.9', '1']), self.expr('float', scope, 1), draw.chance(0.4), within]
        if function == 'disc':
            down = draw.chance(0.4)  # of 0 DuckDB takes the other end then
            return ['percentile', type, draw.choice(['0.25', '0.5', '0.9', '1'] + ([] if down else ['0'])), self.expr(type, scope, 1), down, within, 'disc']
        if function in ('sum of different', 'avg of different'):
            return ['agg', type, function[:3], [self.leaf('int', scope)], True, within]
        if function == 'string_agg':
            value = self.leaf('text', scope) if draw.chance(0.7) else self.expr('text', scope, 1)
            if draw.chance(0.3):
                return ['joined', 'text', value, [[value, draw.chance(0.5), draw.chance(0.5)]], True, within]
            # equal keys stand in any order: the value decides last
            keys = [self.leaf(draw.choice([t for t in ('int', 'date', 'text', 'float') if t in self.types]), scope) for _ in range(draw.choice([0, 1, 2]))] + [value]
            return ['joined', 'text', value, [[k, draw.chance(0.5), draw.chance(0.5)] for k in keys], False, within]
        if function.startswith(('regr_', 'covar_')) or function == 'corr':
            return ['agg', 'float', function, [self.expr('float', scope, 1), self.expr('float', scope, 1)], False, within]
        if function == 'count':
            t = draw.choice([t for t in self.types if t != 'wild'])  # a nan is missing in aggregates: sql.md
            distinct = self.chance(0.4, 'distinct')
            return ['agg', 'int', 'count', [self.expr(t, scope, 1) if not distinct else self.leaf(t, scope)], distinct, within]
        if function == 'avg' and draw.chance(0.5):
            return ['agg', 'float', 'avg', [self.expr('int', scope, 1)], False, within]
        return ['agg', type, function, [self.expr(type, scope, max(0, depth - 1))], False, within]

    def window(self, scope, depth):
        draw = self.draw
        unique = [['col', 'int', alias, name] for alias, _, names in scope if names for name in names] if all(s[2] for s in scope) else None
        t = draw.choice(self.types)
        partition = [self.leaf(draw.choice(self.types), scope) for _ in range(draw.choice([0, 1, 1, 2]))]
        order = [[self.leaf(draw.choice(self.types), scope), draw.chance(0.5), draw.chance(0.5)] for _ in range(draw.randint(1, 2))]
        kind = self.choice(['rank', 'dense_rank', 'sum', 'count', 'avg', 'min', 'max', 'count*', 'all'] + (['row_number', 'lag', 'lead', 'ntile', 'first_value', 'last_value', 'nth_value', 'rows', 'rows', 'n_rows', 'framed'] if unique else []) + ['percent_rank', 'cume_dist', 'framed', 'framed'])
        frame = None
        if kind in ('row_number', 'lag', 'lead', 'ntile', 'first_value', 'last_value', 'nth_value', 'rows', 'n_rows'):
            order = order + [[u, False, False] for u in unique]
        if kind == 'all':
            order = []
        if kind == 'rows':
            frame = 'rows between unbounded preceding and current row'
        if kind == 'n_rows':
            frame = f'rows {draw.randint(0, 3)} preceding'
        if kind == 'framed':
            frame, order = self.frame(order, unique)
        if kind in ('percent_rank', 'cume_dist'):
            call, type = [kind, []], 'float'
        elif kind in ('rank', 'dense_rank', 'row_number'):
            call, type = [kind, []], 'int'
        elif kind == 'ntile':
            call, type = [kind, [['lit', 'int', str(draw.randint(1, 4))]]], 'int'
        elif kind in ('lag', 'lead'):
            call, type = [kind, [self.leaf(t, scope)] + ([['lit', 'int', str(draw.choice([-2, -1, 0, 1, 2, 3] if self.peer != 'sqlite' else [0, 1, 2, 3]))]] if draw.chance(0.5) else [])], t
            if len(call[1]) > 1 and draw.chance(0.4):
                call[1].append(self.leaf(t, scope))
        elif kind == 'nth_value':
            call, type = [kind, [self.leaf(t, scope), ['lit', 'int', str(draw.randint(1, 3))]]], t
        elif kind in ('first_value', 'last_value'):
            call, type = [kind, [self.leaf(t, scope)]], t
        else:
            function = draw.choice(['sum', 'avg', 'min', 'max', 'count']) if kind in ('rows', 'n_rows', 'all', 'framed') else kind
            if kind == 'framed' and draw.chance(0.4) and self.peer != 'sqlite':
                function = draw.choice(['stddev', 'var_pop', 'bool_and', 'bool_or'])
            if function == 'count*':
                call, type = ['count', []], 'int'
            elif function == 'count':
                call, type = ['count', [self.leaf(draw.choice([t for t in self.types if t != 'wild']), scope)]], 'int'
            elif function == 'avg':
                call, type = ['avg', [self.leaf(draw.choice(['int', 'float']), scope)]], 'float'
            elif function == 'sum':
                type = draw.choice([x for x in ('int', 'float', 'dec') if x in self.types])
                call = ['sum', [self.leaf(type, scope)]]
                if kind in ('n_rows', 'framed') and type == 'int':
                    type = 'float'
            elif function in ('stddev', 'var_pop'):
                call, type = [function, [self.leaf('int', scope)]], 'float'
            elif function in ('bool_and', 'bool_or'):
                call, type = [function, [self.leaf('bool', scope)]], 'bool'
            else:
                type = draw.choice([x for x in self.types if x not in ('wild', 'bool')])
                call = [function, [self.leaf(type, scope)]]
        return ['win', type, call, partition, order, frame]

    def frame(self, order, unique):
        """A frame, and the order that makes its rows known."""
        draw = self.draw
        modes = ['groups', 'range', 'range'] + (['rows', 'rows'] if unique else [])
        mode = draw.choice(modes)
        ends = ['unbounded preceding', '{} preceding', 'current row', '{} following', 'unbounded following']
        steps = {'int': ['0', '1', '3'], 'float': ['0', '1', '2.5'], 'dec': ['1', '0.25'], 'date': ["interval '2 days'", "interval '1 month'"], 'ts': ["interval '90 minutes'", "interval '1 day'"]}
        if mode == 'rows':
            order = order + [[u, False, False] for u in unique]
        if mode == 'range':
            order = order[:1]
        among = steps.get(order[0][0][1], []) if mode == 'range' else ['0', '1', '2']
        if self.peer == 'sqlite' and mode == 'range':
            among = []  # its dates are texts, and its columns may hold anything
        while True:
            first, last = draw.randint(0, 3), draw.randint(1, 4)
            if (first < last or first == last == 2) and (among or (first in (0, 2) and last in (2, 4))):
                break
        bounds = [ends[end].format(draw.choice(among) if among else '') for end in (first, last)]
        exclude = draw.choice(['', '', '', ' exclude current row', ' exclude group', ' exclude ties', ' exclude no others'])
        return f'{mode} between {bounds[0]} and {bounds[1]}{exclude}', order

    # ---- SELECT ----

    def form(self):
        """Which form of SELECT, as a number below 1."""
        if self.draw.chance(0.6):
            if self.wanted == 'star':
                return 0.01
            if self.wanted in ('percentile', 'filter', 'distinct', 'rollup', 'cube', 'sets', 'having'):
                return 0.2
            if self.wanted in ('over', 'n_rows', 'named', 'based'):
                return 0.5
        return self.draw.random()

    def select(self, depth, types=None):
        draw = self.draw
        tree, scope = self.tables(depth)
        types = types or [draw.choice(self.types) for _ in range(draw.randint(1, 4))]
        where = None
        if draw.chance(0.6):
            where = self.subquery_condition(scope, depth) if self.chance(0.3, 'row', 'any', 'all', 'exists', 'in_list', 'value') else self.expr('bool', scope, 2)
            if draw.chance(0.2):
                where = ['bin', 'bool', draw.choice(['and', 'or']), where, self.expr('bool', scope, 1)]
        made = {'from': tree, 'where': where, 'distinct': False, 'group': None, 'having': None, 'named': self.chance(0.3, 'named', 'based'), 'based': self.chance(0.3, 'based')}
        form = self.form()
        if form < 0.06 and len(scope) == 1 and (self.peer != 'sqlite' or tree[0] != 'table' or tree[1] not in TABLES):  # SQLite's tables have fewer columns
            made['star'] = True
            items = [['col', t, scope[0][0], name] for name, t in scope[0][1].items()]
            made['distinct'] = draw.chance(0.2)
            made['items'] = [[item, item[3]] for item in items]
            return made
        if form < 0.35:
            keys = [self.expr(draw.choice(self.types), scope, draw.choice([0, 0, 1])) for _ in range(draw.choice([0, 1, 1, 2] if self.wanted not in ('rollup', 'cube', 'sets') else [1, 2]))]
            keys = [k for k in keys if has(k, ('col',)) or not has(k, ('lit',))]  # a constant alone would be a column's place
            several = bool(keys) and self.peer != 'sqlite' and all(has(k, ('col',)) for k in keys)  # of a constant that is a key twice PostgreSQL makes one null
            items = []
            for t in types:
                matching = [k for k in keys if k[1] == t]
                items.append(draw.choice(matching) if matching and draw.chance(0.6) else self.aggregate(t, scope, depth) or (matching[0] if matching else ['agg', 'int', 'count', [], False, None]))
            items = [self.lifted(i) if self.peer != 'sqlite' and i[0] == 'agg' and has(i, ('col',)) and draw.chance(0.12) else i for i in items]
            made['group'] = {'keys': keys, 'how': self.choice(['plain'] * 4 + (['rollup', 'cube', 'sets'] if several else []))} if keys else None
            if self.chance(0.3, 'having'):
                made['having'] = ['bin', 'bool', draw.choice(['>', '<=']), self.aggregate('int', scope, 0), ['lit', 'int', draw.choice(['0', '1', '3'])]]
            if not keys and all(not has(i, ('agg', 'percentile', 'joined')) for i in items):
                items[0] = ['agg', 'int', 'count', [], False, None]
        elif form < 0.55:
            items = [self.window(scope, depth) if draw.chance(0.6) else self.expr(t, scope, depth) for t in types]
        else:
            items = [self.expr(t, scope, depth) if self.peer == 'sqlite' or draw.chance(0.85) else self.deep_value(t, scope, min(depth, 2)) for t in types]
            made['distinct'] = draw.chance(0.2)
        made['items'] = [[item, f'c{i}'] for i, item in enumerate(items)]
        return made

    def recursion(self, name):
        """[what WITH RECURSIVE calls name, its columns]: a number that grows, and what the rounds make of the rows before and of a table."""
        draw = self.draw
        types = [draw.choice([t for t in self.types if t in PLAIN + ('date', 'bool', 'big')]) for _ in range(draw.randint(1, 3))]
        columns = {'n': 'int', **{f'c{i}': t for i, t in enumerate(types)}}
        tree, scope = self.tables(0)

        def arm(tree, number, scope, where):
            items = [number] + [self.expr(t, scope, 1) for t in types]
            return {'from': tree, 'where': where, 'distinct': False, 'group': None, 'having': None, 'named': False,
                    'items': [[['cast', item[1], item, False], column] for item, column in zip(items, columns)]}

        first = arm(tree, ['lit', 'int', '1'], scope, self.expr('bool', scope, 1) if draw.chance(0.6) else None)
        alias = self.name('r')
        tree, scope = ['table', name, alias], [[alias, columns, None]]
        joined = draw.chance(0.5)
        if joined:
            table, other = draw.choice(TABLES), self.name('r')
            scope = scope + [[other, {n: t for n, t in COLUMNS.items() if t in self.types}, ['id']]]
            on = ['bin', 'bool', '=', ['col', 'int', alias, draw.choice([n for n, t in columns.items() if t == 'int'])], ['col', 'int', other, draw.choice(['k', 'i', 'id'])]]
            tree = ['join', 'inner', tree, ['table', table, other], on]
        number = ['col', 'int', alias, 'n']
        where = ['bin', 'bool', '<', number, ['lit', 'int', draw.choice(['2', '3']) if joined else draw.choice(['2', '3', '5'])]]
        if draw.chance(0.5):
            where = ['bin', 'bool', 'and', where, self.expr('bool', scope, 1)]
        step = arm(tree, ['bin', 'int', '+', number, ['lit', 'int', '1']], scope, where)
        return {'arms': [first, step], 'all': draw.chance(0.5), 'recursive': True}, columns

    def query(self, depth, top=False):
        """[query, its columns]"""
        draw = self.draw
        made = {'with': []}
        if top and self.chance(0.06, 'recursive'):
            name = self.name('w')
            query, columns = self.recursion(name)
            made['with'].append([name, query, list(columns)])
            self.ctes.append((name, columns))
        if top and self.chance(0.2, 'with', 'with names'):
            for _ in range(draw.randint(1, 2)):
                name = self.name('w')
                query, columns = self.query(max(0, depth - 1))
                names = [f'{name}_{i}' for i in range(len(columns))] if self.chance(0.2, 'with names') else None
                made['with'].append([name, query] + ([names] if names else []))
                self.ctes.append((name, dict(zip(names, columns.values())) if names else columns))
        if self.chance(0.15, 'union', 'union all', 'intersect', 'except'):
            types = [draw.choice([t for t in self.types if t != 'wild']) for _ in range(draw.randint(1, 3))]
            arms = []
            for _ in range(draw.choice([2, 2, 3]) if self.peer != 'sqlite' else 2):  # SQLite has no precedence of INTERSECT
                tree, scope = self.tables(max(0, depth - 1))
                where = self.expr('bool', scope, 1) if draw.chance(0.5) else None
                arms.append({'from': tree, 'where': where, 'distinct': False, 'group': None, 'having': None, 'named': False, 'items': [[self.expr(t, scope, 1), f'c{i}'] for i, t in enumerate(types)]})
            made['arms'], made['between'] = arms, [self.choice(['union', 'union all', 'intersect', 'except'] + (['intersect all', 'except all'] if self.peer != 'sqlite' else [])) for _ in arms[1:]]
        else:
            made['arms'], made['between'] = [self.select(depth)], []
        columns = {name: item[1] for item, name in made['arms'][0]['items']}
        made['order'] = made['limit'] = made['offset'] = None
        if self.chance(0.5, 'limit', 'offset'):
            places = list(range(1, len(columns) + 1))
            draw.shuffle(places)
            made['order'] = [[p, draw.chance(0.5), draw.chance(0.5)] for p in places]
            if self.chance(0.5, 'limit', 'offset'):
                made['limit'] = draw.choice([0, 1, 3, 10, 1000])
                if self.chance(0.4, 'offset'):
                    made['offset'] = draw.choice([0, 1, 5])
        return made, columns


def has(tree, kinds):
    if isinstance(tree, list):
        return bool(tree) and isinstance(tree[0], str) and tree[0] in kinds or any(has(x, kinds) for x in tree)
    return isinstance(tree, dict) and any(has(x, kinds) for x in tree.values())


# ---- writing ----

class Writer:
    """dialect: 'granary', 'postgres', 'duckdb' or 'sqlite'."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.ours = dialect == 'granary'
        self.windows = None  # of the SELECT that is being written, when they are named
        self.based = False  # an order on top of a named partition

    def all(self, exprs):
        return ', '.join(self.expr(e) for e in exprs)

    def expr(self, e):
        return getattr(self, 'x_' + e[0])(*e[1:])

    def x_lit(self, type, text):
        if text == 'null':
            return f'cast(null as {self.type(type)})'
        if type in ('float', 'wild') and self.dialect != 'sqlite':
            return f'cast({text} as {self.type(type)})'
        return f'({text})' if text.startswith('-') else text

    def x_col(self, type, alias, name):
        return f'{alias}.{name}'

    def type(self, type):
        if self.dialect == 'sqlite':
            return {'int': 'integer', 'bool': 'integer', 'float': 'real', 'text': 'text'}[type]
        return (PG_CASTS if self.dialect == 'postgres' else OUR_CASTS)[type]

    def x_case(self, type, arms, other):
        whens = ' '.join(f'when {self.expr(c)} then {self.expr(x)}' for c, x in arms)
        return f'case {whens}{" else " + self.expr(other) if other else ""} end'

    def x_simple_case(self, type, value, arms, other):
        whens = ' '.join(f'when {self.expr(c)} then {self.expr(x)}' for c, x in arms)
        return f'case {self.expr(value)} {whens}{" else " + self.expr(other) if other else ""} end'

    def x_call(self, type, name, args):
        if name in ('greatest', 'least') and self.dialect == 'sqlite':
            name = {'greatest': 'max', 'least': 'min'}[name]
        text = f'{name}({self.all(args)})'
        return f'cast({text} as {self.type(type)})' if name == 'sign' and not self.ours else text  # PostgreSQL's is a float

    def operator(self, name):
        return '/' if name == '//' and self.dialect in ('postgres', 'sqlite') else name

    def x_chain(self, type, first, *rest):
        return '(' + self.expr(first) + ' ' + ' '.join(self.operator(r) if isinstance(r, str) else self.expr(r) for r in rest) + ')'

    def x_bin(self, type, op, a, b):
        if op in ('/', '//', '%'):
            return f'({self.expr(a)} {self.operator(op)} nullif({self.expr(b)}, 0))'
        return f'({self.expr(a)} {op} {self.expr(b)})'

    def x_neg(self, type, a):
        return f'(- {self.expr(a)})'

    def x_not(self, type, a):
        return f'(not {self.expr(a)})'

    def x_isnull(self, type, a, negated):
        return f'({self.expr(a)} is {"not " if negated else ""}null)'

    def x_is(self, type, a, what):
        return f'({self.expr(a)} is {what})'

    def x_between(self, type, a, low, high, negated):
        return f'({self.expr(a)} {"not " if negated else ""}between {self.expr(low)} and {self.expr(high)})'

    def x_in(self, type, a, among, negated):
        return f'({self.expr(a)} {"not " if negated else ""}in ({self.all(among)}))'

    def x_like(self, type, a, pattern, negated, nocase):
        return f'({self.expr(a)} {"not " if negated else ""}{"i" if nocase else ""}like {pattern}{" escape " + chr(39) + "!" + chr(39) if "!" in pattern else ""})'

    def x_regex(self, type, a, pattern, op):
        if self.dialect == 'duckdb':  # its ~ wants all of the text
            return f'({"not " if op == "!~" else ""}regexp_matches({self.expr(a)}, {pattern}))'
        return f'({self.expr(a)} {op} {pattern})'

    def x_distinct_from(self, type, a, b, negated):
        return f'({self.expr(a)} is {"not " if negated else ""}distinct from {self.expr(b)})'

    def x_position(self, type, a, b, word):
        return f'position({self.expr(b)} in {self.expr(a)})' if word else f'strpos({self.expr(a)}, {self.expr(b)})'

    def x_extract(self, type, part, a):
        return f'cast(extract({part} from {self.expr(a)}) as {self.type(type)})'

    def x_cast(self, type, a, short):
        return f'({self.expr(a)})::{self.type(type)}' if short and self.dialect != 'sqlite' else f'cast({self.expr(a)} as {self.type(type)})'

    def x_substring(self, type, a, start, count, words):
        if self.dialect == 'sqlite' or not words:
            return f'substr({self.expr(a)}, {start}{"" if count is None else f", {count}"})'
        return f'substring({self.expr(a)} from {start}{"" if count is None else f" for {count}"})'

    def x_trim(self, type, a, side):
        if self.dialect == 'sqlite':
            return f'{ {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[side]}({self.expr(a)})'
        return f'trim({side} from {self.expr(a)})'

    def x_using(self, type, name):
        return f'using ({name})'

    def x_row(self, type, a, b):
        return f'({self.expr(a)}, {self.expr(b)})'

    def x_pair(self, type, a, b):
        return f'{self.expr(a)}, {self.expr(b)}'

    def x_interval(self, type, op, a, count, unit, times):
        interval = f"interval '{count} {unit}'" + (f' * {times}' if times else '')
        text = f'({self.expr(a)} {op} {interval})'
        return f'cast({text} as {self.type(type)})'

    def x_trunc(self, type, part, a):
        return f"cast(date_trunc('{part}', {self.expr(a)}) as {self.type(type)})"

    # aggregates: PostgreSQL's sums of bigint are numeric, DuckDB's hugeint
    def x_agg(self, type, name, args, distinct, within):
        text = f'{name}({"distinct " if distinct else ""}{self.all(args) or "*"}){self.within(within)}'
        if self.dialect in ('postgres', 'duckdb') and name in ('sum', 'avg') and type in ('int', 'float'):
            return f'cast({text} as {self.type(type)})'
        return text

    def within(self, condition):
        return f' filter (where {self.expr(condition)})' if condition else ''

    def x_joined(self, type, value, order, distinct, within):
        keys = ', '.join(self.key(self.expr(e), down, first) for e, down, first in order)
        return f"string_agg({'distinct ' if distinct else ''}{self.expr(value)}, '|' order by {keys}){self.within(within)}"

    def x_percentile(self, type, share, a, down, within, how='cont'):
        return f'percentile_{how}({share}) within group (order by {self.expr(a)}{" desc" if down else ""}){self.within(within)}'

    def x_win(self, type, call, partition, order, frame):
        parts = []
        if partition:
            parts.append('partition by ' + self.all(partition))
        if order:
            parts.append('order by ' + ', '.join(self.key(self.expr(e), down, first) for e, down, first in order))
        if frame:
            parts.append(frame)
        over = f'({" ".join(parts)})'
        if self.windows is not None and self.based and partition and order:
            self.windows.append(f'o{len(self.windows)} as ({parts.pop(0)})')
            parts.insert(0, self.windows[-1].split(' ')[0])
            over = f'({" ".join(parts)})'
        elif self.windows is not None:
            self.windows.append(f'o{len(self.windows)} as {over}')
            over = self.windows[-1].split(' ')[0]
        text = f'{call[0]}({self.all(call[1]) or ("*" if call[0] == "count" else "")}) over {over}'
        if self.dialect in ('postgres', 'duckdb') and call[0] in ('sum', 'avg', 'ntile') and type in ('int', 'float'):
            return f'cast({text} as {self.type(type)})'
        return text

    @staticmethod
    def key(text, down, first):
        return f'{text}{" desc" if down else ""} nulls {"first" if first else "last"}'

    # subqueries
    def small(self, q):
        return write_query(self, q)

    def x_in_query(self, type, a, q, negated):
        return f'({self.expr(a)} {"not " if negated else ""}in {self.small(q)})'

    def x_any_query(self, type, a, q):
        return f'({self.expr(a)} = any {self.small(q)})'

    def x_quantified(self, type, a, operator, which, q):
        return f'({self.expr(a)} {operator} {which} {self.small(q)})'

    def x_exists(self, type, q, negated):
        return f'({"not " if negated else ""}exists {self.small(q)})'

    def x_scalar(self, type, q):
        return self.small(q)

    # SELECT
    def table(self, name):
        return name

    def tree(self, tree):
        if tree[0] == 'table':
            return f'{self.table(tree[1])} {tree[2]}'
        if tree[0] == 'sub':
            return f'({self.query(tree[1])}) {tree[2]}'
        if tree[0] == 'narrow':
            return f'(select {", ".join(tree[2])} from {self.table(tree[1])}) {tree[3]}'
        if tree[0] == 'natural':
            return f'{self.tree(tree[2])} natural {tree[1]} join {self.tree(tree[3])}'
        if tree[0] == 'series' and self.dialect == 'duckdb':
            return f'generate_series({", ".join(map(str, tree[1]))}) {tree[2]}({tree[2]})'
        if tree[0] == 'series':
            return f'generate_series({", ".join(map(str, tree[1]))}) {tree[2]}'
        if tree[0] == 'values':
            names = ', '.join(['v1', 'v2'][:len(tree[1][0])])
            rows = ', '.join('(' + ', '.join(row) + ')' for row in tree[1])
            if self.dialect == 'sqlite':
                picks = ', '.join(f'column{i + 1} as v{i + 1}' for i in range(len(tree[1][0])))
                return f'(select {picks} from (values {rows})) {tree[2]}'
            return f'(values {rows}) {tree[2]}({names})'
        if tree[0] == 'lateral':
            return f'{self.tree(tree[2])} {tree[1]} join lateral {self.small(tree[3])} {tree[4]}(c){" on true" if tree[1] == "left" else ""}'
        _, join, left, right, on = tree
        return f'{self.tree(left)} {join} join {self.tree(right)}{"" if not on else " " + self.expr(on) if on[0] == "using" else " on " + self.expr(on)}'

    def select(self, s):
        outer, self.windows, self.based = self.windows, [] if s['named'] else None, s.get('based', False)
        items = '*' if s.get('star') else ', '.join(f'{self.expr(e)} as {name}' for e, name in s['items'])
        windows, self.windows = self.windows, outer
        text = f'select {"distinct " if s["distinct"] else ""}{items} from {self.tree(s["from"])}'
        if s['where']:
            text += f' where {self.expr(s["where"])}'
        if s['group']:
            keys = self.all(s['group']['keys'])
            how = s['group']['how']
            text += ' group by ' + (keys if how == 'plain' else f'grouping sets (({keys}), ({self.expr(s["group"]["keys"][0])}), ())' if how == 'sets' else f'{how}({keys})')
        if s['having']:
            text += f' having {self.expr(s["having"])}'
        if windows:
            text += ' window ' + ', '.join(windows)
        return text

    def query(self, q):
        text = ''
        if 'recursive' in q:
            return f' union {"all " if q["all"] else ""}'.join(self.select(arm) for arm in q['arms'])
        if q['with']:
            text = f'with {"recursive " if any("recursive" in query for _, query, *_ in q["with"]) else ""}' + ', '.join(f'{name}{"(" + ", ".join(names[0]) + ")" if names else ""} as ({self.query(query)})' for name, query, *names in q['with']) + ' '
        arms = [self.select(arm) for arm in q['arms']]
        text += arms[0]
        for between, arm in zip(q['between'], arms[1:]):
            text += f' {between} {arm}'
        if q['order']:
            text += ' order by ' + ', '.join(self.key(str(p), down, first) for p, down, first in q['order'])
        if q['limit'] is not None:
            text += f' limit {q["limit"]}'
        if q['offset'] is not None:
            text += f' offset {q["offset"]}'
        return text
