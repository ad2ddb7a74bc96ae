"""What can be read once: named pipes, stdin and things with read(), by scan_*()."""
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from frames_test import BUILT, FramesTest, gr

TEXT = 'a,s\n1,x\n2,"y, z"\n3,\n'
ROWS = {'a': [1, 2, 3], 's': ['x', 'y, z', None]}


def descriptors():
    return len(os.listdir('/proc/self/fd'))


class Spools(FramesTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix='granary-spool-')
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)

    def written(self, ending):
        path = self.top / f'x.{ending}'
        frame = gr.from_dict(ROWS)
        getattr(frame, f'sink_{ending}')(str(path))
        return path.read_bytes()

    def piped(self, data):
        """A named pipe into which a thread writes."""
        path = self.top / 'pipe'
        if not path.exists():
            os.mkfifo(path)
        thread = threading.Thread(target=lambda: path.write_bytes(data))
        thread.start()
        self.addCleanup(thread.join)
        return path

    def test_every_format(self):
        for ending in ('csv', 'ndjson', 'arrow', 'parquet'):
            data = self.written(ending)
            scan = getattr(gr, f'scan_{ending}')
            before = descriptors()
            for source in (lambda: io.BytesIO(data), lambda: self.piped(data), lambda: str(self.piped(data))):
                frame = scan(source())
                for _ in range(2):  # the plan can run again
                    self.assertEqual(frame.filter(gr.col('a') >= 2).collect().to_dict(), {'a': [2, 3], 's': ['y, z', None]}, ending)
                del frame
            self.assertEqual(descriptors(), before)

    def test_what_has_read(self):
        class Slow:
            """A byte or two at a time."""
            def __init__(self):
                self.left = TEXT.encode()

            def read(self, size):
                block, self.left = self.left[:min(2, size)], self.left[min(2, size):]
                return block

        file = self.top / 'x.csv'
        file.write_text(TEXT)
        with open(file, 'rb') as binary, open(file, encoding='utf-8') as text, open(file, 'rb') as late:
            late.readline()
            frames = [gr.scan_csv(source) for source in (binary, text, io.StringIO(TEXT), Slow())]
            rest = gr.scan_csv(late, header=False)
        file.unlink()
        for frame in frames:  # after its source is closed
            self.assertEqual(frame.collect().to_dict(), ROWS)
        self.assertEqual(rest.collect().to_dict(), {'c0': [1, 2, 3], 'c1': ['x', 'y, z', None]})

    def test_stdin(self):
        program = ('import sys; import granary.frames as gr; from granary._engine import SessionEngine; import granary\n'
                   'with granary.connect(sys.argv[1]) as session:\n'
                   '    gr.use(SessionEngine(session))\n'
                   '    print(gr.scan_csv(sys.argv[2]).collect().to_dict())')
        for name in ('-', '/dev/stdin', '/dev/fd/0'):
            done = subprocess.run([sys.executable, '-c', program, self.instance.instance, name], input=TEXT, text=True, capture_output=True, check=True,
                                  env={**os.environ, 'PYTHONPATH': BUILT})
            self.assertEqual(done.stdout, f'{ROWS}\n', name)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, '<BytesIO>: nothing came'):
            gr.scan_csv(io.BytesIO())
        with self.assertRaisesRegex(ValueError, 'pipe: nothing came'):
            gr.scan_csv(self.piped(b''))
        with self.assertRaisesRegex(ValueError, r'is an Arrow stream.*gr\.from_arrow'):
            gr.scan_arrow(io.BytesIO(b'\xff\xff\xff\xff\0\0\0\0'))
        with self.assertRaisesRegex(gr.GranaryError, r'<BytesIO>:3: record has 1 field, expected 2'):
            gr.scan_csv(io.BytesIO(b'a,b\n1,2\n3\n')).collect()
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        with self.assertRaisesRegex(ValueError, 'is a terminal'):
            gr.scan_csv(os.ttyname(slave))
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self.addCleanup(os.close, writing)
        with open(reading, 'rb', buffering=0) as raw, self.assertRaisesRegex(ValueError, 'does not block'):
            gr.scan_csv(raw)
        with self.assertRaises(TypeError):
            gr.scan_csv(7)
        with self.assertRaises(TypeError):
            gr.from_dict({'a': [1]}).sink_csv(io.BytesIO())


if __name__ == '__main__':
    unittest.main()
