"""Dask's scheduler on the head, and a worker on each of some simulated machines, which is a node of granary. They are started again
when they have ended, as a service manager would do it."""
import contextlib
import os
import pathlib
import re
import signal
import sys
import time

SOURCE = pathlib.Path(os.environ.get('GRANARY_SOURCE', pathlib.Path(__file__).parents[3])).resolve()
BIN = pathlib.Path(os.environ.get('GRANARY_BIN', SOURCE / 'build/release/bin')).resolve()
sys.path.insert(0, str(SOURCE / 'tests/support/py'))

import machines  # noqa: E402

PATIENCE_S = 60
PORT = 8786

ENVIRONMENT = {
    'PYTHONPATH': str(BIN.parent / 'python'), 'PYTHONDONTWRITEBYTECODE': '1', 'GRANARY_BIN': str(BIN), 'GRANARY_SOURCE': str(SOURCE),
    'PATH': f'{BIN}:{os.environ["PATH"]}', 'GRANARY_RECALL': 'off',  # so that what is released is gone
    # Dask finds in less than a minute that a machine has vanished. To connect may take its usual 30 s: a busy machine is not a dead one.
    'DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL': '30s', 'DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP': '13s',
    'DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES': '10', 'DASK_DISTRIBUTED__ADMIN__LOG_FORMAT': '%(asctime)s %(name)s %(message)s'}

STAYS = [r'file /tmp/dask', r'file /tmp/granary-0(/.default.log(/.*)?)?$']
"""What Dask leaves of its own where a worker was killed, and the logs of an instance that was not private."""

DAEMONS = ('granary-store', 'granary-sched', 'granary-executor')


def until(condition, what='it', patience=PATIENCE_S):
    """Wait for what other processes do."""
    ends = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f'{what() if callable(what) else what} did not happen in {patience} s')
        time.sleep(0.05)
    return found


def _dask(name, *words):
    """One of Dask's commands, for a fork."""
    def dask():
        import importlib

        sys.argv = [name, *words]
        importlib.import_module(f'distributed.cli.{name}').main()
    return dask


def imported():
    """What all of them would import, once: they are forks of this process."""
    os.environ.update(ENVIRONMENT)
    sys.path.insert(0, ENVIRONMENT['PYTHONPATH'])
    for name in ('XDG_RUNTIME_DIR', 'TMPDIR', 'GRANARY_INSTANCE', 'GRANARY_SESSION'):
        os.environ.pop(name, None)
    import distributed.cli.dask_scheduler
    import distributed.cli.dask_worker
    import granary.dask
    import numpy
    import pandas  # noqa: F401


class Nodes:
    """Nodes with odd numbers have an instance that is the worker's own; those with even ones one that is up before the worker is."""

    def __init__(self, cluster, executors=1, memory='192M'):
        self.cluster = cluster
        self.head = cluster.head
        self.nodes = cluster.nodes
        self.size = ['-e', str(executors), '--memory', memory]
        self.workers = {}
        self.scheduler = None

    @property
    def address(self):
        return f'tcp://{self.head.address}:{PORT}'

    def up(self):
        self.start_scheduler()
        for node in self.nodes:
            self.start(node)

    def start_scheduler(self):
        self.scheduler = self.head.fork(_dask('dask_scheduler', '--host', self.head.address, '--port', str(PORT), '--no-dashboard'))

    @staticmethod
    def has_own(node):
        """Its instance is the worker's own."""
        return node.number % 2 == 1

    def instance_is_up(self, node):
        return node.run(['granary', 'status'], check=False, timeout=30).returncode == 0

    def start(self, node):
        """What a machine's boot starts. The instance first, where it is not the worker's own."""
        if not self.has_own(node) and not self.instance_is_up(node):
            node.run(['granary', 'up', *self.size], timeout=120)
        self.workers[node.name] = node.fork(_dask(
            'dask_worker', self.address, '--preload', 'granary.dask', '--name', node.name, '--host', node.address, '--no-nanny', '--nthreads', '2',
            '--memory-limit', '0', '--no-dashboard', '--local-directory', '/tmp/dask'))
        return self.workers[node.name]

    def mend(self):
        """Whatever has ended is started again. True: all was there."""
        whole = True
        if self.scheduler.poll() is not None:
            self.start_scheduler()
            whole = False
        for node in self.nodes:
            if not node.is_on:
                node.boot()
            worker = self.workers.get(node.name)
            if worker is None or worker.poll() is not None:
                self.start(node)
                whole = False
        return whole

    def daemons(self, node, names=DAEMONS):
        """Numbers of granary's processes on a machine, by what they are."""
        found = {}
        for pid in node.processes():
            with contextlib.suppress(OSError):
                name = os.path.basename(os.readlink(f'/proc/{pid}/exe'))
                if name in names or (name == 'granary' and 'granary' in names):
                    found.setdefault(name, []).append(pid)
        return found

    def strays(self, node):
        """What is of no instance that is up there: shared memory, and stores beyond one."""
        prefixes = set()
        for pid in self.daemons(node, ('granary-store',)).get('granary-store', []):
            with contextlib.suppress(OSError):
                prefixes |= set(re.findall(r'/dev/shm/(granary\.[^.\s]*\.)', pathlib.Path(f'/proc/{pid}/maps').read_text()))
        shm = [one for one in os.listdir(node.see('/dev/shm')) if not any(one.startswith(prefix) for prefix in prefixes)]
        stores = self.daemons(node, ('granary-store',)).get('granary-store', [])
        return shm + ([f'stores {stores}'] if len(stores) > 1 else [])

    def down(self):
        """All in order: workers, then the scheduler, then instances."""
        for worker in self.workers.values():
            worker.signal(signal.SIGTERM)
        for worker in self.workers.values():
            worker.wait()
        self.scheduler.stop()
        for node in self.nodes:
            if not self.has_own(node):
                node.run(['granary', 'down'], timeout=120)
