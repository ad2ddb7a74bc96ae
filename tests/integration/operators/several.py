"""Operators that are several others, against pandas: asof joins, rows of groups, positions, codes, pivots, ..."""
import numpy as np
import pandas as pd

from granary_test import Column, GranaryError, Instance, same_pandas

rng = np.random.default_rng(11)


def frame_of(rows):
    frame = pd.DataFrame({
        'g': pd.array(rng.integers(0, 4, rows), 'Int64'),
        's': np.array(['x', 'ä€😀', "it's", ''], object)[rng.integers(0, 4, rows)],
        'f': np.where(rng.random(rows) < 0.2, np.nan, rng.integers(-9, 9, rows) / 4),
        'n': np.arange(rows),
        'm': rng.integers(-5, 5, rows),
    })
    frame.loc[rng.random(rows) < 0.1, 'g'] = pd.NA
    frame.loc[rng.random(rows) < 0.2, 's'] = None
    return frame


def plain(frame):
    """NaN and null are one; nullable numbers become NumPy's where they can."""
    return frame.assign(**{c: frame[c].astype('float64') for c in frame if str(frame[c].dtype) == 'Float64'}).reset_index(drop=True)


with Instance() as granary:
    def check(tables, want, rtol=0, **node):
        inputs = {'inputs': list(tables)} if tables else {}
        ours = plain(granary.run_pandas({**tables, 'x': {**inputs, **node}}, 'x'))
        same_pandas(ours, plain(want), f'{node}', rtol)

    for rows, pieces in ((0, 1), (1, 1), (7, 3), (300, 4)):
        frame = frame_of(rows)
        t = {'t': granary.put_frame(frame, pieces)}
        groups = frame.groupby('g')

        # rows of groups
        for k in (0, 2, -1, -3):
            check(t, groups.head(k), op='group_head', keys='g', rows=k)
            check(t, groups.tail(k), op='group_tail', keys='g', rows=k)
        place, back = groups.cumcount(), groups.cumcount(ascending=False)  # nth() of older pandas leaves the keys out
        check(t, frame[frame.g.notna() & (place.isin([0, 5]) | (back == 0))], op='group_nth', keys='g', n=[0, -1, 5])
        check(t, frame[frame.g.notna() & frame.s.notna() & (frame.groupby(['g', 's']).cumcount() == 1)], op='group_nth',
              keys=['g', 's'], n=1)

        # positions
        best = [pd.NA if frame[c].isna().all() else frame[c].idxmax() for c in ('f', 'm')]
        check(t, pd.DataFrame({'f': pd.array(best[:1], 'Int64'), 'm': pd.array(best[1:], 'Int64')}), op='idxmax', columns=['f', 'm'])
        least = frame.dropna(subset='f').groupby('g')['f'].idxmin() if rows > 1 else None
        if least is not None:
            check({'t': granary.put_frame(frame[frame.f.notna()].reset_index(drop=True), pieces)},
                  frame[frame.f.notna()].reset_index(drop=True).groupby('g')[['f', 'm']].idxmin().reset_index(), op='idxmin',
                  keys='g', columns=['f', 'm'])

        # codes and bins
        for column in ('s', 'f', 'g'):
            for order in (False, True):
                check(t, frame.assign(code=pd.factorize(frame[column], sort=order)[0]), op='factorize', column=column, sort=order)
        if rows > 1:
            codes = pd.qcut(frame.n, 3, labels=False)
            check(t, frame.assign(b=codes), op='qcut', column='n', q=3, name='b')
            codes = pd.qcut(frame.n, [0.1, 0.5, 1], labels=['low', 'high']).astype(object)
            check(t, frame.assign(n=codes.where(codes.notna(), None)), op='qcut', column='n', quantiles=['0.1', '0.5', '1'],
                  labels=['low', 'high'])

        # groups as columns
        some = frame[frame.s.isin(['x', "it's"])]
        if rows == 300:
            for function in ('sum', 'mean', 'max', 'count', 'std', 'first', 'median'):
                want = some.pivot_table(index='g', columns='s', values='m', aggfunc=function)[['x', "it's"]].reset_index()
                check({'t': granary.put_frame(some, pieces)}, want, 1e-12, op='pivot_table', index='g', columns='s', values='m',
                      categories=['x', "it's"], aggregate=function)
            want = pd.crosstab(frame.n % 40, frame.m)[[-5, 3]].reset_index().rename(columns={-5: '-5', 3: '3'})
            check({'t': granary.put_frame(frame.assign(n=frame.n % 40), pieces)}, want, op='pivot_table', index='n', columns='m',
                  values='m', categories=['-5', '3'], aggregate='size', fill_value='0')

        # columns with columns
        numbers = ['f', 'n', 'm']
        if rows > 1:
            for function in ('corr', 'cov'):
                want = getattr(frame[numbers], function)()
                want.insert(0, 'column', want.index)
                check(t, want, 1e-9, op=function, columns=numbers)
        check(t, frame.assign(f=frame.f.interpolate(), m=frame.m.astype(float)), 1e-12, op='interpolate', columns=['f', 'm'])
        if rows == 300:
            want = frame[frame.g.notna()].copy()
            want['f'] = want.groupby('g')['f'].transform(lambda x: x.interpolate())
            nodes = {**t, 'i': {'op': 'interpolate', 'input': 't', 'columns': 'f', 'keys': 'g'}}
            ours = plain(granary.run_pandas({**nodes, 'x': {'op': 'filter', 'input': 'i', 'where': 'g is not null'}}, 'x'))
            same_pandas(ours, plain(want), 'interpolate by groups', 1e-12)

    # another frame's values
    left = pd.DataFrame({'k': [3, 1, 2, 9], 'a': [1.5, np.nan, 2.5, np.nan], 'b': ['p', None, 'q', None], 'c': range(4)})
    right = pd.DataFrame({'k': [2, 1, 7], 'a': [np.nan, 10.0, 70.0], 'b': ['Q', 'P', None], 'd': range(3)})
    tables = {'l': granary.put_frame(left, 2), 'r': granary.put_frame(right, 2)}
    want = left.set_index('k')
    want.update(right.set_index('k')[['a', 'b']])
    check(tables, want.reset_index(), op='update', on='k', columns=['a', 'b'])
    want = left[['k', 'a', 'b']].set_index('k').combine_first(right[['k', 'a', 'b']].set_index('k')).reset_index()
    nodes = {**tables, 'n': {'op': 'select', 'input': 'l', 'columns': ['k', 'a', 'b']},
             'x': {'op': 'combine_first', 'inputs': ['n', 'r'], 'on': 'k', 'columns': ['a', 'b']}}
    same_pandas(plain(granary.run_pandas(nodes, 'x')), plain(want), 'combine_first')

    # asof joins
    for rows, others in ((0, 3), (3, 0), (40, 25), (200, 150)):
        left = pd.DataFrame({'t': np.sort(rng.integers(0, 100, rows)), 'g': rng.integers(0, 3, rows), 'v': np.arange(rows)})
        right = pd.DataFrame({'t': np.sort(rng.integers(0, 100, others)), 'g': rng.integers(0, 3, others), 'v': np.arange(others) * 10})
        tables = {'l': granary.put_frame(left, 3), 'r': granary.put_frame(right, 2)}
        for direction in ('backward', 'forward', 'nearest'):
            for exact in (True, False):
                for options in ({}, {'by': 'g'}, {'tolerance': 3}):
                    want = pd.merge_asof(left, right, on='t', direction=direction, allow_exact_matches=exact, **options)
                    want = want[['t', 'g', 'v_x', 'v_y'] if 'by' in options else ['t', 'g_x', 'v_x', 'g_y', 'v_y']]
                    given = {k: str(v) for k, v in options.items()}
                    check(tables, want, op='merge_asof', on='t', direction=direction, allow_exact_matches=exact, **given)
    day = pd.to_datetime('2024-01-01')
    left = pd.DataFrame({'at': day + pd.to_timedelta([1, 5, 30, 400], 'min'), 'x': [1, 2, 3, 4]})
    right = pd.DataFrame({'seen': day + pd.to_timedelta([0, 4, 100], 'min'), 'y': ['p', 'q', 'r']})
    shuffled = left.iloc[[2, 0, 3, 1]]
    want = pd.merge_asof(left, right, left_on='at', right_on='seen', tolerance=pd.Timedelta('30min')).iloc[[2, 0, 3, 1]]
    check({'l': granary.put_frame(shuffled), 'r': granary.put_frame(right)}, want, op='merge_asof', left_on='at', right_on='seen',
          tolerance="interval '30' minute")
    holes = {'l': granary.put({'t': Column('float64', np.array([1.0, np.nan, 5.0, 0.0]), np.array([1, 1, 1, 0]))}),
             'r': granary.put({'t': Column('float64', np.array([np.nan, 0.5, 2.0]), np.array([1, 1, 0])), 'v': Column('int64', np.arange(3))})}
    ours = granary.run_pandas({**holes, 'x': {'op': 'merge_asof', 'inputs': ['l', 'r'], 'on': 't', 'direction': 'nearest'}}, 'x')
    assert [None if pd.isna(v) else v for v in ours.v] == [1, None, 1, None], ours

    # series of dates
    for start, periods, freq in (('2024-02-27', 4, 'D'), ('2024-02-27 12:30:00', 5, '90min'), ('2023-11-01', 4, 'MS'),
                                 ('2023-11-02', 3, '5MS'), ('1969-12-31', 3, 'h'), ('2024-01-01', 0, 'D')):
        check({}, pd.DataFrame({'d': pd.date_range(start, periods=periods, freq=freq)}), op='date_range', start=start, periods=periods,
              freq=freq, name='d')

    # what is wrong is said of the node that was written
    t = {'t': granary.put_frame(frame_of(5))}
    granary.fails({**t, 'x': {'op': 'qcut', 'input': 't', 'column': 'n'}}, 'x', "node 'x' (qcut)", "'quantiles'")
    granary.fails({**t, 'x': {'op': 'qcut', 'input': 't', 'column': 'n', 'q': 2, 'labels': ['a']}}, 'x', 'has 1 entries for 2 bins')
    granary.fails({**t, 'x': {'op': 'merge_asof', 'inputs': ['t', 't'], 'on': 'n', 'direction': 'up'}}, 'x', "'nearest'")
    granary.fails({**t, 'x': {'op': 'merge_asof', 'inputs': ['t', 't']}}, 'x', "'left_on'")
    granary.fails({**t, 'x': {'op': 'group_nth', 'input': 't', 'keys': 'zz', 'n': 1}}, 'x', "node 'x' (group_nth): parameter 'keys'", "'zz'")
    granary.fails({'x': {'op': 'date_range', 'start': '2024-01-01', 'periods': 3, 'freq': 'fortnight'}}, 'x', 'its unit can be')
    granary.fails({'x': {'op': 'date_range', 'start': 'soon', 'periods': 3}}, 'x', "'soon'")
