"""A private instance for tests that run commands, and need nothing else: up on entry, down and removed whatever happens."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile


class CommandLine:
    def __init__(self, binaries, memory='256M'):
        self.granary = os.path.join(binaries, 'granary')
        self.memory = memory
        self.base = tempfile.mkdtemp(prefix='granary-test-')
        self.environment = {**os.environ, 'GRANARY_INSTANCE': os.path.join(self.base, 'i')}

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
        self.call('down')
        shutil.rmtree(self.base, ignore_errors=True)

    def up(self):
        self.must('up', '--executors', '2', '--memory', self.memory, '--state', 'memory', '--spill-dir', os.path.join(self.base, 'spill'))

    def ready(self):
        """What a test needs in its instance."""

    def call(self, *arguments):
        return subprocess.run([self.granary, *arguments], env=self.environment, cwd=self.base, capture_output=True, text=True)

    def must(self, *arguments):
        ended = self.call(*arguments)
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr.strip())
        return ended.stdout
