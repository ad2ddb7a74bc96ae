"""A program that answers calls (docs/protocol.md, "Hosted functions"): what it is to do stands in each request."""
import importlib.util
import os
import signal
import socket
import sys
import time

spec = importlib.util.spec_from_file_location("wire", os.environ["WIRE"])
wire = importlib.util.module_from_spec(spec)
sys.modules["wire"] = wire
spec.loader.exec_module(wire)


def text(words):
    data = words.encode()
    return [wire.Output(len(data), [(0, data)])]


def answer(sock, request):
    word, _, rest = request.request.partition(" ")
    if word == "print":
        os.write(1, b"this is printed\n")
        wire.write_done(sock, text("printed"))
    elif word == "pid":
        wire.write_done(sock, text(str(os.getpid())))
    elif word == "where":
        wire.write_done(sock, text(f"{request.index} of {request.count} in {request.session}, {request.node}, {request.directory}"))
    elif word == "fail":
        wire.write_failed(sock, -2, "a bad row")
    elif word == "second":
        if request.attempt < 2:
            wire.write_failed(sock, -1, "not yet")
        else:
            wire.write_done(sock, text(f"attempt {request.attempt}"))
    elif word == "exit":
        os._exit(3)
    elif word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "stop":
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            wire.write_failed(sock, -15, "cancelled")
    elif word == "hang":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        open(rest, "w").write(str(os.getpid()))
        time.sleep(1000)
    elif word == "large":
        data = b"x" * (10 << 20)
        wire.write_done(sock, [wire.Output(len(data) + 200, [(0, b"head"), (128, data), (len(data) + 190, b"tail")])])
    elif word == "eat":
        hoard = []
        while True:
            hoard.append(bytearray(os.urandom(1 << 20)))
    elif word == "inputs":
        read = []
        for one in request.inputs:
            read.append(os.pread(one.fd, one.data_size, 0)[:6].decode("latin-1") if one.fd >= 0 else one.id.hex()[:4])
        wire.write_done(sock, text(" ".join(read)))
    elif word == "nonsense":
        sock.sendall(bytes(4096))
    elif word == "beyond":  # a piece that is outside of its output
        wire.write_done(sock, [wire.Output(4, [(0, b"far too long")])])
    else:
        wire.write_done(sock, text("what is " + request.request))


def main():
    sock = socket.socket(fileno=3)
    try:
        while True:
            request = wire.read_request(sock)
            for i in range(2):
                os.dup2(request.fds[i], 1 + i)
            answer(sock, request)
            for fd in request.fds:
                os.close(fd)
    except wire.Ended:
        pass


main()
