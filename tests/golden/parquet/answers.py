"""The files of hyparquet's tests, read by granary: answers.py DIRECTORY, or $GRANARY_HYPARQUET; 77 (skipped) without.

Beside each X.parquet lies X.json with its rows, and X.metadata.json with its schema. All columns of types that granary has are read, and have
these values; a file without any is refused for the reason that stands here.
"""
import datetime
import decimal
import glob
import json
import math
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../python'))

# Parts of the messages that refuse files without a column that can be read.
REFUSED = {
    'shredded-sparse-timestamp': 'variant', 'shredded-type-mismatch': 'variant',
}


def top_names(tree):
    """Names of the columns of rows: the schema lists all nodes, each before its children."""
    def size(at):
        nodes = 1
        for _ in range(tree[at].get('num_children') or 0):
            nodes += size(at + nodes)
        return nodes

    names, at = [], 1
    while at < len(tree):
        names.append(tree[at]['name'])
        at += size(at)
    return names


def leaf(value, path):
    """What lies there in a value: in each item of a list, and under the longest key that is there; of a map, its keys or values."""
    if value is None or not path:
        return value
    if isinstance(value, list):
        return [leaf(item, path) for item in value]
    parts = path.split('.')
    for count in range(len(parts), 0, -1):
        key = '.'.join(parts[:count])
        if isinstance(value, dict) and key in value:
            return leaf(value[key], '.'.join(parts[count:]))
    if path in ('key', 'value') and isinstance(value, dict):  # a map
        return [one[path == 'value'] for one in sorted(value.items())]
    return None  # nulls are left out


def same(mine, theirs):
    """JSON has numbers to fewer digits, no nan, null for an empty list, bytes as text, moments as ISO 8601 in UTC, and geometry as GeoJSON."""
    if mine == [] and theirs is None or isinstance(theirs, dict):
        return True
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    if isinstance(mine, (int, float, decimal.Decimal)) and isinstance(theirs, (int, float)):
        return math.isclose(float(mine), theirs, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(mine, float) and theirs is None:
        return not math.isfinite(mine)
    if isinstance(mine, datetime.datetime) and isinstance(theirs, str):
        theirs = datetime.datetime.fromisoformat(theirs.replace('Z', '+00:00'))
        return mine.replace(tzinfo=None) == theirs.replace(tzinfo=None)
    if isinstance(mine, datetime.date):
        return mine.isoformat() == str(theirs)[:10]
    if isinstance(mine, bytes) and isinstance(theirs, str):
        return theirs in (mine.decode('latin-1'), mine.decode('utf-8', 'replace'))
    if isinstance(mine, bytes) and isinstance(theirs, list):
        return list(mine) == theirs
    return mine == theirs


def readable(gr, path):
    """The columns that can be read; or the message that there is none."""
    try:
        return gr.scan_parquet(path).collect().columns
    except gr.GranaryError as error:
        message = str(error).split('\n', maxsplit=1)[0]
    others = re.search(r'select others: (.*)', message)
    return message if others is None or others.group(1) == 'none' else re.findall(r"'([^']*)'", others.group(1))


def check(gr, path):
    """Problems; and how many columns were compared."""
    stem = path[:-len('.parquet')]
    name = os.path.basename(stem)
    names = readable(gr, path)
    if isinstance(names, str):
        return ([] if name in REFUSED and REFUSED[name] in names else [names]), 0
    with open(f'{stem}.json', encoding='utf-8') as file:
        rows = json.load(file)
    with open(f'{stem}.metadata.json', encoding='utf-8') as file:
        tops = top_names(json.load(file)['schema'])
    rows = [dict(zip(tops, row)) if isinstance(row, list) else row for row in rows]
    wrong = []
    for column in names:
        try:
            values = gr.scan_parquet(path).select(gr.col(column)).collect().to_dict()[column]
            wants = [leaf(row, column) for row in rows]
        except OverflowError as error:
            if 'to_numpy() holds it' not in str(error):  # a year that Python has not
                wrong.append(f'{column}: {error}')
            continue
        if column.endswith(('.key', '.value')):  # JSON has the entries of a map in another order
            values, wants = ([sorted(one) if isinstance(one, list) and all(isinstance(v, str) for v in one) else one for one in ones] for ones in (values, wants))
        bad = [(row, mine, want) for row, (mine, want) in enumerate(zip(values, wants)) if not same(mine, want)]
        if len(values) != len(wants) or bad:
            wrong.append(f'{column}: {len(values)} rows of {len(wants)}; {bad[:1]}')
    return wrong, len(names)


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.environ.get('GRANARY_HYPARQUET', '')
    files = sorted(glob.glob(f'{directory}/*.parquet'))
    if not files:
        print('skipped: give test/files of https://github.com/hyparam/hyparquet, or set GRANARY_HYPARQUET to them')
        return 77
    from frames_test import Instance, SessionEngine, gr, granary
    count = failed = 0
    with Instance(executors=2, memory='512M') as instance, granary.connect(instance.instance) as session:
        gr.use(SessionEngine(session))
        for path in files:
            wrong, columns = check(gr, path)
            count += columns
            failed += len(wrong) > 0
            for problem in wrong:
                print(f'{os.path.basename(path)}: {problem}'[:400])
    print(f'{len(files)} files, {count} columns, {failed} files wrong')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
