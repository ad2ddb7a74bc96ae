"""Executors confined by choice: what a hostile function or program tries is refused, what an honest one does works, and results are
the same. `confine.py SOURCE_DIRECTORY`; the fork bomb needs root, to be a user who has limits.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from hostile import *

SOURCE = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else os.environ["GRANARY_SOURCE"]
WORKS = {"pair", "touch input"}  # a pair of sockets leads nowhere; times of a file that may be read


def abi():
    import ctypes
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


class Confined(Instance):
    """An instance with something to steal, and the library of attacks exported."""

    def __init__(self, *arguments, user=None, confine="--confine=strict"):
        self.place = tempfile.mkdtemp(prefix="granary-test-", dir="/var/tmp")
        os.chmod(self.place, 0o755)
        for name in ("readable", "writable", "outside", "home"):
            os.mkdir(f"{self.place}/{name}")
        for name, content in (("home/secret", "key"), ("readable/input", "input")):
            with open(f"{self.place}/{name}", "w") as file:
                file.write(content)
            os.chmod(f"{self.place}/{name}", 0o600)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-w", "-D_GNU_SOURCE", "-I", SOURCE + "/include", "-o",
                        self.place + "/confined.so", SOURCE + "/tests/security/confined.c"], check=True)
        if user is not None:
            subprocess.run(["chown", "-R", f"{user}:{user}", self.place], check=True)
        super().__init__("--executors", "1", "--memory", "64M", *([confine, "--confine-read", self.place + "/readable", "--confine-write",
                                                                   self.place + "/writable"] if confine else []),
                         *arguments, user=user,
                         env={"GRANARY_TEST_TARGETS": self.place + "/readable/targets", "SECRET_KEY": "secret",
                              "ASAN_OPTIONS": "detect_leaks=0"})
        self.user = user
        try:
            self.tell_targets(user)
        except BaseException:
            self.close()
            raise

    def tell_targets(self, user):
        """What there is to steal, to the attacks."""
        store, sched, pool = self.pids()
        pages = os.listdir(self.directory + "/executors")
        check(len(pages) == 1, f"pages of one executor: {pages}: {self.pool_log()}")
        with open(self.directory + "/instance.json") as file:
            prefix = json.load(file)["shm_prefix"]
        with open(self.place + "/readable/targets", "w") as file:
            for name, value in (("secret", self.place + "/home/secret"), ("outside", self.place + "/outside"),
                                ("readable", self.place + "/readable/input"), ("writable", self.place + "/writable"),
                                ("shm", f"/dev/shm{prefix}root"), ("state", self.directory + "/state.db"),
                                ("lock", self.directory + "/sched.lock"), ("page", f"{self.directory}/executors/{pages[0]}"),
                                ("socket", self.directory + "/sched.sock"), ("store", store), ("sched", sched),
                                ("pool", pool)):
                file.write(f"{name} {value}\n")
        if user is not None:
            os.chown(self.place + "/readable/targets", user, user)
        self.granary("export", self.place + "/confined.so", user=user)

    def pool_log(self):
        with open(self.directory + "/log/pool.log") as file:
            return file.read()

    def call(self, function):
        return self.granary("submit", function, "-o", "-", user=self.user).decode()

    def close(self):
        super().close()
        shutil.rmtree(self.place)


@contextlib.contextmanager
def confined(*arguments, killing=False, **options):
    it = Confined(*arguments, **options)
    try:
        before = it.pids()
        yield it
        check(killing or it.pids() == before, "a daemon ended under attack")
    finally:
        it.close()


def need_landlock():
    if abi() < 6:
        skip("this kernel's Landlock keeps no signals in")


def test_a_confined_function_gets_nothing_it_was_not_given():
    need_landlock()
    with confined() as it:
        check(shown(it) == "signals", "it is not shown as confined")
        lines = it.call("attack").splitlines()
        check(len(lines) > 35, f"only {len(lines)} attacks were tried")
        worked = {line.split(":")[0] for line in lines if line.endswith("worked")}
        check(worked == WORKS, f"these worked: {sorted(worked - WORKS)}: {lines}")
        check("file lease: Operation not permitted" in lines, f"{lines}")
        check(open(it.place + "/home/secret").read() == "key", "the secret was changed")
        check(os.listdir(it.place + "/outside") == [], "something was made outside")
        it.honest(1)


def shown(it):
    """In what `granary executors` and `granary status` say that the executor is confined."""
    executor, = json.loads(it.granary("executors", "--json", user=it.user))
    status = json.loads(it.granary("status", "--json", user=it.user))
    page, = json.loads(it.granary("executors", "--pages", "--json", user=it.user))
    check(executor["confined"] == page["confined"] == status["executors"][0]["confined"], f"{executor} {page} {status}")
    check((b" confined)" in it.granary("status", user=it.user)) == (executor["confined"] != "no"), "the status for people")
    return executor["confined"]


def test_without_confinement_the_same_attacks_work():
    """The control: the attacks are real ones."""
    with confined(confine=None) as it:
        check(shown(it) == "no", "it is shown as confined")
        lines = it.call("attack").splitlines()
        worked = {line.split(":")[0] for line in lines if line.endswith("worked")}
        for attack in ("open root", "read state", "internet", "unix socket", "list /dev/shm", "read lock"):
            check(attack in worked, f"{attack} did not work: {lines}")
        # The kernel refuses a lease on a file in memory, too, but not for want of permission.
        check("file lease: Operation not permitted" not in lines, f"{lines}")


def test_lies_of_a_confined_function_move_nobody_outside():
    """What its page and its links say is acted on by pool, scheduler and the next executor, which are not confined."""
    need_landlock()
    victim = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        with confined() as it:
            os.makedirs(it.place + "/outside/0/kept")
            with open(it.place + "/outside/secret", "w") as file:
                file.write("top secret")
            with open(it.place + "/readable/targets", "a") as file:
                file.write(f"victim {victim.pid}\n")
            done = it.run("submit", "deceive", "-o", "-")
            check(done.returncode != 0 and b"top secret" not in done.stderr, done.stderr.decode())
            check(it.call("honest").count(": worked") == 6, "after the lies")
            check(victim.poll() is None, "a process outside was killed")
            check(os.path.isdir(it.place + "/outside/0/kept"), "a directory outside was removed")
    finally:
        victim.kill()
        victim.wait()


def test_an_honest_function_works_confined():
    need_landlock()
    with confined() as it:
        lines = it.call("honest").splitlines()
        check(len(lines) == 6 and all(line.endswith(": worked") for line in lines), str(lines))


def test_a_confined_python_function_is_not_run():
    """Its pickle lies in the store, to which a slot would need a connection of its own."""
    need_landlock()
    package = os.path.join(os.path.dirname(BIN), "python")
    if not os.path.isdir(package):
        skip("there is no Python package")
    program = """import granary, os, sys
s = granary.connect(sys.argv[1])
for call in (lambda: granary.remote(os.mkdir).submit(sys.argv[2]).result(60), lambda: granary.Executor(1).submit(os.mkdir, sys.argv[2]).result(60)):
    try:
        call()
        print("worked")
    except granary.Error as error:
        print(type(error).__name__)
"""
    with confined("--confine-read", SOURCE, "--confine-read", os.path.dirname(BIN)) as it:
        done = subprocess.run(["/usr/bin/python3", "-B", "-c", program, it.directory, it.place + "/outside/made"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": package}, timeout=120)
        check(done.stdout.split() == ["NotPermitted"] * 2, f"{done.stdout} {done.stderr}")
        check(os.listdir(it.place + "/outside") == [], "it was run")


def test_a_confined_fork_bomb_ends():
    if os.geteuid() != 0:
        skip("needs root, to be a user who has no other processes")
    need_landlock()
    with confined(user=ALICE) as it:
        check(it.call("bomb").startswith("stopped"), "the bomb")
        it.granary("status", user=ALICE)
        number = json.loads(it.granary("executors", "--json", user=ALICE))[0]["number"]
        it.granary("executors", "kill", str(number), user=ALICE)  # and what it has left behind
        check(it.call("honest").count(": worked") == 6, "after the bomb")


def test_results_are_the_same_confined():
    """A file that may be read; one that may not is named, with the remedy. After the scheduler's end and the store's, too."""
    need_landlock()
    data = SOURCE + "/libclient/examples"
    with Instance() as plain:
        want = plain.granary("run", "--discard", "--csv", data + "/birdstrikes.json", cwd=SOURCE)
    with confined("--confine-read", data, killing=True) as it:
        check(it.granary("run", "--discard", "--csv", data + "/birdstrikes.json", cwd=SOURCE) == want, "another result")
        for pid in it.pids()[1::-1]:
            os.kill(pid, signal.SIGKILL)
            while pid in it.pids():
                time.sleep(0.01)
            check(it.granary("run", "--discard", "--csv", data + "/birdstrikes.json", cwd=SOURCE) == want, "another result")
    with confined() as it:
        done = it.run("run", "--discard", "--csv", data + "/birdstrikes.json", cwd=SOURCE)
        check(done.returncode == 7 and b"--confine-read" in done.stderr and b"birdstrikes.csv" in done.stderr,
              done.stderr.decode())


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
