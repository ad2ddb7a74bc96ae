"""Transfers between nodes under attack: what was recorded, false servers, and strangers who say nothing. No cluster is needed."""
import contextlib
import os
import socket
import tempfile
import threading
import unittest
from unittest import mock

from cluster import granary, until
from granary.dask import _wire
from granary.dask._handle import Chunk, Handle, Origin


class Transfers(unittest.TestCase):
    def setUp(self):
        self.session = granary.up(executors=0, memory='64M')
        self.addCleanup(self.session.down)
        self.client = self.session._client
        self.server = _wire.Server(lambda: self.client, '127.0.0.1', None, lambda: None)
        self.addCleanup(self.server.close)
        self.content = os.urandom(100000)
        self.ref = self.session.put(self.content)

    def wanted(self, port=None):
        origin = Origin('w', 'n', 'p', self.server.host, port or self.server.port, self.server.secret)
        return [(Handle('key', origin, 'objects', (), (), (), ()), Chunk(self.ref.id, len(self.content), 0))]

    def fetched(self, port=None):
        id, = _wire.fetch(self.client, self.wanted(port), None)
        return bytes(self.session.get(id))

    def recorded(self):
        """What the client sends and the server answers in an honest transfer, as somebody in between sees it."""
        heard = {'client': b'', 'server': b''}

        def carry(source, to, who):
            with contextlib.suppress(OSError):
                while some := source.recv(1 << 16):
                    heard[who] += some
                    to.sendall(some)
                to.shutdown(socket.SHUT_WR)

        with socket.create_server(('127.0.0.1', 0)) as between:
            def listen():
                ours, _ = between.accept()
                with ours, socket.create_connection((self.server.host, self.server.port)) as theirs:
                    other = threading.Thread(target=carry, args=(theirs, ours, 'server'))
                    other.start()
                    carry(ours, theirs, 'client')
                    other.join()

            thread = threading.Thread(target=listen)
            thread.start()
            self.assertEqual(self.fetched(between.getsockname()[1]), self.content)
            thread.join()
        return heard

    def test_what_was_sent_once_opens_nothing_again(self):
        """The bytes of an honest client again, and with parts of them changed; and the secret is not in them."""
        heard = self.recorded()
        self.assertNotIn(self.server.secret, heard['client'] + heard['server'])
        self.assertIn(self.content[:1000], heard['server'])
        for garbled in (heard['client'], b'', heard['client'][:-1], heard['client'] + bytes(10), bytes(len(heard['client'])),
                        heard['client'][:16] + b'\xff' * 4 + heard['client'][20:], self.server.secret + heard['client'][16:]):
            with socket.create_connection((self.server.host, self.server.port), 10) as one:
                self.assertEqual(len(one.recv(16, socket.MSG_WAITALL)), 16)
                with contextlib.suppress(OSError):  # it has hung up already
                    one.sendall(garbled)
                    one.shutdown(socket.SHUT_WR)
                    self.assertEqual(one.recv(1), b'', garbled[:40])
        self.assertEqual(self.fetched(), self.content)

    def test_who_took_a_dead_workers_port_is_not_believed(self):
        """It answers with an object whose checksums are right, by itself and as the honest server once did."""
        heard = self.recorded()['server']
        other = self.session.put(bytes(len(self.content)))
        with tempfile.TemporaryFile() as file:
            self.client.write_object(other.id, file.fileno(), 1000)
            file.seek(0)
            forged = file.read()
        before = self.session.stat()['objects']
        for answer in (b'\1' + bytes(32) + forged, heard[16:], heard[16:49] + forged, b'\0' + bytes(32), b'\1'):
            with socket.create_server(('127.0.0.1', 0)) as false:
                told = []

                def listen():
                    one, _ = false.accept()
                    with one, contextlib.suppress(OSError):
                        one.sendall(heard[:16])
                        told.append(one.recv(16 + 4 + 16 + 32, socket.MSG_WAITALL))
                        one.sendall(answer)

                thread = threading.Thread(target=listen)
                thread.start()
                with self.assertRaisesRegex(ConnectionError, 'did not come from n') as raised:
                    self.fetched(false.getsockname()[1])
                thread.join()
                self.assertNotIn(self.server.secret, told[0])
                self.assertFalse(raised.exception.gone, 'a stranger says that chunks are gone')
        self.assertEqual(self.session.stat()['objects'], before)

    def test_strangers_take_no_place_from_nodes(self):
        """Many connections that say nothing, or half of what has to come: the oldest of them end, and transfers go on."""
        threads = threading.active_count()
        strangers = []
        for n in range(200):
            strangers.append(socket.create_connection((self.server.host, self.server.port), 10))
            strangers[-1].sendall(b'x' * (n % 20))
        self.assertEqual(self.fetched(), self.content)
        until(lambda: threading.active_count() - threads <= _wire._STRANGERS + 1)
        self.assertEqual(strangers[0].recv(100, socket.MSG_WAITALL)[16:], b'', 'the oldest one is there still')
        for one in strangers:
            one.close()
        until(lambda: threading.active_count() <= threads)
        self.assertEqual(self.fetched(), self.content)

    def test_no_thread_and_no_descriptor_end_no_server(self):
        """Where the machine has none for a stranger, others are served afterwards."""
        start, failed = threading.Thread.start, []

        def refuse(thread):
            if thread.name != 'granary-send' or failed:
                return start(thread)
            failed.append(thread)
            raise RuntimeError("can't start new thread")

        with mock.patch.object(threading.Thread, 'start', refuse):
            with socket.create_connection((self.server.host, self.server.port), 10) as one:
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(one.recv(1), b'')
        self.assertTrue(failed)
        self.assertEqual(self.fetched(), self.content)


if __name__ == '__main__':
    unittest.main(verbosity=2)
