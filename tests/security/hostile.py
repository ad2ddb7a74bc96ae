"""What the hostile clients share: an instance of their own, frames sent by hand, and the honest client beside them.

A hostile client must harm nobody but itself. That is measured by progress, not by time: while an attack goes on, the
honest client finishes a number of rounds, each a put and a get in another process and another session.
"""
import array
import atexit
import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77

# include/contract/store_proto.h and shm.h
MAGIC = 0x676E7267
PROTOCOL, SHARED = 2, 4
HEAD = struct.Struct("=IHHIiI")
HELLO = struct.Struct("=II64s32sII")
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include/contract/store_requests.def")) as table:
    REQUESTS = {name: int(number) for name, number in re.findall(r"^REQUEST\((\w+), (\d+)", table.read(), re.M)}
HELLO_OP = REQUESTS["HELLO"]
(ROOM, MAP, RESTORE, LEASE, UNLEASE, DEAD, PING, SESSION_CREATE, SESSION_HAS, SESSION_LIST, CONTAIN) = map(REQUESTS.get, (
    "ROOM", "MAP", "RESTORE", "LEASE", "UNLEASE", "DEAD", "PING", "SESSION_CREATE", "SESSION_HAS", "SESSION_LIST", "CONTAIN"))
ROOM_BODY = struct.Struct("=QQqiIQ")
SESSION_BODY = struct.Struct("=64sIIQQ")
REF_BODY = struct.Struct("=16sQQ")
LEASE_PAGE = {"ring_head": 64, "ring_tail": 192}

# Somebody else: nobody's on a usual machine.
STORE_USER, ALICE, BOB, MALLORY = 61101, 61102, 61103, 61104


def programs():
    """Where everybody can start granary's programs: where they were built, or a copy when others may not go there."""
    built = os.environ.get("GRANARY_BIN", os.path.join(os.getcwd(), "build/release/bin"))
    above = [built]
    while above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    if os.geteuid() != 0 or all(os.stat(directory).st_mode & 0o001 for directory in above):
        return built
    copy = tempfile.mkdtemp(prefix="granary-test-")
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(copy))
    os.chmod(copy, 0o755)
    for name in ("granary", "granary-store", "granary-sched", "granary-executor", "granary-web"):
        if os.path.exists(os.path.join(built, name)):  # the last one needs a library
            shutil.copy(os.path.join(built, name), copy)
    return copy


BIN = programs()
GUARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/guard.py")


class Skip(Exception):
    pass


def skip(why):
    raise Skip(why)


def need_others():
    """Tests that are somebody else."""
    if os.geteuid() != 0:
        skip("needs root, to be somebody else")
    try:
        subprocess.run(["true"], user=MALLORY, group=MALLORY, extra_groups=[], check=True)
    except (OSError, subprocess.SubprocessError) as error:
        skip(f"root may not be somebody else here: {error}")


def fail(what):
    raise AssertionError(what)


def check(condition, what):
    if not condition:
        fail(what)


class Gone(Exception):
    """The peer hung up."""


class Raw:
    """A connection to the store by hand."""

    def __init__(self, path, session=None, tag="hostile", timeout=20):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.seq = 0
        self.fds = []
        if session is not None:
            self.greet(session, tag)

    def send(self, op, body=b"", fds=(), magic=MAGIC, size=None):
        self.seq += 1
        head = HEAD.pack(magic, op, 0, self.seq, 0, len(body) if size is None else size)
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.socket.sendmsg([head + body], control)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Gone from error

    def _exactly(self, size, fds):
        data = b""
        while len(data) < size:
            try:
                part, control, _, _ = self.socket.recvmsg(size - len(data), socket.CMSG_SPACE(64))
            except ConnectionResetError as error:
                raise Gone from error
            for level, kind, value in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds.extend(array.array("i", value[: len(value) // 4 * 4]))
            if not part:
                raise Gone
            data += part
        return data

    def receive(self):
        """(err, body, descriptors) of the next answer."""
        fds = []
        _, _, _, _, err, size = HEAD.unpack(self._exactly(HEAD.size, fds))
        body = self._exactly(size, fds)
        return err, body, fds

    def ask(self, op, body=b"", fds=()):
        self.send(op, body, fds)
        return self.receive()

    def greet(self, session, tag="hostile", resume=0, flags=0):
        hello = HELLO.pack(PROTOCOL, SHARED, session.encode() if isinstance(session, str) else session,
                           tag.encode() if isinstance(tag, str) else tag, resume, flags)
        err, body, self.fds = self.ask(HELLO_OP, hello)
        return err, body

    def await_hangup(self):
        """Until the store hangs up; what it says before is dropped."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def close(self):
        self.socket.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []


class Instance:
    """A private instance: `granary up`, or a store alone, also one of its own user that serves a group."""

    def __init__(self, *arguments, store_only=False, user=None, group=None, env=None, files=None):
        self.work = tempfile.mkdtemp(prefix="granary-test-", dir="/tmp")
        self.directory = os.path.join(self.work, "i")
        subprocess.run(["setsid", "--fork", sys.executable, GUARD, str(os.getpid()), self.work], check=True,
                       env={**os.environ, "GRANARY_BIN": BIN})
        self.env = {**os.environ, "GRANARY_INSTANCE": self.directory, "NO_COLOR": "1", **(env or {})}
        self.store, self.owner = None, user
        if store_only:
            if user is not None:
                os.chown(self.work, user, user)
            os.chmod(self.work, 0o711)
            self.options = (*arguments, *(("--group", str(group)) if group else ()))
            self.files = files
            self.start_store()
        else:
            if user is not None:
                os.chown(self.work, user, user)
                os.chmod(self.work, 0o711)
            self.granary("up", *arguments, user=user)

    def start_store(self):
        who = {} if self.owner is None else {"user": self.owner, "group": self.owner, "extra_groups": []}
        read, write = os.pipe()
        self.store = subprocess.Popen(
            [os.path.join(BIN, "granary-store"), "--instance", self.directory, "--die-with-parent", "--ready-fd", str(write),
             "--spill-dir", self.work + "/spill", *self.options],
            pass_fds=[write], env=self.env, preexec_fn=lambda: self.files is None or resource.setrlimit(
                resource.RLIMIT_NOFILE, (self.files, self.files)), stderr=open(self.work + "/store.log", "ab"), **who)
        os.close(write)
        with os.fdopen(read) as ready:
            said = ready.read()
        check(said.startswith("READY"), f"the store did not start: {said}")

    def stop_store(self):
        """In order: what is persistent stays."""
        self.store.send_signal(signal.SIGTERM)
        check(self.store.wait(60) == 0, f"the store ended with {self.store.returncode}: {self.log()}")

    @property
    def socket(self):
        return self.directory + "/store.sock"

    def run(self, *arguments, input=None, user=None, groups=(), timeout=120, env=None, cwd=None):
        who = {} if user is None else {"user": user, "group": user, "extra_groups": list(groups)}
        return subprocess.run([os.path.join(BIN, "granary"), *arguments], input=input, capture_output=True,
                              env={**self.env, **(env or {})}, timeout=timeout, cwd=cwd, **who)

    def granary(self, *arguments, **options):
        done = self.run(*arguments, **options)
        check(done.returncode == 0, f"granary {' '.join(arguments)}: {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def honest(self, rounds=2, session="honest"):
        """The client beside: everything it does goes through, with its own bytes."""
        for _ in range(rounds):
            content = os.urandom(20000)
            key = self.granary("put", "--session", session, "-", input=content).decode().strip()
            check(self.granary("get", "--session", session, key) == content, "the honest client got other bytes")
            self.granary("rm", "--session", session, key)

    def pids(self):
        """Of the daemons: none may have changed after an attack."""
        if self.store is not None:
            check(self.store.poll() is None, f"the store ended: {self.store.returncode}")
            return [self.store.pid]
        import json
        with open(self.directory + "/instance.json") as file:
            told = json.load(file)
        return [told["store_pid"], told["sched_pid"], told["pool_pid"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.store is not None:
            self.stop_store()
        else:
            self.run("down", user=self.owner)
        shutil.rmtree(self.work, ignore_errors=True)

    def log(self):
        try:
            with open(self.work + "/store.log" if self.store else self.directory + "/log/store.log") as file:
                return file.read()
        except OSError:
            return ""


@contextlib.contextmanager
def instance(*arguments, **options):
    """An instance; its daemons must be the same ones afterwards."""
    it = Instance(*arguments, **options)
    try:
        before = it.pids()
        yield it
        check(it.pids() == before, f"a daemon ended under attack: {before}, {it.pids()}: {it.log()[-2000:]}")
    except BaseException:
        sys.stderr.write(it.log()[-4000:])
        raise
    finally:
        it.close()


@contextlib.contextmanager
def attacker(work, *arguments, user=None, groups=()):
    """A process that does `work` for ever, after it has said that it has begun."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            if user is not None:
                os.setgroups(list(groups))
                os.setgid(user)
                os.setuid(user)
            work(lambda: os.write(write, b"!"), *arguments)
            status = 0
        except BaseException as error:  # noqa: the parent tells by the pipe's end
            sys.stderr.write(f"attacker: {error!r}\n")
        finally:
            os._exit(status)
    os.close(write)
    try:
        check(os.read(read, 1) == b"!", "the attacker ended before it began")
        yield child
    finally:
        os.close(read)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def run(*tests):
    """Each test in turn; `-k NAME` runs those with NAME in their names."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wanted = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv else ""
    ran = 0
    for test in tests:
        if wanted not in test.__name__:
            continue
        print(test.__name__, flush=True)
        try:
            test()
            ran += 1
        except Skip as why:
            print("SKIPPED:", why)
    sys.exit(0 if ran > 0 else SKIPPED)
