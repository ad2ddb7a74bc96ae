"""Array: a tensor that is computed when its elements are needed, and not before."""
from __future__ import annotations

import operator
import sys
from types import NotImplementedType
from typing import Any, Iterator, Optional, Union

import numpy as np

from .. import _dlpack
from . import _chosen, _masks, _run, _steps
from ._dtypes import DType, dtype_of
from ._engine import Result, engine
from ._node import Held, Node, Shape
from ._operators import BINARY

Operand = Union["Array", bool, int, float, complex]
VERSION = "2021.12"


class Array:
    """Elements of one dtype in up to 8 dimensions: a step of a computation, as it was written.

    Operators and functions make new arrays and run nothing. It is computed by compute(), persist(), numpy.asarray(), float(),
    int(), bool(), and DLPack. What was computed stays in the store as long as this array, and others that use it are quick.
    """

    __slots__ = ("_node", "_lent", "__weakref__")
    __array_priority__ = 1000.0  # NumPy's scalars leave operators to it

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lent: list[Any] = []
        """What __array_interface__ pointed to: it must stay as long as this array."""

    # ---- what is known before it runs ----

    @property
    def dtype(self) -> DType:
        return self._node.dtype

    @property
    def shape(self) -> Shape:
        """Elements along each axis. Of nonzero(), unique_...() and x[mask] they have to be counted: that computes the array."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        return self._node.ndim

    @property
    def size(self) -> int:
        return self._node.size

    @property
    def real(self) -> Array:
        """The real parts; of real numbers the array itself."""
        return Array(_steps.unary("real", self._node))

    @property
    def imag(self) -> Array:
        """The imaginary parts: 0 of real numbers."""
        return Array(_steps.unary("imag", self._node))

    def conj(self) -> Array:
        """The conjugates; real numbers stay."""
        return Array(_steps.unary("conj", self._node))

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Array:
        if self.ndim != 2:
            raise ValueError(f"T is of matrices; this array has {self.ndim} dimensions: use mT or permute_dims()")
        return Array(_steps.transpose(self._node))

    @property
    def mT(self) -> Array:
        return Array(_steps.transpose(self._node))

    def __repr__(self) -> str:
        """Never runs anything."""
        shape = ", ".join("?" if side is None else str(side) for side in self._node.partial_shape)
        state = "computed" if self._node.is_there else f"lazy: {self._node.op}"
        return f"<granary.array ({shape}{',' if self.ndim == 1 else ''}) {self.dtype}, {state}>"

    def graph(self) -> str:
        """The graph that would be run now, as JSON of docs/graph-format.md. Arrays of this process are put into the store."""
        return _run.Graph([self._node], engine()).text()

    # ---- running ----

    def compute(self) -> Array:
        """Compute it now; its elements stay in the store. Returns itself."""
        _run.compute([self._node])
        return self

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """The elements, read-only; in place when they are in one chunk."""
        return _run.value_of(self._node)

    def collect(self, *, on: Any, progress: Any = None, timeout: Optional[float] = None) -> Any:
        """Computed by the workers of a Client of Dask (docs/dask.md): an array in this process's instance."""
        from ..dask import run

        with _run._settling:
            graph = _run.Graph([self._node], engine())
        return run(on, graph.text(), progress=progress, timeout=timeout)[graph.targets[0]]

    def persist(self, name: str, *, replace: bool = False) -> Array:
        """Compute it and keep it under a name, until somebody deletes that: `granary forget NAME`. stored(NAME) reads it."""
        using = engine()
        node = self._node
        if node.is_there:  # a copy: other names of its chunks would end with it
            node = Node("getitem", (node,), {"index": "..."}, node.dtype, node.shape)
        graph = _run.Graph([node], using, _run.PERSISTED)
        if replace:
            made = using.run(graph.text(), chunk_bytes=_run.chunk_bytes)
            try:
                using.rename(made, name, True)
            except BaseException:
                using.delete(made)
                raise
        else:
            using.run(graph.text(), key=name, chunk_bytes=_run.chunk_bytes)
        return _of_graph(name, graph.targets[0], self.dtype)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray[Any, Any]:
        value = self.to_numpy()
        if copy or (dtype is not None and np.dtype(dtype) != value.dtype):
            return value.astype(value.dtype if dtype is None else dtype)
        return value

    @property
    def __array_interface__(self) -> dict[str, Any]:
        value = self.to_numpy()
        if not any(one is value for one in self._lent):
            self._lent.append(value)
        return {"shape": value.shape, "typestr": value.dtype.str, "data": (value.__array_interface__["data"][0], True),
                "strides": value.__array_interface__["strides"], "version": 3}

    def __buffer__(self, flags: int) -> memoryview:
        """Since Python 3.12."""
        return self.to_numpy().data

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """The store's read-only memory for consumers of version 1.0 on; a copy for earlier ones, which may write."""
        return _dlpack.capsule(self.to_numpy(), stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _dlpack.CPU

    def __array_namespace__(self, /, *, api_version: Optional[str] = None) -> Any:
        if api_version not in (None, VERSION):
            raise ValueError(f"version {api_version!r} of the standard: there is {VERSION}")
        return sys.modules[__package__]

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        if device != "cpu" or stream is not None:
            raise ValueError(f"device {device!r}: arrays are on 'cpu', without streams")
        return self

    def _scalar(self) -> Any:
        if self.ndim:
            raise TypeError(f"only an array without dimensions is a number; this one has shape {self.shape}")
        return _run.value_of(self._node)[()]

    def __bool__(self) -> bool:
        return bool(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"only integers are positions, not {self.dtype}")
        return int(self._scalar())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.ndim:
            raise TypeError("an array without dimensions has no elements to go through")
        return (self[i] for i in range(self.shape[0]))

    def __reduce__(self) -> Any:
        """Pickled by value."""
        return _unpickled, (np.array(self.to_numpy()),)

    def __copy__(self) -> Array:
        return Array(self._node)

    def __deepcopy__(self, memo: Any) -> Array:
        return Array(self._node)

    # ---- elements ----

    def __getitem__(self, key: Any, /) -> Array:
        entries = _chosen.nodes_of(key)
        return Array(_steps.getitem(self._node, key) if entries is None else _chosen.getitem(self._node, entries))

    def __setitem__(self, key: Any, value: Operand, /) -> None:
        """A new step of this array; others that were made of it stay as they are."""
        given = self._operand(value)
        if given is None:
            raise TypeError(f"elements are set to numbers and arrays, not to {type(value).__name__}")
        if isinstance(given, complex) and self.dtype.kind != "c":
            raise TypeError(f"elements of {self.dtype} cannot be set to a complex number: use astype()")
        node = _steps.full((), given, self.dtype) if not isinstance(given, Node) else given
        entries = _chosen.nodes_of(key)
        if entries is None:
            self._node = _masks.assign(self._node, key, None, node)
        else:
            self._node = _chosen.setitem(self._node, entries, node)

    # ---- operators ----

    def _operand(self, other: Any) -> Any:
        """A node, a Python scalar that fits, or None."""
        if isinstance(other, Array):
            return other._node
        if isinstance(other, np.ndarray):
            other = other.astype(np.float32) if other.dtype == np.float16 else other
            return _node_of_numpy(other.astype(dtype_of(other.dtype), copy=False))
        if isinstance(other, np.generic):
            other = other.item()
        if isinstance(other, (bool, int, float, complex)):
            _steps.check_fits(other, self.dtype)
            return other
        return None

    def _with(self, name: str, other: Any, is_left: bool = False) -> Union[Array, NotImplementedType]:
        _steps.need(f"operator of {name}", BINARY[name].takes, self.dtype)
        given = self._operand(other)
        if given is None:
            return NotImplemented
        if isinstance(given, Node):
            return Array(_steps.binary(name, given, self._node) if is_left else _steps.binary(name, self._node, given))
        return Array(_steps.with_scalar(name, self._node, given, is_left))

    def _within(self, made: Union[Array, NotImplementedType]) -> Union[Array, NotImplementedType]:
        """Of operators in place: this array becomes what was made."""
        if isinstance(made, NotImplementedType):
            return made
        if made.dtype != self.dtype:
            raise TypeError(f"in place, an array of {self.dtype} cannot become {made.dtype}")
        if made.shape != self.shape:
            raise ValueError(f"in place, an array of shape {self.shape} cannot become one of {made.shape}")
        self._node = made._node
        return self

    def __matmul__(self, other: Any, /) -> Any:
        given = self._operand(other)
        return Array(_steps.matmul(self._node, given)) if isinstance(given, Node) else _no_product(other)

    def __rmatmul__(self, other: Any, /) -> Any:
        given = self._operand(other)
        return Array(_steps.matmul(given, self._node)) if isinstance(given, Node) else _no_product(other)

    def __imatmul__(self, other: Any, /) -> Any:
        return self._within(self.__matmul__(other))

    def __abs__(self) -> Array:
        return Array(_steps.unary("abs", self._node))

    def __invert__(self) -> Array:
        return Array(_steps.unary("bitwise_invert", self._node))

    def __neg__(self) -> Array:
        return Array(_steps.unary("negative", self._node))

    def __pos__(self) -> Array:
        return Array(_steps.unary("positive", self._node))

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any, /) -> Any:
        return self._with("equal", other)

    def __ge__(self, other: Any, /) -> Any:
        return self._with("greater_equal", other)

    def __gt__(self, other: Any, /) -> Any:
        return self._with("greater", other)

    def __le__(self, other: Any, /) -> Any:
        return self._with("less_equal", other)

    def __lt__(self, other: Any, /) -> Any:
        return self._with("less", other)

    def __ne__(self, other: Any, /) -> Any:
        return self._with("not_equal", other)

    def __add__(self, other: Any, /) -> Any:
        return self._with("add", other)

    def __radd__(self, other: Any, /) -> Any:
        return self._with("add", other, True)

    def __iadd__(self, other: Any, /) -> Any:
        return self._within(self._with("add", other))

    def __and__(self, other: Any, /) -> Any:
        return self._with("bitwise_and", other)

    def __rand__(self, other: Any, /) -> Any:
        return self._with("bitwise_and", other, True)

    def __iand__(self, other: Any, /) -> Any:
        return self._within(self._with("bitwise_and", other))

    def __floordiv__(self, other: Any, /) -> Any:
        return self._with("floor_divide", other)

    def __rfloordiv__(self, other: Any, /) -> Any:
        return self._with("floor_divide", other, True)

    def __ifloordiv__(self, other: Any, /) -> Any:
        return self._within(self._with("floor_divide", other))

    def __lshift__(self, other: Any, /) -> Any:
        return self._with("bitwise_left_shift", other)

    def __rlshift__(self, other: Any, /) -> Any:
        return self._with("bitwise_left_shift", other, True)

    def __ilshift__(self, other: Any, /) -> Any:
        return self._within(self._with("bitwise_left_shift", other))

    def __mod__(self, other: Any, /) -> Any:
        return self._with("remainder", other)

    def __rmod__(self, other: Any, /) -> Any:
        return self._with("remainder", other, True)

    def __imod__(self, other: Any, /) -> Any:
        return self._within(self._with("remainder", other))

    def __mul__(self, other: Any, /) -> Any:
        return self._with("multiply", other)

    def __rmul__(self, other: Any, /) -> Any:
        return self._with("multiply", other, True)

    def __imul__(self, other: Any, /) -> Any:
        return self._within(self._with("multiply", other))

    def __or__(self, other: Any, /) -> Any:
        return self._with("bitwise_or", other)

    def __ror__(self, other: Any, /) -> Any:
        return self._with("bitwise_or", other, True)

    def __ior__(self, other: Any, /) -> Any:
        return self._within(self._with("bitwise_or", other))

    def __pow__(self, other: Any, /) -> Any:
        return self._with("pow", other)

    def __rpow__(self, other: Any, /) -> Any:
        return self._with("pow", other, True)

    def __ipow__(self, other: Any, /) -> Any:
        return self._within(self._with("pow", other))

    def __rshift__(self, other: Any, /) -> Any:
        return self._with("bitwise_right_shift", other)

    def __rrshift__(self, other: Any, /) -> Any:
        return self._with("bitwise_right_shift", other, True)

    def __irshift__(self, other: Any, /) -> Any:
        return self._within(self._with("bitwise_right_shift", other))

    def __sub__(self, other: Any, /) -> Any:
        return self._with("subtract", other)

    def __rsub__(self, other: Any, /) -> Any:
        return self._with("subtract", other, True)

    def __isub__(self, other: Any, /) -> Any:
        return self._within(self._with("subtract", other))

    def __truediv__(self, other: Any, /) -> Any:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any, /) -> Any:
        return self._with("divide", other, True)

    def __itruediv__(self, other: Any, /) -> Any:
        return self._within(self._with("divide", other))

    def __xor__(self, other: Any, /) -> Any:
        return self._with("bitwise_xor", other)

    def __rxor__(self, other: Any, /) -> Any:
        return self._with("bitwise_xor", other, True)

    def __ixor__(self, other: Any, /) -> Any:
        return self._within(self._with("bitwise_xor", other))

def _no_product(other: Any) -> NotImplementedType:
    if isinstance(other, (bool, int, float, complex)):
        raise TypeError("a matrix product with a number: use *")
    return NotImplemented


def _node_of_numpy(value: np.ndarray[Any, Any]) -> Node:
    """A copy of a NumPy array, whose dtype granary has: in this process when it is small, else in the store."""
    from ._node import CACHED_BYTES, literal

    if value.nbytes <= CACHED_BYTES:
        return literal(np.array(value, order="C", copy=True))
    node = Node("array", (), {}, value.dtype, value.shape)
    node.held = _run.put(value, engine())
    return node


def _unpickled(value: np.ndarray[Any, Any]) -> Array:
    return Array(_node_of_numpy(value))


def _of_graph(key: str, target: str, dtype: Optional[DType]) -> Array:
    """An array over what a kept graph gave; the graph is not this process's to end."""
    using = engine()
    result = using.result(key, target)
    if dtype is None:
        dtype = using.read(result.chunks[0]).dtype
    assert dtype is not None
    node = Node("array", (), {}, dtype, tuple(result.shape))
    node.held = Held(using, {"op": "array", "name": f"{key}/{target}"}, result, None)
    return Array(node)


def stored(name: str) -> Array:
    """The array that persist() kept under a name, or `KEY/TARGET` of any kept graph."""
    key, _, target = name.partition("/")
    return _of_graph(key, target or _run.PERSISTED, None)


def from_object(object: Any) -> Array:
    """A tensor that is in the store already, without a copy: what `granary.put()` of a NumPy array returned, or an id in hex digits."""
    using = engine()
    id: str = object if isinstance(object, str) else object.id.hex()
    value = using.read(id)
    source = {"op": "array", "ids": [id], "shape": list(value.shape), "dtype": value.dtype.name}
    node = Node("array", (), {}, value.dtype, value.shape)
    node.held = Held(using, source, Result([id], value.shape, (1,) * value.ndim), object)
    return Array(node)


def compute(*arrays: Array) -> None:
    """Compute several arrays in one graph, in which what they share is computed once."""
    _run.compute([one._node for one in arrays])


def computed(op: str, *inputs: Array, dtype: DType, shape: Shape, **params: Any) -> Array:
    """Any other operator of docs/operators.md that gives a tensor: its dtype and shape are yours to know."""
    return Array(Node(op, [one._node for one in inputs], params, dtype, tuple(operator.index(side) for side in shape)))
