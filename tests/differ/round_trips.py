"""Random tables through CSV, JSON lines, Arrow, Parquet and NPY files and back: what is written and read again is what it was, to the last bit.

Files in other writers' forms (delimiters, names and nulls of one's own, quoting, line ends) are written here and read by granary, and what granary
writes as CSV is read by Python's csv module, too.
"""
import csv
import json
import os
import shutil
import tempfile

import numpy as np

from compare import same_rows
from draw import FLOATS, INTEGERS, column, rows, shape, tensor, to_array, to_column
from granary_test import GranaryError
from graphs_frame import rows as rows_of

FRAME_DTYPES = INTEGERS + FLOATS + ('string', 'string', 'bool', 'date', 'timestamp', 'time', 'timestamptz', 'binary', 'decimal(2)', 'decimal(6)')


class Part:
    name = 'round_trips'
    covers = ('op:read_', 'op:write_', 'param:read_', 'param:write_')

    @staticmethod
    def aims(name):
        return name.startswith(Part.covers)

    def make(self, draw, number, want=None):
        kind = ('csv', 'arrow', 'npy', 'csv_theirs', 'raw', 'ndjson', 'parquet')[number % 7]
        if want:  # op:read_csv, param:write_csv.header
            word, _, draw.want = want.split('_', 1)[1].partition('.')
            kind = draw.choice(['csv', 'csv', 'csv_theirs']) if word == 'csv' and 'read' in want else word
        spec = {'kind': kind, 'parameters': {}, 'read': {}, 'pieces': draw.choice([1, 1, 3]), 'chunk_bytes': draw.choice([0, 0, 50, 500])}
        if kind in ('npy', 'raw'):
            spec['tensor'] = tensor(draw, shape(draw), wild=draw.choice([0, 0.3]))
            if kind == 'raw':
                spec['read'] = {'dtype': spec['tensor']['dtype'], 'shape': spec['tensor']['shape']}
                if draw.likely(0.5, 'offset'):
                    spec['read']['offset'] = draw.choice([1, 8, 33])
            if draw.likely(0.4, 'chunk'):
                spec['read']['chunk'] = [draw.randint(1, 3)] * len(spec['tensor']['shape'])
            return spec
        count = max(rows(draw), kind == 'ndjson')  # a file of none has no names
        names = draw.some(['a', 'b', 'Ü', 'a b', 'x,y', 'q"q', 'case'], 5, 2 if kind == 'csv_theirs' else 1)  # one column's null would be an empty line
        spec['frame'] = {n: column(draw, draw.choice(FRAME_DTYPES if kind != 'csv_theirs' else ('int64', 'string', 'bool')), count, wild=0.3) for n in names}
        if kind.startswith('csv'):
            if draw.likely(0.5, 'delimiter'):
                spec['parameters']['delimiter'] = spec['read']['delimiter'] = draw.choice([';', '\t', '|'])
            if draw.likely(0.3, 'header'):
                spec['parameters']['header'] = spec['read']['header'] = draw.chance(0.3) or count == 0
            if draw.likely(0.4, 'null_value', 'null_values'):
                spec['parameters']['null_value'] = 'NA'
                spec['read']['null_values'] = ['NA']
            if kind == 'csv_theirs':
                spec['line'] = draw.choice(['\n', '\r\n'])
                spec['all_quoted'] = draw.chance(0.2)
            named = list(spec['frame']) if spec['read'].get('header', True) else [f'c{i}' for i in range(len(names))]
            spec['read']['dtypes'] = {n: c['dtype'] for n, c in zip(named, spec['frame'].values())}
        elif kind == 'parquet':
            if draw.likely(0.7, 'compression', 'level'):
                codec = draw.choice(['zstd', 'snappy', 'gzip', 'lz4_raw', 'none'])
                spec['parameters']['compression'] = codec
                if codec in ('zstd', 'gzip') and draw.likely(0.5, 'level'):
                    spec['parameters']['level'] = draw.randint(1, 9)
            if draw.likely(0.4, 'bloom'):
                spec['parameters']['bloom'] = [n for n, c in spec['frame'].items() if c['dtype'] != 'bool' and draw.chance(0.5)]
        elif kind == 'ndjson':
            spec['read']['dtypes'] = {n: c['dtype'] for n, c in spec['frame'].items()}
        return spec

    def hits(self, spec):
        word = {'csv': 'csv', 'csv_theirs': 'csv', 'arrow': 'arrow', 'ndjson': 'ndjson', 'npy': 'npy', 'raw': 'raw', 'parquet': 'parquet'}[spec['kind']]
        found = [f'op:read_{word}', f'param:read_{word}.path'] + [f'param:read_{word}.{n}' for n in spec['read']]
        if spec['kind'] not in ('raw', 'csv_theirs'):
            found += [f'op:write_{word}', f'param:write_{word}.path'] + [f'param:write_{word}.{n}' for n in spec['parameters']]
        return found

    def open(self, engine):
        self.engine = engine
        self.directory = tempfile.mkdtemp(prefix='granary-differ-')
        self.files = 0
        return True

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def judge(self, specs):
        verdicts = []
        for spec in specs:
            self.files += 1
            path = os.path.join(self.directory, f'{self.files}.{spec["kind"]}')
            try:
                verdicts.append(self.trip(spec, path))
            except GranaryError as error:
                verdicts.append(('differs', f'refused: {error}'))
            finally:
                if os.path.exists(path):
                    os.unlink(path)
        return verdicts

    def trip(self, spec, path):
        kind = spec['kind']
        if 'tensor' in spec:
            array = to_array(spec['tensor'])
            if kind == 'raw':
                with open(path, 'wb') as file:
                    file.write(b'x' * spec['read'].get('offset', 0) + array.tobytes())
            else:
                source = {'op': 'array', 'ids': [self.engine.put_tensor(array)], 'shape': list(array.shape), 'dtype': array.dtype.name}
                self.engine.run({'in': source, 'out': {'op': 'write_npy', 'input': 'in', 'path': path}}, 'out', spec['chunk_bytes'])
                other = np.load(path)
                if other.dtype != array.dtype or other.tobytes() != array.tobytes():
                    return ('differs', f'numpy.load gives {other!r}, not {array!r}')
            ours = self.engine.run({'in': {'op': f'read_{kind}', 'path': path, **spec['read']}}, 'in', spec['chunk_bytes'])
            same = ours.dtype == array.dtype and ours.shape == array.shape and ours.tobytes() == array.tobytes()
            return None if same else ('differs', f'{ours!r}, not {array!r}')
        columns = {n: to_column(c) for n, c in spec['frame'].items()}
        want = rows_of(columns)
        if kind == 'csv_theirs':
            self.write(spec, path)
        else:
            count = len(want)
            source = self.engine.put(columns, min(spec['pieces'], max(1, count)))
            self.engine.run({'in': source, 'out': {'op': 'write_' + kind, 'input': 'in', 'path': path, **spec['parameters']}}, 'out', spec['chunk_bytes'])
            if kind == 'csv':
                differs = self.as_csv(spec, path, columns)
                if differs:
                    return ('differs', differs)
        ours = self.engine.run({'in': {'op': 'read_' + kind.split('_')[0], 'path': path, **spec['read']}}, 'in', spec['chunk_bytes'])
        wanted = list(columns) if spec['read'].get('header', True) else [f'c{i}' for i in range(len(columns))]
        if list(ours) != wanted:
            return ('differs', f'columns {list(ours)}, not {wanted}')
        for name, column in zip(ours, columns.values()):
            if ours[name].dtype != column.dtype:
                return ('differs', f'column {name}: {ours[name].dtype}, not {column.dtype}')
        differs = same_rows(rows_of(ours), want, True, 0) or signs(ours, columns)
        return ('differs', differs) if differs else None

    @staticmethod
    def write(spec, path):
        """As another program does."""
        null = spec['parameters'].get('null_value', '')
        with open(path, 'w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file, delimiter=spec['parameters'].get('delimiter', ','), lineterminator=spec['line'])
            if spec['read'].get('header', True):
                writer.writerow(list(spec['frame']))
            for row in zip(*(c['values'] for c in spec['frame'].values())):
                file.write(spec['parameters'].get('delimiter', ',').join(field(v, null, spec['all_quoted']) for v in row) + spec['line'])

    def as_csv(self, spec, path, columns):
        """What Python's csv module reads of it."""
        with open(path, newline='', encoding='utf-8') as file:
            records = list(csv.reader(file, delimiter=spec['parameters'].get('delimiter', ',')))
        if spec['parameters'].get('header', True):
            if records[:1] != [list(columns)]:
                return f'the header is {records[:1]}'
            records = records[1:]
        null = spec['parameters'].get('null_value') or ('' if len(columns) > 1 else '\\N')  # not an empty line
        for number, (record, values) in enumerate(zip(records, rows_of(columns))):
            for text, value in zip(record, values):
                if value is None and text != null or isinstance(value, str) and text != value:
                    return f'record {number + 1} has {text!r} for {value!r}'
        return None

    def smaller(self, spec):
        for name, plain in (('pieces', 1), ('chunk_bytes', 0)):
            if spec[name] != plain:
                yield {**spec, name: plain}
        if 'frame' not in spec:
            return
        frame = spec['frame']
        count = len(next(iter(frame.values()))['values'])
        for name in frame:
            if len(frame) > 1 and spec['read'].get('header', True):
                yield {**spec, 'frame': {n: c for n, c in frame.items() if n != name}, 'read': {**spec['read'], **({'dtypes': {n: t for n, t in spec['read']['dtypes'].items() if n != name}} if 'dtypes' in spec['read'] else {})}}
        size = count // 2
        while size:
            for start in range(0, count, size):
                yield {**spec, 'frame': {n: {**c, 'values': c['values'][:start] + c['values'][start + size:]} for n, c in frame.items()}}
            size //= 2

    def show(self, spec):
        return json.dumps({k: v for k, v in spec.items()}, ensure_ascii=False)


def field(value, null, all_quoted):
    if value is None:
        return null
    text = ('true' if value else 'false') if isinstance(value, bool) else str(value)
    if isinstance(value, str) and (all_quoted or text in (null, '', '\\N') or any(c in text for c in ',;\t|"\r\n')):
        return '"' + text.replace('"', '""') + '"'
    return text


def signs(ours, columns):
    """Of floats the sign of 0, too."""
    for name, column in zip(ours, columns.values()):
        if column.dtype in FLOATS:
            a, b = np.asarray(ours[name].values), np.asarray(column.values)
            there = ~np.isnan(b) if column.valid is None else column.valid & ~np.isnan(b)
            if not np.array_equal(np.signbit(a[there]), np.signbit(b[there])):
                return f'column {name}: the sign of a number'
    return None
