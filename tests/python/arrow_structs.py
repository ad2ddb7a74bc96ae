"""Arrow's C structs by ctypes: a consumer that reads any stream, and a producer that counts what is released. No Arrow library is needed."""
import ctypes

import numpy as np

VOID = ctypes.c_void_p


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


SCHEMA_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
ARRAY_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
STREAM_RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
LAST_ERROR = ctypes.CFUNCTYPE(VOID, ctypes.POINTER(Stream))

# Callbacks are plain addresses in the structs: NULL is tested as None, and moving a struct copies it.
Schema._fields_ = [('format', ctypes.c_char_p), ('name', ctypes.c_char_p), ('metadata', VOID), ('flags', ctypes.c_int64),
                   ('n_children', ctypes.c_int64), ('children', ctypes.POINTER(ctypes.POINTER(Schema))), ('dictionary', ctypes.POINTER(Schema)),
                   ('release', VOID), ('private_data', VOID)]
Array._fields_ = [('length', ctypes.c_int64), ('null_count', ctypes.c_int64), ('offset', ctypes.c_int64), ('n_buffers', ctypes.c_int64),
                  ('n_children', ctypes.c_int64), ('buffers', ctypes.POINTER(VOID)), ('children', ctypes.POINTER(ctypes.POINTER(Array))),
                  ('dictionary', ctypes.POINTER(Array)), ('release', VOID), ('private_data', VOID)]
Stream._fields_ = [('get_schema', VOID), ('get_next', VOID), ('get_last_error', VOID), ('release', VOID), ('private_data', VOID)]

RELEASES = {Schema: SCHEMA_RELEASE, Array: ARRAY_RELEASE, Stream: STREAM_RELEASE}
NAMES = {Schema: b'arrow_schema', Array: b'arrow_array', Stream: b'arrow_array_stream'}
DESTRUCTOR = ctypes.CFUNCTYPE(None, VOID)  # the capsule is being freed: no reference to it may be made

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [VOID, ctypes.c_char_p, VOID]
_get = ctypes.pythonapi.PyCapsule_GetPointer
_get.restype, _get.argtypes = VOID, [ctypes.py_object, ctypes.c_char_p]


def release(struct):
    RELEASES[type(struct)](struct.release)(ctypes.byref(struct))


def struct_of(capsule, kind):
    """The struct in a capsule, where it lies."""
    return kind.from_address(_get(capsule, NAMES[kind]))


def stream_of(capsule):
    return struct_of(capsule, Stream)


def move(struct):
    """A copy that owns what it was given; the source counts as released."""
    moved = type(struct)()
    ctypes.pointer(moved)[0] = struct
    struct.release = None
    return moved


# ---- a consumer ----

TYPES = {'c': 'i1', 'C': 'u1', 's': 'i2', 'S': 'u2', 'i': 'i4', 'I': 'u4', 'l': 'i8', 'L': 'u8', 'f': 'f4', 'g': 'f8', 'tdD': 'i4', 'tsu:': 'i8',
         'tDu': 'i8'}


def format_of(schema):
    own = schema.format.decode()
    return own + ' of ' + format_of(schema.dictionary.contents) if schema.dictionary else own


def buffer_of(array, number, dtype, count):
    """Elements of a buffer, from its first on."""
    size = np.dtype(dtype).itemsize * count
    return np.frombuffer(ctypes.string_at(array.buffers[number], size) if size else b'', dtype)


def bits_of(array, number):
    end = array.offset + array.length
    return np.unpackbits(buffer_of(array, number, 'u1', (end + 7) // 8), bitorder='little')[array.offset:end].astype(bool)


def values_of(schema, array):
    """Python's values of a column, as the formats define them; None is null."""
    format, end = schema.format.decode(), array.offset + array.length
    there = np.ones(array.length, bool)
    if format == 'n':
        return [None] * array.length
    if array.length and array.buffers[0]:
        there = bits_of(array, 0)
    if format == 'b':
        given = bits_of(array, 1).tolist() if array.length else []
    elif format == 'u':
        at = buffer_of(array, 1, 'i4', end + 1)[array.offset:]
        text = ctypes.string_at(array.buffers[2], int(at[-1]))
        given = [text[a:b].decode() for a, b in zip(at, at[1:])]
    elif format.startswith('d:'):
        raw = buffer_of(array, 1, 'u1', 16 * end).tobytes()
        given = [int.from_bytes(raw[16 * i:16 * i + 16], 'little', signed=True) for i in range(array.offset, end)]
    else:
        given = buffer_of(array, 1, TYPES[format], end)[array.offset:].tolist()
    if schema.dictionary:
        words = values_of(schema.dictionary.contents, array.dictionary.contents)
        given = [words[i] if ok else None for i, ok in zip(given, there)]
    return [v if ok else None for v, ok in zip(given, there)]


class Consumed:
    """All of a stream: formats of the columns, their values, and how many arrays there were."""

    def __init__(self):
        self.formats, self.columns, self.arrays = [], {}, 0


def consume(capsule):
    stream = move(stream_of(capsule))
    made, schema = Consumed(), Schema()

    def check(number):
        if number:
            raise OSError(number, ctypes.string_at(LAST_ERROR(stream.get_last_error)(ctypes.byref(stream))).decode())

    try:
        check(GET_SCHEMA(stream.get_schema)(ctypes.byref(stream), ctypes.byref(schema)))
        fields = [schema.children[i].contents for i in range(schema.n_children)]
        made.formats = [format_of(field) for field in fields]
        made.columns = {field.name.decode(): [] for field in fields}
        while True:
            array = Array()
            check(GET_NEXT(stream.get_next)(ctypes.byref(stream), ctypes.byref(array)))
            if not array.release:
                return made
            made.arrays += 1
            for i, field in enumerate(fields):
                made.columns[field.name.decode()] += values_of(field, array.children[i].contents)
            release(array)
    finally:
        if schema.release:
            release(schema)
        release(stream)


# ---- a producer ----

class Producer:
    """Makes structs of columns. `released` has each one's label when it was released; all memory lives as long as this."""

    def __init__(self):
        self.released = []
        self.kept = []

    def keep(self, one):
        self.kept.append(one)
        return one

    def _end(self, struct, label):
        def ended(pointer):
            self.released.append(label)
            own = pointer.contents
            if kind is not Stream:
                for i in range(own.n_children):
                    if own.children[i].contents.release:
                        release(own.children[i].contents)
                if own.dictionary and own.dictionary.contents.release:
                    release(own.dictionary.contents)
            own.release = None

        kind = type(struct)
        struct.release = ctypes.cast(self.keep(RELEASES[kind](ended)), VOID)
        return self.keep(struct)

    def _below(self, kind, struct, children, dictionary):
        struct.n_children = len(children)
        if children:
            struct.children = self.keep((ctypes.POINTER(kind) * len(children))(*[ctypes.pointer(one) for one in children]))
        if dictionary is not None:
            struct.dictionary = ctypes.pointer(dictionary)

    def schema(self, format, name='', children=(), dictionary=None, metadata=None, flags=2):
        struct = Schema(format=format.encode(), name=None if name is None else name.encode(), flags=flags)
        if metadata is not None:
            struct.metadata = ctypes.cast(self.keep(ctypes.create_string_buffer(metadata, len(metadata))), VOID)
        self._below(Schema, struct, children, dictionary)
        return self._end(struct, f'schema {name}')

    def array(self, length, buffers, label='', null_count=0, offset=0, children=(), dictionary=None):
        """buffers: NumPy arrays, bytes, or None for NULL."""
        struct = Array(length=length, null_count=null_count, offset=offset, n_buffers=len(buffers))
        places = []
        for one in buffers:
            if one is None:
                places.append(None)
            else:
                raw = self.keep(np.frombuffer(one + b'\0', 'u1') if isinstance(one, bytes) else one)
                places.append(raw.ctypes.data)
        if buffers:
            struct.buffers = self.keep((VOID * len(buffers))(*places))
        self._below(Array, struct, children, dictionary)
        return self._end(struct, f'array {label}')

    def stream(self, schema, arrays, fail=None):
        """A stream of arrays; `fail`: an errno and a message when they are over."""
        struct, left = Stream(), list(arrays)
        message = self.keep(ctypes.create_string_buffer((fail or (0, 'none'))[1].encode()))

        def get_schema(_, given):
            given[0] = move(schema)
            return 0

        def get_next(_, given):
            if not left and fail is not None:
                return fail[0]
            given[0] = move(left.pop(0)) if left else Array()
            return 0

        for name, kind, call in (('get_schema', GET_SCHEMA, get_schema), ('get_next', GET_NEXT, get_next),
                                 ('get_last_error', LAST_ERROR, lambda _: ctypes.addressof(message))):
            setattr(struct, name, ctypes.cast(self.keep(kind(call)), VOID))
        return self._end(struct, 'stream')

    def batch(self, rows, children, **more):
        return self.array(rows, [None], 'batch', children=children, **more)

    def exporter(self, fields, batches, **more):
        """An object with __arrow_c_stream__ over batches (rows, children)."""
        stream = self.stream(self.schema('+s', '', fields), [self.batch(*one) for one in batches], **more)
        return Exporter(self.capsule(stream))

    def capsule(self, struct, name=None):
        """In a capsule, whose destructor releases what nobody has taken."""
        def destroy(_):
            if struct.release:
                release(struct)

        return _new(ctypes.addressof(struct), self.keep(NAMES[type(struct)] if name is None else name),
                    ctypes.cast(self.keep(DESTRUCTOR(destroy)), VOID))


class Exporter:
    """What gives a stream's capsule."""

    def __init__(self, capsule):
        self.given = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self.given


def schema_capsule(columns):
    """A schema to ask for: {name: format}, or 'format of format' with a dictionary; or the format of no struct."""
    producer = Producer()
    if isinstance(columns, str):
        top = producer.schema(columns)
    else:
        fields = []
        for name, format in columns.items():
            own, _, words = format.partition(' of ')
            fields.append(producer.schema(own, name, dictionary=producer.schema(words) if words else None))
        top = producer.schema('+s', '', fields)
    capsule = producer.capsule(top)
    _LIVE.append(producer)
    return capsule


_LIVE = []  # capsules of schema_capsule() are freed when the test has forgotten them, which is later than its producer's scope
