"""Which files below a directory any process opens: inotify tells."""
import ctypes
import os
import struct


class Opened:
    """Files below a directory that any process opens meanwhile."""
    IN_OPEN, IN_ISDIR = 0x20, 0x40000000

    def __init__(self, top):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.folders = {}
        for folder, _, _ in os.walk(top):
            watch = self.libc.inotify_add_watch(self.fd, os.fsencode(folder), self.IN_OPEN)
            assert watch >= 0, os.strerror(ctypes.get_errno())
            self.folders[watch] = folder

    def names(self):
        found, events = set(), b''
        while True:
            try:
                events += os.read(self.fd, 1 << 20)
            except BlockingIOError:
                break
        while events:
            watch, mask, _, size = struct.unpack_from('iIII', events)
            if not mask & self.IN_ISDIR:
                found.add(os.path.join(self.folders[watch], os.fsdecode(events[16:16 + size].rstrip(b'\0'))))
            events = events[16 + size:]
        return found

    def close(self):
        os.close(self.fd)
