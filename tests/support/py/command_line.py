"""A private instance for tests that run commands, and need nothing else: up on entry, down and removed whatever happens."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GUARD = pathlib.Path(__file__).resolve().parents[1] / 'guard.py'
PATIENCE = 60


def until(what, check):
    """Poll a state that nobody tells of. What check gives, when it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (seen := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f'{what} did not come')
        time.sleep(0.01)
    return seen


class CommandLine:
    def __init__(self, binaries, *settings, memory='256M'):
        self.granary = os.path.join(binaries, 'granary')
        self.memory = memory
        self.settings = settings
        self.base = tempfile.mkdtemp(prefix='granary-test-')
        self.environment = {**os.environ, 'GRANARY_INSTANCE': os.path.join(self.base, 'i')}
        self.started = []
        # Should the test be killed.
        subprocess.run(['setsid', '--fork', sys.executable, GUARD, str(os.getpid()), self.base], check=True,
                       env={**os.environ, 'GRANARY_BIN': str(binaries)})

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that a run that is told to end leaves nothing
        try:
            self.up()
            self.ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        for process in self.started:
            process.kill()
            process.wait()
        self.call('down')
        shutil.rmtree(self.base, ignore_errors=True)

    def up(self):
        self.must('up', '--executors', '2', '--memory', self.memory, '--state', 'memory', '--spill-dir', os.path.join(self.base, 'spill'), *self.settings)

    def ready(self):
        """What a test needs in its instance."""

    def start(self, *arguments, **options):
        """A command that goes on; it does not outlive the instance, whatever becomes of the test."""
        self.started.append(subprocess.Popen([self.granary, *arguments], env=self.environment, cwd=self.base, text=True, **options))
        return self.started[-1]

    def call(self, *arguments):
        return subprocess.run([self.granary, *arguments], env=self.environment, cwd=self.base, capture_output=True, text=True)

    def must(self, *arguments):
        ended = self.call(*arguments)
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr.strip())
        return ended.stdout
