"""
Flights in an Arrow file that apache-arrow wrote, against pandas: delay and distance as int16, time of day as float32, 200000 rows.

    flights.py [FILE]    default: the frame of such a file, filled with flights made up here
"""
import base64
import os
import sys
import zlib

import numpy as np
import pandas as pd

from granary_test import Instance, same_pandas

# Everything of that file but its 200000 values a column.
FRAME = zlib.decompress(base64.b85decode(
    'c-nIe3i1y(WMKFY1Oki<3@i)`44;5(5e5(&D8RtQz|Ft`Bv}}K0L6KLA{;;nl4S;xGl1BG0iy2>P~HGYD*&+s5HkW52rvi%<pdZ6!FoWt85n*6)iE-#0U'
    '--mUrA<eDg#u%1+so7?E1fe+zOHhyM+@d4{=dSW^qYkUNXgIv4YG>%}K0efP~8nB>ypFNr3f<Ktq6sK^SZ<50Li^DDS|_43=+zs(}D5Ae#lKMgZt%+@L{<'
    '4TZ)jZpwqI5ynRn2e|^~78oGJXMp;b0UQ<(0P?c~khXyP85D9tK%am@iU%BS3XBl7A7F++!w3dOUb?XZ3Oj;x766}Tc1H'))
HEAD, ROWS = 528, 200000
COLUMNS = {'delay': 'int16', 'distance': 'int16', 'time': 'float32'}


def make_file(path):
    """Most flights are a few minutes early, some are very late; there are few routes; a time is a minute of the day in hours."""
    random = np.random.default_rng(5)
    values = {'delay': np.clip(random.normal(-5, 12, ROWS) + np.where(random.random(ROWS) < 0.2, random.exponential(60, ROWS), 0), -86, 1444),
              'distance': random.choice(random.integers(30, 4963, 600), ROWS),
              'time': np.sort(random.integers(0, 24 * 60, ROWS)) / 60}
    with open(path, 'wb') as file:
        file.write(FRAME[:HEAD] + b''.join(values[name].astype(dtype).tobytes() for name, dtype in COLUMNS.items()) + FRAME[HEAD:])


def read_file(path):
    bytes_, frame, at = open(path, 'rb').read(), {}, HEAD
    for name, dtype in COLUMNS.items():
        frame[name] = np.frombuffer(bytes_, dtype, ROWS, at)
        at += frame[name].nbytes
    return pd.DataFrame(frame)


def bins(flights):
    return flights.assign(hour=np.floor(flights.time).astype('int64'), late=flights.delay > 15, far=flights.distance // 500)


def by_hour(flights):
    # pandas adds float32 and int16 up in float64 and int64; the mean of a float32 column is rounded to that.
    wide = bins(flights).astype({'time': 'float64'})
    return wide.groupby('hour').agg(n=('delay', 'size'), total=('delay', 'sum'), mean=('delay', 'mean'), sd=('delay', 'std'), time=('time', 'mean'),
                                    median=('delay', 'median'), routes=('distance', 'nunique'), most=('delay', 'max')).astype({'time': 'float32'}).reset_index()


def brushed(flights):
    """What a crossfilter asks for: one histogram within ranges of the other columns."""
    brush = flights[(flights.delay >= -20) & (flights.delay < 60) & (flights.time >= 6) & (flights.time < 22.5)]
    return bins(brush).groupby(['far', 'late']).size().rename('n').reset_index()


# Nodes over "f", in pandas; x is asked for.
HOURS = {'a': {'op': 'assign', 'input': 'f', 'columns': {'hour': 'cast(floor(time) as int64)', 'late': 'delay > 15', 'far': 'distance // 500'}}}
GRAPHS = {
    'by hour': ({**HOURS, 'x': {'op': 'groupby', 'input': 'a', 'keys': ['hour'], 'aggregate':
                                {'n': 'size', 'total': 'sum(delay)', 'mean': 'mean(delay)', 'sd': 'std(delay)', 'time': 'mean(time)',
                                 'median': 'median(delay)', 'routes': 'nunique(distance)', 'most': 'max(delay)'}}}, by_hour),
    'brushed': ({**HOURS, 'b': {'op': 'filter', 'input': 'a', 'where': 'delay >= -20 and delay < 60 and time >= 6 and time < 22.5'},
                 'x': {'op': 'groupby', 'input': 'b', 'keys': ['far', 'late'], 'aggregate': {'n': 'size'}}}, brushed),
    'describe': ({'x': {'op': 'describe', 'input': 'f'}},
                 lambda f: f.astype('float64').describe().astype({'time': 'float32'}).rename_axis('statistic').reset_index()),
    'latest': ({'x': {'op': 'sort', 'input': 'f', 'by': ['delay', 'time'], 'descending': [True, False]}},
               lambda f: f.sort_values(['delay', 'time'], ascending=[False, True], kind='stable')),
    'far and few': ({'v': {'op': 'value_counts', 'input': 'f', 'columns': ['distance']}, 'x': {'op': 'head', 'input': 'v', 'rows': 20}},
                    lambda f: f.groupby('distance').size().rename('count').reset_index()
                    .sort_values(['count', 'distance'], ascending=[False, True]).head(20)),
    'before': ({'x': {'op': 'window', 'input': 'f', 'partition': ['distance'], 'columns':
                      {'before': 'shift(delay)', 'so_far': 'cumsum(delay)', 'place': "rank(delay, 'min')"}}},
               lambda f: f.assign(before=f.groupby('distance').delay.shift(), so_far=f.groupby('distance').delay.cumsum().astype('int64'),
                                  place=f.groupby('distance').delay.rank(method='min'))),
}

# SQL over the file and over the loaded table, in pandas.
QUERIES = {
    'SELECT count(*) AS n, sum(delay) AS delay, avg(distance) AS distance, min(time) AS first, max(time) AS last FROM f': lambda f: pd.DataFrame(
        {'n': [len(f)], 'delay': f.delay.sum(), 'distance': f.distance.mean(), 'first': f.time.min(), 'last': f.time.max()}),
    'SELECT floor(time / 6) AS part, count(*) AS n, avg(CASE WHEN delay > 15 THEN 1 ELSE 0 END) AS late FROM f GROUP BY 1 ORDER BY 1':
        lambda f: bins(f).assign(part=np.floor(f.time / np.float32(6)), late=(f.delay > 15).astype(int)).groupby('part')
        .agg(n=('delay', 'size'), late=('late', 'mean')).reset_index(),
    'SELECT distance, delay FROM (SELECT *, row_number() OVER (PARTITION BY distance ORDER BY delay DESC) AS place FROM f) AS p '
    'WHERE place = 1 AND distance > 2000 ORDER BY distance':
        lambda f: f[f.distance > 2000].groupby('distance').delay.max().reset_index(),
    'SELECT delay, count(*) AS n FROM f WHERE distance IN (SELECT distance FROM f GROUP BY distance HAVING avg(delay) > 10) GROUP BY delay '
    'ORDER BY n DESC, delay LIMIT 10':
        lambda f: f[f.groupby('distance').delay.transform('mean') > 10].groupby('delay').size().rename('n').reset_index()
        .sort_values(['n', 'delay'], ascending=[False, True]).head(10),
}


def same(ours, theirs, what):
    """Long columns without nulls are compared as arrays."""
    long = [name for name in ours if len(ours) > 10000 and not ours[name].isna().any()]
    assert list(ours) == list(theirs), what
    for name in long:
        assert np.array_equal(ours[name].to_numpy(), theirs[name].to_numpy()), f'{what}: column {name}'
    same_pandas(ours.drop(columns=long), theirs.drop(columns=long), what, 1e-12)


def main(granary, path):
    if path is None:
        path = os.path.join(granary.directory, 'flights.arrow')
        make_file(path)
    flights = read_file(path)
    read = {'op': 'read_arrow', 'path': path}
    columns = granary.run({'f': read}, 'f')
    assert {name: column.dtype for name, column in columns.items()} == COLUMNS
    same(pd.DataFrame({name: column.to_pandas() for name, column in columns.items()}), flights, 'file')

    granary.command('load', 'f', path)
    table = {'op': 'table', 'name': 'f'}
    for what, (nodes, expected) in GRAPHS.items():
        results = [granary.run({'f': source, **nodes}, 'x', size) for source, size in ((read, 0), (read, 200000), (table, 0))]
        assert all(list(r) == list(results[0]) and all(r[n] == results[0][n] for n in r) for r in results), what
        same(pd.DataFrame({name: column.to_pandas() for name, column in results[0].items()}), expected(flights), what)

    answer = os.path.join(granary.directory, 'answer.arrow')
    for query, expected in QUERIES.items():
        for source in ('f', f"'{path}'"):
            granary.command('sql', '--discard', '-o', answer, query.replace('FROM f', f'FROM {source}'))
            same(granary.run_pandas({'r': {'op': 'read_arrow', 'path': answer}}, 'r'), expected(flights), query)


if __name__ == '__main__':
    with Instance() as instance:
        main(instance, sys.argv[1] if len(sys.argv) > 1 else None)
