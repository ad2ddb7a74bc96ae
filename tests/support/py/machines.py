"""Several simulated machines on this one, for tests of what happens between machines and when one of them dies.

A machine is a set of namespaces: it has a network address behind a cable of its own, a host name, processes, and an own /dev/shm, /tmp,
/var/tmp and /run of given sizes. All else is this machine's, so programs and the checkout are there. A directory is shared.

    machines.isolate()                      # first thing in a test's program: it runs in namespaces of its own from here on
    with Machines(2) as cluster:
        cluster.nodes[0].run(['granary', 'up'])
        cluster.nodes[0].kill()             # the power cord: no process ends in order, no connection is closed
        cluster.nodes[0].boot()             # the same address and name, and an empty /tmp and /dev/shm

isolate() needs root or user namespaces, and ends a program with exit status 77 where there is neither. Whatever way the program ends,
all its machines end with it, and nothing is left on the host.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

_INSIDE = 'GRANARY_MACHINES'
_NAMESPACES = ('--net', '--uts', '--mount', '--pid', '--ipc', '--fork', '--kill-child=KILL', '--mount-proc')
_NETWORK = '10.77.0'
_HEAD = 254
_PRIVATE = ('/dev/shm', '/tmp', '/var/tmp', '/run')
_PATIENCE_S = 60
_PR_SET_PDEATHSIG = 1

# A private directory: directory, size, and what lies below it and is to be seen all the same.
_MOUNT = '''
private() {
    mount -n -t tmpfs -o "size=$2,mode=1777" tmpfs /mnt
    local at=$1 path
    shift 2
    for path in "$@"; do
        case $path in "$at"/*)
            if [ -d "$path" ]; then mkdir -p "/mnt/${path#"$at"/}"; else mkdir -p "$(dirname "/mnt/${path#"$at"/}")"; : >"/mnt/${path#"$at"/}"; fi
            mount -n --bind "$path" "/mnt/${path#"$at"/}" ;;
        esac
    done
    mount -n --move /mnt "$at"
}
'''

# What is process 1 of a machine: it reaps what is left to it, and ends when nobody holds its standard input any more.
_INIT = 'set -e; hostname "$NAME"; ip link set lo up;' + _MOUNT + '''
for one in $SIZES; do private "${one%=*}" "${one#*=}" "$@"; done
echo booted
read -r _
ip link set eth0 address "$MAC"; ip addr add "$ADDRESS/24" dev eth0; ip link set eth0 up
echo connected
read -r _ || exit 0
'''


def isolate():
    """Run this program once more in namespaces of its own, unless it does, and end with its exit status."""
    if _INSIDE in os.environ:
        return
    user = [] if os.geteuid() == 0 else ['--user', '--map-root-user']
    again = ['setpriv', '--pdeathsig', 'KILL', 'unshare', *user, *_NAMESPACES]
    tried = subprocess.run([*again, 'sh', '-c', 'ip link add br0 type bridge && ip link add v0 type veth peer name v1 && mount -t tmpfs tmpfs /mnt'],
                           capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        print(f'skipped: simulated machines need root or user namespaces, and iproute2: {tried.stderr.strip()}', file=sys.stderr)
        sys.exit(77)
    child = subprocess.Popen([*again, sys.executable, *(['-B'] if sys.dont_write_bytecode else []), *sys.argv], env={**os.environ, _INSIDE: '1'})
    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells the child, too
    status = child.wait()
    sys.exit(status if status >= 0 else 128 - status)


def _children(pid):
    with contextlib.suppress(OSError):
        return [int(one) for one in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    return []


def _until(condition, what, patience=_PATIENCE_S):
    ends = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f'{what} did not happen in {patience} s')
        time.sleep(0.01)
    return found


class Program:
    """A program in the background of a machine."""

    def __init__(self, machine, argv, env, log):
        self.argv = list(argv)
        self.log = pathlib.Path(log)
        with open(log, 'wb') as out:
            self.outer = subprocess.Popen(machine.command(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=machine.environment(env))
        self._inner = not machine.is_head

    @property
    def pid(self):
        """Its number as this program sees it; None when it has ended. (nsenter is its parent, and to kill that is not to stop it.)"""
        if not self._inner:
            return self.outer.pid if self.outer.poll() is None else None
        found = _until(lambda: _children(self.outer.pid) or self.outer.poll() is not None, f'the start of {self.argv[0]}')
        return found[0] if found is not True else None

    def signal(self, number):
        pid = self.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        """-9, and wait for its end."""
        self.signal(signal.SIGKILL)
        return self.wait()

    def stop(self, patience=_PATIENCE_S):
        """In order: SIGTERM; its exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(patience)

    def poll(self):
        return self.outer.poll()

    def wait(self, timeout=_PATIENCE_S):
        return self.outer.wait(timeout)

    def text(self):
        """What it wrote."""
        return self.log.read_text(errors='replace')


class Forked(Program):
    """A function of this program as a program of a machine: what was imported here need not be imported there."""

    def __init__(self, machine, function, env, log):
        self.argv = [function.__name__]
        self.log = pathlib.Path(log)
        self._inner = not machine.is_head
        sys.stdout.flush()
        sys.stderr.flush()
        self.outer = Child(lambda: _become(machine, function, machine.environment(env), log))


class Child:
    """A child of this process, as subprocess has them."""

    def __init__(self, run):
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                run()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=_PATIENCE_S):
        _until(lambda: self.poll() is not None, f'the end of process {self.pid}', timeout)
        return self.returncode


def _become(machine, function, env, log):
    """This process is forked: it enters the machine, and a child of it runs the function there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(log, 'wb') as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    with open(os.devnull, 'rb') as nothing:
        os.dup2(nothing.fileno(), 0)
    os.closerange(3, 4096)
    os.environ.clear()
    os.environ.update(env)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    spaces = [] if machine.is_head else [os.open(f'/proc/{machine.pid}/ns/{one}', os.O_RDONLY) for one in ('net', 'uts', 'ipc', 'pid', 'mnt')]
    for one in spaces:
        if libc.setns(one, 0) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
        os.close(one)
    os.chdir(machine.cluster.shared)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    child = 0 if machine.is_head else os.fork()
    if child == 0:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        status = 1
        try:
            function()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(status if status >= 0 else 128 - status)


class Machine:
    """One of them."""

    is_head = False

    def __init__(self, cluster, number, name):
        self.cluster = cluster
        self.number = number
        self.name = name
        self.address = f'{_NETWORK}.{number}'
        self.pid = None
        """Of its process 1, as this program sees it; None while it is off."""
        self.programs = []
        self._outer = None
        self._boots = 0
        self._full = {}

    # ---- programs ----

    def command(self, argv):
        inside = ['nsenter', '-t', str(self.pid), '-n', '-u', '-m', '-p', '-i', 'env', '-C', str(self.cluster.shared)]
        return [*([] if self.is_head else inside), 'setpriv', '--pdeathsig', 'KILL', *map(str, argv)]

    def environment(self, env=None):
        known = {name: value for name, value in os.environ.items() if name not in
                 ('XDG_RUNTIME_DIR', 'TMPDIR', 'GRANARY_INSTANCE', 'GRANARY_SESSION', _INSIDE)}
        return {**known, 'HOME': '/tmp', **self.cluster.environment, **(env or {})}

    def run(self, argv, env=None, timeout=_PATIENCE_S, check=True, **options):
        """A program to its end; what subprocess.run() gives, with output as text. What it has started goes on."""
        done = subprocess.run(self.command(argv), env=self.environment(env), timeout=timeout, capture_output=True, text=True, check=False, **options)
        if check and done.returncode != 0:
            raise AssertionError(f'{self.name}: {" ".join(map(str, argv))}: exit status {done.returncode}: {done.stdout}{done.stderr}')
        return done

    def start(self, argv, env=None):
        """A program in the background."""
        self.programs = [one for one in self.programs if one.poll() is None]
        self.cluster.logs += 1
        self.programs.append(Program(self, argv, env, self.cluster.directory / f'{self.cluster.logs:03}-{self.name}.log'))
        return self.programs[-1]

    def fork(self, function, env=None):
        """The same of a function of this program."""
        self.programs = [one for one in self.programs if one.poll() is None]
        self.cluster.logs += 1
        self.programs.append(Forked(self, function, env, self.cluster.directory / f'{self.cluster.logs:03}-{self.name}.log'))
        return self.programs[-1]

    def processes(self, word=''):
        """Numbers of its processes, as this program sees them, whose command line has the word; without process 1, and what has ended."""
        found = []
        space = os.readlink(f'/proc/{self.pid}/ns/pid')
        for path in pathlib.Path('/proc').glob('[0-9]*'):
            with contextlib.suppress(OSError):
                if int(path.name) != self.pid and os.readlink(path / 'ns/pid') == space:
                    text = (path / 'cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace')
                    if word in text and (path / 'stat').read_text().rpartition(')')[2].split()[0] != 'Z':
                        found.append(int(path.name))
        return found

    # ---- power ----

    def boot(self):
        """Switch it on: nothing is left in its memory and its temporary directories."""
        self._boots += 1
        self._full = {}
        self.cut_off = False
        sizes = ' '.join(f'{path}={size}' for path, size in self.cluster.sizes.items())
        env = {**os.environ, 'NAME': self.name, 'SIZES': sizes, 'ADDRESS': self.address,
               'MAC': f'02:00:00:00:00:{self.number:02x}'}
        with open(self.cluster.directory / f'{self.name}.log', 'a', encoding='utf-8') as log:
            self._outer = subprocess.Popen(['unshare', *_NAMESPACES, 'bash', '-c', _INIT, 'init', *map(str, self.cluster.keep)], env=env, text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        self._told('booted')
        self.pid = _children(self._outer.pid)[0]
        self._ip('link', 'add', self._cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', str(self.pid))
        self._ip('link', 'set', self._cable, 'master', 'br0', 'up')
        self._outer.stdin.write('\n')
        self._outer.stdin.flush()
        self._told('connected')

    def _told(self, what):
        line = self._outer.stdout.readline().strip()
        if line != what:
            raise AssertionError(f'{self.name} did not boot: {line!r}, not {what!r}: {_text(self.cluster.directory / f"{self.name}.log")}')

    def kill(self):
        """Pull the power cord. The cable goes first, as a dead machine closes no connection."""
        if self.pid is None:
            return
        self._ip('link', 'set', self._cable, 'down')
        os.kill(self.pid, signal.SIGKILL)
        self._outer.wait()
        self._outer.stdin.close()
        self._outer.stdout.close()
        for one in self.programs:
            one.wait()
        self.pid = None
        self.programs = []
        subprocess.run(['ip', 'link', 'del', self._cable], stderr=subprocess.DEVNULL, check=False)  # its other end may have taken it along

    @property
    def is_on(self):
        return self.pid is not None

    @property
    def _cable(self):
        return f'm{self.number}.{self._boots}'

    @staticmethod
    def _ip(*words):
        subprocess.run(['ip', *words], check=True)

    # ---- faults ----

    def cut(self):
        """Pull the network cable: what is sent is lost, and nobody is told."""
        self._ip('link', 'set', self._cable, 'down')
        self.cut_off = True

    def heal(self):
        self._ip('link', 'set', self._cable, 'up')
        self.cut_off = False

    def slow(self, rate):
        """What comes by its cable comes no faster: '8mbit'. None: as before. False where this kernel cannot do that."""
        words = ['replace', 'dev', self._cable, 'root', 'tbf', 'rate', rate, 'burst', '32k', 'latency', '200ms'] if rate else ['del', 'dev', self._cable, 'root']
        return subprocess.run(['tc', 'qdisc', *words], stderr=subprocess.DEVNULL, check=False).returncode == 0

    def received(self):
        """Bytes that have come by its cable."""
        told = subprocess.run(['ip', '-s', '-j', 'link', 'show', 'dev', self._cable], capture_output=True, text=True, check=True).stdout
        return json.loads(told)[0]['stats64']['tx']['bytes']

    def freeze(self):
        """All its processes stop where they are; the network goes on."""
        self.run(['kill', '-STOP', '-1'], check=False)

    def thaw(self):
        self.run(['kill', '-CONT', '-1'], check=False)
        for one in self.programs:  # nsenter stops with its child
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.outer.pid, signal.SIGCONT)

    def fill(self, path):
        """One of the private directories is full: it gets no byte more than it has now."""
        used = 0
        for _ in range(20):  # somebody may write meanwhile
            there = os.statvfs(self.see(path))
            used = (there.f_blocks - there.f_bfree) * there.f_frsize
            if self.run(['mount', '-n', '-o', f'remount,size={max(used, 4096)}', 'tmpfs', path], check=False).returncode == 0:
                self._full[path] = used
                return
        raise AssertionError(f'{self.name}: {path} cannot be filled')

    def unfill(self, path=None):
        """There is room again."""
        for one in [path] if path else list(self._full):
            self.run(['mount', '-n', '-o', f'remount,size={self.cluster.sizes[one]}', 'tmpfs', one])
            self._full.pop(one, None)

    # ---- looks ----

    def see(self, path):
        """Where this program sees a path of the machine."""
        return pathlib.Path(f'/proc/{self.pid}/root{path}')

    def leftovers(self, ignore=()):
        """What is on the machine that is not there after a boot: processes, files in private directories, sockets that listen.

        ignore: regular expressions of what may be there.
        """
        found = [f'process {pid}: ' + _text(f'/proc/{pid}/cmdline').replace('\0', ' ').strip() for pid in self.processes()]
        for top in _PRIVATE:
            found += [f'file {path}' for path in self._files(top)]
        found += [f'socket {name}' for name in _sockets(self.pid)]
        return [one for one in found if not any(re.search(pattern, one) for pattern in ignore)]

    def _files(self, top):
        root = self.see(top)
        found = []
        for here, folders, files in os.walk(root):
            for folder in list(folders):
                path = f'{top}/{os.path.relpath(os.path.join(here, folder), root)}'
                if any(str(one) == path or str(one).startswith(f'{path}/') for one in self.cluster.keep):
                    if any(str(one) == path for one in self.cluster.keep):
                        folders.remove(folder)
                else:
                    found.append(path)
            found += [path for path in (f'{top}/{os.path.relpath(os.path.join(here, file), root)}' for file in files)
                      if not any(str(one) == path for one in self.cluster.keep)]
        return found


def _text(path):
    with contextlib.suppress(OSError):
        return pathlib.Path(path).read_text(errors='replace')
    return ''


def _sockets(pid):
    """Names of sockets that listen, and of unix sockets that have one, in a process's network."""
    found = []
    for kind in ('tcp', 'tcp6'):
        for line in _text(f'/proc/{pid}/net/{kind}').splitlines()[1:]:
            fields = line.split()
            if fields[3] == '0A':
                found.append(f'{kind} port {int(fields[1].rpartition(":")[2], 16)}')
    for line in _text(f'/proc/{pid}/net/unix').splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8:
            found.append(f'unix {fields[7]}')
    return found


class _Head(Machine):
    """The machine on which the test's program is, at the other end of all cables. It is never off."""

    is_head = True

    def __init__(self, cluster):
        super().__init__(cluster, _HEAD, 'head')
        self.pid = os.getpid()

    def see(self, path):
        return pathlib.Path(path)


class Machines:
    """So many machines, all on. shm, tmp: sizes of /dev/shm and of the temporary directories; environment: of all programs;
    keep: directories below /tmp and such that all machines see. The shared directory is among them, and so are the checkout and its build."""

    def __init__(self, count, shm='512M', tmp='512M', environment=None, keep=(), names=None):
        if _INSIDE not in os.environ:
            raise RuntimeError('machines.isolate() comes first')
        self.environment = dict(environment or {})
        self.sizes = {'/dev/shm': shm, '/tmp': tmp, '/var/tmp': tmp, '/run': '64M'}
        self.logs = 0
        self._count = count
        source = os.environ.get('GRANARY_SOURCE', pathlib.Path(__file__).parents[3])
        build = pathlib.Path(os.environ.get('GRANARY_BIN', pathlib.Path(source, 'build/release/bin'))).parent
        self.keep = [pathlib.Path(one).resolve() for one in (source, build, *keep)]
        self.keep = [one for one in self.keep if not any(other in one.parents for other in self.keep)]
        self.head = _Head(self)
        self.nodes = [Machine(self, n + 1, names[n] if names else f'n{n + 1}') for n in range(count)]

    def __enter__(self):
        try:
            self._up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _up(self):
        """The head's own directories, its end of the cables, and all nodes."""
        mounts = '; '.join(f'private {path} 4G "$@"' for path in _PRIVATE)
        subprocess.run(['bash', '-c', f'set -e; hostname head; ip link set lo up; {_MOUNT}{mounts}', 'head', *map(str, self.keep)], check=True)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='machines-', dir='/tmp'))
        self.shared = self.directory / 'shared'
        self.shared.mkdir()
        self.keep.append(self.shared)
        self._names()
        subprocess.run(['ip', 'link', 'add', 'br0', 'type', 'bridge'], check=True)
        subprocess.run(['ip', 'addr', 'add', f'{self.head.address}/24', 'dev', 'br0'], check=True)
        subprocess.run(['ip', 'link', 'set', 'br0', 'up'], check=True)
        for node in self.nodes:
            node.boot()

    def _names(self):
        """All know each other by name, and nobody asks a server for one."""
        known = ['127.0.0.1 localhost', *(f'{one.address} {one.name}' for one in (self.head, *self.nodes))]
        for name, lines in (('hosts', known), ('resolv.conf', ['nameserver 127.0.0.1'])):
            path = self.directory / name
            path.write_text('\n'.join([*lines, '']), encoding='utf-8')
            subprocess.run(['mount', '-n', '--bind', path, f'/etc/{name}'], check=True)

    def __exit__(self, *_):
        for node in self.nodes:
            node.kill()
        for one in self.head.programs:
            one.kill()
        subprocess.run(['ip', 'link', 'del', 'br0'], stderr=subprocess.DEVNULL, check=False)

    def log(self, lines=40):
        """The ends of what all programs wrote."""
        parts = []
        for path in sorted(self.directory.glob('*.log')):
            parts += [f'--- {path.name}', *path.read_text(errors='replace').splitlines()[-lines:]]
        return '\n'.join(parts)
