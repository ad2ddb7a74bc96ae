"""An instance of one's own, for the time of a `with` block."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Optional

from . import _session
from ._errors import Unreachable
from ._log import logger
from ._session import Session

_SPILL = "/var/tmp"  # as granary has it


def program() -> str:
    """The command `granary`: $GRANARY_BIN/granary, that of the tree or wheel the package is in, or the first in $PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    directories = [os.environ.get("GRANARY_BIN", ""), os.path.join(here, "bin"), os.path.join(here, "..", "..", "bin")]
    for directory in directories:
        path = os.path.abspath(os.path.join(directory, "granary"))
        if directory and os.access(path, os.X_OK):
            return path
    found = shutil.which("granary")
    if found is None:
        raise Unreachable("the command `granary` is not there: put it into $PATH, or its directory into $GRANARY_BIN")
    return found


class Instance(Session):
    """A private instance and a session of it; when the block is left, both have gone with all that was in them."""

    def __init__(self, arguments: list[str], directory: Optional[str]) -> None:
        self._directories = [] if directory else [tempfile.mkdtemp(prefix="granary-")]  # directories that go with it
        self._directory = directory or self._directories[0]
        if self._directories and not any(one.startswith("--spill-dir") for one in arguments):
            self._directories.append(tempfile.mkdtemp(prefix="granary-spill-", dir=_SPILL))  # what persists there is nobody's later
            arguments = [*arguments, "--spill-dir", self._directories[1]]
        self._up = False
        self._pid = os.getpid()
        command = [program(), "up", "--instance", self._directory, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            self._remove()
            raise Unreachable(done.stderr.strip() or f"`{' '.join(command)}` ended with exit status {done.returncode}")
        self._up = True
        self._guard = self._guarded()
        logger.info("instance %s is up", self._directory)
        super().__init__(self._directory, None)
        with _session._lock:
            _session._sessions[(self.instance, self.session)] = self
            _session._default.append(self)

    def _guarded(self) -> "subprocess.Popen[bytes]":
        """A process that ends the instance when this one is killed: then nobody can write to its pipe any more."""
        script = 'read -r word; test "$word" = down || { "$0" down --instance "$1" && shift && rm -rf -- "$@"; }'
        return subprocess.Popen(["/bin/sh", "-c", script, program(), self._directory, *self._directories], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True)

    def _remove(self) -> None:
        for one in self._directories:
            shutil.rmtree(one, ignore_errors=True)

    def down(self) -> None:
        """Stop it: what is there goes, arrays that you have stay valid."""
        if not self._up or self._pid != os.getpid():  # a forked child leaves it to its parent
            return
        self._up = False
        from . import _remote

        _remote.end_of(self)
        self.close()
        with _session._lock:
            if self in _session._default:
                _session._default.remove(self)
            _session._sessions.pop((self.instance, self.session), None)
        done = subprocess.run([program(), "down", "--instance", self._directory], capture_output=True, text=True)
        self._guard.communicate(b"down\n")
        logger.info("instance %s is down", self._directory)
        self._remove()
        if done.returncode != 0:
            raise Unreachable(done.stderr.strip())

    def __enter__(self) -> "Instance":
        return self

    def __exit__(self, *error: Any) -> None:
        self.down()


def up(
    executors: Optional[int] = None,
    memory: Optional[str] = None,
    *,
    directory: Optional[str] = None,
    arguments: Optional[list[str]] = None,
) -> Instance:
    """Start an instance of your own: `with granary.up(executors=4) as s:`. It is the default session in the block.

    executors  how many; default one for each CPU
    memory     for objects, such as "2G"; default half of what the machine allows
    directory  where its files are; default a new one, which is removed at the end
    arguments  others of `granary up`
    """
    given = [] if executors is None else ["--executors", str(executors)]
    given += [] if memory is None else ["--memory", str(memory)]
    return Instance(given + (arguments or []), directory)


def main() -> None:
    """The command `granary` of an installed wheel."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
