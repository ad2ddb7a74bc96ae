"""gr.sql(): frames by name, variables of the caller, messages with the place in the text as it was written."""
import datetime
import decimal
import unittest

import pandas as pd

from frames_test import FramesTest, gr

everywhere = None


class Sql(FramesTest):
    def setUp(self):
        self.birds = gr.from_dict({'name': ['owl', 'crow', 'owl'], 'n': [1, 2, 3]})

    def test_frames_by_name(self):
        lazy = self.birds
        done = lazy.collect()
        table = pd.DataFrame({'name': ['owl', 'crow'], 'big': [True, False]})
        query = 'SELECT b.name, sum(n) AS n FROM b JOIN t ON b.name = t.name WHERE big GROUP BY 1'
        for b in (lazy, done):
            self.assertEqual(gr.sql(query, b=b, t=table).to_dict(), {'name': ['owl'], 'n': [4]})
        self.assertEqual(gr.sql('SELECT count(*) AS c FROM "My Birds"', **{'My Birds': lazy}).item(), 3)
        self.assertEqual(gr.sql('SELECT count(*) AS c FROM BIRDS', BIRDS=lazy).item(), 3)
        with self.assertRaisesRegex(TypeError, 'x: a frame, not int 3'):
            gr.sql('SELECT * FROM x', x=3)

    def test_params(self):
        values = [3, -2.5, "it's '; drop", None, True, datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30, 0, 250),
                  decimal.Decimal('1.50')]
        row = gr.sql('SELECT ' + ', '.join(f'${i + 1} AS c{i}' for i in range(len(values))), params=values).to_dict()
        self.assertEqual([row[f'c{i}'][0] for i in range(len(values))], values)
        birds = self.birds
        self.assertEqual(gr.sql('SELECT n FROM birds WHERE n > $least AND name = $name', params={'least': 1, 'name': 'owl'}).to_dict(), {'n': [3]})
        self.assertEqual(gr.sql("SELECT '? $1' AS text, ? AS one, 1-? AS two", params=[1, -1]).to_dict(), {'text': ['? $1'], 'one': [1], 'two': [2]})
        gr.sql('CREATE TABLE given (a text)')
        gr.sql('INSERT INTO given VALUES ($1), ($2)', params=['$2', "'"])
        self.assertEqual(gr.sql('SELECT a FROM given').to_dict(), {'a': ['$2', "'"]})
        gr.sql('DROP TABLE given')
        for params, error, words in (([], gr.GranaryError, 'parameter \\$1 has no value'), ([1, 2], gr.GranaryError, 'the statement has no \\$2'),
                                     ([float('nan')], ValueError, 'no literal'), ([object()], TypeError, 'no literal'),
                                     (['a\0b'], ValueError, 'NUL'), ('text', TypeError, 'a list or a dict'), ([b'x'], TypeError, 'no literal')):
            with self.assertRaisesRegex(error, words):
                gr.sql('SELECT $1 AS a', params=params)

    def test_what_tells_of_tables(self):
        birds = self.birds
        self.assertEqual(gr.sql('DESCRIBE birds').to_dict(), {'column_name': ['name', 'n'], 'column_type': ['string', 'int64']})
        self.assertEqual(gr.sql('describe select n + 1.5 AS m FROM birds').to_dict(), {'column_name': ['m'], 'column_type': ['decimal(1)']})
        told = gr.sql('SUMMARIZE birds').to_dict()
        self.assertEqual(told['max'], ['owl', '3'])
        self.assertEqual(told['approx_unique'], [2, 3])
        self.assertEqual(told['q50'], [None, 2.0])

    def test_views(self):
        gr.sql("CREATE VIEW low (word, number) AS SELECT * FROM (VALUES ('a', 1), ('b', 2)) t(x, y) WHERE y < $1", params=[2])
        self.assertEqual(gr.sql('SELECT * FROM low').to_dict(), {'word': ['a'], 'number': [1]})
        self.assertIn('low', gr.sql('SHOW TABLES').to_dict()['name'])
        gr.sql('DROP VIEW low')
        with self.assertRaisesRegex(gr.GranaryError, "no table 'low'"):
            gr.sql('SELECT * FROM low')

    def test_local_variables(self):
        birds, Crows = self.birds, self.birds.filter(gr.col('name') == 'crow').collect()
        frame = pd.DataFrame({'n': [2, 3]})
        self.assertEqual(gr.sql('SELECT sum(n) AS s FROM birds').item(), 6)
        self.assertEqual(gr.sql('SELECT sum(n) AS s FROM Crows').item(), 2)
        self.assertEqual(gr.sql('SELECT sum(n) AS s FROM "Crows"').item(), 2)
        self.assertEqual(gr.sql('WITH q AS (SELECT * FROM birds WHERE n IN (SELECT n FROM frame)) SELECT count(*) AS c FROM q, Crows').item(), 2)
        self.assertEqual(gr.sql(' with q as (select max(n) as m from birds)\nselect m from q').item(), 3)
        global everywhere
        everywhere = birds
        self.assertEqual(gr.sql('SELECT count(*) AS c FROM everywhere').item(), 3)
        number = 3
        with self.assertRaisesRegex(gr.GranaryError, "no table 'number'"):
            gr.sql('SELECT * FROM number')
        self.assertEqual((number, len(frame), birds is self.birds, Crows.shape), (3, 2, True, (1, 2)))


    def test_tables_go_first(self):
        birds = gr.from_dict({'n': [7]})
        birds.persist('birds')
        try:
            birds = self.birds
            self.assertEqual(gr.sql('SELECT sum(n) AS s FROM birds').item(), 7)
            self.assertEqual(gr.sql('SELECT sum(n) AS s FROM birds', birds=birds).item(), 6)
        finally:
            self.engine.delete('birds')

    def test_places_in_messages(self):
        birds = self.birds
        for text, words in (('SELECT nam FROM birds', 'line 1, column 8: no column \'nam\'; did you mean \'name\'?\n  SELECT nam FROM birds\n         ^'),
                            ('SELECT name,\n  nn FROM birds', 'line 2, column 3: no column \'nn\''), ('WITH q AS (SELECT nn FROM birds) SELECT * FROM q', 'line 1, column 19: no column \'nn\''),
                            ('WITH q AS (SELECT nn FROM birds) SELECT * FROM q', '  WITH q AS (SELECT nn FROM birds) SELECT * FROM q\n                    ^'),
                            ('SELECT name + n AS x FROM birds', 'line 1, column '), ('SELECT FROM FROM birds', 'line 1'), ('SELECT * FROM nowhere', "no table 'nowhere'")):
            with self.subTest(text=text), self.assertRaises(gr.GranaryError) as caught:
                gr.sql(text)
            self.assertIn(words, str(caught.exception))
        self.assertEqual(self.graphs(), [])
        self.assertIsNotNone(birds)

    def test_statements(self):
        with self.assertRaisesRegex(TypeError, 'persist'):
            gr.sql('DELETE FROM t', t=self.birds)
        with self.assertRaisesRegex(TypeError, 'a str'):
            gr.sql(3)
        done = gr.sql("SELECT 1 AS a UNION ALL SELECT 2 ORDER BY 1")
        self.assertEqual(done.lazy().with_columns(b=gr.col('a') * 2).collect().to_dict(), {'a': [1, 2], 'b': [2, 4]})


if __name__ == '__main__':
    unittest.main()
