"""When two results are the same."""
import datetime
import decimal
import math


def same_value(ours, theirs, tolerance, zeros=False):
    """Nulls, nans and infinities are themselves; whole and decimal numbers are equal to the last digit; floats nearly; zeros: -0.0 is not 0.0."""
    if ours is None or theirs is None:
        return ours is None and theirs is None
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return isinstance(ours, bool) and isinstance(theirs, bool) and ours == theirs
    if isinstance(ours, float):
        if isinstance(theirs, int):
            return False  # a whole number that went through a float
        if not isinstance(theirs, (float, decimal.Decimal)):
            return False
        theirs = float(theirs)
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        if math.isinf(ours) or math.isinf(theirs):
            return ours == theirs
        if zeros and ours == 0 and theirs == 0:
            return math.copysign(1, ours) == math.copysign(1, theirs)
        return abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs), 1e-6)
    if isinstance(theirs, float) and isinstance(ours, (int, decimal.Decimal)):
        return abs(float(ours) - theirs) <= tolerance * max(abs(theirs), 1e-6)
    if isinstance(ours, decimal.Decimal) and isinstance(theirs, decimal.Decimal):
        # avg and the like of exact numbers are as exact as their digits say
        return ours == theirs
    return ours == theirs


def same_rows(ours, theirs, ordered, tolerance=1e-9, zeros=False):
    """None, or what differs."""
    if len(ours) != len(theirs):
        return f'{len(ours)} rows, not {len(theirs)}'
    if not ordered:
        ours, theirs = sorted(ours, key=order), sorted(theirs, key=order)
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if len(a) != len(b):
            return f'{len(a)} columns, not {len(b)}'
        for place, (x, y) in enumerate(zip(a, b)):
            if not same_value(x, y, tolerance, zeros):
                return f'row {number + 1}, column {place + 1}: {x!r}, not {y!r}'
    return None


def same_by(ours, theirs, keys):
    """None, or what differs between rows that are ordered by these places: behind floats that are nearly equal the order is left open."""
    differs = same_rows(ours, theirs, True)
    if not differs or same_rows(ours, theirs, False):
        return differs
    sure = []
    for place in keys:
        sure.append(place)
        if any(isinstance(row[place], float) for row in theirs):
            break
    return differs if same_rows([[r[k] for k in sure] for r in ours], [[r[k] for k in sure] for r in theirs], True) else None


def order(row):
    """A key that sorts rows of one shape, first rounded, so that what differs in the last digits stays together; then by all digits."""
    rounded, whole = [], []
    for value in row:
        if value is None:
            rounded.append((0, 0))
        elif isinstance(value, (bool, int, float, decimal.Decimal)):
            number = float(value)
            rounded.append((2, 0) if math.isnan(number) else (1, 0.0 if abs(number) < 1e-9 else float('%.7g' % number)))
            whole.append(0 if math.isnan(number) else value)
        elif isinstance(value, (datetime.date, datetime.datetime)):
            rounded.append((3, value.isoformat()))
        else:
            rounded.append((3, str(value)))
    return rounded, whole
