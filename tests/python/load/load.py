"""A mixed load of Python processes on one instance, with kills: `load.py [--minutes M] [--seed N] [--no-kills]`.

Processes of each kind of worker.py run in rounds. In a round, workers, slots, executors, the scheduler and the store are killed at
random times. At its end the workers stop, what killed ones had named is deleted, and nothing may be left: no object, no lease, no
client, no descriptor, no shared memory. Memory of the daemons and of the workers may not grow from round to round. Prints a line a
round and a summary; exit status 1 and the reason when something is wrong.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(os.environ.setdefault('GRANARY_BIN', 'build/release/bin'))
sys.path[:0] = [os.path.join(os.path.dirname(BIN), 'python')]

import granary  # noqa: E402

from own_memory import own_kb  # noqa: E402

KINDS = ('objects', 'frames', 'functions', 'tables', 'channels', 'watchers', 'arrays')
ROUND_SECONDS = 30
SETTLE_SECONDS = 60  # in which everything has gone, on a busy machine
DAEMON_KB = 24 * 1024  # that a daemon's own memory may grow by after the first rounds: heaps and remembered runs
WORKER_KB = 24 * 1024
ROOM_SHARE = 32  # a client keeps a room to write in, of at most this part of memory: the store takes it when others need it
BLOWS = ('worker', 'worker', 'slot', 'slot', 'executor', 'sched', 'store')


def processes(instance):
    """Pids by kind of what runs for an instance."""
    found = {'store': [], 'sched': [], 'pool': [], 'executor': [], 'slot': []}
    executors = set()
    lines = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as file:
                words = file.read().split('\0')
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
                parent = file.read().rsplit(')', 1)[1].split()[1]
        except OSError:
            continue
        lines[pid] = (words, parent)
        name = os.path.basename(words[0])
        if instance in words and name.startswith('granary-'):
            kind = 'pool' if '--pool' in words else name[len('granary-'):]
            found[kind].append(int(pid))
            if kind == 'executor':
                executors.add(pid)
    for pid, (words, parent) in lines.items():
        if any('granary._slot' in word for word in words) and parent in executors:
            found['slot'].append(int(pid))
    return found


class Load:
    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.session = granary.up(executors=2, memory='256M')
        self.workers = {}
        self.totals = {'done': 0, 'undone': 0, 'kills': {}}
        self.levels = []
        self.wrong = []
        self.number = 0

    # ---- workers ----

    def start(self, kind):
        self.number += 1
        arguments = [sys.executable, '-B', os.path.join(HERE, 'worker.py'), kind, self.session.instance,
                     str(self.random.randrange(2**32)), f'load-{kind}-{self.number}']
        self.workers[kind] = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def stop(self, kind):
        """End a worker, and look at what it tells."""
        process = self.workers.pop(kind)
        try:
            told, _ = process.communicate(timeout=SETTLE_SECONDS * 2)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            process.communicate()
            self.wrong.append(f'{kind}: it did not end within {SETTLE_SECONDS * 2} s')
            return
        if process.returncode == -signal.SIGKILL:
            return
        try:
            lines = [json.loads(line) for line in told.splitlines()]
            summary = lines[-1] | {name: sum(one[name] for one in lines) for name in ('done', 'undone')}
        except (IndexError, ValueError):
            self.wrong.append(f'{kind}: it ended with status {process.returncode}')
            return
        self.totals['done'] += summary['done']
        self.totals['undone'] += summary['undone']
        if self.options.verbose:
            print(json.dumps(summary))
        if summary['wrong']:
            self.wrong.append(f"{kind}: wrong: {summary['wrong']}")
        if summary['grown_kb'] > WORKER_KB:
            self.wrong.append(f"{kind}: its memory grew by {summary['grown_kb']} KB in {summary['done']} operations")
        if summary['grown_descriptors'] > 8:
            self.wrong.append(f"{kind}: it has {summary['grown_descriptors']} descriptors more than after its warm-up")

    # ---- kills ----

    def blow(self):
        """Kill a process at random."""
        what = self.random.choice(BLOWS)
        if what == 'worker':
            kind = self.random.choice(KINDS)
            self.workers[kind].kill()
            self.workers[kind].communicate()
            self.start(kind)
        else:
            pids = processes(self.session.instance)[what]
            if not pids:
                return
            try:
                os.kill(self.random.choice(pids), signal.SIGKILL)
            except ProcessLookupError:
                return
        self.totals['kills'][what] = self.totals['kills'].get(what, 0) + 1

    # ---- rounds ----

    def round(self, seconds):
        for kind in KINDS:
            self.start(kind)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            # The pace of kills is part of the load, not a wait for anything.
            time.sleep(min(left, self.random.uniform(1, 5)))
            if not self.options.no_kills and time.monotonic() < end:
                self.blow()
            for kind, process in list(self.workers.items()):
                if process.poll() is not None:
                    self.stop(kind)
                    self.start(kind)
        for kind in list(self.workers):
            self.stop(kind)
        self.settle()

    def left(self):
        """What should not be there, as text; empty: nothing."""
        session = self.session
        for table in session.tables():
            session.table(table['name']).drop()
        for channel in session.channels():
            session.channel(channel['name']).drop()
        for name in list(session.names):
            if name.startswith('load-'):
                del session.names[name]
        graphs = session.info('graphs')  # of programs that were killed, too: none stays
        self.granary('recall', 'clear')  # results are kept to be recalled: those are not left over
        if session.info('functions'):
            self.granary('unexport', 'granary_host')  # nor is the library that runs slots
        stat = session.stat()
        running = len(processes(session.instance)['executor'])
        left = [f"graph {graph['key']} {graph['state']}" for graph in graphs]
        if stat['objects']:
            left.append(f"{stat['objects']} objects of {stat['sealed_bytes']} bytes")
        if stat['writing_bytes'] > stat['clients'] * stat['capacity_bytes'] / ROOM_SHARE:
            left.append(f"{stat['writing_bytes']} bytes being written")
        if stat['clients'] > running + 4:
            left.append(f"{stat['clients']} clients")
        return ', '.join(left)

    def granary(self, *arguments, show=False):
        done = subprocess.run([os.path.join(BIN, 'granary'), *arguments, '--instance', self.session.instance], check=not show,
                              capture_output=True, text=True)
        if show:
            print(*arguments, done.stdout[:4000], done.stderr, sep='\n')

    def settle(self):
        end = time.monotonic() + SETTLE_SECONDS
        left = 'the instance does not answer'
        while time.monotonic() < end:
            try:
                left = self.left()
                if not left:
                    break
            except (granary.Error, subprocess.CalledProcessError) as error:
                left = str(error)
            time.sleep(0.1)  # polled: no event tells that the last client has been cleaned up
        else:
            self.wrong.append(f'left after a round: {left}')
            for what in (['ls'], ['clients'], ['graphs']):
                self.granary(*what, show=True)
        pids = processes(self.session.instance)
        self.levels.append({kind: max([own_kb(pid) for pid in pids[kind]], default=0) for kind in ('store', 'sched', 'pool', 'executor')}
                           | {'shm': sum(1 for _ in self.shm()), 'descriptors': len(os.listdir('/proc/self/fd'))})

    def shm(self):
        with open(os.path.join(self.session.instance, 'instance.json'), encoding='utf-8') as file:
            prefix = json.load(file)['shm_prefix'].lstrip('/')
        return (one for one in os.listdir('/dev/shm') if one.startswith(prefix))

    def run(self):
        end = time.monotonic() + self.options.minutes * 60
        rounds = 0
        while not self.wrong and (left := end - time.monotonic()) > 0:
            self.round(min(left, ROUND_SECONDS))
            rounds += 1
            print(f"round {rounds}: {self.totals['done']} operations, {self.totals['undone']} undone by kills, "
                  f"kills {self.totals['kills']}, {self.levels[-1]}", flush=True)
        self.grown()
        directory, prefix_left = self.session.instance, list(self.shm())
        self.session.down()
        prefix_left = [one for one in prefix_left if os.path.exists(f'/dev/shm/{one}')]
        if prefix_left or any(processes(directory).values()):
            self.wrong.append(f'left after the end: {prefix_left} {processes(directory)}')
        shutil.rmtree(directory, ignore_errors=True)
        for one in self.wrong:
            print(f'WRONG: {one}')
        print(f"{self.totals['done']} operations, {sum(self.totals['kills'].values())} kills, {len(self.wrong)} wrong")
        return 1 if self.wrong or self.totals['done'] == 0 else 0

    def grown(self):
        """What is least in the last third of the rounds may not be more than what was most in the first, the very first aside:
        how many segments lie idle, and which executors are young, differs from round to round."""
        third = len(self.levels) // 3
        for what in self.levels[0] if third > 0 else []:
            before = max(level[what] for level in self.levels[1 : 1 + third])
            after = min(level[what] for level in self.levels[-third:])
            if after > before + (DAEMON_KB if what in ('store', 'sched', 'pool', 'executor') else 8):
                self.wrong.append(f'{what}: at most {before} in the first rounds, at least {after} in the last')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=0.5)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--no-kills', action='store_true', help='a load without kills')
    parser.add_argument('--verbose', action='store_true', help="each worker's summary")
    return Load(parser.parse_args()).run()


if __name__ == '__main__':
    sys.exit(main())
