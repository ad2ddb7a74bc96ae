#!/usr/bin/python3
"""What becomes of faults, point by point (`granary faults`, docs/operations.md "Making faults happen").

    points.py reach                                every point can be come to: scenarios are run until each has been
    points.py found                                those that something was once lost by, system calls too
    points.py try [--runs N] [--seed S] [--only REGEX] [--each N]
                                                   each point, with each action it knows, once, in a small scenario:
                                                   all of them, or N that the seed picks; at its first hit, or at N hits
                                                   spread over those it has

Of a scenario with a fault each command must succeed or say what went wrong, in time; what was put must be there, byte for
byte, or be refused as damaged where bytes were spoilt; and once the fault is over everything must work, fit together
(fsck) and leave nothing behind.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(os.environ.get('GRANARY_SOURCE', '.')).resolve()
BIN = pathlib.Path(os.environ.get('GRANARY_BIN', 'build/release/bin')).resolve()
PATIENCE = float(os.environ.get('POINTS_PATIENCE', 40))  # seconds: longer is a hang
ERRORS = ['EIO', 'ENOSPC', 'ENOMEM']
# Counted by another test: they need the library that stands before libc.
OUTSIDE = re.compile(r'^(call|alloc)\.')


class Wrong(Exception):
    pass


class World:
    """A directory, an instance in it, and a fault for its processes."""

    preload = None

    def __init__(self, fault=''):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='granary-points-', dir='/tmp'))
        self.instance = self.directory / 'i'
        self.instance.mkdir(mode=0o700)
        self.note = self.directory / 'note'
        self.store = None
        self.spoilt = 'corrupt' in fault
        self.lost = 'drop' in fault and fault.startswith('cli/')
        self.env = {**os.environ, 'GRANARY_INSTANCE': str(self.instance), 'GRANARY_FAULT': fault, 'NO_COLOR': '1',
                    'GRANARY_FAULT_NOTE': str(self.note)}
        if World.preload:
            self.env['LD_PRELOAD'] = str(World.preload)
        self.said = []

    def happened(self):
        return self.note.read_text().strip() if self.note.exists() else ''

    def hits(self):
        """(process, point) -> the most hits a process had of it"""
        found = collections.Counter()
        path = pathlib.Path(str(self.note) + '.hits')
        for line in path.read_text().splitlines() if path.exists() else []:
            process, _, point, hits = line.split()
            found[process, point] = max(found[process, point], int(hits))
        return found

    def command(self, *args, stdin=None):
        """(status, output); what fails must say why, unless the fault killed it."""
        process = subprocess.Popen([BIN / 'granary', *map(str, args)], stdin=subprocess.PIPE if stdin is not None else None,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, cwd=SOURCE)
        try:
            out, err = process.communicate(stdin, timeout=8 if self.lost else PATIENCE)
        except subprocess.TimeoutExpired:
            if self.lost and self.happened():  # nobody says a lost message again: who waits for it can be interrupted
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE)
                return -signal.SIGINT, b''
            stacks = subprocess.run([BIN / 'granary', 'stacks', str(process.pid)], env={**self.env, 'GRANARY_FAULT': ''},
                                    capture_output=True, text=True, timeout=20).stdout
            process.kill()
            process.communicate()
            raise Wrong(f'{args}: hangs\n{stacks}')
        status, err = process.returncode, err.decode(errors='replace')
        self.said.append(f'{" ".join(map(str, args))} -> {status} {err.strip()}')
        if status != 0 and not (status == -signal.SIGKILL and self.happened().startswith('cli ')):
            told = args[0] == 'fsck' and status == 8 and b'DAMAGED' in out
            if status < 0 or not (told or re.search(r'^granary: \S', err, re.M)):
                raise Wrong(f'{args}: status {status}, and says: {err!r}')
        return status, out

    def must(self, *args, stdin=None):
        """Without an error, unless this very command is where the fault happens."""
        before = self.happened()
        status, out = self.command(*args, stdin=stdin)
        if status != 0 and self.happened() != before:
            status, out = self.command(*args, stdin=stdin)
        if status != 0:
            raise Wrong(f'{args}: fails although nothing is wrong any more: {self.said[-1]}\n{out.decode(errors="replace")}')
        return out

    # ---- a store by itself, started again when it dies, as a supervisor would ----

    def start_store(self):
        self.stopping = False
        self.up = threading.Event()
        self.store_failed = None
        self.keeper = threading.Thread(target=self._keep_store)
        self.keeper.start()
        if not self.up.wait(PATIENCE):
            raise Wrong('the store is not ready in time')

    def _keep_store(self):
        failures = 0
        while not self.stopping and failures < 3:
            read, write = os.pipe()
            with open(self.directory / 'store.log', 'ab') as log:
                self.store = subprocess.Popen([BIN / 'granary-store', '--instance', self.instance, '--memory', '4M', '--spill-dir',
                                               self.directory / 'spill', '--ready-fd', str(write)], pass_fds=[write], stderr=log,
                                              env=self.env)
            os.close(write)
            with os.fdopen(read) as line:
                said = line.read()
            if said == 'READY\n':
                failures = 0
                self.up.set()
            elif said or self.store.wait() not in (-signal.SIGKILL, 0):
                self.said.append(f'store: {said.strip()}')
                failures += 1
                if not re.match(r'ERROR \d+ \S', said):
                    self.store_failed = f'the store ended without a word, status {self.store.wait()}'
            status = self.store.wait()
            if status not in (0, -signal.SIGKILL) and said == 'READY\n':
                self.store_failed = f'the store ended with status {status}'
        self.up.set()

    def kill_store(self):
        self.up.clear()
        self.store.kill()
        if not self.up.wait(PATIENCE):
            raise Wrong('the next store is not ready in time')

    def stop_store(self):
        prefix = re.search(r'/dev/shm/(granary\.\d+\.\w+\.)', self.shared_memory())
        self._end_store()
        if self.store.returncode == -signal.SIGKILL:  # the fault was in its end: what it left the next one takes along
            self.start_store()
            self._end_store()
        left = [name for name in os.listdir('/dev/shm') if prefix and name.startswith(prefix[1])]
        if left:
            raise Wrong(f'left behind: {left}')

    def _end_store(self):
        self.stopping = True
        for _ in range(int(PATIENCE * 20)):
            if self.store.poll() is not None:
                break
            self.store.terminate()
            time.sleep(0.05)
        else:
            self.store.kill()
            raise Wrong('the store does not stop')
        self.keeper.join()
        if self.store_failed:
            raise Wrong(self.store_failed)

    def shared_memory(self):
        """The names of its files; the root's tells the directory. (Descriptors of a store are for root to look at.)"""
        for root in pathlib.Path('/dev/shm').glob(f'granary.{os.getuid()}.*.root'):
            with contextlib.suppress(FileNotFoundError), root.open('rb') as file:
                if bytes(self.instance) in file.read(1024):
                    return '\n'.join(map(str, root.parent.glob(root.name[:-4] + '*')))
        return ''

    # ---- its end ----

    def close(self):
        if self.store is not None and self.store.poll() is None:
            self.stopping = True
            self.store.kill()
            self.store.wait()
        subprocess.run([BIN / 'granary', 'down'], env={**self.env, 'GRANARY_FAULT': ''}, capture_output=True, timeout=60)
        shutil.rmtree(self.directory, ignore_errors=True)


# ---- scenarios ----

def data_of(n):
    return random.Random(n).randbytes(700_000 + n)


def id_of(n):
    return hashlib.md5(str(n).encode()).hexdigest()


def retried(world, *args, stdin=None):
    """A store that is down between two lives is no error: the command is given again."""
    for _ in range(20):
        status, out = world.command(*args, stdin=stdin)
        if status != 3:
            break
        world.up.wait(1)
        time.sleep(0.02)
    return status, out


def check_object(world, n, session='default'):
    status, out = retried(world, 'get', '--session', session, id_of(n))
    if status == 0 and out != data_of(n):
        raise Wrong(f'object {n}: wrong bytes')
    if status != 0 and not (world.spoilt and status in (4, 8)):
        raise Wrong(f'object {n}: was put, and cannot be got: {world.said[-1]}')


def fsck(world, *options):
    """What was spoilt is damaged for good; else nothing is."""
    if world.spoilt:
        world.command('fsck', *options)
    else:
        world.must('fsck', *options)


def scenario_store(world):
    world.start_store()
    there = set()
    retried(world, 'session', '--if-not-exist', 'create', 'other')
    if retried(world, 'put', '--session', 'other', '--persist', '--id', id_of(100), '-', stdin=data_of(100))[0] == 0:
        check_object(world, 100, 'other')
    for n in range(8):
        if retried(world, 'put', '--id', id_of(n), '-', stdin=data_of(n))[0] == 0:
            there.add(n)
    retried(world, 'counter', 'c', 'add', '5')
    for n in sorted(there)[:2]:
        retried(world, 'pin', id_of(n))
        retried(world, 'name', f'name{n}', id_of(n))
    for n in sorted(there)[:2]:
        retried(world, 'unpin', id_of(n))
    for n in sorted(there)[2:4]:
        retried(world, 'get', '--range', '1000:2000', id_of(n))
    for n in sorted(there):
        check_object(world, n)
    for n in sorted(there)[-1:]:
        there.discard(n)
        retried(world, 'ref', '--owner', 'test', id_of(n))
        retried(world, 'rm', id_of(n))
        retried(world, 'unref', '--owner', 'test', id_of(n))
    retried(world, 'put', '--contains', id_of(3), '--id', id_of(101), '-', stdin=b'container')
    retried(world, 'move', '--from', 'memory', id_of(2))
    world.kill_store()
    for n in sorted(there):
        check_object(world, n)
    retried(world, 'session', '--if-exist', 'delete', 'other')
    # Now it is over.
    fsck(world, '--quiet')
    for n in (200, 201, 202, 203, 204, 205, 206):
        world.must('put', '--id', id_of(n), '-', stdin=data_of(n))
    for n in (200, 206):
        check_object(world, n)
    for n in sorted(there):
        check_object(world, n)
    fsck(world, '--quiet', '--verify')
    world.stop_store()


def scenario_tables(world):
    """A durable tensor has what was said to be written after all memory was gone."""
    make = 'tensor', 'create', '--if-not-exists', '--durable', 'commit', '--dtype', 'int64', '--shape', '20', 'kept'

    world.start_store()
    retried(world, *make)
    told = [n for n in range(18) if retried(world, 'tensor', 'write', 'kept', n, 1)[0] == 0]
    retried(world, 'tensor', 'create', '--durable', 'commit', '--shape', '3', 'passing')
    retried(world, 'tensor', 'delete', 'passing')
    world.stop_store()
    world.start_store()
    for patience in (1, 0):
        status, out = retried(world, 'tensor', 'read', 'kept')
        if status == 0 or patience == 0:
            break
    found = re.findall(rb'\d', out)
    if not world.spoilt and told and (status != 0 or any(found[n] != b'1' for n in told)):
        raise Wrong(f'{told} were written, and there is {out}: {world.said[-1]}')
    # Now it is over.
    if not world.spoilt:
        world.must(*make)
        world.must('tensor', 'write', 'kept', 19, 7)
        world.must('tensor', 'list')
        world.must('tensor', 'delete', 'kept')
    world.stop_store()


def scenario_torn(world):
    """Somebody removed shared memory while no store was there. What has a copy and is pinned comes back by itself."""
    world.start_store()
    for n in (20, 21):
        retried(world, 'put', '--persist', '--id', id_of(n), '-', stdin=data_of(n)[:1000])
        retried(world, 'pin', '--scope', 'persistent', id_of(n))
    retried(world, 'ref', '--owner', 'test', id_of(21))
    retried(world, 'rm', id_of(21))  # dropped: there for as long as the reference is
    for n in range(3):
        retried(world, 'put', '--id', id_of(n), '-', stdin=data_of(n))
    segments = set(re.findall(r'/dev/shm/granary\S+\.data\d+', world.shared_memory()))
    world.stopping = True
    world.store.kill()
    world.keeper.join()
    for path in segments:
        os.unlink(path)
    world.start_store()
    status, _ = retried(world, 'get', id_of(1))
    if status == 0:
        raise Wrong('an object without memory can be got')
    for n in (20, 21):
        for _ in range(int(PATIENCE * 20)):
            status, out = retried(world, 'stat', '--json', id_of(n))
            if status != 0 or 'memory' in json.loads(out)['levels']:
                break
            time.sleep(0.05)
        if status != 0 or 'memory' not in json.loads(out)['levels']:
            raise Wrong(f"pinned object {n} has not come back: {out}")
    fsck(world)
    world.stop_store()


def scenario_whole(world):
    global wanted
    graph = ['run', '--csv', '--timeout', '5s', SOURCE / 'libclient/examples/birdstrikes.json']
    if world.command('up', '--executors', '1', '--spill-dir', world.directory / 'spill')[0] != 0:
        world.must('up', '--executors', '1', '--spill-dir', world.directory / 'spill')
    status, out = world.command(*graph)
    wanted = wanted or out  # the first run is a calm one
    if status == 0 and out != wanted:
        raise Wrong('the graph gives another result')
    status, out = world.command('status', '--json')
    for scheduler in json.loads(out)['schedulers'] if status == 0 else []:
        with contextlib.suppress(ProcessLookupError):  # it was killed by the fault just now
            os.kill(scheduler['pid'], signal.SIGKILL)
    # Now it is over: at the first or second time, for what is being started again may still meet it.
    for patience in (1, 0):
        status, out = world.command(*graph)
        if status == 0:
            break
        if patience == 0:
            raise Wrong(f'the graph fails although nothing is wrong any more: {world.said[-1]}')
    if out != wanted:
        raise Wrong('the graph gives another result')
    prefix = json.loads((world.instance / 'instance.json').read_text())['shm_prefix'].lstrip('/')
    world.must('down')
    left = [name for name in os.listdir('/dev/shm') if name.startswith(prefix)]
    if left:
        raise Wrong(f'left behind: {left}')


def scenario_midway(world):
    """The scheduler dies when some of a graph's subtasks are done and others are not: the next one reads how far it was."""
    world.must('up', '--executors', '1', '--spill-dir', world.directory / 'spill')
    with subprocess.Popen([BIN / 'granary', 'run', '--csv', SOURCE / 'libclient/examples/birdstrikes.json'],
                          stdout=subprocess.PIPE, env=world.env, cwd=SOURCE) as running:
        graphs = []
        while running.poll() is None and not any(graph['done'] >= 2 for graph in graphs):
            graphs = json.loads(world.must('graphs', '--json'))
        for scheduler in json.loads(world.must('status', '--json'))['schedulers']:
            os.kill(scheduler['pid'], signal.SIGKILL)
        out = running.communicate(timeout=PATIENCE)[0]
    if running.returncode != 0 or not out:
        raise Wrong(f'the graph fails: status {running.returncode}')
    world.must('down')


def scenario_crowd(world):
    """Many clients that stay, with memory for a quarter of what they put: until one had to give up a room it did not use."""
    for seed in range(1, 20):
        world.must('torture', 'store', '--seconds', '2', '--seed', str(seed))
        if ('store', 'spare_taken') in world.hits():
            break


scenarios = {'store': scenario_store, 'tables': scenario_tables, 'whole': scenario_whole, 'torn': scenario_torn,
             'midway': scenario_midway, 'crowd': scenario_crowd}
wanted = b''


def points():
    return {row['point']: row for row in json.loads(subprocess.run([BIN / 'granary', 'faults', '--json'], check=True,
                                                                   capture_output=True, text=True).stdout)}


def run(scenario, fault):
    """(what was wrong or None, what happened, hits)"""
    world = World(fault)
    wrong = None
    try:
        scenarios[scenario](world)
    except Wrong as reason:
        wrong = str(reason)
        for log in [world.directory / 'store.log', *sorted((world.instance / 'log').glob('*.log'))]:
            if log.exists():
                wrong += f'\n--- {log.name}\n' + ''.join(log.read_text(errors='replace').splitlines(True)[-12:])
        wrong += '\n--- said\n' + '\n'.join(world.said[-12:])
    finally:
        happened, hits = world.happened(), world.hits()
        world.close()
    return wrong, happened, hits


# ---- what to try ----

def faults_of(table, hits, each):
    """Every action a point knows, at some of the times it is come to."""
    for (process, point), count in sorted(hits.items()):
        if point not in table:
            continue
        for action in table[point]['actions'].split(','):
            if action == 'delay':
                continue
            for time_ in sorted({1 + (count - 1) * i // max(each - 1, 1) for i in range(each)}):
                for name in [''] if action != 'errno' else ['ENOMEM'] if point == 'alloc.any' else ERRORS:
                    yield f'{process}/{point}:{action}{"=" + name if name else ""}@{time_}'


def attempt(table, arguments):
    chosen = []
    for scenario in [arguments.scenario] if arguments.scenario else ['store', 'tables', 'whole']:
        wrong, _, hits = run(scenario, '')
        if wrong:
            sys.exit(f'{scenario} without a fault: {wrong}')
        chosen += [(scenario, fault) for fault in faults_of(table, hits, arguments.each)]
    chosen = [pair for pair in chosen if re.search(arguments.only, pair[1])]
    random.Random(arguments.seed).shuffle(chosen)
    chosen = chosen[:arguments.runs]
    bad = 0
    happened = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (scenario, fault), (wrong, note, _) in zip(chosen, pool.map(lambda pair: run(*pair), chosen)):
            happened += note != ''
            if wrong:
                bad += 1
                print(f'WRONG {scenario} {fault}: {wrong}\n', flush=True)
            elif arguments.verbose:
                print(f'ok {scenario} {fault}{"" if note else " (did not happen)"}', flush=True)
    print(f'{len(chosen)} faults, {happened} happened, {bad} wrong')
    return bad == 0 and happened > 0


def reach(table):
    missing = {point for point in table if not OUTSIDE.match(point)}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for (scenario, fault), (wrong, _, hits) in zip(REACH, pool.map(lambda pair: run(*pair), REACH)):
            if wrong:
                sys.exit(f'{scenario} {fault}: {wrong}')
            missing -= {point for _, point in hits}
    for point in sorted(missing):
        print(f'nothing comes to {point}')
    return not missing


# What only a store that takes over comes to, after an end like these.
REACH = [('store', ''), ('tables', ''), ('whole', ''), ('store', 'store/object_retiring:kill@2'), ('store', 'store/segment_created:kill@2'),
         ('store', 'store/session_before_magic:kill@2'), ('store', 'store/spill_file_created:kill@1'),
         ('store', 'store/spill_scan:corrupt@1+'), ('torn', ''),
         ('store', 'store/spill_scan:errno=ENOMEM@1'),
         ('midway', 'executor/subtask_begin:delay=400ms@1+'), ('store', 'store/object_before_deleting:kill@1'),
         ('store', 'store/lease_page_fields:kill@3'), ('store', 'store/segment_truncated:kill@1'),
         ('store', 'store/ledger_fields:kill@1'), ('crowd', '')]


# One read that failed made the next store take everything for another boot's, objects of a spill file damaged, and the
# supervisor give the instance up. A store that is killed in its end leaves its root, for the next one to take along.
FOUND = [('store', 'store/call.read:errno=ENOSPC@1'), ('store', 'store/spill_scan:errno=EIO@1'),
         ('whole', 'sched/call.pread:errno=ENOMEM@10'), ('store', 'store/call.unlinkat:kill@1')]


def found():
    good = True
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for (scenario, fault), (wrong, note, _) in zip(FOUND, pool.map(lambda pair: run(*pair), FOUND)):
            if wrong or not note:
                good = False
                print(f'{scenario} {fault}: {wrong or "did not happen"}')
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['reach', 'found', 'try'])
    parser.add_argument('--runs', type=int)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='')
    parser.add_argument('--each', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=4)
    parser.add_argument('--scenario', choices=list(scenarios))
    parser.add_argument('--calls', action='store_true', help='system calls and allocations, too')
    parser.add_argument('--verbose', action='store_true')
    arguments = parser.parse_args()
    World.preload = BIN.parent / 'lib/granary/libgranary-faults.so' if arguments.calls or arguments.what == 'found' else None
    table = points()
    good = reach(table) if arguments.what == 'reach' else found() if arguments.what == 'found' else attempt(table, arguments)
    sys.exit(0 if good else 1)


main()
