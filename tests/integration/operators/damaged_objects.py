#!/usr/bin/env python3
"""Objects that are no frames, or not quite: graphs over them may fail, but executors and scheduler live on.

    damaged_objects.py [SEED]             GRANARY_RANDOM_GRAPHS=COUNT: so many objects instead of the few of the test
"""
import ctypes
import json
import os
import sys

import random_graphs
from granary_test import GranaryError, Instance, _check, _Id, _library, _View
from random_graphs import Died, Random, check_alive, random_frame

COUNT = int(os.environ.get('GRANARY_RANDOM_GRAPHS', '40'))


def read_object(granary, identity):
    view = _View()
    _check(_library.granary_object_get(granary.client, _Id((ctypes.c_ubyte * 16)(*bytes.fromhex(identity))), -1, ctypes.byref(view)))
    data, meta = ctypes.string_at(view.data, view.data_size), ctypes.string_at(view.meta, view.meta_size) if view.meta_size else b''
    _library.granary_object_release(granary.client, ctypes.byref(view))
    return data, meta


def put_object(granary, data, meta):
    identity = _Id((ctypes.c_ubyte * 16)(*os.urandom(16)))
    _check(_library.granary_object_put(granary.client, identity, bytes(data), ctypes.c_uint64(len(data)), bytes(meta),
                                       ctypes.c_uint64(len(meta)), 0))
    return bytes(identity.bytes).hex()


def damage(draw, data, meta):
    """A field of the directory, bytes anywhere, another length."""
    data, meta = bytearray(data), bytearray(meta)
    for _ in range(1 + draw.below(3)):
        kind = draw.below(8)
        if kind < 3 and len(meta) >= 72:
            at = draw.below(len(meta) // 8) * 8
            value = draw.one([0, 1, 2, 7, 8, 64, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 64, len(data)])
            meta[at:at + 8] = value.to_bytes(8, 'little')
        elif kind < 5 and len(meta):
            meta[draw.below(len(meta))] = draw.below(256)
        elif kind < 7 and len(data) > 64:
            at = draw.below(len(data) // 4) * 4
            data[at:at + 4] = draw.one([0, 1, 2**31 - 1, 2**31, 2**32 - 1, draw.below(2**32), 1000]).to_bytes(4, 'little')
        elif draw.chance(0.3):
            meta = bytearray()
        elif draw.chance(0.3):
            data = data[:draw.below(len(data) + 1)]
    return data, meta


def buffers(meta):
    """Of each column: dtype, flags, [(offset, size) of validity, offsets, values, entries' offsets, entries' text]."""
    columns = int.from_bytes(meta[8:12], 'little')
    for c in range(columns):
        entry = meta[64 + 136 * c:64 + 136 * (c + 1)]
        number = [int.from_bytes(entry[at:at + 8], 'little') for at in range(0, 136, 8)]
        yield int.from_bytes(entry[8:10], 'little'), int.from_bytes(entry[10:12], 'little'), list(zip(number[3:9:2], number[4:9:2])) + [
            (number[10], number[11]), (number[12], number[13])]


def damage_values(draw, data, meta):
    """Offsets that do not ascend, codes outside of dictionaries, text that is no UTF-8: what a directory does not tell."""
    data = bytearray(data)
    for dtype, flags, (validity, offsets, values, entry_offsets, entry_text) in buffers(meta):
        ints = values if flags & 4 else offsets
        if flags & 4 and draw.chance(0.3):
            ints = entry_offsets
        if dtype == 4 and ints[1] >= 4 and draw.chance(0.7):
            for _ in range(1 + draw.below(3)):
                at = ints[0] + 4 * draw.below(ints[1] // 4)
                data[at:at + 4] = draw.one([2**31 - 1, 2**31, 2**32 - 1, 5, 10**6, 0]).to_bytes(4, 'little')
        elif values[1] > 0 and draw.chance(0.7):
            at = values[0] + draw.below(values[1])
            data[at] = draw.one([0xff, 0x80, 0xc0, 0xf0, 0])
    return data, meta


def run(granary, nodes, target, chunk_bytes, level='tileable'):
    """Results are not read: they may have the damage that they were given."""
    try:
        granary.delete(granary.submit(nodes, [target], chunk_bytes, level=level))
    except GranaryError as error:
        check_alive(error)


def check_frame(granary, seed):
    draw = Random(seed)
    columns = random_frame(draw)
    columns['s0'] = random_graphs.random_column(draw, 'string', len(next(iter(columns.values()))))
    if draw.chance(0.5):
        columns = random_graphs.encoded(columns)
    data, meta = read_object(granary, granary.put_piece(columns))
    data, meta = (damage_values if draw.chance(0.6) else damage)(draw, data, meta)
    nodes, last = random_graphs.random_graph(draw, columns, columns)
    bad = {'op': 'table', 'ids': [put_object(granary, data, meta)]}
    good = granary.put(columns, 2)
    if draw.chance(0.5):
        bad['ids'] += good['ids']
    try:
        run(granary, {'x': bad, 'y': good, **nodes}, last, draw.one([0, 100]))
        run(granary, {'d': {'op': 'distinct', 'inputs': ['object:' + bad['ids'][0]], 'keep': 'first'},
                      'z': {'op': 'sort', 'inputs': ['d'], 'by': ['s0'], 'descending': [False]}}, 'z', 0, 'chunk')
        run(granary, {'x': bad, 'y': good, 'z': {'op': draw.one(['encode', 'distinct', 'describe', 'count_rows']), 'input': 'x'}}, 'z', 100)
    except Died as error:
        print(f'seed {seed}: {str(error)[:500]}\n  {columns}\n  {json.dumps(nodes, ensure_ascii=False)}', flush=True)
        return False
    return True


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with Instance(executors=2) as granary:
        bad = [seed for seed in range(first, first + COUNT) if not check_frame(granary, seed)]
    assert not bad, f'seeds {bad}'


if __name__ == '__main__':
    main()
