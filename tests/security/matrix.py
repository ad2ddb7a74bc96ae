"""Who may do what: {root, the owner, a member of the group, a stranger} x {user mode, system mode} x every verb.

The tables say what docs/security.md says in words. A refusal is status 7 (not permitted), 3 (nothing to be reached) or 4 (nothing found),
is told on one line, and changes nothing for the owner. Needs root, to be the others.
"""
import json
import os

from hostile import *

OWNER, MEMBER = ALICE, BOB
ACTORS = {"root": (0, ()), "owner": (OWNER, (STORE_USER,)), "member": (MEMBER, (STORE_USER,)), "stranger": (MALLORY, ())}
GRAPH = {"nodes": {"a": {"op": "random", "shape": [1000], "seed": 1}, "s": {"op": "sum", "input": "a"}}, "targets": ["s"]}

# verb -> command, in an order in which they all work for the owner. ID is his object, KEY his graph.
STORE = {
    "put": "put - --session theirs",
    "get": "get ID --session theirs",
    "pin": "pin ID --session theirs",
    "unpin": "unpin ID --session theirs",
    "name": "name a-name ID --session theirs",
    "alias": "alias ffffffffffffffffffffffffffffffff ID --session theirs",
    "move": "move ID --to disk --session theirs",
    "weight": "session has theirs --session theirs",
    "session delete": "session delete theirs",
}
LOOK = {
    "ls": "ls --session theirs",
    "leases": "leases --session theirs",
    "clients": "clients",
    "sessions": "sessions",
    "segments": "segments",
    "top": "top --once",
    "fsck": "fsck",
    "snapshot": "snapshot COPY",
}
WORK = {
    "run": "run --discard GRAPH --session theirs",
    "graphs": "graphs --session theirs",
    "results": "results KEY s --session theirs",
    "executors": "executors",
    "executors add": "executors add 1",
    "weight": "session weight theirs 200",
    "cancel": "stop KEY --no-wait --session theirs",
    "forget": "forget KEY --session theirs",
}
YES, NO, REFUSED = (0,), (7,), (3, 4, 7)

# mode -> actor -> what is expected of the verbs of STORE, LOOK and WORK
EXPECTED = {
    "user": {
        "stranger": (NO, NO, REFUSED),
        "member": (NO, NO, REFUSED),
        "root": (NO, YES, NO),  # looks, and stops; to do more it becomes the user
        "owner": (YES, YES, YES),
    },
    "system": {
        "stranger": (NO, NO, REFUSED),
        "member": (NO, NO, REFUSED),
        "root": (NO, YES, (*YES, *REFUSED)),
        # its store is another user's: `ls` is of what is his, and `run` has a scheduler of his own (members.py)
        "owner": (YES, (*YES, *NO), (*YES, *REFUSED)),
    },
}


def start(mode):
    if mode == "user":
        return Instance("--executors", "1", "--memory", "64M", user=OWNER)
    return Instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER)


def act(it, actor, command, known):
    uid, groups = ACTORS[actor]
    words = [known.get(word, word) for word in command.split()]
    if words[0] == "snapshot":
        words[1] += actor
    return it.run(*words, input=b"content" if words[0] == "put" else None, user=uid, groups=groups)


def try_all(it, mode, known):
    for actor in EXPECTED[mode]:  # the owner is the last: what he has must still be there
        for verbs, expected in zip((WORK, LOOK, STORE), (EXPECTED[mode][actor][i] for i in (2, 1, 0))):
            for verb, command in verbs.items():
                if mode == "system" and verbs is WORK and actor == "owner" and verb == "graphs":
                    continue
                done = act(it, actor, command, known)
                what = f"{mode} mode, {actor}, {verb}: status {done.returncode}: {(done.stderr or done.stdout).decode()}"
                check(done.returncode in expected, what)
                check(done.returncode == 0 or done.stderr.count(b"\n") == 1, what)


def test_everybody_may_do_what_the_tables_say():
    need_others()
    for mode in ("user", "system"):
        it = start(mode)
        try:
            owner = {"user": OWNER, "groups": (STORE_USER,)}
            os.mkdir(it.work + "/copies")
            os.chmod(it.work + "/copies", 0o777)
            with open(it.work + "/graph.json", "w") as file:
                json.dump(GRAPH, file)
            os.chmod(it.work + "/graph.json", 0o644)
            it.granary("session", "create", "theirs", **owner)
            id = it.granary("put", "--session", "theirs", "-", input=b"hello", **owner).decode().strip()
            if mode == "user":
                it.granary("run", "--session", "theirs", "--keep", "key", it.work + "/graph.json", **owner)
            try_all(it, mode, {"ID": id, "KEY": "key", "GRAPH": it.work + "/graph.json", "COPY": it.work + "/copies/"})
            check(act(it, "stranger", "down", {}).returncode in REFUSED, f"{mode} mode: a stranger stops it")
            check(act(it, "member", "down", {}).returncode in REFUSED, f"{mode} mode: a member stops it")
            it.granary("session", "list" if mode == "user" else "has", *(["default"] if mode == "system" else []), **owner)
        finally:
            it.close()


def test_pins_of_others_are_told_by_uid():
    """No room for the pins of another user: the error says whose, but neither session nor reason."""
    need_others()
    with instance("--memory", "4M", store_only=True, user=STORE_USER, group=STORE_USER) as it:
        alice, bob = ({"user": user, "groups": (STORE_USER,)} for user in (ALICE, BOB))
        for _ in range(2):
            id = it.granary("put", "--session", "alices", "-", input=os.urandom(1 << 20), **alice).decode().strip()
            it.granary("pin", "--session", "alices", "--scope", "session", "--reason", "secret plan", id, **alice)
        for user, told in ((alice, b"2.0 MiB by 2 pins in session 'alices' for 'secret plan'"), (bob, b"of uid %d" % ALICE)):
            done = it.run("put", "--timeout", "1s", "--session", "mine%d" % user["user"], "-", input=os.urandom(3 << 20), **user)
            check(done.returncode == 5 and told in done.stderr and b"granary unpin" in done.stderr, done.stderr.decode())
        check(b"alices" not in done.stderr and b"secret" not in done.stderr, done.stderr.decode())


def test_a_member_has_what_is_his_own():
    """In system mode: a session of his own, half of what is left of places and no more, no names of others' sessions."""
    need_others()
    with instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER, files=200) as it:  # 30 places, 25 sessions
        alice, bob = ({"user": user, "groups": (STORE_USER,)} for user in (ALICE, BOB))
        id = it.granary("put", "--session", "alices", "-", input=b"hello", **alice).decode().strip()

        def hoard(begun, path):
            held = []
            try:
                while True:
                    held.append(Raw(path, "bobs"))
            except Gone:
                pass
            begun()
            signal.pause()

        with attacker(hoard, it.socket, user=BOB, groups=(STORE_USER,)):
            check(it.granary("get", "--session", "alices", id, **alice) == b"hello", "the other one is kept out")
            done = it.run("get", "--session", "bobs", id, **bob)
            check(done.returncode == 5 and b"must leave as many to others" in done.stderr, done.stderr.decode())

        def names(begun, path):
            raw = Raw(path, "bobs")
            for number in range(1000):
                if raw.ask(SESSION_CREATE, SESSION_BODY.pack(b"s%d" % number, 0, 0, 0, 0))[0] != 0:
                    break
            check(5 < number < 20, f"{number} sessions")
            _, listed, _ = raw.ask(SESSION_LIST, SESSION_BODY.pack(b"a", 0, 0, 0, 0))
            check(b"alices" not in listed and b"bobs" in listed, "the names of others' sessions are told")
            check(raw.ask(SESSION_HAS, SESSION_BODY.pack(b"alices", 0, 0, 0, 0))[0] != 0, "they can be asked for")
            begun()

        with attacker(names, it.socket, user=BOB, groups=(STORE_USER,)):
            it.granary("session", "create", "another", **alice)


def test_a_persistent_session_stays_its_users():
    """After an orderly end of the store a session is its user's again, and shared if it was; not a user's of another uid."""
    need_others()
    alice, bob = ({"user": user, "groups": (STORE_USER,)} for user in (ALICE, BOB))
    it = Instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER)
    try:
        own = it.granary("put", "--persist", "-", input=b"hers", **alice).decode().strip()
        it.granary("session", "create", "--shared", "both", **alice)
        both = it.granary("put", "--persist", "--session", "both", "-", input=b"theirs", **alice).decode().strip()
        it.stop_store()
        it.start_store()
        it.granary("put", "-", input=b"more", **alice)
        check(it.granary("get", own, **alice) == b"hers", "what she made persistent")
        check(it.granary("get", "--session", "both", both, **bob) == b"theirs", "a shared session is not any more")
        done = it.run("get", "--session", f"default-{ALICE}", own, **bob)
        check(done.returncode == 7 and b"belongs to uid %d" % ALICE in done.stderr, done.stderr.decode())
        check(it.granary("get", "--session", f"default-{ALICE}", own, user=STORE_USER) == b"hers", "the store's own user")
        check(it.run("session", "delete", f"default-{ALICE}", **bob).returncode == 7, "another one deletes it")
        it.granary("session", "delete", "--session", "both", f"default-{ALICE}", **alice)
    finally:
        it.close()


def test_each_user_has_no_more_than_the_administrator_says():
    """--user-memory: over all sessions of a user. His own objects are spilled for it, and nobody else's."""
    need_others()
    with instance("--memory", "64M", "--user-memory", "8M", store_only=True, user=STORE_USER, group=STORE_USER) as it:
        alice, bob = ({"user": user, "groups": (STORE_USER,)} for user in (ALICE, BOB))
        for size in (5, 16):
            with open(f"{it.work}/{size}", "wb") as file:
                file.write(os.urandom(size << 20))
            os.chmod(f"{it.work}/{size}", 0o644)
        hers = it.granary("put", it.work + "/5", **alice).decode().strip()
        for session in ("one", "two", "three"):
            it.granary("put", "--session", session, it.work + "/5", **bob)
        rows = json.loads(it.granary("sessions", "--json", user=STORE_USER))
        used = sum(row["used_bytes"] for row in rows if row["name"] in ("one", "two", "three"))
        check(0 < used <= 8 << 20, f"a user has {used} bytes in memory")
        check(b"\"state\": \"memory\"" in it.granary("ls", "--json", hers, **alice), "another user's object was spilled for it")
        done = it.run("put", it.work + "/16", **bob)
        check(done.returncode == 5 and b"more than each user may have here" in done.stderr, done.stderr.decode())
        it.granary("put", "--session", "stores", it.work + "/16", user=STORE_USER)


def test_whose_it_is_and_what_to_do_is_told():
    """Nobody is told to start an instance that runs, or shown a path without the remedy."""
    need_others()
    with instance("--executors", "1", "--memory", "64M", user=ALICE) as it:
        with open(it.work + "/graph.json", "w") as file:
            json.dump(GRAPH, file)
        os.chmod(it.work + "/graph.json", 0o644)
        for command in ("ls", "status", "top --once", "executors", "down", "up", f"run {it.work}/graph.json", "doctor", "put -"):
            done = it.run(*command.split(), input=b"x", user=MALLORY)
            said = (done.stdout + done.stderr).decode()
            check(f"belongs to uid {ALICE}: run this as that user, or start an instance of your own" in said, f"{command}: {said}")
            check(command == "doctor" or done.returncode == 7, f"{command}: {done.returncode}")
    with instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER) as it:
        done = it.run("put", "-", input=b"x", user=MALLORY)
        check(done.returncode == 7 and b"join its group (gid %d)" % STORE_USER in done.stderr, done.stderr.decode())


def test_members_of_a_group_share_nothing_unasked():
    """Each has a session `default` of his own, sees what is his, and is told who sees the rest."""
    need_others()
    with instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER) as it:
        ids = {}
        for user in (ALICE, BOB):
            who = {"user": user, "groups": (STORE_USER,)}
            ids[user] = it.granary("put", "-", input=b"of %d" % user, **who).decode().strip()
            it.granary("name", "mine", ids[user], **who)
        for user in (ALICE, BOB):
            who = {"user": user, "groups": (STORE_USER,)}
            listed = json.loads(it.granary("ls", "--json", **who))
            check([(one["id"], one["names"]) for one in listed] == [(ids[user], ["mine"])], str(listed))
            check(it.granary("get", "name:mine", **who) == b"of %d" % user, "the other's object")
            check(b"mine" in it.granary("stat", "name:mine", **who), "stat of one object")
            check(json.loads(it.granary("stat", "--json", **who))["objects"] == 2, "the account of the whole")
            check(it.run("session", "has", "default-%d" % user, **who).returncode == 0, "the session's name")
            check(it.run("session", "has", "default-%d" % (ALICE + BOB - user), **who).returncode == 4, "the other's session")
            for command in ("top --once", "leases", "fsck"):
                done = it.run(*command.split(), **who)
                check(done.returncode == 7 and b"is a store of uid %d" % STORE_USER in done.stderr, done.stderr.decode())
            check(b"only the machine was looked at" in it.run("doctor", **who).stdout, "doctor")
            done = it.run("graphs", **who)
            check(done.returncode == 3 and b"no scheduler of yours runs at the store" in done.stderr, done.stderr.decode())


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
