"""What there is to be hit, from the product's own tables, and how often it was."""
import collections
import fnmatch
import functools
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get('GRANARY_SOURCE', HERE.parent.parent))
BIN = os.environ.get('GRANARY_BIN', 'build/release/bin')
RARE = 100  # in a long run everything is hit so often


@functools.cache
def page():
    """What granary itself says of its operators."""
    return subprocess.run([os.path.join(BIN, 'granary'), 'operators', '--markdown'], check=True, capture_output=True, text=True).stdout


def operators():
    """op:NAME, param:OPERATOR.NAME."""
    ids, name = [], None
    for line in page().split('\n## Operators on chunks')[0].splitlines():
        if line.startswith('### '):
            name = line[4:]
            ids.append(f'op:{name}')
        row = re.match(r'\| `(\w+)` \| (int|number|value|bool|string|ints|bools|strings|map)s? \|', line)
        if row:
            ids.append(f'param:{name}.{row.group(1)}')
    return ids


def composed():
    """sql:NAME: functions and aggregates of SQL that others make up."""
    folder = SOURCE / 'libclient/sql/parse/functions'
    names = re.findall(r'^COMPOSED\("([a-z]\w*)"', (folder / 'composed.def').read_text(), re.M)  # those that begin with _ are parts of others
    for array, words in re.findall(r'static const char \*const (\w+)\[\] = \{(.*?)NULL\};', (folder / 'composed.c').read_text(), re.S):
        names += re.findall(r'"(\w+)"', words) if array not in ('any', 'indifferent') else []
    return [f'sql:{name}' for name in dict.fromkeys(names)]


def functions():
    rows = (SOURCE / 'libclient/graph/expr/ops.def').read_text()
    expressions = re.findall(r'^(?:EXPR_OP|FUNCTION)\((\w+), "', rows, re.M)
    windows = re.findall(r'^WINDOW\(\w+, "(\w+)"', (SOURCE / 'libclient/graph/window/functions.def').read_text(), re.M)
    aggregates = (SOURCE / 'libclient/graph/operators/aggregates.def').read_text()
    return ([f'expr:{name}' for name in expressions] + [f'window:{name}' for name in windows] +
            [f'sql:{name}' for name in re.findall(r'^SQL_NAME\(\w+, "(\w+)", \d, \d, AS_IS\)', rows, re.M)] +
            [f'sqlagg:{name}' for name in re.findall(r'^SQL_NAME\("(\w+)"', aggregates, re.M)])


def aggregates():
    """agg:NAME: the functions groupby's own page tells."""
    lines = page().split('\n### groupby\n')[1].split('\n### ')[0].splitlines()
    rows = [line.split('|')[1] for line in lines if line.startswith('| `') and '(' in line.split('|')[1] or line.startswith('| `size`')]
    return list(dict.fromkeys(f'agg:{name}' for row in rows for name in re.findall(r'`(\w+)', row)))


def parser():
    """The files of the parser of SELECTs."""
    folder = SOURCE / 'libclient/sql/parse'
    return sorted([*folder.glob('*.c'), *(folder / 'functions').glob('*.c')])


def clauses():
    """clause:NAME: every kind of a parse tree's node that the parser of SELECTs knows."""
    names = set()
    for file in parser():
        names.update(re.findall(r'PG_QUERY__NODE__(NODE_\w+)', file.read_text()))
        names.update(re.findall(r'PG_QUERY__((?:JOIN_TYPE|SET_OPERATION|BOOL_TEST_TYPE|NULL_TEST_TYPE|SUB_LINK_TYPE|SORT_BY_NULLS|SORT_BY_DIR|'
                                r'MIN_MAX_OP|LIMIT_OPTION|GROUPING_SET_KIND|BOOL_EXPR_TYPE|A__EXPR__KIND)__\w+)', file.read_text()))
    return [f'clause:{name.split("__")[-1].lower()}' for name in sorted(names)]


def fields():
    """field:NAME: every field of a parse tree's nodes that the parser of SELECTs takes."""
    names = set()
    for file in parser():
        names.update(re.findall(r'TAKE\(p, [\w>.\[\]-]+, (\w+)\)', file.read_text()))
    return [f'field:{name}' for name in sorted(names)]


@functools.cache
def universe():
    return list(dict.fromkeys(operators() + functions() + composed() + aggregates() + clauses() + fields()))


def exempt():
    """What no part can ask others about, with the reason."""
    rows = [line.split('\t') for line in (HERE / 'exempt.tsv').read_text().splitlines() if line and not line.startswith('#')]
    names = universe()
    stale = [pattern for pattern, _ in rows if not fnmatch.filter(names, pattern)]
    return {name: reason for pattern, reason in rows for name in fnmatch.filter(names, pattern)}, stale


class Counts:
    def __init__(self):
        self.hits = collections.Counter()

    def add(self, hits):
        self.hits.update(set(hits))

    def report(self, path, parts, at_least):
        """How often everything there is was hit, what was hit least first, and what was hit too rarely (100 times, when nothing else is asked).
        Gives the latter, when it was asked how often."""
        if not path and not at_least:
            return []
        excused, least = exempt()[0], at_least or RARE
        rows = sorted((self.hits[name], name) for name in universe())
        missing = [name for count, name in rows if count < least and name not in excused]
        lines = [f'{name}\t{count}\t{excused.get(name, "")}' for count, name in rows]
        if path == '-':
            print('\n'.join(lines))
        elif path:
            pathlib.Path(path).write_text('\n'.join(lines) + '\n')
        if missing:
            print(f'{len(missing)} of {len(rows)} operators, parameters, functions and clauses were hit fewer than {least} times: ' +
                  ', '.join(f'{name} {self.hits[name]}' for name in missing))
        else:
            print(f'all of {len(rows)} operators, parameters, functions and clauses were hit {least} times or more, but for {len(excused)} that are excused')
        return missing if at_least else []


def check(parts, least, most=20000):
    """Draw cases, run none: is everything hit? What is new in a table and has no row in a part fails."""
    from draw import Draw
    wanted = universe()
    excused, stale = exempt()
    hits = collections.Counter()
    missing = [name for name in wanted if name not in excused]
    for start in range(0, most, 200):
        for part in parts:
            if any(name.startswith(part.covers) for name in missing):
                for number in range(start, start + 200):
                    spec = part.make(Draw(f'1/{part.name}/{number}'), number)
                    hits.update(set(part.hits(spec)) if spec is not None else ())
        missing = [name for name in missing if hits[name] < least]
        if not missing:
            break
    stale += sorted(n for n in hits if n.startswith(('op:', 'param:')) and n not in wanted)
    for name in missing:
        print(f'{name}: no part of tests/differ has a case for it: give it a row there, or exempt.tsv its reason')
    for name in stale:
        print(f'{name}: tests/differ names it, but it is not there any more')
    print(f'{len(wanted)} operators, parameters, functions and clauses; {len(excused)} excused; {len(missing)} without a case')
    return 1 if missing or stale else 0
