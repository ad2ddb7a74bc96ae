"""Expressions: every function and operator through Python's methods against the models of tests/differ, and the rest against pandas."""
import datetime
import decimal
import math
import re
import unittest

import numpy as np
import pandas as pd

from frames_test import FramesTest, gr
import draw as d
import frame_model as m
from compare import same_rows
from expression_models import CALLS, EXPECTED_ERRORS
from expressions import COLUMNS, ROWS, python_value, table_of
from granary.frames import _made
from granary.frames._tables import functions
from granary.frames._sources import put
from test_operators import listed, to_columns

WITHOUT_METHOD = {'hash': 'values of its own: test_hash() here'}
# Functions that no case here comes to: those for SQL, and those whose cases have operands that Python's own cannot stand for.
OWN_TEST = {'HAMMING': 'texts of one length: test_own_operands() here', 'EPOCH_NS': 'years that nanoseconds reach: the same',
            'DATE_PART': 'parts that a column names: the same', 'CONCAT_THERE': 'concat^ of SQL', 'PART': 'substring^ of SQL', 'REGEXP_FOUND': 'regexp_extract^ of SQL',
            'PARSE_FILESTEM': 'parse_filename^ of SQL', 'FORMATTED': 'format^ of SQL'}
OPERATOR = {'+': lambda a, b: a + b, '-': lambda a, b: a - b, '*': lambda a, b: a * b, '/': lambda a, b: a / b, '//': lambda a, b: a // b,
            '%': lambda a, b: a % b, '=': lambda a, b: a == b, '<>': lambda a, b: a != b, '<': lambda a, b: a < b, '<=': lambda a, b: a <= b,
            '>': lambda a, b: a > b, '>=': lambda a, b: a >= b, 'and': lambda a, b: a & b, 'or': lambda a, b: a | b}


def method(name, operands):
    """The method that the table makes of a function, called on its subject."""
    function = functions('functions')[name]
    subject = _made.subject_of(function)
    if subject is None:
        return getattr(gr.functions, name)(*operands)
    place = function.arguments.index(subject)
    own, others = operands[place], operands[:place] + operands[place + 1:]
    own = own if isinstance(own, gr.Expr) else gr.lit(own)
    return getattr({'s': lambda: own.str, 'd': lambda: own.dt}.get(subject, lambda: own)(), name)(*others)


def options_of(form, options):
    return {f'[{i}]': m.literal(o) if isinstance(o, str) and o[0] == "'" else float(o) if re.fullmatch(r'[\d.]+e0', str(o)) else o for i, o in enumerate(options)}


def outside(text, between):
    """Parts between those that are in no quotes and no brackets."""
    parts, depth, quoted, begin = [], 0, False, 0
    for at, sign in enumerate(text):
        quoted ^= sign == "'"
        depth += 0 if quoted else {'(': 1, ')': -1}.get(sign, 0)
        if text.startswith(between, at) and depth == 0 and not quoted:
            parts.append(text[begin:at])
            begin = at + len(between)
    return parts + [text[begin:]]


def build(form, operands, options):
    """The form of a call, made by Python; None when there is no way in Python."""
    given = options_of(form, options)
    if '{...}' in form:
        form = form.replace('{...}', ', '.join(f'{{{i}}}' for i in range(len(operands))))

    def operand(text):
        text = text.strip()
        if text in given:
            return given[text]
        if text in ('true', 'false'):
            return text == 'true'
        found = re.fullmatch(r'\{(\d)\}', text)
        if found:
            return operands[int(found.group(1))]
        if text[0] == "'" and text.count("'") == 2:
            for i, option in enumerate(options):
                text = text.replace(f'[{i}]', str(option))
            return m.literal(text)
        if re.fullmatch(r'-?[\d.]+(e\d+)?', text):
            return float(text) if '.' in text or 'e' in text else int(text)
        span = re.fullmatch(r"interval '(\[\d\])' (\[\d\])", text)
        if span:
            return gr.interval(**{given[span.group(2)] + 's': given[span.group(1)]})
        for sign, make in (('||', gr.functions.concat), ('+', OPERATOR['+']), ('%', OPERATOR['%'])):
            sides = outside(text, f' {sign} ')
            if len(sides) == 2:
                return make(operand(sides[0]), operand(sides[1]))
        return build(text, operands, options)

    if ' [0] ' in form and form.count('[0]') == 1 and options[0] in OPERATOR:
        left, right = form.split(' [0] ')
        return OPERATOR[options[0]](operand(left), operand(right))
    for sign in ('is not null', 'is null'):
        if form == '{0} ' + sign:
            return operands[0].is_null() if sign == 'is null' else operands[0].is_not_null()
    if form == 'not {0}':
        return ~operands[0]
    if form == '-{0}':
        return -operands[0]
    found = re.fullmatch(r'\{0\} (\S+) \{1\}', form)
    if found:
        function = OPERATOR.get(found.group(1))
        return None if function is None else function(*operands)
    if form == '{0} in ({1}, {2})':
        return operands[0].is_in(operands[1:])
    if form.startswith('case when {0} < {1}'):
        return gr.when(operands[0] < operands[1]).then(operands[2]).otherwise(operands[0])
    if form.startswith('case {0}'):
        return gr.when(operands[0] == operands[1]).then(operands[2])
    if form.startswith('if('):
        return gr.when(operands[0]).then(operands[1]).otherwise(operands[2])
    found = re.fullmatch(r'(try_)?cast\((.*) as ([\w()]+)\)', form)
    if found:
        return operand(found.group(2)).cast(found.group(3), strict=not found.group(1))
    if form in ('{0} like [0]', '{0} ilike [0]'):
        return operands[0].like(given['[0]'], case='ilike' not in form)
    if form == '{0} not like [0]':
        return ~operands[0].like(given['[0]'])
    if 'interval' in form and '[2]' in given:
        step = gr.interval(**{given['[2]'] + 's': given['[1]']})
        return operands[0] + step if given['[0]'] == '+' else operands[0] - step
    found = re.fullmatch(r'(\w+)\((.*)\)', form)
    if found and found.group(1) in functions('functions'):
        made = [operand(a) for a in outside(found.group(2), ',') if a.strip()]
        return None if any(one is None for one in made) else method(found.group(1), made)
    return None


class Expressions(FramesTest):
    def test_every_function_against_the_model(self):
        draw, kept = d.Draw('expressions'), table_of(5)
        frame = put(to_columns(kept, True), ROWS, 2)
        hit, batch = set(), []
        for number, call in enumerate(CALLS * 3):
            names, operands, columns = [], [], []
            for kind in call.kinds if not call.many else call.kinds[:-1] + call.kinds[-1:] * 2:
                name, dtype = draw.choice(COLUMNS[draw.choice(kind.split('|')) if '|' in kind else kind])
                values = [python_value(v, dtype) for v in kept[name]['values']]
                value = draw.choice(values)
                if operands and draw.chance(0.3) and value is not None and not isinstance(value, (float, decimal.Decimal)):
                    names.append(repr(value))
                    operands.append(value)
                    columns.append([value] * ROWS)
                else:
                    names.append(name)
                    operands.append(gr.col(name))
                    columns.append(values)
            options = [draw.choice(o) for o in call.options]
            made = None if call.name in OWN_TEST else build(call.form, operands, options)
            if made is None:
                continue
            hit.add(call.name)
            try:
                with np.errstate(all='ignore'):
                    theirs = [call.value(row, options) for row in zip(*columns)]
            except (OverflowError, ValueError, ZeroDivisionError, decimal.InvalidOperation):
                continue
            batch.append((call, made, theirs, names))
        done = None
        try:
            done = frame.select(**{f'r{i}': made for i, (_, made, _, _) in enumerate(batch)}).collect().to_dict()
        except (gr.GranaryError, OverflowError):
            pass  # one by one
        for i, (call, made, theirs, names) in enumerate(batch):
            with self.subTest(call=call.form, of=names, expression=repr(made)):
                try:
                    ours = done[f'r{i}'] if done else frame.select(r=made).collect().to_dict()['r']
                except (gr.GranaryError, OverflowError) as error:
                    self.assertTrue(any(w in str(error) for w in EXPECTED_ERRORS + ('do not reach',)), error)
                    continue
                ours = [datetime.datetime(v.year, v.month, v.day) if type(v) is datetime.date and isinstance(t, datetime.datetime) else v for v, t in zip(ours, theirs)]
                theirs = [datetime.datetime(t.year, t.month, t.day) if type(t) is datetime.date and isinstance(v, datetime.datetime) else t for v, t in zip(ours, theirs)]
                self.assertIsNone(same_rows([[v] for v in ours], [[v] for v in theirs], True, call.tolerance))
        models = {c.name for c in CALLS if not c.name.startswith(('TOTAL_', 'SHORT_'))}
        self.assertEqual(sorted(models - hit), sorted(OWN_TEST), 'operators of expressions that no method makes')

    def test_every_function_has_a_method(self):
        for name, function in functions('functions').items():
            if name.endswith('^'):  # SQL's form of a function
                continue
            with self.subTest(function=name):
                subject = _made.subject_of(function)
                if subject is not None:
                    owner = {'s': _made.StrMethods, 'd': _made.DtMethods}.get(subject, gr.Expr)
                    for alias in [name, *function.aliases]:
                        self.assertTrue(callable(getattr(owner, alias)))
                self.assertTrue(callable(getattr(gr.functions, name)))
        self.assertFalse(set(WITHOUT_METHOD) - set(functions('functions')))

    def values(self, **expressions):
        return gr.from_pandas(self.frame, pieces=2).select(**expressions).collect().to_pandas(nullable=False)

    def setUp(self):
        random = np.random.default_rng(3)
        rows = 40
        self.frame = pd.DataFrame({
            'x': random.normal(size=rows), 'i': random.integers(-5, 6, rows), 'j': random.integers(1, 5, rows),
            's': random.choice(['a', 'B', 'ab c', 'é', ''], rows), 'b': random.random(rows) < 0.5, 'g': random.choice(['u', 'v'], rows),
            't': pd.to_datetime('2020-01-31') + pd.to_timedelta(random.integers(0, 10**6, rows), unit='s')})
        self.frame.loc[[3, 7], 'x'] = np.nan

    def test_operators_against_pandas(self):
        f, c = self.frame, gr.col
        both = {'a': (c('x') + c('i'), f.x + f.i), 'b': (3 - c('i'), 3 - f.i), 'c': (2 * c('x') / c('j'), 2 * f.x / f.j), 'd': (7 // c('j'), 7 // f.j),
                'e': (c('i') % c('j'), f.i % f.j), 'f': (-5 % c('j'), -5 % f.j), 'g': (c('i') ** 2, (f.i ** 2).astype(float)), 'h': (2 ** c('j'), (2 ** f.j).astype(float)),
                'i': (~(c('i') > 0) & c('b') | (c('j') == 2), ~(f.i > 0) & f.b | (f.j == 2)), 'j': ((c('i') > 0) ^ c('b'), (f.i > 0) ^ f.b),
                'k': (-c('i') - (c('j') - 1) - 2, -f.i - (f.j - 1) - 2), 'l': (abs(c('i')), abs(f.i)), 'm': (1 < c('i'), 1 < f.i), 'n': (c('s') <= 'a', f.s <= 'a'),
                'o': (1 / (c('j') * (c('j') + 1)), 1 / (f.j * (f.j + 1))), 'p': (c('i').between(-2, 2), f.i.between(-2, 2)),
                'q': (c('i').between(-2, 2, 'left'), f.i.between(-2, 2, inclusive='left')), 'r': (c('i').clip(-1, 2), f.i.clip(-1, 2)), 's': (c('x').clip(upper=0), f.x.clip(upper=0)),
                't': (c('x').fill_nan(0.5), f.x.fillna(0.5)), 'u': (c('x').is_missing(), f.x.isna()), 'v': (c('s').str.contains('b'), f.s.str.contains('b', regex=False)),
                'w': (c('s').str.upper().str.len(), f.s.str.upper().str.len()), 'x': (c('t').dt.month(), f.t.dt.month), 'y': (c('t') + datetime.timedelta(hours=3, microseconds=7), f.t + pd.Timedelta('3h') + pd.Timedelta('7us')),
                'z': (c('t') > datetime.datetime(2020, 2, 5, 1, 2, 3), f.t > pd.Timestamp('2020-02-05 01:02:03')),
                'aa': (c('t') - datetime.datetime(2020, 1, 1), f.t - pd.Timestamp('2020-01-01')), 'ab': (c('t') - c('t').min() > datetime.timedelta(days=3), f.t - f.t.min() > pd.Timedelta('3d')),
                'ac': (gr.when(c('i') > 2).then('big').when(c('i') < 0).then('small').otherwise(c('s')), f.s.where(~(f.i < 0), 'small').where(~(f.i > 2), 'big')),
                'ad': (c('i').is_in([1, 2, -3]), f.i.isin([1, 2, -3])), 'ae': (c('x').round(1), f.x.round(1)), 'af': (c('i').cast('string'), f.i.astype(str)),
                'ag': (c('x') - c('x').mean(), f.x - f.x.mean()), 'ah': (c('i').sum().over('g') * 2, f.groupby('g').i.transform('sum') * 2),
                'ai': (c('i').cumsum().over('g'), f.groupby('g').i.cumsum()), 'aj': (c('x').rolling_mean(3, min_periods=1), f.x.rolling(3, min_periods=1).mean()),
                'ak': (c('i').shift(2).fill_null(0), f.i.shift(2).fillna(0).astype(int)), 'al': (c('x').median().over('g'), f.groupby('g').x.transform('median')),
                'am': (c('i').rank(), f.i.rank()), 'an': (c('i').rank('dense', descending=True), f.i.rank(method='dense', ascending=False)),
                'ao': ((c('i') - c('i').mean().over('g')).abs().max().over('g'), (f.i - f.groupby('g').i.transform('mean')).abs().groupby(f.g).transform('max')),
                'ap': (c('x').rolling_sum(3, center=True), f.x.rolling(3, center=True).sum()), 'aq': (c('i').first().over('g', order_by='t'), f.sort_values('t').groupby('g').i.transform('first').sort_index()),
                'ar': (gr.row_number().over('g', order_by=['i', 't']), (f.sort_values(['i', 't']).groupby('g').cumcount() + 1).sort_index()),
                'as': (c('i').n_unique() - c('j').max(), pd.Series([f.i.nunique() - f.j.max()] * len(f)))}
        ours = self.values(**{name: pair[0] for name, pair in both.items()})
        for name, (_, theirs) in both.items():
            with self.subTest(name=name):
                pd.testing.assert_series_equal(ours[name].astype(theirs.dtype), theirs, check_names=False, rtol=1e-12)

    def test_literals(self):
        D = decimal.Decimal
        values = [0, -1, 2**62, -2**63, 2**63, 10**30, 1.5, -0.0, 5e-324, 1.7976931348623157e308, 1e16, 0.1, 'text', "it's", '`"\\\n', '', 'é🐦', True, False, D('1.50'),
                  D('-12345678901234567890.123'), datetime.date(2020, 2, 29), datetime.date(1, 1, 1), datetime.datetime(2020, 2, 29, 1, 2, 3, 4), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
                  datetime.timedelta(days=1, microseconds=1), datetime.timedelta(days=-3, seconds=5), datetime.timedelta(microseconds=-1), None]
        frame = gr.from_dict({'n': [1]})
        ours = frame.select(**{f'v{i}': gr.lit(v) for i, v in enumerate(values)}).collect().to_dict()
        for i, value in enumerate(values):
            with self.subTest(value=value):
                got = ours[f'v{i}'][0]
                self.assertEqual((got, type(got)), (value, type(value) if value not in (2**63, 10**30) or isinstance(got, int) else D))
        self.assertEqual(math.copysign(1, ours['v7'][0]), -1)
        more = {'inf': math.inf, 'low': -math.inf, 'nan': math.nan, 'i8': np.int8(-5), 'f4': np.float32(0.5), 'b': np.bool_(True), 'day': np.datetime64('2020-01-31'),
                'us': np.datetime64('2020-01-31T12:00:00.5'), 'td': np.timedelta64(90, 's'), 'stamp': pd.Timestamp('2020-01-31 12:00'), 'delta': pd.Timedelta('-1.5s'), 'nat': pd.NaT, 'na': pd.NA}
        ours = {k: v[0] for k, v in frame.select(**{k: gr.lit(v) for k, v in more.items()}).collect().to_dict().items()}
        self.assertTrue(math.isnan(ours.pop('nan')))
        self.assertEqual(ours, {'inf': math.inf, 'low': -math.inf, 'i8': -5, 'f4': 0.5, 'b': True, 'day': datetime.date(2020, 1, 31), 'us': datetime.datetime(2020, 1, 31, 12, 0, 0, 500000),
                                'td': datetime.timedelta(seconds=90), 'stamp': datetime.datetime(2020, 1, 31, 12), 'delta': datetime.timedelta(seconds=-1.5), 'nat': None, 'na': None})
        for wrong, kind in ((10**40, ValueError), (D('nan'), ValueError), (datetime.time(1, tzinfo=datetime.timezone.utc), TypeError), (object(), TypeError), ([object()], TypeError), ([], ValueError), ('a\0', ValueError),
                            (pd.Timestamp('2020-01-01 00:00:00.000000001'), ValueError), (1j, TypeError)):
            with self.subTest(wrong=wrong), self.assertRaises(kind):
                gr.lit(wrong)

    def test_long_chains_need_no_brackets(self):
        total = gr.col('n')
        anyone = gr.col('n') == 0
        for i in range(1, 1000):
            total, anyone = total + i, anyone | (gr.col('n') == i)
        self.assertEqual(gr.from_dict({'n': [1, 5000]}).select(t=total, a=anyone).collect().to_dict(), {'t': [499501, 504500], 'a': [True, False]})

    def test_numpy_and_pandas_values_on_the_left(self):
        c = gr.col('n')
        day = gr.col('t')
        done = gr.from_dict({'n': [2], 't': [pd.Timestamp('2020-01-02')]}).select(
            a=np.float64(3) * c, b=np.int64(3) - c, c=np.int32(3) > c, d=decimal.Decimal('1.5') + c, e=pd.Timestamp('2020-01-01') < day,
            f=np.datetime64('2020-01-03') - day, g=datetime.datetime(2020, 1, 1) <= day, h=np.bool_(True) & (c > 1), i=pd.Timedelta('1h') + day).collect().to_dict()
        self.assertEqual({k: v[0] for k, v in done.items()}, {'a': 6.0, 'b': 1, 'c': True, 'd': decimal.Decimal('3.5'), 'e': True, 'f': datetime.timedelta(days=1), 'g': True, 'h': True,
                                                              'i': datetime.datetime(2020, 1, 2, 1)})

    def test_parts_everywhere(self):
        """Aggregates and windows inside conditions, keys, and other aggregates."""
        f, plan, c = self.frame, gr.from_pandas(self.frame, pieces=3), gr.col
        self.assertEqual(listed(plan.filter(c('i') > c('i').mean(), c('j') == c('j').max().over('g')).collect())['i'],
                         f[(f.i > f.i.mean()) & (f.j == f.groupby('g').j.transform('max'))].i.tolist())
        self.assertEqual(listed(plan.sort(c('i').sum().over('s'), 't').collect())['t'],
                         f.assign(k=f.groupby('s').i.transform('sum')).sort_values(['k', 't']).t.astype('i8').floordiv(1000).tolist())
        ours = plan.group_by((c('i') % 3).alias('i')).agg((c('i') - c('i').min().over('g')).max().alias('m'), c('i').sum().alias('s')).collect().to_dict()
        theirs = f.assign(d=f.i - f.groupby('g').i.transform('min')).groupby(f.i % 3).agg(m=('d', 'max'), s=('i', 'sum')).reset_index()
        self.assertEqual(ours, theirs.to_dict('list'))
        self.assertEqual(listed(plan.group_by('g', 'j').agg().collect()), listed(plan.select('g', 'j').distinct().sort('g', 'j').collect()))
        self.assertEqual(plan.select(c('i').sum() / gr.len(), n=c('x').count()).collect().to_dict(), {'i': [f.i.mean()], 'n': [38]})
        self.assertEqual(listed(plan.group_by('g').agg(a=('i', 'max'), b='quantile(i, 0.5)', c=gr.len()).collect()),
                         {'g': ['u', 'v'], 'a': f.groupby('g').i.max().tolist(), 'b': f.groupby('g').i.median().tolist(), 'c': f.groupby('g').size().tolist()})
        self.assertEqual(len(plan.group_by(c('i') > 0).head(2).collect()), 4)
        self.assertEqual(plan.group_by('g').len().collect().to_dict()['len'], f.groupby('g').size().tolist())
        with self.assertRaisesRegex(ValueError, "'g' is a key"):
            plan.group_by('g').agg(c('g').count())
        with self.assertRaisesRegex(TypeError, 'needs an aggregate'):
            plan.agg()

    def test_deep_plans(self):
        plan = gr.from_dict({'n': list(range(5))})
        for _ in range(1500):
            plan = plan.filter(gr.col('n') > 0)
        self.assertIn('more', repr(plan))
        self.assertEqual(plan.collect().to_dict(), {'n': [1, 2, 3, 4]})

    def test_own_operands(self):
        frame = gr.from_dict({'s': ['abc', 'abc', None], 't': ['abd', 'cba', 'a'], 'd': [datetime.date(1970, 1, 2), None, datetime.date(1969, 12, 31)]})
        done = frame.select(h=gr.col('s').str.hamming(gr.col('t')), n=gr.col('d').dt.epoch_ns()).collect().to_dict()
        self.assertEqual(list(done['h']), [1, 2, None])
        self.assertEqual(list(done['n']), [86400 * 10**9, None, -86400 * 10**9])
        dates = gr.from_dict({'part': ['month', 'dow', 'year'], 'd': [datetime.date(2024, 2, 4), datetime.date(2024, 2, 4), None]})
        self.assertEqual(dates.select(p=gr.col('d').dt.date_part(gr.col('part'))).collect().to_dict(), {'p': [2, 0, None]})

    def test_hash(self):
        done = gr.from_dict({'s': ['a', 'b', 'a']}).select(h=gr.col('s').hash()).collect().to_dict()['h']
        self.assertTrue(done[0] == done[2] != done[1])

    def test_errors(self):
        c = gr.col('x')
        for wrong in (lambda: bool(c > 1), lambda: c > 1 and c < 2, lambda: 1 < c < 3, lambda: 1 in c, lambda: not c, lambda: list(c), lambda: c.is_in('abc'), lambda: c == None,  # noqa: E711
                      lambda: c.over('g'), lambda: gr.col(3), lambda: gr.col('x').cast(dict), lambda: gr.expr(3), lambda: c.sum().sum(), lambda: gr.interval(days=1.5)):
            with self.assertRaises(TypeError):
                wrong()
        for wrong, words in ((lambda: bool(c), 'use & | ~'), (lambda: c.str.subString(1), "'subString'"), (lambda: c.str.lpad(), 'lpad()'), (lambda: c.round(digit=1), "did you mean 'digits'"),
                             (lambda: gr.col(''), 'at least one'), (lambda: c.between(1, 2, 'all'), 'closed'), (lambda: gr.functions.greatist, "did you mean 'greatest'"),
                             (lambda: gr.from_dict({'x': [1]}).group_by('x').agg('sum'), 'has no name'), (lambda: gr.from_dict({'x': [1]}).group_by('x').agg(a='summ(x)'), "did you mean 'sum'"),
                             (lambda: gr.from_dict({'x': [1], 'y': [1]}).group_by('x').agg(gr.col('y') + 1), "an aggregate of 'y'"), (lambda: gr.from_dict({'x': [1]}).agg(gr.col('x').cumsum()), 'window function'),
                             (lambda: gr.from_dict({'x': [1]}).select('x', gr.col('x') + 1), 'alias()')):
            with self.subTest(words=words), self.assertRaises((TypeError, ValueError, AttributeError)) as caught:
                wrong()
            self.assertIn(words, str(caught.exception))

    def test_repr(self):
        self.assertEqual(repr(gr.col('a b') + 1 > gr.col('x').sum().over('g') / 2), '<Expr `a b` + 1 > sum(`x`) over (g) / 2>')
        self.assertEqual(repr(gr.when(gr.col('x').is_null()).then(1).otherwise(None)), '<Expr case when `x` is null then 1 else null end>')


if __name__ == '__main__':
    unittest.main()
