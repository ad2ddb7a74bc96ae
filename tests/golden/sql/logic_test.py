"""Files of tests of SQL engines as records: sqllogictest (of SQLite, DuckDB, DataFusion), and scripts of psql.

A record is a Record; what engines differ in (which one is meant, threads, restarts, files of their own) is told by `other`, or ends the file.
"""
import collections
import re

# kind: 'statement', 'query'; expect: 'ok', 'error' of a statement; sort: 'nosort', 'rowsort', 'valuesort'; answer: lines behind ----, or None; other: why it is not for us, or ''.
Record = collections.namedtuple('Record', 'kind expect sort sql answer line other')

# Words that open a record of one line, which says something about what follows or how it is run.
IDLE = ('hash-threshold', 'mode', 'sleep', 'set', 'reset', 'unzip', 'tags', 'reconnect', 'test-env', 'subtest', 'include', 'control', 'result', 'template', 'continue')
HERE = ('json', 'parquet', 'icu', 'core_functions', 'vector_size', 'noforcestorage', 'skip_reload', '64bit', 'notwindows', 'notmusl', 'exact_vector_size', 'no_alternative_verify',
        'block_size', 'no_vector_verification', 'noalternativeverify', 'ram', 'disk_space', 'longdouble', 'no_extension_autoloading', 'mingw', 'windows', 'no_latest_storage')


def paragraphs(text):
    """(number of the first line, lines) between empty lines."""
    block, first = [], 0
    for number, line in enumerate(text.split('\n'), 1):
        line = line.rstrip('\r')
        if line.strip() == '':
            if block:
                yield first, block
            block = []
        elif block or not line.startswith('#'):
            first = first if block else number
            block.append(line)
    if block:
        yield first, block


def split_query(lines):
    """A query's text, and its answer or None."""
    if '----' in [line.strip() for line in lines]:
        at = [line.strip() for line in lines].index('----')
        return '\n'.join(lines[:at]), lines[at + 1:]
    return '\n'.join(lines), None


def loop_values(words):
    """Of loop NAME FROM TO, foreach NAME VALUE..."""
    if words[0] in ('loop', 'concurrentloop'):
        return [str(n) for n in range(int(words[2]), int(words[3]))]
    return [value for word in words[2:] for value in GROUPS.get(word, [word])]


GROUPS = {'<integral>': ['tinyint', 'smallint', 'integer', 'bigint', 'hugeint', 'utinyint', 'usmallint', 'uinteger', 'ubigint', 'uhugeint'],
          '<signed>': ['tinyint', 'smallint', 'integer', 'bigint', 'hugeint'], '<unsigned>': ['utinyint', 'usmallint', 'uinteger', 'ubigint', 'uhugeint'],
          '<numeric>': ['tinyint', 'smallint', 'integer', 'bigint', 'hugeint', 'utinyint', 'usmallint', 'uinteger', 'ubigint', 'uhugeint', 'float', 'double'],
          '<all_types_columns>': []}
MOST_LOOPS = 20


def record_of(first, lines):
    """None: it says nothing that is run. 'stop': what follows cannot be run."""
    while lines and (lines[0].startswith('#') or lines[0].split()[0] in ('onlyif', 'skipif')):
        if lines[0].startswith('onlyif') and lines[0].split()[1] not in ('duckdb', 'postgresql'):
            return None
        if lines[0].startswith('skipif') and lines[0].split()[1] in ('duckdb', 'postgresql'):
            return None
        lines, first = lines[1:], first + 1
    words = lines[0].split() if lines else ['']
    if words[0] == 'statement':
        sql, answer = split_query(lines[1:])
        return Record('statement', words[1] if len(words) > 1 else 'ok', '', sql, answer, first + 1, 'another connection' if len(words) > 2 else '')
    if words[0] == 'query':
        sql, answer = split_query(lines[1:])
        sorts = [word for word in words[2:] if word in ('nosort', 'rowsort', 'valuesort', 'sort')]
        other = 'another connection' if any(word.startswith('con') for word in words[2:]) else ''
        return Record('query', words[1] if len(words) > 1 else '', sorts[0] if sorts else 'nosort', sql, answer, first + 1, other)
    if words[0] == 'require' and words[1] not in HERE or words[0] in ('require-env', 'load', 'restart', 'halt', 'import'):
        return 'stop'
    return None


def read_logic_test(text):
    """Records of a sqllogictest file, loops written out."""
    blocks = list(paragraphs(re.sub(r'^#.*\n', '', text, flags=re.M)))
    return list(run_blocks(blocks, 0, len(blocks), {}))


def run_blocks(blocks, start, stop, names):
    at = start
    while at < stop:
        first, lines = blocks[at]
        for name, value in names.items():
            lines = [line.replace('${' + name + '}', value).replace('{' + name + '}', value) for line in lines]
        words = lines[0].split()
        if words and words[0] in ('loop', 'foreach', 'concurrentloop', 'concurrentforeach'):
            depth, end = 1, at + 1
            while end < stop and depth > 0:
                word = blocks[end][1][0].split()[0]
                depth += (word in ('loop', 'foreach', 'concurrentloop', 'concurrentforeach')) - (word == 'endloop')
                end += 1
            inner = [(first + 1, lines[1:])] if len(lines) > 1 else []
            body = inner + blocks[at + 1:end - 1]
            for value in loop_values(words)[:MOST_LOOPS]:
                for record in run_blocks(body, 0, len(body), {**names, words[1]: value}):
                    yield record
            at = end
            continue
        record = record_of(first, lines)
        if record == 'stop':
            return
        if record is not None:
            yield record
        at += 1


# ---- scripts ----

TOKEN = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|[eE]'(?:[^'\\]|\\.|'')*'|"(?:[^"]|"")*"|(\$\w*\$).*?\1|;|[^;'"$/-]+|.""", re.S)


COPY = re.compile(r"^copy\s+([\w.]+)\s*(\([^)]*\))?\s+from\s+stdin\b([^;]*);[^\n]*\n(.*?)^\\\.$", re.I | re.M | re.S)


def inserted(copy):
    """COPY FROM STDIN with its rows, as INSERT; as many lines."""
    null = re.search(r"null\s+(?:as\s+)?'([^']*)'", copy.group(3), re.I)
    comma = re.search(r"delimiter\s+(?:as\s+)?'([^']*)'|\b(csv)\b", copy.group(3), re.I)
    between = (comma.group(1) or ',') if comma else '\t'
    rows = []
    for line in copy.group(4).rstrip('\n').split('\n'):
        values = ['null' if field == (null.group(1) if null else '\\N') else "'" + field.replace("'", "''") + "'" for field in line.split(between)]
        rows.append(f'({", ".join(values)})')
    return f"insert into {copy.group(1)} {copy.group(2) or ''} values\n" + ',\n'.join(rows) + ';\n'


def read_script(text):
    """Statements of a psql script; lines that begin with a backslash are psql's own."""
    text = COPY.sub(inserted, text)
    text = re.sub(r'^\s*\\.*$', '', text, flags=re.M)
    sql, line, begun = '', 1, 1
    for token in TOKEN.finditer(text):
        piece = token.group(0)
        if piece == ';':
            if sql.strip() and not re.search(r'\bfrom\s+stdin\b', sql, re.I):  # it would read ours
                kind = 'query' if re.match(r'\s*(select|with|values|table|\()', sql, re.I) else 'statement'
                yield Record(kind, 'ok', 'nosort', sql.strip(), None, begun, '')
            sql = ''
        elif not piece.startswith(('--', '/*')):
            if not sql.strip():
                begun = line
            sql += piece
        else:
            sql += ' '
        line += piece.count('\n')
