"""Time zones, by the names that pandas and Polars have: an expression's .dt. A timestamptz is an instant and keeps no zone."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._made import DtMethods

if TYPE_CHECKING:
    from ._expr import Expr

_UTC = ("UTC", "Etc/UTC", "utc")


class Dates(DtMethods):
    """An expression's .dt"""

    __slots__ = ("_own",)

    def __init__(self, expression: Expr) -> None:
        super().__init__(expression)
        self._own = expression

    def tz_localize(self, tz: Optional[str], ambiguous: str = "raise", nonexistent: str = "raise") -> Expr:
        """Of a timestamp the instant at which clocks in the zone show it. None: of an instant what clocks show in UTC."""
        if ambiguous != "raise" or nonexistent != "raise":
            raise ValueError("tz_localize(): a time that the zone has twice or never is an error; .dt.timezone(zone) takes one of both "
                             "instants: leave ambiguous and nonexistent out")
        return self._in_zone("tz_localize", tz)

    def replace_time_zone(self, time_zone: Optional[str]) -> Expr:
        """Of a timestamp the instant at which clocks in the zone show it. None: of an instant what clocks show in UTC."""
        return self._in_zone("replace_time_zone", time_zone)

    def _in_zone(self, what: str, zone: Optional[str]) -> Expr:
        from ._expr import call
        if zone is None:
            return call("timezone", "UTC", self._own.cast("timestamptz"))
        return call("tz_localize", _zone(what, zone), self._own)

    def tz_convert(self, tz: Optional[str]) -> Expr:
        """Of an instant what it is in UTC, as it is kept. In other zones only timezone() shows it."""
        return self._converted("tz_convert", tz)

    def convert_time_zone(self, time_zone: str) -> Expr:
        """Of an instant what it is in UTC, as it is kept. In other zones only timezone() shows it."""
        return self._converted("convert_time_zone", time_zone)

    def _converted(self, what: str, zone: Any) -> Expr:
        if zone is None:
            return self._in_zone(what, None)
        if _zone(what, zone) not in _UTC:
            raise TypeError(f"{what}({zone!r}): a column of instants keeps no zone, and is in UTC: .dt.timezone({zone!r}) gives timestamps that clocks "
                            "there show")
        return self._own.cast("timestamptz")


def _zone(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what}(): a zone's name such as 'Europe/Berlin', not {type(value).__name__} {value!r:.60}")
    return value
