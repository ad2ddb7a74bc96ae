"""SQL for the members of a group's store: what each of them runs is their own, and leads to nobody else's.

A member starts a scheduler and executors with their own uid at the store of the group. Needs root, to be the members.
"""
import json
import re
import time

from hostile import *

SUBJECTS = re.findall(r"^SUBJECT\((\w+),", open(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                             "../../include/contract/subjects.def")).read(), re.M)
HERE, SESSION = "HERE", "default-%d" % ALICE

# What Bob asks of Alice's: KEY is her graph, ID her object, TABLE her table that changes. Each is asked at his own scheduler, with
# his session and with hers, and at her directory. Of none is the answer yes; none changes anything for her. To her it is yes.
ASKED = {
    "results": "results KEY table",
    "graph": "graph KEY",
    "graph chunks": "graph KEY --level chunk",
    "tasks": "tasks KEY",
    "meta": "meta KEY",
    "logs": "logs KEY",
    "why": "why KEY",
    "await": "await KEY",
    "timeline": "timeline KEY",
    "report": "report KEY -o OUT",
    "sql": ["sql", "SELECT * FROM KEY"],
    "sql target": ["sql", 'SELECT * FROM "KEY/table"'],
    "sql table": ["sql", "SELECT * FROM TABLE"],
    "insert": ["sql", "INSERT INTO TABLE VALUES (1)"],
    "get": "get ID",
    "table read": "table read TABLE",
    "table delete": "table delete TABLE",
    "stop": "stop KEY",
    "rm": "rm ID",
    "forget": "forget KEY",
}
# What no member may, even of what is their own: it is about the store as a whole.
OWNERS = ["top --once", "leases", "fsck", "sessions", "clients", "segments", "pins", "events", "metrics", "snapshot COPY", "web"]
# Settings of the store, which is not theirs.
SETTINGS = {"memory": "1G", "spill-dir": "/tmp", "disk-quota": "1G", "remote-dir": "/tmp", "levels": "disk",
            "group": str(STORE_USER), "user-memory": "1G", "http": "127.0.0.1:0"}
REFUSED = (1, 3, 4, 7)  # a usage error (2) would be a mistake of the test


def member(uid):
    return {"user": uid, "groups": (STORE_USER,), "env": {"XDG_RUNTIME_DIR": "", "GRANARY_RECALL": ""}, "cwd": "/tmp"}


alice, bob, service = member(ALICE), member(BOB), {"user": STORE_USER}


def place(it, uid):
    """Where a member's own part is."""
    home = f"/tmp/granary-{uid}"
    name = next(name for name in os.listdir(home) if name.startswith("+" + os.path.basename(it.directory)))
    return f"{home}/{name}"


@contextlib.contextmanager
def group(*arguments):
    need_others()
    it = Instance("--memory", "128M", *arguments, store_only=True, user=STORE_USER, group=STORE_USER)
    try:
        os.mkdir(it.work + "/copies")
        os.chmod(it.work + "/copies", 0o777)
        yield it
    except BaseException:
        sys.stderr.write(it.log()[-4000:])
        raise
    finally:
        for who in (alice, bob):
            it.run("down", **who)
        it.close()


def write(it, name, text, uid):
    path = f"{it.work}/{name}"
    with open(path, "w") as file:
        file.write(text)
    os.chown(path, uid, uid)
    os.chmod(path, 0o600)
    return path


def sql(it, statement, who, *more):
    return json.loads(it.granary("sql", "--json", *more, statement, **who))


def objects(it, who, *more):
    return json.loads(it.granary("ls", "--json", *more, **who))


def hers(it):
    graphs = [(row["key"], row["state"]) for row in json.loads(it.granary("graphs", "--json", **alice))]
    return graphs, sorted((row["id"], row["names"], row["dropped"]) for row in objects(it, alice))


def test_each_member_queries_what_is_theirs():
    with group() as it:
        puts = {}
        for who, uid, value in ((alice, ALICE, 1), (bob, BOB, 2)):
            path = write(it, f"{uid}.csv", f"k,v\na,{value}\nb,{value}\n", uid)
            it.granary("up", "--executors", "1", **who)
            it.granary("table", "create", "live", "v:int64", **who)
            it.granary("sql", f"INSERT INTO live VALUES ({value}), (10)", **who)
            it.granary("put", path, **who)
            puts[uid] = {row["id"] for row in objects(it, who)}
            it.granary("load", "t", path, **who)
        for who, value in ((alice, 1), (bob, 2)):
            check(sql(it, "SELECT sum(v) AS s FROM t", who) == [{"s": 2 * value}], "a table of one's own")
            check(sql(it, "SELECT sum(v) AS s FROM live", who) == [{"s": 10 + value}], "a table that changes")
            check([row["key"] for row in json.loads(it.granary("graphs", "--json", **who))] == ["t"], "graphs")
            check(json.loads(it.granary("status", "--json", **who))["executors"][0]["number"] == 1, "status")
        clients = json.loads(it.granary("clients", "--json", **service))
        check({ALICE, BOB} <= {row["uid"] for row in clients if row["tag"].startswith("executor")}, f"the owner sees {clients}")
        names = {row["name"] for row in json.loads(it.granary("sessions", "--json", **service))}
        check({SESSION, f"default-{BOB}"} <= names, f"the owner sees {names}")
        check(it.granary("down", **alice).startswith(b"your scheduler and executors at the store in"), "down")
        check({row["id"] for row in objects(it, alice)} == puts[ALICE], "what graphs have yielded goes, and nothing else")
        check(sql(it, "SELECT sum(v) AS s FROM t", bob) == [{"s": 4}], "the other one's goes on")


def test_a_statement_alone_leaves_nothing():
    """Without `up` a statement has a scheduler of its own, which ends with it; tables that change are the store's."""
    with group() as it:
        path = write(it, "rows.csv", "k,v\na,1\na,2\n", ALICE)
        check(sql(it, f"SELECT k, sum(v) AS s FROM '{path}' GROUP BY k", alice) == [{"k": "a", "s": 3}], "a file")
        check(objects(it, alice) == [], f"left in the store: {objects(it, alice)}")
        it.granary("table", "create", "live", "v:int64", **alice)
        it.granary("sql", "INSERT INTO live VALUES (3), (4)", **alice)
        check(sql(it, "SELECT sum(v) AS s FROM live", alice) == [{"s": 7}], "what another statement wrote")
        for command, said in (("load t " + path, b"granary up --instance " + it.directory.encode()),
                              ("sql --keep t SELECT/**/1", b"a private one keeps nothing"),
                              ("graphs", b"no scheduler of yours runs at the store in " + it.directory.encode())):
            done = it.run(*(word.replace("/**/", " ") for word in command.split()), **alice)
            check(done.returncode == 3 and said in done.stderr, f"{command}: {done.stderr.decode()}")


def test_files_are_opened_by_the_member():
    """Not by the service: neither its files nor another member's are read or written."""
    with group() as it:
        theirs = {uid: write(it, f"{uid}.csv", "v\n1\n", uid) for uid in (ALICE, BOB, STORE_USER)}
        it.granary("up", "--executors", "1", **alice)
        check(sql(it, f"SELECT v FROM '{theirs[ALICE]}'", alice) == [{"v": 1}], "a file of one's own")
        for uid in (BOB, STORE_USER):
            done = it.run("sql", f"SELECT v FROM '{theirs[uid]}'", **alice)
            check(done.returncode == 7 and b"ermission denied" in done.stderr, f"{done.returncode}: {done.stderr.decode()}")
            done = it.run("sql", f"COPY (SELECT 1 AS v) TO '{theirs[uid]}'", **alice)
            check(done.returncode != 0, "it writes another user's file")
            with open(theirs[uid]) as file:
                check(file.read() == "v\n1\n", "another user's file has other bytes")
        program = ["/bin/sh", "-c", f"id -u >{it.work}/copies/who"]
        graph = json.dumps({"nodes": {"p": {"op": "exec", "command": program}}, "targets": ["p"]})
        it.granary("run", write(it, "graph.json", graph, ALICE), **alice)
        with open(it.work + "/copies/who") as file:
            check(file.read() == f"{ALICE}\n", "a program runs as somebody else")


def test_a_member_reaches_nothing_of_anothers():
    with group() as it:
        path = write(it, "secret.csv", "word\nxyzzy\n", ALICE)
        for who in (alice, bob):
            it.granary("up", "--executors", "1", **who)
        it.granary("load", "alices", path, **alice)
        it.granary("table", "create", "changes", "v:int64", **alice)
        it.granary("sql", "INSERT INTO changes VALUES (5)", **alice)
        id = it.granary("put", "-", input=b"hers", **alice).decode().strip()
        before = hers(it)
        theirs = place(it, ALICE)
        known = {"KEY": "alices", "ID": id, "TABLE": "changes", "OUT": it.work + "/copies/report.html"}

        def ask(command, who, *more):
            words = command.split() if isinstance(command, str) else command
            for name, value in known.items():
                words = [word.replace(name, value) for word in words]
            name = 2 if words[0] == "table" else 1
            return it.run(*words[:name], *more, *words[name:], **who)

        for verb, command in ASKED.items():
            for more in ([], ["--session", SESSION], ["--instance", theirs]):
                done = ask(command, bob, *more)
                check(done.returncode in REFUSED, f"{verb} {more}: {done.returncode}: {done.stdout} {done.stderr.decode()}")
                check(b"xyzzy" not in done.stdout and b"hers" not in done.stdout, f"{verb} {more}: {done.stdout}")
        check(it.run("session", "delete", SESSION, **bob).returncode == 7, "another one deletes her session")
        for subject in SUBJECTS:
            for keys in ([], ["alices"], ["alices/table"], ["alices/0"], [SESSION]):
                done = it.run("info", subject, *keys, "--json", **bob)
                check(b"alices" not in done.stdout, f"info {subject} {keys}: {done.stdout.decode()}")
        for name in os.listdir(theirs) if os.geteuid() == 0 else ():
            check(os.lstat(f"{theirs}/{name}").st_uid == ALICE, f"{name} is not hers")
        check(os.stat(theirs).st_mode & 0o077 == 0, "others look into her directory")

        def connect(begun):
            for name in ("sched.sock", "pool.sock", "web.sock"):
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as to:
                    try:
                        to.connect(f"{theirs}/{name}")
                    except (PermissionError, FileNotFoundError):
                        continue
                    fail(f"{name}: another member connects")
            for name in ("state.db", "instance.json", "lock"):
                try:
                    with open(f"{theirs}/{name}", "rb"):
                        fail(f"{name}: another member reads it")
                except PermissionError:
                    pass
            begun()

        for uid in (BOB, STORE_USER):
            with attacker(connect, user=uid, groups=(STORE_USER,)):
                pass
        check(hers(it) == before, f"hers has changed: {before} {hers(it)}")
        for verb, command in ASKED.items():
            done = ask(command, alice)
            check(done.returncode == 0, f"{verb}, of her own: {done.returncode}: {done.stderr.decode()}")


def test_results_are_recalled_within_a_member():
    """The same statement over the same rows, of two members: nobody is told that the other one has computed it."""
    with group() as it:
        path = write(it, "rows.csv", "v\n" + "1\n" * 1000, ALICE)
        os.chmod(path, 0o644)
        for who in (alice, bob):
            it.granary("up", "--executors", "1", **who)
            it.granary("load", "--no-recall", "t", path, **who)
            check(json.loads(it.granary("recall", "list", "--json", **who)) == [], "something to recall before anything ran")
            for _ in range(2):
                check(sql(it, "SELECT sum(v) AS s FROM t", who) == [{"s": 1000}], "the sum")
            rows = json.loads(it.granary("recall", "list", "--json", **who))
            check(any(row["uses"] > 0 for row in rows), f"nothing was recalled: {rows}")
        ids = [{row["id"] for row in objects(it, who)} for who in (alice, bob)]
        check(ids[0] and ids[1] and not ids[0] & ids[1], f"ids of both: {ids}")


def test_what_is_the_stores_is_its_users():
    with group() as it:
        for command in OWNERS:
            for _ in range(2):
                done = it.run(*command.replace("COPY", it.work + "/copies/c").split(), **alice)
                check(done.returncode == 7 and b"is a store of uid %d" % STORE_USER in done.stderr,
                      f"{command}: {done.returncode}: {done.stderr.decode()}")
        done = it.run("restore", it.work + "/copies", **alice)
        check(done.returncode != 0, "restore")
        for option, value in SETTINGS.items():
            done = it.run("up", f"--{option}={value}", **alice)
            check(done.returncode == 2 and f"--{option} is for who runs the store".encode() in done.stderr,
                  f"{option}: {done.returncode}: {done.stderr.decode()}")
        done = it.run("sql", "--memory", "1G", "SELECT 1", **alice)
        check(done.returncode == 2 and b"--memory is for who runs the store" in done.stderr, done.stderr.decode())
        check(not os.path.exists(f"/tmp/granary-{ALICE}"), "a refused start leaves a directory")


def test_a_session_for_all_is_shared_by_schedulers():
    """Made with --shared: objects and tables that change are everybody's. Tables that are results have two names in it."""
    with group() as it:
        it.granary("session", "create", "--shared", "both", **alice)
        it.granary("table", "create", "--session", "both", "live", "v:int64", **alice)
        it.granary("sql", "--session", "both", "INSERT INTO live VALUES (1), (2)", **alice)
        check(sql(it, "SELECT sum(v) AS s FROM live", bob, "--session", "both") == [{"s": 3}], "a table of both")
        for who, uid, value in ((alice, ALICE, 1), (bob, BOB, 2)):
            it.granary("up", "--executors", "1", **who)
            it.granary("load", "--session", "both", "t", write(it, f"{uid}.csv", f"v\n{value}\n", uid), **who)
        for who, value in ((alice, 1), (bob, 2)):
            check(sql(it, "SELECT v FROM t", who, "--session", "both") == [{"v": value}], "the other one's rows")


def test_rows_of_a_scheduler_that_was_killed_are_nobodys():
    """All of a member's processes are killed and the state is lost: what they left in the store is not taken for new results."""
    with group() as it:
        for value in (1, 2):
            pid = json.loads(it.granary("up", "--executors", "1", "--json", **alice))["pid"]
            it.granary("load", "t", write(it, "rows.csv", f"v\n{value}\n", ALICE), **alice)
            check(sql(it, "SELECT v FROM t", alice) == [{"v": value}], f"round {value}")
            at = place(it, ALICE)
            with open(at + "/instance.json") as file:
                told = json.load(file)
            check("store_pid" not in told, "the store is not the member's")
            for victim in (pid, told["pool_pid"], told["sched_pid"]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            deadline = time.monotonic() + 30
            while it.run("clients", **service).stdout.count(b"executor") > 0 and time.monotonic() < deadline:
                time.sleep(0.02)
            shutil.rmtree(at)


def test_the_store_may_end_and_come_back():
    with group() as it:
        path = write(it, "rows.csv", "v\n1\n", ALICE)
        it.granary("up", "--executors", "1", **alice)
        it.granary("load", "t", path, **alice)
        it.stop_store()
        for command in (("sql", "SELECT v FROM t"), ("put", path)):
            done = it.run(*command, **alice)
            check(done.returncode == 3 and b"ask its user to start it" in done.stderr, done.stderr.decode())
        it.start_store()
        done = it.run("sql", "SELECT v FROM t", **alice)
        check(done.returncode == 1 and b"not in the store any more: load it again" in done.stderr, done.stderr.decode())
        it.granary("load", "--replace", "t", path, **alice)
        check(sql(it, "SELECT v FROM t", alice) == [{"v": 1}], "loaded again")
        it.stop_store()
        it.granary("down", **alice)
        it.start_store()


def test_a_member_has_no_more_by_sql():
    """--user-memory holds for what graphs make, and one member's does not spill another's."""
    with group("--user-memory", "4M") as it:
        for who in (alice, bob):
            it.granary("up", "--executors", "1", **who)
        hers = it.granary("put", "-", input=os.urandom(1 << 20), **alice).decode().strip()
        for n in range(4):
            it.granary("sql", "--keep", f"t{n}", f"SELECT random() AS v FROM generate_series(1, {300000 + n})", **bob)
        rows = json.loads(it.granary("sessions", "--json", **service))
        used = [row["used_bytes"] for row in rows if row["name"] == f"default-{BOB}"]
        check(len(used) == 1 and 0 < used[0] <= 4 << 20, f"a member has {used} bytes in memory")
        check(b'"state": "memory"' in it.granary("ls", "--json", hers, **alice), "another member's object was spilled for it")


def test_who_was_first_in_a_members_place_is_not_believed():
    """Somebody else has made the directory below /tmp: nothing runs there, and what needs the store alone goes on."""
    with group() as it:
        path = write(it, "rows.csv", "v\n1\n", ALICE)
        home = f"/tmp/granary-{ALICE}"
        os.mkdir(home)
        os.chown(home, MALLORY, MALLORY)
        os.chmod(home, 0o777)
        try:
            it.granary("put", path, **alice)
            for command in (("up",), ("load", "t", path), ("graphs",)):
                done = it.run(*command, **alice)
                check(done.returncode == 7 and b"belongs to uid %d" % MALLORY in done.stderr, f"{command}: {done.stderr.decode()}")
            check(os.listdir(home) == [], "something was put into somebody else's directory")
        finally:
            shutil.rmtree(home)


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
