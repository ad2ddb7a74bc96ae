"""A real file, the bird strikes of libclient/examples: graphs and SQL over the file and over the loaded table against pandas."""
import io
import os

import numpy as np
import pandas as pd

from granary_test import Instance, same_pandas

PATH = os.path.join(os.environ.get('GRANARY_SOURCE', '.'), 'libclient/examples/data/birdstrikes.csv')
NAMES = {'Airport Name': 'airport', 'Aircraft Make Model': 'model', 'Effect Amount of damage': 'damage', 'Flight Date': 'day',
         'Aircraft Airline Operator': 'operator', 'Origin State': 'state', 'Phase of flight': 'phase', 'Wildlife Size': 'size',
         'Wildlife Species': 'species', 'Time of day': 'time', 'Cost Other': 'other', 'Cost Repair': 'repair',
         'Cost Total $': 'cost', 'Speed IAS in knots': 'speed'}

# "None" is a value of the file, not a missing one.
strikes = pd.read_csv(PATH, keep_default_na=False, na_values=[''], parse_dates=['Flight Date']).rename(columns=NAMES)
strikes['speed'] = strikes.speed.astype('Int64')


def first_of(by, ascending=True, rows=10):
    return lambda frame: frame.sort_values(by, ascending=ascending, kind='stable').head(rows).reset_index(drop=True)


def agg(keys, **what):
    return strikes.groupby(keys).agg(**what).reset_index()


def rolling():
    month = strikes.groupby(strikes.day.dt.to_period('M').dt.to_timestamp()).cost.sum()
    return pd.DataFrame({'m': month.index, 'c': month.values, 'r': month.rolling(12, min_periods=1).mean().values})


def costliest_of_each_phase():
    ordered = strikes.sort_values('cost', ascending=False, kind='stable')
    place = ordered.groupby('phase').cost.rank(method='first', ascending=False)
    return ordered[place <= 3].sort_values(['phase', 'cost', 'species'], ascending=[True, False, True])[['phase', 'species', 'cost']]


# A node over "s", in pandas.
GRAPHS = {
    'groupby': ({'op': 'groupby', 'input': 's', 'keys': ['species', 'size'], 'aggregate':
                 {'n': 'size', 'known': 'count(speed)', 'cost': 'sum(cost)', 'mean': 'mean(speed)', 'sd': 'std(speed)',
                  'median': 'median(speed)', 'models': 'nunique(model)', 'first': 'min(day)', 'last': 'last(operator)'}},
                lambda: agg(['species', 'size'], n=('cost', 'size'), known=('speed', 'count'), cost=('cost', 'sum'),
                            mean=('speed', 'mean'), sd=('speed', 'std'), median=('speed', 'median'), models=('model', 'nunique'),
                            first=('day', 'min'), last=('operator', 'last'))),
    'value_counts': ({'op': 'value_counts', 'input': 's', 'columns': ['phase']},
                     lambda: agg('phase', count=('cost', 'size')).sort_values(['count', 'phase'], ascending=[False, True])),
    'filter': ({'op': 'filter', 'input': 's', 'where': "speed > 200 and day between '1995-03-01' and '1996-02-29' and species like '%gull%'"},
               lambda: strikes[(strikes.speed > 200).fillna(False) & (strikes.day >= '1995-03-01') & (strikes.day <= '1996-02-29')
                               & strikes.species.str.contains('gull')]),
    'sort': ({'op': 'sort', 'input': 's', 'by': ['speed', 'cost', 'model'], 'descending': [True, False, True]},
             lambda: strikes.sort_values(['speed', 'cost', 'model'], ascending=[False, True, False], kind='stable')),
    'distinct': ({'op': 'distinct', 'input': 's', 'subset': ['operator', 'state'], 'keep': 'last'},
                 lambda: strikes.drop_duplicates(['operator', 'state'], keep='last')),
    'describe': ({'op': 'describe', 'input': 's'},
                 lambda: strikes[['other', 'repair', 'cost', 'speed']].astype('float64').describe().rename_axis('statistic').reset_index()),
    'window': ({'op': 'window', 'input': 's', 'partition': ['operator'], 'columns':
                {'so_far': 'cumsum(cost)', 'before': 'shift(day)', 'place': "rank(cost, 'min', true)", 'share': 'sum(cost)'}},
               lambda: strikes.assign(so_far=strikes.groupby('operator').cost.cumsum(), before=strikes.groupby('operator').day.shift(),
                                      place=strikes.groupby('operator').cost.rank(method='min', ascending=False),
                                      share=strikes.groupby('operator').cost.transform('sum'))),
    'assign': ({'op': 'assign', 'input': 's', 'columns':
                {'weekday': 'dayofweek(day)', 'kmh': 'speed * 1.852', 'kind': "case when speed is null then 'unknown' when speed < 100 "
                 "then 'slow' else 'fast' end", 'word': "upper(split_part(species, ' ', 1))", 'month': "date_trunc('month', day)"}},
               lambda: strikes.assign(weekday=strikes.day.dt.dayofweek, kmh=strikes.speed.astype('Float64') * 1.852,
                                      kind=np.where(strikes.speed.isna(), 'unknown', np.where(strikes.speed.fillna(0) < 100, 'slow', 'fast')),
                                      word=strikes.species.str.split(' ').str[0].str.upper(),
                                      month=strikes.day.dt.to_period('M').dt.to_timestamp())),
}

# SQL over the loaded table, in pandas.
QUERIES = {
    'SELECT count(*) AS n, count(speed) AS known, sum(cost) AS cost, avg(speed) AS mean, count(DISTINCT species) AS kinds, max(day) AS last FROM s':
        lambda: pd.DataFrame({'n': [len(strikes)], 'known': strikes.speed.count(), 'cost': strikes.cost.sum(), 'mean': strikes.speed.mean(),
                              'kinds': strikes.species.nunique(), 'last': strikes.day.max()}),
    'SELECT species, sum(cost) AS total FROM s GROUP BY species HAVING count(*) >= 10 ORDER BY total DESC, species LIMIT 10':
        lambda: first_of(['total', 'species'], [False, True])(
            agg('species', total=('cost', 'sum'), n=('cost', 'size')).query('n >= 10')[['species', 'total']]),
    "SELECT extract(year FROM day) AS year, count(*) AS n, avg(CASE WHEN damage = 'None' THEN 0 ELSE 1 END) AS damaged FROM s GROUP BY 1 ORDER BY 1":
        lambda: strikes.assign(year=strikes.day.dt.year, damaged=(strikes.damage != 'None').astype(int)).groupby('year')
        .agg(n=('cost', 'size'), damaged=('damaged', 'mean')).reset_index(),
    "WITH month AS (SELECT date_trunc('month', day) AS m, sum(cost) AS c FROM s GROUP BY 1) "
    'SELECT m, c, avg(c) OVER (ORDER BY m ROWS BETWEEN 11 PRECEDING AND CURRENT ROW) AS r FROM month ORDER BY m': rolling,
    'SELECT phase, species, cost FROM (SELECT *, row_number() OVER (PARTITION BY phase ORDER BY cost DESC) AS place FROM s) AS p '
    'WHERE place <= 3 ORDER BY phase, cost DESC, species': costliest_of_each_phase,
    'SELECT a.state, a.n, b.n AS damaging FROM (SELECT state, count(*) AS n FROM s GROUP BY state) AS a '
    "LEFT JOIN (SELECT state, count(*) AS n FROM s WHERE damage <> 'None' GROUP BY state) AS b ON a.state = b.state ORDER BY a.state":
        lambda: agg('state', n=('cost', 'size')).merge(
            strikes[strikes.damage != 'None'].groupby('state').agg(damaging=('cost', 'size')).reset_index(), how='left').astype({'damaging': 'Int64'}),
    'SELECT DISTINCT operator FROM s WHERE operator NOT IN (SELECT operator FROM s WHERE cost > 0) ORDER BY operator':
        lambda: pd.DataFrame({'operator': sorted(set(strikes.operator) - set(strikes[strikes.cost > 0].operator))}),
    "SELECT time, percentile_cont(0.9) WITHIN GROUP (ORDER BY speed) AS q, count(*) FILTER (WHERE size = 'Large') AS large FROM s GROUP BY time ORDER BY time":
        lambda: strikes.groupby('time').agg(q=('speed', lambda s: s.dropna().astype(float).quantile(0.9)),
                                            large=('size', lambda s: (s == 'Large').sum())).reset_index(),
}


def rows_of(text, like):
    """CSV that granary wrote, with the dates of the frame it is compared to."""
    dates = [name for name in like.columns if like[name].dtype.kind == 'M']
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[''], parse_dates=dates)


def main(granary):
    read = {'f': {'op': 'read_csv', 'path': PATH}, 's': {'op': 'rename', 'input': 'f', 'columns': NAMES}}
    dtypes = {name: column.dtype for name, column in granary.run(read, 's').items()}
    assert dtypes == {**dict.fromkeys(NAMES.values(), 'string'), 'day': 'date', 'other': 'int64', 'repair': 'int64', 'cost': 'int64',
                      'speed': 'int64'}, dtypes

    # The file, small chunks of it, and the table that is loaded say the same.
    granary.command('load', 'raw', PATH)
    renamed = {'f': {'op': 'table', 'name': 'raw'}, 's': read['s']}
    for what, (node, expected) in GRAPHS.items():
        expected = expected()
        results = [granary.run({**source, 'x': node}, 'x', size) for source, size in ((read, 0), (read, 100000), (renamed, 0))]
        assert all(list(r) == list(results[0]) and all(r[n] == results[0][n] for n in r) for r in results), what
        same_pandas(pd.DataFrame({name: column.to_pandas() for name, column in results[0].items()}), expected, what, 1e-12)

    aliases = ', '.join(f'"{name}" AS {alias}' for name, alias in NAMES.items())
    for query, expected in QUERIES.items():
        text = granary.command('sql', '--discard', '--csv', query.replace('FROM s', f'FROM (SELECT {aliases} FROM raw) AS s'))
        expected = expected()
        same_pandas(rows_of(text, expected), expected, query, 1e-12)

    # What is written reads back as what it was, in both formats.
    for suffix in ('csv', 'arrow'):
        copy = os.path.join(granary.directory, f'copy.{suffix}')
        granary.run({**read, 'w': {'op': f'write_{suffix}', 'input': 's', 'path': copy}}, 'w')
        again = granary.run({'r': {'op': f'read_{suffix}', 'path': copy}}, 'r')
        first = granary.run(read, 's')
        assert list(again) == list(first) and all(again[n] == first[n] for n in first), suffix
    same_pandas(rows_of(open(os.path.join(granary.directory, 'copy.csv')).read(), strikes), strikes, 'copy.csv')


def check_other_types(granary):
    """Columns of an Arrow file that cannot be read hinder only who wants them."""
    path = os.path.join(os.environ.get('GRANARY_SOURCE', '.'), 'tests/golden/arrow/nested.arrow')
    read = {'f': {'op': 'read_arrow', 'path': path}}
    frame = granary.run({**read, 'x': {'op': 'select', 'input': 'f', 'columns': ['last', 'text']}}, 'x')
    assert frame['text'].to_pandas().tolist() == [f'text {i}' if i != 2 else None for i in range(6)] and len(frame) == 2
    text = granary.command('sql', '--discard', '--csv', f"SELECT sum(number) AS s, count(*) AS n FROM '{path}' WHERE NOT last")
    assert text.split() == ['s,n', '4.5,3'], text
    assert granary.command('sql', '--discard', '--csv', f"SELECT count(*) AS n FROM '{path}'").split() == ['n', '6']
    for node, *words in (({'op': 'select', 'input': 'f', 'columns': ['text', 'map', 'interval']}, "'map' (Map), 'interval' (Interval)", "'first', 'list', 'struct.x', 'struct.y', 'struct.z', 'text'"),
                         ({'op': 'filter', 'input': 'f', 'where': 'union is null'}, "'union' (Union)"),
                         ({'op': 'aggregate', 'input': 'f', 'aggregate': {'n': 'count(map)'}}, "'map' (Map)"),
                         ({'op': 'assign', 'input': 'f', 'columns': {'x': 'interval = interval'}}, "'interval' (Interval)"),
                         ({'op': 'write_csv', 'input': 'f', 'path': os.path.join(granary.directory, 'x.csv')}, 'select other columns')):
        granary.fails({**read, 'x': node}, 'x', "'f'", 'nested.arrow', 'not supported', *words)
    granary.fails(read, 'f', "'map' (Map)", 'select other columns')
    # One that is replaced is not wanted, and the new one has its place.
    new = {**read, 'n': {'op': 'assign', 'input': 'f', 'columns': {'map': 'first * 2', 'end': 'number'}}}
    frame = granary.run({**new, 'x': {'op': 'select', 'input': 'n', 'columns': ['map', 'end', 'text']}}, 'x')
    assert frame['map'].to_pandas().fillna(-1).tolist() == [0, 2, -1, 6, 8, 10], frame['map']
    granary.fails(new, 'n', "columns 'interval' (Interval)")
    granary.fails({**read, 'x': {'op': 'assign', 'input': 'f', 'columns': {'x': 'map + 1'}}}, 'x', "'x'", '`map`', 'unsupported')


if __name__ == '__main__':
    with Instance() as instance:
        main(instance)
        check_other_types(instance)
