#!/usr/bin/python3
"""The prompt of `granary sql`, driven by tmux: editing, history, completion, statements of several lines, Ctrl-C, the pager, .read,
narrow and wide terminals; and a terminal that is broken, an instance that goes and comes back, 10 MB that are pasted.

    prompt.py BIN_DIRECTORY

Nothing waits for a time: each step ends when the terminal shows what must come, or fails after PATIENCE seconds.
"""
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import PATIENCE, CommandLine, until

SOCKETS = []
SLOW = 'select count(*) from range(4000000000) a(x) where sin(x) > 2;'

if shutil.which('tmux') is None:
    print('tmux is not there')
    sys.exit(77)


class Terminal:
    """A tmux server with one window, in which the prompt runs."""

    def __init__(self, line, width=80, height=24, **environment):
        self.directory = line.directory
        self.socket = str(line.directory / f'tmux{len(SOCKETS)}')  # one that ends is there for a moment
        SOCKETS.append(self.socket)
        variables = {'PATH': f'{line.binaries}:{os.environ["PATH"]}', 'GRANARY_INSTANCE': line.environment['GRANARY_INSTANCE'],
                     'XDG_STATE_HOME': str(line.directory / 'state'), 'HOME': str(line.directory), 'LC_ALL': 'C', 'PAGER': 'less -SRX', **environment}
        given = ' '.join(f"{name}='{value}'" for name, value in variables.items() if value is not None)
        unset = ' '.join(f'-u {name}' for name, value in variables.items() if value is None)
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(width), '-y', str(height),
                  f'cd {line.directory}; env {unset} {given} granary sql; echo ENDED $?; exec cat')
        self.tmux('set-option', '-g', 'history-limit', '50000')

    def tmux(self, *words, **options):
        return subprocess.run(['tmux', '-u', '-S', self.socket, *words], check=True, capture_output=True, text=True, **options).stdout

    def shown(self):
        return self.tmux('capture-pane', '-p', '-J')

    def see(self, text):
        try:
            return until(text, lambda: self.shown() if text in self.shown() else None)
        except AssertionError as error:
            raise AssertionError(f'{error}:\n{self.shown()}') from None

    def not_shown(self, text):
        until(f'a screen without {text}', lambda: text not in self.shown())

    def type(self, text):
        self.tmux('send-keys', '-l', '--', text[:-1] + '\\;' if text.endswith(';') else text)

    def key(self, *names):
        self.tmux('send-keys', *names)

    def at_prompt(self):
        """Ctrl-D and its like, typed while a statement runs, are no keys of the prompt behind it."""
        lines = [line for line in self.shown().split('\n') if line.strip()]
        return bool(lines) and lines[-1].startswith('granary>')

    def cancel(self):
        """Ctrl-C at the prompt. Terminals drop keys that come before it was dealt with."""
        before = self.shown().count('^C')
        self.key('C-c')
        until('^C', lambda: self.shown().count('^C') > before)

    def press(self, key, sees):
        """A key that may be dropped, and does the same when it comes twice."""
        def seen():
            self.key(key)
            return sees in self.shown()

        until(sees, seen)

    def enter(self, text, sees=None):
        self.type(text)
        self.see(text[-30:])
        self.key('Enter')
        if sees is not None:
            self.see(sees)

    def clear(self):
        def cleared():
            self.key('C-l')  # again: keys that come while Ctrl-C is dealt with are dropped, as a shell drops them
            return len(self.shown().split()) <= 1

        until('an empty screen', cleared)

    def paste(self, text, bracketed=True):
        self.tmux('load-buffer', '-', input=text)
        self.tmux('paste-buffer', *(['-p'] if bracketed else []))

    def end(self):
        until('the prompt', self.at_prompt)
        self.key('C-d')
        self.see('ENDED 0')
        self.stop()

    def stop(self):
        subprocess.run(['tmux', '-S', self.socket, 'kill-server'], capture_output=True)


def editing(line):
    t = Terminal(line)
    t.see('granary>')
    t.enter('selct 40 + 2 as answer;', 'syntax error')
    t.clear()
    t.key('Up')  # the line again
    t.see('selct 40')
    t.key('Home')
    t.key('Right', 'Right', 'Right')
    t.type('e')
    t.see('select 40')
    t.key('Enter')
    t.see('│     42 │')
    t.clear()
    t.enter("select 'one", "...'>")
    t.enter("; two'", '...')
    t.enter('as text, (1 +', '...(>')
    t.enter('2) as three /* not', '...*>')
    t.enter('; yet */', '...')
    t.enter(';', 'one\\n; two')
    t.clear()
    t.enter('select 1 as a; select 2 as b;', '│     2 │')
    t.clear()
    t.enter('select 3 as c; -- a comment', '│     3 │')
    t.enter('select nope;', 'line 1, column 8')
    t.clear()
    t.type('this is no statement')
    t.see('no statement')
    t.cancel()
    t.enter("select 'open", "...'>")
    t.cancel()
    t.enter('select 7 as seven;', '│     7 │')
    t.clear()
    t.type("select 'ä日本' as Ü")
    t.key('BSpace')
    t.type('u;')
    t.key('Enter')
    t.see('│ ä日本  │')
    t.end()


def history(line):
    """Lines are there in the next prompt, and for nobody else."""
    t = Terminal(line)
    t.see('granary>')
    t.enter('select 12345 as first;', '│ 12345 │')
    os.kill(pid_of_prompt(line), signal.SIGKILL)  # whatever ends it
    t.see('ENDED')
    t.stop()
    t = Terminal(line)
    t.see('granary>')
    t.key('Up')
    t.see('select 12345 as first;')
    t.cancel()
    t.key('C-r')
    t.type('12345')
    t.see('select 12345')
    t.cancel()
    t.end()
    kept = line.directory / 'state' / 'granary' / 'sql_history'
    assert kept.stat().st_mode & 0o777 == 0o600, oct(kept.stat().st_mode)
    kept.write_text(''.join(f'select {i};\n' for i in range(100000)))
    t = Terminal(line)
    t.see('granary>')
    t.key('Up')
    t.see('select 99999;')
    t.cancel()
    t.end()
    assert len(kept.read_text().split('\n')) < 3000, 'the history is bounded'
    kept.unlink()
    kept.symlink_to('/dev/null')  # no file of ours
    t = Terminal(line)
    t.see('the history is not kept')
    t.enter('select 5 as five;', '│     5 │')
    t.end()
    kept.unlink()


def pid_of_prompt(line):
    """The one that has no parent of its own name."""
    for entry in pathlib.Path('/proc').iterdir():
        try:
            words = (entry / 'cmdline').read_bytes().split(b'\0')
            environment = (entry / 'environ').read_bytes()
            parent = pathlib.Path('/proc', (entry / 'stat').read_text().rsplit(')', 1)[1].split()[1], 'cmdline').read_bytes()
        except (OSError, IndexError):
            continue
        if words[:2] == [b'granary', b'sql'] and str(line.directory).encode() in environment and not parent.startswith(b'granary'):
            return int(entry.name)
    raise AssertionError('no prompt runs')


def completion(line):
    line.must('sql', 'create table orders (order_number int, "Übung" text)')
    line.must('sql', 'create view order_view as select order_number from orders')
    line.must('sql', '--keep', 'ordered', 'select 1 as kept_column')
    (line.directory / 'some_file.csv').write_text('from_file\n1\n')
    t = Terminal(line)
    t.see('granary>')
    t.type('summ')
    t.key('Tab')
    t.see('granary> summarize')
    t.cancel()
    t.type('select string_a')
    t.key('Tab')
    t.see('granary> select string_agg')
    t.cancel()
    t.type('select row_n')
    t.key('Tab')
    t.see('granary> select row_number')
    t.cancel()
    t.type('SELE')
    t.key('Tab')
    t.see('granary> SELECT')
    t.cancel()
    t.clear()
    t.type('select ord')
    t.key('Tab')
    t.key('Tab')
    shown = t.see('order_view')
    assert 'ordered' in shown and 'orders' in shown and 'order' in shown, shown
    t.cancel()
    t.clear()
    t.type('select * from orders where order_n')
    t.key('Tab')
    t.see('where order_number')
    t.cancel()
    t.clear()
    t.type("select * from 'some_f")
    t.key('Tab')
    t.see("'some_file.csv")
    t.type("';")
    t.key('Enter')
    t.see('from_file')
    t.clear()
    t.type('.sche')
    t.key('Tab')
    t.see('granary> .schema')
    t.type(' orders')
    t.key('Enter')
    t.see('"Übung" VARCHAR')
    t.end()


def interrupts(line):
    t = Terminal(line)
    t.see('granary>')
    t.type(SLOW)
    t.key('Enter')
    until('a graph that runs', lambda: '[]' not in line.must('graphs', '--json', '--state', 'running'))
    t.key('C-c')
    t.see('interrupted')
    until('a graph that has gone', lambda: '[]' in line.must('graphs', '--json', '--state', 'running'))
    t.enter('select 8 as eight;', '│     8 │')
    t.clear()
    t.type('create table slow as ' + SLOW)
    t.key('Enter')
    until('a graph that runs', lambda: '[]' not in line.must('graphs', '--json', '--state', 'running'))
    t.key('C-c')
    t.see('was done as a whole or not at all')
    until('a graph that has gone', lambda: '[]' in line.must('graphs', '--json', '--state', 'running'))
    t.enter('select count(*) from slow;', "no table 'slow'")
    t.clear()
    t.type(SLOW)
    t.key('Enter')
    until('a graph that runs', lambda: '[]' not in line.must('graphs', '--json', '--state', 'running'))
    os.kill(pid_of_prompt(line), signal.SIGKILL)  # what it has started goes with it
    until('a graph that has gone', lambda: '[]' in line.must('graphs', '--json', '--state', 'running'))
    t.stop()


def pager(line):
    t = Terminal(line)
    t.see('granary>')
    t.enter('.maxrows 0')
    t.enter('select * from range(1000) r(number);')
    t.see('│     10 │')
    t.not_shown('granary>')
    t.key('C-c')  # is the pager's
    t.press('G', '│    999 │')
    t.key('q')
    t.see('granary>')
    t.enter('.pager off')
    t.clear()
    t.enter('select * from range(200) r(number);')
    t.see('│    199 │')
    t.see('granary>')
    t.end()
    t = Terminal(line, PAGER='/nonexistent/pager')
    t.see('granary>')
    t.enter('.maxrows 0')
    t.enter('select * from range(60) r(number);')
    t.see('│     59 │')
    t.end()


def dots(line):
    (line.directory / 'inner.sql').write_text("select 'from inner' as place;\n")
    (line.directory / 'script.sql').write_text(".mode line\nselect 1 as one,\n 2 as two;\n.read inner.sql\nselect 'last without end' as l")
    (line.directory / 'bad.sql').write_text('select 1;\n\nselect nosuch from range(3);\n')
    (line.directory / 'loop.sql').write_text('.read loop.sql\n')
    t = Terminal(line)
    t.see('granary>')
    t.enter('.read script.sql', 'l = last without end')
    assert 'one = 1' in t.shown() and 'place = from inner' in t.shown(), t.shown()
    t.clear()
    t.enter('.read bad.sql', 'line 3, column 8')
    t.enter('.read loop.sql', 'more than 16 files')
    t.enter('.read nosuch.sql', 'nosuch.sql')
    t.clear()
    t.enter('.mode markdown')
    t.enter("select 'a|b' as x;", '| a\\|b |')
    t.enter('.mode csv')
    t.enter("select 'a|b' as x;", 'a|b')
    t.enter('.plot bar')
    t.enter("select 'a' as label, 2 as n;", 'a |###')
    t.enter('.plot nix', 'bar|line|hist, or off')
    t.enter('.plot off')
    t.enter('.mode nix', 'box|markdown|csv|json|ndjson|line|table')
    t.enter('.mode box')
    t.enter('.nullvalue -none-')
    t.enter('select null::int as n;', '-none-')
    t.enter('.timer on')
    t.enter('select 1 as t;', 'Time: ')
    t.enter('.timer off')
    t.clear()
    t.enter('.output written.txt')
    t.enter("select 'in the file' as f;")
    t.enter('.output written.csv')
    t.enter("select 'in the file' as f, 'a,b' as g;")
    t.enter('.output')
    t.enter("select 'a,b' as f;", '│ a,b')
    t.enter('.tabels', "did you mean '.tables'")
    t.enter('.help timer', 'how long each statement took')
    t.enter('.help nosuch', 'no topic')
    t.enter('.cd /nonexistent', 'cannot be entered')
    t.enter('.width x', 'a number from 0')
    t.enter('.read', '.read needs FILE')
    t.enter('.tables no*match')
    t.enter('.quit', 'ENDED 0')
    t.stop()
    assert '│ in the file' in (line.directory / 'written.txt').read_text()
    assert (line.directory / 'written.csv').read_text() == 'f,g\nin the file,"a,b"\n'


def terminals(line):
    columns = ', '.join(f'{i} as column_{i}' for i in range(30))
    for width in (12, 40, 80, 200):
        t = Terminal(line, width=width)
        t.see('granary>')
        (line.directory / 'wide.sql').write_text(f"select {columns};\nselect 'done' as d;\n")
        t.enter('.read wide.sql', 'done')
        shown = t.shown()
        boxes = [row for row in shown.split('\n') if row[:1] in ('┌', '│', '├', '└')]
        assert boxes and all(len(row.rstrip()) <= width for row in boxes), shown
        assert width > 100 or '…' in shown, shown
        t.end()
    t = Terminal(line)
    t.see('granary>')
    t.tmux('resize-window', '-x', '30', '-y', '10')  # SIGWINCH
    t.enter('.read wide.sql', 'done')
    assert all(len(row.rstrip()) <= 30 for row in t.shown().split('\n')), t.shown()
    t.end()
    for terminal in ('dumb', None, 'nosuchterminal'):
        t = Terminal(line, TERM=terminal)
        t.see('granary>')
        t.type('select 3 as')
        t.key('Enter')
        t.see('...')
        t.type('three;')
        t.key('Enter')
        t.see('│     3 │')
        t.type('select')
        t.cancel()
        t.type('select 4 as four;')
        t.key('Enter')
        t.see('│     4 │')
        t.end()


def on_pty(line, given, wait=None, environment=()):
    """The prompt on a terminal of size 0. Returns what it said, and how it ended."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(line.environment, XDG_STATE_HOME=str(line.directory / 'state'), TERM='xterm', **dict(environment))
        os.execv(line.binaries / 'granary', ['granary', 'sql'])
    said = b''
    sent = False
    while True:
        if not sent and b'granary> ' in said:
            os.write(fd, given)
            sent = True
            if wait is None:
                os.close(fd)  # the terminal goes
                fd = -1
                break
        if not select.select([fd], [], [], PATIENCE)[0]:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f'nothing comes any more behind {said[-300:]!r}')
        try:
            block = os.read(fd, 65536)
        except OSError:
            break
        if not block:
            break
        said += block
        if wait is not None and wait in said and b'granary> ' in said.split(wait)[-1]:
            os.write(fd, b'\x04')
            wait = b'never'
    try:
        ended = until('the end of the prompt', lambda: (lambda done: done[1] + 1 if done[0] else None)(os.waitpid(pid, os.WNOHANG))) - 1
    except AssertionError:
        os.kill(pid, signal.SIGKILL)
        raise
    if fd >= 0:
        os.close(fd)
    return said.decode(errors='replace'), ended


def broken_terminals(line):
    said, ended = on_pty(line, b'select 6 as six;\r', wait='│     6 │'.encode())
    assert ended == 0, said
    said, ended = on_pty(line, b"select '\xff\xfe' as odd, 9 as nine;\r", wait='│     9 │'.encode())
    assert ended == 0, said
    on_pty(line, b"select 'no end")  # hung up in the middle: it ends, which waitpid() tells


def vanished(line):
    t = Terminal(line)
    t.see('granary>')
    t.enter('select 1 as before;', '│      1 │')
    line.must('down')
    t.enter('select 2 as without;', 'is not up')
    line.up()
    t.clear()
    t.enter('select 3 as again;', '│     3 │')
    t.end()


def pasted(line):
    t = Terminal(line)
    t.see('granary>')
    t.paste('select 1 as one;\nselect 22 as two;\nselect 333 as')
    t.see('│    22 │')
    t.see('...')
    t.enter(' three;', '│   333 │')
    t.clear()
    t.paste('select 4444 as short')
    t.see('short')
    t.type(', 5 as typed;')
    t.key('Enter')
    t.see('│  4444 │')
    t.clear()
    lines = ''.join(f'-- line {i} of a text that is pasted, and has nothing but comments in it\n' for i in range(140000))
    assert len(lines) > 10_000_000
    for bracketed in (True, False):
        t.paste(lines + 'select 55555 as behind;\n', bracketed)
        t.see('│  55555 │')
        t.clear()
    t.paste("select length('" + 'x' * 10_000_000 + "');\n")  # a statement is 256 KiB at most
    t.see('it can have')
    t.clear()
    t.enter('select 6 as six;', '│     6 │')
    t.end()


def from_pipes(line):
    """Statements of a pipe: one after the other, up to the first that fails."""
    def run(text, *options):
        return subprocess.run([line.binaries / 'granary', 'sql', *options], input=text, capture_output=True, env={**os.environ, **line.environment})

    ended = run(b'select 1 as a;\nselect 2 as b; select nosuch; select 3 as c;')
    assert ended.returncode == 4 and b'a\n1\nb\n2\n' in ended.stdout and b'3' not in ended.stdout, ended
    assert b'line 2, column 23' in ended.stderr, ended
    assert b'line 4, column 16' in run(b'-- a comment\n\n/* and\n one */ select nosuch from range(3);').stderr
    assert run(b'').returncode == 2
    assert run(b'\xff\xfe;').returncode != 0
    assert run(b"select 'no end").returncode != 0
    ended = run(b'.mode csv\nselect 1 as a, 2 as b;\n.nosuch\nselect 3;')
    assert ended.stdout == b'a,b\n1,2\n' and ended.returncode == 2, ended
    ended = run(b'', '--mode', 'json', "select $x as t, 1 - ? as n", '--param', "x=it's", '--param', '1=-5')
    assert ended.stdout == b'[{"t":"it\'s","n":6}]\n', ended
    ended = run(b'select 1 as a;\nselect 2 \0+ 100;')
    assert ended.returncode != 0 and b'has a NUL' in ended.stderr and b'102' not in ended.stdout and b'2\n' not in ended.stdout, ended
    ended = run(b'', '--param', 'x=1', 'select $x as a; select 2 as b')
    assert ended.stdout == b'a\n1\nb\n2\n', ended
    ended = run(b'', '--param', 'x=1', '--param', 'y=2', 'select $x as a')
    assert ended.returncode != 0 and b'$y' in ended.stderr, ended
    ended = run(b'select 1 as a', '-')
    assert ended.returncode == 0 and ended.stdout == b'a\n1\n', ended
    ended = run(b'', 'explain analyze select 1')
    assert ended.returncode == 0 and b'subtask' in ended.stdout, ended
    for bad, word in (('select $x', 'parameter $x has no value'), ('select $1 + ?', 'parameter $1 has no value'), ('select nope', "no column 'nope'; there is no FROM"), ('begin', 'each statement is a transaction'), ('set x = 1', 'settings'), ('pragma y', 'settings'), ('prepare p as select 1', '--param')):
        ended = run(b'', bad)
        assert ended.returncode != 0 and word.encode() in ended.stderr, ended


PARTS = (from_pipes, editing, history, completion, interrupts, pager, dots, terminals, broken_terminals, pasted, vanished)


class Line(CommandLine):
    def __init__(self, binaries):
        super().__init__(binaries, memory='128M')
        self.binaries = binaries
        self.directory = pathlib.Path(self.base)


def main():
    chosen = sys.argv[2:]
    with Line(pathlib.Path(sys.argv[1]).resolve()) as line:
        try:
            for part in PARTS:
                if not chosen or part.__name__ in chosen:
                    begun = time.monotonic()
                    part(line)
                    print(f'{part.__name__}: {time.monotonic() - begun:.1f} s', flush=True)
        finally:
            for socket in SOCKETS:
                subprocess.run(['tmux', '-S', socket, 'kill-server'], capture_output=True)


main()
