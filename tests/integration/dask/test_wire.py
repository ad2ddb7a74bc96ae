"""The sockets of transfers under others' bytes: garbled, cut, replayed, foreign, too large, too slow. Nobody hangs, nothing is kept, and
the node goes on. GRANARY_RANDOM_SEED and GRANARY_RANDOM_ROUNDS say which messages, and how many."""
import contextlib
import os
import pickle
import random
import resource
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

from cluster import granary, until
from granary.dask import _handle, _packs, _wire

SEED = int(os.environ.get('GRANARY_RANDOM_SEED', '23'))
ROUNDS = int(os.environ.get('GRANARY_RANDOM_ROUNDS', '60'))
SIZES = (100000, 0, 3000000)
HEAD = 64
HEAD_OF_ANSWER = 1 + 32
WAIT_S = 1
"""In place of what the wire waits for: seconds."""


def receive_all(one):
    """What comes until the other end closes."""
    parts = bytearray()
    with contextlib.suppress(ConnectionError):
        while some := one.recv(1 << 16):
            parts += some
    return bytes(parts)


class Wire(unittest.TestCase):
    context = None  # of TLS: (outgoing, incoming)

    @classmethod
    def setUpClass(cls):
        cls.giver, cls.taker = granary.up(executors=1, memory='32M'), granary.up(executors=1, memory='32M')
        cls.addClassCleanup(cls.taker.down)
        cls.addClassCleanup(cls.giver.down)
        cls.random = random.Random(SEED)
        cls.bytes = [cls.random.randbytes(size) for size in SIZES]
        cls.ids = [cls.put(one) for one in cls.bytes]

    @classmethod
    def put(cls, one):
        id = granary._granary.id_random()
        cls.giver._client.put(id, one)
        return id

    def setUp(self):
        for name in ('ANSWER_S', 'SILENT_S', 'STALL_S'):
            patch = mock.patch.object(_wire, name, WAIT_S)
            patch.start()
            self.addCleanup(patch.stop)
        self.lost = []
        incoming = None if self.context is None else self.context[1]
        self.server = _wire.Server(lambda: self.giver._client, '127.0.0.1', incoming, lambda: self.lost.append(1))
        self.addCleanup(self.server.close)
        self.before = len(self.taker.objects())
        self.addCleanup(self.nothing_is_left)

    def nothing_is_left(self):
        until(lambda: len(self.taker.objects()) == self.before, 'the end of what had come')
        until(lambda: not [one for one in threading.enumerate() if one.name in ('granary-send', 'granary-tls')], 'the end of transfers')
        self.assertEqual(self.lost, [])

    def handle(self, port=None, secret=None, ids=None, sizes=SIZES):
        origin = _handle.Origin('tcp://giver', 'giver', 'giver', '127.0.0.1', port or self.server.port, secret or self.server.secret)
        chunks = tuple(_handle.Chunk(id, size, 0) for id, size in zip(ids or self.ids, sizes))
        return _handle.Handle('key', origin, 'objects', chunks, (), (), ())

    def fetch(self, handle):
        return _wire.fetch(self.taker._client, [(handle, one) for one in handle.chunks], self.context and self.context[0])

    def works(self):
        """A right fetch, while all the others are there."""
        made = self.fetch(self.handle())
        try:
            self.assertEqual([bytes(self.taker._client.get(id, 0)) for id in made], self.bytes)
        finally:
            for id in made:
                self.taker._client.unrefer(id)

    def refused(self, handle):
        with self.assertRaises(_wire.TransferFailed) as raised:
            self.fetch(handle)
        self.assertIn('chunks of key did not come from giver: ', str(raised.exception))
        return raised.exception

    # ---- who asks ----

    def question(self, nonce, ids=None, secret=None, count=None):
        """A right one, but for what is told otherwise."""
        ids = self.ids if ids is None else ids
        told = os.urandom(16) + struct.pack('!I', len(ids) if count is None else count) + b''.join(ids)
        return told + _wire._proof(secret or self.server.secret, nonce, told)

    def connect(self):
        raw = socket.create_connection(('127.0.0.1', self.server.port), 30)
        return raw if self.context is None else self.context[0].wrap_socket(raw, server_hostname='127.0.0.1')

    def ask(self, make):
        """make(nonce) is what is sent. Returns what comes behind the nonce."""
        with self.connect() as one:
            nonce = _wire._read(one, 16)
            with contextlib.suppress(ConnectionError):  # it has closed before all was sent
                one.sendall(make(nonce))
            return receive_all(one)

    def test_right(self):
        self.works()

    def test_garbled_questions(self):
        def spoilt(nonce):
            message = bytearray(self.question(nonce))
            kind = self.random.randrange(3)
            if kind == 0:
                return self.random.randbytes(self.random.randrange(200))
            if kind == 1:
                return bytes(message[: self.random.randrange(len(message))])
            message[self.random.randrange(len(message))] ^= 1 << self.random.randrange(8)
            return bytes(message)

        for _ in range(ROUNDS):
            self.assertEqual(self.ask(spoilt), b'')
        self.works()

    def test_replayed_questions(self):
        right = []
        self.assertEqual(self.ask(lambda nonce: right.append(self.question(nonce)) or right[0])[:1], b'\1')
        self.assertEqual(self.ask(lambda _: right[0]), b'')
        self.works()

    def test_questions_of_many(self):
        """More ids than there may be get no answer, and take no memory. As many as there may be are read, and are not there."""
        self.assertEqual(self.ask(lambda nonce: self.question(nonce, count=(1 << 32) - 1)), b'')
        self.assertEqual(self.ask(lambda nonce: self.question(nonce, count=(1 << 16) + 1)), b'')
        self.assertEqual(self.ask(lambda nonce: self.question(nonce, [os.urandom(16)] * (1 << 16)))[:1], b'\0')
        self.works()

    def test_a_foreign_secret_and_foreign_ids(self):
        self.assertFalse(self.refused(self.handle(secret=os.urandom(16))).gone)
        self.assertTrue(self.refused(self.handle(ids=[self.ids[0], os.urandom(16), self.ids[2]])).gone)
        self.assertTrue(self.refused(self.handle(ids=[self.ids[0], bytes(16), self.ids[2]])).gone)
        self.works()

    def test_who_stays_without_a_word(self):
        """They take no place from others, and are left when their time is over, also those that send a byte now and then."""
        with contextlib.ExitStack() as silent:
            ones = [silent.enter_context(socket.create_connection(('127.0.0.1', self.server.port), 30)) for _ in range(_wire._STRANGERS * 2)]
            self.works()
            ends = time.monotonic() + 60
            slow = ones[-1]
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < ends:
                    slow.settimeout(WAIT_S / 4)
                    slow.sendall(b'x')
                    try:
                        if not slow.recv(16):
                            break
                    except TimeoutError:
                        pass
            self.assertLess(time.monotonic(), ends)
            for one in ones[:-1]:
                one.settimeout(30)
                self.assertIn(len(receive_all(one)), (0, 16))
        self.works()

    def test_without_descriptors_and_threads(self):
        """What cannot be accepted waits, or comes again. The server goes on."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as early:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (early.fileno() + 1, hard))
                early.settimeout(30)
                early.connect(('127.0.0.1', self.server.port))
                begun = time.process_time()
                time.sleep(WAIT_S)  # the listener finds no descriptor all the while
                self.assertLess(time.process_time() - begun, WAIT_S / 2)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.works()
        start = threading.Thread.start

        def refuses(thread):
            if thread.name == 'granary-send':
                raise RuntimeError("can't start new thread")
            start(thread)

        with mock.patch.object(threading.Thread, 'start', refuses), self.assertLogs('granary', 'WARNING') as logs:
            self.assertEqual(self.ask_plain(b''), b'')
        self.assertIn("a connection is closed: can't start new thread", logs.output[0])
        self.works()

    def ask_plain(self, message):
        with socket.create_connection(('127.0.0.1', self.server.port), 30) as one:
            one.sendall(message)
            return receive_all(one)

    # ---- who answers ----

    @contextlib.contextmanager
    def answers(self, *makes, pauses=False):
        """A sender that knows the secret. It gives each who connects what the next of makes(head) is, head being the right answer. pauses:
        then it stays, without a word."""
        with socket.create_server(('127.0.0.1', 0)) as listener:
            done = threading.Event()

            def serve():
                for make in makes:
                    try:
                        one, _ = listener.accept()
                    except OSError:  # the test has failed
                        return
                    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                        if self.context is not None:
                            one = self.context[1].wrap_socket(one, server_side=True)
                        stack.enter_context(one)
                        one.sendall(os.urandom(16))
                        question = _wire._read(one, 16 + 4 + 16 * len(SIZES) + 32)
                        one.sendall(make(b'\1' + _wire._proof(self.server.secret, question[:16], b'\1')))
                        if pauses:
                            done.wait(60)

            thread = threading.Thread(target=serve)
            thread.start()
            try:
                yield listener.getsockname()[1]
            finally:
                done.set()
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()

    def objects(self, ids=None):
        """As they are sent."""
        return self.ask(lambda nonce: self.question(nonce, ids))[HEAD_OF_ANSWER:]

    def test_garbled_answers(self):
        objects = self.objects()
        second = HEAD_OF_ANSWER + len(self.objects(self.ids[:1]))
        places = [*range(HEAD_OF_ANSWER + HEAD + 16), *range(second, second + HEAD), *range(-16, 0)]

        def spoilt(head):
            message = bytearray(head + objects)
            kind = self.random.randrange(3)
            if kind == 0:
                return bytes(message[: self.random.randrange(len(message))])
            message[self.random.choice(places) if kind == 1 else self.random.randrange(len(message))] ^= 1 << self.random.randrange(8)
            return bytes(message)

        with self.answers(*[spoilt] * ROUNDS) as port:
            for i in range(ROUNDS):
                with self.subTest(message=i, seed=SEED):
                    self.refused(self.handle(port))
        self.works()

    def test_foreign_answers(self):
        """An object that is whole, and another than the one that was asked for, is not taken for that: not another id's, nor the same again."""
        first, objects = self.objects(self.ids[:1]), self.objects()
        other = self.put(self.bytes[0][::-1])
        foreign = self.objects([other])
        self.giver._client.delete(other)
        rest = objects[len(first) :]
        cases = [foreign + rest, first + first + rest, rest + first]
        with self.answers(*[lambda head, case=case: head + case for case in [*cases, first]]) as port:
            for _ in cases:
                self.assertIn('another object came', str(self.refused(self.handle(port))))
            self.refused(self.handle(port))
        self.works()

    def test_answers_of_another_length(self):
        """What is larger than its ticket says is not read at all, so it takes no room."""
        sizes = (SIZES[0], SIZES[1], SIZES[2] - 1)
        self.assertIn('another object came', str(self.refused(self.handle(sizes=sizes))))
        self.assertIn('another object came', str(self.refused(self.handle(sizes=(1 << 45, *SIZES[1:])))))
        self.works()

    def test_answers_that_stop(self):
        objects = self.objects()
        for cut in (0, 1, 30, HEAD_OF_ANSWER, HEAD_OF_ANSWER + 30, 70000):
            with self.answers(lambda head, cut=cut: (head + objects)[:cut], pauses=True) as port:
                begun = time.monotonic()
                self.refused(self.handle(port))
                self.assertLess(time.monotonic() - begun, 30)
        self.works()

    def test_nobody_answers(self):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            port = listener.getsockname()[1]
        self.refused(self.handle(port))


class Encrypted(Wire):
    """The same with TLS. Who does not speak it is a stranger, too."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        key, certificate = os.path.join(directory, 'key'), os.path.join(directory, 'certificate')
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2',
                        '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
        incoming = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        incoming.load_cert_chain(certificate, key)
        outgoing = ssl.create_default_context(cafile=certificate)
        cls.context = outgoing, incoming

    def test_bytes_that_are_no_tls(self):
        for size in (0, 1, 5, 100, 70000):
            with contextlib.suppress(ConnectionError):
                self.ask_plain(self.random.randbytes(size))
        self.works()


class Tickets(unittest.TestCase):
    """Handles and packs as Dask carries them."""

    def test_what_comes_back_is_a_ticket(self):
        origin = _handle.Origin('tcp://a', 'a', 'a', '127.0.0.1', 1, b's' * 16)
        handles = [_handle.Handle(f'k{i}', origin, 'frame', (_handle.Chunk(bytes(16), i, 2),), (i,), (), (), keeps=object()) for i in range(3)]
        for one in (_packs.Pack(handles), _packs.gather([handles[0], _packs.Pack(handles[1:])])):
            back = pickle.loads(pickle.dumps(one))
            self.assertIs(type(back), type(one))
            self.assertEqual([(h.key, h.origin, h.chunks, h.keeps, h.size) for h in back.handles], [(h.key, h.origin, h.chunks, None, h.size) for h in handles])


if __name__ == '__main__':
    unittest.main()
