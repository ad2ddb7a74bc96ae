"""What the operators of frames share in their models: values, missing ones, order, conditions, aggregates, windows.

A frame is {name: Values}: dtype and a list of Python values, None for null; decimals are Decimal. pandas does what it does; where
operators.md says otherwise (nulls beside nan, exact sums), the model does what that says.
"""
import collections
import decimal
import functools
import math
import re
import statistics
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd

warnings.simplefilter('ignore')
Values = collections.namedtuple('Values', 'dtype values')
EXACT = decimal.Context(prec=60)
UNSIGNED = ('uint8', 'uint16', 'uint32', 'uint64')
WHOLE = UNSIGNED + ('int8', 'int16', 'int32', 'int64')
FLOATING = ('float32', 'float64')


def number(dtype):
    return dtype in WHOLE or dtype in FLOATING or dtype.startswith('decimal')


def model(kept):
    """{name: kept column} as {name: Values}."""
    made = {}
    for name, column in kept.items():
        values = column['values']
        if column['dtype'].startswith('decimal'):
            scale = int(column['dtype'][8:-1])
            values = [None if v is None else decimal.Decimal(v).scaleb(-scale, EXACT) for v in values]
        made[name] = Values(column['dtype'], values)
    return made


def height(frame):
    return len(next(iter(frame.values())).values) if frame else 0


def pick(frame, places):
    """Rows by their positions; None is a row of nulls."""
    return {n: Values(c.dtype, [None if p is None else c.values[p] for p in places]) for n, c in frame.items()}


def missing(v):
    return v is None or isinstance(v, float) and math.isnan(v)


def same_key(v):
    """Equal for values that are one in groups: nan is nan, -0.0 is 0.0."""
    if isinstance(v, float):
        return 'nan' if math.isnan(v) else v + 0.0
    return ('', v) if isinstance(v, (str, bool)) else v


def tuples(frame, names):
    return [tuple(same_key(v) for v in row) for row in zip(*(frame[n].values for n in names))] if names else [()] * height(frame)


def sort_key(v):
    """Among values that are not null: numbers, then nan; text by its bytes."""
    if isinstance(v, float) and math.isnan(v):
        return (1, 0)
    return (0, v.encode() if isinstance(v, str) else v)


def sorted_places(frame, by, descending=False, nulls='last', among=None, nan_largest=False):
    """Positions in order; stable."""
    places = list(range(height(frame))) if among is None else list(among)
    downs = descending if isinstance(descending, list) else [descending]
    downs = downs if len(downs) == len(by) else downs * len(by)
    ends = nulls if isinstance(nulls, list) else [nulls]
    ends = ends if len(ends) == len(by) else ends * len(by)
    for name, down, end in reversed(list(zip(by, downs, ends))):
        values = frame[name].values
        there = [p for p in places if not missing(values[p]) or nan_largest and values[p] is not None]
        nans = [p for p in places if values[p] is not None and missing(values[p]) and not nan_largest]
        gone = [p for p in places if values[p] is None]
        there = sorted(there, key=lambda p: sort_key(values[p]), reverse=False) if not down else reversed_stable(there, values)
        places = gone + nans + there if end == 'first' else there + nans + gone
    return places


def reversed_stable(places, values):
    return list(reversed(sorted(reversed(places), key=lambda p: sort_key(values[p]))))


def groups(frame, keys, dropna=True):
    """[(key, positions)], ordered by the keys: nan behind the numbers, null behind all."""
    found = {}
    for p, key in enumerate(tuples(frame, keys)):
        if not (dropna and None in key):
            found.setdefault(key, []).append(p)
    firsts = [places[0] for places in found.values()]
    order = sorted_places(frame, keys, among=firsts) if keys else firsts
    by_first = {places[0]: places for places in found.values()}
    return [by_first[p] for p in order]


# ---- conditions: COLUMN is null, COLUMN OP LITERAL, joined by and, or ----

def literal(text):
    return text[1:-1].replace("''", "'") if text[0] == "'" else text == 'true' if text in ('true', 'false') else float(text) if '.' in text else int(text)


COMPARE = {'<': lambda a, b: a < b, '<=': lambda a, b: a <= b, '=': lambda a, b: a == b, '<>': lambda a, b: a != b, '>': lambda a, b: a > b, '>=': lambda a, b: a >= b}


def truth(text, frame, p):
    """true, false or None."""
    for word, decisive in ((' or ', True), (' and ', False)):
        if word in text:
            left, right = text.split(word, 1)
            a, b = truth(left, frame, p), truth(right, frame, p)
            return decisive if decisive in (a, b) else None if None in (a, b) else not decisive
    name, rest = text.split(' ', 1)
    value = frame[name.strip('`')].values[p]
    if rest == 'is null':
        return value is None
    if rest == 'is not null':
        return value is not None
    op, other = rest.split(' ', 1)
    other = frame[other].values[p] if other in frame else literal(other)
    return None if value is None or other is None else bool(COMPARE[op](value, other))


def condition(draw, frame):
    """A random one over the comparable columns of a kept frame."""
    parts = []
    for _ in range(draw.choice([1, 1, 2])):
        name = draw.choice(list(frame))
        dtype = frame[name]['dtype']
        if dtype in WHOLE:
            part = f'{name} {draw.choice(list(COMPARE))} {draw.choice([0, 1, 2, 3])}'
        elif dtype == 'string':
            part = f"{name} {draw.choice(list(COMPARE))} '{draw.choice(['', 'a', 'ab', 'B'])}'"
        else:
            part = f'{name} is {draw.choice(["", "not "])}null'
        parts.append(part)
    return draw.choice([' and ', ' or ']).join(parts)


# ---- aggregates ----

def total(values, dtype):
    if dtype in FLOATING:
        infinite = [v for v in values if math.isinf(v)]
        return sum(infinite) if infinite else math.fsum(values)
    if dtype.startswith('decimal'):
        made = decimal.Decimal(0)
        for v in values:
            made = EXACT.add(made, v)
        return made
    return sum(int(v) for v in values)


def mean(values, dtype):
    if not values:
        return None
    if dtype in ('date', 'timestamp', 'duration'):
        unit = 86400000000 if dtype == 'date' else 1
        return int((decimal.Decimal(sum(values) * unit) / len(values)).to_integral_value(decimal.ROUND_HALF_EVEN))
    if dtype in FLOATING:
        return total(values, dtype) / len(values)
    return float(decimal.Decimal(total(values, dtype)) / len(values))


def by_order(values, place):
    ordered = sorted(values, key=sort_key)
    return ordered[place] if values else None


def floats(values):
    return pd.Series([float(v) for v in values], dtype='float64')


def or_null(x):
    return None if missing(float(x)) else float(x)


def mode(values):
    counts = collections.Counter(same_key(v) for v in values)
    best = max(counts.values(), default=0)
    return by_order([v for v in values if counts[same_key(v)] == best], 0)


def moment(function):
    return lambda values, dtype, *more: or_null(function(floats(values), *more))


def product(values, dtype):
    made = 1.0 if dtype in FLOATING or dtype.startswith('decimal') else 1
    for v in values:
        made *= float(v) if isinstance(made, float) else int(v)
    return made


def entropy(values):
    shares = [n / len(values) for n in collections.Counter(same_key(v) for v in values).values()]
    return -sum(s * math.log2(s) for s in shares) + 0.0 if values else None


def bits(both):
    return lambda values, dtype: functools.reduce(both, (int(v) for v in values)) if values else None


AGGREGATES = {
    'count': lambda v, t: len(v), 'sum': total, 'mean': mean, 'min': lambda v, t: by_order(v, 0), 'max': lambda v, t: by_order(v, -1),
    'first': lambda v, t: v[0] if v else None, 'last': lambda v, t: v[-1] if v else None, 'nunique': lambda v, t: len({same_key(x) for x in v}),
    'mode': lambda v, t: mode(v), 'mode_count': lambda v, t: max(collections.Counter(same_key(x) for x in v).values(), default=0), 'var': lambda v, t, d=1: or_null(floats(v).var(ddof=int(d))) if len(v) > int(d) else None,
    'std': lambda v, t, d=1: or_null(floats(v).std(ddof=int(d))) if len(v) > int(d) else None, 'sem': lambda v, t, d=1: or_null(floats(v).sem(ddof=int(d))) if len(v) > int(d) else None, 'skew': moment(lambda s: s.skew()),
    'kurtosis': moment(lambda s: s.kurt()), 'median': moment(lambda s: s.median()), 'quantile': lambda v, t, q: or_null(floats(v).quantile(float(q))),
    'mad': lambda v, t: or_null((floats(v) - floats(v).median()).abs().median()), 'entropy': lambda v, t: entropy(v),
    'bit_and': bits(lambda a, b: a & b), 'bit_or': bits(lambda a, b: a | b), 'bit_xor': bits(lambda a, b: a ^ b),
    'prod': product, 'any': lambda v, t: any(x != 0 for x in v), 'all': lambda v, t: all(x != 0 for x in v)}
OF_ANYTHING = ('count', 'min', 'max', 'first', 'last', 'nunique', 'mode', 'mode_count', 'entropy')
OF_INTEGERS = ('bit_and', 'bit_or', 'bit_xor')
OF_NUMBERS = OF_ANYTHING + ('sum', 'mean', 'var', 'std', 'sem', 'skew', 'kurtosis', 'median', 'quantile', 'prod', 'any', 'all', 'mad')


def aggregate(text, frame, places):
    """The value of FUNCTION(argument, ...) over these rows."""
    if text == 'size':
        return len(places)
    function, inside = re.fullmatch(r'(\w+)\((.*)\)', text).groups()
    argument, *more = inside.split(', ')
    column = frame[argument]
    if function in ('corr', 'cov', 'cov_pop'):
        other = frame[more[0]].values
        pairs = [(float(column.values[p]), float(other[p])) for p in places if not missing(column.values[p]) and not missing(other[p])]
        if len(pairs) < (1 if function == 'cov_pop' else 2):
            return None
        a, b = (pd.Series(x) for x in zip(*pairs))
        if function == 'corr' and (a.nunique() < 2 or b.nunique() < 2):
            return None
        return or_null(a.corr(b) if function == 'corr' else a.cov(b, ddof=0) if function == 'cov_pop' else a.cov(b))
    if function in ('arg_least', 'arg_most'):
        other = frame[more[0]].values
        rows = [p for p in places if not missing(other[p])]
        best = by_order([other[p] for p in rows], 0 if function == 'arg_least' else -1)
        return next((column.values[p] for p in rows if same_key(other[p]) == same_key(best)), None)
    values = [column.values[p] for p in places if not missing(column.values[p])]
    return AGGREGATES[function](values, column.dtype, *more)


def aggregate_text(draw, frame):
    """A random one."""
    if draw.likely(0.1, 'size'):
        return 'size'
    name = draw.choice(list(frame))
    dtype = frame[name]['dtype']
    numbers = [n for n, c in frame.items() if number(c['dtype'])]
    if dtype == 'bool':
        return f'{draw.prefer(["count", "min", "max", "first", "last", "nunique", "sum", "any", "all", "mode", "mode_count"])}({name})'
    if draw.likely(0.1, 'arg_least', 'arg_most'):
        return f'{draw.prefer(["arg_least", "arg_most"])}({name}, {draw.choice([n for n, c in frame.items() if c["dtype"] != "float64"] or [name])})'
    if not number(dtype):
        return f'{draw.prefer(OF_ANYTHING + (("sum", "mean") if dtype == "duration" else ("mean",) if dtype in ("date", "timestamp") else ()))}({name})'
    if draw.likely(0.1, 'corr', 'cov', 'cov_pop'):
        return f'{draw.prefer(["corr", "cov", "cov_pop"])}({name}, {draw.choice(numbers)})'
    function = draw.prefer(OF_NUMBERS + (OF_INTEGERS if 'int' in dtype else ()))
    if function == 'quantile':
        return f'quantile({name}, {draw.choice(["0", "0.25", "0.5", "0.9", "1"])})'
    if function in ('var', 'std') and draw.chance(0.3):
        return f'{function}({name}, {draw.choice("01")})'
    return f'{function}({name})'


# ---- windows: (values of one partition in order, dtype, arguments) -> values ----

def running(step):
    def function(values, dtype):
        made, state = [], None
        for v in values:
            if missing(v):
                made.append(None)
                continue
            state = v if state is None else step(state, v)
            made.append(state)
        return made
    return function


def so_far(function):
    """With true behind the value, a row without one has what stands before it."""
    def made(values, dtype, fill='false'):
        results = function(values, dtype)
        for i, v in enumerate(values):
            if fill == 'true' and missing(v) and i > 0:
                results[i] = results[i - 1]
        return results
    return made


def cumulated(values, dtype):
    sums, taken = [], []
    for v in values:
        if missing(v):
            sums.append(None)
            continue
        taken.append(v)
        sums.append(total(taken, dtype))
    return sums


def multiplied(values, dtype):
    return running(lambda a, b: a * b)([float(v) if v is not None and (dtype in FLOATING or dtype.startswith('decimal')) else v for v in values], dtype)


def shifted(values, dtype, n='1'):
    n = int(n)
    return [values[i - n] if 0 <= i - n < len(values) else None for i in range(len(values))]


def difference(values, dtype, n='1'):
    before = shifted(values, dtype, n)
    scale = 86400 * 10**6 if dtype == 'date' else 1
    return [None if missing(a) or missing(b) else (a - b) * scale for a, b in zip(values, before)]


def ratio(values, dtype, n='1'):
    before = shifted(values, dtype, n)
    with np.errstate(all='ignore'):
        return [None if missing(a) or missing(b) else float(np.float64(a) / np.float64(b) - 1) for a, b in zip(values, before)]


def filled(values, dtype, limit=None):
    made, last, age = [], None, 0
    for v in values:
        age = age + 1 if missing(v) else 0
        last = v if age == 0 else last
        made.append(last if age and last is not None and (limit is None or age <= int(limit)) else v)
    return made


def interpolated(values, dtype, places):
    """fill: on straight lines over the places, which go up or down."""
    usable = [i for i, (v, x) in enumerate(zip(values, places)) if not missing(v) and not missing(x) and math.isfinite(v) and math.isfinite(x)]
    made = list(values)
    for i, (v, x) in enumerate(zip(values, places)):
        if v is not None or missing(x) or not math.isfinite(x) or not usable:
            continue
        if len(usable) == 1:
            made[i] = values[usable[0]]
            continue
        at = min(max(sum(u < i for u in usable) - 1, 0), len(usable) - 2)
        (x0, y0), (x1, y1) = ((Fraction(places[u]), Fraction(values[u])) for u in usable[at:at + 2])
        along = (Fraction(x) - x0) / (x1 - x0) if x1 != x0 else Fraction(0)
        moved = (y1 - y0) * along
        if dtype == 'float64':
            made[i] = float(y0 + moved)
        else:
            y = int(y0) + (math.trunc(moved) if 0 <= along <= 1 else round(moved))
            limits = np.iinfo({'date': 'int32', 'timestamp': 'int64', 'duration': 'int64'}.get(dtype, dtype))
            made[i] = y if limits.min <= y <= limits.max else None
    return made


def ranked(values, dtype, method="'average'", descending='false', pct='false'):
    ordered = sorted({sort_key(v) for v in values if not missing(v)})
    places = pd.Series([None if missing(v) else float(ordered.index(sort_key(v))) for v in values], dtype='float64')
    method = {'ordinal': 'first'}.get(method.strip("'"), method.strip("'"))
    return [or_null(x) for x in places.rank(method=method, ascending=descending != 'true', pct=pct == 'true')]


def as_series(values):
    return pd.Series([math.nan if missing(v) else float(v) for v in values], dtype='float64')


# Each window by itself: pandas' running ones keep what rounding left of values that have gone.
ANEW = {'sum': math.fsum, 'mean': lambda values: math.fsum(values) / len(values),
        'var': lambda values: statistics.variance(values) if len(values) > 1 else math.nan,
        'std': lambda values: statistics.stdev(values) if len(values) > 1 else math.nan}


def rolling(name):
    def function(values, dtype, window, least=None, center='false'):
        least = 0 if name == 'count' and least is None else int(window) if least is None else int(least)
        windows = as_series(values).rolling(int(window), min_periods=least, center=center == 'true')
        made = windows.apply(lambda w: ANEW[name](w[~np.isnan(w)].tolist()), raw=True) if name in ANEW else getattr(windows, name)()
        return [or_null(x) for x in made]
    return function


def rolling_quantile(values, dtype, window, q, least=None, center='false'):
    series = as_series(values).rolling(int(window), min_periods=int(window if least is None else least), center=center == 'true')
    return [or_null(x) for x in series.apply(lambda w: np.quantile(w[~np.isnan(w)], float(q)), raw=True)]


def expanding(name):
    def function(values, dtype, least=None):
        least = 1 if least is None else int(least)
        series = as_series(values).expanding(min_periods=0 if name == 'count' and least == 1 else least)
        return [or_null(x) for x in getattr(series, name)()]
    return function


def moving(name):
    def function(values, dtype, size):
        made = []
        for i in range(len(values)):
            there = [v for v in values[max(0, i - int(size) + 1):i + 1] if not missing(v)]
            made.append(AGGREGATES[name](there, dtype) if there else None)
        return made
    return function


def weighted(values, alpha, adjust, ignore, least):
    """alpha is a number, or a word and a number."""
    word, number = alpha.split(' ') if ' ' in alpha else ('alpha', alpha)
    return as_series(values).ewm(**{word: float(number)}, adjust=adjust == 'true', ignore_na=ignore == 'true', min_periods=int(least))


def smoothed(values, dtype, alpha, adjust='true', ignore='false', least='0'):
    return [or_null(x) for x in weighted(values, alpha, adjust, ignore, least).mean()]


def spread(name):
    def function(values, dtype, alpha, adjust='true', ignore='false', least='0', bias='false'):
        made = [or_null(x) for x in getattr(weighted(values, alpha, adjust, ignore, least), name)(bias=bias == 'true')]
        # Of one value pandas may give what rounding left of its weights.
        return [x if bias == 'true' or sum(not missing(v) for v in values[:i + 1]) > 1 else None for i, x in enumerate(made)]
    return function


def mean_so_far(values, dtype):
    means = moving('mean')(values, dtype, len(values))
    return [None if missing(v) else mean for v, mean in zip(values, means)]


def whole(name):
    def function(values, dtype):
        there = [v for v in values if not missing(v)]
        return [AGGREGATES[name](there, dtype)] * len(values)
    return function


def nth(values, dtype, n):
    at = int(n) - (int(n) > 0)
    return [values[at] if -len(values) <= at < len(values) else None] * len(values)


WINDOWS = {'cumsum': so_far(cumulated), 'cummean': so_far(mean_so_far), 'cumprod': so_far(multiplied), 'cummax': so_far(running(max)), 'cummin': so_far(running(min)), 'shift': shifted, 'lag': shifted, 'nth': nth,
           'lead': lambda v, t, n='1': shifted(v, t, -int(n)), 'diff': difference, 'pct_change': ratio, 'ffill': filled,
           'bfill': lambda v, t, limit=None: filled(v[::-1], t, limit)[::-1], 'rank': ranked, 'ewm_mean': smoothed, 'ewm_var': spread('var'), 'ewm_std': spread('std'), 'rolling_quantile': rolling_quantile}
WINDOWS.update({name: whole(name) for name in ('first', 'last', 'min', 'max', 'sum', 'mean', 'std', 'var', 'count')})
WINDOWS.update({f'rolling_{name}': rolling(name) for name in ('sum', 'mean', 'min', 'max', 'std', 'var', 'count', 'median')})
WINDOWS.update({f'expanding_{name}': expanding(name) for name in ('sum', 'mean', 'min', 'max', 'std', 'var', 'count')})
WINDOWS.update({f'moving_{name}': moving(name) for name in ('sum', 'mean', 'min', 'max')})
BY_ORDER = ('fill', 'row_number', 'cumcount', 'size', 'ntile', 'rank', 'dense_rank', 'percent_rank', 'cume_dist')


def window_text(draw, frame, by, function):
    """A call of it, or None where no column is there for it."""
    ordered = bool(by)
    names = list(frame)
    plain = [n for n in names if frame[n]['dtype'] in WHOLE[4:] + ('uint8', 'uint16', 'float64')]
    if function in ('row_number', 'cumcount', 'size'):
        return f'{function}()'
    if function == 'fill':
        lines = plain + [n for n in names if frame[n]['dtype'] in ('date', 'timestamp', 'duration')]
        return f'fill({draw.choice(lines)})' if len(by) == 1 and by[0] in lines else None
    if function == 'ntile':
        return f'ntile({draw.randint(1, 4)})' if ordered else None
    if function in ('percent_rank', 'cume_dist'):
        return f'{function}()' if ordered else None
    if function == 'dense_rank' or function == 'rank' and draw.chance(0.3):
        return f'{function}()' if ordered else f'dense_rank({draw.choice(plain)})' if plain and function == 'dense_rank' else None
    if function in ('first', 'last', 'nth', 'count', 'shift', 'lag', 'lead', 'ffill', 'bfill'):
        name = draw.choice(names)
    elif function in ('min', 'max', 'cummax', 'cummin'):
        name = draw.choice([n for n in names if frame[n]['dtype'] != 'bool' and (frame[n]['dtype'] != 'string' or function in ('min', 'max'))] or [None])
    elif function == 'rank':
        name = draw.choice([n for n in names if frame[n]['dtype'] != 'bool'] or [None])
    elif function == 'diff':
        name = draw.choice([n for n in names if frame[n]['dtype'] in WHOLE[4:] + ('float64', 'date', 'timestamp', 'duration')] or [None])
    else:
        name = draw.choice(plain or [None])
    if name is None:
        return None
    arguments = [name]
    if function in ('shift', 'lag', 'lead', 'diff', 'pct_change') and draw.chance(0.6):
        arguments.append(str(draw.choice([1, 2, 3] + ([-1, 0, 50] if function == 'shift' else []))))
    elif function == 'nth':
        arguments.append(str(draw.choice([1, 2, 3, -1, -2, 50])))
    elif function.startswith('cum') and draw.chance(0.5):
        arguments.append(draw.choice(['true', 'false']))
    elif function in ('ffill', 'bfill') and draw.chance(0.5):
        arguments.append(str(draw.randint(1, 3)))
    elif function == 'rank' and draw.chance(0.8):
        arguments.append(f"'{draw.choice(['average', 'min', 'max', 'first', 'ordinal', 'dense'])}'")
        for _ in range(draw.randint(0, 2)):
            arguments.append(draw.choice(['true', 'false']))
    elif function.startswith('moving'):
        arguments.append(str(draw.randint(1, 5)))
    elif function.startswith('rolling'):
        size = draw.randint(1, 4)
        arguments.append(str(size))
        if function == 'rolling_quantile':
            arguments.append(draw.choice(['0.0', '0.25', '0.5', '0.9', '1.0']))
        if draw.chance(0.5):
            arguments.append(str(draw.randint(1, size)))
            if draw.chance(0.5):
                arguments.append(draw.choice(['true', 'false']))
    elif function.startswith('expanding') and draw.chance(0.5):
        arguments.append(str(draw.randint(1, 3)))
    elif function.startswith('ewm'):
        arguments.append(draw.choice(['0.5', '0.3', '1', 'span 3', 'com 0.5', 'halflife 2']))
        more = [draw.choice(['true', 'false']), draw.choice(['true', 'false']), str(draw.randint(0, 3)), draw.choice(['true', 'false'])]
        arguments += more[:draw.randint(0, 3 if function == 'ewm_mean' else 4)]
    return f'{function}({", ".join(arguments)})'


ENDS = ['unbounded preceding', '{} preceding', 'current row', '{} following', 'unbounded following']
FRAMED = re.compile(r'(\w+\([^()]*\))( ignore nulls)? (rows|range|groups) between (.+) and (.+?)(?: exclude (current row|group|ties|no others))?')


def framed_text(draw, frame, by):
    """An aggregate or nth over a frame as SQL has it."""
    call = aggregate_text(draw, frame) if draw.chance(0.8) else None
    if call is None:
        call = f'nth({draw.choice(list(frame))}, {draw.choice([1, 2, -1, -2])})' + draw.choice(['', ' ignore nulls'])
    elif call == 'size':
        call = 'size()'
    mode = draw.choice(['rows', 'range', 'groups']) if by else draw.choice(['rows', 'range'])
    reach = ['0', '1', '2', '9'] if mode != 'range' else ['0', '1', '2.5'] if len(by) == 1 and number(frame[by[0]]['dtype']) else []
    while True:
        first, last = draw.randint(0, 3), draw.randint(1, 4)
        if first <= last and (reach or (first in (0, 2) and last in (2, 4))):
            break
    bounds = [ENDS[end].format(draw.choice(reach) if reach else '') for end in (first, last)]
    return f'{call} {mode} between {bounds[0]} and {bounds[1]}{draw.choice(["", "", " exclude current row", " exclude group", " exclude ties"])}'


def bound_at(text, mode, i, keys, peers, down):
    """Where a bound of row i's frame is: the first place of its rows, and the one behind."""
    count = len(keys)
    if text.startswith('unbounded'):
        return (0, 0) if text.endswith('preceding') else (count, count)
    if text == 'current row':
        return (i, i + 1) if mode == 'rows' else peers[i]
    distance, way = text.split(' ')
    if mode == 'range':
        key = keys[i][0]
        if key is None or key == 'nan':
            return peers[i]
        sign = -1 if (way == 'preceding') != down else 1
        limit = key + sign * (float(distance) if isinstance(key, float) else decimal.Decimal(distance))
        regular = [k for k in range(count) if keys[k][0] is not None and keys[k][0] != 'nan']
        ahead = [k for k in regular if (keys[k][0] > limit if down else keys[k][0] < limit)]
        until = [k for k in regular if keys[k][0] == limit or k in ahead]
        return regular[0] + len(ahead), regular[0] + len(until)
    away = int(distance) * (-1 if way == 'preceding' else 1)
    if mode == 'rows':
        return max(0, min(count, i + away)), max(0, min(count, i + away + 1))
    starts = sorted(set(peers))
    at = starts.index(peers[i]) + away
    return (0, 0) if at < 0 else (count, count) if at >= len(starts) else starts[at]


def framed(match, frame, order, by, down):
    """The values of one partition's rows."""
    call, ignore, mode, first, last, exclude = match.groups()
    keys = [tuple(same_key(frame[n].values[p]) for n in by) for p in order]
    peers = [(keys.index(key), len(keys) - keys[::-1].index(key)) for key in keys]
    made = []
    for i in range(len(order)):
        inside = list(range(bound_at(first, mode, i, keys, peers, down)[0], bound_at(last, mode, i, keys, peers, down)[1]))
        out = {'current row': [i], 'group': range(*peers[i]), 'ties': [k for k in range(*peers[i]) if k != i]}.get(exclude, [])
        places = [order[k] for k in inside if k not in out]
        function, arguments = re.fullmatch(r'(\w+)\((.*)\)', call).groups()
        argument = arguments.split(', ')[0]
        if function == 'size':
            made.append(len(places))
        elif function == 'nth':
            values = [frame[argument].values[p] for p in places]
            values = [v for v in values if v is not None] if ignore else values
            n = int(arguments.split(', ')[1])
            made.append(values[n - (n > 0)] if -len(values) <= n - (n > 0) < len(values) else None)
        elif function not in ('count', 'nunique') and all(missing(frame[argument].values[p]) for p in places):
            made.append(None)
        else:
            made.append(aggregate(call, frame, places))
    return made


def window(text, frame, parameters):
    """The new column."""
    match = FRAMED.fullmatch(text)
    if match:
        made, by = [None] * height(frame), parameters.get('by', [])
        down = parameters.get('descending', False)
        for places in groups(frame, parameters.get('partition', []), parameters.get('dropna', True)):
            order = sorted_places(frame, by, down, parameters.get('nulls', 'last'), places, parameters.get('nan_largest', False)) if by else places
            for p, value in zip(order, framed(match, frame, order, by, down[0] if isinstance(down, list) else down)):
                made[p] = value
        return made
    function, inside = re.fullmatch(r'(\w+)\((.*)\)', text).groups()
    arguments = inside.split(', ') if inside else []
    made = [None] * height(frame)
    by = parameters.get('by', [])
    for places in groups(frame, parameters.get('partition', []), parameters.get('dropna', True)):
        order = sorted_places(frame, by, parameters.get('descending', False), parameters.get('nulls', 'last'), places, parameters.get('nan_largest', False)) if by else places
        for p, value in zip(order, in_partition(function, arguments, frame, order, by)):
            made[p] = value
    return made


def in_partition(function, arguments, frame, order, by):
    count = len(order)
    if function in ('row_number', 'cumcount'):
        return range(1, count + 1) if function == 'row_number' else range(count)
    if function == 'size':
        return [count] * count
    if function == 'ntile':
        parts = int(arguments[0])
        return [i + 1 for i in range(parts) for _ in range(count // parts + (i < count % parts))]
    if function == 'dense_rank' and arguments:
        return [None if x is None else int(x) for x in ranked([frame[arguments[0]].values[p] for p in order], '', "'dense'")]
    if not arguments:
        keys, made = [tuple(same_key(frame[n].values[p]) for n in by) for p in order], []
        if function in ('percent_rank', 'cume_dist'):
            return [keys.index(key) / max(count - 1, 1) if function == 'percent_rank' else (count - keys[::-1].index(key)) / count for key in keys]
        for i, key in enumerate(keys):
            if i and key == keys[i - 1]:
                made.append(made[-1])
            else:
                made.append(i + 1 if function == 'rank' else (made[-1] + 1 if made else 1))
        return made
    column = frame[arguments[0]]
    if function == 'fill':
        return interpolated([column.values[p] for p in order], column.dtype, [frame[by[0]].values[p] for p in order])
    return WINDOWS[function]([column.values[p] for p in order], column.dtype, *arguments[1:])
