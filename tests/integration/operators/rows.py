"""Operators on rows and values of columns, against pandas: what is chosen, named, filled, replaced, cut, sorted."""
import itertools

import numpy as np
import pandas as pd

from granary_test import Column, Instance, same_pandas

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
            for name in ours:  # NaN and null are one
                if str(ours[name].dtype) == 'Float64':
                    ours[name] = ours[name].astype('float64')
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

        written = frame[['n']].assign(t=frame.day.dt.strftime('%d.%m.%Y'))
        nodes = {'w': granary.put_frame(written, pieces), 'x': {'op': 'to_datetime', 'input': 'w', 'columns': 't', 'format': '%d.%m.%Y'}}
        same_pandas(granary.run_pandas(nodes, 'x'), written.assign(t=frame.day), 'to_datetime by a format')

        check(frame.fillna({'f': 0}).assign(f=frame.f.ffill()), op='fillna', method='ffill', columns=['f'])
        check(frame.tail(3), op='tail', rows=3)
        check(frame.tail(0), op='tail', rows=0)
        for start, stop, step in ((None, None, 3), (2, None, None), (-5, -1, None), (None, None, -1), (250, 3, -7),
                                  (-1, -400, -100), (5, 2, None), (1000, None, None), (-9999, 9999, 2)):
            bounds = {'start': start, 'stop': stop, 'step': step}
            check(frame.iloc[start:stop:step], op='slice', **{k: v for k, v in bounds.items() if v is not None})
            nodes = {'f': {'op': 'filter', 'input': 't', 'where': 'n % 3 != 1'}, 't': table,
                     'x': {'op': 'slice', 'input': 'f', **{k: v for k, v in bounds.items() if v is not None}}}
            same_pandas(granary.run_pandas(nodes, 'x'), frame[frame.n % 3 != 1].iloc[start:stop:step].reset_index(drop=True),
                        f'{rows} rows, sliced behind a filter: {bounds}')
        check(frame, op='rebalance', rows=37)
        check(frame.melt(id_vars=['s'], value_vars=['f']), op='melt', id_vars='s', value_vars='f')
        nodes = {'t': table, 'p': {'op': 'project', 'input': 't', 'columns': {'n': 'cast(n as float64)', "it's": 'f'}},
                 'x': {'op': 'melt', 'input': 'p', 'var_name': 'v', 'value_name': 'x'}}
        want = frame.assign(n=frame.n.astype('float64'), **{"it's": frame.f})[['n', "it's"]].melt(var_name='v', value_name='x')
        same_pandas(granary.run_pandas(nodes, 'x'), want, 'melt')
        check(frame[['f']].melt(id_vars=[]), op='melt', id_vars=[], value_vars=['f'])
        check(frame.assign(s=frame.s.str.split(' ')).explode('s'), op='explode', column='s', separator=' ')
        check(frame.assign(index=np.arange(rows)), op='reset_index')
        check(frame.assign(n=frame.n.astype('Int64').shift(2), s=frame.s.shift(2)), op='shift_columns', columns=['n', 's'], periods=2)
        check(frame.shift(-1).astype({'n': 'Int64', 'k': 'Int64'}), op='shift_columns', periods=-1)
        by_key = frame.groupby('k')
        check(frame.assign(f=by_key.f.shift(1), s=by_key.s.shift(1)), op='shift_columns', columns=['f', 's'], keys=['k'])
        check(pd.DataFrame({'rows': [rows]}), op='count_rows')
        if rows > 0:
            check(frame[['n', 'f']].quantile([0.25]), 1e-12, op='quantile', q=0.25, columns=['n', 'f'])

        for by, flip, first in itertools.product((['k'], ['f'], ['s'], ['day', 'k'], ['s', 'f']), (False, True), (False, True)):
            ascending = [flip != (i == 1) for i in range(len(by))]
            check(sort_as_pandas(frame, by, ascending, first), op='sort', by=by, descending=[not a for a in ascending],
                  nulls='first' if first else 'last')

    # The same bytes however it is cut.
    frame = frame_of(3000)
    orders = [granary.run({'t': granary.put_frame(frame, pieces), 'x': {'op': 'sort', 'input': 't', 'by': ['k', 's']}}, 'x')
              for pieces in (1, 2, 11)]
    assert all(o[name] == orders[0][name] for o in orders for name in orders[0])

    # What is drawn does not depend on how rows are cut; all rows are drawn once, or some of them as often as asked.
    for node in ({'rows': 100}, {'fraction': 0.4, 'seed': 3}, {'rows': 5000, 'replace': True}, {'rows': 3000}, {'rows': 0}):
        drawn = [granary.run({'t': granary.put_frame(frame, pieces), 'x': {'op': 'sample', 'input': 't', **node}}, 'x')
                 for pieces in (1, 4, 13)]
        assert all(d[name] == drawn[0][name] for d in drawn for name in drawn[0]), node
        rows = list(drawn[0]['n'].values)
        assert len(rows) == node.get('rows', 1200) and (node.get('replace') or len(set(rows)) == len(rows)), node
        assert len(rows) < 2 or rows != sorted(rows)

    table = granary.put_frame(frame_of(5))
    granary.fails({'t': table, 'x': {'op': 'sample', 'input': 't', 'rows': 6}}, 'x', "'x'", '6 rows', '5')
    fewer = granary.run({'t': table, 'x': {'op': 'sample', 'input': 't', 'rows': 6, 'fewer': True}}, 'x')
    assert sorted(fewer['n'].values) == sorted(granary.run({'t': table, 'x': {'op': 'head', 'input': 't', 'rows': 9}}, 'x')['n'].values)
    assert len(granary.run({'t': table, 'x': {'op': 'sample', 'input': 't', 'rows': 3, 'fewer': True}}, 'x')['n']) == 3
    granary.fails({'t': table, 'x': {'op': 'sample', 'input': 't'}}, 'x', "'rows'", "'fraction'")
    granary.fails({'t': table, 'x': {'op': 'slice', 'input': 't', 'step': 0}}, 'x', "'step'")
    granary.fails({'t': table, 'x': {'op': 'melt', 'input': 't'}}, 'x', 'one dtype')
    granary.fails({'t': table, 'x': {'op': 'explode', 'input': 't', 'column': 'n', 'separator': ','}}, 'x', "'n'", 'int64')
    granary.fails({'t': table, 'x': {'op': 'reset_index', 'input': 't', 'name': 'n'}}, 'x', "'n'")
    granary.fails({'t': table, 'x': {'op': 'quantile', 'input': 't', 'q': 2}}, 'x', "'q'")
    granary.fails({'t': table, 'x': {'op': 'shift_columns', 'input': 't', 'keys': ['z']}}, 'x', "'keys'", "'z'")

    # Between two values as NumPy has it, to the bit: computed from the nearer one, so never beyond them.
    samples = np.random.default_rng(7).normal(size=(8, 40))
    columns = granary.put({f'c{i}': Column('float64', values) for i, values in enumerate(samples.T)})
    for q in (0.05, 0.3, 0.7, 0.9, 0.99):
        frame = granary.run({'t': columns, 'x': {'op': 'quantile', 'input': 't', 'q': q}}, 'x')
        assert [frame[f'c{i}'].values[0] for i in range(40)] == np.quantile(samples, q, axis=0).tolist(), q
    granary.fails({'t': table, 'x': {'op': 'drop', 'input': 't', 'columns': ['f', 'nix']}}, 'x', "'x'", 'drop', 'nix')
    granary.fails({'t': table, 'x': {'op': 'rename', 'input': 't', 'columns': {'f': 'k'}}}, 'x', "'k'", 'two columns')
    granary.fails({'t': table, 'x': {'op': 'fillna', 'input': 't'}}, 'x', "'value'")
    granary.fails({'t': table, 'x': {'op': 'clip_columns', 'input': 't'}}, 'x', "'lower'")
    granary.fails({'t': table, 'x': {'op': 'cut', 'input': 't', 'column': 'n', 'bins': ['2', '1']}}, 'x', "'bins'", "'1'")
    granary.fails({'t': table, 'x': {'op': 'sort', 'input': 't', 'by': 'k', 'nulls': 'middle'}}, 'x', "'middle'")

    # Numbers at the ends of int64, pieces without rows.
    table = granary.put({'n': Column('int64', np.arange(5)), 's': Column('string', list('abcde'))}, 2)
    most = 2**63 - 1
    for slices, node in ((np.arange(5)[3::-most], {'start': 3, 'step': -most}), (np.arange(5)[::-2**63], {'step': -2**63}),
                         (np.arange(5)[1::most], {'start': 1, 'step': most}), (np.arange(5)[-2**63:most], {'start': -2**63, 'stop': most})):
        got = granary.run({'t': table, 'x': {'op': 'slice', 'input': 't', **node}}, 'x')
        assert np.array_equal(got['n'].values, slices), node
    assert len(granary.run({'t': table, 'x': {'op': 'rebalance', 'input': 't', 'rows': most}}, 'x')['n']) == 5
    nothing = granary.put({'n': Column('int64', np.arange(0))}, 5)
    assert len(granary.run({'t': nothing, 'x': {'op': 'rebalance', 'input': 't', 'rows': 3}}, 'x')['n']) == 0
    granary.fails({'t': table, 'x': {'op': 'sample', 'input': 't', 'rows': most, 'replace': True}}, 'x', "'x'", 'memory')
    got = granary.run({'t': table, 'x': {'op': 'assign', 'input': 't', 'columns': {
        'r': f"repeat('', {most})", 'z': 'zfill(s, -9223372036854775807)'}}}, 'x')
    assert got['r'].values == [''] * 5 and got['z'].values == list('abcde')

    # Text beside dates: without `columns`, columns that it does not fit stay as they are.
    days = granary.put({'s': Column('string', ['a', 'b', ''], [True, True, False]), 'd': Column('date', np.array([1, 2, 3]), [True, False, True]),
                        't': Column('timestamp', np.array([1, 2, 3]), [True, False, True]), 'n': Column('int64', np.array([1, 2, 3]))})
    for node, want in (({'op': 'fillna', 'value': "'X'"}, ['a', 'b', 'X']), ({'op': 'replace', 'values': {"'a'": "'z'"}}, ['z', 'b', None]),
                       ({'op': 'where_columns', 'condition': 'n < 2', 'other': "'x'"}, ['a', 'x', 'x'])):
        frame = granary.run({'t': days, 'x': {**node, 'input': 't'}}, 'x')
        assert frame['s'].to_pandas().tolist() == want, (node, frame['s'])
        assert frame['d'].valid.tolist() == [True, False, True] and frame['t'].valid.tolist() == [True, False, True] and frame['n'].valid is None
    frame = granary.run({'t': days, 'x': {'op': 'fillna', 'input': 't', 'value': "'1970-01-05'"}}, 'x')
    assert frame['s'].values[2] == '1970-01-05' and frame['d'].values[1] == 4 and frame['t'].values[1] == 4 * 86400 * 10**6
    granary.fails({'t': days, 'x': {'op': 'fillna', 'input': 't', 'value': "'X'", 'columns': ['d']}}, 'x', "'d'", "'X'")
    granary.fails({'t': days, 'x': {'op': 'fillna', 'input': 't', 'value': "'X"}}, 'x', 'position')
    # What is wrong with the expression itself is told, not that no column has its dtype.
    dates = granary.put({'d': Column('date', np.array([1, 2, 3])), 'n': Column('int64', np.array([1, 2, 3]))})
    for node, *words in (({'op': 'fillna', 'value': "date_trunc('centry', d)"}, 'centry', 'month'),
                         ({'op': 'replace', 'values': {"date_trunc('centry', d)": 'd'}}, 'centry'),
                         ({'op': 'where_columns', 'condition': "d = date_trunc('centry', d)", 'other': 'n'}, 'centry'),
                         ({'op': 'fillna', 'value': 'true'}, 'no column')):
        granary.fails({'t': dates, 'x': {**node, 'input': 't'}}, 'x', "'x'", *words)
    # What fails in a column of pivot_table's is told of that column.
    large = granary.put({'k': Column('int64', np.array([1, 1])), 'c': Column('int64', np.array([3, 3])), 'v': Column('int64', np.array([2**62, 2**62]))})
    granary.fails({'t': large, 'x': {'op': 'pivot_table', 'input': 't', 'index': ['k'], 'columns': 'c', 'values': 'v', 'categories': ['3'], 'aggregate': 'sum'}},
                  'x', "aggregate '3'", 'exceeds int64', 'decimal(38, 0)')
    # pivot_table tells what is wrong of its own parameters, not of the nodes it is written as.
    pivot = {'op': 'pivot_table', 'input': 't', 'index': ['n'], 'columns': 'd', 'values': 'n', 'categories': ['a', 'b']}
    for change, *words in (({'categories': ['a', 'a']}, "'categories'", "'a' twice"), ({'categories': ['n']}, "'categories'", "'n'", "'index'"),
                           ({'categories': ['a', '']}, "'categories'", 'empty'), ({'index': ['n', 'n']}, "'index'", "'n' twice"),
                           ({'fill_value': '0 +'}, "'fill_value'", 'position'), ({'categories': []}, "'categories'", 'empty')):
        granary.fails({'t': dates, 'x': {**pivot, **change}}, 'x', "node 'x' (pivot_table)", *words)
    # So does every operator that is written as others: of columns that are not there, and of what its parts find wrong.
    both = {'op': 'update', 'inputs': ['t', 't2'], 'on': ['n'], 'columns': ['d']}
    asof = {'op': 'merge_asof', 'inputs': ['t', 't2'], 'left_on': 'n', 'right_on': 'm'}
    for node, *words in (({**pivot, 'columns': 'no'}, "parameter 'columns': no column 'no'; there are: 'd', 'n'"), ({**pivot, 'index': ['no']}, "parameter 'index': no column 'no'"),
                         ({**pivot, 'values': 'no'}, "parameter 'values': no column 'no'"), ({**pivot, 'aggregate': 'nosuch'}, 'nosuch'),
                         ({'op': 'qcut', 'column': 'no', 'q': 2}, "parameter 'column': no column 'no'"),
                         ({'op': 'factorize', 'column': 'no'}, "parameter 'column': no column 'no'"),
                         ({'op': 'corr', 'columns': ['n', 'no']}, "parameter 'columns': no column 'no'"),
                         ({'op': 'idxmax', 'keys': ['no'], 'columns': ['n']}, "parameter 'keys': no column 'no'"),
                         ({'op': 'group_head', 'keys': ['no'], 'rows': 1}, "parameter 'keys': no column 'no'"),
                         ({'op': 'interpolate', 'columns': ['no']}, "parameter 'columns': no column 'no'"),
                         ({**both, 'on': ['no']}, "parameter 'on': no column 'no'"), ({**both, 'columns': ['m']}, "parameter 'columns': no column 'm'"),
                         ({**both, 'op': 'combine_first', 'on': ['no']}, "parameter 'on': no column 'no'"),
                         ({**asof, 'left_on': 'm'}, "parameter 'left_on': no column 'm'"), ({**asof, 'right_on': 'no'}, "parameter 'right_on': no column 'no'")):
        other = granary.put({'d': Column('date', np.array([1])), 'n': Column('int64', np.array([1])), 'm': Column('int64', np.array([1]))})
        granary.fails({'t': dates, 't2': other, 'x': {'input': 't', **node} if 'inputs' not in node else {k: v for k, v in node.items() if k != 'input'}}, 'x', f"node 'x' ({node['op']})", *words)
