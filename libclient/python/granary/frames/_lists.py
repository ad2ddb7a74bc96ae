"""Functions of lists and structs, by the names that Polars has: an expression's .list and .struct. Places are counted from 0, negative ones from the end."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ._expr import Expr


class ListMethods:
    """An expression's .list"""

    __slots__ = ("_expr",)

    def __init__(self, expression: Expr) -> None:
        self._expr = expression

    def _call(self, function: str, *operands: Any) -> Expr:
        from ._expr import call
        return call(function, self._expr, *operands)

    def len(self) -> Expr:
        """How many items there are, nulls among them; null of a null."""
        return self._call("list_length")

    def get(self, index: Any, *, null_on_oob: bool = True) -> Expr:
        """The item at a place: null where there is none."""
        from ._expr import Expr, when
        if not null_on_oob:
            raise ValueError("get() gives null where there is no item: null_on_oob=False is not there")
        if isinstance(index, Expr):
            return self._call("list_extract", when(index < 0).then(index).otherwise(index + 1))
        return self._call("list_extract", _place(index))

    def first(self) -> Expr:
        """The first item."""
        return self.get(0)

    def last(self) -> Expr:
        """The last item."""
        return self.get(-1)

    def slice(self, offset: int, length: Optional[int] = None) -> Expr:
        """Items from a place on: so many, or all."""
        if length is not None and length < 0:
            raise ValueError(f"slice(): a length is not below 0: {length}")
        end = None if length is None else offset + length
        if length == 0:
            return self._call("list_slice", 1, 0)
        return self._call("list_slice", _place(offset), None if end is None or (offset < 0 and end >= 0) else end - (offset < 0))

    def head(self, n: int = 5) -> Expr:
        """The first items."""
        return self.slice(0, n)

    def tail(self, n: int = 5) -> Expr:
        """The last items."""
        return self.slice(-n, n)

    def contains(self, item: Any) -> Expr:
        """Whether it is an item."""
        return self._call("list_contains", item)

    def sum(self) -> Expr:
        """The sum of the items; null of no values, as SQL has it."""
        return self._call("list_sum")

    def mean(self) -> Expr:
        """The mean of the items; null of no values."""
        return self._call("list_mean")

    def min(self) -> Expr:
        """The least item; null of no values."""
        return self._call("list_min")

    def max(self) -> Expr:
        """The greatest item; null of no values."""
        return self._call("list_max")

    def sort(self, *, descending: bool = False) -> Expr:
        """The items in order, nulls last."""
        return self._call("list_reverse_sort" if descending else "list_sort")

    def reverse(self) -> Expr:
        """The items backwards."""
        return self._call("list_reverse")

    def unique(self) -> Expr:
        """Each value once, where it stands first; nulls are left out."""
        return self._call("list_distinct")

    def n_unique(self) -> Expr:
        """How many different items there are, without nulls."""
        return self._call("list_unique")

    def median(self) -> Expr:
        """The item in the middle; null of no values."""
        return self._call("list_median")

    def var(self, ddof: int = 1) -> Expr:
        """The variance of the items: of a sample (ddof=1), or of all there are (ddof=0)."""
        if ddof not in (0, 1):
            raise ValueError(f"var(): ddof is 0 or 1, not {ddof}")
        return self._call("list_var_samp" if ddof == 1 else "list_var_pop")

    def std(self, ddof: int = 1) -> Expr:
        """The standard deviation of the items; ddof as in var()."""
        return self.var(ddof).sqrt()

    def all(self) -> Expr:
        """Whether all items are true; null of no values."""
        return self._call("list_bool_and")

    def any(self) -> Expr:
        """Whether any item is true; null of no values."""
        return self._call("list_bool_or")

    def concat(self, *others: Any) -> Expr:
        """One list behind another; nulls are left out."""
        return self._call("list_concat", *others)

    def set_intersection(self, other: Any) -> Expr:
        """Each value once that the other list has, too, without nulls."""
        return self._call("list_intersect", other)

    def sort_by(self, other: Any, *, descending: bool = False, nulls_first: bool = False) -> Expr:
        """The items in the order of another list's, which has as many."""
        return self._call("list_order_by", ("d" if descending else "a") + ("f" if nulls_first else ""), other)

    def join(self, separator: str) -> Expr:
        """The items as one text, without nulls."""
        return self._call("list_join", separator)


class StructMethods:
    """An expression's .struct"""

    __slots__ = ("_expr",)

    def __init__(self, expression: Expr) -> None:
        self._expr = expression

    def field(self, name: str) -> Expr:
        """The field of that name: of a column a, the column a.NAME, called NAME."""
        from ._expr import col, column_name
        return col(f"{column_name(self._expr)}.{name}").alias(name)


def _place(index: int) -> int:
    """granary's functions count from 1."""
    return index if index < 0 else index + 1
