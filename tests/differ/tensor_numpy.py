"""What users of NumPy miss most: curves, lines, norms, edits, counts of pairs. tensor_ops.py adds them to the operators.

CASES[name] = (draw -> (inputs, parameters), (arrays, parameters) -> array, tolerance or None for exactly).
"""
import math

import numpy as np

from draw import DTYPES, FLOATS, INTEGERS, shape, tensor

CASES = {}
NUMBERS = INTEGERS + FLOATS


def case(name, tolerance=None):
    def note(oracle):
        CASES[name] = (globals()[f'draw_{name}'], oracle, tolerance)
        return oracle
    return note


def optional(draw, parameters, **choices):
    for name, value in choices.items():
        if draw.likely(0.6, name):
            parameters[name] = value() if callable(value) else value
    return parameters


def numbers(draw, size, dtype='float64'):
    """Moderate floats, or small whole numbers."""
    count = int(np.prod(size))
    values = [round(draw.uniform(-5, 5), 2) if dtype in FLOATS else draw.randint(0 if dtype[0] == 'u' else -5, 5) for _ in range(count)]
    return {'dtype': dtype, 'shape': list(size), 'values': values}


def axis_of(draw, dims):
    return draw.randrange(-dims, dims)


def float_of(array):
    """What NumPy 2 computes means and areas of an array in."""
    return array if array.dtype.kind == 'f' else array.astype('f8')


# ---- curves ----

def draw_interp(draw):
    count = draw.choice([1, 2, 3, 5, 8])
    places = sorted(draw.sample(range(-20, 20), count)) if draw.chance(0.8) else sorted(draw.choice(range(-4, 4)) for _ in range(count))
    dtype = draw.choice(['float64', 'float32', 'int64', 'int8'])
    at = tensor(draw, shape(draw), draw.choice(['float64', 'float32', 'int32']))
    parameters = optional(draw, {}, left=lambda: draw.choice([-1, 2.5]), right=lambda: draw.choice([7, -0.5]))
    if draw.likely(0.25, 'period'):
        parameters['period'] = draw.choice([3, -7.5, 360])
        at['values'] = [v if math.isfinite(v) and abs(v) < 1e6 else 1 for v in at['values']]
        draw.shuffle(places)
    return [at, {'dtype': dtype, 'shape': [count], 'values': places}, tensor(draw, [count], draw.choice(['float64', 'int16']))], parameters


@case('interp', 1e-9)
def interp(a, p):
    if 'period' in p:
        places = np.mod(a[1].astype('f8'), abs(p['period']))
        if len(np.unique(places)) < len(places):
            raise ValueError('two points in one place: which counts depends on the sort')
    return np.interp(*a, left=p.get('left'), right=p.get('right'), period=p.get('period'))


def draw_polyfit(draw):
    degree, count = draw.randint(0, 4), draw.choice([6, 9, 30])
    x = {'dtype': draw.choice(['float64', 'int32']), 'shape': [count], 'values': draw.sample(range(-20, 20), count)}
    inputs = [x, numbers(draw, [count] if draw.chance(0.6) else [count, draw.randint(1, 3)])]
    if draw.chance(0.4):
        inputs.append({'dtype': 'float64', 'shape': [count], 'values': [round(draw.uniform(0.5, 2), 2) for _ in range(count)]})
    return inputs, optional(draw, {'deg': degree}, rcond=1e-9)


@case('polyfit', 1e-6)
def polyfit(a, p):
    return np.polyfit(a[0], a[1], p['deg'], rcond=p.get('rcond'), w=a[2] if len(a) > 2 else None)


def draw_polyval(draw):
    return [numbers(draw, [draw.randint(0, 5)], draw.choice(['float64', 'float32', 'int64', 'int8'])), tensor(draw, shape(draw), draw.choice(NUMBERS), 0.05)], {}


@case('polyval', 1e-6)
def polyval(a, p):
    if not len(a[0]):
        return np.zeros_like(a[1])
    kind = np.result_type(*a)
    return np.polyval(a[0].astype(kind), a[1].astype(kind))


def draw_area(draw):
    where = [n or 1 for n in shape(draw)]
    parameters = optional(draw, {}, axis=lambda: axis_of(draw, len(where)))
    axis = parameters.get('axis', -1)
    inputs = [tensor(draw, where, draw.choice(NUMBERS), 0)]
    if draw.chance(0.5):
        inputs.append(numbers(draw, [where[axis]] if draw.chance(0.6) else where, draw.choice(['float64', 'int64'])))
    elif draw.likely(0.7, 'dx'):
        parameters['dx'] = draw.choice([2, 0.5])
    return inputs, parameters


draw_trapezoid = draw_cumulative_trapezoid = draw_area


def areas(a, p):
    axis = p.get('axis', -1)
    upper = [slice(None)] * a[0].ndim
    lower = list(upper)
    upper[axis], lower[axis] = slice(1, None), slice(None, -1)
    step = p.get('dx', 1.0)
    if len(a) > 1:
        step = np.diff(a[1], axis=-1 if a[1].ndim == 1 else axis)
        if a[1].ndim == 1:
            sides = [1] * a[0].ndim
            sides[axis] = len(step)
            step = step.reshape(sides)
    else:
        step = float_of(a[0]).dtype.type(step)
    return step * float_of(a[0][tuple(upper)] + a[0][tuple(lower)]) / float_of(a[0]).dtype.type(2)


@case('trapezoid', 1e-5)
def trapezoid(a, p):
    return np.asarray(areas(a, p).sum(axis=p.get('axis', -1)))


@case('cumulative_trapezoid', 1e-5)
def cumulative_trapezoid(a, p):
    return areas(a, p).cumsum(axis=p.get('axis', -1))


# ---- vectors along one another, positions along an axis ----

def draw_two_vectors(draw):
    kinds = draw.choice([['float64'], ['float32'], ['int64'], ['int8'], ['uint8'], ['bool'], DTYPES])
    sizes = [draw.choice([1, 2, 3, 4, 7, 20]), draw.choice([1, 2, 3, 4, 5])]
    draw.shuffle(sizes)
    made = []
    for n in sizes:
        kind = draw.choice(kinds)
        made.append(tensor(draw, [n], kind, draw.choice([0, 0.1]) if kind in FLOATS else 0) if kind in FLOATS or kind == 'bool' else numbers(draw, [n], kind))
        if kind in FLOATS:
            made[-1]['values'] = [v if not math.isfinite(v) or abs(v) < 1e6 else 1.5 for v in made[-1]['values']]
    return made, optional(draw, {}, mode=lambda: draw.choice(['full', 'same', 'valid']))


draw_convolve = draw_correlate = draw_two_vectors


def along(function, a, mode):
    """In the dtype of both; a nan of NumPy's comes from products that are there alone."""
    kind = np.result_type(*a)
    return function(a[0].astype(kind), a[1].astype(kind), mode)


@case('convolve', 1e-5)
def convolve(a, p):
    return along(np.convolve, a, p.get('mode', 'full'))


@case('correlate', 1e-5)
def correlate(a, p):
    return along(np.correlate, a, p.get('mode', 'valid'))


def draw_along(draw, put):
    where = [n or 1 for n in shape(draw)]
    parameters = optional(draw, {}, axis=lambda: axis_of(draw, len(where)))
    axis = parameters.get('axis', -1) % len(where)
    chosen = [draw.choice([1, 2, 5, n]) if d == axis else 1 if draw.chance(0.2) else n for d, n in enumerate(where)]
    whole = [1 if d != axis and not put and draw.chance(0.1) else n for d, n in enumerate(where)]
    positions = tensor(draw, chosen, draw.choice(['int64', 'int16', 'uint8', 'uint64']), low=0, high=where[axis] - 1)
    if positions['dtype'][0] == 'i':
        positions['values'] = [v - where[axis] if draw.chance(0.3) else v for v in positions['values']]
    return tensor(draw, whole), positions, chosen, parameters


def draw_take_along_axis(draw):
    whole, positions, _, parameters = draw_along(draw, False)
    return [whole, positions], parameters


@case('take_along_axis')
def take_along_axis(a, p):
    return np.take_along_axis(*a, p.get('axis', -1))


def draw_put_along_axis(draw):
    whole, positions, chosen, parameters = draw_along(draw, True)
    value = [1 if draw.chance(0.2) else n for n in chosen][draw.randrange(len(chosen)) if draw.chance(0.2) else 0:]
    return [whole, positions, tensor(draw, value, whole['dtype'])], parameters


@case('put_along_axis')
def put_along_axis(a, p):
    result = a[0].copy()
    np.put_along_axis(result, a[1], a[2], p.get('axis', -1))
    return result


# ---- matrices ----

def square(draw, n, sturdy=True):
    a = numbers(draw, [n, n])
    for i in range(n if sturdy else 0):
        a['values'][i * n + i] += 20
    return a


def draw_eigvalsh(draw):
    n = draw.randint(1, 5)
    a = np.array(square(draw, n)['values']).reshape(n, n)
    return [{'dtype': 'float64', 'shape': [n, n], 'values': (a + a.T).ravel().tolist()}], {}


@case('eigvalsh', 1e-7)
def eigvalsh(a, p):
    return np.linalg.eigvalsh(a[0])


def draw_slogdet(draw):
    n = draw.randint(0, 5)
    if draw.chance(0.2) and n > 1:  # singular
        a = numbers(draw, [n, n], 'int64')
        a['values'][:2 * n] = [0] * 2 * n
        return [a], {'part': draw.choice(['sign', 'logabsdet'])}
    return [square(draw, n, draw.chance(0.5))], {'part': draw.choice(['sign', 'logabsdet'])}


@case('slogdet', 1e-6)
def slogdet(a, p):
    return np.asarray(np.linalg.slogdet(a[0])[p['part'] == 'logabsdet'])


def draw_cond(draw):
    kind = draw.choice(['2', '-2', '1', '-1', 'inf', '-inf', 'fro', 'nuc'])
    n = draw.randint(1, 4)
    a = square(draw, n) if kind[-1] != '2' or draw.chance(0.5) else numbers(draw, [n, draw.randint(1, 5)])
    return [a], {'ord': kind} if kind != '2' or draw.chance(0.5) else {}


def ord_of(kind):
    return kind if kind in ('fro', 'nuc') else float(kind) if 'inf' in kind else int(kind)


@case('cond', 1e-6)
def cond(a, p):
    return np.asarray(np.linalg.cond(a[0], ord_of(p.get('ord', '2'))))


def draw_matrix_power(draw):
    n = draw.choice([0, 1, 2, 3, 5, 8, -1, -2, -3])
    size = draw.randint(1, 4)
    if n < 0:
        return [square(draw, size)], {'n': n}
    kind = draw.choice(['float64', 'int64', 'int32', 'uint8', 'float32'])
    a = numbers(draw, ([2] if draw.chance(0.2) else []) + [size, size], kind)
    a['values'] = [min(v, 2) for v in a['values']]
    return [a], {'n': n}


@case('matrix_power', 1e-4)
def matrix_power(a, p):
    return np.linalg.matrix_power(a[0], p['n'])


# ---- edits ----

def axis_or_flat(draw, where):
    return {'axis': axis_of(draw, len(where))} if draw.chance(0.7) else {}


def length(where, parameters):
    return where[parameters['axis']] if 'axis' in parameters else int(np.prod(where))


def draw_append(draw):
    where = shape(draw)
    parameters = axis_or_flat(draw, where)
    other = list(where)
    if 'axis' in parameters:
        other[parameters['axis']] = draw.randint(0, 4)
    else:
        other = shape(draw)
    kind = draw.choice(DTYPES)
    return [tensor(draw, where, kind), tensor(draw, other, kind if draw.chance(0.7) else draw.choice(DTYPES))], parameters


@case('append')
def append(a, p):
    return np.append(a[0], a[1], p.get('axis'))


def draw_insert(draw):
    where = shape(draw)
    parameters = axis_or_flat(draw, where)
    n = length(where, parameters)
    count = draw.randint(1, 4) if draw.chance(0.9) else 0
    parameters['indices'] = [draw.randint(-n, n) for _ in range(count)]
    values = list(where) if 'axis' in parameters else [1]
    values[parameters.get('axis', 0)] = draw.choice([1, count]) if count > 1 else draw.randint(1, 3)
    values = values[draw.randrange(len(values)) if draw.chance(0.2) else 0:]
    kind = draw.choice(DTYPES)
    return [tensor(draw, where, kind), tensor(draw, values, kind)], parameters


@case('insert')
def insert(a, p):
    if not p['indices']:
        return a[0] if 'axis' in p else a[0].ravel()
    return np.insert(a[0], p['indices'], a[1], p.get('axis'))


def draw_delete(draw):
    where = shape(draw)
    parameters = axis_or_flat(draw, where)
    n = length(where, parameters)
    if draw.likely(0.3, 'axis') and parameters.get('axis', 0) % len(where) == 0:
        return [tensor(draw, where), tensor(draw, [n], 'bool')], parameters
    parameters['indices'] = [draw.randrange(-n, n) for _ in range(draw.randint(0, 4) if n else 0)]
    return [tensor(draw, where)], parameters


@case('delete')
def delete(a, p):
    gone = a[1] if len(a) > 1 else np.array(p['indices'], 'i8')
    return np.delete(a[0], gone, p.get('axis'))


# ---- pairs ----

def draw_histogram2d(draw):
    count = draw.choice([1, 5, 20])
    kinds = draw.choice([['float64', 'float64'], ['int64', 'int8'], ['float64', 'int32']])
    inputs = [numbers(draw, [count], kind) for kind in kinds]
    parameters = optional(draw, {}, density=lambda: draw.chance(0.6), part=lambda: draw.choice(['counts', 'x_edges', 'y_edges']))
    if draw.chance(0.3):
        inputs += [{'dtype': 'float64', 'shape': [n], 'values': sorted(draw.sample([-6.0, -3.0, 0.0, 1.5, 2.5, 5.0, 8.0], n))} for n in (draw.randint(2, 5), draw.randint(2, 5))]
    else:
        optional(draw, parameters, bins=lambda: draw.choice([[3], [2, 5], [1, 1]]), range=lambda: draw.choice([[-5, 5, -2.5, 3], [0, 1, 0, 4]]))
    if draw.chance(0.3):
        inputs.append({'dtype': 'float64', 'shape': [count], 'values': [draw.choice([0.5, 1.0, 2.25]) for _ in range(count)]})
    return inputs, parameters


@case('histogram2d', 1e-9)
def histogram2d(a, p):
    bins = p.get('bins', [10])
    bins = [a[2], a[3]] if len(a) >= 4 else bins * (3 - len(bins))
    span = np.reshape(p['range'], (2, 2)) if 'range' in p else None
    made = np.histogram2d(a[0], a[1], bins, span, p.get('density', False), a[-1] if len(a) % 2 else None)
    return made[('counts', 'x_edges', 'y_edges').index(p.get('part', 'counts'))]
