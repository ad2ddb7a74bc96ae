#!/usr/bin/python3
"""Files of text as people have them: what each is read as without a word about it, and which are refused.

    text_files.py BIN_DIRECTORY             a corpus of our own, each with its columns and rows
    text_files.py BIN_DIRECTORY FOLDER      all files below a folder, counted beside DuckDB's answers ($GRANARY_PEERS)
"""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

# Name -> the file's bytes; its rows, each a mapping, or what the refusal says.
CORPUS = {
    # a header, or none
    'names over numbers': (b'a,b\n1,2\n', [{'a': 1, 'b': 2}]),
    'numbers alone': (b'1,2\n3,4\n', [{'c0': 1, 'c1': 2}, {'c0': 3, 'c1': 4}]),
    'one row of numbers': (b'1,2\n', [{'c0': 1, 'c1': 2}]),
    'one number': (b'42', [{'c0': 42}]),
    'text alone has a header': (b'x,y\nu,v\n', [{'x': 'u', 'y': 'v'}]),
    'one row of text': (b'x,y\n', []),
    'text and numbers': (b'x,1\ny,2\n', [{'c0': 'x', 'c1': 1}, {'c0': 'y', 'c1': 2}]),
    'years over numbers': (b'city,2019,2020\nBern,1,2\nBasel,3,4\n',
                           [{'city': 'Bern', '2019': 1, '2020': 2}, {'city': 'Basel', '2019': 3, '2020': 4}]),
    'years in rows': (b'2019,2020\n2020,2021\n', [{'c0': 2019, 'c1': 2020}, {'c0': 2020, 'c1': 2021}]),
    'numbers of both kinds': (b'1.5,x\n2,y\n', [{'c0': 1.5, 'c1': 'x'}, {'c0': 2.0, 'c1': 'y'}]),
    'a name over nothing': (b'a,b\n1,\n2,\n', [{'a': 1, 'b': None}, {'a': 2, 'b': None}]),
    'nothing at first': (b',2\n1,3\n', [{'c0': None, 'c1': 2}, {'c0': 1, 'c1': 3}]),
    'dates': (b'05/06/2019\n06/06/2019\n', [{'c0': '05/06/2019'}, {'c0': '06/06/2019'}]),
    'names over dates': (b'day\n05/06/2019\n', [{'day': '05/06/2019'}]),
    'truths': (b'ok\ntrue\nfalse\n', [{'ok': True}, {'ok': False}]),
    'quoted numbers': (b'"1";"2"\n"3";"4"\n', [{'c0': 1, 'c1': 2}, {'c0': 3, 'c1': 4}]),
    # nothing
    'empty': (b'', []),
    'a mark alone': (b'\xef\xbb\xbf', []),
    'empty lines': (b'\n\r\n\n', []),
    'packed nothing': (gzip.compress(b''), []),
    # lines and marks
    'carriage returns': (b'a,b\r1,x\r2,y\r', [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]),
    'a mark': (b'\xef\xbb\xbfa,b\n1,2\n', [{'a': 1, 'b': 2}]),
    'a mark in UTF-16': ('a;b\n1;é\n'.encode('utf-16'), [{'a': 1, 'b': 'é'}]),
    'empty lines between': (b'\n\na,b\n\n1,2\n\n\n3,4\n\n', [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]),
    'a zero byte in a name': (b'a,b\0c\n1,2\n', [{'a': 1, 'bc': 2}]),
    # lines that are left out
    'a title': (b'All of May\n\na,b\n1,x\n2,y\n', [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y'}]),
    'notes with commas': (b'some notes...\nmore notes,...\nnumber,text,date\n345.0,T,2000-12-13\n',
                          [{'number': 345.0, 'text': 'T', 'date': '2000-12-13'}]),
    'comments at first': (b'# made\n# by hand\na\tb\n1\tx\n', [{'a': 1, 'b': 'x'}]),
    'comments between': (b'x,y\n# one\n1,2\n# two\n3,4\n', [{'x': 1, 'y': 2}, {'x': 3, 'y': 4}]),
    'comments behind values': (b'# one\na;b\n1;3#5;7\n6;"7#t"# two\n', [{'a': 1, 'b': '3'}, {'a': 6, 'b': '7#t'}]),
    'a hash that is a value': (b'# one\na;b\n1;C#\n2;#x\n', [{'a': 1, 'b': 'C#'}, {'a': 2, 'b': '#x'}]),
    'a header of too few names': (b'a,b\n1,2,3\n4,5,6\n', 'record has 3 fields, expected 2'),
    # delimiters, quotes, spaces
    'tabs': (b'a\tb\n1\tx\n', [{'a': 1, 'b': 'x'}]),
    'semicolons and decimal commas': (b'a;b\n1.234,5;x\n0,5;y\n', [{'a': 1234.5, 'b': 'x'}, {'a': 0.5, 'b': 'y'}]),
    'a delimiter behind each record': (b'a,b\n1,2,\n3,4,\n', [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]),
    'the same with notes': (b'Vendor\tX\na\tb\tc\n1\t2\t3\t\n4\t5\t6\t\n', [{'a': 1, 'b': 2, 'c': 3}, {'a': 4, 'b': 5, 'c': 6}]),
    'something behind one of them': (b'a,b\n1,2,\n3,4,5\n', 'record has 3 fields, expected 2'),
    'spaces behind delimiters': (b'"Year", "Score", "Title"\n1968,  86, "Hi, Mom!"\n1970, 17, "x"\n',
                                 [{'Year': 1968, 'Score': 86, 'Title': 'Hi, Mom!'}, {'Year': 1970, 'Score': 17, 'Title': 'x'}]),
    'spaces in some fields': (b'a,b\n1, x\n2,y\n', [{'a': 1, 'b': ' x'}, {'a': 2, 'b': 'y'}]),
    'single quotes': (b"1|'a\\'|b'\n'2'|x\n", [{'c0': 1, 'c1': "a'|b"}, {'c0': 2, 'c1': 'x'}]),
    'a quote that is none': (b'n\ttitle\n1\t"Heroes"\n2\t"Heroes" (song)\n3\t"x\n',
                             [{'n': 1, 'title': '"Heroes"'}, {'n': 2, 'title': '"Heroes" (song)'}, {'n': 3, 'title': '"x'}]),
    'one column in quotes': (b'"Dec 8, 2022"\n"Sep 26, 2022"\n', [{'Dec 8, 2022': 'Sep 26, 2022'}]),
    'a line end in quotes': (b'a,b\n"1\n2",x\n', [{'a': '1\n2', 'b': 'x'}]),
    'single quotes by commas': (b"a,b\n1,'x, y'\n2,z\n", [{'a': 1, 'b': 'x, y'}, {'a': 2, 'b': 'z'}]),
    'an apostrophe': (b"a,b\n1,'tis\n2,'x'\n", [{'a': 1, 'b': "'tis"}, {'a': 2, 'b': "'x'"}]),
    'text behind quotes': (b'a,b\n1,2\n"Others" includes, "x""y" z\n', [{'a': '1', 'b': '2'}, {'a': '"Others" includes', 'b': ' "x""y" z'}]),
    'spaces behind quotes': (b'a,b\n"x" ,"1"  \n"y","2"\n', [{'a': 'x', 'b': 1}, {'a': 'y', 'b': 2}]),
    'spaces before a quote': (b'a,b\n1,"x"\n2, "y, z"\n', [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y, z'}]),
    'a quote that does not end': (b'a,b\n1,"x\n2,y\n', [{'a': 1, 'b': '"x'}, {'a': 2, 'b': 'y'}]),
    'spaces around': (b' a , b\n 1, 2020-01-31 \n2,2020-02-01\n', [{'a': 1, 'b': '2020-01-31'}, {'a': 2, 'b': '2020-02-01'}]),
    'codes': (b'zip,n\n01234,0\n99999,0.5\n', [{'zip': '01234', 'n': 0.0}, {'zip': '99999', 'n': 0.5}]),
    'spaces alone': (b'a,b\n1,  \n2,3\n', [{'a': 1, 'b': '  '}, {'a': 2, 'b': '3'}]),
    # lines that are values
    'prose': (b'It was late, and dark.\n\nNobody, as he said, came.\nSo he went.\n',
              [{'It was late, and dark.': 'Nobody, as he said, came.'}, {'It was late, and dark.': 'So he went.'}]),
    'prose with quotes': (b'"No," he said.\n"Yes," she said, "of course."\nSo they went.\n',
                          [{'"No," he said.': '"Yes," she said, "of course."'}, {'"No," he said.': 'So they went.'}]),
    'lines in quotes': (b'note\n"a, b\nc"\nd, e\n', [{'note': 'a, b\nc'}, {'note': 'd, e'}]),
    'a record that is short': (b'a,b\n1,2\n3\n', [{'a,b': '1,2'}, {'a,b': '3'}]),
    'a record that is long': (b'a,b\n1,2\n3,4,5\n', [{'a,b': '1,2'}, {'a,b': '3,4,5'}]),
    # refusals
    'one short record of ten': (b'a,b\n' + b'1,2\n' * 8 + b'3\n', 'record has 1 field, expected 2'),
    'one long record of ten': (b'a,b\n' + b'1,2\n' * 8 + b'3,4,5\n', 'record has 3 fields, expected 2'),
    'quotes that do not end': (b'a,b\n1,"x\n', 'do not end'),
    'quotes that do not end behind some that do': (b'a,b\n"1",2\n1,"x\n3,4\n', 'do not end'),
    'another encoding': (b'a,b\n1,\xe9\n', 'not UTF-8'),
    'JSON': (b'{"a": 1}\n', 'JSON'),
}


# By name of the file, whose ending tells a delimiter.
NAMED = {
    'q.tsv': (b'1\ta\n2\t"b" (c)\n', [{'c0': 1, 'c1': 'a'}, {'c0': 2, 'c1': '"b" (c)'}]),
    't.tsv': (b'One, two\tthree\nfour\n', [{'One, two\tthree': 'four'}]),
    's.tsv': (b'All of May\n\na\tb\n1\tx,y\n2\tz\n', [{'a': 1, 'b': 'x,y'}, {'a': 2, 'b': 'z'}]),
}


class Files(CommandLine):
    def read(self, path, is_query=False):
        """Rows, or what is said."""
        ended = self.call('sql', '--json', path if is_query else f"select * from '{path}'")
        return json.loads(ended.stdout) if ended.returncode == 0 else ended.stderr.strip()


def check_corpus(files):
    counts = collections.Counter()
    for name, (data, want) in (CORPUS | NAMED).items():
        path = os.path.join(files.base, name if name in NAMED else 'file.csv')
        with open(path, 'wb') as file:
            file.write(data)
        found = files.read(path)
        fits = want in found if isinstance(want, str) else found == want
        assert fits, f'{name}: {found!r} instead of {want!r}'
        counts['refused' if isinstance(want, str) else 'read'] += 1
    print(', '.join(f'{count} {what}' for what, count in counts.items()))


def check_candidates(files):
    """Types that may be inferred; many files have those of all their values."""
    path, more = (os.path.join(files.base, name) for name in ('kinds.csv', 'more.csv'))
    for name, text in ((path, 'i,f,d,b\n1,1.5,2024-01-31,true\n'), (more, 'i,f,d,b\n2.5,1,2024-01-31 12:00:00,x\n')):
        with open(name, 'w') as file:
            file.write(text)
    cases = {
        "auto_type_candidates = ['VARCHAR']": ('1', '1.5', '2024-01-31', 'true'),
        'all_varchar = true': ('1', '1.5', '2024-01-31', 'true'),
        "auto_type_candidates = ['BIGINT']": (1, '1.5', '2024-01-31', 'true'),
        "auto_type_candidates = ['DOUBLE', 'TIMESTAMP', 'VARCHAR']": (1.0, 1.5, '2024-01-31T00:00:00', 'true'),
        "candidates = ['bool', 'date']": ('1', '1.5', '2024-01-31', True),
    }
    for option, want in cases.items():
        found = files.read(f"select * from read_csv('{path}', {option})", True)
        assert found == [dict(zip('ifdb', want))], f'{option}: {found!r}'
    found = files.read(f"select i from read_csv(['{path}', '{more}'], auto_type_candidates = ['BIGINT']) order by i", True)
    assert found == [{'i': '1'}, {'i': '2.5'}], found
    assert 'is no type that is inferred' in files.read(f"select * from read_csv('{path}', auto_type_candidates = ['MAP'])", True)


DUCKDB = r"""
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const db = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  for (const path of require('fs').readFileSync(0, 'utf8').split('\n').filter(x => x)) {
    const from = `FROM '${path.replaceAll("'", "''")}'`;
    let told;
    try {
      const rows = (await db.runAndReadAll(`SELECT count(*) ${from}`)).getRowsJson()[0][0];
      const columns = (await db.runAndReadAll(`DESCRIBE SELECT * ${from}`)).getRowsJson().map(row => row[0]);
      told = [Number(rows), columns];
    } catch (error) { told = String(error.message).split('\n')[0]; }
    console.log(JSON.stringify(told));
  }
})();
"""


def class_of(found, other):
    """What is ours beside DuckDB's: each (rows, columns), or a message."""
    if isinstance(found, str):
        whole = not isinstance(other, str) and len(other[1]) == 1 and any(sign in other[1][0] for sign in ',;\t|')
        return 'both refuse' if isinstance(other, str) else 'DuckDB takes each line as one text' if whole else 'only DuckDB reads'
    if isinstance(other, str):
        return 'only granary reads'
    if len(found[1]) != len(other[1]):
        return 'other columns'
    return 'the same' if found[0] == other[0] else 'another count of rows'


def survey(files, folder):
    """Counts, and each file that is not the same."""
    paths = sorted(str(path) for path in pathlib.Path(folder).resolve().rglob('*')
                   if path.is_file() and path.name.removesuffix('.gz').removesuffix('.zst').endswith(('.csv', '.tsv')))
    modules = pathlib.Path(os.environ.get('GRANARY_PEERS', '')) / 'node_modules'
    told = subprocess.run(['node', '-e', DUCKDB], input='\n'.join(paths), check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, 'NODE_PATH': str(modules)}).stdout
    counts = collections.Counter()
    for path, other in zip(paths, map(json.loads, told.splitlines()), strict=True):
        found = files.read(path)
        if not isinstance(found, str):
            columns = files.call('sql', '--schema', f"select * from '{path}'").stdout.splitlines()[1:] if not found else list(found[0])
            found = (len(found), columns)
        kind = class_of(found, other)
        counts[kind] += 1
        if kind not in ('the same', 'both refuse'):
            print(f'{kind}: {os.path.relpath(path, folder)}: {found}; DuckDB: {other}'[:240])
    print(f'{len(paths)} files: ' + ', '.join(f'{count} {kind}' for kind, count in counts.most_common()))


with Files(pathlib.Path(sys.argv[1]).resolve()) as files:
    if len(sys.argv) > 2:
        survey(files, sys.argv[2])
    else:
        check_corpus(files)
        check_candidates(files)
