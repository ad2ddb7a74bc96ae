"""wire.py SESSION RUNTIME: say to the daemons of an instance what a client of an earlier release said, byte for byte.

A fixture is a client's whole session, kept for ever: what it sends, writes into its lease page and segment, and where it
looks in shared memory. Numbers and offsets are those of its release; nothing here knows of today's headers. A line is a command
and tokens:

  HEX            bytes; in answers `..` is any byte and a final `*` any rest
  'TEXT'*N       text, padded with NULs to N bytes (*N may be left out)
  {name}         bytes that an answer gave;  {name:N} in an answer: N bytes to be remembered
  N:VALUE        a little-endian number of N bytes
"""
import array
import mmap
import os
import re
import socket
import struct
import sys
import time

PATIENCE_S = 20


def fail(line, why):
    sys.exit(f'{sys.argv[1]}:{line}: {why}')


class Session:
    def __init__(self, runtime):
        self.runtime = runtime
        self.known = {}
        self.fds = []
        self.line = 0

    def tokens(self, text):
        """Bytes to send; in `text` nothing is open."""
        out = b''
        for token in re.findall(r"'[^']*'(?:\*\d+)?|\S+", text):
            if token.startswith("'"):
                value, _, size = token[1:].partition("'")
                out += value.encode().ljust(int(size[1:] or 0), b'\0')
            elif token.startswith('{'):
                out += self.known[token[1:-1]]
            elif ':' in token:
                size, value = token.split(':')
                out += int(value, 0).to_bytes(int(size), 'little')
            else:
                out += bytes.fromhex(token)
        return out

    def match(self, text, answer, what):
        at = 0
        for token in re.findall(r"'[^']*'(?:\*\d+)?|\S+", text):
            if token == '*':
                return
            if token.startswith('{') and ':' in token:
                name, size = token[1:-1].split(':')
                self.known[name] = answer[at:at + int(size)]
                at += int(size)
                continue
            for want in re.findall(r'\.\.|[0-9a-fA-F]{2}', token) if '..' in token else [f'{b:02x}' for b in self.tokens(token)]:
                if want != '..' and answer[at:at + 1] != bytes.fromhex(want):
                    fail(self.line, f'{what}, at {at}: {want} was expected, not {answer[at:at + 1].hex()}, in {answer.hex(" ", 4)}')
                at += 1
        if at != len(answer):
            fail(self.line, f'{what} is {len(answer)} bytes, not {at}: {answer.hex(" ", 4)}')


class Store(Session):
    """The store's socket, and what it gives descriptors of. The layout of shared memory is that of version 4."""

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(self.runtime + '/store.sock')
        self.pages = {}

    def receive(self, size):
        out = b''
        while len(out) < size:
            part, control, _, _ = self.socket.recvmsg(size - len(out), 1024)
            for level, kind, data in control:
                fds = array.array('i')
                fds.frombytes(data[:len(data) // 4 * 4])
                self.fds += fds
            if not part:
                fail(self.line, 'the store hung up')
            out += part
        return out

    def send(self, text):
        self.socket.sendall(self.tokens(text))

    def answer(self, text):
        head = self.receive(20)
        self.match(text, head + self.receive(struct.unpack('<I', head[16:])[0]), 'the answer')

    def map(self, names):
        """Name the descriptors that came with the last answer, and map them."""
        names = names.split()
        if len(names) != len(self.fds):
            fail(self.line, f'{len(self.fds)} descriptors came, not {len(names)}')
        for name in names:
            fd = self.fds.pop(0)
            self.known['fd ' + name] = fd
            size = os.fstat(fd).st_size
            if size > 0:
                access = mmap.PROT_READ | (mmap.PROT_WRITE if name in ('page', 'segment') else 0)
                self.pages[name] = mmap.mmap(fd, size, mmap.MAP_SHARED, access)

    def write(self, text):
        name, at, rest = text.split(None, 2)
        content = self.tokens(rest)
        self.pages[name][int(at):int(at) + len(content)] = content

    def until(self, text):
        name, at, rest = text.split(None, 2)
        want = self.tokens(rest)
        end = time.monotonic() + PATIENCE_S
        while self.pages[name][int(at):int(at) + len(want)] != want:
            if time.monotonic() > end:
                fail(self.line, f'it never came; there is {self.pages[name][int(at):int(at) + len(want)].hex()}')
            time.sleep(0.001)

    def bell(self, _):
        os.write(self.known['fd doorbell'], struct.pack('<Q', 1))

    def slot(self, name):
        """The slot of an id: (state, serial, offset, size, where, meta size); state 0: it is not there."""
        id0, id1 = struct.unpack('<QQ', name)
        product = (id0 ^ 0xa0761d6478bd642f) * (id1 ^ 0xe7037ed1a0b428db)
        hashed = (product ^ product >> 64) & (1 << 64) - 1
        hashed = (hashed ^ hashed >> 32) * 0xd6e8feb86659fd93 & (1 << 64) - 1
        hashed ^= hashed >> 32
        share = hashed >> 56
        prefix = ((hashed & 0xffffffff) << 4 | share * (168 + (share * 88 >> 8)) >> 12) & 0x7fff
        index = self.pages['index']
        depth = struct.unpack_from('<I', self.pages['control'], 192)[0]
        page = struct.unpack_from('<Q', index, (prefix & (1 << depth) - 1) * 8)[0] & 0x7fff
        for probe in range(2048):
            at = (2 << 20) + page * (2048 * 64) + ((hashed >> 32) + probe) % 2048 * 64
            word, found, offset, size, where = struct.unpack_from('<Q16sQQQ', index, at)
            if word & 0xff == 0:
                break
            if found == name and word & 0xff in (2, 3, 4, 7, 8):
                return word & 0xff, word >> 8, offset, size, where >> 32, where & 0xffffffff
        return 0, 0, 0, 0, 0, 0

    def lease(self, text):
        """lease ID DATA [META]: it is in memory, and its bytes are these, while a hazard protects it."""
        name, *rest = [self.tokens(token) for token in re.findall(r"'[^']*'(?:\*\d+)?|\S+", text)]
        end = time.monotonic() + PATIENCE_S
        while True:
            state, serial, offset, size, where, meta = self.slot(name)
            if state == 2:
                hazard = 4352 + serial % 512 * 64
                struct.pack_into('<Q', self.pages['page'], hazard, serial << 16 | 1)
                if self.slot(name)[:2] == (2, serial):
                    break
                struct.pack_into('<Q', self.pages['page'], hazard, 0)
            if time.monotonic() > end:
                fail(self.line, f'state {state}: not in memory')
            time.sleep(0.001)
        self.socket.sendall(struct.pack('<IHHIiI', 0x676e7267, 3, 0, 1 << 20, 0, 8) + struct.pack('<II', 2, where))
        self.match('67726e67 0300 0000 00001000 00000000 08000000 *', self.receive(28), 'the answer to MAP')
        fd = self.fds.pop()
        with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as data:
            there = [data[offset:offset + size]]
            if meta > 0:
                begin = offset + (size + 63) // 64 * 64
                there.append(data[begin:begin + meta])
        os.close(fd)
        if there != rest:
            fail(self.line, f'its bytes are {there}')
        struct.pack_into('<Q', self.pages['page'], hazard, 0)

    def state(self, text):
        """state ID NUMBER: it comes to that."""
        name, number = text.split()
        end = time.monotonic() + PATIENCE_S
        while (found := self.slot(self.tokens(name))[0]) != int(number):
            if time.monotonic() > end:
                fail(self.line, f'state {found}')
            time.sleep(0.001)


class Sched(Session):
    """The scheduler's socket: ZMTP 3 as libzmq speaks it. An answer is a message, of which some fields are told."""

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(self.runtime + '/sched.sock')

    def receive(self, size):
        out = b''
        while len(out) < size:
            part = self.socket.recv(size - len(out))
            if not part:
                fail(self.line, 'the scheduler hung up')
            out += part
        return out

    def send(self, text):
        self.socket.sendall(self.tokens(text))

    def raw(self, text):
        """raw N TOKENS: the next N bytes."""
        size, rest = text.split(None, 1)
        self.match(rest, self.receive(int(size)), 'the answer')

    def request(self, text):
        """A message, as one frame."""
        body = self.tokens(text)
        head = struct.pack('>BB', 0, len(body)) if len(body) < 256 else struct.pack('>BQ', 2, len(body))
        self.socket.sendall(head + body)

    @staticmethod
    def fields(message):
        """Of a packed message: number -> its values."""
        out, at = {}, 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = message[at]
                at += 1
                value |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return value
        while at < len(message):
            tag = varint()
            if tag & 7 == 0:
                value = varint()
            elif tag & 7 == 2:
                size = varint()
                value = message[at:at + size]
                at += size
            else:
                size = 8 if tag & 7 == 1 else 4
                value = message[at:at + size]
                at += size
            out.setdefault(tag >> 3, []).append(value)
        return out

    def answer(self, text):
        """PATH=NUMBER, PATH='TEXT', PATH=*: fields of the next message, by number, 8.4 being field 4 of field 8."""
        flags = self.receive(1)[0]
        size = struct.unpack('>Q', self.receive(8))[0] if flags & 2 else self.receive(1)[0]
        message = self.receive(size)
        for token in re.findall(r"[\d.]+=(?:'[^']*'|\S+)", text):
            path, want = token.split('=', 1)
            value = message
            for number in path.split('.'):
                value = self.fields(value).get(int(number), [0 if want.isdigit() else b''])[0]
            good = value != b'' if want == '*' else value == (int(want) if want.isdigit() else want[1:-1].encode())
            if not good:
                fail(self.line, f'{path} is {value!r}, in {message!r}')


def main():
    session = (Store if os.path.basename(sys.argv[1]).startswith('store') else Sched)(sys.argv[2])
    commands = {'>': 'send', '<': 'answer'}
    session.connect()
    text = ''
    for number, line in enumerate(open(sys.argv[1]), 1):
        text += line.strip()
        if text.endswith('\\'):
            text = text[:-1] + ' '
            continue
        session.line = number
        if text and not text.startswith('#'):
            command, _, rest = text.partition(' ')
            getattr(session, commands.get(command, command))(rest)
        text = ''


main()
