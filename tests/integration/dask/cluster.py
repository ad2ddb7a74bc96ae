"""A small cluster for tests: Dask's scheduler and workers as processes, each worker with an instance of granary of its own.

When it ends, nothing may be left: no process, no directory, and no shared memory of an instance.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = os.path.abspath(os.environ.setdefault('GRANARY_BIN', 'build/release/bin'))
PACKAGE = os.path.join(os.path.dirname(BIN), 'python')
sys.path.insert(0, PACKAGE)
for name in ('GRANARY_INSTANCE', 'GRANARY_SESSION'):
    os.environ.pop(name, None)
os.environ['PYTHONPATH'] = os.pathsep.join([PACKAGE, os.path.dirname(os.path.abspath(__file__))])
os.environ['GRANARY_RECALL'] = 'off'  # so that what is released is gone
os.environ['DASK_DISTRIBUTED__WORKER__DAEMON'] = 'False'
os.environ['DASK_DISTRIBUTED__ADMIN__LOG_FORMAT'] = '%(message)s'

import granary  # noqa: E402
import granary.dask  # noqa: E402
from distributed import Client  # noqa: E402
from granary.dask import _plan  # noqa: E402

PATIENCE_S = 60


def until(condition, what='it', patience=PATIENCE_S):
    """Wait for what other processes do."""
    ends = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f'{what} did not happen in {patience} s')
        time.sleep(0.05)
    return found


def processes(word):
    """Those with a word in their arguments or environment."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            if word.encode() in (path / 'cmdline').read_bytes() + (path / 'environ').read_bytes():
                if (path / 'stat').read_text().rpartition(')')[2].split()[0] != 'Z':
                    found.append(int(path.name))
    return [one for one in found if one != os.getpid()]


class Cluster:
    """directory: of its own, named in the environment of all that it starts."""

    def __init__(self, workers=2, options=(), environment=None, executors=1, memory='128M', nodes=True, security=None):
        self.directory = tempfile.mkdtemp(prefix='granary-dask-')
        self.environment = {**os.environ, 'TMPDIR': self.directory, **(environment or {})}
        self.options = options
        self.started = []
        self.shared = set()
        self.client = None
        self.workers = {}
        try:
            self.scheduler = self.start('dask-scheduler', '--host', '127.0.0.1', '--port', '0', '--scheduler-file', self.file)
            for number in range(workers):
                self.add(f'n{number + 1}')
            until(lambda: os.path.exists(self.file), 'the scheduler')
            self.client = Client(scheduler_file=self.file, timeout=PATIENCE_S, security=security)
            self.client.wait_for_workers(workers, timeout=PATIENCE_S)
            if nodes:
                granary.dask.start_nodes(self.client, executors=executors, memory=memory)
                self.note()
        except BaseException:
            self.close()
            raise

    @property
    def file(self):
        return os.path.join(self.directory, 'scheduler.json')

    def log(self):
        texts = [path.read_text() for path in sorted(pathlib.Path(self.directory).glob('*.log'))]
        return '\n'.join(line for text in texts for line in text.splitlines() if 'out-of-band' not in line)

    def start(self, *command, **environment):
        log = open(os.path.join(self.directory, f'{len(self.started)}.log'), 'w')
        with log:
            self.started.append(subprocess.Popen([sys.executable, f'/usr/bin/{command[0]}', *command[1:], '--no-dashboard', *self.options], stdout=log,
                                                 stderr=log, cwd=self.directory, env={**self.environment, **environment}))
        return self.started[-1]

    def add(self, name, *more, **environment):
        self.workers[name] = self.start('dask-worker', '--scheduler-file', self.file, '--name', name, '--nthreads', '2', '--no-nanny', '--memory-limit', '0',
                                        '--local-directory', os.path.join(self.directory, name), *more, **environment)

    def address(self, name):
        """Dask's, once the worker is there."""
        def known():
            return [address for address, one in self.client.scheduler_info()['workers'].items() if one['name'] == name]
        return until(known, f'worker {name}')[0]

    def on(self, name, function, *arguments):
        """Have a worker's process call function(node, ...)."""
        return self.client.run(_with_node, function, arguments, workers=[self.address(name)]).popitem()[1]

    def note(self):
        """The shared memory of all instances there are, to be looked at in the end."""
        for pid in processes(self.directory):
            with contextlib.suppress(OSError):
                self.shared |= {line.split()[5] for line in pathlib.Path(f'/proc/{pid}/maps').read_text().splitlines() if ' /dev/shm/granary.' in line}

    def store(self, name):
        """Processes of the worker's instance."""
        instance = self.on(name, lambda node: node.session.instance)
        return [pid for pid in processes(instance) if os.path.dirname(os.path.realpath(f'/proc/{pid}/exe')) == os.path.realpath(BIN)]

    def left(self):
        """What lies on the nodes, when nothing is wanted of them: graphs and objects, by node."""
        return {address: one for address, one in self.client.run(_with_node, _left, ()).items() if any(one)}

    def close(self):
        if self.shared:
            self.note()
        if self.client is not None:
            self.client.close()
        # The scheduler last: a worker that is told to end twice at once, by a signal and by its scheduler, may wait for ever in Dask's own loop.
        for these in (self.started[1:], self.started[:1]):
            for one in these:
                one.send_signal(signal.SIGTERM)
            for one in these:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.wait(PATIENCE_S)
        try:
            until(lambda: not processes(self.directory), f'the end of processes: {processes(self.directory)}')
            until(lambda: not [one for one in self.shared if os.path.exists(one)], 'the end of shared memory')
            remains = [one.name for one in pathlib.Path(self.directory).glob('granary*')]
            assert not remains, remains
        finally:
            for pid in processes(self.directory):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.directory, ignore_errors=True)


def _with_node(function, arguments, dask_worker):
    from granary.dask import _plugin

    return function(_plugin.node_of(dask_worker), *arguments)


def _left(node):
    """Chunks go when nobody maps them any more."""
    return [one['key'] for one in node.client.info('graphs')[0]], [one['id'].hex() for one in node.client.list_objects() if one['state'] != 'deleting']


class ClusterTest(unittest.TestCase):
    """A cluster for the class. Each test leaves nothing on the nodes."""

    workers = 2
    options = ()
    environment = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.workers, cls.options, cls.environment)
        cls.client = cls.cluster.client
        cls.addClassCleanup(cls.cluster.close)

    def tearDown(self):
        if any(test is self for test, _ in self._outcome.result.failures + self._outcome.result.errors):
            print(self.cluster.log()[-6000:], file=sys.stderr)
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')


def stage(name, graph, target='out', partitions=1, inputs=None, part_of=(), chunks=0):
    """A stage as a plan has it. Its digest is of its name and graph."""
    import hashlib
    import json

    digest = hashlib.md5(json.dumps([name, graph, inputs]).encode()).hexdigest()
    return {'name': name, 'digest': digest, 'partitions': partitions, 'graph': {'nodes': graph, 'targets': [target]}, 'part_of': list(part_of),
            'inputs': {node: {'stage': one, 'take': take} for node, (one, take) in (inputs or {}).items()}, 'chunks': chunks, 'about': ''}


def plan(*stages, kind='frame', version=granary.__version__):
    """A plan whose only target is the last stage."""
    return {'granary_fragments': 1, 'version': version, 'partitions': max(one['partitions'] for one in stages), 'stages': list(stages),
            'targets': [{'name': 'result', 'stage': stages[-1]['name'], 'kind': kind}], 'gathered': [], 'decided': []}


def in_thread(function, *arguments, **options):
    """A call that goes on meanwhile: call() gives what it returned, or raises what it raised."""
    outcome = []

    def run():
        try:
            outcome.append((True, function(*arguments, **options)))
        except BaseException as error:
            outcome.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def call():
        thread.join(PATIENCE_S)
        good, what = outcome[0]
        if good:
            return what
        raise what
    call.thread = thread
    return call


__all__ = ['BIN', 'Client', 'Cluster', 'ClusterTest', 'PACKAGE', 'PATIENCE_S', 'granary', 'in_thread', 'plan', 'processes', 'stage', 'until', '_plan']
