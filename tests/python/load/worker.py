"""One process of the load: `worker.py KIND INSTANCE SEED NAME` does work of its kind until its standard input ends.

It checks every value. Each line on standard output is a JSON object: the operations it did since the line before, those that a kill
undid, and what it found wrong. The last one tells how much memory and how many descriptors it has more than after its warm-up.
"""
import gc
import io
import json
import os
import pickle
import random
import select
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import CancelledError

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(os.environ['GRANARY_BIN'])), 'python')]

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import granary  # noqa: E402

from own_memory import own_kb  # noqa: E402

# What a kill of another process may bring, and nothing else.
UNDONE = (granary.Unreachable, granary.Lost, granary.TimedOut, granary.NotFound, granary.Failed, granary.Full, granary.OutOfMemory,
          granary.WrongState, granary.Busy, granary.IOFailed, granary.Cancelled, granary.SlotDied, granary.ProtocolError)
CONNECT_SECONDS = 120  # until somebody has said `granary up` again
TELL_SECONDS = 1  # between two lines of what it did
WARM_SECONDS = 10  # before its own growth is measured


class NotYet(Exception):
    """What it works with is being started."""


class Wrong(Exception):
    """A value that is not what it should be."""


def check(is_right, what):
    if not is_right:
        raise Wrong(what)


def values_of(seed, rows=2000):
    """The array that everybody expects of a seed."""
    return np.random.default_rng(seed).integers(0, 1000, rows)


class Worker:
    """What each kind has: a session, random numbers, a name of its own."""

    def __init__(self, session, seed, name):
        self.session, self.random, self.name = session, random.Random(seed), name

    def step(self):
        raise NotImplementedError

    def close(self):
        pass


class Objects(Worker):
    """Values of all kinds put, read, passed by pickle, named, pinned, written in place, deleted."""

    def step(self):
        seed = self.random.randrange(2**32)
        wanted = values_of(seed, self.random.randrange(1, 60000))
        how = self.random.randrange(6)
        s = self.session
        if how == 0:
            array = s.put(wanted).get()
            part = pickle.loads(pickle.dumps(array[::2]))
            check(np.array_equal(part, wanted[::2]), 'an array that was passed by pickle')
        elif how == 1:
            making = s.empty(wanted.shape, wanted.dtype, name=self.name)
            with making as array:
                array[:] = wanted
            check(np.array_equal(s.get(self.name), wanted), 'an array that was written in place')
            del s.names[self.name]
        elif how == 2:
            ref = s.put({'array': wanted, 'seed': seed})
            with s.pin(ref):
                got = ref.get()
            check(got['seed'] == seed and np.array_equal(got['array'], wanted), 'an object with an array in it')
        elif how == 3:
            data = wanted.tobytes()
            with s.writer() as file:
                for at in range(0, len(data), 65536):
                    file.write(data[at:at + 65536])
            with io.BufferedReader(s.reader(file.ref)) as reader:
                check(zlib.crc32(reader.read()) == zlib.crc32(data), 'a file that was written')
        elif how == 4:
            frame = s.put(pd.DataFrame({'a': wanted, 'b': wanted * 0.5})).get()
            ref = frame['a']
            check(ref.sum() == wanted.sum(), 'a column of a frame')
        else:
            refs = [s.put(one.tobytes()) for one in np.array_split(wanted, 7)]
            got = b''.join(bytes(one) if one is not None else b'' for one in s.get_many(refs, timeout=10))
            check(got == wanted.tobytes(), 'several objects at a time')


class Frames(Worker):
    """Queries with their answers by pandas."""

    def step(self):
        seed = self.random.randrange(64)
        frame = pd.DataFrame({'k': values_of(seed) % 7, 'v': values_of(seed + 1000)})
        least = self.random.randrange(1000)
        lazy = granary.from_pandas(frame)
        if self.random.randrange(2):
            got = lazy.filter(granary.col('v') >= least).group_by('k').agg(granary.col('v').sum().alias('s')).collect(timeout=60)
        else:
            got = granary.sql(f'SELECT k, sum(v) AS s FROM lazy WHERE v >= {least} GROUP BY k', lazy=lazy, timeout=60)
            got = got.collect() if hasattr(got, 'collect') else got
        wanted = frame[frame.v >= least].groupby('k').v.sum().to_dict()
        made = got.to_pandas()
        check(dict(zip(made.k.tolist(), made.s.tolist())) == wanted, 'the sums of a query')


class Functions(Worker):
    """Calls of functions in slots, by an executor and by graphs."""

    def step(self):
        n = self.random.randrange(1, 200)
        how = self.random.randrange(3)
        if how == 0:
            with granary.Executor(2) as pool:
                check(list(pool.map(pow, range(n), [2] * n, timeout=60)) == [i * i for i in range(n)], 'a map')
        elif how == 1:
            array = self.session.put(values_of(n)).get()
            check(granary.remote(np.sum).options(retries=2).submit(array).result(60) == values_of(n).sum(), 'a remote call')
        else:
            with granary.Executor(1) as pool:
                try:
                    pool.submit(os._exit, 3).result(60)
                    check(False, 'a call that ended its process gave a result')
                except granary.SlotDied:
                    pass
                check(pool.submit(len, 'abc').result(60) == 3, 'a call after one that ended its process')


class Tables(Worker):
    """Rows appended to a table of its own, which must be there, in order, whoever is killed."""

    def __init__(self, *args):
        super().__init__(*args)
        self.table, self.rows, self.sure = None, 0, 0

    def step(self):
        if self.table is None or self.rows > 20000:
            self.close()
            self.table = self.session.create_table(self.name, {'i': 'int64', 't': 'string'})
            self.rows = 0
        n = self.random.randrange(1, 50)
        rows = range(self.rows, self.rows + n)
        self.table.append({'i': list(rows), 't': [str(i) for i in rows]}, token=self.rows + 1)
        self.rows += n
        if self.random.randrange(5) == 0:
            read = self.table.read().to_pandas()
            check(read.i.tolist() == list(range(self.rows)), f'the {self.rows} rows of a table')
            check(read.t.tolist()[-1] == str(self.rows - 1), 'the text of a table')

    def close(self):
        if self.table is not None:
            table, self.table = self.table, None
            table.drop()


class Channels(Worker):
    """Messages through a channel of its own, put by another thread."""

    def step(self):
        n = self.random.randrange(1, 100)
        with self.session.channel(self.name) as channel:
            try:
                reader = self.session.channel(self.name).join()
                thread = threading.Thread(target=self.put, args=(channel, n))
                thread.start()
                try:
                    got = []
                    while len(got) < n:
                        got.append(reader.get(timeout=30))
                        reader.done()
                finally:
                    thread.join()
                    reader.close()
                check([one['i'] for one in got] == list(range(n)), 'the messages of a channel')
            finally:
                channel.drop()

    @staticmethod
    def put(channel, n):
        for i in range(n):
            channel.put({'i': i}, timeout=30)


class Watchers(Worker):
    """Events, counters, and names that are waited for."""

    def step(self):
        s = self.session
        with s.events(['seal']) as events:
            made = s.put(b'seen')
            deadline = time.monotonic() + 30
            for event in events:
                if event.id == made.id or event.kind in ('lost', 'restart') or time.monotonic() > deadline:
                    break
            check(time.monotonic() < deadline, 'the event of an object never came')
        s.names[self.name] = made
        check(s.names.wait(self.name, timeout=30) == made, 'a name')
        del s.names[self.name]
        counter = s.counter(self.name)
        before = counter.get()
        check(counter.add(2) == before + 2, 'a counter')


class Arrays(Worker):
    """Lazy arrays with their answers by NumPy."""

    def step(self):
        import granary.array as ga

        seed = self.random.randrange(64)
        values = values_of(seed, 4000).astype('f8').reshape(40, 100)
        got = ga.sum(ga.asarray(values) * 2 + 1, axis=self.random.randrange(2))
        want = (values * 2 + 1).sum(axis=0 if got.shape == (100,) else 1)
        check(np.allclose(np.asarray(got), want), 'a sum over an array')


class Dask(Worker):
    """Queries of the cluster that nodes.py keeps, with the answers of one instance."""

    QUESTIONS = ("SELECT k, count(*) AS n, sum(v) AS s, min(v) AS a FROM '{file}' WHERE v >= {least} GROUP BY k ORDER BY k",
                 "SELECT count(DISTINCT v) AS d, avg(v) AS m FROM '{file}' WHERE v >= {least}",
                 "SELECT k, v FROM '{file}' WHERE v >= {least} ORDER BY v, k LIMIT 100")

    def __init__(self, *args):
        super().__init__(*args)
        self.cluster, self.nodes = None, os.environ['GRANARY_LOAD_NODES']

    def step(self):
        if not os.path.exists(self.nodes):
            time.sleep(0.05)
            raise NotYet
        import granary.dask
        from distributed import Client

        if self.cluster is None:
            self.cluster = Client(scheduler_file=self.nodes, timeout=CONNECT_SECONDS)
        text = self.random.choice(self.QUESTIONS).format(file=os.path.join(os.path.dirname(self.nodes), 'nodes.csv'), least=self.random.randrange(1000))
        near = granary.sql(text, timeout=60)
        try:
            far = granary.dask.sql(self.cluster, text, self.random.randrange(2, 5), smallest=1, timeout=60)
        except (OSError, CancelledError, granary.VersionMismatch) as error:  # of Dask, when a node dies under it
            raise granary.Unreachable(str(error)) from error
        check(far.to_dict() == near.to_dict(), f'the answer of two nodes to {text}')

    def close(self):
        if self.cluster is not None:
            self.cluster.close()


KINDS = {one.__name__.lower(): one for one in (Objects, Frames, Functions, Tables, Channels, Watchers, Arrays, Dask)}


def level():
    """Kilobytes of its own memory, and descriptors."""
    gc.collect()
    return own_kb('self'), len(os.listdir('/proc/self/fd'))


def connect(instance):
    """The session. Who starts while the store is being replaced waits for the next one."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return granary.connect(instance)
        except granary.Unreachable:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def tell_what_waits(instance):
    """On standard error: what clients and graphs of the instance wait for, and what its executors do."""
    for words in (['status'], ['why'], ['executors'], ['graphs'], ['stacks', 'all']):
        done = subprocess.run([os.environ['GRANARY_BIN'] + '/granary', *words, '--instance', instance], capture_output=True, text=True, timeout=60)
        print(f'granary {" ".join(words)}:\n{done.stdout[-6000:]}{done.stderr[-1000:]}', file=sys.stderr, flush=True)


def main():
    kind, instance, seed, name = sys.argv[1:]
    session = connect(instance)
    worker = KINDS[kind](session, int(seed), name)
    done = undone = 0
    wrong = None
    warm = None
    kinds_undone = {}
    begun = told = time.monotonic()

    def tell(**more):
        print(json.dumps({'kind': kind, 'done': done, 'undone': undone, 'why': kinds_undone, 'wrong': wrong, **more}), flush=True)

    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            worker.step()
            done += 1
        except NotYet:
            pass
        except Wrong as error:
            wrong = str(error)
            break
        except UNDONE as error:
            undone += 1
            kinds_undone[type(error).__name__] = kinds_undone.get(type(error).__name__, 0) + 1
            if isinstance(worker, Tables):
                worker.table = None  # how far it came is not known: another one is made
                worker.name = f'{name}-{time.monotonic_ns()}'
            elif isinstance(worker, Channels):
                worker.name = f'{name}-{time.monotonic_ns()}'
        except TimeoutError:  # of a future, which nothing excuses
            tell_what_waits(instance)
            raise
        if warm is None and time.monotonic() > begun + WARM_SECONDS:
            warm = level()
        if time.monotonic() > told + TELL_SECONDS:
            tell()
            done, undone, kinds_undone, told = 0, 0, {}, time.monotonic()
    try:
        worker.close()
    except UNDONE:
        pass
    own, descriptors = level()
    session.close()
    tell(grown_kb=own - warm[0] if warm else 0, grown_descriptors=descriptors - warm[1] if warm else 0)


if __name__ == '__main__':
    main()
