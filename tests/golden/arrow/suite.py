"""The files of apache/arrow-testing, read by granary: suite.py DIRECTORY, or $GRANARY_ARROW_TESTING; 77 (skipped) without.

Each column of a type that granary has is read, and its values are those of the JSON file beside it. The other columns are refused by
name; big-endian files are refused.
"""
import glob
import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../support/py'))
PER_SECOND = {'SECOND': 1, 'MILLISECOND': 10**3, 'MICROSECOND': 10**6, 'NANOSECOND': 10**9}
LISTS = ('list', 'fixedsizelist', 'largelist', 'listview', 'largelistview')  # python_arrow and unit tests read them
NESTED = ('struct', 'map', 'union', 'interval')


def microseconds(value, unit):
    return value * (10**6 // PER_SECOND[unit]) if unit != 'NANOSECOND' else value // 1000


def of_view(view, data, binary):
    if 'INLINED' in view:
        return bytes.fromhex(view['INLINED']) if binary else view['INLINED'].encode()
    return bytes.fromhex(data[view['BUFFER_INDEX']])[view['OFFSET']:view['OFFSET'] + view['SIZE']]


def values_of(kind, column, dictionaries, encoding):
    """As granary has them; None under nulls."""
    name = kind['name']
    if encoding is not None:
        entries = dictionaries[encoding['id']]
        given = [entries[int(i)] if ok else None for i, ok in zip(column['DATA'], column['VALIDITY'])]
        return given
    if name == 'null':
        return [None] * column['count']
    if name == 'runendencoded':
        ends, inner = column['children']
        values, made = values_of(kind['values'], inner, dictionaries, None), []
        for end, value in zip(ends['DATA'], values):
            made += [value] * (int(end) - len(made))
        return made[:column['count']]
    if 'VIEWS' in column:
        given = [of_view(v, column['VARIADIC_DATA_BUFFERS'], name == 'binaryview') for v in column['VIEWS']]
        given = given if name == 'binaryview' else [v.decode() for v in given]
    else:
        given = column['DATA']
    if name in ('binary', 'largebinary', 'fixedsizebinary'):
        given = [bytes.fromhex(v) for v in given]
    elif name in ('int', 'decimal', 'date', 'time', 'timestamp', 'duration'):
        given = [int(v) for v in given]
    elif name == 'bool':
        given = [bool(v) for v in given]
    if name == 'date' and kind['unit'] == 'MILLISECOND':
        given = [v // 86400000 for v in given]
    elif name in ('time', 'timestamp', 'duration'):
        given = [microseconds(v, kind['unit']) for v in given]
    return [v if ok else None for v, ok in zip(given, column['VALIDITY'])]


def is_same(mine, want):
    return mine == want or (isinstance(want, float) and abs(mine - want) <= abs(want) * 2e-3)  # JSON has few digits of halves


def shown(column):
    valid = column.valid
    return [v if valid is None or valid[i] else None for i, v in enumerate(column.values)]


def kind_of(field):
    kind = dict(field['type'])
    if kind['name'] == 'runendencoded':
        kind['values'] = field['children'][1]['type']
    return kind


def leaves(field, columns, name, valid):
    """What a struct holds, by dotted names, with the columns of all batches; nulls of the structs above are theirs too."""
    columns = [{**c, 'VALIDITY': [a and b for a, b in zip(c['VALIDITY'], v)] if v is not None and 'VALIDITY' in c else c.get('VALIDITY')}
               for c, v in zip(columns, valid)]
    if field['type']['name'] != 'struct' or field.get('dictionary'):
        yield name, field, columns, valid
        return
    for number, child in enumerate(field['children']):
        yield from leaves(child, [c['children'][number] for c in columns], f"{name}.{child['name']}", [c['VALIDITY'] for c in columns])


def check_file(granary, error, path, told):
    """How many columns were read."""
    dictionaries, read = {}, 0
    schema = told['schema']['fields']
    columns = [leaf for number, field in enumerate(schema)
               for leaf in leaves(field, [b['columns'][number] for b in told['batches']], field['name'], [None] * len(told['batches']))]
    by_id = {f['dictionary']['id']: kind_of(f) for _, f, _, _ in columns if f.get('dictionary')}
    for one in told.get('dictionaries', []):
        if one['id'] in by_id and by_id[one['id']]['name'] not in NESTED + LISTS:
            dictionaries[one['id']] = values_of(by_id[one['id']], one['data']['columns'][0], {}, None)
    if len({name for name, _, _, _ in columns}) < len(columns):
        return 0
    for name, field, batches, above in columns:
        kind = kind_of(field)
        nested = kind['name'] in NESTED or kind.get('values', {}).get('name') in NESTED
        if kind['name'] in LISTS or kind.get('values', {}).get('name') in LISTS:
            continue
        large = kind['name'] == 'decimal' and (kind.get('scale', 0) < 0 or kind.get('scale', 0) > 38)
        try:
            column = granary.run({'f': {'op': 'read_arrow', 'path': path}, 'x': {'op': 'select', 'input': 'f', 'columns': [name]}}, 'x')[name]
        except error as told_error:
            text = str(told_error)
            if 'metadata version' in text:  # of before 0.8
                return 0
            assert f"'{name}'" in text, (path, field, text)
            assert nested or large or 'out of range' in text or 'more than 38 digits' in text, (path, field, text)
            continue
        assert not nested, (path, field)
        want = [v for batch in batches for v in values_of(kind, batch, dictionaries, field.get('dictionary'))]
        if kind['name'] in ('null', 'runendencoded'):  # they have no nulls of their own for the structs' to be added to
            under = [ok for batch, valid in zip(batches, above) for ok in (valid or [1] * batch['count'])]
            want = [v if ok else None for v, ok in zip(want, under)]
        got = shown(column)
        assert len(got) == len(want), (path, field, len(got), len(want))
        for row, (mine, theirs) in enumerate(zip(got, want)):
            assert mine is theirs if mine is None or theirs is None else is_same(mine, theirs), (path, field, row, mine, theirs)
        read += 1
    return read


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.environ.get('GRANARY_ARROW_TESTING', '')
    paths = sorted(glob.glob(f'{directory}/data/arrow-ipc-stream/integration/*/*.arrow_file'))
    if not paths:
        print('skipped: give a copy of https://github.com/apache/arrow-testing, or set GRANARY_ARROW_TESTING to one')
        return 77
    from granary_test import GranaryError, Instance
    read = 0
    with Instance(executors=2, memory='512M') as granary:
        for path in paths:
            if 'bigendian' in path:
                granary.fails({'x': {'op': 'read_arrow', 'path': path}}, 'x', 'big-endian')
                continue
            with gzip.open(path.removesuffix('.arrow_file') + '.json.gz') as file:
                told = json.load(file)
            read += check_file(granary, GranaryError, path, told)
            if '0.14.1' not in path and os.path.exists(path.removesuffix('.arrow_file') + '.stream'):  # whose messages have no mark
                check_file(granary, GranaryError, path.removesuffix('.arrow_file') + '.stream', told)
    print(f'{len(paths)} files, {read} columns read')
    return 0


if __name__ == '__main__':
    sys.exit(main())
