"""Peers of the scheduler's sockets that speak ZMTP by hand, and mean no good. `hostile_sched.py SOURCE_DIRECTORY`"""
import contextlib
import resource
import struct

from hostile import *

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MORE, LONG, COMMAND = 1, 2, 4
SOCKETS = ("sched.sock", "pool.sock")


def frame(flags, body):
    return bytes([flags, len(body)]) + body if len(body) < 256 else struct.pack(">BQ", flags | LONG, len(body)) + body


def plain(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.connect(path)  # waits while others wait to be accepted
    peer.settimeout(20)
    return peer


def greeted(path):
    """A DEALER that has been let in."""
    peer = plain(path)
    peer.sendall(GREETING)
    peer.sendall(frame(COMMAND, b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"))
    said = b""
    while len(said) < len(GREETING) + 10:
        said += peer.recv(4096)
    return peer


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))


@contextlib.contextmanager
def whole(*arguments):
    with instance("--executors", "1", "--memory", "64M", *arguments) as it:
        before = it.pids()
        yield it, before[1]
        check(it.pids() == before, f"daemons were {before} and are {it.pids()}")


def run_graph(it):
    return it.granary("sql", "SELECT 1 + 1 AS two", "--csv")


def test_a_message_without_an_end_is_cut_off():
    """Parts, and never the last one: libzmq would keep all of them."""
    with whole() as (it, sched):
        before = memory(sched)
        for name in SOCKETS:
            for head in (frame(0, b"no request"), b""):
                peer = greeted(f"{it.directory}/{name}")
                peer.sendall(head)
                sent = 0
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    while sent < 256 << 20:
                        peer.sendall(frame(MORE, bytes(100000)))
                        sent += 100000
                check(sent < 16 << 20, f"{name}: {sent} bytes of one message were taken")
                peer.close()
        check(memory(sched) < before + (64 << 20), f"the scheduler took {before} bytes and takes {memory(sched)}")
        check(run_graph(it).split() == [b"two", b"2"], "an honest one")


def test_peers_leave_descriptors_to_others():
    """More connections than descriptors: libzmq would end the process. Those there is no room for are hung up on."""
    with whole() as (it, sched):
        resource.prlimit(sched, resource.RLIMIT_NOFILE, (100, 100))
        for name in SOCKETS:
            peers = [plain(f"{it.directory}/{name}") for _ in range(150)]
            hung_up = sum(not peer.recv(1) for peer in peers)  # the others are greeted
            check(0 < hung_up < 150, f"{name}: {hung_up} of 150 were hung up on")
            for peer in peers:
                peer.close()
        check(run_graph(it).split() == [b"two", b"2"], "an honest one")


if __name__ == "__main__":
    run(*[test for name, test in sorted(globals().items()) if name.startswith("test_")])
