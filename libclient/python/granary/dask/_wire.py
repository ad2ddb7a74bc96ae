"""Chunks on their way from node to node, beside Dask: a small server in each worker, and what fetches from it.

Both ends show that they know the secret of the ticket, and neither sends it: who listens on the port of a worker that died learns
nothing, and what was sent once opens nothing again.

    server   16 random bytes
    client   16 random bytes, a count (4 bytes, the first one the highest), ids, a proof of both and of what the server sent
    server   1: what follows is there, or 0; a proof of that and of what the client sent; exported objects (docs/formats.md)

Objects are written from the store's memory, and read into an object of the other store. Each has checksums, and a head with its id and
sizes: another one than was asked for is not read. With TLS, both ends have
Dask's contexts, and a pair of sockets stands between the encryption and the store.
"""
from __future__ import annotations

import contextlib
import hmac
import math
import secrets
import socket
import ssl
import struct
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from .. import _granary
from .._errors import Error, NotFound, Unreachable
from .._log import logger
from ._handle import Chunk, Handle

STALL_S = 60
"""A receiver that takes no byte for so long has failed. It may wait for room in its store, for half of that."""

SILENT_S = 20
"""A sender that gives no byte for so long has failed. It may wait for a chunk to come back from disk, for half of that."""

ANSWER_S = 10
"""For a sender to answer at all, and for a stranger to show what it knows."""

_CUT_S = 10
"""Until a connection without a sign of its other end counts as cut."""

_RESTORE_MS = 10000
"""For a chunk to come back from disk."""

_SECRET = 16
_NONCE = 16
_PROOF = 32
_STRANGERS = 128
"""Connections that have not shown yet that they know the secret. One more, and the oldest of them ends."""

_ID = 16
_MOST_IDS = 1 << 16
_PUMP = 1 << 18
_HEAD = struct.Struct("<8sII16sQQ16x")  # of an exported object
_GONE, _OK = b"\0", b"\1"

Socket = Union[socket.socket, ssl.SSLSocket]


class TransferFailed(ConnectionError):
    """Chunks did not arrive: nothing of them is left here."""

    def __init__(self, handle: Handle, why: object, gone: bool = False) -> None:
        super().__init__(f"chunks of {handle.key} did not come from {handle.origin.node}: {why}")
        self.key = handle.task
        self.worker = handle.origin.worker
        self.gone = gone
        """Those who had them say that they have them no more."""

    def __reduce__(self) -> Any:
        return ConnectionError, self.args


def _timeouts(one: Socket, silent: int) -> None:
    """The store's calls read and write descriptors that block; the kernel ends a wait that is too long. Of TLS Python does, which begins
    anew what the kernel has ended."""
    one.settimeout(silent if isinstance(one, ssl.SSLSocket) else None)
    for option, seconds in ((socket.SO_RCVTIMEO, silent), (socket.SO_SNDTIMEO, STALL_S)):
        one.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", seconds, 0))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, number in ((socket.TCP_KEEPIDLE, _CUT_S // 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, _CUT_S // 2)):
        one.setsockopt(socket.IPPROTO_TCP, option, number)


def _proof(secret: bytes, *parts: bytes) -> bytes:
    return hmac.digest(secret, b"".join(parts), "sha256")


def _read(one: Socket, size: int, within: float = math.inf) -> bytes:
    parts = bytearray()
    ends = time.monotonic() + within
    while len(parts) < size:
        if time.monotonic() > ends:
            raise ConnectionError("the other end is too slow")
        try:
            some = one.recv(size - len(parts))
        except (BlockingIOError, socket.timeout):
            raise ConnectionError("the other end is silent") from None
        if not some:
            raise ConnectionError("the other end has closed the connection")
        parts += some
    return bytes(parts)


def _cut(*ends: Socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _plain(one: Socket, sending: bool) -> Iterator[socket.socket]:
    """A socket for the store: the connection itself, or one end of a pair, whose other end is encrypted and decrypted here."""
    if not isinstance(one, ssl.SSLSocket):
        yield one
        return
    ours, theirs = socket.socketpair()
    source, to = (theirs, one) if sending else (one, theirs)
    failed: List[BaseException] = []

    def pump() -> None:
        try:
            while some := source.recv(_PUMP):
                to.sendall(some)
        except BaseException as error:
            failed.append(error)
        finally:
            _cut(theirs)

    thread = threading.Thread(target=pump, name="granary-tls", daemon=True)
    with ours, theirs:
        thread.start()
        try:
            yield ours
            if sending:
                ours.shutdown(socket.SHUT_WR)
        except BaseException:
            _cut(one, ours)
            raise
        finally:
            if not sending:
                _cut(one, ours)  # who pumps may wait for either
            thread.join()
    if failed and sending:
        raise failed[0]


class Server:
    """Gives chunks of a store to those who have a ticket. It ends with close(), and what is under way with it."""

    def __init__(self, client: Callable[[], Any], host: str, context: Optional[ssl.SSLContext], lost: Callable[[], object]) -> None:
        self.secret = secrets.token_bytes(_SECRET)
        self._client = client
        self._context = context
        self._lost = lost
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self.host, self.port = self._listener.getsockname()[:2]
        self._lock = threading.Lock()
        self._open: Set[socket.socket] = set()
        self._strangers: Dict[socket.socket, None] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name="granary-serve", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            _cut(*self._open)
        _cut(self._listener)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                if not self._drop_stranger():  # there is no descriptor, and nothing tells when there is one
                    time.sleep(0.05)
                continue
            if len(self._strangers) >= _STRANGERS:
                self._drop_stranger()
            with self._lock:
                self._strangers[one] = None
            try:
                threading.Thread(target=self._serve, args=(one,), name="granary-send", daemon=True).start()
            except RuntimeError as error:  # no more threads
                logger.warning("a connection is closed: %s", error)
                self._known(one)
                one.close()

    def _drop_stranger(self) -> bool:
        with self._lock:
            oldest = next(iter(self._strangers), None)
            if oldest is not None:
                del self._strangers[oldest]
                _cut(oldest)
            return oldest is not None

    def _known(self, raw: socket.socket) -> None:
        with self._lock:
            self._strangers.pop(raw, None)

    def _serve(self, raw: socket.socket) -> None:
        with self._lock:
            if self._closed:
                raw.close()
                return
            self._open.add(raw)
        one: Socket = raw
        try:
            if self._context is not None:
                raw.settimeout(ANSWER_S)  # for the handshake
                one = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)  # the plain one is nothing any more
                with self._lock:
                    self._open.add(one)
                    if self._closed or raw not in self._strangers:
                        return
                    del self._strangers[raw]
                    self._strangers[one] = None
                one.do_handshake()
            _timeouts(one, ANSWER_S)
            wanted = self._question(one)
            if wanted is not None:
                self._known(one)
                _timeouts(one, STALL_S)
                self._answer(one, *wanted)
        except (OSError, ValueError, struct.error) as error:
            logger.debug("a transfer ended early: %s", error)
        finally:
            with self._lock:
                self._open -= {raw, one}
                for end in (raw, one):
                    self._strangers.pop(end, None)
            one.close()

    def _question(self, one: Socket) -> Optional[Tuple[bytes, bytes]]:
        """The ids that somebody wants who knows the secret, and what the answer has to prove."""
        nonce = secrets.token_bytes(_NONCE)
        one.sendall(nonce)
        head = _read(one, _NONCE + 4, ANSWER_S)
        (count,) = struct.unpack("!I", head[_NONCE:])
        if count > _MOST_IDS:
            return None
        ids = _read(one, count * _ID, ANSWER_S)
        return (ids, head[:_NONCE]) if hmac.compare_digest(_read(one, _PROOF, ANSWER_S), _proof(self.secret, nonce, head, ids)) else None

    def _answer(self, one: Socket, ids: bytes, theirs: bytes) -> None:
        client = self._client()
        try:
            there = all(client.contains(ids[i : i + _ID]) for i in range(0, len(ids), _ID))
            answer = _OK if there else _GONE
            one.sendall(answer + _proof(self.secret, theirs, answer))
            if there:
                with _plain(one, True) as plain:
                    for i in range(0, len(ids), _ID):
                        client.write_object(ids[i : i + _ID], plain.fileno(), _RESTORE_MS)
        except Unreachable:
            self._lost()
        except Error as error:  # of the store: the other end sees the connection end
            logger.warning("chunks were not sent: %s", error)


def _expect(one: socket.socket, chunk: Chunk) -> None:
    """What comes says that it is the chunk, and as large. It is only looked at: a head that is damaged is the store's to tell of."""
    try:
        head = one.recv(_HEAD.size, socket.MSG_PEEK | socket.MSG_WAITALL)
    except BlockingIOError:
        raise ConnectionError("the other end is silent") from None
    if len(head) == _HEAD.size and _HEAD.unpack(head)[3:] != (chunk.id, chunk.size, chunk.meta_size):
        raise ConnectionError("another object came than the one that was asked for")


def fetch(client: Any, wanted: Sequence[Tuple[Handle, Chunk]], context: Optional[ssl.SSLContext]) -> List[bytes]:
    """Bring chunks of one node's tickets into the client's store, under fresh ids, each with a reference. TransferFailed, Error: nothing is left."""
    origin = wanted[0][0].origin
    made: List[bytes] = []
    try:
        with socket.create_connection((origin.host, origin.port), ANSWER_S) as raw:
            one: Socket = raw if context is None else context.wrap_socket(raw, server_hostname=origin.host)  # within the same time
            with contextlib.closing(one):
                _timeouts(one, ANSWER_S)
                ours = secrets.token_bytes(_NONCE)
                question = ours + struct.pack("!I", len(wanted)) + b"".join(chunk.id for _, chunk in wanted)
                one.sendall(question + _proof(origin.secret, _read(one, _NONCE), question))
                answer = _read(one, 1)
                if not hmac.compare_digest(_read(one, _PROOF), _proof(origin.secret, ours, answer)):
                    raise ConnectionError("who listens there does not know the secret")
                if answer != _OK:
                    raise NotFound("they are not there any more")
                _timeouts(one, SILENT_S)
                with _plain(one, False) as plain:
                    for _, chunk in wanted:
                        id = _granary.id_random()
                        _expect(plain, chunk)
                        client.read_object(id, plain.fileno(), chunk.size)
                        client.refer(id)  # in the place of its creator's
                        made.append(id)
        return made
    except BaseException as error:
        for id in made:
            with contextlib.suppress(Error):
                client.unrefer(id)
        if isinstance(error, (_granary.Full, _granary.OutOfMemory, Unreachable)) or not isinstance(error, (OSError, Error)):
            raise  # of the own store
        raise TransferFailed(wanted[min(len(made), len(wanted) - 1)][0], error, isinstance(error, NotFound)) from error
