"""Parquet files of int64 columns, written here: pages of any length, with a page index, or with claims that are not true."""
import struct


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


class Struct:
    """Thrift's compact form, fields in ascending order."""

    def __init__(self):
        self.bytes = bytearray()
        self.last = 0

    def field(self, number, kind, body):
        self.bytes += bytes([(number - self.last) << 4 | kind]) + body
        self.last = number
        return self

    def int(self, number, value, kind=6):
        return self.field(number, kind, zigzag(value))

    def text(self, number, value):
        return self.field(number, 8, varint(len(value)) + value)

    def struct(self, number, value):
        return self.field(number, 12, value.end())

    def list(self, number, kind, items):
        return self.field(number, 9, bytes([0xf0 | kind]) + varint(len(items)) + b''.join(items))

    def end(self):
        return bytes(self.bytes) + b'\0'


def _bounds(values):
    there = [v for v in values if v is not None]
    return (struct.pack('<q', min(there)), struct.pack('<q', max(there))) if there else (b'', b'')


def _levels(values):
    packed = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        packed[i // 8] |= (value is not None) << i % 8
    runs = varint(len(packed) << 1 | 1) + bytes(packed)
    return struct.pack('<I', len(runs)) + runs


def _old_levels(values):
    """BIT_PACKED: from the highest bit of each byte on, without a size."""
    packed = bytearray((len(values) + 7) // 8)
    for i, value in enumerate(values):
        packed[i // 8] |= (value is not None) << 7 - i % 8
    return bytes(packed)


def _page(values, old):
    body = (_old_levels if old else _levels)(values) + b''.join(struct.pack('<q', v) for v in values if v is not None)
    head = Struct().int(1, 0, 5).int(2, len(body), 5).int(3, len(body), 5)
    return head.struct(5, Struct().int(1, len(values), 5).int(2, 0, 5).int(3, 4 if old else 3, 5).int(4, 4 if old else 3, 5)).end() + body


def xxh64(value):
    """Of an int64, as Bloom filters have it."""
    p1, p2, p3, p4, p5, mask = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261, (1 << 64) - 1

    def turned(x, by):
        return (x << by | x >> 64 - by) & mask
    h = (p5 + 8) ^ turned((value & mask) * p2 & mask, 31) * p1 & mask
    h = (turned(h, 27) * p1 + p4) & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


SALT = (0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31)


def bloom(values, blocks=4):
    """A filter of some values, with its head."""
    words = [[0] * 8 for _ in range(blocks)]
    for value in values:
        h = xxh64(value)
        for i, salt in enumerate(SALT):
            words[(h >> 32) * blocks >> 32][i] |= 1 << ((h & 0xffffffff) * salt >> 27 & 31)
    head = Struct().int(1, 32 * blocks, 5)
    for member in (2, 3, 4):
        head.struct(member, Struct().struct(1, Struct()))
    return head.end() + b''.join(struct.pack('<8I', *block) for block in words)


def parquet(groups, page_rows=None, index=True, claimed=None, blooms=None, old=False, unbounded=(), counts=True):
    """groups: a list of {name: values}. page_rows: by column, how many rows its pages have. claimed: rows of a group that says so. blooms: by
    column, the filter of a group's values, or (filter, where it is said to be, how long it is said to be). old: levels are BIT_PACKED.
    unbounded: of these columns the index has no bounds, and says as Polars does that pages have nothing but nulls. counts: it has numbers of nulls;
    'all': those of the row group for each page."""
    out = bytearray(b'PAR1')
    names = list(groups[0])
    chunks = []
    for columns in groups:
        for name in names:
            values = columns[name]
            step = (page_rows or {}).get(name) or max(len(values), 1)
            parts = [values[at:at + step] for at in range(0, len(values), step)]
            start, places = len(out), []
            for number, part in enumerate(parts):
                page = _page(part, old)
                places.append((len(out), len(page), number * step))
                out += page
            chunks.append({'start': start, 'size': len(out) - start, 'parts': parts, 'places': places, 'values': values})
    for number, chunk in enumerate(chunks):
        told = (blooms or {}).get(names[number % len(names)])
        told = told([v for v in chunk['values'] if v is not None]) if told else None
        data, at, size = told if isinstance(told, tuple) else (told, None, None)
        chunk['bloom'] = None if told is None else (len(out) if at is None else at, len(data) if size is None else size)
        out += data or b''
    for number, chunk in enumerate(chunks if index else []):
        chunk['columns_at'] = len(out)
        hidden = names[number % len(names)] in unbounded
        bounds = [(b'\0', b'\0') if hidden else _bounds(part) for part in chunk['parts']]
        empty = [hidden or all(v is None for v in part) for part in chunk['parts']]
        told = (Struct().list(1, 1, [bytes([1 if e else 2]) for e in empty])
                .list(2, 8, [varint(len(low)) + low for low, _ in bounds]).list(3, 8, [varint(len(high)) + high for _, high in bounds])
                .int(4, 0, 5))
        if counts:
            told.list(5, 6, [zigzag(sum(v is None for v in (chunk['values'] if counts == 'all' else part))) for part in chunk['parts']])
        out += told.end()
        chunk['offsets_at'] = len(out)
        out += Struct().list(1, 12, [Struct().int(1, at).int(2, size, 5).int(3, row).end() for at, size, row in chunk['places']]).end()
        chunk['end'] = len(out)
    rows = []
    for number, columns in enumerate(groups):
        described = []
        count = claimed or len(columns[names[0]])
        for chunk, name in zip(chunks[number * len(names):], names):
            low, high = _bounds(chunk['values'])
            meta = Struct().int(1, 2, 5).list(2, 5, [zigzag(0)]).list(3, 8, [varint(len(name)) + name.encode()]).int(4, 0, 5)
            meta.int(5, count).int(6, chunk['size']).int(7, chunk['size']).int(9, chunk['start'])
            if low:
                meta.struct(12, Struct().int(3, sum(v is None for v in chunk['values'])).text(5, high).text(6, low))
            if chunk['bloom']:
                meta.int(14, chunk['bloom'][0]).int(15, chunk['bloom'][1], 5)
            item = Struct().int(2, chunk['start']).struct(3, meta)
            if index:
                item.int(4, chunk['offsets_at']).int(5, chunk['end'] - chunk['offsets_at'], 5)
                item.int(6, chunk['columns_at']).int(7, chunk['offsets_at'] - chunk['columns_at'], 5)
            described.append(item.end())
        rows.append(Struct().list(1, 12, described).int(2, 0).int(3, count).end())
    schema = [Struct().text(4, b'schema').int(5, len(names), 5).end()]
    schema += [Struct().int(1, 2, 5).int(3, 1, 5).text(4, name.encode()).end() for name in names]
    total = sum(claimed or len(g[names[0]]) for g in groups)
    footer = Struct().int(1, 1, 5).list(2, 12, schema).int(3, total).list(4, 12, rows)
    footer.list(7, 12, [Struct().struct(1, Struct()).end()] * len(names))
    footer = footer.end()
    return bytes(out + footer + struct.pack('<I', len(footer)) + b'PAR1')
