"""Pickles are loaded of what put() pickled, and of nothing that only looks like one: bytes come from anywhere."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from package_test import BIN, PackageTest, granary
from granary import _functions, _packed, _slots
from granary._slot import run


class Trap:
    """Whoever loads its pickle makes a directory."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


class Trust(PackageTest):
    def setUp(self):
        super().setUp()
        self.marker = os.path.join(tempfile.mkdtemp(prefix='granary-test-'), 'loaded')
        self.addCleanup(subprocess.run, ['rm', '-rf', os.path.dirname(self.marker)], check=True)
        self.trap = _functions.pack_arguments(Trap(self.marker)).tobytes()

    def tearDown(self):
        self.assertFalse(os.path.exists(self.marker), 'a pickle was loaded')
        super().tearDown()

    def test_the_trap_works(self):
        """The control: loaded, it does something."""
        _packed.unpack(memoryview(self.trap))
        os.rmdir(self.marker)
        ref = self.session.put(Trap(self.marker))
        ref.get()
        os.rmdir(self.marker)

    def test_bytes_are_bytes_whatever_they_look_like(self):
        """As bytes of a program, as a file of the command line, as what a writer wrote, and in get_many()."""
        self.assertEqual(bytes(self.session.put(self.trap, name='bytes').get()), self.trap)
        with self.session.writer('written') as file:
            file.write(self.trap)
        id = subprocess.run([os.path.join(BIN, 'granary'), 'put', '--instance', self.session.instance, '-'], input=self.trap, check=True,
                            stdout=subprocess.PIPE).stdout.strip().decode()
        for value in self.session.get_many([self.session.names['bytes'].id, self.session.names['written'].id, bytes.fromhex(id)]):
            self.assertEqual(bytes(value), self.trap)
        for name in ('bytes', 'written'):
            self.assertEqual(bytes(self.session.get(name)), self.trap)
            del self.session.names[name]
        self.session.delete(bytes.fromhex(id))

    def test_bytes_in_a_channel_are_bytes(self):
        """As a message, as a large one, which is an object, as an object, and with the head of the pickles there."""
        with self.session.channel('post') as post:
            post.put({'any': ['object', bytes(10)]})
            self.assertEqual(post.get(), {'any': ['object', bytes(10)]})
            guessed = b'granpkc1' + bytes(56) + self.trap
            for data in (self.trap, guessed, self.trap + bytes(1 << 20), guessed + bytes(1 << 20)):
                post.put(data)
                self.assertEqual(bytes(post.get()), data)
            post.put(self.session.put(self.trap))
            self.assertEqual(bytes(post.get()), self.trap)
            subprocess.run([os.path.join(BIN, 'granary'), 'channel', 'put', '--instance', self.session.instance, 'post', 'text'], check=True)
            self.assertEqual(bytes(post.get()), b'text')

    def test_arrays_and_frames_load_no_pickle(self):
        """An NPY file of Python objects is a pickle, too; and metadata of another object do not make one."""
        import numpy as np

        with tempfile.TemporaryFile() as file:
            np.save(file, np.array([Trap(self.marker)], dtype=object), allow_pickle=True)
            file.seek(0)
            npy = file.read()
        for data in (npy, b'ARROW1\0\0' + self.trap):
            ref = self.session.put(data)
            with self.assertRaises(granary.Error):
                ref.get()
        buffer = self.session._client.create(os.urandom(16), len(self.trap), meta_size=8)
        with memoryview(buffer) as to:
            to[:] = self.trap
        buffer.set_meta(b'granpkl1')
        id = buffer.id
        buffer.seal()
        self.assertEqual(bytes(self.session.get(id)), self.trap)
        self.session.delete(id)


class Directory(unittest.TestCase):
    def test_a_slot_imports_nothing_from_where_it_is(self):
        """An executor that was started in /tmp, say, where others put modules of the names that a slot imports."""
        with tempfile.TemporaryDirectory(prefix='granary-test-') as place:
            for name in ('runpy', 'granary', 'base64', 'json', 'pickle', 'socket', 'multiprocessing', 'numpy', 'pkgutil'):
                with open(os.path.join(place, name + '.py'), 'w') as file:
                    file.write(f'import os; os.mkdir({place!r} + "/loaded")\n')
            subprocess.run([sys.executable, '-c', 'import json'], cwd=place, stderr=subprocess.DEVNULL)
            os.rmdir(os.path.join(place, 'loaded'))  # the control
            told = subprocess.run(_slots.command().split('\n'), cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertFalse(os.path.exists(os.path.join(place, 'loaded')), told.stderr)
            self.assertIn('is started by executors', told.stderr, 'it came as far as it can without one')


NOBODY = 65534


@contextlib.contextmanager
def somebody_else(work):
    """A process of another user, which has begun when this returns. What it returns is read from the pipe."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work(write)
        finally:
            os._exit(0)  # whatever is open
    os.close(write)
    try:
        assert os.read(read, 1) == b'!', 'it has not begun'
        yield read
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)


@unittest.skipUnless(os.geteuid() == 0, 'needs root, to be somebody else')
class Lanes(PackageTest):
    """The sockets between a program and its slots have names that everybody sees (/proc/net/unix)."""

    def test_an_executor_does_not_hear_somebody_else(self):
        """Connections of another user that say nothing, or nonsense; and calls go on."""
        def pester(write):
            held = []
            while True:
                with open('/proc/net/unix') as sockets:
                    names = [line.split('@')[-1].strip() for line in sockets]
                for name in names:
                    for data in (b'', b'\xff' * 65) if name.startswith('granary-0-') and len(name) == 42 and len(held) < 500 else ():
                        held.append(socket.socket(socket.AF_UNIX))
                        held[-1].setblocking(False)
                        with contextlib.suppress(OSError):
                            held[-1].connect('\0' + name)
                            held[-1].send(data)
                            if data:
                                os.write(write, b'!')

        with granary.Executor(2) as first, somebody_else(pester):
            for pool in (first, granary.Executor(2), granary.Executor(1)):
                with pool:
                    self.assertEqual(list(pool.map(abs, range(-20, 0))), list(range(20, 0, -1)))

    def test_a_slot_takes_no_calls_of_somebody_else(self):
        """Another user listens where a program did that has ended: its slot says nothing to him, and runs nothing."""
        def listen(write):
            with socket.socket(socket.AF_UNIX) as false:
                false.bind('\0granary-0-' + 'f' * 32)
                false.listen()
                os.write(write, b'!')
                with false.accept()[0] as one:
                    os.write(write, one.recv(100) or b'nothing')

        slot = run.Slot.__new__(run.Slot)
        slot.log, slot.client = -1, lambda session: None
        with somebody_else(listen) as told:
            with self.assertRaisesRegex(PermissionError, 'another user has taken the socket'):
                slot._serve(mock.Mock(graph='key', session='s'), {'address': 'granary-0-' + 'f' * 32, 'token': 'secret'})
            self.assertEqual(os.read(told, 100), b'nothing')


if __name__ == '__main__':
    unittest.main(verbosity=2)
