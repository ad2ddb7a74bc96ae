"""joblib on the pool: `joblib.parallel_backend("granary")` after granary.register_joblib()."""
from __future__ import annotations

import functools
from concurrent.futures import Future
from typing import Any, Callable, Optional

from joblib._parallel_backends import AutoBatchingMixin, ParallelBackendBase  # type: ignore[import]
from joblib.parallel import register_parallel_backend  # type: ignore[import]

from ._executor import Executor


class GranaryBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Batches of joblib's calls are calls of an Executor. Arrays of the store go as references."""

    supports_timeout = True
    uses_threads = False
    supports_sharedmem = False

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        """How many calls run at a time: those asked for; below 0, one for each executor."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        if n_jobs > 0:
            return n_jobs
        from ._session import default_session

        return max(1, default_session().executors + 1 + n_jobs)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """Begin: the pool's slots are taken when calls come."""
        workers = self.effective_n_jobs(n_jobs)
        self.parallel = parallel
        self._pool: Optional[Executor] = Executor(workers)
        return workers

    def apply_async(self, func: Callable[[], Any], callback: Optional[Callable[[Any], None]] = None) -> Any:
        """Have a batch run."""
        assert self._pool is not None
        future: Any
        try:
            future = self._pool.submit(func)
        except RuntimeError:  # a call has failed meanwhile: nothing more is run
            future = Future()
            future.cancel()
        future.get = functools.partial(_result, future)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def terminate(self) -> None:
        """End, when all is done."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """A call has failed: what has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        if ensure_ready:
            self.configure(self.parallel.n_jobs, self.parallel)


def _result(future: Any, timeout: Optional[float] = None) -> Any:
    return future.result(timeout)


def register() -> None:
    """Make the backend known to joblib."""
    register_parallel_backend("granary", GranaryBackend)
