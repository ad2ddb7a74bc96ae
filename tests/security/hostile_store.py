"""Clients that lie to the store, one after the other, and the honest client beside them.

Each test is one of the hostile clients that docs/security.md lists; where it says so the attack is done by another user,
which needs root. `hostile_store.py -k NAME` runs some of them.
"""
import fcntl
import mmap
import os
import resource
import socket
import struct
import time

from hostile import *


def memory_store(**options):
    return instance("--memory", "64M", store_only=True, **options)


def test_a_doorbell_that_is_drained_or_blocks_is_the_clients_own():
    """Emptied for ever and made to block, it must not keep the store from hearing another client's, nor hold it up."""

    def drain(begun, path):
        raw = Raw(path, "mallory")
        fcntl.fcntl(raw.fds[2], fcntl.F_SETFL, 0)
        begun()
        while True:
            os.read(raw.fds[2], 8)

    def fill(begun, path):
        raw = Raw(path, "mallory")
        begun()
        while True:
            try:
                os.write(raw.fds[2], struct.pack("=Q", 2**64 - 2))
            except BlockingIOError:
                os.read(raw.fds[2], 8)

    with memory_store() as it:
        for attack in (drain, fill):
            with attacker(attack, it.socket):
                it.honest(3)


def test_a_dropped_clients_doorbell_rings_nobody():
    """The client keeps the open file: the store must not look at what it knew of it."""
    with memory_store() as it:
        bells = []
        for number in range(50):
            raw = Raw(it.socket, "mallory")
            bells.append(raw.fds[2])
            raw.fds = raw.fds[:2]
            raw.close()
        it.honest(1)
        for bell in bells:
            os.write(bell, struct.pack("=Q", 1))
        it.honest(2)


def test_who_does_not_greet_holds_no_place():
    """Half-open connections, more than there are places: the honest one is served, they are dropped."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with instance("--memory", "64M", store_only=True, files=100) as it:  # so it has 20 places
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        silent = [Raw(it.socket) for _ in range(60)]
        slow = [Raw(it.socket) for _ in range(10)]
        for raw in slow:  # a head, and not its body
            raw.socket.sendall(HEAD.pack(MAGIC, HELLO_OP, 0, 1, 0, HELLO.size))
        it.honest(2)
        for raw in silent + slow:
            raw.await_hangup()
            raw.close()
        it.honest(1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_a_client_calls_itself_commands_no_terminal():
    """A session's name with what a terminal obeys is refused; a tag is shown without."""
    with memory_store() as it:
        for name in (b"s\x1b[2J", "s\u009b2J".encode(), b"s\x9b2J", b"s\x7f"):
            raw = Raw(it.socket)
            err, _ = raw.greet(name)
            check(err == -2, f"session {name!r}: {err}")
            raw.close()
        raw = Raw(it.socket, "default", b"t\xc2\x9b2J\x9b\x1b")
        shown = it.granary("clients")
        check(b"t??2J??" in shown and not any(byte in shown for byte in (0x1b, 0x9b)), repr(shown))
        raw.close()


def descriptors(it):
    """How many the store has. It hides them, but from root."""
    if os.geteuid() != 0:
        skip("needs root, to count the store's descriptors")
    return len(os.listdir(f"/proc/{it.store.pid}/fd"))


def test_a_flood_of_connections_is_survived():
    def flood(begun, path):
        begun()
        while True:
            try:
                raw = Raw(path)
                if os.getpid() % 2 == 0:
                    raw.send(PING)
                raw.close()
            except OSError:
                pass

    with memory_store() as it:
        with attacker(flood, it.socket), attacker(flood, it.socket):
            it.honest(3)
        fds = descriptors(it)
        it.honest(1)
        check(descriptors(it) <= fds + 2, "the store keeps descriptors")


def test_descriptors_nobody_asked_for_cost_the_connection():
    """One a message for ever, and 253 at once, of a pipe and of a file: none stays in the store."""
    with memory_store() as it:
        read, write = os.pipe()
        raw = Raw(it.socket, "mallory")  # its session is there, and its descriptors
        before = descriptors(it)
        for count in (1, 253):
            for greeted in (False, True):
                hostile = Raw(it.socket, "mallory" if greeted else None)
                try:
                    for _ in range(100):
                        hostile.ask(PING, fds=[read] * count)
                    fail(f"{count} descriptors were taken")
                except (Gone, BrokenPipeError):
                    pass
                hostile.close()
        hostile = Raw(it.socket, "mallory")  # in front of a frame that never comes
        hostile.socket.sendmsg([b"\x67"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("=i", write))])
        hostile.await_hangup()
        hostile.close()
        for _ in range(1000):  # each a turn of its loop
            check(raw.ask(PING)[0] == 0, "the calm client")
            if descriptors(it) <= before:
                break
        else:
            fail("descriptors stay in the store")
        it.honest(1)


def test_who_never_reads_is_dropped():
    with memory_store() as it:
        deaf = Raw(it.socket, "mallory")
        ref = REF_BODY.pack(b"\1" * 16, 0, 0)
        try:
            for _ in range(200000):
                deaf.send(RESTORE, ref)
            fail("the store keeps answers for ever")
        except Gone:
            pass
        it.honest(2)


def room(raw, least, most=0, timeout_ms=0, request=1):
    return raw.ask(ROOM, ROOM_BODY.pack(least, most or least, timeout_ms, -1, 0, request))


def test_impossible_sizes_are_refused():
    with memory_store() as it:
        raw = Raw(it.socket, "mallory")
        for number, size in enumerate((2**63, 2**64 - 1, 2**63 - 1, 2**40, 64 << 20 | 1, 0)):
            try:
                err, _, fds = room(raw, size, request=number + 1)
            except Gone:
                raw = Raw(it.socket, "mallory")
                continue
            check(err != 0 or size == 0, f"room of {size} bytes was granted")
            for fd in fds:
                os.close(fd)
        it.honest(2)


def test_memory_taken_for_ever_is_the_sessions_own_quota():
    """It takes all the room it can have and sleeps; with a quota others go on, and its death gives all of it back."""
    with memory_store() as it:
        it.granary("session", "create", "mallory", "--quota", "24M")

        def hoard(begun, path):
            raw, held = Raw(path, "mallory"), 0
            while room(raw, 1 << 20, request=held + 1)[0] == 0:
                held += 1
            begun()
            time.sleep(1000)

        with attacker(hoard, it.socket):
            content = os.urandom(10 << 20)
            for _ in range(2):
                key = it.granary("put", "-", input=content).decode().strip()
                check(it.granary("get", key) == content, "other bytes")
                it.granary("rm", key)
        it.granary("put", "--session", "mallory", "-", input=os.urandom(4 << 20))


def test_what_a_group_member_keeps_in_ledgers_is_bounded():
    """Records in a ledger cost no room of objects: a member of the group may have his share of them, in all his sessions."""
    if os.geteuid() != 0:
        skip("other users need root")

    def hoard(begun, path, id, sessions):
        for session in sessions:
            raw, err = Raw(path, session), 0
            for parent in range(1, 1000):
                err, _, _ = raw.ask(CONTAIN, struct.pack("=QQII", 7, parent, 1000, 0) + id * 1000)
                if err != 0:
                    break
            check(err == -5,  # EFULL
                   f"ledger of session {session}: {err}")
        begun()
        time.sleep(1000)

    with instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER) as it:
        mallory, alice = ({"user": user, "groups": [STORE_USER]} for user in (MALLORY, ALICE))
        id = b"\1" * 16
        for session in "mn":
            it.granary("put", "--session", session, "--id", id.hex(), "-", input=b"x", **mallory)
        with attacker(hoard, it.socket, id, "mn", **mallory):
            with open("/proc/%d/status" % it.store.pid) as status:
                kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
            check(kilobytes < 200 << 10, f"the store has {kilobytes} kB")
            for number in range(3):
                key = it.granary("put", "--session", f"alice{number}", "-", input=os.urandom(9000), **alice).decode().strip()
                it.granary("name", "--session", f"alice{number}", "n", key, **alice)


def hoard_rooms(begun, path, sessions, clients):
    """As many of the smallest rooms as are given, by each of so many clients in each of the sessions."""
    kept = []
    for session in sessions:
        for _ in range(clients):
            raw, err, held = Raw(path, session), 0, 0
            while err == 0:
                err, _, fds = room(raw, 64, request=held + 1)
                held += 1
                for fd in fds:
                    os.close(fd)
            check(err == -5, f"room {held} in session {session}: {err}")  # EFULL
            kept.append(raw)
    begun()
    time.sleep(1000)


def test_descriptors_of_rooms_are_shared():
    """A room of 64 bytes has a descriptor, too: a client has a part of its session's, a session a part of all there are."""
    with instance("--memory", "64M", store_only=True, files=600) as it:
        with attacker(hoard_rooms, it.socket, "m", 1):
            it.honest(2, "m")
            it.honest(2)
        with attacker(hoard_rooms, it.socket, "mno", 4):
            it.honest(2)
        it.honest(2, "m")


def test_a_group_member_has_a_part_of_the_descriptors():
    """However many sessions he has."""
    if os.geteuid() != 0:
        skip("other users need root")
    with instance("--memory", "64M", store_only=True, user=STORE_USER, group=STORE_USER, files=600) as it:
        mallory, alice = ({"user": user, "groups": [STORE_USER]} for user in (MALLORY, ALICE))
        with attacker(hoard_rooms, it.socket, "mnopqrst", 2, **mallory):
            for number in range(3):
                content = os.urandom(9000)
                key = it.granary("put", "--session", f"alice{number}", "-", input=content, **alice).decode().strip()
                check(it.granary("get", "--session", f"alice{number}", key, **alice) == content, "other bytes")


def test_a_strict_session_has_more_objects_than_descriptors():
    """Each of its objects has a segment of its own: the oldest are spilled, and nobody else notices."""
    with instance("--memory", "64M", store_only=True, files=150) as it:
        it.granary("session", "create", "strict", "--strict")
        contents = [os.urandom(100) for _ in range(150)]
        keys = [it.granary("put", "--session", "strict", "-", input=content).decode().strip() for content in contents]
        it.honest(1)
        for key, content in zip(keys, contents):
            check(it.granary("get", "--session", "strict", key) == content, "other bytes")


def lease_page(raw):
    size = os.fstat(raw.fds[1]).st_size
    return mmap.mmap(raw.fds[1], size)


def test_a_lease_page_of_noise_harms_nobody():
    """Random bytes, 0xff and 'A' over all of it, again and again, and the file cut off under the store."""

    def scribble(begun, path, session):
        first = True
        while True:
            for pattern in (None, b"\xff", b"A", b"\0", "cut"):
                raw = Raw(path, session)
                page = lease_page(raw)
                if pattern == "cut":
                    os.ftruncate(raw.fds[1], 0)
                else:
                    page[:] = os.urandom(len(page)) if pattern is None else pattern * len(page)
                    os.write(raw.fds[2], struct.pack("=Q", 1))
                if first:
                    begun()
                    first = False
                try:
                    raw.ask(PING)
                except (Gone, OSError):
                    pass
                raw.close()

    with memory_store() as it:
        with attacker(scribble, it.socket, "mallory"), attacker(scribble, it.socket, "honest"):
            it.honest(4)


def test_a_ring_that_is_never_empty_holds_nobody_up():
    """Filled again as fast as it is emptied, while its client asks, and while it goes: the store is made slow where it
    tells how far it is, so that the attacker always has the time."""

    def refill(begun, path, hang_up):
        raw = Raw(path, "mallory")
        page = lease_page(raw)
        words = memoryview(page).cast("Q")
        head, tail = LEASE_PAGE["ring_head"] // 8, LEASE_PAGE["ring_tail"] // 8
        words[head] = 1000
        raw.socket.close() if hang_up else raw.send(PING)
        begun()
        while True:
            words[head] = words[tail] + 1000

    slow = {"GRANARY_FAULT": "store/ring_page_word:delay=20ms@1+"}
    for hang_up in (False, True):
        with instance("--memory", "64M", store_only=True, env=slow) as it:
            with attacker(refill, it.socket, hang_up):
                it.honest(1)


def test_numbers_of_another_session_lead_nowhere():
    """Same user, another session: leases, holds, moves, slices and names by every serial and token there can be."""
    with memory_store() as it:
        content = os.urandom(100000)
        key = it.granary("put", "--session", "alice", "-", input=content).decode().strip()
        it.granary("pin", "--session", "alice", key)
        id = bytes.fromhex(key)
        raw = Raw(it.socket, "mallory")
        for op in (RESTORE, LEASE, UNLEASE):
            for serial in range(0, 20):
                err, _, fds = raw.ask(op, REF_BODY.pack(id, serial, serial + 1))
                check(err != 0 and not fds, f"operation {op} with serial {serial}: {err}")
        given = sum(len(raw.ask(MAP, struct.pack("=II", kind, number))[2]) for kind in (2,) for number in range(64))
        check(given == 0, f"{given} segments of others were mapped")
        dead = raw.ask(DEAD, b"".join(struct.pack("=I", number) for number in range(64)))[1]
        check(set(dead) == {1}, "which segments others have can be asked")
        check(it.granary("get", "--session", "alice", key) == content, "other bytes")
        check(it.run("rm", "--session", "mallory", key).returncode == 4, "another session's object was removed")
        check(b"session" in it.granary("pins", "--session", "alice") or it.granary("pins", "--session", "alice"), "pin")


def test_the_store_is_not_traced_by_its_own_user():
    """A process of the same user, which is in no session: the store's memory, files and descriptors through /proc, ptrace and pidfds.
    The control: all of it is open of another process of that user."""
    need_others()
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    seize, readv, pidfd_open, pidfd_getfd = 0x4206, 310, 434, 438

    def reached(pid):
        done = []
        for name in ("mem", "maps", "environ", "fd", "map_files", "cwd", "exe"):
            try:
                path = f"/proc/{pid}/{name}"
                os.listdir(path) if name in ("fd", "map_files") else os.readlink(path) if name in ("cwd", "exe") else open(path, "rb").close()
                done.append(name)
            except PermissionError:
                pass
        pidfd = libc.syscall(pidfd_open, pid, 0)
        done += ["descriptors"] if libc.syscall(pidfd_getfd, pidfd, 0, 0) >= 0 else []
        local = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8)
        done += ["memory"] if libc.syscall(readv, pid, local, 1, (ctypes.c_ulong * 2)(1, 8), 1, 0) >= 0 or ctypes.get_errno() != 1 else []
        done += ["tracing"] if libc.ptrace(seize, pid, None, None) == 0 else []
        return done

    def trace(begun, store, other):
        check(len(reached(other)) >= 8, f"the control: {reached(other)}")
        check(reached(store) == [], f"of the store: {reached(store)}")
        begun()

    it = Instance("--executors", "0", "--memory", "16M", user=ALICE)
    other = subprocess.Popen(["sleep", "1000"], user=ALICE, group=ALICE, extra_groups=[])
    try:
        with open(f"/proc/{it.pids()[0]}/maps") as maps:
            if "libasan" in maps.read():
                skip("its leak check traces its own process")
        with attacker(trace, it.pids()[0], other.pid, user=ALICE):
            pass
    finally:
        other.kill()
        other.wait()
        it.close()


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
