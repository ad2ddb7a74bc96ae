#!/usr/bin/env python3
"""distinct, duplicated, value_counts, aggregate, describe against pandas; any cut gives the same rows."""
import sys

import numpy as np
import pandas as pd

from granary_test import Column, Instance

WORDS = ['', 'a', 'é', '🐦', 'longer than seven']


def random_frame(rng, rows):
    def holes():
        return rng.random(rows) > 0.2

    return {
        'i': Column('int64', rng.integers(-2, 3, rows), holes()),
        's': Column('string', [WORDS[i] for i in rng.integers(0, len(WORDS), rows)], holes()),
        'e': Column('string', [WORDS[i] for i in rng.integers(0, 3, rows)], holes(), encoded=True),
        'f': Column('float64', rng.choice([0.0, -0.0, 1.5, np.nan], rows), holes()),
        'b': Column('bool', rng.integers(0, 2, rows).astype(bool), holes()),
        'v': Column('int64', np.arange(rows)),
        'x': Column('float64', np.round(rng.normal(0, 100, rows), 2), holes()),
    }


def texts(columns, names):
    """Rows as tuples of text: nan is nan, and null null; one zero."""
    def text(column, i):
        if column.valid is not None and not column.valid[i]:
            return 'null'
        value = column.values[i]
        return str(value + 0.0) if column.dtype == 'float64' else str(value)

    return [tuple(text(columns[n], i) for n in names) for i in range(len(columns['v']))]


def expected_marks(rows, keep):
    series = pd.Series(rows, dtype=object)
    return series.duplicated(keep=False if keep == 'none' else keep).to_numpy()


def check_distinct(granary, rng):
    for rows in (0, 1, 9, 1000):
        columns = random_frame(rng, rows)
        for subset in (['i'], ['s', 'f'], ['e', 'b', 'i'], ['f'], None):
            for keep in ('first', 'last', 'none'):
                names = subset if subset is not None else list(columns)
                marks = expected_marks(texts(columns, names), keep)
                options = {'keep': keep} if subset is None else {'keep': keep, 'subset': subset}
                nodes = {'x': granary.put(columns, 1 + rows % 11), 'd': {'op': 'distinct', 'input': 'x', **options},
                         'm': {'op': 'duplicated', 'input': 'x', **options}}
                got, shown = granary.run(nodes, ['d', 'm'])
                assert shown['duplicated'].values.tolist() == marks.tolist(), (rows, subset, keep)
                assert got['v'].values.tolist() == np.arange(rows)[~marks].tolist(), (rows, subset, keep)
                kept = texts(columns, list(columns))
                assert texts(got, list(columns)) == [kept[i] for i in np.flatnonzero(~marks)], (rows, subset, keep)


def check_value_counts(granary, rng):
    columns = random_frame(rng, 700)
    source = granary.put(columns, 6)
    for names in (['i'], ['s', 'b'], ['e']):
        for dropna in (True, False):
            got = granary.run({'x': source, 'y': {'op': 'value_counts', 'input': 'x', 'columns': names, 'dropna': dropna}}, 'y')
            counts = {}
            for row in texts(columns, names):
                if not (dropna and 'null' in row):
                    counts[row] = counts.get(row, 0) + 1
            shown = texts({**got, 'v': got['count']}, names)
            assert dict(zip(shown, got['count'].values.tolist())) == counts
            assert got['count'].values.tolist() == sorted(counts.values(), reverse=True)
    got = granary.run({'x': source, 'y': {'op': 'value_counts', 'input': 'x', 'columns': ['i'], 'normalize': True,
                                          'ascending': True}}, 'y')
    want = pd.Series(columns['i'].values[columns['i'].valid]).value_counts(normalize=True, ascending=True)
    assert np.allclose(sorted(got['proportion'].values), sorted(want)) and list(got['proportion'].values) == \
        sorted(got['proportion'].values)


def check_describe(granary, rng):
    columns = random_frame(rng, 500)
    data = pd.Series(np.where(columns['x'].valid, columns['x'].values, np.nan)).describe()
    for pieces in (1, 7):
        got = granary.run({'x': granary.put(columns, pieces), 'y': {'op': 'describe', 'input': 'x'}}, 'y')
        assert list(got) == ['statistic', 'i', 'f', 'v', 'x'] and got['statistic'].values == list(data.index)
        assert np.allclose(got['x'].values, data.to_numpy(), rtol=1e-12)
    one = granary.run({'x': granary.put(columns, 3), 'y': {'op': 'aggregate', 'input': 'x', 'aggregate': {
        'n': 'size', 's': 'sum(x)', 'm': 'max(s)'}}}, 'y')
    assert one['n'].values.tolist() == [500] and abs(one['s'].values[0] - np.nansum(
        np.where(columns['x'].valid, columns['x'].values, np.nan))) < 1e-9 and one['m'].values == ['🐦']
    count = granary.run({'x': granary.put(columns, 3), 'y': {'op': 'aggregate', 'input': 'x', 'aggregate': {'n': 'size'}}}, 'y')
    assert count['n'].values.tolist() == [500]


def check_refusals(granary):
    source = granary.put({'a': Column('int64', np.arange(3)), 'count': Column('string', ['x', 'y', 'z'])})
    for node, words in (({'op': 'distinct', 'subset': ['b']}, ["'b'"]),
                        ({'op': 'distinct', 'keep': 'all'}, ["'keep'"]),
                        ({'op': 'value_counts'}, ["'count'"]),
                        ({'op': 'describe', 'columns': ['count']}, ["'count'", 'string']),
                        ({'op': 'aggregate', 'aggregate': {'n': 'sum(count)'}}, ["'n'", 'string'])):
        granary.fails({'x': source, 'y': {**node, 'input': 'x'}}, 'y', "'y'", *words)


def main():
    rng = np.random.default_rng(11)
    with Instance(executors=2) as granary:
        check_distinct(granary, rng)
        check_value_counts(granary, rng)
        check_describe(granary, rng)
        check_refusals(granary)


if __name__ == '__main__':
    sys.exit(main())
