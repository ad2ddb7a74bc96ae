"""Operators that go by time or place (rolling, resample, upsample, interpolate): how cases are drawn, and a model of what their pages say.

Where pandas means the same, Python's tests of frames ask it, too (tests/python/test_time.py).
"""
import datetime
import re

import frame_model as m
from draw import US, column
from frame_model import Values, height, missing
from frame_ops import add, frame, lists, names, optional, some

UNITS = {'us': 1, 'ms': 1000, 's': 10**6, 'min': 60 * 10**6, 'm': 60 * 10**6, 'h': 3600 * 10**6, 'D': US, 'd': US, 'W': 7 * US, 'w': 7 * US}
MONTHS = {'MS': 1, 'mo': 1, 'QS': 3, 'q': 3, 'YS': 12, 'y': 12}
FIRST = datetime.datetime(1970, 1, 1)
COUNTS = ('size', 'count', 'nunique')


def micros(text):
    """Of '1h30min', or '-30min'."""
    sign, text = (-1, text[1:]) if text[0] == '-' else (1, text)
    return sign * sum(int(n or 1) * UNITS[unit] for n, unit in re.findall(r'(\d*)([a-zA-Z]+)', text))


def times(kept):
    return [None if v is None else v * US if kept.dtype == 'date' else v for v in kept.values]


def timed(draw):
    """A frame with keys, and times as t."""
    kept = frame(draw, keys=1, wild=0)
    count = len(kept['k0']['values'])
    kept['t'] = column(draw, draw.choice(['timestamp', 'timestamp', 'timestamp', 'date']), count, draw.choice([0, 0, 0.2]), 0)
    return kept


def aggregates(draw, kept, most=3):
    others = {n: c for n, c in kept.items() if n[0] == 'c'}
    made = {}
    for i in range(draw.randint(1, most)):
        text = m.aggregate_text(draw, others)
        made[f'a{i}'] = text
    return made


# ---- rolling ----

def make_rolling(draw):
    kept = timed(draw)
    p = {'columns': aggregates(draw, kept), 'window': draw.choice(['1', '2', '3', '5', '1D', '36h', '2d', '1h30min', '1us', '3us', '1W', 'unbounded'])}
    if draw.chance(0.3):
        p['columns'] = {**p['columns'], draw.choice(names(kept)): draw.choice(['size', 'count(c0)'])}
    if draw.want == 'closed' or draw.want == 'center':
        p['window'] = draw.choice(['2', '3', '2d', '3us'])
    if not p['window'].isdigit() and p['window'] != 'unbounded' or draw.likely(0.5, 'on'):
        p['on'] = 't'
    optional(draw, p, keys=['k0'], min_periods=lambda: draw.randint(0, int(p['window']) if p['window'].isdigit() else 3))
    return [kept], p if p['window'] == 'unbounded' else optional(draw, p, center=lambda: draw.chance(0.7), closed=lambda: draw.choice(['right', 'left', 'both', 'neither']))


def window_rows(places, at, moments, p):
    """The rows of the window of a row, which is the at-th of these."""
    closed, window = p.get('closed', 'right'), p['window']
    left, right = closed in ('left', 'both'), closed in ('right', 'both')
    if window == 'unbounded':
        return [q for k, q in enumerate(places) if (k <= at if 'on' not in p else moments[q] is not None and moments[q] <= moments[places[at]])]
    if window.isdigit():
        ahead = (int(window) - 1) // 2 if p.get('center') else 0
        first, last = at + ahead - int(window) + (0 if left else 1), at + ahead - (0 if right else 1)
        return [q for k, q in enumerate(places) if first <= k <= last]
    width, here = micros(window), moments[places[at]]
    begin, end = (2 * here - width, 2 * here + width) if p.get('center') else (2 * here - 2 * width, 2 * here)
    return [q for q in places if moments[q] is not None and (begin < 2 * moments[q] or left and begin == 2 * moments[q])
            and (2 * moments[q] < end or right and end == 2 * moments[q])]


def rolled(text, f, rows, p):
    """One value."""
    function = text.split('(')[0]
    least = p.get('min_periods', int(p['window']) if p['window'].isdigit() else 1)
    arguments = re.findall(r'\b[ck]\d+\b', text)
    if function in ('size', 'count'):
        least = p.get('min_periods', 0)
        there = rows
    elif function in ('arg_least', 'arg_most'):
        there = [q for q in rows if not missing(f[arguments[1]].values[q])]
    elif function in ('corr', 'cov', 'cov_pop'):
        there = [q for q in rows if not any(missing(f[a].values[q]) for a in arguments)]
    else:
        there = [q for q in rows if not missing(f[arguments[0]].values[q])]
    if len(there) < least:
        return None
    valued = function in COUNTS or any(not missing(f[arguments[0]].values[q]) for q in rows)
    if not valued and not (least == 0 and function in ('sum', 'prod', 'any', 'all')):
        return None
    return m.aggregate(text, f, rows)


def rolling(f, p):
    f = f[0]
    made = lists(f)
    moments = times(f['t'])
    results = {n: [None] * height(f) for n in p['columns']}
    for places in m.groups(f, p.get('keys', [])):
        order = m.sorted_places(f, ['t'], among=places) if 'on' in p else places
        for at, q in enumerate(order):
            if 'on' in p and moments[q] is None:
                continue
            rows = window_rows(order, at, moments, p)
            for n, text in p['columns'].items():
                results[n][q] = rolled(text, f, rows, p)
    return {**made, **results}


add('rolling', make_rolling, rolling)


# ---- resample ----

def month_number(moment):
    day = FIRST + datetime.timedelta(microseconds=moment)
    return day.year * 12 + day.month - 1


def month_begin(number):
    return (datetime.datetime(number // 12, number % 12 + 1, 1) - FIRST) // datetime.timedelta(microseconds=1)


class Grid:
    """The intervals of one group."""

    def __init__(self, p, first):
        self.right = p.get('closed') == 'right'
        count, unit = re.fullmatch(r'(\d*)(\D+.*)', p['every']).groups()
        self.months = int(count or 1) * MONTHS[unit] if unit in MONTHS else 0
        if self.months:
            return
        self.width = micros(p['every'])
        origin, offset = p.get('origin', p['default_origin']), micros(p['offset']) if 'offset' in p else 0
        begin = {'start_day': first // US * US if self.width % US == 0 or US % self.width else 0, 'start': first, 'epoch': 0}
        if origin == 'start_day' and unit in 'wW':
            begin['start_day'] = 4 * US  # a Monday
        self.origin = begin[origin] if origin in begin else (datetime.datetime.fromisoformat(origin) - FIRST) // datetime.timedelta(microseconds=1)
        self.origin += offset

    def bin(self, moment):
        moment -= 1 if self.right else 0
        if self.months:
            number = month_number(moment)
            return month_begin(number - number % self.months if self.months in (1, 3, 12) else (number - 2000 * 12) // self.months * self.months + 2000 * 12)
        return (moment - self.origin) // self.width * self.width + self.origin

    def next(self, begin):
        return month_begin(month_number(begin) + self.months) if self.months else begin + self.width

    def between(self, first, last):
        while first <= last:
            yield first
            first = self.next(first)


EVERY = ['6h', '12h', '1D', '2D', '7h', '36h', '90min', '1h30min', '1W', 'MS', '2MS', 'QS', '1y', '5h']


def make_resample(draw):
    kept = timed(draw)
    p = {'on': 't', 'every': draw.choice(EVERY), 'aggregate': aggregates(draw, kept)}
    optional(draw, p, keys=['k0'], closed=lambda: draw.choice(['left', 'right']), label=lambda: draw.choice(['left', 'right']),
             empty=lambda: draw.chance(0.5), fill=lambda: draw.choice(['null', 'ffill', 'bfill', 'linear']))
    if p.get('fill') == 'linear':  # of numbers
        numbers = {f'n{i}': f'mean({n})' for i, n in enumerate(names(kept, lambda t: t in ('int64', 'float64', 'int8'))) if n[0] == 'c'}
        p['aggregate'] = numbers or {'n': 'size'}
    if p.get('fill') in ('ffill', 'bfill') and draw.likely(0.4, 'limit'):
        p['limit'] = draw.randint(0, 3)
    if draw.want == 'limit':
        p.update(fill='ffill', limit=draw.randint(0, 3))
    if not set(p['every'][-2:].strip('0123456789').split()) & {'MS', 'QS', 'y', '1y'} and p['every'] not in ('MS', '2MS', 'QS', '1y'):
        optional(draw, p, offset=lambda: draw.choice(['30min', '-2h', '1us']))
    if draw.likely(0.4, 'origin'):
        p['origin'] = draw.choice(['start_day', 'start', 'epoch', '2000-01-01 05:00:00'])
    return [kept], p


OF_NOTHING = ('size', 'count', 'nunique', 'sum', 'prod', 'any', 'all')


def interpolated(values):
    series = m.as_series(values).interpolate()
    return [m.or_null(v) for v in series]


def filled(values, p):
    how = p.get('fill', 'null')
    limit = {} if 'limit' not in p else {'limit': p['limit']}
    return {'null': lambda: values, 'ffill': lambda: m.filled(values, '', **limit), 'bfill': lambda: m.filled(values[::-1], '', **limit)[::-1],
            'linear': lambda: interpolated(values)}[how]()


def resample(f, p):
    f, p = f[0], {**p, 'default_origin': 'start_day'}
    moments = times(f['t'])
    made = {n: [] for n in p.get('keys', []) + ['t'] + list(p['aggregate'])}
    there = [i for i in range(height(f)) if moments[i] is not None]
    f, moments = m.pick(f, there), [moments[i] for i in there]
    for places in m.groups(f, p.get('keys', [])):
        if not places:
            continue
        grid = Grid(p, min(moments[q] for q in places))
        bins = {}
        for q in places:
            bins.setdefault(grid.bin(moments[q]), []).append(q)
        begins = sorted(bins) if p.get('empty') is False else list(grid.between(min(bins), max(bins)))
        for k in p.get('keys', []):
            made[k] += [f[k].values[places[0]]] * len(begins)
        made['t'] += [grid.next(b) if p.get('label') == 'right' else b for b in begins]
        for n, text in p['aggregate'].items():
            function = text.split('(')[0]
            values = [m.aggregate(text, f, bins[b]) if b in bins else m.aggregate(text, f, []) if function in OF_NOTHING else None for b in begins]
            made[n] += filled(values, p)
    return made


add('resample', make_resample, resample)


# ---- upsample ----

def make_upsample(draw):
    kept = timed(draw)
    p = {'on': 't', 'every': draw.choice(['6h', '1h', '1D', '7h', '90min', 'MS'])}
    optional(draw, p, keys=['k0'], fill=lambda: draw.choice(['null', 'ffill', 'bfill', 'nearest']), origin=lambda: draw.choice(['start', 'start_day', 'epoch']))
    if p['every'] != 'MS':
        optional(draw, p, offset=lambda: draw.choice(['30min', '-2h']))
    if draw.likely(0.3, 'fill'):
        kept = {n: c for n, c in kept.items() if n[0] != 'c' or c['dtype'] in ('int64', 'float64')}
        kept['c0'] = column(draw, 'float64', len(kept['t']['values']), 0.2, 0)
        p['fill'] = 'linear'
    return [kept], p


def row_at(moment, places, moments, how):
    """The row of a time, or that from which it has its values; None: nobody."""
    before = [q for q in places if moments[q] <= moment]
    behind = [q for q in places if moments[q] >= moment]
    last = max(before, key=lambda q: (moments[q], q)) if before else None
    first = min(behind, key=lambda q: (moments[q], q)) if behind else None
    if how == 'ffill':
        return last
    if how == 'bfill':
        return first
    return first if last is None or first is not None and moments[first] - moment < moment - moments[last] else last


def upsample(f, p):
    f, p = f[0], {**p, 'default_origin': 'start'}
    moments = times(f['t'])
    keys = p.get('keys', [])
    others = [n for n in f if n != 't' and n not in keys]
    made = {n: [] for n in keys + ['t'] + others}
    there = [i for i in range(height(f)) if moments[i] is not None]
    f, moments = m.pick(f, there), [moments[i] for i in there]
    how = p.get('fill', 'null')
    for places in m.groups(f, keys):
        grid = Grid(p, min(moments[q] for q in places))
        rows = []
        for b in grid.between(grid.bin(min(moments[q] for q in places)), grid.bin(max(moments[q] for q in places))):
            if how in ('null', 'linear'):
                rows += [(b, q) for q in places if moments[q] == b] or [(b, None)]
            else:
                rows.append((b, row_at(b, places, moments, how)))
        for k in keys:
            made[k] += [f[k].values[places[0]]] * len(rows)
        made['t'] += [b for b, _ in rows]
        for n in others:
            values = [None if q is None else f[n].values[q] for _, q in rows]
            if how == 'linear' and m.number(f[n].dtype):
                new = interpolated(values)
                values = [old if v is None else v for old, v in zip(values, new)]
            made[n] += values
    return made


add('upsample', make_upsample, upsample)


# ---- interpolate ----

def make_interpolate(draw):
    kept = frame(draw, dtypes=('int64', 'float64', 'int16'), keys=1)
    count = len(kept['k0']['values'])
    kept['t'] = column(draw, draw.choice(['timestamp', 'date', 'float64', 'int32']), count, draw.choice([0, 0.2]), 0)
    p = {'columns': some(draw, [n for n in kept if n[0] == 'c'])}
    optional(draw, p, keys=['k0'], by='t', limit=lambda: draw.randint(1, 3), limit_area=lambda: draw.choice(['all', 'inside', 'outside']),
             method=lambda: draw.choice(['linear', 'linear', 'nearest', 'zero', 'ffill', 'bfill']))
    if p.get('method') not in ('ffill', 'bfill'):
        optional(draw, p, limit_direction=lambda: draw.choice(['forward', 'backward', 'both']))
    return [kept], p


def between(method, at, before, behind):
    """before, behind: (place, value)."""
    if method in ('ffill', 'zero', 'bfill'):
        return behind[1] if method == 'bfill' else before[1]
    if method == 'nearest':
        return before[1] if at - before[0] <= behind[0] - at else behind[1]
    return before[1] if before[0] == behind[0] else before[1] + (behind[1] - before[1]) / (behind[0] - before[0]) * (at - before[0])


def interpolated_at(i, values, places, p):
    """What the i-th value becomes; None: it stays."""
    method = p.get('method', 'linear')
    direction = p.get('limit_direction', 'backward' if method == 'bfill' else 'forward')
    before = next((k for k in range(i - 1, -1, -1) if not missing(values[k])), None)
    behind = next((k for k in range(i + 1, len(values)) if not missing(values[k])), None)
    near = [direction != 'backward' and before is not None and i - before <= p.get('limit', i),
            direction != 'forward' and behind is not None and behind - i <= p.get('limit', behind)]
    area, outside = p.get('limit_area', 'all'), method not in ('nearest', 'zero')
    if 'limit' in p and not any(near):
        return None
    if before is not None and behind is not None:
        return None if area == 'outside' else between(method, places[i], (places[before], values[before]), (places[behind], values[behind]))
    if area == 'inside' or not outside:
        return None
    if before is not None:
        return values[before] if direction != 'backward' else None
    return values[behind] if behind is not None and direction != 'forward' else None


def interpolate(f, p):
    f = f[0]
    made = lists(f)
    for n in p['columns']:
        made[n] = [None if v is None else float(v) for v in f[n].values]
        for group in m.groups(f, p.get('keys', []), False):
            order = m.sorted_places(f, ['t'], among=[q for q in group if not missing(f['t'].values[q])]) if 'by' in p else group
            values = [f[n].values[q] for q in order]
            places = [float(f['t'].values[q]) for q in order] if 'by' in p else list(range(len(order)))
            for i, q in enumerate(order):
                new = interpolated_at(i, values, places, p) if missing(values[i]) else None
                made[n][q] = made[n][q] if new is None or 'keys' in p and f['k0'].values[q] is None else float(new)
    return made


add('interpolate', make_interpolate, interpolate)
