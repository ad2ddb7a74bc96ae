"""Operators on rows and values of columns, against pandas: what is chosen, named, filled, replaced, cut, sorted."""
import itertools

import numpy as np
import pandas as pd

from granary_test import Instance, same_pandas

rng = np.random.default_rng(5)


def frame_of(rows):
    texts = np.array(['', 'a', 'b', 'ä€😀', "it's", 'long ' * 9], object)
    frame = pd.DataFrame({
        'k': pd.array(rng.integers(-3, 4, rows), 'Int64'),
        'f': np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows).round(2)),
        's': texts[rng.integers(0, len(texts), rows)],
        'n': np.arange(rows),
        'day': pd.Timestamp('2020-01-01') + pd.to_timedelta(rng.integers(0, 900, rows), 'D'),
    })
    frame.loc[rng.random(rows) < 0.2, 'k'] = pd.NA
    frame.loc[rng.random(rows) < 0.2, 's'] = None
    frame.loc[rng.random(rows) < 0.2, 'day'] = pd.NaT
    return frame


def sort_as_pandas(frame, by, ascending, first):
    return frame.sort_values(by, ascending=ascending, kind='stable', na_position='first' if first else 'last')


with Instance() as granary:
    for rows, pieces in ((0, 1), (1, 1), (7, 3), (400, 5)):
        frame = frame_of(rows)
        table = granary.put_frame(frame, pieces)

        def check(want, rtol=0, **node):
            ours = granary.run_pandas({'t': table, 'x': {'input': 't', **node}}, 'x')
            same_pandas(ours, want.reset_index(drop=True), f'{rows} rows: {node}', rtol)

        check(frame.drop(columns=['f', 'n']), op='drop', columns=['f', 'n'])
        check(frame.rename(columns={'k': 's', 's': 'k'}), op='rename', columns={'k': 's', 's': 'k'})
        check(frame.dropna(), op='dropna')
        check(frame.dropna(how='all', subset=['k', 's']), op='dropna', how='all', subset=['k', 's'])
        check(frame.dropna(thresh=4), op='dropna', thresh=4)
        check(frame.fillna({'f': 7.5, 's': 'none', 'k': 0}), op='fillna', values={'f': '7.5', 's': "'none'", 'k': '0'})
        check(frame.assign(f=frame.f.fillna(-1)), op='fillna', value='-1', columns=['f'])
        check(frame.assign(k=frame.k.fillna(9), f=frame.f.fillna(9)), op='fillna', value='9')
        check(frame.assign(s=frame.s.replace({'a': 'A', "it's": 'its'})), op='replace', columns=['s'],
              values={"'a'": "'A'", "'it''s'": "'its'"})
        check(frame.assign(f=frame.f.clip(-0.5, 0.5)), op='clip_columns', columns=['f'], lower=-0.5, upper=0.5)
        check(frame.assign(k=frame.k.clip(upper=1), n=frame.n.clip(upper=1), f=frame.f.clip(upper=1)), op='clip_columns', upper=1)
        check(frame.assign(f=frame.f.where(frame.n > 3, 100.0)), op='where_columns', condition='n > 3', other='100.0', columns=['f'])
        check(frame.assign(s=frame.s.mask(frame.n > 3)), op='mask_columns', condition='n > 3', columns=['s'])
        check(frame.assign(n=frame.n.astype('float64'), k=frame.k.astype('Float64')), op='astype_columns',
              columns={'n': 'float64', 'k': 'float64'})
        check(frame.sort_values('f', ascending=False, kind='stable').head(5), op='nlargest', rows=5, columns='f')
        check(frame.sort_values(['k', 'f'], kind='stable').head(9), op='nsmallest', rows=9, columns=['k', 'f'])
        labels = pd.cut(frame.n, [0, 2, 5, 100]).astype(object)
        check(frame.assign(c=labels.where(labels.isna(), labels.astype(str))), op='cut', column='n', bins=['0', '2', '5', '100'],
              name='c')
        labels = pd.cut(frame.f, [-1, 0, 1], right=False, labels=['low', 'high']).astype(object)
        check(frame.assign(f=labels), op='cut', column='f', bins=['-1', '0', '1'], right=False, labels=['low', 'high'])
        dummies = frame.drop(columns='s').assign(**{'s_a': frame.s == 'a', "s_it's": frame.s == "it's"})
        check(dummies, op='get_dummies', column='s', categories=['a', "it's"])
        check(frame.assign(t=frame.day.dt.strftime('%Y-%m-%d')).pipe(lambda x: x.assign(t=pd.to_datetime(x.t)))[['t']],
              op='project', columns={'t': 'cast(day as timestamp)'})

        for by, flip, first in itertools.product((['k'], ['f'], ['s'], ['day', 'k'], ['s', 'f']), (False, True), (False, True)):
            ascending = [flip != (i == 1) for i in range(len(by))]
            check(sort_as_pandas(frame, by, ascending, first), op='sort', by=by, descending=[not a for a in ascending],
                  nulls='first' if first else 'last')

    # The same bytes however it is cut.
    frame = frame_of(3000)
    orders = [granary.run({'t': granary.put_frame(frame, pieces), 'x': {'op': 'sort', 'input': 't', 'by': ['k', 's']}}, 'x')
              for pieces in (1, 2, 11)]
    assert all(o[name] == orders[0][name] for o in orders for name in orders[0])

    table = granary.put_frame(frame_of(5))
    granary.fails({'t': table, 'x': {'op': 'drop', 'input': 't', 'columns': ['f', 'nix']}}, 'x', "'x'", 'drop', 'nix')
    granary.fails({'t': table, 'x': {'op': 'rename', 'input': 't', 'columns': {'f': 'k'}}}, 'x', "'k'", 'two columns')
    granary.fails({'t': table, 'x': {'op': 'fillna', 'input': 't'}}, 'x', "'value'")
    granary.fails({'t': table, 'x': {'op': 'clip_columns', 'input': 't'}}, 'x', "'lower'")
    granary.fails({'t': table, 'x': {'op': 'cut', 'input': 't', 'column': 'n', 'bins': ['2', '1']}}, 'x', "'bins'", "'1'")
    granary.fails({'t': table, 'x': {'op': 'sort', 'input': 't', 'by': 'k', 'nulls': 'middle'}}, 'x', "'middle'")
