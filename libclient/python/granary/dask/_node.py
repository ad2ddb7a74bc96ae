"""A node: what a Dask worker's process has of granary. It runs fragments, and has the chunks that they leave.

Nothing here waits in Dask's event loop: chunks and graphs that Dask lets go of are ended by a thread. When the store has gone for good,
so has all that Dask believes to be here. The process then ends, and Dask computes what is missing elsewhere.
"""
from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from .. import _granary, _instance
from .._errors import Cancelled, Error, Exists, Failed, NotFound, Unreachable
from .._granary import NO_RECALL, OWN
from .._log import logger
from .._session import Session
from ._handle import GATHERED, Chunk, Handle, Origin, same_instance
from ._packs import Range, key as key_of, reads_of
from ._plan import Stage
from ._slow import COPY
from ._wire import Server, TransferFailed, fetch

EXIT_LOST = 75
"""The exit status of a worker whose store has gone."""

KEEP_S = 60
"""Seconds for which results stay in an instance of others, when Dask's scheduler has gone: a new one may use them."""

Reads = Sequence[Sequence[Any]]
"""By input node: its name, what it takes, handles, and of a source what of them (_sources.py)."""

RESTORE_MS = 30000
"""For a chunk to come back from disk."""

_FETCHES = 4
_STREAM_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 12  # what a chunk counts for besides
_MOST_TRIES = 3
_PLACE = "granary.dask"
_RESTART = 1 << 7


def causes(error: BaseException) -> Iterator[BaseException]:
    """It, and what it came from."""
    one: Optional[BaseException] = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__


def place_of(session: Session) -> str:
    """The same for all processes that use this session of this instance, and for no others."""
    counter = session.counter(_PLACE)
    with contextlib.suppress(Exists, _granary.WrongState, _granary.Error):
        counter.set_if(0, secrets.randbits(62) + 1)
    return str(counter.get())


def _end(client: Any, key: Optional[str], ids: Sequence[bytes]) -> None:
    """Let go of references, and delete the graph. What is gone already is fine."""
    for id in ids:
        with contextlib.suppress(Error):
            client.unrefer(id)
    if key is not None:
        with contextlib.suppress(Error):
            client.delete_graph(key)


class Results:
    """What a fragment left here. It ends when Dask has released it."""

    def __init__(self, node: "Node", key: Optional[str], ids: Sequence[bytes]) -> None:
        self._finalizer = weakref.finalize(self, node.release, key, list(ids))
        self._finalizer.atexit = False

    def end(self) -> None:
        """Now."""
        self._finalizer()


class Node:
    """granary in a worker of Dask."""

    def __init__(self, worker: Any, private: Optional[Mapping[str, Any]] = None) -> None:
        """private: arguments of granary.up() for an instance that lives as long as the worker. None: the one that is up."""
        self._worker = weakref.ref(worker)
        self.session: Session = _instance.up(**private) if private is not None else Session()
        self.client = self.session._client
        self.private = private is not None
        self.host = socket.gethostname()
        self.name = f"{self.host} (instance {self.session.instance or 'default'})"
        self.place = place_of(self.session)
        self._ends: "SimpleQueue[Optional[Callable[[], object]]]" = SimpleQueue()
        self._lock = threading.Lock()
        self.running: Set[str] = set()
        self._ran = threading.Condition()
        self._cancelled: Set[str] = set()
        self._packs: Dict[str, str] = {}
        self._ending: Set[str] = set()
        self._kept: "weakref.WeakValueDictionary[str, Results]" = weakref.WeakValueDictionary()
        self._tries: Dict[str, int] = {}
        self._closed = False
        self.incoming, outgoing = _contexts(worker)
        self.server = Server(lambda: self.client, worker.ip, outgoing, self.look)
        self.origin = Origin(worker.address, self.name, self.place, self.server.host, self.server.port, self.server.secret)
        self._fetching = ThreadPoolExecutor(_FETCHES, "granary-fetch")
        self._wake, self._woken = socket.socketpair()
        self._threads = [threading.Thread(target=one, name=f"granary-{one.__name__}", daemon=True) for one in (self._reap, self._watch)]
        for thread in self._threads:
            thread.start()

    # ---- life ----

    def soon(self, do: Callable[..., object], *arguments: Any) -> None:
        """Have a thread do it. Any thread may ask, also a garbage collection within another call."""
        self._ends.put(lambda: do(*arguments))

    def _reap(self) -> None:
        while (do := self._ends.get()) is not None:
            try:
                do()
            except Exception as error:
                logger.debug("granary.dask: %s", error)

    def _watch(self) -> None:
        """The store tells when it has gone: then nobody has to ask for it first. Its supervisor may start it again."""
        poll = select.poll()
        poll.register(self._woken.fileno(), select.POLLIN)
        while not self._closed:
            try:
                events = self.client.subscribe(_RESTART)
                poll.register(events.fileno(), select.POLLIN)
                try:
                    self._follow(poll, events)
                finally:
                    poll.unregister(events.fileno())
                    events.close()
            except Error:
                if not self.look():
                    return

    def _follow(self, poll: Any, events: Any) -> None:
        while not self._closed:
            poll.poll()
            with contextlib.suppress(_granary.TimedOut):
                while not self._closed:
                    events.next(0)

    def look(self) -> bool:
        """A call has failed for want of a store. When there is none indeed, this process has nothing to offer any more. Whether there is one."""
        if self._closed:
            return False
        try:
            self.client.subscribe(_RESTART).close()  # the store has to answer that
            return True
        except Unreachable as error:
            self._leave(str(error))
        except Error as error:
            logger.warning("granary.dask: %s: %s", self.name, error)
        return False

    def _leave(self, reason: str) -> None:
        if self._closed:
            return
        print(f"granary.dask: {self.origin.worker}: {self.name} has lost its instance, so this worker leaves: {reason}", file=sys.stderr, flush=True)
        worker = self._worker()
        if worker is None or alone():
            os._exit(EXIT_LOST)
        worker.loop.add_callback(worker.close, reason="granary-store-lost", executor_wait=False)

    def close(self, keep: bool) -> None:
        """The worker ends. keep: results stay for a while, if the instance is not the worker's own."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._wake.send(b"x")
        self.server.close()
        self._fetching.shutdown(wait=False, cancel_futures=True)
        for key in list(self.running):
            with contextlib.suppress(Error):
                self.client.cancel_graph(key, 1000)
        kept = [key for key in self._kept if keep and not self.private]
        for key in kept:
            with contextlib.suppress(Error):
                self.client.rename_graph(key, f"{key}~", True)  # so that it does not end with this process
                self.client.rename_graph(f"{key}~", key, True)
        if kept:
            _forget_later(self.session, kept)
        for key, results in list(self._kept.items()):
            if key not in kept:
                results.end()
        self._ends.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(10)
        self._wake.close()
        self._woken.close()
        if isinstance(self.session, _instance.Instance):
            self.session.down()
        else:
            self.session.close()

    # ---- fragments ----

    def release(self, key: Optional[str], ids: Sequence[bytes]) -> None:
        """Dask does not need a fragment's results any more."""
        if key is not None and self._kept.get(key) is None:
            self._ending.add(key)
            self.soon(self._end, key, ids)
        else:  # it has run again meanwhile
            self.soon(_end, self.client, None, ids)

    def _end(self, key: str, ids: Sequence[bytes]) -> None:
        _end(self.client, key, ids)
        self._ending.discard(key)

    def _settled(self, key: str) -> None:
        """A graph of that key is not about to be deleted."""
        if key in self._ending:
            done = threading.Event()
            self.soon(done.set)
            done.wait()

    def run_all(self, stage: Stage, these: Range, reads: Sequence[Any]) -> List[Handle]:
        """Fragments one after the other. They are of one task, which Dask may cancel at any of them."""
        task = key_of(stage, these)
        made: List[Handle] = []
        with self._ran:
            self._packs[task] = stage.key(these[0])
        try:
            for partition in range(*these):
                with self._ran:
                    if task not in self._packs:
                        self._again(task)
                    self._packs[task] = stage.key(partition)
                began, since = time.time(), time.perf_counter()
                made.append(self.run(stage, partition, reads_of(reads, partition - these[0])))
                made[-1].task = task
                made[-1].ran = began, time.perf_counter() - since, threading.get_ident()
            return made
        finally:
            with self._ran:
                self._packs.pop(task, None)

    def run(self, stage: Stage, partition: int, reads: Reads) -> Handle:
        """A fragment. reads: by input node, what it takes, and the handles of the other stage's partitions, or of a source."""
        key = stage.key(partition)
        with self._ran:
            self.running.add(key)
        try:
            self._settled(key)
            found = self._survivor(stage, key) if reads else None
            if found is not None:
                return found
            given = self._given(stage, partition, reads)
            self._compute(key, stage.text(partition, given), OWN | (NO_RECALL if reads else 0))
            self._tries.pop(key, None)
            return self._handle(stage, key, False)
        except Unreachable as error:  # the instance did not come back in the time that it has for it
            self._leave(str(error))
            raise
        except Cancelled:
            if key not in self._cancelled:
                raise
            self._again(key)
        except TransferFailed as error:
            self._try(key, error)
            self._again(key)
        finally:
            with self._ran:
                self.running.discard(key)
                self._cancelled.discard(key)
                self._ran.notify_all()
        raise AssertionError

    def _again(self, key: str) -> None:
        """Dask may want it still, here or elsewhere."""
        from distributed import Reschedule

        raise Reschedule()

    def cancel(self, key: str) -> None:
        """Stop a task that runs here, soon: the fragment that it is at."""
        key = key.removesuffix(COPY)
        with self._ran:
            key = self._packs.pop(key, key)
            if key not in self.running:
                return
            self._cancelled.add(key)
        self.soon(self._cancel, key)

    def _cancel(self, key: str) -> None:
        with self._ran:
            while key in self.running:
                try:
                    self.client.cancel_graph(key, 1000)
                    return
                except NotFound:  # it is about to be submitted, or about to end
                    self._ran.wait(0.01)

    def _survivor(self, stage: Stage, key: str) -> Optional[Handle]:
        """What a fragment of this key has left, when it ran before."""
        try:
            if self.client.wait_graph(key, -1)["state"] == "succeeded":
                return self._handle(stage, key, True)
        except NotFound:
            return None
        except Error:
            pass
        with contextlib.suppress(NotFound):
            self.client.delete_graph(key)
        return None

    def surviving(self, keys: Sequence[str]) -> List[str]:
        """Those of them whose graphs have succeeded here."""
        found = []
        for key in keys:
            with contextlib.suppress(Error):
                if self.client.wait_graph(key, -1)["state"] == "succeeded":
                    found.append(key)
        return found

    def _compute(self, key: str, text: str, flags: int) -> None:
        if key in self._cancelled:
            raise Cancelled(f"{key} is not wanted any more")
        try:
            self.client.run_json(text, key=key, flags=flags)
        except Exists:
            if not self._ended(key):
                self.client.run_json(text, key=key, flags=flags)
        except Error:
            with contextlib.suppress(Error):
                self.client.delete_graph(key)
            raise

    def _ended(self, key: str) -> bool:
        """A graph of that key is there, with other ids in it. True: it has succeeded; else it is deleted."""
        with contextlib.suppress(Error):
            if self.client.wait_graph(key)["state"] == "succeeded":
                return True
        with contextlib.suppress(NotFound):
            self.client.delete_graph(key)
        return False

    def _handle(self, stage: Stage, key: str, refer: bool) -> Handle:
        """What a graph that has succeeded gave. refer: it is of a process that has gone, and may be deleted while this one uses it."""
        client = self.client
        referred: List[bytes] = []
        try:
            ids, rows, kind, shape, splits, _ = client.result(key, stage.target)
            if stage.chunks and len(ids) != stage.chunks:
                raise Failed(f"{key}: it gave {len(ids)} chunks, and the plan promises {stage.chunks}")
            infos = [client.info_object(id) for id in ids]
            block = tuple(client.get(ids[0], RESTORE_MS).tensor()[1]) if kind == "tensor" and len(ids) > 1 else ()
            for id, info in zip(ids, infos):
                if refer or info["id"] != id:  # another name of a chunk that was read
                    client.refer(info["id"])
                    referred.append(info["id"])
        except BaseException:
            _end(client, key, referred)
            raise
        results = Results(self, key, referred)
        self._kept[key] = results
        chunks = tuple(Chunk(id, info["size"], info["meta_size"]) for id, info in zip(ids, infos))
        return Handle(key, self.origin, kind, chunks, tuple(rows), tuple(shape), tuple(splits), results, block=block)

    def own(self, id: bytes, kind: str, rows: Tuple[int, ...], shape: Tuple[int, ...], splits: Tuple[int, ...]) -> Handle:
        """The handle to an object, to which this process has a reference."""
        info = self.client.info_object(id)
        chunk = Chunk(id, info["size"], info["meta_size"])
        return Handle(id.hex(), self.origin, kind, (chunk,), rows, shape, splits, Results(self, None, [id]))

    def graph(self, text: str, target: str) -> Handle:
        """The result of a graph that is no fragment."""
        key = secrets.token_hex(16)
        self.client.run_json(text, key=key, flags=OWN | NO_RECALL)
        return self._handle(Stage(key, key, 1, {"targets": [target]}), key, False)

    # ---- what fragments read ----

    def _given(self, stage: Stage, partition: int, reads: Reads) -> Dict[str, Dict[str, Any]]:
        given: Dict[str, Dict[str, Any]] = {}
        for node, take, handles, *of_source in reads:
            what: Mapping[str, Any] = of_source[0] if of_source else {}
            spans = what.get("spans", [[0, len(one.chunks)] for one in handles])
            wanted = [[partition] if take == "part" else list(range(*span)) for span in spans]
            far = _streams([(one, which) for one, which in zip(handles, wanted) if one.origin != self.origin])
            far = far[partition % len(far):] + far[:partition % len(far)] if far else []  # not all readers begin with the same node
            if len(far) == 1:
                self.bring(far[0])
            elif far:
                for error in self._fetching.map(self._brought, far):
                    if error is not None:
                        raise error
            ids = [[self.local(one, place).hex() for place in which] for one, which in zip(handles, wanted)]
            of = self._typed(stage.graph["nodes"][node], ids)
            grids = [self._grid(one[0]) for one in ids] if take == "part" and of["op"] == "array" else [_Grid.of(*pair) for pair in zip(handles, spans)]
            given.update(attributes(node, of, grids, ids, what.get("rows")))
        return given

    def _typed(self, node: Mapping[str, Any], ids: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        """With the dtype of a tensor, of which plans tell nothing: its first block has it."""
        first = next((id for some in ids for id in some), None)
        if node["op"] != "array" or "dtype" in node or first is None:
            return node
        from ..array._session import SessionEngine

        return {**node, "dtype": SessionEngine(self.session).read(first).dtype.name}

    def _grid(self, id: str) -> "_Grid":
        """Of a block that was dealt, which is a tensor of its own."""
        from ..array._session import SessionEngine

        shape = SessionEngine(self.session).read(id).shape
        return _Grid(shape, shape)

    def local(self, handle: Handle, place: int) -> bytes:
        if place >= len(handle.chunks):
            raise Failed(f"{handle.key} has {len(handle.chunks)} chunks, and its reader wants number {place}")
        if handle.origin == self.origin:
            return handle.chunks[place].id
        return bytes.fromhex(handle.taken[place])

    def bring(self, wanted: Sequence[Tuple[Handle, Sequence[int]]]) -> None:
        """Have these chunks of tickets of one node in the own store, as long as the tickets live here."""
        with contextlib.ExitStack() as locked:
            for handle in sorted({id(one): one for one, _ in wanted}.values(), key=lambda one: one.key):
                locked.enter_context(handle.lock)
            missing = [(one, place) for one, places in wanted for place in places if place not in one.taken and place < len(one.chunks)]
            try:
                taken = take(self.client, [(one, one.chunks[place]) for one, place in missing], self.place, self.incoming)
            except TransferFailed as error:
                if not error.gone or len(wanted) == 1:
                    raise
            else:
                for (one, place), name in zip(missing, taken):
                    one.taken[place] = Taken.of(self, name)
                return
        for pair in wanted:  # some are gone: which?
            self.bring([pair])

    def _brought(self, wanted: Sequence[Tuple[Handle, Sequence[int]]]) -> Optional[BaseException]:
        """Bring them; or the error. Nobody may ask for it, so it does not have its frames, which would have tickets until a collection of garbage."""
        try:
            self.bring(wanted)
            return None
        except BaseException as error:
            for one in causes(error):
                one.__traceback__ = None
            return error

    # ---- what did not come ----

    def _try(self, key: str, error: TransferFailed) -> None:
        """Chunks did not come. Dask's scheduler finds out whether they are lost; if not, give up after some tries."""
        tries = self._tries[key] = self._tries.get(key, 0) + 1
        worker = self._worker()
        lost = worker is not None and _is_lost(worker, error.key, error.worker, error.gone)
        if not lost and tries >= _MOST_TRIES:
            del self._tries[key]
            raise error
        logger.warning("granary.dask: %s runs again: %s", key, error)


class Taken(str):
    """The id, as text, of a chunk that came from elsewhere. It is counted for this process, and ends with this."""

    @classmethod
    def of(cls, node: Node, id: bytes) -> "Taken":
        made = cls(id.hex())
        weakref.finalize(made, node.soon, _end, node.client, None, [id]).atexit = False
        return made


def _streams(wanted: Sequence[Tuple[Handle, Sequence[int]]]) -> List[List[Tuple[Handle, Sequence[int]]]]:
    """What is to come through one connection: all that one node has, in some pieces when it is much."""
    found: List[List[Tuple[Handle, Sequence[int]]]] = []
    last: Dict[Origin, Tuple[List[Tuple[Handle, Sequence[int]]], int]] = {}
    for one, places in wanted:
        stream, size = last.get(one.origin, ([], _STREAM_BYTES))
        if size >= _STREAM_BYTES:
            stream, size = [], 0
            found.append(stream)
        stream.append((one, places))
        last[one.origin] = stream, size + sum(one.chunks[place].size + _CHUNK_BYTES for place in places if place < len(one.chunks))
    return found


def take(client: Any, wanted: Sequence[Tuple[Handle, Chunk]], place: Optional[str], context: Optional[ssl.SSLContext]) -> List[bytes]:
    """Chunks of one node's tickets in the client's store, each with a reference of this process: the same objects, or copies."""
    if not wanted:
        return []
    if not same_instance(wanted[0][0], place):
        return fetch(client, wanted, context)
    referred: List[bytes] = []
    try:
        for handle, chunk in wanted:
            client.refer(chunk.id)
            referred.append(chunk.id)
    except NotFound as error:
        _end(client, None, referred)
        raise TransferFailed(handle, error, True) from error
    return referred


class _Grid(NamedTuple):
    """How blocks of a tensor lie."""

    shape: Sequence[int]
    block: Sequence[int]

    @classmethod
    def of(cls, handle: Handle, span: Sequence[int]) -> "_Grid":
        """Of some of a handle's blocks, which then lie one below the other, or of all."""
        block = list(handle.block)
        shape = list(handle.shape)
        if span[1] - span[0] < len(handle.chunks) and shape:
            shape[0] = min(span[1] * block[0], shape[0]) - span[0] * block[0]
            block[0] = min(block[0], shape[0])
        return cls(shape, block)


def attributes(node: str, given: Mapping[str, Any], grids: Sequence[_Grid], ids: Sequence[Sequence[str]],
               rows: Optional[Sequence[int]] = None) -> Dict[str, Dict[str, Any]]:
    """What an input node becomes: with ids, and of a tensor with its shape. rows: how many of a tensor's rows to skip, and to take."""
    if given["op"] != "array":
        kept = {name: value for name, value in given.items() if name not in ("name", "part", "parts")}
        return {node: {**kept, "ids": [id for some in ids for id in some]}}
    found: Dict[str, Dict[str, Any]] = {}
    for place, (one, some) in enumerate(zip(grids, ids)):
        found[f"{node}.{place}"] = {"op": "array", "ids": list(some), "shape": list(one.shape), "dtype": given["dtype"], "chunk": list(one.block)}
    last = next(iter(found))
    if len(grids) > 1:
        last = f"{node}.all"
        found[last] = {"op": "concatenate", "inputs": list(found), "axis": 0}
    if rows is not None:
        found[node] = {"op": "getitem", "input": last, "index": f"{rows[0]}:{rows[0] + rows[1]}"}
    else:
        found[node] = found.pop(last)
    return found


def grid_of(handle: Handle) -> _Grid:
    """Of all its blocks."""
    return _Grid.of(handle, [0, len(handle.chunks)])


# ---- Dask's side ----


def _contexts(worker: Any) -> Tuple[Optional[ssl.SSLContext], Optional[ssl.SSLContext]]:
    """For fetching and for serving: Dask's own, when it uses TLS."""
    if not worker.address.startswith("tls"):
        return None, None
    incoming: ssl.SSLContext = worker.security.get_connection_args("worker")["ssl_context"]
    outgoing: ssl.SSLContext = worker.security.get_listen_args("worker")["ssl_context"]
    return incoming, outgoing


def alone() -> bool:
    """Whether the process has nothing but this worker."""
    from distributed import Scheduler, Worker

    return len(Worker._instances) <= 1 and not len(Scheduler._instances)


def _looker() -> Callable[..., Any]:
    """A function for Dask's scheduler, which need not have this package: it is pickled whole."""

    gathered = GATHERED

    async def look(key: str, address: str, gone: bool, dask_scheduler: Any = None) -> bool:
        """Whether results are lost: their worker has gone, or has said so. Dask then drops all tickets, and computes them anew."""
        import asyncio

        s = dask_scheduler
        if address in s.workers and not gone:
            try:
                await asyncio.wait_for(s.rpc(address).identity(), 5)
            except (OSError, asyncio.TimeoutError):
                await s.remove_worker(address, stimulus_id="granary-lost", close=False)
        gone = gone or address not in s.workers
        async with vars(s).setdefault("_granary_lost", asyncio.Lock()):  # what one drops is made again, and must not be dropped by another
            task = s.tasks.get(key)
            for each in [task, *(one for one in task.dependents if one.key.startswith(gathered))] if gone and task is not None else []:
                for one in list(each.who_has):
                    await s.delete_worker_data(one.address, [each.key], "granary-lost")
        return gone

    return look


def _is_lost(worker: Any, key: str, address: str, gone: bool) -> bool:
    from distributed.protocol.pickle import dumps
    from distributed.utils import sync

    async def ask() -> Any:
        return await worker.scheduler.run_function(function=dumps(_looker()), args=dumps((key, address, gone)), kwargs=dumps({}))

    answer = sync(worker.loop, ask)
    return bool(answer["status"] == "OK" and answer["result"])


def _forget_later(session: Session, keys: Iterable[str]) -> None:
    """A process that deletes graphs after a while. A worker that has begun to use one has references to its chunks."""
    command = [_instance.program(), "forget"]
    command += ["--instance", session.instance] if session.instance else []
    command += ["--session", session.session] if session.session else []
    subprocess.Popen(["/bin/sh", "-c", 'sleep "$0"; exec "$@"', str(KEEP_S), *command, *keys], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, cwd="/", start_new_session=True)
