"""Progress bars: in a notebook, by tqdm where that is installed, or a line on stderr."""
from __future__ import annotations

import contextlib
import importlib.util
import sys
from typing import Any, Callable, Iterator, Optional, Union

Progress = Union[bool, str, Callable[[float], object], None]
"""What progress= takes: True for the best bar there is, its name, or a function that is told shares from 0 to 1."""

Tell = Callable[[float], object]

_WIDTH = 30


@contextlib.contextmanager
def _plain() -> Iterator[Tell]:
    def tell(share: float) -> None:
        filled = int(share * _WIDTH)
        sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write("\n")


@contextlib.contextmanager
def _tqdm() -> Iterator[Tell]:
    from tqdm import tqdm  # type: ignore[import]

    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}") as bar:

        def tell(share: float) -> None:
            bar.update(round(share * 100) - bar.n)

        yield tell


@contextlib.contextmanager
def _notebook() -> Iterator[Tell]:
    from IPython.display import HTML, display  # type: ignore[import]

    def look(share: float) -> Any:
        return HTML(f'<progress max="1" value="{share:.3f}"></progress> {share:.0%}')

    shown = display(look(0.0), display_id=True)
    yield lambda share: shown.update(look(share))


_BARS = {"plain": _plain, "tqdm": _tqdm, "notebook": _notebook}


def _best() -> str:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if type(shell).__name__ == "ZMQInteractiveShell":
        return "notebook"
    return "tqdm" if importlib.util.find_spec("tqdm") is not None else "plain"


def shown(progress: Progress) -> "contextlib.AbstractContextManager[Optional[Tell]]":
    """The function to tell shares to, as long as the block lasts; None: nobody wants to know."""
    if progress is None or progress is False:
        return contextlib.nullcontext(None)
    if callable(progress):
        return contextlib.nullcontext(progress)
    name = _best() if progress is True else progress
    if name not in _BARS:
        raise ValueError(f"progress={name!r}: it is True, a function, or one of {', '.join(map(repr, _BARS))}")
    return _BARS[name]()
