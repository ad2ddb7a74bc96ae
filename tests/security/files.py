"""What an instance puts on the file system: modes, whatever the umask; what others put there first is refused by name.

The table of docs/security.md is what is expected: `files.py SOURCE_DIRECTORY`.
"""
import contextlib
import json
import os
import re
import stat
import sys

from hostile import *

SOURCE = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else os.environ["GRANARY_SOURCE"]


def documented():
    """[(pattern of a path, kind, mode)]: RUNTIME, SPILL and SHM stand for the directories."""
    with open(SOURCE + "/docs/security.md") as file:
        rows = re.findall(r"^\| `([^`]+)` \| (directory|file|socket) \| (\d{4}) \|", file.read(), re.M)
    check(len(rows) > 15, f"docs/security.md has {len(rows)} rows of files")
    return [(re.compile(re.sub(r"(?<![A-Z])N(?![A-Z])", "[0-9a-z._]+", re.escape(path)) + "$"), kind, int(mode, 8))
            for path, kind, mode in rows]


def walk(root, name):
    if os.path.exists(root):
        yield name, os.lstat(root)
        for directory, folders, files in os.walk(root):
            for entry in folders + files:
                path = os.path.join(directory, entry)
                try:
                    yield name + path[len(root):], os.lstat(path)
                except FileNotFoundError:
                    pass  # a journal of SQLite's comes and goes


def found(it, spill):
    yield from walk(it.directory, "RUNTIME")
    yield from walk(spill, "SPILL")
    with open(it.directory + "/instance.json") as file:
        prefix = re.search(r'"shm_prefix": "/([^"]*)"', file.read())[1]
    for entry in os.listdir("/dev/shm"):
        if entry.startswith(prefix):
            with contextlib.suppress(FileNotFoundError):
                yield "SHM/" + entry[len(prefix):], os.lstat("/dev/shm/" + entry)


def beginning(path):
    """Of a file of some instance; others go away meanwhile."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        return file.read(1024)
    return b""


KINDS = {stat.S_IFDIR: "directory", stat.S_IFREG: "file", stat.S_IFSOCK: "socket"}


def test_every_file_has_the_mode_the_table_says():
    table = documented()
    for umask in (0, 0o022, 0o077):
        before = os.umask(umask)
        it = Instance("--executors", "1", "--memory", "24M")
        try:
            spill = next(line.split("spill=")[1].split()[0] for line in it.log().splitlines() if "spill=" in line)
            for _ in range(4):  # spilling
                it.granary("put", "-", input=os.urandom(6 << 20))
            it.granary("run", "--csv", SOURCE + "/libclient/examples/damaging.json", cwd=SOURCE)
            it.granary("stacks", "all")
            seen = set()
            for name, st in found(it, spill):
                kind, mode = KINDS[stat.S_IFMT(st.st_mode)], stat.S_IMODE(st.st_mode)
                rows = [row for row in table if row[0].match(name)]
                check(rows, f"{name} ({kind} {mode:04o}) is not in docs/security.md")
                check(any((kind, mode) == row[1:] for row in rows), f"umask {umask:03o}: {name} is {kind} {mode:04o}")
                check(st.st_uid == os.geteuid(), f"{name} belongs to uid {st.st_uid}")
                seen.update(row[0].pattern for row in rows)
            needed = ("RUNTIME$", r"RUNTIME/state\.db$", r"RUNTIME/pool\.sock$", "SHM/root$")
            check(all(pattern in seen for pattern in needed), f"not all was looked at: {seen}")
        finally:
            os.umask(before)
            it.close()


def test_a_runtime_directory_of_somebody_else_is_refused():
    """A link, a file, another user's, one everybody may write, one below another user's: told by name, left alone."""
    need_others()
    it = Instance(store_only=True)
    try:
        def refused(path, why):
            done = it.run("up", "--executors", "0", "--instance", path)
            check(done.returncode not in (0, -11, -6), f"{path}: taken, though {why}")
            check(path.encode() in done.stderr, f"{path}: {done.stderr.decode()}")

        os.makedirs(it.work + "/theirs/deep")
        os.chown(it.work + "/theirs", MALLORY, MALLORY)
        refused(it.work + "/theirs", "it is another user's")
        refused(it.work + "/theirs/deep", "the one above it is another user's")
        refused(it.work + "/theirs/new", "the one above it is another user's")
        check(os.listdir(it.work + "/theirs") == ["deep"], "something was left in another user's directory")
        os.makedirs(it.work + "/all/mine", mode=0o700)
        os.chmod(it.work + "/all", 0o777)
        refused(it.work + "/all/mine", "everybody may rename it")
        os.chmod(it.work + "/all/mine", 0o777)
        os.chmod(it.work + "/all", 0o755)
        refused(it.work + "/all/mine", "everybody may write in it")
        os.symlink("/nowhere", it.work + "/link")
        refused(it.work + "/link", "it is a link to nowhere")
        with open(it.work + "/file", "w"):
            refused(it.work + "/file", "it is a file")
    finally:
        it.close()


@contextlib.contextmanager
def forged(directory, victim, uid=MALLORY, locked=True):
    """A runtime directory of mallory's that all may read, whose lock says that `victim` is the supervisor."""
    import fcntl
    import shutil

    os.makedirs(directory)
    with open(directory + "/lock", "w") as lock:
        lock.write(f"{victim.pid}\n")
        lock.flush()
        with open(directory + "/instance.json", "w") as file:
            json.dump({name + "_pid": victim.pid for name in ("store", "sched", "pool")}, file)
        os.makedirs(directory + "/log")
        for path in (directory, directory + "/log", directory + "/lock", directory + "/instance.json"):
            os.chown(path, uid, uid)
            os.chmod(path, 0o777)
        try:
            if locked:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def test_a_lock_of_somebody_else_ends_nobody():
    """Mallory was first below /tmp, and says that a process of alice's is her supervisor: no command signals it."""
    need_others()
    work = tempfile.mkdtemp(prefix="granary-test-")
    os.chmod(work, 0o755)
    victim = subprocess.Popen(["sleep", "1000"], user=ALICE, group=ALICE, extra_groups=[])
    try:
        for locked in (True, False):
            with forged(work + "/i", victim, locked=locked):
                for command in ("reload", "down", "up --replace --executors 0", "cluster up --slurm", "stacks all", "upgrade", "executors"):
                    done = subprocess.run([BIN + "/granary", *command.split()], capture_output=True, user=ALICE, group=ALICE, extra_groups=[],
                                          env={"PATH": os.environ["PATH"], "GRANARY_INSTANCE": work + "/i"})
                    check(victim.poll() is None, f"{command} ended a process: {done.stderr.decode()}")
                    check(command in ("cluster up --slurm", "stacks all", "upgrade") or (done.returncode == 7 and b"belongs to uid %d" % MALLORY in done.stderr),
                          f"{command}: {done.returncode}: {done.stderr.decode()}")
                for command in ("down", "reload", "up --replace --executors 0"):  # root stops mallory's instance, as mallory
                    done = subprocess.run([BIN + "/granary", *command.split()], capture_output=True,
                                          env={"PATH": os.environ["PATH"], "GRANARY_INSTANCE": work + "/i"})
                    check(victim.poll() is None, f"root's {command} ended a process: {done.stderr.decode()}")
    finally:
        victim.kill()
        victim.wait()
        os.rmdir(work)


def test_root_stops_an_instance_as_its_user():
    """All of it is gone then, its shared memory, too; and a name is root's own."""
    need_others()
    it = Instance("--executors", "1", "--memory", "16M", user=ALICE)
    os.mkdir(it.work + "/stays", 0o755)
    it.granary("down", user=0, env={"ASAN_OPTIONS": "detect_leaks=0"})  # who changes its user cannot be traced, not by itself either
    check(not os.path.exists(it.directory), "the directory is left")
    check(not [name for name in os.listdir("/dev/shm") if name.startswith(f"granary.{ALICE}.")], "shared memory is left")
    it.close()


def test_a_link_below_var_tmp_leads_no_sweep_astray():
    """Mallory was first where an instance would spill, with a link to a directory of alice's: up refuses it, and down removes nothing there."""
    need_others()
    it = Instance("--executors", "0", "--memory", "16M", user=ALICE)
    link = ""
    try:
        os.mkdir(it.work + "/more")  # so that the directory above stays
        with open(it.directory + "/instance.json") as file:
            tag = json.load(file)["shm_prefix"].split(".")[2]
        it.granary("down", user=ALICE)
        for name in ("logs", "fragments"):
            os.makedirs(f"{it.work}/home/{name}/deep")
        for path in ("home", "home/logs", "home/fragments", "home/logs/deep"):
            os.chown(f"{it.work}/{path}", ALICE, ALICE)
        link = f"/var/tmp/granary-{ALICE}-{tag}"
        os.symlink(it.work + "/home", link)
        os.lchown(link, MALLORY, MALLORY)
        done = it.run("up", "--executors", "0", user=ALICE)
        check(done.returncode != 0 and link.encode() in done.stderr, done.stderr.decode())
        os.mkdir(it.directory, 0o700)
        for name in ("lock", "state.db"):
            with open(f"{it.directory}/{name}", "w"):
                os.chown(f"{it.directory}/{name}", ALICE, ALICE)
        os.chown(it.directory, ALICE, ALICE)
        it.granary("down", user=ALICE)
        check(sorted(os.listdir(it.work + "/home")) == ["fragments", "logs"] and os.path.exists(it.work + "/home/logs/deep"), "files of hers were removed")
    finally:
        if link:
            os.unlink(link)
        it.close()


def test_settings_of_somebody_else_are_refused():
    """A file of settings that another user, or everybody, can write: it is named, and nothing starts."""
    need_others()
    work = tempfile.mkdtemp(prefix="granary-test-")
    try:
        os.chmod(work, 0o755)
        os.makedirs(work + "/home/granary")
        os.mkdir(work + "/etc")
        shown = ("config",)
        for path, options in ((work + "/home/granary/default.conf", ()), (work + "/etc/default.conf", ()), (work + "/named", ("--config", work + "/named"))):
            for uid, mode, works in ((MALLORY, 0o644, False), (ALICE, 0o666, False), (0, 0o666, False), (ALICE, 0o644, True), (0, 0o644, True),
                                     (ALICE, 0o664, True)):
                with open(path, "w") as file:
                    file.write("confine = no\n")
                os.chown(path, uid, uid)
                os.chmod(path, mode)
                for command in (*shown, "up"):
                    if works and command == "up":
                        continue
                    done = subprocess.run([BIN + "/granary", command, *options], capture_output=True, user=ALICE, group=ALICE, extra_groups=[],
                                          env={"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": work + "/home", "GRANARY_ETC": work + "/etc"})
                    told = b"belongs to uid %d" % MALLORY if uid == MALLORY else b"everybody may write it"
                    check(done.returncode == 0 if works else done.returncode == 7 and path.encode() in done.stderr and told in done.stderr,
                          f"{path} of {uid} with {mode:o}: {command}: {done.returncode}: {done.stderr.decode()}")
                os.unlink(path)
    finally:
        import shutil
        shutil.rmtree(work)


def test_a_backup_of_somebody_else_is_not_restored():
    """Graphs in it that had not ended would run again, with the programs that they name."""
    need_others()
    it = Instance("--executors", "1", "--memory", "16M", user=ALICE)
    try:
        os.mkdir(it.work + "/b")
        os.chown(it.work + "/b", ALICE, ALICE)
        it.granary("snapshot", "--freeze", it.work + "/b/copy", user=ALICE)
        for path, directories, files in os.walk(it.work + "/b/copy"):
            check(stat.S_IMODE(os.stat(path).st_mode) == 0o700, f"{path} is open to others")
            for name in files:
                check(stat.S_IMODE(os.stat(f"{path}/{name}").st_mode) == 0o600, f"{path}/{name} is open to others")
        for uid, mode, told in ((MALLORY, 0o755, b"belongs to uid %d" % MALLORY), (ALICE, 0o777, b"everybody may write it")):
            os.chown(it.work + "/b/copy", uid, uid)
            os.chmod(it.work + "/b/copy", mode)
            done = it.run("restore", it.work + "/b/copy", "--instance", it.work + "/b/i", user=ALICE)
            check(done.returncode == 7 and told in done.stderr, f"{done.returncode}: {done.stderr.decode()}")
            check(not os.path.exists(it.work + "/b/i"), "something was restored")
        os.chmod(it.work + "/b/copy", 0o700)
        it.granary("restore", it.work + "/b/copy", "--instance", it.work + "/b/i", user=ALICE)
        it.granary("down", "--instance", it.work + "/b/i", user=ALICE)
    finally:
        it.close()


def test_names_in_shared_memory_that_somebody_took_first_are_not_adopted():
    """A root that another user made, of a perfect copy's bytes: not opened, not mapped, not believed, and told of."""
    need_others()
    work = Instance(store_only=True)
    it = None
    try:
        prefix = next(name for name in os.listdir("/dev/shm") if name.endswith(".root") and name.startswith("granary.0.")
                      and work.directory.encode() in beginning("/dev/shm/" + name))[:-4]
        with open(f"/dev/shm/{prefix}root", "rb") as file:
            root = file.read(1 << 20)
        work.store.send_signal(signal.SIGTERM)
        check(work.store.wait(60) == 0, "the store's end")
        for name in ("root", "events"):
            with open(f"/dev/shm/{prefix}{name}", "wb") as file:
                file.write(root)
            os.chown(f"/dev/shm/{prefix}{name}", MALLORY, MALLORY)
            os.chmod(f"/dev/shm/{prefix}{name}", 0o666)
        done = work.run("up", "--executors", "0")
        check(done.returncode == 7 and f"/dev/shm/{prefix}root".encode() in done.stderr, done.stderr.decode())
        for command in (("top", "--once"), ("fsck",), ("events",), ("ls",)):
            done = work.run(*command)
            check(done.returncode not in (0, -7, -11, -6), f"{command}: {done.returncode}: {done.stdout[:300]}")
        check(open(f"/dev/shm/{prefix}root", "rb").read(1 << 20) == root, "it was written to")
    finally:
        for name in ("root", "events"):
            if os.path.exists(f"/dev/shm/{prefix}{name}"):
                os.unlink(f"/dev/shm/{prefix}{name}")
        import shutil
        shutil.rmtree(work.work)


def test_a_server_that_was_there_first_is_not_believed():
    """By a name, an instance is one's own: another user's socket below /tmp is refused, before anything is sent."""
    need_others()
    shared = f"/tmp/granary-{ALICE}"
    if os.path.exists(shared):
        skip(f"{shared} is there")
    os.makedirs(shared + "/default", mode=0o755)
    child = 0
    try:
        os.chmod(shared, 0o755)
        heard = []
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            os.chown(shared + "/default", MALLORY, MALLORY)
            os.setgid(MALLORY)
            os.setuid(MALLORY)
            server.bind(shared + "/default/store.sock")
            os.chmod(shared + "/default/store.sock", 0o666)
            server.listen()
            os.write(write, b"!")
            os.write(write, server.accept()[0].recv(100))
            os._exit(0)
        os.close(write)
        check(os.read(read, 1) == b"!", "the false server")
        it = Instance(store_only=True)
        done = it.run("put", "-", "--instance", "default", input=b"secret", user=ALICE,
                      env={"GRANARY_INSTANCE": "", "XDG_RUNTIME_DIR": ""})
        check(done.returncode == 7 and f"uid {MALLORY}".encode() in done.stderr, done.stderr.decode())
        check(os.read(read, 100) == b"", "the false server was sent something")
        it.close()
    finally:
        import shutil
        if child > 0:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        shutil.rmtree(shared)


def test_the_runtime_directory_of_another_user_in_the_environment_is_not_used():
    need_others()
    it = Instance(store_only=True)
    try:
        os.mkdir(it.work + "/xdg", 0o700)
        os.chown(it.work + "/xdg", ALICE, ALICE)
        done = it.run("status", "--instance", "nobody-has-this", env={"XDG_RUNTIME_DIR": it.work + "/xdg"})
        check(b"/tmp/granary-0/nobody-has-this" in done.stderr, done.stderr.decode())
        check(os.listdir(it.work + "/xdg") == [], "something was made there")
    finally:
        it.close()


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
