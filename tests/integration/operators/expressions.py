"""Expressions against pandas and NumPy: one column a function, plain and dictionary-encoded strings, however rows are cut."""
import unicodedata
from fractions import Fraction

import numpy as np
import pandas as pd

from granary_test import Column, Instance

rng = np.random.default_rng(4)
ROWS = 5000

TEXTS = ['', 'a', 'Ab', 'hello World', '  blank ', 'été', 'ÉCOLE', 'ä€😀', '12', '-7', 'x,y,,z', 'abcabc', 'AbC dEf', 'null', "it's"]


def nulls(share=0.15):
    return rng.random(ROWS) >= share


valid_s, valid_k, valid_d, valid_t = nulls(), nulls(), nulls(), nulls()
s = np.array(TEXTS, object)[rng.integers(0, len(TEXTS), ROWS)]
k = rng.integers(-50, 50, ROWS)
j = rng.integers(-5, 6, ROWS)
f = np.where(rng.random(ROWS) < 0.1, np.nan, (rng.normal(size=ROWS) * 10.0 ** rng.integers(-3, 5, ROWS)).round(4))
r = rng.normal(size=ROWS).astype('f4')
i8 = rng.integers(-100, 100, ROWS).astype('i1')
u4 = rng.integers(0, 2**32, ROWS).astype('u4')
days = rng.integers(-30000, 30000, ROWS)
times = rng.integers(-2 * 10**15, 3 * 10**15, ROWS)

COLUMNS = {
    's': Column('string', list(s), valid_s),
    'k': Column('int64', k, valid_k),
    'j': Column('int64', j),
    'f': Column('float64', f),
    'r': Column('float32', r),
    'i8': Column('int8', i8),
    'u4': Column('uint32', u4),
    'd': Column('date', days, valid_d),
    't': Column('timestamp', times, valid_t),
}
S = pd.Series([v if ok else None for v, ok in zip(s, valid_s)], dtype=object)
K = pd.Series(pd.arrays.IntegerArray(k, ~valid_k))
J, F, R = pd.Series(j), pd.Series(f), pd.Series(r)
D = pd.Series(days.astype('datetime64[D]').astype('datetime64[ns]')).where(valid_d)
T = pd.Series((times * 1000).astype('datetime64[ns]')).where(valid_t)
STR = S.str


def text(function):
    return S.map(lambda v: function(v) if v is not None else None)


with np.errstate(all='ignore'):
    # expression -> what pandas gives
    WANT = {
        'k + j': K + J,
        'k * j - 3': K * J - 3,
        'j / 4': J / 4,
        'j / 0': J / 0,
        'j % 3': J % 3,
        'j // 3': J // 3,
        '-j // -2': -J // -2,
        'f % 0.7': F % 0.7,
        'f // 0.7': F // 0.7,
        'f * 2 + j': F * 2 + J,
        'r * 2': R * np.float32(2),
        'r + j': R + J,
        'r + i8': pd.Series(r + i8),
        'i8 + i8 / 3': pd.Series(i8 + i8 / 3),
        'u4 + j': pd.Series(u4 + j),
        'i8 * j': pd.Series(i8 * j),
        'abs(f)': F.abs(),
        'sign(f)': np.sign(F),
        'floor(f)': np.floor(F),
        'ceil(f)': np.ceil(F),
        'trunc(f)': np.trunc(F),
        'round(f)': F.round(),
        'round(f, 2)': F.round(2),
        'round(f, -1)': F.round(-1),
        'sqrt(f)': np.sqrt(F),
        'exp(f)': np.exp(F),
        'ln(f)': np.log(F),
        'log10(f)': np.log10(F),
        'log2(f)': np.log2(F),
        'sin(f)': np.sin(F),
        'cos(f)': np.cos(F),
        'tan(f)': np.tan(F),
        'atan(f)': np.arctan(F),
        'asin(f)': np.arcsin(F),
        'acos(f)': np.arccos(F),
        'atan2(f, j)': np.arctan2(F, J),
        'pow(f, 2)': F ** 2,
        'isnan(f)': F.isna(),
        'f > j': F > J,
        'f <= 0.5': F <= 0.5,
        'k = j': K == J,
        'k != 3': K != 3,
        'j in (1, 2, 3)': J.isin([1, 2, 3]),
        'j between -1 and 2': J.between(-1, 2),
        "coalesce(k, 0)": K.fillna(0),
        'nullif(j, 0)': J.where(J != 0).astype('Int64'),
        'greatest(j, 2)': J.clip(lower=2),
        'least(j, 2)': J.clip(upper=2),
        'case when j > 0 then f else -f end': F.where(J > 0, -F),
        'cast(j as float64)': J.astype(float),
        'cast(j as string)': J.astype(str),
        "lower(s)": STR.lower(),
        "upper(s)": STR.upper(),
        "title(s)": STR.title(),
        "capitalize(s)": STR.capitalize(),
        "length(s)": STR.len().astype('Int64'),
        "reverse(s)": STR[::-1],
        "trim(s)": STR.strip(),
        "ltrim(s, ' a')": STR.lstrip(' a'),
        "rtrim(s, 'cE')": STR.rstrip('cE'),
        "substring(s, 2, 3)": STR[1:4],
        "left(s, 2)": STR[:2],
        "left(s, -2)": STR[:-2],
        "right(s, 3)": STR[-3:],
        "replace(s, 'bc', '-')": STR.replace('bc', '-', regex=False),
        "contains(s, 'b')": STR.contains('b', regex=False),
        "startswith(s, 'A')": STR.startswith('A'),
        "endswith(s, 'z')": STR.endswith('z'),
        "position('b', s)": (STR.find('b') + 1).astype('Int64'),
        "zfill(s, 4)": text(lambda v: v.zfill(4)),
        "repeat(s, 2)": STR.repeat(2),
        "lpad(s, 12, '*')": text(lambda v: v.rjust(12, '*')),
        "rpad(s, 12)": text(lambda v: v.ljust(12)),
        "concat(s, '-', s)": S + '-' + S,
        "s || '!'": S + '!',
        "split_part(s, ',', 2)": text(lambda v: (v.split(',') + [''])[1]),
        "isalpha(s)": STR.isalpha(),
        "isdigit(s)": STR.isdigit(),
        "isspace(s)": STR.isspace(),
        "islower(s)": STR.islower(),
        "isupper(s)": STR.isupper(),
        "s like '%b%'": STR.contains('b', regex=False),
        "s ilike 'a%'": STR.lower().str.startswith('a'),
        "regexp_matches(s, '^[a-z]+$')": text(lambda v: pd.notna(v) and v.isascii() and v.isalpha() and v.islower()),
        "regexp_extract(s, '([a-z])([0-9]*)', 1)": STR.extract('([a-z])([0-9]*)')[0],
        "regexp_replace(s, '[bB]', '<\\&>', 'g')": STR.replace('([bB])', r'<\1>', regex=True),
        "regexp_replace(s, '^(.)(.)', '\\2\\1')": STR.replace('^(.)(.)', r'\2\1', regex=True),
        "strftime(t, '%d/%m/%Y %H-%M-%S.%f %j %b %A %p')": T.dt.strftime('%d/%m/%Y %H-%M-%S.%f %j %b %A %p'),
        "strptime(strftime(t, '%f%S%M%H%d%m%Y'), '%f%S%M%H%d%m%Y')": T,
        "try_strptime(s, '%Y')": text(lambda v: pd.NaT),
        "s = 'Ab'": text(lambda v: v == 'Ab'),
        "s < 'a'": text(lambda v: v.encode() < b'a'),
        "s in ('Ab', '12')": text(lambda v: v in ('Ab', '12')),
        "try_cast(s as int64)": text(lambda v: {'12': 12, '-7': -7}.get(v)).astype('Int64'),
        'year(d)': D.dt.year.astype('Int64'),
        'quarter(d)': D.dt.quarter.astype('Int64'),
        'month(t)': T.dt.month.astype('Int64'),
        'week(d)': D.dt.isocalendar().week.astype('Int64'),
        'day(t)': T.dt.day.astype('Int64'),
        'dayofweek(t)': T.dt.dayofweek.astype('Int64'),
        'dayofyear(d)': D.dt.dayofyear.astype('Int64'),
        'hour(t)': T.dt.hour.astype('Int64'),
        'minute(t)': T.dt.minute.astype('Int64'),
        'second(t)': T.dt.second.astype('Int64'),
        'microsecond(t)': T.dt.microsecond.astype('Int64'),
        "date_trunc('month', d)": D.dt.to_period('M').dt.start_time,
        "date_trunc('week', d)": D.dt.to_period('W').dt.start_time,
        "date_trunc('hour', t)": T.dt.floor('H'),
        "d + interval '3' month": D + pd.DateOffset(months=3),
        "d - interval '1 year 2 days'": D - pd.DateOffset(years=1) - pd.Timedelta(days=2),
        "t + interval '90 minutes'": T + pd.Timedelta(minutes=90),
        "t - d": T - D,
        "cast(t as date)": T.dt.floor('D'),
        "d < '1990-01-01'": (D < '1990-01-01').astype('boolean').where(valid_d),
    }


def plain(series):
    """As objects, nulls as None; NaN stays."""
    out = []
    for value in series.astype(object):
        out.append(None if value is None or value is pd.NA or value is pd.NaT else value)
    return out


def same(name, got, want):
    # NumPy's own loops for these differ from the C library's in the last places.
    approximate = name.startswith(('sin', 'cos', 'tan', 'atan', 'asin', 'acos', 'exp', 'ln', 'log', 'pow'))
    nan_is_null = want.dtype == object  # pandas has no other null there
    want, got = plain(want), plain(got)
    assert len(got) == len(want), name
    for row, (x, y) in enumerate(zip(got, want)):
        if y is not None and isinstance(y, (float, np.floating)) and np.isnan(y):
            fine = x is None if nan_is_null else isinstance(x, (float, np.floating)) and np.isnan(x)
        elif x is None or y is None:
            fine = x is None and y is None
        elif isinstance(y, (float, np.floating)):
            fine = x == y or (approximate and abs(x - y) <= 1e-14 * abs(y))
        else:
            fine = x == y
        assert fine, f'{name}: row {row}: {x!r} is not {y!r}'


def check(granary, columns, pieces):
    node = granary.put(columns, pieces=pieces)
    names = {f'c{n}': text for n, text in enumerate(WANT)}
    frame = granary.run({'in': node, 'out': {'op': 'assign', 'input': 'in', 'columns': names}}, 'out')
    for name, expression in names.items():
        same(expression, frame[name].to_pandas(), WANT[expression])
    kept = granary.run({'in': node, 'out': {'op': 'filter', 'input': 'in', 'where': "f > 0 and s like '%b%' and k != 3"}}, 'out')
    mask = (F > 0) & STR.contains('b', regex=False).fillna(False).astype(bool) & (K != 3).fillna(False).astype(bool)
    same('filter', kept['f'].to_pandas(), F[mask].reset_index(drop=True))
    same('filter', kept['s'].to_pandas(), S[mask].reset_index(drop=True))


with Instance(executors=2) as granary:
    check(granary, COLUMNS, 1)
    check(granary, {**COLUMNS, 's': Column('string', list(s), valid_s, encoded=True)}, 3)

    # A quotient of a duration is rounded to the nearest microsecond; numbers that only uint64 holds keep their digits.
    u = np.array([7, -7, 10**17 + 1, 3, 0])
    n = np.array([2, 2, 3, -2, 5])
    table = granary.put({'u': Column('duration', u), 'n': Column('int64', n), 'w': Column('uint64', np.array([2**63, 2**64 - 1, 0, 2**63 - 1, 5], 'u8'))}, 2)
    nearest = lambda by: np.array([round(Fraction(int(a), int(b))) for a, b in zip(u, by)])  # of halves the even one
    wanted = {'u / 2': nearest([2] * 5), 'u / n': nearest(n), 'u // n': u // n}
    texts = [*wanted, 'u / (n - n)', "cast(interval '3 days' / 2 as int64)", 'w = 9223372036854775808', 'w + 0', '18446744073709551615', 'w >= 9223372036854775808']
    frame = granary.run({'t': table, 'x': {'op': 'assign', 'input': 't', 'columns': {f'c{i}': text for i, text in enumerate(texts)}}}, 'x')
    for i, text in enumerate(wanted):
        assert frame[f'c{i}'] == Column('duration', wanted[text]), (text, frame[f'c{i}'])
    assert frame['c3'].dtype == 'duration' and not frame['c3'].valid.any()
    assert list(frame['c4'].values) == [36 * 3600 * 10**6] * 5
    assert list(frame['c5'].values) == [True, False, False, False, False] and frame['c6'] == Column('uint64', np.array([2**63, 2**64 - 1, 0, 2**63 - 1, 5], 'u8'))
    assert frame['c7'] == Column('uint64', np.array([2**64 - 1] * 5, 'u8')) and list(frame['c8'].values) == [True, True, False, False, False]
    for broken in ('2 / u', "u / 'a'", "interval '1 month' / 2"):
        granary.fails({'t': table, 'x': {'op': 'assign', 'input': 't', 'columns': {'c': broken}}}, 'x', "'x'", 'position')

    # Kinds of characters are Python's, of every one there is; floor, ceil, trunc and round of integers are integers.
    points = [chr(i) for i in range(1, 0x30000) if not 0xd800 <= i < 0xe000] + [chr(i) for i in range(0xe0000, 0xe0200)]
    kinds = [text for i, text in enumerate(points) if unicodedata.category(text) != 'Cn']
    table = granary.put({'s': Column('string', kinds + ['', 'a1', '1 ', 'é٣', '٣²'])}, 3)
    names = ['isalpha', 'isdigit', 'isalnum', 'isspace']
    frame = granary.run({'t': table, 'x': {'op': 'assign', 'input': 't', 'columns': {name: f'{name}(s)' for name in names}}}, 'x')
    for name in names:
        wrong = [hex(ord(t)) if len(t) == 1 else t for t, got in zip(frame['s'].values, frame[name].values) if getattr(t, name)() != got]
        assert not wrong, (name, len(wrong), wrong[:40])
    dtypes = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']
    table = granary.put({d: Column(d, np.array([0, 1, np.iinfo(d).max, np.iinfo(d).min], d)) for d in dtypes})
    for function in ('floor', 'ceil', 'trunc', 'round'):
        frame = granary.run({'t': table, 'x': {'op': 'project', 'input': 't', 'columns': {d: f'{function}(`{d}`)' for d in dtypes}}}, 'x')
        for d in dtypes:
            assert frame[d] == Column(d, getattr(np, function)(np.array([0, 1, np.iinfo(d).max, np.iinfo(d).min], d))), (function, frame[d])
print('ok')
