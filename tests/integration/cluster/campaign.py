#!/usr/bin/env python3
"""campaign.py [--faults 200] [--seed S] [--keep DIR]: random faults while queries run on four machines with Dask.

Each query is asked of the cluster while one fault, drawn by the seed, strikes at a drawn share of its fragments. Its answer must have the
bytes of one machine's. Where the fault allows an error, the error must be one of those that the fault's row names, and the same call
must succeed when it is made again. After each fault nothing may be left on the nodes of the call, and in the end nothing at all.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import nodes as base
from nodes import BIN, SOURCE, Nodes, machines, until

NODES = 4
CALL_S = 150
HOLD_S = (0.3, 6.0)
FORGET_S = 75
"""Longer than results stay where Dask's scheduler has gone, or was out of reach."""

TENSORS = {
    'mean': {'nodes': {'r': {'op': 'random', 'shape': [40000, 8], 'seed': 5}, 's': {'op': 'multiply', 'input': 'r', 'value': 3},
                       'out': {'op': 'mean', 'input': 's', 'axes': [0]}}, 'targets': ['out']},
    'gram': {'nodes': {'r': {'op': 'random', 'shape': [40000, 8], 'seed': 6}, 't': {'op': 'transpose', 'input': 'r'},
                       'out': {'op': 'matmul', 'inputs': ['t', 'r']}}, 'targets': ['out']}}

STATEMENTS = {
    'groups': 'SELECT l_suppkey, count(*) AS n, sum(l_quantity) AS q, avg(l_extendedprice) AS p FROM lineitem GROUP BY l_suppkey ORDER BY l_suppkey',
    'many_groups': 'SELECT l_orderkey, max(l_shipdate) AS d, sum(l_tax) AS t FROM lineitem GROUP BY l_orderkey ORDER BY t DESC, l_orderkey LIMIT 500',
    'sorted': 'SELECT l_orderkey, l_linenumber, l_extendedprice, l_comment FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber',
    'joined': 'SELECT o_orderpriority, c_mktsegment, count(*) AS n, sum(l_extendedprice) AS p FROM lineitem JOIN orders ON l_orderkey = o_orderkey '
              'JOIN customer ON o_custkey = c_custkey GROUP BY 1, 2 ORDER BY 1, 2',
    'wide': 'SELECT l.*, o_orderdate, o_comment FROM lineitem l JOIN orders ON l_orderkey = o_orderkey WHERE l_quantity < 20 ORDER BY l_orderkey, l_linenumber',
    'window': 'SELECT o_custkey, o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) AS r FROM orders '
              'ORDER BY o_custkey, r',
    'distinct': 'SELECT DISTINCT l_partkey, l_suppkey FROM lineitem ORDER BY 1, 2'}


class Fault:
    """What happens to a node, or to the head. allowed: what an error of the call may say."""

    allowed = None

    def __init__(self, campaign, rng):
        self.campaign = campaign
        self.node = rng.choice(campaign.nodes.nodes)
        self.number = rng.random()
        self.hold = None
        self.draw(rng)

    def draw(self, rng):
        pass

    def strike(self):
        raise NotImplementedError

    def undo(self):
        pass

    def __str__(self):
        return f'{type(self).__name__} on {self.node.name}' + ('' if self.hold is None else f' for {self.hold:.1f} s')


class MachineDies(Fault):
    """The power cord; it boots again after a while."""

    def draw(self, rng):
        self.hold = rng.uniform(*HOLD_S)

    def strike(self):
        self.node.kill()

    def undo(self):
        if not self.node.is_on:
            self.node.boot()


class _Kills(Fault):
    """One process of the node's instance."""

    name = ''

    def strike(self):
        pids = self.campaign.nodes.daemons(self.node, (self.name,)).get(self.name, [])
        if pids:
            os.kill(sorted(pids)[int(self.number * len(pids))], signal.SIGKILL)


class StoreDies(_Kills):
    name = 'granary-store'


class SchedulerDies(_Kills):
    name = 'granary-sched'


class ExecutorDies(_Kills):
    name = 'granary-executor'


class SupervisorDies(_Kills):
    name = 'granary'


class InstanceDies(Fault):
    """All its processes at once."""

    def strike(self):
        for pids in self.campaign.nodes.daemons(self.node, ('granary', *base.DAEMONS)).values():
            for pid in pids:
                _signal(pid, signal.SIGKILL)


class WorkerDies(Fault):
    """dask-worker is killed -9."""

    def strike(self):
        self.campaign.nodes.workers[self.node.name].kill()


class CableIsCut(Fault):
    """And healed after a while, or only when the answer is there."""

    def draw(self, rng):
        self.hold = rng.choice([rng.uniform(*HOLD_S), rng.uniform(*HOLD_S), CALL_S])

    def strike(self):
        self.node.cut()

    def undo(self):
        if self.node.is_on:
            self.node.heal()


class CableIsSlow(Fault):
    """For a while, or until the answer is there."""

    def draw(self, rng):
        self.hold = rng.choice([rng.uniform(*HOLD_S), CALL_S])
        self.rate = rng.choice(['1mbit', '8mbit', '64mbit'])

    def strike(self):
        self.node.slow(self.rate)

    def undo(self):
        if self.node.is_on:
            self.node.slow(None)

    def __str__(self):
        return f'{super().__str__()}: {self.rate}'


class MachineFreezes(Fault):
    """All its processes stop, and go on."""

    def draw(self, rng):
        self.hold = rng.choice([rng.uniform(*HOLD_S), rng.uniform(*HOLD_S), CALL_S])

    def strike(self):
        self.node.freeze()

    def undo(self):
        if self.node.is_on:
            self.node.thaw()


class ProcessFreezes(Fault):
    """One process stops, and goes on."""

    def draw(self, rng):
        self.hold = rng.uniform(*HOLD_S)
        self.name = rng.choice([*base.DAEMONS, 'worker'])
        self.pid = None

    def strike(self):
        if self.name == 'worker':
            self.pid = self.campaign.nodes.workers[self.node.name].pid
        else:
            pids = self.campaign.nodes.daemons(self.node, (self.name,)).get(self.name, [])
            self.pid = sorted(pids)[int(self.number * len(pids))] if pids else None
        if self.pid:
            _signal(self.pid, signal.SIGSTOP)

    def undo(self):
        if self.pid:
            _signal(self.pid, signal.SIGCONT)
            if self.name == 'worker':
                _signal(self.campaign.nodes.workers[self.node.name].outer.pid, signal.SIGCONT)

    def __str__(self):
        return f'{super().__str__()}: {self.name}'


class _Fills(Fault):
    """A private directory of the node is full."""

    path = ''
    allowed = r'No space left|no room|full|not enough memory|out of memory|no memory'

    def draw(self, rng):
        self.hold = rng.choice([rng.uniform(*HOLD_S), CALL_S])

    def strike(self):
        self.node.fill(self.path)

    def undo(self):
        if self.node.is_on:
            self.node.unfill(self.path)


class MemoryIsFull(_Fills):
    path = '/dev/shm'


class SpillIsFull(_Fills):
    path = '/var/tmp'


class TmpIsFull(_Fills):
    path = '/tmp'


class DiesInTransfer(Fault):
    """The cable is slow, so that chunks take their time; when enough has come by it, the machine dies, or another one that sends."""

    def draw(self, rng):
        self.hold = rng.uniform(0.5, 4)
        self.other = rng.choice([one for one in self.campaign.nodes.nodes if one is not self.node])
        self.victim = rng.choice([self.node, self.other])
        self.bytes = int(rng.uniform(20e3, 400e3))
        self.whole = rng.random() < 0.5

    def strike(self):
        self.node.slow('8mbit')
        before, ends = self.node.received(), time.monotonic() + 10
        while self.node.received() < before + self.bytes and time.monotonic() < ends and not self.campaign.answered(0.02):
            pass
        if self.whole:
            self.victim.kill()
        else:
            self.campaign.nodes.workers[self.victim.name].kill()

    def undo(self):
        if self.node.is_on:
            self.node.slow(None)
        if not self.victim.is_on:
            self.victim.boot()

    def __str__(self):
        return f'{"machine" if self.whole else "worker"} {self.victim.name} dies after {self.bytes >> 10} KiB to {self.node.name}'


class DaskSchedulerDies(Fault):
    """And is started again. The call may fail then."""

    allowed = r'scheduler|Dask|lost|closed|cancel'

    def draw(self, rng):
        self.hold = rng.uniform(0.3, 3)

    def strike(self):
        self.campaign.nodes.scheduler.kill()

    def undo(self):
        if self.campaign.nodes.scheduler.poll() is not None:
            self.campaign.nodes.start_scheduler()

    def __str__(self):
        return f"Dask's scheduler dies for {self.hold:.1f} s"


class ClientDies(Fault):
    """It is killed -9, and another one asks the same."""

    def strike(self):
        self.campaign.asker.kill()

    def __str__(self):
        return 'the client dies'


FAULTS = [MachineDies, StoreDies, SchedulerDies, ExecutorDies, SupervisorDies, InstanceDies, WorkerDies, CableIsCut, CableIsSlow, MachineFreezes,
          ProcessFreezes, MemoryIsFull, SpillIsFull, TmpIsFull, DiesInTransfer, DaskSchedulerDies, ClientDies]


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Asker:
    """The client's process, on the head: a fork of this one."""

    def __init__(self, nodes):
        asked, self.ask_by = os.pipe()
        self.told_by, tell_by = os.pipe()
        sys.stdout.flush()
        self.process = machines.Child(lambda: self.run(nodes, asked, tell_by))
        os.close(asked)
        os.close(tell_by)
        self.rest = b''

    @staticmethod
    def run(nodes, asked, tell_by):
        import asker

        with open(nodes.cluster.directory / 'asker.log', 'ab') as log:
            for number, of in enumerate((asked, tell_by, log.fileno())):
                os.dup2(of, number)
        os.closerange(3, 4096)
        os.chdir(nodes.cluster.shared)
        os.environ.update(nodes.head.environment())
        asker.serve(nodes.address)
        os._exit(0)

    def ask(self, what, **given):
        os.write(self.ask_by, json.dumps({'ask': what, **given}).encode() + b'\n')

    def told(self, seconds):
        """The next line, as an object; None when there was none in time, and {} when the client has ended."""
        ends = time.monotonic() + seconds
        while b'\n' not in self.rest:
            if not select.select([self.told_by], [], [], max(0.0, ends - time.monotonic()))[0]:
                return None
            some = os.read(self.told_by, 1 << 16)
            if not some:
                return {}
            self.rest += some
        line, _, self.rest = self.rest.partition(b'\n')
        return json.loads(line)

    def answer(self, what, patience=CALL_S + 60, **given):
        """What is told in the end."""
        self.ask(what, **given)
        ends = time.monotonic() + patience
        while True:
            told = self.told(ends - time.monotonic())
            if told is None:
                return {'error': 'hang', 'text': f'no answer to {what} in {patience} s'}
            if not told or 'share' not in told:
                return told or {'error': 'end', 'text': 'the client ended'}

    def kill(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self):
        os.close(self.ask_by)
        self.process.wait()
        os.close(self.told_by)


class Campaign:
    def __init__(self, nodes, options):
        self.nodes = nodes
        self.options = options
        self.asker = None
        self.queries = {}
        self.want = {}
        self.counts = collections.Counter()
        self.failures = []
        self.last = None
        self.dumped = None

    def prepare(self):
        """Data that all machines see, and the answers of one machine, which is the head."""
        data = self.nodes.cluster.shared / 'tpch'
        data.mkdir()
        subprocess.run([BIN / 'granary-tpch-gen', str(self.options.scale), data], check=True, stdout=subprocess.DEVNULL)
        head = self.nodes.head
        head.run(['granary', 'up', '-e', '1', '--memory', '512M'])
        views = ''.join(f"CREATE VIEW {path.stem} AS SELECT * FROM '{path}';" for path in data.glob('*.csv'))
        head.run(['granary', 'sql', views])
        for path in sorted((SOURCE / 'tools/bench/tpch').glob('q*.sql')):
            self.queries[path.stem] = {'sql': path.read_text().strip().rstrip(';')}
        self.queries.update({name: {'sql': text} for name, text in STATEMENTS.items()})
        self.queries.update({name: {'graph': graph} for name, graph in TENSORS.items()})
        self.asker = Asker(self.nodes)

    def wanted(self, name):
        """The answer of one machine."""
        if name not in self.want:
            told = self.asker.answer('near', **self.queries[name])
            if 'done' not in told:
                raise AssertionError(f'{name} on one machine: {told}')
            self.want[name] = told['done']
        return self.want[name]

    def answered(self, seconds):
        """Whether the call has ended; waits for so long. What it told is kept."""
        if self.last is None:
            told = self.asker.told(seconds)
            if told is not None and 'share' not in told:
                self.last = told or {'error': 'end', 'text': 'the client ended'}
        return self.last is not None

    def strike(self, name, fault, share):
        """Ask, and have the fault when so many of the fragments are done; what was answered."""
        self.last = None
        self.asker.ask('far', timeout=CALL_S, **self.queries[name])
        while True:
            told = self.asker.told(CALL_S + 60)
            if told is None or 'share' not in told:
                self.last = told or {'error': 'hang' if told is None else 'end', 'text': 'no word from the client'}
                break
            if told['share'] >= share:
                break
        self.counts['while it ran' if self.last is None else 'after the answer'] += 1
        fault.strike()
        began = time.monotonic()
        while time.monotonic() < began + (fault.hold or 0) and not self.answered(0.05):
            self.look(began)
        fault.undo()
        ends = time.monotonic() + CALL_S + 60
        while not self.answered(1):
            self.nodes.mend()
            self.look(began)
            if time.monotonic() > ends:
                self.last = {'error': 'hang', 'text': f'no answer in {CALL_S + 60} s'}
        return self.last

    def look(self, began):
        """Keep what Dask believes, once, when a call takes long."""
        if not self.options.keep or self.dumped == began or time.monotonic() < began + CALL_S - 60:
            return
        self.dumped = began
        path = self.nodes.cluster.directory / f'state-{time.monotonic():.0f}'
        text = f'import distributed; distributed.Client("{self.nodes.address}", timeout=20).dump_cluster_state("{path}", format="yaml")'
        self.nodes.head.run([sys.executable, '-c', text], check=False)

    def once(self, number, rng):
        """One fault, and what came of it."""
        kind = FAULTS[number % len(FAULTS)] if self.options.even else rng.choice(FAULTS)
        fault, name, share = kind(self, rng), rng.choice(sorted(self.queries)), rng.uniform(0, 0.9)
        self.wanted(name)
        began = time.monotonic()
        told = self.strike(name, fault, share)
        outcome = 'the same answer'
        wrong = ''
        if 'error' in told:
            outcome = 'a clear error'
            if isinstance(fault, ClientDies):
                outcome = 'the client died'
            elif fault.allowed is None or told['error'] in ('hang', 'end') or not re.search(fault.allowed, told['text']):
                wrong = f'{told["error"]}: {told["text"]}'
        elif told['done'] != self.want[name]:
            wrong = 'another answer'
        took = time.monotonic() - began
        wrong = wrong or self.after(name, told)
        self.counts[(kind.__name__, 'FAILED' if wrong else outcome)] += 1
        print(f'{number:4} {took:5.1f} s  {name:12} at {share:.2f}: {fault}: {"FAILED: " + wrong if wrong else outcome}'
              + (f' ({told["text"].splitlines()[-1][:150]})' if told.get('text') and not wrong else ''), flush=True)
        if wrong:
            self.failures.append(f'{number}: {name}: {fault}: {wrong}')
            self.keep(f'{number}')

    def after(self, name, told):
        """All nodes are there again, the call succeeds that had failed, and nothing is left of it. What was wrong, or nothing."""
        if self.asker.process.poll() is not None:
            self.asker = Asker(self.nodes)

        def whole():
            self.nodes.mend()
            told = self.asker.answer('workers', 60)
            if 'error' in told:
                self.asker.answer('renew', 60)
            return sorted(told.get('done', [])) == sorted(one.name for one in self.nodes.nodes)

        try:
            until(whole, 'the return of all nodes', 120)
            if 'done' not in told:
                again = self.asker.answer('far', timeout=CALL_S, **self.queries[name])
                if again.get('done') != self.want[name]:
                    return f'the call was made again: {again}'
            left = {}

            def clean():
                left.clear()
                self.nodes.mend()  # a node may have noticed only now
                told = self.asker.answer('left', 60)
                left.update(told.get('done', {'error': told}))
                left.update({f'{node.name} has': one for node in self.nodes.nodes if (one := self.nodes.strays(node))})
                return not left

            until(clean, lambda: f'the end of {left}', FORGET_S)
        except AssertionError as error:
            return str(error)
        return ''

    def end(self):
        """Everything in order; what is left anywhere."""
        self.asker.close()
        self.nodes.down()
        self.nodes.head.run(['granary', 'down'])
        left = {}

        def clean():  # a process that was to forget results after a minute, as Dask's scheduler had gone, ends by itself
            left.clear()
            left.update({one.name: some for one in self.nodes.nodes if (some := one.leftovers(base.STAYS))})
            return not left

        with contextlib.suppress(AssertionError):
            until(clean, patience=FORGET_S)
        return left

    def keep(self, name):
        """Logs, for whoever looks into it."""
        if self.options.keep:
            to = pathlib.Path(self.options.keep, name)
            shutil.copytree(self.nodes.cluster.directory, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns('shared'))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--faults', type=int, default=20)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--first', type=int, default=0, help='begin with this fault of the seed')
    parser.add_argument('--scale', type=float, default=0.01, help="TPC-H's")
    parser.add_argument('--even', action='store_true', help='each kind of fault as often as the others')
    parser.add_argument('--only', help='kinds of faults')
    parser.add_argument('--keep', help='a directory for logs of what failed')
    options = parser.parse_args()
    machines.isolate()
    base.imported()
    if options.only:
        FAULTS[:] = [one for one in FAULTS if re.fullmatch(options.only, one.__name__)]
    print(f'seed {options.seed}', flush=True)
    began = time.monotonic()
    keep = [options.keep] if options.keep else []
    with machines.Machines(NODES, shm='512M', environment=base.ENVIRONMENT, keep=keep) as cluster:
        campaign = Campaign(Nodes(cluster), options)
        try:
            campaign.prepare()
            print(f'prepared after {time.monotonic() - began:.1f} s', flush=True)
            campaign.nodes.up()
            wrong = campaign.after('', {'done': ''})
            if wrong:
                raise AssertionError(wrong)
            for number in range(options.first, options.first + options.faults):
                campaign.once(number, random.Random(f'{options.seed} {number}'))
            left = campaign.end()
        except BaseException:
            print(cluster.log(), file=sys.stderr)
            raise
    for what, count in sorted(campaign.counts.items(), key=str):
        print(f'{count:5}  {what if isinstance(what, str) else ": ".join(what)}')
    for one in campaign.failures:
        print(f'FAILED: {one}')
    if left:
        print(f'left: {left}')
    print(f'{options.faults} faults, {len(campaign.failures)} failures, {"nothing" if not left else "something"} left')
    sys.exit(1 if campaign.failures or left else 0)


if __name__ == '__main__':
    main()
