"""Calls of Python functions, as they come: arguments read in place, output captured, exceptions handed back."""
from __future__ import annotations

import base64
import json
import multiprocessing
import os
import select
import signal
import socket
import sys
import traceback
from types import FrameType
from typing import Any, Callable, Optional

from .. import _lanes, _packed
from .._errors import Cancelled, Failed
from . import chunks, wire

LEFT = 75
"""The exit status of a slot that leaves between two calls."""

_FUNCTIONS_MAX = 1024  # that are kept unpickled

current: Optional[wire.Request] = None
"""The call that runs; None between calls, and in a process that is no slot."""


def _rebuild(error: BaseException, text: str) -> BaseException:
    from concurrent.futures import process

    error.__cause__ = getattr(process, "_RemoteTraceback", RuntimeError)(text)
    return error


class _Carried:
    """An exception with its traceback as text, for pickle, which leaves tracebacks out."""

    def __init__(self, error: BaseException, text: str) -> None:
        self.error = error
        self.text = text

    def __reduce__(self) -> Any:
        return _rebuild, (self.error, self.text)


def _owner() -> int:
    """A descriptor that tells when the process has ended whose slot this is. -1: it has ended already."""
    try:
        return os.pidfd_open(int(os.environ.get("GRANARY_SLOT_OWNER", "").partition(" ")[0]))
    except (ValueError, OSError):
        return -1


class Slot:
    """The loop of a slot."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.pid = os.getpid()
        self.running = False
        self.clients: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., Any]] = {}
        self.begun: set[str] = set()
        self.owner = _owner()
        self.answered = False
        self.leaves = False  # after this call
        self.log = -1  # that of the graph, where 1 and 2 are a program's
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, number: int, frame: Optional[FrameType]) -> None:
        if not self.running:  # an answer is not torn
            return
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                self.leaves = True  # a module that is half imported stays so in this process
            frame = frame.f_back
        raise KeyboardInterrupt

    # ---- what calls need ----

    def client(self, session: str) -> Any:
        """This process's connection to a session."""
        if session not in self.clients:
            from .. import _granary

            self.clients[session] = _granary.Client(session=session, tag="python slot", existing=True)
        return self.clients[session]

    def _object(self, session: str, text: str) -> Any:
        view = self.client(session).get(bytes.fromhex(text), 30000)
        return _packed.unpack(memoryview(view))

    def function(self, request: wire.Request, text: str) -> Callable[..., Any]:
        """A function by the id of its object, unpickled once."""
        if text not in self.functions:
            if len(self.functions) >= _FUNCTIONS_MAX:
                self.functions.pop(next(iter(self.functions)))
            self.functions[text] = self._object(request.session, text)
        return self.functions[text]

    def _begin(self, request: wire.Request, what: dict[str, Any]) -> None:
        """Run an Executor's initializer, once in this process."""
        text = what.get("initializer")
        if text is not None and text not in self.begun:
            initializer, arguments = self._object(request.session, text)
            initializer(*arguments)
            self.begun.add(text)

    # ---- calls ----

    def _items(self, request: wire.Request, what: dict[str, Any]) -> list[tuple[int, Any, Any]]:
        """(function, args, kwargs) of each call."""
        if "inline" in what:
            data = memoryview(base64.b64decode(what["inline"]))
        else:
            data = memoryview(self.client(request.session).get(request.inputs[0].id, 30000))
        items: list[tuple[int, Any, Any]] = _packed.unpack(data)
        return items

    def _calls(
        self, request: wire.Request, functions: list[str], items: list[tuple[int, Any, Any]], retries: int
    ) -> list[tuple[bool, Any]]:
        """One after the other; each gives (True, value) or (False, exception)."""
        outcomes: list[tuple[bool, Any]] = []
        for which, args, kwargs in items:
            try:
                outcomes.append((True, self.function(request, functions[which])(*args, **kwargs)))
                if os.getpid() != self.pid:
                    os._exit(0)  # a child that the function forked: its parent answers
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if os.getpid() != self.pid or request.attempt <= retries:
                    raise
                outcomes.append((False, self._carry(error)))
        return outcomes

    def _note(self, text: str) -> None:
        """To the log of the graph, also while calls print elsewhere."""
        if self.log < 0:
            print(text, file=sys.stderr, end="")
        else:
            os.write(self.log, text.encode("utf-8", "backslashreplace"))

    def _carry(self, error: BaseException) -> _Carried:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self._note(text)
        error.__traceback__ = None
        return _Carried(error, f'\n"""\n{text}"""')

    def _pack(self, outcomes: list[tuple[bool, Any]]) -> _packed.Packed:
        """The outcomes as bytes; one that cannot be pickled is an exception that says so."""
        try:
            return _pack(outcomes)
        except BaseException:
            each: list[tuple[bool, Any]] = []
            for fine, value in outcomes:
                try:
                    _pack(value)
                    each.append((fine, value))
                except BaseException as error:
                    each.append((False, self._carry(_picklable(error))))
            return _pack(each)

    def _lane_calls(self, request: wire.Request, what: dict[str, Any], data: tuple[memoryview, bytes]) -> _packed.Packed:
        """What one message of a lane comes to."""
        try:
            functions, items = _packed.unpack(*data)
        except Exception as error:
            carried = self._carry(error)
            carried.error = _picklable(error)
            return _pack(_lanes.Unread(carried))
        try:
            self._begin(request, what)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if os.getpid() != self.pid:
                raise
            self._note("".join(traceback.format_exception(type(error), error, error.__traceback__)))
            return _packed.pack(_broken(error))
        return self._pack(self._calls(request, functions, items, 0))

    def _serve(self, request: wire.Request, what: dict[str, Any]) -> None:
        """A lane: calls come over a socket, until that is closed."""
        client = self.client(request.session)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect("\0" + what["address"])
            if not wire.is_own(sock):  # whose calls would be run as this user
                raise PermissionError("another user has taken the socket of the program whose calls these are")
            try:
                sock.sendall(f"{what['token']} {request.graph}".encode())
                self._print_there(sock)
                # For proxies of a Manager of the owner's.
                multiprocessing.current_process().authkey = bytes(_lanes.receive(sock, client)[0])
                while True:
                    calls = _lanes.receive(sock, client)
                    sent = None  # the owner has that answer
                    packed = self._lane_calls(request, what, calls)
                    del calls
                    _flush()
                    sent = _lanes.send(sock, client, packed)  # noqa: F841  # kept until the owner has it
                    del packed  # and what it refers to, before the next call comes
            except (EOFError, ConnectionError):
                pass
            finally:
                self._print_here()

    def _run(self, request: wire.Request) -> list[wire.Output]:
        what = json.loads(request.request)
        if what["do"] == "calls":
            packed = self._pack(self._calls(request, what["functions"], self._items(request, what), what.get("retries", 0)))
            return [wire.Output(packed.size, packed.pieces)]
        if what["do"] == "serve":
            self.leaves = self.leaves or bool(what.get("leaves"))  # also when the end of its owner's graph interrupts what follows
            self._serve(request, what)
            return [wire.Output(0, [])]
        if what["do"] == "chunk":
            return [chunks.run(self, request, what)]
        raise RuntimeError(f"this slot does not know how to do {what['do']!r}: use one release of granary everywhere")

    # ---- the loop ----

    def _print_there(self, sock: socket.socket) -> None:
        """What calls of a lane print comes where its program prints."""
        _, theirs, _, _ = socket.recv_fds(sock, 1, 2, socket.MSG_CMSG_CLOEXEC)
        if len(theirs) == 2:
            self.log = os.dup(2)
            for i, one in enumerate(theirs):
                os.dup2(one, 1 + i)
        for one in theirs:
            os.close(one)

    def _print_here(self) -> None:
        """Back to the log: who reads what the program prints need not wait for this process."""
        if self.log >= 0:
            _flush()
            os.dup2(self.log, 1)
            os.dup2(self.log, 2)
            os.close(self.log)
            self.log = -1

    def _print_to(self, request: wire.Request) -> None:
        for i in range(2):
            os.dup2(request.fds[i], 1 + i)
        for one in request.fds[:2]:
            os.close(one)
        del request.fds[:2]

    def _enter(self, directory: str) -> None:
        try:
            if directory and os.getcwd() != directory:
                os.chdir(directory)
        except OSError:
            pass  # it was removed; the function may need none

    def _answer(self, request: wire.Request) -> None:
        global current
        outputs: Optional[list[wire.Output]] = None
        err, message = 0, ""
        current = request
        try:
            self.running = True
            outputs = self._run(request)
            self.running = False
        except BaseException as error:
            self.running = False
            if os.getpid() == self.pid:
                cancelled = isinstance(error, KeyboardInterrupt)
                err = Cancelled.code if cancelled else getattr(error, "code", Failed.code)
                message = "cancelled" if cancelled else "".join(traceback.format_exception_only(type(error), error)).strip()
                if not cancelled:
                    traceback.print_exc()
        finally:
            current = None
            if os.getpid() != self.pid:
                os._exit(0 if outputs is not None else 1)  # a child that the function forked: its parent answers
        _flush()
        if outputs is not None:
            wire.write_done(self.sock, outputs)
        else:
            wire.write_failed(self.sock, err if isinstance(err, int) and -100 < err < 0 else Failed.code, message)

    def _await(self) -> None:
        """Until a call comes. A slot leaves when its owner has ended; one that came later than that has one call."""
        if self.leaves:
            os._exit(LEFT)
        ready, _, _ = select.select([self.sock, self.owner] if self.owner >= 0 else [self.sock], [], [])
        if self.sock not in ready or (self.owner < 0 and self.answered):
            os._exit(LEFT)
        self.answered = True

    def serve(self) -> None:
        """Until the executor ends."""
        try:
            while True:
                self._await()
                request = wire.read_request(self.sock)
                self._print_to(request)
                self._enter(request.directory)
                try:
                    self._answer(request)
                finally:
                    for fd in request.fds:
                        os.close(fd)
        except (wire.Ended, ConnectionError, BrokenPipeError):
            pass


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the function closed it


def _pack(value: Any) -> _packed.Packed:
    try:
        return _packed.pack(value)
    except Exception:
        import cloudpickle  # type: ignore[import]  # functions and classes of __main__, too

        return _packed.pack(value, cloudpickle.dumps)


def _picklable(error: BaseException) -> BaseException:
    """The exception, or one with its words when it cannot be pickled itself."""
    import pickle

    try:
        pickle.dumps(error)
        return error
    except BaseException:
        return RuntimeError("".join(traceback.format_exception_only(type(error), error)).strip())


def _broken(error: BaseException) -> BaseException:
    from concurrent.futures.process import BrokenProcessPool

    return BrokenProcessPool(f"an initializer failed: {''.join(traceback.format_exception_only(type(error), error)).strip()}")
