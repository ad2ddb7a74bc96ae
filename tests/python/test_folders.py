"""Many files as one frame: scan_*() of patterns, folders and lists, with the parameters that all formats share."""
import os
import pathlib
import tempfile
import unittest

from frames_test import FramesTest, gr


class Folders(FramesTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='granary-folders-')
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        for year in (2023, 2024):
            os.mkdir(self.top / f'year={year}')
            gr.from_dict({'a': [year, 1]}).sink_arrow(str(self.top / f'year={year}' / 'x.arrow'))
            gr.from_dict({'a': [year, 1]}).sink_csv(str(self.top / f'year={year}' / 'x.csv'))

    def test_patterns_folders_and_lists(self):
        for scan, ending in ((gr.scan_arrow, 'arrow'), (gr.scan_csv, 'csv')):
            paths = [self.top / f'year={year}' / f'x.{ending}' for year in (2024, 2023)]
            for path in (self.top, self.top / '*' / f'*.{ending}', str(self.top / '**' / f'*.{ending}'), paths, [str(p) for p in paths]):
                frame = scan(path).filter(gr.col('year') == 2024).collect()
                self.assertEqual(frame.to_dict(), {'a': [2024, 1], 'year': [2024, 2024]}, path)
            self.assertEqual(scan(paths).collect().to_dict()['a'], [2024, 1, 2023, 1])

    def test_parameters(self):
        frame = gr.scan_csv(self.top, hive=False, filename='f').collect().to_dict()
        self.assertEqual(list(frame), ['a', 'f'])
        self.assertEqual(frame['f'][0], str(self.top / 'year=2023' / 'x.csv'))
        self.assertEqual(list(gr.scan_csv(self.top, hive=True).collect().to_dict()), ['a', 'year'])
        summed = gr.sql(f"SELECT sum(a) AS s FROM '{self.top}/**/*.csv' WHERE year < 2024")
        self.assertEqual(summed.to_dict(), {'s': [2024]})
        with self.assertRaisesRegex(ValueError, "none of 'name', 'position'"):
            gr.scan_csv(self.top, align='nme')
        with self.assertRaisesRegex(gr.GranaryError, 'no file matches the pattern'):
            gr.scan_csv(self.top / 'none*').collect()
        with self.assertRaises(TypeError):
            gr.scan_csv([])


if __name__ == '__main__':
    unittest.main()
