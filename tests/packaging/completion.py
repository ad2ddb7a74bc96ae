"""Completion in shells as users have them: bash, and zsh where it is. Each runs on a terminal of its own, gets the beginning of
a line and a tab, and then prints the words that the line has become."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile

BIN = os.environ['GRANARY_BIN']
SOURCE = os.environ['GRANARY_SOURCE']

# What is typed, and the words that the tab leaves. Of several candidates, what they begin with.
LINES = [
    ('statu', ['status']),
    ('ls --ses', ['ls', '--session=']),
    ('up --state=s', ['up', '--state=sqlite']),
    ('up --state s', ['up', '--state', 'sqlite']),
    ('info exec', ['info', 'executors']),
    ('session we', ['session', 'weight']),
    ('bench mix --cl', ['bench', 'mix', '--clients=']),
    ('get name:bi', ['get', 'name:bind it']),
    ('get name:pl', ['get', 'name:plain']),
    ('get name:dol', ['get', 'name:dollar $(touch here) `touch here` "\'; *']),  # a name is no command
    ('rm {begin}', ['rm', '{id}']),
    ('ls --session=te', ['ls', '--session=team']),
    ('ls --session te', ['ls', '--session', 'team']),
    ('--session=team get name:', ['--session=team', 'get', 'name:']),  # no command: nothing is known
    ('get --session=team name:', ['get', '--session=team', 'name:theirs']),
    ('-i nowhere get name:', ['-i', 'nowhere', 'get', 'name:']),
    ('get -i {instance} name:pl', ['get', '-i', '{instance}', 'name:plain']),
    ('get -i /nowhere name:pl', ['get', '-i', '/nowhere', 'name:pl']),
    ('counter ro', ['counter', 'rows']),
    ('counter rows se', ['counter', 'rows', 'set']),
    ('table read r', ['table', 'read', 'readings']),
    ('tensor info b', ['tensor', 'info', 'board']),
    ('channel get jo', ['channel', 'get', 'jobs']),
    ('stop str', ['stop', 'strikes']),
    ('put LICEN', ['put', 'LICENSE']),
    ('load x tools/packag', ['load', 'x', 'tools/packag']),  # two: a program and a folder
    ('snapshot libcl', ['snapshot', 'libclient/']),
    ('up --spill-dir=libcl', ['up', '--spill-dir=libclient/']),
    ('nothing ', ['nothing']),
]

SHELLS = {
    'bash': (['bash', '--norc', '--noprofile', '-i'], '. <("$GRANARY_BIN/granary" help --completion bash); HISTFILE=; PS1='),
    'zsh': (['zsh', '-f', '-i'], 'autoload -U compinit; compinit -u -D; . <("$GRANARY_BIN/granary" help --completion zsh); PS1='),
}


def granary(*words, **more):
    return subprocess.run([BIN + '/granary', *words], check=True, stdout=subprocess.PIPE, encoding='utf-8', **more).stdout.strip()


class Terminal:
    """A shell on a terminal."""

    def __init__(self, words, begin):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM='dumb', INPUTRC='/dev/null')
            os.execvp(words[0], words)
        self.type(begin + "; words() { printf 'WO''RDS'; printf '<%s>' \"$@\"; echo E''ND; }; words\n")
        self.read(b'END')

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, until):
        got = b''
        while until not in got:
            if not select.select([self.fd], [], [], 60)[0]:
                sys.exit(f'nothing more than {got!r}')
            got += os.read(self.fd, 65536)
        return got.decode(errors='replace')

    def completed(self, line):
        """The words behind `granary`; ^A goes to the beginning of the line."""
        self.type('granary ' + line + '\t\x01words \n')
        got = self.read(b'END').replace('\r', '').replace('\n', '')
        found = re.search(r'WORDS<granary>((?:<[^>]*>)*)END', got)
        return re.findall(r'<([^>]*)>', found.group(1)) if found else got

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def main():
    work = tempfile.mkdtemp(prefix='granary-test-')
    os.environ['GRANARY_INSTANCE'] = instance = work + '/i'
    os.environ['PATH'] = BIN + ':' + os.environ['PATH']
    os.chdir(SOURCE)
    failed = 0
    try:
        granary('up', '--executors', '1', '--memory', '32M')
        birds = 'libclient/examples/data/birdstrikes.csv'
        granary('load', 'strikes', birds)
        identifier = granary('put', birds)
        granary('name', 'bind it', identifier)
        granary('name', 'plain', identifier)
        granary('name', 'dollar $(touch here) `touch here` "\'; *', identifier)
        granary('session', 'create', 'team')
        granary('name', '--session', 'team', 'theirs', granary('put', '--session', 'team', birds))
        granary('counter', 'rows', 'add', '1')
        granary('table', 'create', 'readings', 'a:int64')
        granary('tensor', 'create', 'board', '--shape', '4', '--dtype', 'int64')
        granary('channel', 'create', 'jobs')
        places = {'id': identifier, 'begin': identifier[:9], 'instance': instance}
        known = {line.split('\t')[0] for line in granary('help', '--complete', '').split('\n')}
        told = set(re.findall(r'^  ([a-z]+) ', granary('help'), re.M))
        if known != told | {'help'}:
            failed += 1
            print(f'commands that are not completed, or are none: {known ^ told}')
        for shell, (words, begin) in SHELLS.items():
            if shutil.which(shell) is None:
                print(f'{shell} is not there: not tried')
                continue
            terminal = Terminal(words, begin)
            for line, wanted in LINES:
                got = terminal.completed(line.format(**places))
                # zsh takes the slash of a directory back when the word ends.
                if [word.rstrip('/') for word in got] != [word.format(**places).rstrip('/') for word in wanted]:
                    failed += 1
                    print(f'{shell}: {line!r}: {got}, not {wanted}')
            terminal.end()
        # A store that hangs: the shell has its prompt back, without names.
        store = next(d['pid'] for d in json.loads(granary('status', '--json'))['daemons'] if d['name'] == 'store')
        os.kill(store, signal.SIGSTOP)
        hung = granary('help', '--complete', 'get', 'name:')
        os.kill(store, signal.SIGCONT)
        # The store's names are read without it, so they may be told; what a scheduler knows is not asked here.
        if hung not in ('', 'name:bind it\nname:board\nname:dollar $(touch here) `touch here` "\'; *\nname:jobs\nname:plain\nname:readings'):
            failed += 1
            print(f'with a store that hangs: {hung!r}')
    finally:
        granary('down')
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
