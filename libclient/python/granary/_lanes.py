"""Slots that are kept for a while: calls go to them over a socket, without the scheduler.

A lane is a subtask. It occupies an executor while there are calls, a tenth of a second longer, and a second at most: so other
graphs get their share. Bytes that are large lie in the store, where that has room.
"""
from __future__ import annotations

import json
import multiprocessing
import os
import secrets
import socket
import struct
import sys
import time
import uuid
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, Optional

from . import _functions, _packed, _slots
from ._dispatch import Call, Dispatcher, SlotDied
from ._errors import Full, NotFound
from ._granary import OWN
from ._log import logger
from ._ref import Kept
from ._slot import wire

_LINGER = 0.1  # seconds that a lane waits for calls
_LIFE = 1.0  # seconds after which it takes no more
_LOOK = 0.5  # how often it is looked whether a lane that has not begun still will

_GREETING = 5.0  # for a slot to say which one it is

_STORED = 1 << 20  # bytes from which on they go through the store
_HEAD = struct.Struct("<IQ")  # INLINE or STORED; bytes that follow
_INLINE, _OBJECT = 1, 2
_ID = 16  # bytes


def send(sock: socket.socket, client: Any, packed: _packed.Packed) -> Optional[Kept]:
    """A packed object, to the other side. What is returned is to be kept until that has answered."""
    if packed.size < _STORED:
        sock.sendall(_HEAD.pack(_INLINE, packed.size) + packed.tobytes())
        return None
    try:
        kept = _functions.put(client, packed)
    except Full:
        _send_pieces(sock, packed)
        return None
    id = bytes.fromhex(kept)
    sock.sendall(_HEAD.pack(_OBJECT, len(id) + len(packed.writable)) + id + packed.writable)
    return kept


def _send_pieces(sock: socket.socket, packed: _packed.Packed) -> None:
    """One that the store has no room for, past it."""
    sock.sendall(_HEAD.pack(_INLINE, packed.size))
    for part in packed.parts():
        sock.sendall(part)


def receive(sock: socket.socket, client: Any) -> tuple[memoryview, bytes]:
    """The other side's packed object, and which buffers of it are to be writable here, too. EOFError: it is gone."""
    kind, size = _HEAD.unpack(wire.receive(sock, _HEAD.size))
    data = wire.receive(sock, size)
    if kind == _INLINE:
        return memoryview(data), b""  # all are
    try:
        return memoryview(client.get(bytes(data[:_ID]), 0)), bytes(data[_ID:])
    except NotFound:
        raise EOFError from None  # it went with the process that sent it


def _lend_output(sock: socket.socket) -> None:
    """This process's output and error output, for what calls print. A program that was started without them has none."""
    try:
        if sys.__stdout__ is not None and sys.__stderr__ is not None:
            socket.send_fds(sock, [b"o"], [1, 2])
            return
    except OSError:  # it has closed one of them; if it is the slot that has gone, the next line tells
        pass
    sock.sendall(b"o")


class Unread:
    """A lane's answer when it cannot read the calls: the error, as the slot carries it."""

    def __init__(self, error: Any) -> None:
        self.error = error


def _unreadable(what: str, error: BaseException) -> BrokenProcessPool:
    """What ProcessPoolExecutor raises, too; but only that one call fails."""
    told = BrokenProcessPool(f"{what}: {type(error).__name__}: {error}")
    told.__cause__ = error
    return told


class Lane:
    """A slot that answers calls."""

    def __init__(self, sock: socket.socket, key: str) -> None:
        self.sock = sock
        self.key = key
        self.begun = time.monotonic()
        self.calls = 0


class LaneDispatcher(Dispatcher):
    """Calls go to lanes, of which each thread has one when it needs it."""

    def __init__(
        self,
        client: Any,
        workers: int,
        initializer: Optional[tuple[Callable[..., Any], tuple[Any, ...]]] = None,
        environment: Optional[dict[str, str]] = None,
        memory: Optional[int] = None,
        most: Optional[int] = None,
    ) -> None:
        super().__init__(client, workers)
        self.params = {"command": _slots.command(), "environment": _slots.environment(environment)}
        self.members = {} if memory is None else {"memory": memory}
        self.token = secrets.token_hex(16)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.address = f"granary-{os.getuid()}-{secrets.token_hex(16)}"
        self.listener.bind("\0" + self.address)
        self.listener.listen(workers)
        self.listener.settimeout(_LOOK)
        self.initializer = _functions.ship(client, initializer, "initializer") if initializer is not None else None
        self.broken: Optional[BaseException] = None
        self.most = most  # calls of a process
        self.begun: set[str] = set()  # graphs of lanes that no thread has yet: as many as there are threads that wait for one
        if most is not None:
            self.batch_most = 1

    # ---- lanes ----

    def _order(self) -> None:
        """One more lane."""
        request = {"do": "serve", "address": self.address, "token": self.token, "initializer": self.initializer,
                   "leaves": self.most is not None}
        key = uuid.uuid4().hex
        graph = {"nodes": {"lane": _slots.node(self.client, self.params, request, **self.members)}, "targets": ["lane"]}
        self.client.submit_json(json.dumps(graph), key=key, flags=OWN)
        with self.lock:
            self.begun ^= {key}  # unless another thread has it already

    def _begin(self) -> Lane:
        """A lane, of this thread or another one that has begun one: they are alike."""
        self._order()
        while True:
            try:
                sock, _ = self.listener.accept()
            except socket.timeout:
                self._look()
                continue
            sock.settimeout(_GREETING)
            try:
                token, _, key = bytes(wire.receive(sock, 65) if wire.is_own(sock) else b"").partition(b" ")
            except (EOFError, OSError):
                token = b""
            if not secrets.compare_digest(token, self.token.encode()):
                sock.close()
                continue
            sock.settimeout(None)
            theirs = key.decode()
            with self.lock:
                self.begun ^= {theirs}
            try:
                secret = bytes(multiprocessing.current_process().authkey)
                _lend_output(sock)
                sock.sendall(_HEAD.pack(_INLINE, len(secret)) + secret)
                return Lane(sock, theirs)
            except OSError:  # its process has ended since it called; nothing has begun there
                with self.lock:
                    self.begun.discard(theirs)
                self._end(Lane(sock, theirs))
                self._order()

    def _look(self) -> None:
        """Lanes that have ended before any thread had them: raise the error of one that failed. One that was not heard in time, as
        its process was stopped, has succeeded, and another one takes its place."""
        for key in list(self.begun):
            error: Optional[Exception] = None
            try:
                if self.client.wait_graph(key, 0)["state"] == "running":
                    continue
            except Exception as one:
                error = one
            with self.lock:
                taken = key not in self.begun  # meanwhile: what became of it is that thread's
                self.begun.discard(key)
            if taken:
                continue
            if error is not None:
                raise error
            self._forget(key)
            self._order()

    def _forget(self, key: str) -> None:
        try:
            self.client.delete_graph(key)
        except Exception:
            pass  # it goes with this program

    def _end(self, lane: Lane) -> None:
        lane.sock.close()
        self._forget(lane.key)

    def _died(self, lane: Lane) -> SlotDied:
        """Why its socket was closed."""
        reason = "the process that ran it ended"
        try:
            self.client.wait_graph(lane.key, 10000)
        except Exception as error:
            reason = str(error)
        return SlotDied(reason)

    # ---- calls ----

    def work(self) -> None:
        lane: Optional[Lane] = None
        try:
            while (batch := self.take(_LINGER if lane is not None else None)) is not None:
                if lane is not None and (not batch or time.monotonic() - lane.begun > _LIFE):
                    self._end(lane)
                    lane = None
                if batch:
                    lane = self._do(batch, lane)
                del batch  # and the results with it, while nothing comes
        finally:
            if lane is not None:
                self._end(lane)
            with self.lock:
                last = self.ended and len(self.threads) == 1
            if last:
                self.listener.close()

    def _do(self, batch: list[Call], lane: Optional[Lane]) -> Optional[Lane]:
        """Have a batch run. Returns the lane, while there is one."""
        packed, batch = self._pack(batch)
        if packed is None:
            return lane
        if self.broken is not None:
            for call in batch:
                call.future.set_exception(self.broken)
            return lane
        try:
            lane = lane if lane is not None else self._begin()
        except BaseException as error:
            for call in batch:
                call.future.set_exception(error)
            return None
        begun = time.monotonic()
        count = sum(len(call.arguments) for call in batch)
        try:
            sent = send(lane.sock, self.client, packed)
            answer = receive(lane.sock, self.client)
            del sent
        except (EOFError, OSError):
            died = self._died(lane)
            self._end(lane)
            if len(batch) > 1:
                logger.warning("%s: its %d calls run again, each by itself", died, len(batch))
                self.again(batch)
            else:
                batch[0].future.set_exception(died)
            return None
        except BaseException as error:  # of the store: the lane is in the middle of something
            self._end(lane)
            for call in batch:
                call.future.set_exception(error)
            return None
        self.took(count, time.monotonic() - begun)
        lane.calls += count
        if self.most is not None and lane.calls >= self.most:
            self._end(lane)
            lane = None
        self._settle(batch, answer)
        return lane

    def _settle(self, batch: list[Call], answer: tuple[memoryview, bytes]) -> None:
        try:
            outcomes = _packed.unpack(*answer)
        except BaseException as error:
            outcomes = _unreadable("a result cannot be read here", error)
        else:
            if isinstance(outcomes, Unread):
                if len(batch) > 1:
                    self.again(batch)  # it is one of them
                    return
                outcomes = _unreadable("an argument cannot be read in the pool", outcomes.error)
            elif isinstance(outcomes, BrokenProcessPool):
                self.broken = outcomes  # the initializer failed
        if isinstance(outcomes, BaseException):
            for call in batch:
                call.future.set_exception(outcomes)
            return
        at = 0
        for call in batch:
            call.settle(outcomes[at : at + len(call.arguments)])
            at += len(call.arguments)

    def _pack(self, batch: list[Call]) -> tuple[Optional[_packed.Packed], list[Call]]:
        """The batch as bytes. A call whose arguments cannot be pickled is settled here."""
        functions: dict[str, int] = {}
        items = [
            (functions.setdefault(call.function, len(functions)), args, kwargs)
            for call in batch
            for args, kwargs in call.arguments
        ]
        try:
            return _functions.pack_arguments(([str(one) for one in functions], items)), batch
        except BaseException as error:
            if len(batch) == 1:
                batch[0].future.set_exception(error)
                return None, []
        good = []
        for call in batch:
            try:
                _functions.pack_arguments(call.arguments)
                good.append(call)
            except BaseException as error:
                call.future.set_exception(error)
        return self._pack(good) if good else (None, [])

    def shutdown(self, wait: bool, cancel: bool) -> None:
        super().shutdown(wait, cancel)
        with self.lock:
            unused = not self.threads
        if unused:
            self.listener.close()
