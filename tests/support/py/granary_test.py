"""What the tests in Python share: an instance of their own, columns put into it, graphs run, columns taken out.

libgranary through ctypes. A column is a Column: dtype (as granary names it), values (NumPy array, or list of str, of decimals
as int), valid (NumPy bools; None: all). `Column.of(series)` makes one of a pandas Series.

    with Instance(executors=2) as granary:
        table = granary.put({'a': Column('int64', np.arange(5))}, pieces=2)
        frame = granary.run({'x': table, 'y': {'op': 'filter', 'input': 'x', 'where': 'a > 2'}}, 'y')
"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

BIN = os.environ.get('GRANARY_BIN', 'build/release/bin')
LIBRARY = os.path.join(os.path.dirname(os.path.abspath(BIN)), 'lib', 'libgranary.so')


def _preload_sanitizer():
    """A library built with a sanitizer wants its runtime to be loaded first."""
    if 'LD_PRELOAD' in os.environ:
        return
    needed = subprocess.run(['ldd', LIBRARY], capture_output=True, text=True).stdout
    runtime = next((line.split()[2] for line in needed.splitlines() if 'lib' in line and 'asan' in line), None)
    if runtime:
        leaks = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'  # Python's own
        os.execve(sys.executable, [sys.executable] + sys.argv, {**os.environ, 'LD_PRELOAD': runtime, 'ASAN_OPTIONS': leaks})


_preload_sanitizer()

DTYPES = {'null': 0, 'bool': 1, 'int64': 2, 'float64': 3, 'string': 4, 'date': 5, 'timestamp': 6, 'int32': 7, 'float32': 8,
          'int8': 9, 'int16': 10, 'uint8': 11, 'uint16': 12, 'uint32': 13, 'uint64': 14, 'duration': 15, 'decimal': 16,
          'time': 17, 'timestamptz': 18, 'binary': 19, 'complex64': 20, 'complex128': 21}
NAMES = {number: name for name, number in DTYPES.items()}
LIST = 24
NUMPY = {'int64': 'i8', 'float64': 'f8', 'date': 'i4', 'timestamp': 'i8', 'int32': 'i4', 'float32': 'f4', 'int8': 'i1',
         'int16': 'i2', 'uint8': 'u1', 'uint16': 'u2', 'uint32': 'u4', 'uint64': 'u8', 'duration': 'i8',
         'time': 'i8', 'timestamptz': 'i8', 'complex64': 'c8', 'complex128': 'c16'}
MOMENTS = ('date', 'time', 'timestamp', 'timestamptz', 'duration')


class GranaryError(Exception):
    pass


class _Id(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_ubyte * 16)]


class _View(ctypes.Structure):
    _fields_ = [('id', _Id), ('data', ctypes.c_void_p), ('data_size', ctypes.c_uint64), ('meta', ctypes.c_void_p),
                ('meta_size', ctypes.c_uint64), ('serial', ctypes.c_uint64), ('lease', ctypes.c_uint64)]


class _ConnectOptions(ctypes.Structure):
    _fields_ = [('instance', ctypes.c_char_p), ('session', ctypes.c_char_p), ('tag', ctypes.c_char_p),
                ('timeout_ms', ctypes.c_int), ('reconnect_ms', ctypes.c_int), ('existing', ctypes.c_bool)]


class _GraphOptions(ctypes.Structure):
    _fields_ = [('key', ctypes.c_char_p), ('chunk_bytes', ctypes.c_int64), ('priority', ctypes.c_int),
                ('timeout_ms', ctypes.c_int64), ('keep_going', ctypes.c_bool)]


class _Column(ctypes.Structure):
    pass


_Column._fields_ = [('name', ctypes.c_char_p), ('dtype', ctypes.c_uint), ('rows', ctypes.c_int64),
                    ('null_count', ctypes.c_int64), ('validity', ctypes.c_void_p), ('values', ctypes.c_void_p),
                    ('offsets', ctypes.c_void_p), ('dictionary', ctypes.POINTER(_Column))]


class _Tensor(ctypes.Structure):
    _fields_ = [('dtype', ctypes.c_uint), ('dims', ctypes.c_int), ('shape', ctypes.c_int64 * 8), ('values', ctypes.c_void_p)]


class _Result(ctypes.Structure):
    _fields_ = [('chunk_count', ctypes.c_size_t), ('chunks', ctypes.POINTER(_Id)), ('chunk_rows', ctypes.POINTER(ctypes.c_int64)),
                ('is_tensor', ctypes.c_bool), ('dims', ctypes.c_int), ('shape', ctypes.c_int64 * 8),
                ('splits', ctypes.c_int64 * 8), ('is_objects', ctypes.c_bool), ('complete', ctypes.c_bool),
                ('chunk_there', ctypes.c_void_p)]


def _load():
    library = ctypes.CDLL(LIBRARY)
    library.granary_error_message.restype = ctypes.c_char_p
    library.granary_frame_rows.restype = ctypes.c_int64
    library.granary_frame_columns.restype = ctypes.c_size_t
    library.granary_frame_column.restype = ctypes.POINTER(_Column)
    for name in ('granary_frame_rows', 'granary_frame_columns', 'granary_frame_close', 'granary_disconnect'):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.granary_frame_column.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


_library = _load()


def _check(err):
    if err != 0:
        raise GranaryError(_library.granary_error_message().decode())


def _array(address, dtype, count):
    """A copy: the object it lies in may go."""
    if count == 0:
        return np.zeros(0, dtype)
    size = np.dtype(dtype).itemsize * count
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype=dtype, count=count).copy()


class Column:
    """values under nulls are anything that fits."""

    def __init__(self, dtype, values, valid=None, encoded=False):
        self.dtype = dtype
        self.values = values
        self.valid = None if valid is None or np.all(valid) else np.asarray(valid, bool)
        self.encoded = encoded  # strings: put with a dictionary

    def __len__(self):
        return len(self.values)

    @staticmethod
    def of(series):
        """Of a pandas Series: NaN is a value of floats; None, NaT and pd.NA are nulls."""
        import pandas as pd
        dtype = str(series.dtype).lower()
        if dtype == 'datetime64[ns]':
            return Column('timestamp', series.to_numpy().astype('datetime64[us]').astype('i8'), series.notna().to_numpy())
        if dtype == 'datetime64[ns, utc]':
            return Column('timestamptz', series.dt.tz_localize(None).to_numpy().astype('datetime64[us]').astype('i8'), series.notna().to_numpy())
        if dtype == 'timedelta64[ns]':
            return Column('duration', series.to_numpy().astype('timedelta64[us]').astype('i8'), series.notna().to_numpy())
        if dtype in ('object', 'string', 'category'):
            valid = series.notna().to_numpy()
            return Column('string', [v if ok else '' for v, ok in zip(series.astype(object), valid)], valid, dtype == 'category')
        if dtype == 'boolean' or dtype.startswith(('int', 'uint', 'float')) and str(series.dtype)[0].isupper():
            name = {'boolean': 'bool'}.get(dtype, dtype)
            valid = series.notna().to_numpy()
            return Column(name, series.fillna(False if name == 'bool' else 0).to_numpy(name), valid)
        return Column(dtype, series.to_numpy())

    def slice(self, start, stop):
        return Column(self.dtype, self.values[start:stop], None if self.valid is None else self.valid[start:stop], self.encoded)

    def to_pandas(self):
        """Nulls as pandas' nullable dtypes have them; strings as objects with None; dates as datetime64, times as timedelta64."""
        import pandas as pd
        valid = np.ones(len(self), bool) if self.valid is None else self.valid
        if self.dtype in ('string', 'binary'):
            return pd.Series([v if ok else None for v, ok in zip(self.values, valid)], dtype=object)
        if self.dtype in MOMENTS:
            span = self.dtype in ('duration', 'time')
            kind = 'timedelta64[us]' if span else 'datetime64[D]' if self.dtype == 'date' else 'datetime64[us]'
            values = np.asarray(self.values).astype(kind)
            values[~valid] = 'NaT'
            series = pd.Series(values.astype('timedelta64[ns]' if span else 'datetime64[ns]'))
            return series.dt.tz_localize('UTC') if self.dtype == 'timestamptz' else series
        if self.dtype.startswith('decimal'):
            return pd.Series([v if ok else None for v, ok in zip(self.values, valid)], dtype=object)
        if self.valid is None:
            return pd.Series(self.values)
        if self.dtype == 'bool':
            return pd.Series(pd.array(self.values, dtype='boolean')).mask(~valid)
        if self.dtype.startswith('float'):
            return pd.Series(pd.arrays.FloatingArray(np.asarray(self.values), ~valid))
        return pd.Series(pd.arrays.IntegerArray(np.asarray(self.values), ~valid))

    def __eq__(self, other):
        """The same dtype, nulls and values, bit for bit (all NaN are one)."""
        if self.dtype != other.dtype or len(self) != len(other):
            return False
        a = np.ones(len(self), bool) if self.valid is None else self.valid
        b = np.ones(len(other), bool) if other.valid is None else other.valid
        if not np.array_equal(a, b):
            return False
        if isinstance(self.values, list):
            return all(x == y for x, y, ok in zip(self.values, other.values, a) if ok)
        x, y = np.asarray(self.values)[a], np.asarray(other.values)[a]
        return np.array_equal(x, y, equal_nan=self.dtype.startswith('float'))

    def __repr__(self):
        shown = [v if self.valid is None or self.valid[i] else None for i, v in enumerate(self.values[:20])]
        return f'{self.dtype}{shown}{"..." if len(self) > 20 else ""}'


def _dtype_number(name):
    if name.startswith('decimal('):
        return DTYPES['decimal'] + (int(name[8:-1]) << 8)
    return DTYPES[name]


def _dtype_name(number):
    if number & 0xff == LIST:
        return f'list({_dtype_name(number >> 8)})'
    name = NAMES[number & 0xff]
    return f'decimal({number >> 8})' if name == 'decimal' else name


class _Filled:
    """A Column as the library takes it; holds what it points to."""

    def __init__(self, name, column):
        self.struct = _Column(name=name.encode(), dtype=_dtype_number(column.dtype), rows=len(column), null_count=0)
        self.held = []
        if column.valid is not None:
            self.struct.null_count = int((~column.valid).sum())
            self.struct.validity = self._hold(np.packbits(column.valid, bitorder='little'))
        if column.dtype in ('string', 'binary'):
            self._fill_text(column)
        elif column.dtype == 'bool':
            self.struct.values = self._hold(np.packbits(np.asarray(column.values, bool), bitorder='little'))
        elif column.dtype.startswith('decimal'):
            self.struct.values = self._hold(b''.join(int(v).to_bytes(16, 'little', signed=True) for v in column.values))
        elif column.dtype == 'null':
            pass
        else:
            self.struct.values = self._hold(np.ascontiguousarray(column.values, NUMPY[column.dtype]))

    def _hold(self, values):
        raw = values if isinstance(values, bytes) else values.tobytes()
        buffer = np.zeros(len(raw) + 128, np.uint8)
        at = -buffer.ctypes.data % 64
        buffer[at:at + len(raw)] = np.frombuffer(raw, np.uint8)
        self.held.append(buffer)
        return buffer.ctypes.data + at

    def _fill_text(self, column):
        valid = np.ones(len(column), bool) if column.valid is None else column.valid
        plain = column.dtype == 'binary'
        texts = [(v if plain else v.encode()) if ok else b'' for v, ok in zip(column.values, valid)]
        if column.encoded:
            entries = list(dict.fromkeys(t for t, ok in zip(texts, valid) if ok))
            places = {entry: i for i, entry in enumerate(entries)}
            self.dictionary = _Filled('', Column(column.dtype, entries if plain else [e.decode() for e in entries]))
            self.struct.dictionary = ctypes.pointer(self.dictionary.struct)
            self.struct.values = self._hold(np.array([places.get(t, 0) if ok else 0 for t, ok in zip(texts, valid)], 'i4'))
            return
        offsets = np.zeros(len(texts) + 1, 'i4')
        offsets[1:] = np.cumsum([len(t) for t in texts])
        self.struct.offsets = self._hold(offsets)
        self.struct.values = self._hold(b''.join(texts))


def _read_text(column, count):
    if column.dictionary:
        entries = _read_text(column.dictionary.contents, column.dictionary.contents.rows)
        return [entries[code] if entries else b'' if column.dtype == DTYPES['binary'] else '' for code in _array(column.values, 'i4', count)]
    offsets = _array(column.offsets, 'i4', count + 1) if count else [0]
    text = ctypes.string_at(column.values, int(offsets[-1])) if count and offsets[-1] else b''
    pieces = [text[offsets[i]:offsets[i + 1]] for i in range(count)]
    return pieces if column.dtype == DTYPES['binary'] else [piece.decode() for piece in pieces]


def _read_lists(column, count):
    """Python's lists, with None for nulls."""
    if count == 0:
        return []
    items = _read_column(ctypes.cast(column.values, ctypes.POINTER(_Column)).contents)
    there = np.ones(len(items), bool) if items.valid is None else items.valid
    values = [v if ok else None for v, ok in zip(items.values if isinstance(items.values, list) else items.values.tolist(), there)]
    offsets = _array(column.offsets, 'i4', count + 1)
    return [values[offsets[i]:offsets[i + 1]] for i in range(count)]


def _read_column(column):
    count = column.rows
    dtype = _dtype_name(column.dtype)
    valid = None
    if column.validity:
        valid = np.unpackbits(_array(column.validity, 'u1', (count + 7) // 8), bitorder='little')[:count].astype(bool)
    if dtype.startswith('list('):
        values = _read_lists(column, count)
    elif dtype in ('string', 'binary'):
        values = _read_text(column, count)
    elif dtype == 'bool':
        values = np.unpackbits(_array(column.values, 'u1', (count + 7) // 8), bitorder='little')[:count].astype(bool)
    elif dtype.startswith('decimal'):
        raw = ctypes.string_at(column.values, 16 * count) if count else b''
        values = [int.from_bytes(raw[16 * i:16 * i + 16], 'little', signed=True) for i in range(count)]
    elif dtype == 'null':
        values, valid = np.zeros(count, 'i8'), np.zeros(count, bool)
    else:
        values = _array(column.values, NUMPY[dtype], count)
    return Column(dtype, values, valid)


def _join(columns):
    """One behind the other."""
    valid = None
    if any(c.valid is not None for c in columns):
        valid = np.concatenate([np.ones(len(c), bool) if c.valid is None else c.valid for c in columns])
    if isinstance(columns[0].values, list):
        return Column(columns[0].dtype, [v for c in columns for v in c.values], valid)
    return Column(columns[0].dtype, np.concatenate([c.values for c in columns]), valid)


class Instance:
    """A private instance: up on entry, down and removed on exit."""

    def __init__(self, executors=2, memory=None):
        self.directory = tempfile.mkdtemp(prefix='granary-test-')
        self.instance = os.path.join(self.directory, 'i')
        self.options = ['--executors', str(executors)] + (['--memory', memory] if memory else [])
        self.client = ctypes.c_void_p()

    def __enter__(self):
        try:
            self.command('up', *self.options)
            options = _ConnectOptions(instance=self.instance.encode(), tag=b'test')
            _check(_library.granary_connect(ctypes.byref(options), ctypes.byref(self.client)))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        _library.granary_disconnect(self.client)
        self.command('down', check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def command(self, *arguments, check=True, **options):
        """`granary ARGUMENT...` with this instance; its output as text."""
        environment = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}
        done = subprocess.run([os.path.join(BIN, 'granary'), *arguments], capture_output=True, text=True,
                              env={**environment, 'GRANARY_INSTANCE': self.instance}, **options)
        if check and done.returncode != 0:
            raise GranaryError(f'granary {" ".join(arguments)}: exit status {done.returncode}: {done.stderr}')
        return done.stdout

    # ---- in ----

    def put_piece(self, columns):
        filled = [_Filled(name, column) for name, column in columns.items()]
        array = (_Column * len(filled))(*[f.struct for f in filled])
        rows = len(next(iter(columns.values()))) if columns else 0
        identity = _Id()
        _check(_library.granary_frame_put(self.client, array, ctypes.c_size_t(len(filled)), ctypes.c_int64(rows),
                                          ctypes.byref(identity)))
        return bytes(identity.bytes).hex()

    def put(self, columns, pieces=1):
        """Put columns as a frame of so many pieces; gives the `table` node that reads it."""
        rows = len(next(iter(columns.values()))) if columns else 0
        cuts = [rows * i // pieces for i in range(pieces + 1)]
        ids = [self.put_piece({n: c.slice(a, b) for n, c in columns.items()}) for a, b in zip(cuts, cuts[1:])]
        return {'op': 'table', 'ids': ids}

    def put_frame(self, frame, pieces=1):
        """A pandas DataFrame, by Column.of()."""
        return self.put({str(name): Column.of(frame[name]) for name in frame.columns}, pieces)

    def put_tensor(self, array):
        """Put a NumPy array; gives its id."""
        array = np.asarray(array, order='C')
        name = next(n for n, code in {**NUMPY, 'bool': '?'}.items() if np.dtype(code) == array.dtype and n not in
                    MOMENTS)
        tensor = _Tensor(dtype=DTYPES[name], dims=array.ndim, shape=(ctypes.c_int64 * 8)(*array.shape), values=array.ctypes.data)
        identity = _Id()
        _check(_library.granary_tensor_put(self.client, ctypes.byref(tensor), ctypes.byref(identity)))
        return bytes(identity.bytes).hex()

    # ---- graphs ----

    def begin(self, nodes, targets, chunk_bytes=0, key=None, level='tileable'):
        """Submit a graph; its key, to wait() for."""
        graph = json.dumps({'nodes': nodes, 'targets': targets, 'level': level}).encode()
        options = _GraphOptions(key=key.encode() if key else None, chunk_bytes=chunk_bytes)
        made = ctypes.create_string_buffer(64)
        _check(_library.granary_graph_submit_json(self.client, graph, ctypes.c_size_t(len(graph)), ctypes.byref(options), made))
        return made

    def wait(self, key):
        """A graph that fails is deleted."""
        try:
            _check(_library.granary_graph_wait(self.client, key, -1, None))
        except GranaryError:
            _library.granary_graph_delete(self.client, key)
            raise

    def submit(self, nodes, targets, chunk_bytes=0, key=None, level='tileable'):
        made = self.begin(nodes, targets, chunk_bytes, key, level)
        self.wait(made)
        return made

    def delete(self, key):
        _check(_library.granary_graph_delete(self.client, key))

    def run(self, nodes, target, chunk_bytes=0):
        """Run a graph; a frame target as {name: Column}, a tensor as a NumPy array. With a list of targets, a list."""
        targets = [target] if isinstance(target, str) else list(target)
        key = self.submit(nodes, targets, chunk_bytes)
        try:
            results = [self.result(key, t) for t in targets]
        finally:
            self.delete(key)
        return results[0] if isinstance(target, str) else results

    def run_pandas(self, nodes, target, chunk_bytes=0):
        import pandas as pd
        columns = self.run(nodes, target, chunk_bytes)
        return pd.DataFrame({name: column.to_pandas() for name, column in columns.items()})

    def fails(self, nodes, target, *words, chunk_bytes=0):
        """The graph must fail with a message that has all these words in it."""
        try:
            self.run(nodes, target, chunk_bytes)
        except GranaryError as error:
            missing = [w for w in words if w not in str(error)]
            assert not missing, f'no {missing} in: {error}'
            return
        raise AssertionError(f'{nodes} did not fail')

    def chunk_count(self, key, target):
        """How many chunks a target of a graph that is kept has."""
        result = _Result()
        _check(_library.granary_graph_result(self.client, key, target.encode(), ctypes.byref(result)))
        count = result.chunk_count
        _library.granary_result_free(ctypes.byref(result))
        return count

    def result(self, key, target):
        result = _Result()
        key = key if isinstance(key, bytes) else getattr(key, 'value', key)
        key = key.encode() if isinstance(key, str) else key
        _check(_library.granary_graph_result(self.client, key, target.encode(), ctypes.byref(result)))
        try:
            chunks = [self._read(result.chunks[i], result.is_tensor) for i in range(result.chunk_count)]
            if result.is_tensor:
                return self._assemble(result, chunks)
            return {name: _join([chunk[name] for chunk in chunks]) for name in chunks[0]}
        finally:
            _library.granary_result_free(ctypes.byref(result))

    def _read(self, identity, is_tensor):
        view = _View()
        _check(_library.granary_object_get(self.client, identity, -1, ctypes.byref(view)))
        try:
            if is_tensor:
                tensor = _Tensor()
                _check(_library.granary_tensor_open(ctypes.byref(view), ctypes.byref(tensor)))
                shape = tuple(tensor.shape[:tensor.dims])
                name = _dtype_name(tensor.dtype)
                return _array(tensor.values, '?' if name == 'bool' else NUMPY[name], int(np.prod(shape))).reshape(shape)
            frame = ctypes.c_void_p()
            _check(_library.granary_frame_open(ctypes.byref(view), ctypes.byref(frame)))
            try:
                columns = [_library.granary_frame_column(frame, i).contents for i in range(_library.granary_frame_columns(frame))]
                return {c.name.decode(): _read_column(c) for c in columns}
            finally:
                _library.granary_frame_close(frame)
        finally:
            _library.granary_object_release(self.client, ctypes.byref(view))

    @staticmethod
    def _assemble(result, chunks):
        splits = tuple(result.splits[:result.dims])
        grid = np.empty(splits, object)
        for place, chunk in zip(np.ndindex(*splits), chunks):
            grid[place] = chunk
        return np.block(grid.tolist()) if result.dims > 0 else chunks[0]


def same_pandas(ours, theirs, what='', rtol=0):
    """Equal frames: names, order, nulls, values; dtypes but for pandas' nullable ones. rtol: for floats."""
    import pandas as pd
    assert list(ours.columns) == list(theirs.columns), f'{what}: columns {list(ours.columns)}, not {list(theirs.columns)}'
    assert len(ours) == len(theirs), f'{what}: {len(ours)} rows, not {len(theirs)}'
    for name in ours.columns:
        a, b = ours[name].reset_index(drop=True), theirs[name].reset_index(drop=True)
        na, nb = a.isna().to_numpy(bool), b.isna().to_numpy(bool)
        assert np.array_equal(na, nb), f'{what}: column {name}: nulls differ at {np.flatnonzero(na != nb)[:5]}'
        x, y = a[~na].tolist(), b[~nb].tolist()
        for i, (p, q) in enumerate(zip(x, y)):
            close = p == q or (rtol > 0 and isinstance(p, float) and abs(p - q) <= rtol * max(abs(p), abs(q), 1e-300))
            assert close, f'{what}: column {name}, value {i}: {p!r}, not {q!r}'
