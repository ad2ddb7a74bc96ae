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


def _page(values):
    body = _levels(values) + b''.join(struct.pack('<q', v) for v in values if v is not None)
    head = Struct().int(1, 0, 5).int(2, len(body), 5).int(3, len(body), 5)
    return head.struct(5, Struct().int(1, len(values), 5).int(2, 0, 5).int(3, 3, 5).int(4, 3, 5)).end() + body


def parquet(groups, page_rows=None, index=True, claimed=None):
    """groups: a list of {name: values}. page_rows: by column, how many rows its pages have. claimed: rows of a group that says so."""
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
                page = _page(part)
                places.append((len(out), len(page), number * step))
                out += page
            chunks.append({'start': start, 'size': len(out) - start, 'parts': parts, 'places': places, 'values': values})
    for chunk in chunks if index else []:
        chunk['columns_at'] = len(out)
        bounds = [_bounds(part) for part in chunk['parts']]
        empty = [all(v is None for v in part) for part in chunk['parts']]
        out += (Struct().list(1, 1, [bytes([1 if e else 2]) for e in empty])
                .list(2, 8, [varint(len(low)) + low for low, _ in bounds]).list(3, 8, [varint(len(high)) + high for _, high in bounds])
                .int(4, 0, 5).list(5, 6, [zigzag(sum(v is None for v in part)) for part in chunk['parts']])).end()
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
