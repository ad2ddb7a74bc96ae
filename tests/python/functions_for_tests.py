"""Functions that a slot can import, and the faults of a call."""
import os
import signal
import sys
import time


def add(a, b=1):
    return a + b


def pid(_=None):
    return os.getpid()


def fail(text):
    raise ValueError(text)


def leave(status):
    os._exit(status)


def crash(_=None):
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # a sanitizer, or faulthandler, has a handler of its own
    os.kill(os.getpid(), signal.SIGSEGV)


def end(_=None):
    sys.exit(3)


def recurse(n=0):
    return recurse(n + 1)


def eat(_=None):
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1 << 20)))


def spin(path):
    open(path, 'w').write(str(os.getpid()))
    while True:
        time.sleep(0.01)


def until(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def talk(lines):
    for i in range(lines):
        print('x' * 99)
    return lines


def mutter(text):
    print(text, file=sys.stderr)


def second(path):
    """Fails the first time."""
    if not os.path.exists(path):
        open(path, 'w').close()
        raise RuntimeError('not yet')
    return 'done'


def fork(_=None):
    child = os.fork()
    if child == 0:
        return 'child'
    return os.waitpid(child, 0)[1]


def total(array):
    return float(array.sum()), array.flags.writeable


def bump(array):
    array += 1
    return array


def frozen(size):
    import numpy
    array = numpy.ones(size)
    array.flags.writeable = False
    return array


def unpicklable(_=None):
    import threading
    return threading.Lock()


class Picky(Exception):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b


def picky(_=None):
    raise Picky('a', 'b')


class Unreadable:
    """Pickles, but does not come back."""

    def __reduce__(self):
        return fail, ('not here',)


def flags():
    return sys.flags.isolated, sys.flags.ignore_environment
