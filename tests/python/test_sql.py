"""gr.sql(): frames by name, variables of the caller, messages with the place in the text as it was written."""
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
