"""Dialects of CSV files: random ones against what was written, values in other styles, what is sniffed, and errors with file and line."""
import csv
import datetime
import gzip
import json
import os
import random
import tempfile
import unittest

import pandas as pd

from frames_test import FramesTest, gr, granary


class Dialects(FramesTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def read(self, name, data, **dialect):
        return gr.scan_csv(self.write(name, data), **dialect).collect().to_dict()

    def refused(self, said, name, data, **dialect):
        with self.assertRaisesRegex(granary.Error, said):
            self.read(name, data, **dialect)

    def test_random_dialects(self):
        rng = random.Random(7)
        for trial in range(60):
            delimiter, quote = rng.choice(',;|\t:'), rng.choice('"\'"')
            escape = rng.choice(['', '', '\\'])
            ending, encoding = rng.choice(['\n', '\r\n']), rng.choice(['utf-8', 'latin-1', 'utf-16', 'utf-16le', 'windows-1252'])
            comment, skip = rng.choice(['', '#']), rng.choice([0, 0, 3])
            letters = 'abcxyz äöü' + delimiter + quote + '"\'\n,' + (escape or '')
            rows = [[''.join(rng.choice(letters) for _ in range(rng.randrange(1, 9))), str(i), rng.choice(['x', 'é', 'z'])]
                    for i in range(rng.choice([1, 40, 3000]))]
            path = os.path.join(self.folder, f'{trial}.csv')
            with open(path, 'w', encoding=encoding, newline='') as file:
                file.write(''.join(f'left out {quote}{ending}' for _ in range(skip)))
                writer = csv.writer(file, delimiter=delimiter, quotechar=quote, lineterminator=ending, doublequote=not escape,
                                    escapechar=escape or None, quoting=csv.QUOTE_NONNUMERIC if trial % 2 else csv.QUOTE_MINIMAL)
                writer.writerow(['a', 'n', 'c'])
                for row in rows:
                    if comment and rng.random() < 0.2:
                        file.write(f'{comment} {quote}no record{delimiter}{ending}')
                    writer.writerow([row[0], row[1] if trial % 2 == 0 else int(row[1]), row[2]])
            if comment and any(row[0].startswith(comment) for row in rows):
                continue
            given = dict(delimiter=delimiter, quote=quote, comment=comment, skip=skip, escape=escape,
                         encoding='' if encoding == 'utf-16' else encoding, null_values=['no such text'])
            with self.subTest(trial=trial, written=encoding, **given):
                if trial % 3 == 0:
                    with open(path, 'rb') as file:
                        packed = gzip.compress(file.read())
                    path = self.write('packed', packed)
                found = gr.scan_csv(path, **given, dtypes={'a': 'string', 'c': 'string'}).collect().to_dict()
                self.assertEqual(found, {'a': [row[0] for row in rows], 'n': [int(row[1]) for row in rows], 'c': [row[2] for row in rows]})

    def test_numbers(self):
        text = 'a;b;c;d\n1.234,5;1.000;-0,25;x,5\n-1,5e3;12;;1.5\n"7,0";1.234.567;,5;2\n'
        self.assertEqual(self.read('n.csv', text, delimiter=';', decimal=',', thousands='.'),
                         {'a': [1234.5, -1500.0, 7.0], 'b': [1000, 12, 1234567], 'c': [-0.25, None, 0.5], 'd': ['x,5', '1.5', '2']})
        path = self.write('p.csv', text.replace('x,5', '3,5').replace(';1.5\n', ';1,5\n'))
        want = pd.read_csv(path, sep=';', decimal=',', thousands='.')
        got = gr.scan_csv(path, delimiter=';', decimal=',', thousands='.').collect().to_pandas()
        for name in 'abcd':
            self.assertEqual(got[name].astype(float).tolist()[:1], want[name].astype(float).tolist()[:1])
        # another point is no number; nor are groups of other sizes
        self.assertEqual(self.read('n.csv', 'a;b\n1.5;1,5\n2;2\n', delimiter=';', decimal=','), {'a': ['1.5', '2'], 'b': [1.5, 2.0]})
        self.assertEqual(self.read('n.csv', "a,b\n1'000,1'00\n", thousands="'"), {'a': [1000], 'b': ["1'00"]})
        self.assertEqual(self.read('n.csv', 'a;b\n1,25;2\n', delimiter=';', decimal=',', dtypes={'a': 'decimal(2)'})['b'], [2])
        self.refused("n.csv:3: column 'a': '1.5' is not float64", 'n.csv', 'a;b\n1,5;2\n1.5;2\n', delimiter=';', decimal=',', dtypes={'a': 'float64'})

    def test_dates(self):
        day, moment = datetime.date, datetime.datetime
        found = self.read('d.csv', 'a,b\n31.12.2020,1/2/2021 01:05 PM\n1.1.1999,12/31/1999 12:00 AM\n', date_format='%d.%m.%Y',
                          timestamp_format='%m/%d/%Y %I:%M %p')
        self.assertEqual([pd.Timestamp(x).date() for x in found['a']], [day(2020, 12, 31), day(1999, 1, 1)])
        self.assertEqual([pd.Timestamp(x).to_pydatetime() for x in found['b']], [moment(2021, 1, 2, 13, 5), moment(1999, 12, 31)])
        rng = random.Random(3)
        moments = [moment(rng.randrange(1970, 2060), rng.randrange(1, 13), rng.randrange(1, 29), rng.randrange(24), rng.randrange(60),
                          rng.randrange(60), rng.randrange(10**6)) for _ in range(3000)]
        for form in ('%d %b %Y %H:%M:%S.%f', '%y%m%d %H%M%S %f', '%B %d, %Y %I:%M:%S.%f %p'):
            text = 'x;t\n' + ''.join(f'{i};{m.strftime(form)}\n' for i, m in enumerate(moments))
            found = self.read('t.csv', text, delimiter=';', timestamp_format=form)
            self.assertEqual([pd.Timestamp(x).to_pydatetime() for x in found['t']], moments)
        # only the format is a date, and no day that is none
        self.assertEqual(self.read('d.csv', 'a,b\n2020-01-02,31.02.2020\n', date_format='%d.%m.%Y'), {'a': ['2020-01-02'], 'b': ['31.02.2020']})
        self.refused("date_format '%Q': it may have", 'd.csv', 'a\n1\n', date_format='%Q')

    def test_ragged(self):
        text = 'a,b,c\n1,2,3\n4\n5,6\n'
        self.refused('r.csv:3: record has 1 field, expected 3', 'r.csv', text)
        self.assertEqual(self.read('r.csv', text, ragged='fill'), {'a': [1, 4, 5], 'b': [2, None, 6], 'c': [3, None, None]})
        self.refused('r.csv:5: record has 4 fields, expected 3', 'r.csv', text + '1,2,3,4\n', ragged='fill')
        self.assertEqual(self.read('r.csv', text + '7,8,9,10\n', ragged='cut')['c'], [3, None, None, 9])
        with self.assertRaisesRegex(ValueError, "ragged: 'maybe' is none of"):
            self.read('r.csv', text, ragged='maybe')

    def test_names(self):
        self.assertEqual(self.read('h.csv', 'a,a,,a,,a_1\n1,2,3,4,5,6\n'), {'a': [1], 'a_1': [2], 'c2': [3], 'a_2': [4], 'c4': [5], 'a_1_1': [6]})
        path = self.write('h.csv', 'a,a,\n1,2,3\n')
        self.assertEqual(gr.sql(f"SELECT a_1, c2 FROM '{path}'").to_dict(), {'a_1': [2], 'c2': [3]})

    def test_sniffed(self):
        ways = {'a;b\n1,5;x\n2,5;"y;"\n': {'a': [1.5, 2.5], 'b': ['x', 'y;']},
                '# made in May\n# by hand\na\tb\n1\tx\n': {'a': [1], 'b': ['x']},
                'All of May\n\na,b\n1,x\n2,y\n': {'a': [1, 2], 'b': ['x', 'y']},
                'a,b\n1,x\n': {'a': [1], 'b': ['x']},
                'a|b\n1|"x\\"y"\n': {'a': [1], 'b': ['x"y']},
                'a\n1\n': {'a': [1]}}
        for text, want in ways.items():
            with self.subTest(text=text):
                self.assertEqual(self.read('s.csv', text, sniff=True), want)
                path = self.write('s.csv', text)
                self.assertEqual(gr.sql(f"SELECT * FROM '{path}'").to_dict(), want)
        # a file that is a table by commas is read as it always was
        path = self.write('s.csv', 'a,b;c\n1,2;3\n')
        self.assertEqual(gr.sql(f"SELECT * FROM '{path}'").to_dict(), {'a': [1], 'b;c': ['2;3']})

    def test_lists_of_records(self):
        rows = [{'n': i, 's': f'[{i % 7}, "x"]}}', 'o': {'d': i / 4}} for i in range(30000)]
        for indent in (None, 1):
            path = self.write('l.json', gzip.compress(json.dumps(rows, indent=indent).encode()))
            found = gr.scan_ndjson(path).collect().to_dict()
            self.assertEqual(found, {'n': [row['n'] for row in rows], 's': [row['s'] for row in rows], 'o.d': [row['o']['d'] for row in rows]})
            self.assertEqual(gr.sql(f"SELECT count(*) AS n, max(n) AS m FROM '{path}'").to_dict(), {'n': [30000], 'm': [29999]})
        for text, said in (('[{"a": 1},\n{"a": 2}\n{"a": 3}]', 'l.json:3: no comma stands'), ('[\n{"a": 1},\n\n7]', 'l.json:4: '),
                           ('[{"a": 1}', 'l.json:1: the list does not end'), ('[{"a": 1},\n{"a": tru}]', 'l.json:2: ')):
            with self.assertRaisesRegex(granary.Error, said):
                gr.scan_ndjson(self.write('l.json', text)).collect()

    def test_errors_name_file_and_line(self):
        self.refused("e.csv:3: the quotes that begin here do not end", 'e.csv', "a;b\n1;2\n3;'x\n;\n", delimiter=';', quote="'")
        self.refused("e.csv:2: not UTF-8", 'e.csv', b'a,b\n1,\xe9\n')
        self.refused("encoding 'ebcdic'", 'e.csv', 'a\n1\n', encoding='ebcdic')
        self.refused('has the quote in it', 'e.csv', 'a\n1\n', delimiter="'", quote="'")
        self.refused('half a character of UTF-16', 'e.csv', b'a\0,\0b\0\n\0\x3d\xd8x\0', encoding='utf-16le')
        self.refused("decimal '1'", 'e.csv', 'a\n1\n', decimal='1')


if __name__ == '__main__':
    unittest.main()
