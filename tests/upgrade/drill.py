"""The programs of an instance are replaced while a hundred clients read and write; nothing is lost, and no call fails.

    drill.py SOURCE BUILD            once, by the same programs in other files
    drill.py SOURCE BUILD --later    and a second time, by a release whose layouts of shared memory and messages have a
                                     number more; it is built first, below BUILD/later

Clients are those of before, all the time. At the end both releases work with the instance.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

CLIENTS = 90  # beside them, ten ask for queries
PROGRAMS = ['granary', 'granary-store', 'granary-sched', 'granary-executor']
ROWS = 20000


def build_later(source, build):
    """A release to come: one number more of each. Returns the folder of its programs."""
    tree = build / 'later' / 'source'
    shutil.rmtree(build / 'later', ignore_errors=True)
    for name in subprocess.run(['git', 'ls-files', '-z'], cwd=source, capture_output=True, check=True, text=True).stdout.split('\0'):
        if name and (source / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, tree / name)
    more = 0
    for name, pattern in (('include/contract/versions.h', r'(define GR_\w+_VERSION +)(\d+)'), ('include/contract/granary.proto', r'(PROTOCOL = )(\d+)')):
        text, count = re.subn(pattern, lambda found: found[1] + str(int(found[2]) + 1), (tree / name).read_text())
        (tree / name).write_text(text)
        more += count
    assert more == 4, more
    for command in (['cmake', '--preset', 'release', '-B', build / 'later' / 'build'], ['cmake', '--build', build / 'later' / 'build', '--target', *PROGRAMS]):
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return build / 'later' / 'build' / 'bin'


def install(programs, into):
    """As a package is unpacked: other files take the places of those that run."""
    for name in PROGRAMS:
        shutil.copy2(programs / name, into / f'{name}.new')
        os.replace(into / f'{name}.new', into / name)


class Drill:
    def __init__(self, build, work):
        self.build, self.work, self.installed = build, work, work / 'bin'
        self.installed.mkdir()
        install(build / 'bin', self.installed)
        self.environment = {**os.environ, 'GRANARY_INSTANCE': str(work / 'i'), 'LD_LIBRARY_PATH': str(build / 'lib')}
        self.clients, self.askers, self.asked, self.wrong = [], [], [0] * (100 - CLIENTS), []
        self.over = threading.Event()

    def call(self, *arguments, programs=None):
        """What the command prints; of those of before, or of another folder."""
        done = subprocess.run([(programs or self.build / 'bin') / 'granary', *arguments], env=self.environment, cwd=self.work, text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f'{arguments}: {done.stderr.strip()}')
        return done.stdout

    def ask(self, number):
        """Queries until it is over, each of a client of its own."""
        while not self.over.is_set() and not self.wrong:
            try:
                count = self.call('sql', '--csv', '--no-recall', f'SELECT count(*), sum(n) FROM kept WHERE n % {number + 2} = 0').split()[-1]
                assert count == f'{len(range(0, ROWS, number + 2))},{sum(range(0, ROWS, number + 2))}', count
                self.asked[number] += 1
            except AssertionError as error:
                self.wrong.append(str(error))

    def begin(self):
        self.call('up', '--executors', '2', '--memory', '256M', '--spill-dir', str(self.work / 'spill'), programs=self.installed)
        (self.work / 'numbers.csv').write_text('n\n' + '\n'.join(map(str, range(ROWS))) + '\n')
        self.call('load', 'kept', 'numbers.csv')
        self.clients = [subprocess.Popen([self.build / 'tests' / 'steady', str(i)], env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                        for i in range(CLIENTS)]
        for client in self.clients:
            if client.stdout.readline() != 'ready\n':
                raise AssertionError(client.stderr.read())
        self.askers = [threading.Thread(target=self.ask, args=(i,)) for i in range(len(self.asked))]
        for asker in self.askers:
            asker.start()

    def goes_on(self):
        """Each of those that ask has had an answer that it asked for from now on, and no client has ended."""
        for number, before in enumerate(list(self.asked)):
            while self.asked[number] < before + 2 and not self.wrong:
                self.over.wait(0.01)
        assert not self.wrong, self.wrong
        ended = [client.stderr.read() for client in self.clients if client.poll() is not None]
        assert not ended, ended

    def replace(self, programs, layout):
        """Install other programs, and let them take over."""
        before = {row['process']: row['pid'] for row in json.loads(self.call('version', '--all', '--json'))}
        install(programs, self.installed)
        self.call('upgrade', programs=self.installed)
        after = {row['process']: row['pid'] for row in json.loads(self.call('version', '--all', '--json'))}
        kept = [name for name in before if before[name] == after.get(name)]
        assert kept == ['supervisor', 'pool'], (before, after)
        self.goes_on()
        assert self.layout() == layout

    def layout(self):
        """The version of the instance's shared memory."""
        prefix = json.loads((self.work / 'i' / 'instance.json').read_text())['shm_prefix']
        with open(f'/dev/shm{prefix}root', 'rb') as file:
            return int.from_bytes(file.read(12)[8:], 'little')

    def end(self):
        """Rounds of the clients, questions that were answered."""
        self.over.set()
        for asker in self.askers:
            asker.join()
        rounds = 0
        for client in self.clients:
            client.send_signal(signal.SIGTERM)
        for client in self.clients:
            out, err = client.communicate()
            assert client.returncode == 0, err
            rounds += int(out)
        return rounds, sum(self.asked)

    def down(self):
        self.over.set()
        for client in self.clients:
            client.kill()
            client.wait()
        subprocess.run([self.build / 'bin' / 'granary', 'down'], env=self.environment, capture_output=True)


def main():
    source, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    later = build_later(source, build) if '--later' in sys.argv else None
    with tempfile.TemporaryDirectory(prefix='granary-test-') as work:
        drill = Drill(build, pathlib.Path(work))
        try:
            drill.begin()
            layout = drill.layout()
            drill.replace(build / 'bin', layout)
            if later:
                drill.replace(later, layout)
            rounds, asked = drill.end()
            for programs in filter(None, (build / 'bin', later)):  # old ones and new ones
                assert drill.call('sql', '--csv', 'SELECT count(*) FROM kept', programs=programs).split()[-1] == str(ROWS)
                drill.call('fsck', programs=programs)
            print(f'{rounds} rounds of {CLIENTS} clients and {asked} queries; layout {layout}')
            if later:  # a new instance has the new layout, which clients of before are told
                drill.call('down', programs=later)
                drill.call('up', '--executors', '1', '--memory', '64M', programs=later)
                assert drill.layout() == layout + 1
                try:
                    drill.call('ls')
                    raise SystemExit('a client of before reads a layout that it does not know')
                except AssertionError as error:
                    assert f'shared memory of version {layout + 1}, this granary reads {layout}: use the granary that made it' in str(error), error
        finally:
            drill.down()


main()
