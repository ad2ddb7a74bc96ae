"""Several machines, and other users who write where their results lie: records, results, plans and links in a directory that
everybody may write, and the file that tells of a job of Slurm. Needs root, to be the others.
"""
import fcntl
import json
import os
import socket
import stat

from hostile import *

SSH = """#!/bin/sh
printf '%s\\n' "$*" >>$ASKED
exit 255
"""
DIGESTS = {name: f"{number:032x}" for name, number in (("s0", 0xa0), ("s1", 0xa1))}
MACHINE = os.uname().nodename


class Shared(Instance):
    """An instance of alice's, programs that stand for ssh and Slurm, and a directory like /tmp."""

    def __init__(self):
        need_others()
        super().__init__("--executors", "1", "--memory", "64M", user=ALICE)
        for name in ("shared", "bin"):
            os.mkdir(f"{self.work}/{name}")
        self.shared = self.work + "/shared"
        os.chmod(self.shared, 0o1777)
        os.chmod(self.work + "/bin", 0o755)
        self.asked = self.write("asked", "", ALICE)
        for name, text in (("ssh", SSH), ("squeue", "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n"),
                           ("scancel", "#!/bin/sh\nexit 0\n")):
            os.chmod(self.write("bin/" + name, text, 0), 0o755)
        self.env.update(PATH=f"{self.work}/bin:{os.environ['PATH']}", ASKED=self.asked, XDG_RUNTIME_DIR=self.work + "/none")

    def write(self, name, text, uid, mode=0o644):
        path = f"{self.work}/{name}"
        with open(path, "w") as file:
            file.write(text)
        os.chown(path, uid, uid)
        os.chmod(path, mode)
        return path

    def plan(self, stop):
        """A stage that counts to `stop`, and one that sums that."""
        version = self.granary("version").decode().split()[-1]
        count = {"out": {"op": "arange", "stop": stop}}
        total = {"t": {"op": "array", "dtype": "int64"}, "out": {"op": "sum", "input": "t"}}
        stages = [{"name": "s0", "digest": DIGESTS["s0"], "partitions": 1, "inputs": {}, "chunks": 0, "graph": {"nodes": count, "targets": ["out"]}},
                  {"name": "s1", "digest": DIGESTS["s1"], "partitions": 1, "inputs": {"t": {"stage": "s0", "take": "all"}}, "chunks": 0,
                   "graph": {"nodes": total, "targets": ["out"]}}]
        plan = {"granary_fragments": 1, "version": version, "partitions": 1, "stages": stages,
                "targets": [{"name": "sum", "stage": "s1", "kind": "tensor"}]}
        return self.write(f"plan{stop}.json", json.dumps(plan), ALICE)

    def fragment(self, plan, stage, directory=None):
        return self.run("cluster", "fragment", "--directory", directory or self.shared, plan, stage, "0", user=ALICE)

    def had_been_asked(self):
        with open(self.asked) as file:
            return file.read()


@contextlib.contextmanager
def shared():
    it = Shared()
    try:
        before = it.pids()
        yield it
        check(it.pids() == before, "a daemon ended under attack")
    finally:
        it.close()


def record(it, place):
    """A run that goes on, as mallory says: it is locked."""
    path = it.write("shared/run-abcdef", f"granary run 1\ndriver {socket.gethostname()} 1 ssh -\nplace 0 {place}\nplace 1 home\n", MALLORY)
    file = open(path)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def test_a_record_of_somebody_else_has_no_machine_asked():
    """Its places are options for ssh, or a host of mallory's: neither who looks into the directory nor root asks them."""
    for place in ("-oProxyCommand=touch${IFS}/tmp/x", "mallorys.example"):
        with shared() as it, record(it, place):
            done = it.run("cluster", "why", "--directory", it.shared, user=ALICE)
            check(b"is a record of uid %d: ask as that user" % MALLORY in done.stderr, done.stderr.decode())
            for command in ("why", "status", "top --once"):
                it.run("cluster", *command.split(), user=0)
            check(it.had_been_asked() == "", f"ssh was started: {it.had_been_asked()}")


def test_a_place_that_looks_like_an_option_is_none():
    """Also in a record of one's own, which a program may have written."""
    with shared() as it:
        with record(it, "-oProxyCommand=true") as file:
            os.chown(file.name, ALICE, ALICE)
            it.run("cluster", "why", "--directory", it.shared, user=ALICE)
            check("-oProxyCommand" not in it.had_been_asked(), it.had_been_asked())


def test_results_of_somebody_else_are_no_results():
    """Mallory is first, with a result that is whole: in a directory that all may write it is refused, by its owner's uid."""
    with shared() as it:
        forged, plan = it.plan(7), it.plan(10)
        check(it.fragment(forged, "s0").returncode == 0, "the forgery")
        for name in os.listdir(it.shared):
            os.chown(f"{it.shared}/{name}", MALLORY, MALLORY)
            os.chmod(f"{it.shared}/{name}", 0o644)
        for stage in ("s0", "s1"):
            done = it.fragment(plan, stage)
            check(done.returncode == 7 and b"belongs to uid %d" % MALLORY in done.stderr and b"--directory" in done.stderr,
                  f"{stage}: {done.returncode}: {done.stdout} {done.stderr.decode()}")
        done = it.run("run", "--on", "local:1", "--directory", it.shared, "--discard", plan, user=ALICE)
        check(done.returncode != 0 and b"belongs to uid %d" % MALLORY in done.stderr, f"{done.stdout} {done.stderr.decode()}")
        os.mkdir(it.work + "/own")
        os.chown(it.work + "/own", ALICE, ALICE)
        check(b"45" in it.granary("run", "--on", "local:1", "--directory", it.work + "/own", "--discard", plan, user=ALICE), "alone")


def test_results_under_another_name_are_no_results():
    """Who may rename files, as in a directory without the sticky bit, makes no result of another one of alice's."""
    with shared() as it:
        os.chmod(it.shared, 0o777)
        plan = it.plan(10)
        for stage in ("s0", "s1"):
            check(it.fragment(plan, stage).returncode == 0, stage)
        for ending in ("0.done", "0.0.object"):
            os.rename(f"{it.shared}/{DIGESTS['s0']}-{ending}", f"{it.shared}/{DIGESTS['s1']}-{ending}")
        done = it.fragment(plan, "s1")
        check(b"another file, which somebody has renamed" in done.stderr, f"{done.stdout} {done.stderr.decode()}")


def test_links_and_pipes_among_results_lead_nowhere():
    """A pipe in place of a list of results, a link in place of the folder of counts, and files that wait for what is written."""
    with shared() as it:
        plan = it.plan(10)
        secret = it.write("secret", "hers\n", ALICE, 0o600)
        os.mkfifo(f"{it.shared}/{DIGESTS['s0']}-0.done")
        done = it.fragment(plan, "s0")
        check(done.returncode == 7 and b"no regular file" in done.stderr, f"{done.returncode}: {done.stderr.decode()}")
        os.unlink(f"{it.shared}/{DIGESTS['s0']}-0.done")
        os.mkdir(it.shared + "/counts")
        os.symlink(secret, f"{it.shared}/counts/{MACHINE}")
        for path in (it.shared + "/counts", f"{it.shared}/counts/{MACHINE}"):
            os.lchown(path, MALLORY, MALLORY)
        with open("/proc/sys/kernel/ns_last_pid") as file:
            last = int(file.read())
        waiting = [f"{it.shared}/.{DIGESTS['s0']}-0.{MACHINE}-{pid}.new" for pid in range(last, last + 500)]
        for path in waiting:
            with open(path, "w"):
                os.chown(path, MALLORY, MALLORY)
                os.chmod(path, 0o666)
        done = it.fragment(plan, "s0")
        check(done.returncode in (0, 1) and (done.returncode == 0 or b"exists" in done.stderr), f"{done.returncode}: {done.stderr.decode()}")
        for path in waiting:
            check(os.stat(path).st_size == 0, "results were written into a file of somebody else")
            os.unlink(path)
        check(it.fragment(plan, "s0").returncode == 0, "afterwards")
        for name in os.listdir(it.shared):
            there = os.lstat(f"{it.shared}/{name}")
            check(name == "counts" or (there.st_uid == ALICE and stat.S_IMODE(there.st_mode) == 0o600), f"{name} is not hers alone")
        with open(secret) as file:
            check(file.read() == "hers\n", "a file of hers was written, through a link")


def test_a_job_that_somebody_else_tells_of_is_none():
    """The file beside an instance that names a job and its directory: `cluster down` removes that directory."""
    with shared() as it:
        os.mkdir(it.work + "/precious")
        hers = it.write("precious/file", "hers", ALICE)
        os.chown(it.work + "/precious", ALICE, ALICE)
        told = f"job 7\nnodes 1\ndirectory {it.work}/precious\n"
        told_theirs = f"job 7\nnodes 1\ndirectory {it.shared}\n"
        instance = it.shared + "/i"
        for text, uid, mode in ((told, MALLORY, 0o644), (told, ALICE, 0o666), (told_theirs, ALICE, 0o600)):
            it.write("shared/i.cluster", text, uid, mode)
            for command in ("cluster status", "cluster top --once", "cluster down", "cluster why", "cluster up --slurm"):
                done = it.run(*command.split(), "--instance", instance, user=ALICE)
                check(done.returncode == 7, f"{text} {uid} {command}: {done.returncode}: {done.stderr.decode()}")
            check(os.path.exists(hers) and os.path.isdir(it.shared), "it was removed")
            os.unlink(instance + ".cluster")
        os.symlink(hers, instance + ".cluster")
        check(it.run("cluster", "down", "--instance", instance, user=ALICE).returncode == 2, "a link")


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
