"""Indices with arrays between NumPy's brackets: how getitem and setitem draw them, and what NumPy gives."""
import numpy as np

from draw import shape, tensor


def plain_part(draw, size, stepped):
    """One dimension without an array."""
    form = draw.randrange(4)
    if form == 0 and size:
        return str(draw.randrange(-size, size))
    if form == 1:
        return f'{draw.randint(-3, 3)}:'
    if form == 2:
        return f'::{draw.choice([-1, 2]) if stepped else -1}'
    return ':'


def position_tensor(draw, size, where):
    dtype = draw.choice(['int64', 'int32', 'int8', 'uint8', 'uint64'])
    return tensor(draw, where, dtype, low=0 if dtype[0] == 'u' else -size, high=size - 1)


def joined(draw, parts, least=0):
    """The parts as a text; those behind may be left out, or be dots."""
    while len(parts) > 1 and parts[-1] == ':' and draw.chance(0.5):
        parts.pop()
    if draw.chance(0.15):
        parts.insert(draw.randint(least, len(parts)), '...')
    return ', '.join(parts)


def draw_positions(draw, sizes, first, stepped=True, empty=True):
    """A text, and the tensors of positions that it names from $first on."""
    axes = sorted(draw.some([d for d, n in enumerate(sizes) if n], 3))
    wide = shape(draw, 1, 2, empty=empty) if draw.chance(0.8) else []
    parts, arrays = [], []
    for d, size in enumerate(sizes):
        if d in axes:
            own = [1 if draw.chance(0.2) else n for n in wide][draw.randrange(len(wide)) if wide and draw.chance(0.3) else 0:]
            arrays.append(position_tensor(draw, size, own))
            parts.append(f'${first + len(arrays) - 1}')
        else:
            parts.append(plain_part(draw, size, stepped))
    if stepped and draw.chance(0.15):
        parts.insert(draw.randint(0, len(parts)), 'None')
    return joined(draw, parts), arrays


def draw_mask(draw, sizes, first, stepped=True):
    dims = draw.randint(1, len(sizes))
    parts = [f'${first}'] + [plain_part(draw, n, stepped) for n in sizes[dims:]]
    return joined(draw, parts, 1), [tensor(draw, sizes[:dims], 'bool')]


def draw_list(draw, sizes):
    at = draw.choice([d for d, n in enumerate(sizes) if n])
    parts = [plain_part(draw, n, True) for n in sizes]
    parts[at] = str([draw.randrange(-sizes[at], sizes[at]) for _ in range(draw.randint(1, 4))])
    return joined(draw, parts)


def draw_getitem(draw):
    a = tensor(draw, shape(draw, empty=draw.chance(0.1)) if draw.chance(0.9) else [draw.randint(1, 3), 70])
    sizes = a['shape']
    form = draw.randrange(3)
    if form == 0 or not any(sizes):
        text, arrays = draw_mask(draw, sizes, 1)
    elif form == 1:
        text, arrays = draw_list(draw, sizes), []
    else:
        text, arrays = draw_positions(draw, sizes, 1)
    return [a, *arrays], {'index': text}


def draw_setitem(draw):
    a = tensor(draw, shape(draw, empty=draw.chance(0.1)))
    sizes = a['shape']
    is_mask = draw.chance(0.4) or not any(sizes)
    text, arrays = draw_mask(draw, sizes, 2, False) if is_mask else draw_positions(draw, sizes, 2, False)
    hole = list(indexed(to_array(a), text, [None, None, *map(to_array, arrays)]).shape)
    if is_mask and draw.chance(0.5):
        hole = hole[1:]
    elif not is_mask:
        hole = [1 if draw.chance(0.3) else n for n in hole][draw.randrange(len(hole)) if hole and draw.chance(0.2) else 0:]
    return [a, tensor(draw, hole, a['dtype']), *arrays], {'index': text}


def to_array(kept):
    return np.array(kept['values'], dtype=kept['dtype']).reshape(kept['shape'])


def written(text, arrays):
    """The text as Python has it."""
    return text.replace('$', 'array_'), {f'array_{i}': a for i, a in enumerate(arrays)}


def indexed(array, text, arrays):
    text, names = written(text, arrays)
    return eval(f'array[{text}]', {'array': array, **names})


def getitem(a, p):
    return indexed(a[0], p['index'], a)


def setitem(a, p):
    result = a[0].copy()
    text, names = written(p['index'], a)
    exec(f'result[{text}] = value', {'result': result, 'value': a[1], **names})
    return result
