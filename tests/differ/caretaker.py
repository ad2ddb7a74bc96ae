"""What a run has around it (its instance, PostgreSQL, files) goes with it, however it ends: killed, too.

All of it lies in one directory. A process of its own waits until the run is no more, that is until the pipe between them has an end; then it takes
down the instances in there, ends what else names the directory, and removes it.
"""
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile

SECONDS = 20


class Caretaker:
    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix='granary-differ-')
        os.chmod(self.root, 0o711)  # PostgreSQL's user has a directory in it
        tempfile.tempdir = self.root
        self.process = subprocess.Popen([sys.executable, __file__, self.root], stdin=subprocess.PIPE, start_new_session=True)
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        self.process.wait()
        tempfile.tempdir = None


def processes(root):
    """Those whose command or environment names the directory."""
    found = []
    for entry in pathlib.Path('/proc').iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and root.encode() in (entry / 'cmdline').read_bytes() + (entry / 'environ').read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def end(numbers):
    handles = []
    for number in numbers:
        try:
            handles.append(os.pidfd_open(number))
        except ProcessLookupError:
            continue
    for kind in (signal.SIGTERM, signal.SIGKILL):  # to all before any is waited for: PostgreSQL's end one another
        for handle in handles:
            try:
                signal.pidfd_send_signal(handle, kind)
            except ProcessLookupError:
                continue
        handles = [h for h in handles if not gone(h)]


def gone(handle):
    ended = bool(select.select([handle], [], [], SECONDS)[0])
    if ended:
        os.close(handle)
    return ended


def main(root):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.read()
    binary = os.path.join(os.environ.get('GRANARY_BIN', 'build/release/bin'), 'granary')
    while True:
        for instance in pathlib.Path(root).glob('*/i'):
            subprocess.run([binary, 'down'], env={**os.environ, 'GRANARY_INSTANCE': str(instance)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        left = processes(root)
        if not left:
            break
        end(left)
    shutil.rmtree(root, ignore_errors=True)


if __name__ == '__main__':
    main(sys.argv[1])
