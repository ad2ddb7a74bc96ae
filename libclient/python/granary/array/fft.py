"""The extension `fft` of the standard: discrete Fourier transforms, along one axis an operator each."""
from __future__ import annotations

from typing import Callable, Optional, Sequence

from . import _creation, _manipulation, _steps
from ._dtypes import DType, complex_of, float64, need, part_of
from ._elementwise import conj, node_of
from ._node import Node
from ._object import Array

BACKWARD, ORTHO, FORWARD = "backward", "ortho", "forward"
_OTHER = {BACKWARD: FORWARD, FORWARD: BACKWARD, ORTHO: ORTHO}


def _norm(norm: str) -> str:
    if norm not in _OTHER:
        raise ValueError(f"norm {norm!r}: it is {BACKWARD!r}, {ORTHO!r} or {FORWARD!r}")
    return norm


def _along(name: str, x: Node, n: Optional[int], axis: int, norm: str) -> Node:
    """One transform; n: elements of a line that are used, or of irfft those of the result."""
    at = _steps.axis_of(axis, x.ndim)
    side = x.shape[at]
    length = (2 * (side - 1) if name == "irfft" else side) if n is None else int(n.__index__())
    if length < 1:
        raise ValueError(f"{name}() of lines of {length} elements: it needs one or more")
    made = length // 2 + 1 if name == "rfft" else length
    dtype = part_of(x.dtype) if name == "irfft" else complex_of(x.dtype)
    shape = (*x.shape[:at], made, *x.shape[at + 1 :])
    return Node(name, (x,), {"axis": at, "n": length, "norm": norm}, dtype, shape)


def _one(name: str, kind: str, x: Array, n: Optional[int], axis: int, norm: str) -> Array:
    node = node_of(name, x)
    need(name, kind, node.dtype)
    return Array(_along(name, node, n, axis, _norm(norm)))


def fft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: str = BACKWARD) -> Array:
    """Discrete Fourier transform along an axis; n: elements that are used of each line, zeros behind them."""
    return _one("fft", "floating", x, n, axis, norm)


def ifft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: str = BACKWARD) -> Array:
    """The inverse of fft()."""
    return _one("ifft", "floating", x, n, axis, norm)


def rfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: str = BACKWARD) -> Array:
    """fft() of real numbers: the first half, from which the second follows."""
    return _one("rfft", "real floating", x, n, axis, norm)


def irfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: str = BACKWARD) -> Array:
    """The inverse of rfft(); n: elements of a line of the result."""
    return _one("irfft", "floating", x, n, axis, norm)


def hfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: str = BACKWARD) -> Array:
    """fft() of lines whose second half is the conjugate of the first, which is given: real numbers."""
    return irfft(conj(x), n=n, axis=axis, norm=_OTHER[_norm(norm)])


def ihfft(x: Array, /, *, n: Optional[int] = None, axis: int = -1, norm: str = BACKWARD) -> Array:
    """The inverse of hfft()."""
    return conj(rfft(x, n=n, axis=axis, norm=_OTHER[_norm(norm)]))


def _sides(x: Node, s: Optional[Sequence[int]], axes: Optional[Sequence[int]]) -> tuple[list[int], list[Optional[int]]]:
    """Axes, and how many elements of each are used."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(x.ndim - count, x.ndim)
    chosen = [_steps.axis_of(axis, x.ndim) for axis in axes]
    if s is not None and len(s) != len(chosen):
        raise ValueError(f"{len(s)} sides for {len(chosen)} axes")
    return chosen, [None] * len(chosen) if s is None else list(s)


def _all(name: str, x: Array, s: Optional[Sequence[int]], axes: Optional[Sequence[int]], norm: str) -> Array:
    node = node_of(name, x)
    need(name, "floating", node.dtype)
    chosen, sides = _sides(node, s, axes)
    made = node if chosen else _steps.astype(node, complex_of(node.dtype))
    for axis, side in reversed(list(zip(chosen, sides))):
        made = _along(name[:-1], made, side, axis, _norm(norm))
    return Array(made)


def fftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: str = BACKWARD) -> Array:
    """Transform along several axes; s: elements that are used along each."""
    return _all("fftn", x, s, axes, norm)


def ifftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: str = BACKWARD) -> Array:
    """The inverse of fftn()."""
    return _all("ifftn", x, s, axes, norm)


def fft2(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: str = BACKWARD) -> Array:
    """fftn() along two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Sequence[int] = (-2, -1), norm: str = BACKWARD) -> Array:
    """The inverse of fft2()."""
    return ifftn(x, s=s, axes=axes, norm=norm)


def rfftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: str = BACKWARD) -> Array:
    """fftn() of real numbers: half of it along the last axis."""
    node = node_of("rfftn", x)
    need("rfftn", "real floating", node.dtype)
    chosen, sides = _sides(node, s, axes)
    if not chosen:
        raise ValueError("rfftn() needs an axis")
    made = Array(_along("rfft", node, sides[-1], chosen[-1], _norm(norm)))
    return made if len(chosen) == 1 else fftn(made, s=_given(made, chosen[:-1], sides[:-1]), axes=chosen[:-1], norm=norm)


def irfftn(x: Array, /, *, s: Optional[Sequence[int]] = None, axes: Optional[Sequence[int]] = None, norm: str = BACKWARD) -> Array:
    """The inverse of rfftn()."""
    node = node_of("irfftn", x)
    need("irfftn", "floating", node.dtype)
    chosen, sides = _sides(node, s, axes)
    if not chosen:
        raise ValueError("irfftn() needs an axis")
    made = x if len(chosen) == 1 else ifftn(x, s=_given(x, chosen[:-1], sides[:-1]), axes=chosen[:-1], norm=norm)
    return irfft(made, n=sides[-1], axis=chosen[-1], norm=norm)


def _given(x: Array, axes: Sequence[int], sides: Sequence[Optional[int]]) -> list[int]:
    return [x.shape[axis] if side is None else side for axis, side in zip(axes, sides)]


def _frequencies(n: int, d: float, dtype: Optional[DType], device: Optional[str], places: Callable[[int], Array]) -> Array:
    _creation.check_device(device)
    if n < 1:
        raise ValueError(f"frequencies of {n} elements: it needs one or more")
    kind = float64 if dtype is None else dtype
    need("fftfreq", "real floating", kind)
    made = _steps.with_scalar("multiply", _steps.astype(places(n)._node, float64), 1.0 / (n * d))
    return Array(_steps.astype(made, kind))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """Which frequencies the elements of fft() are of; d: distance of samples."""
    return _frequencies(n, d, dtype, device, lambda n: ifftshift(_creation.arange(-(n // 2), n - n // 2)))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """Which frequencies the elements of rfft() are of; n: elements of a real line."""
    return _frequencies(n, d, dtype, device, lambda n: _creation.arange(n // 2 + 1))


def _shift(x: Array, axes: object, sign: int) -> Array:
    node = node_of("fftshift", x)
    chosen = _steps.axes_of(axes, node.ndim)
    # Half of the elements go round: of an odd number the smaller half forth, and the larger one back.
    shifts = tuple(node.shape[axis] // 2 * sign for axis in chosen)
    return _manipulation.roll(x, shifts, axis=tuple(chosen)) if chosen else x


def fftshift(x: Array, /, *, axes: object = None) -> Array:
    """Frequency 0 in the middle."""
    return _shift(x, axes, 1)


def ifftshift(x: Array, /, *, axes: object = None) -> Array:
    """The inverse of fftshift()."""
    return _shift(x, axes, -1)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip
