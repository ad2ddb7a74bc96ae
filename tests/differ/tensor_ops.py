"""Every operator of tensors: how a case of it is drawn, and what NumPy gives for it.

OPERATORS[name] = (draw -> (inputs, parameters), (arrays, parameters) -> array, tolerance or None for exactly).
NumPy here may be 1.x, where 2.x differs in dtypes: what 2.x gives is asked of it by casts.
"""
import math

import numpy as np

import tensor_complex
import tensor_index
import tensor_numpy
from draw import COMPLEX, DTYPES, FLOATS, INTEGERS, shape, tensor

OPERATORS = {name: (tensor_complex.turned(name, maker), *rest) for name, (maker, *rest) in tensor_numpy.CASES.items()}
LOOSE = 1e-9
NUMBERS = INTEGERS + FLOATS


def operator(name, tolerance=None):
    def note(pair):
        maker, oracle = pair
        OPERATORS[name] = (tensor_complex.turned(name, maker), oracle, tolerance)
        return pair
    return note


def add(name, maker, oracle, tolerance=None):
    OPERATORS[name] = (tensor_complex.turned(name, maker), oracle, tolerance)


def optional(draw, parameters, **choices):
    """Some of the optional parameters."""
    for name, value in choices.items():
        if draw.likely(0.6, name):
            parameters[name] = value() if callable(value) else value
    return parameters


def axis_of(draw, dims):
    return draw.randrange(-dims, dims)


def tame(draw, where=None, dtype=None, wild=None):
    """A tensor whose floats are moderate, but for nan, infinities and -0.0."""
    kept = tensor(draw, where if where is not None else shape(draw), dtype, wild)
    kept['values'] = [v if not isinstance(v, float) or not math.isfinite(v) or v == 0 or 1e-3 < abs(v) < 1e6 else 2.5 for v in kept['values']]
    return kept


def finite(draw, where=None, dtype=None):
    kept = tame(draw, where, dtype or draw.choice(NUMBERS), 0)
    return kept


# ---- element-wise ----

HALF = ('bool', 'int8', 'uint8')  # of these NumPy's functions give float16, granary's float32


def widened(*arrays):
    if all(a.dtype.name in HALF for a in arrays):
        return [a.astype('f4') for a in arrays]
    return arrays


SPECIAL = {'erf': math.erf, 'erfc': math.erfc}


def gamma(x):
    try:
        return math.gamma(x) if x != 0 else math.copysign(math.inf, x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def gammaln(x):
    try:
        return math.lgamma(x)
    except ValueError:
        return math.inf
    except OverflowError:
        return math.inf


def special(function):
    def oracle(arrays, _):
        x, = widened(*arrays)
        kind = np.result_type(x.dtype, np.float32) if x.dtype != np.float32 else np.dtype('f4')
        return np.array([function(float(v)) for v in x.ravel()]).reshape(x.shape).astype(kind)
    return oracle


UNARY_FLOAT = ('sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad '
               'rad2deg rint spacing').split()
UNARY = 'negative positive absolute sign square isnan isfinite isinf isposinf isneginf signbit logical_not invert'.split()


def any_tensor(draw):
    return [tensor(draw, shape(draw))], {}


for name in UNARY_FLOAT:
    add(name, any_tensor, lambda a, p, f=getattr(np, name): f(*widened(*a)), LOOSE if name not in ('spacing', 'rint') else None)
for name in UNARY:
    add(name, any_tensor, lambda a, p, f=getattr(np, name), n=name: tensor_complex.sign(a[0]) if n == 'sign' and a[0].dtype.kind == 'c' else f(a[0]))
# An integer's 1 / 0 is documented to be 0; what NumPy makes of it depends on the processor.
add('reciprocal', any_tensor, lambda a, p: np.reciprocal(a[0]) if a[0].dtype.kind in 'fc' else np.where(a[0] == 0, a[0], np.reciprocal(np.where(a[0] == 0, 1, a[0]).astype(a[0].dtype))))
for name in ('floor', 'ceil', 'trunc'):  # NumPy 2: integers and bools stay
    add(name, any_tensor, lambda a, p, f=getattr(np, name): f(a[0]) if a[0].dtype.kind == 'f' else a[0])
for name, function in (('erf', math.erf), ('erfc', math.erfc), ('gamma', gamma), ('gammaln', gammaln)):
    add(name, lambda draw: ([tame(draw)], {}), special(function), LOOSE)


def operands(draw, dtypes=DTYPES, wild=None, right=None):
    """Two that stretch to one another, or one and a value."""
    where = shape(draw)
    a = tensor(draw, where, draw.choice(dtypes), wild)
    if draw.likely(0.35, 'value', 'left') and a['dtype'] != 'bool':
        value = right(draw) if right else draw.choice([0, 1, 2, -1, 3, 0.5, -2.5])
        if a['dtype'] not in FLOATS and isinstance(value, int) and a['dtype'][0] == 'u':
            value = abs(value)
        parameters = {'value': value}
        if draw.likely(0.5, 'left'):
            parameters['left'] = draw.chance(0.7)
        return [a], parameters
    other = [1 if draw.chance(0.25) else n for n in where][draw.randrange(len(where)) if draw.chance(0.3) else 0:]
    b = tensor(draw, other, draw.choice(dtypes), wild)
    if right:
        b['values'] = [right(draw) if b['dtype'] != 'bool' else v for v in b['values']]
        b['values'] = [abs(v) if b['dtype'][0] == 'u' else v for v in b['values']]
    return [a, b] if draw.chance(0.7) or right else [b, a], {}


def both(arrays, parameters):
    """The operands as NumPy 2 has them: a value takes the dtype beside it when that is of its kind or a larger one."""
    if 'value' not in parameters:
        return arrays
    a, value = arrays[0], tensor_complex.number(parameters['value'])
    if isinstance(value, complex) or a.dtype.kind == 'c':
        b = np.array([value], dtype=a.dtype if a.dtype.kind == 'c' else 'c8' if a.dtype == np.float32 else 'c16')
        return [b, a] if parameters.get('left') else [a, b]
    if isinstance(value, int) and not isinstance(value, bool):
        kind = a.dtype if a.dtype != bool else np.dtype('i8')
    else:
        kind = a.dtype if a.dtype.kind == 'f' else np.dtype('f8')
    b = np.array([value], dtype=kind)
    return [b, a] if parameters.get('left') else [a, b]


BINARY = ('add subtract multiply divide floor_divide mod fmod maximum minimum fmax fmin equal not_equal less less_equal greater greater_equal '
          'logical_and logical_or logical_xor').split()
for name in BINARY:
    add(name, operands, lambda a, p, f=getattr(np, name): f(*both(a, p)), LOOSE if name in ('divide', 'floor_divide', 'mod', 'fmod') else None)
for name in 'arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside'.split():
    add(name, operands, lambda a, p, f=getattr(np, name): f(*widened(*both(a, p))), None if name in ('copysign', 'nextafter', 'heaviside') else LOOSE)
add('float_power', lambda draw: operands(draw, wild=0, right=lambda d: d.choice([0, 1, 2, -1, 3])), lambda a, p: np.float_power(*both(a, p)), LOOSE)
add('power', lambda draw: operands(draw, wild=0, right=lambda d: d.choice([0, 1, 2, 3])), lambda a, p: np.power(*both(a, p)), LOOSE)
WHOLE = ('bool',) + INTEGERS
for name in 'bitwise_and bitwise_or bitwise_xor'.split():
    add(name, lambda draw: operands(draw, WHOLE, right=lambda d: d.choice([0, 1, 2, 5, 100])), lambda a, p, f=getattr(np, name): f(*both(a, p)))
for name in 'left_shift right_shift'.split():
    add(name, lambda draw: operands(draw, INTEGERS, right=lambda d: d.choice([0, 1, 2, 5, 7, 8, 63, 64])), lambda a, p, f=getattr(np, name): f(*both(a, p)))
for name in 'gcd lcm'.split():
    add(name, lambda draw: operands(draw, INTEGERS, wild=0, right=lambda d: d.choice([0, 1, 2, 6, 100])), lambda a, p, f=getattr(np, name): f(*both(a, p)))


def make_astype(draw):
    a = tame(draw, wild=0) if draw.chance(0.7) else tensor(draw, shape(draw), draw.choice(WHOLE))
    to = draw.choice(DTYPES + COMPLEX)
    if a['dtype'] in FLOATS and to not in FLOATS + COMPLEX:
        a['values'] = [abs(v) if to[0] == 'u' else v for v in a['values']]
    return [a], {'dtype': to}


add('astype', make_astype, lambda a, p: a[0].astype(p['dtype']))


def make_where(draw):
    where = shape(draw)
    condition = tensor(draw, where, draw.choice(['bool', 'int64', 'float64']))
    kind = draw.choice(NUMBERS)
    inputs, parameters = [condition], {}
    for name in ('then', 'otherwise'):
        if draw.chance(0.4):
            parameters[name] = draw.choice([0, 1, 3]) if kind not in FLOATS or draw.chance(0.5) else 2.5
        else:
            inputs.append(tensor(draw, [1 if draw.chance(0.2) else n for n in where], kind if draw.chance(0.7) else draw.choice(DTYPES)))
    return (inputs, parameters) if len(inputs) > 1 else (inputs + [tensor(draw, where, kind)], {'otherwise': 0})


def where(a, p):
    rest = list(a[1:])
    sides = [np.array([p[n]]) if n in p else rest.pop(0) for n in ('then', 'otherwise')]
    for i, name in enumerate(('then', 'otherwise')):
        if name in p:
            sides[i] = both([sides[1 - i]], {'value': p[name]})[1]
    return np.where(a[0] != 0, *sides)


add('where', make_where, where)


def make_clip(draw):
    a = tensor(draw, shape(draw), draw.choice(NUMBERS))
    parameters = {}
    for name in draw.some(('min', 'max'), 2):
        parameters[name] = draw.choice([0, 1, 2, 3]) if a['dtype'] not in FLOATS else draw.choice([-1.5, 0.0, 2.5])
    return [a], parameters


def clip(a, p):
    result = a[0]
    with np.errstate(all='ignore'):
        if 'min' in p:
            result = np.maximum(result, a[0].dtype.type(p['min']))
        if 'max' in p:
            result = np.minimum(result, a[0].dtype.type(p['max']))
    return result


add('clip', make_clip, clip)
add('nan_to_num', lambda draw: ([tensor(draw, shape(draw), draw.choice(FLOATS), 0.4)], optional(draw, {}, nan=1.5, posinf=7.0, neginf=-7.0)),
    lambda a, p: np.nan_to_num(a[0], nan=p.get('nan', 0.0), posinf=p.get('posinf'), neginf=p.get('neginf')))
add('round', lambda draw: ([tame(draw, dtype=draw.choice(NUMBERS), wild=0)], optional(draw, {}, decimals=lambda: draw.choice([0, 1, 2] ))),
    lambda a, p: np.round(a[0], p.get('decimals', 0)), LOOSE)


def make_close(draw):
    size = shape(draw)
    a = tame(draw, size, draw.choice(FLOATS), 0.3)
    b = dict(a, values=[v if draw.chance(0.6) else v * 1.001 if draw.chance(0.5) else draw.choice([0.0, 1.5, float('nan')]) for v in a['values']])
    return [a, b], optional(draw, {}, rtol=0.01, atol=0.1, equal_nan=lambda: draw.chance(0.7))


def wide(array):
    """In the precision that granary compares in, whatever the values have."""
    return array.astype(np.result_type(array.dtype, np.float64))


def close(function):
    return lambda a, p: np.asarray(function(wide(a[0]), wide(a[1]), rtol=p.get('rtol', 1e-5), atol=p.get('atol', 1e-8), equal_nan=p.get('equal_nan', False)))


add('isclose', make_close, close(np.isclose))
add('allclose', make_close, close(np.allclose))
add('array_equal', lambda draw: (lambda a: ([a, dict(a, values=list(a['values']))] if draw.chance(0.5) else [a, tame(draw, a['shape'])], {}))(tame(draw, wild=0)),
    lambda a, p: np.asarray(np.array_equal(*a)))


# ---- reductions ----

def reduced(draw, kind=None, empty=True):
    where = shape(draw, empty=empty)
    a = tame(draw, where, kind)
    parameters = {}
    if draw.chance(0.7):
        parameters['axes'] = sorted(draw.some(range(len(where)), len(where)))
        if draw.chance(0.3):
            parameters['axes'] = [i - len(where) for i in parameters['axes']]
    if draw.chance(0.4):
        parameters['keepdims'] = draw.chance(0.8)
    return [a], parameters


def axes(p):
    return None if 'axes' not in p else tuple(p['axes'])


def reduction(function, **more):
    def oracle(a, p):
        options = dict(more, axis=axes(p), keepdims=p.get('keepdims', False))
        if 'ddof' in p:
            options['ddof'] = p['ddof']
        return np.asarray(function(a[0], **options))
    return oracle


def made(function, kind):
    """Sums and means of integers and bools exactly as documented; NumPy's mean of float16-like dtypes does not arise."""
    return reduction(function, **kind)


for name in 'sum prod all any nansum nanprod mean nanmean'.split():
    add(name, reduced, reduction(getattr(np, name)), LOOSE)
for name in 'max min nanmax nanmin'.split():
    add(name, lambda draw: reduced(draw, empty=False), reduction(getattr(np, name)))
add('count_nonzero', reduced, lambda a, p: np.asarray(np.count_nonzero(a[0], axis=axes(p), keepdims=p.get('keepdims', False))).astype('i8'))


def spread(function):
    """Of complex64 in the precision that granary has for sums: squares of large values are beyond float32."""
    return lambda x, **more: function(x.astype('c16'), **more).astype('f4') if x.dtype == np.dtype('c8') else function(x, **more)


for name in 'var std nanvar nanstd'.split():
    def maker(draw):
        inputs, parameters = reduced(draw)
        return inputs, optional(draw, parameters, ddof=lambda: draw.choice([0, 1, 1.5]))
    add(name, maker, reduction(spread(getattr(np, name))), 1e-7)
for name in 'argmax argmin'.split():
    def maker(draw):
        inputs, parameters = reduced(draw, empty=False)
        if 'axes' in parameters:
            parameters['axes'] = parameters['axes'][:1]
        return inputs, parameters
    add(name, maker, lambda a, p, f=getattr(np, name): np.asarray(f(a[0], axis=p['axes'][0] if 'axes' in p else None, keepdims=p.get('keepdims', False))))


# ---- makers ----

def shaped(draw):
    return optional(draw, {'shape': shape(draw)}, dtype=lambda: draw.choice(DTYPES + COMPLEX), chunk=lambda: [2])


def chunked(parameters):
    """A chunk for every dimension."""
    if 'chunk' in parameters:
        parameters['chunk'] = parameters['chunk'] * len(parameters['shape'])
    return parameters


for name in ('zeros', 'ones', 'empty'):
    add(name, lambda draw: ([], chunked(shaped(draw))), lambda a, p, f={'empty': np.zeros}.get(name, getattr(np, name)): f(p['shape'], p.get('dtype', 'f8')))
add('full', lambda draw: ([], chunked(dict(shaped(draw), value=draw.choice([0, 1, 7, 100])) if draw.chance(0.8) else dict(shaped(draw), value=draw.choice(['18446744073709551615', '9223372036854775808']), dtype='uint64'))),
    lambda a, p: np.full(p['shape'], int(p['value']), p.get('dtype')))


def like(draw, **more):
    a = tensor(draw, shape(draw))
    parameters = optional(draw, dict(more), dtype=lambda: draw.choice(DTYPES + COMPLEX))
    if draw.chance(0.4):
        parameters['chunk'] = [draw.choice([1, 2, 3])] * len(a['shape'])
    return [a], parameters


for name in ('zeros_like', 'ones_like', 'empty_like'):
    add(name, like, lambda a, p, f=np.ones_like if name == 'ones_like' else np.zeros_like: f(a[0], dtype=p.get('dtype')))
add('full_like', lambda draw: like(draw, value=draw.choice([0, 1, 7, 100])), lambda a, p: np.full_like(a[0], tensor_complex.number(p['value']), dtype=p.get('dtype')))


def square(draw):
    parameters = optional(draw, {'rows': draw.randint(0, 6)}, columns=lambda: draw.randint(0, 6), offset=lambda: draw.randint(-3, 3), dtype=lambda: draw.choice(DTYPES + COMPLEX),
                          chunk=lambda: [draw.randint(1, 3), draw.randint(1, 3)])
    return [], parameters


for name, function in (('eye', np.eye), ('tri', np.tri)):
    add(name, square, lambda a, p, f=function: f(p['rows'], p.get('columns'), p.get('offset', 0), dtype=p.get('dtype', 'f8')))
for name, function in (('triu', np.triu), ('tril', np.tril)):
    add(name, lambda draw: ([tensor(draw, shape(draw, 2))], optional(draw, {}, offset=lambda: draw.randint(-3, 3))), lambda a, p, f=function: f(a[0], p.get('offset', 0)))
add('linspace', lambda draw: ([], optional(draw, {'start': draw.choice([0, -1.5, 3]), 'stop': draw.choice([1, 10, -4.25])}, count=lambda: draw.randint(1, 20),
                                           endpoint=lambda: draw.chance(0.5), chunk=[3])),
    lambda a, p: np.linspace(p['start'], p['stop'], p.get('count', 50), p.get('endpoint', True)), LOOSE)
add('logspace', lambda draw: ([], optional(draw, {'start': draw.choice([0, -1.5, 3]), 'stop': draw.choice([1, 2, -4.25])}, count=lambda: draw.randint(1, 20),
                                           base=lambda: draw.choice([2, 10, 2.5]))),
    lambda a, p: np.logspace(p['start'], p['stop'], p.get('count', 50), base=p.get('base', 10)), LOOSE)
add('indices', lambda draw: ([], {'shape': shape(draw, empty=False)}), lambda a, p: np.indices(p['shape']))


def make_arange(draw):
    if draw.chance(0.5):
        p = optional(draw, {'stop': draw.randint(-3, 20)}, start=lambda: draw.randint(-5, 5), step=lambda: draw.choice([1, 2, -1, 3]))
    else:
        p = optional(draw, {'stop': draw.choice([2.5, 7.25])}, start=lambda: draw.choice([0.5, -1.25]), step=lambda: draw.choice([0.5, 0.25]))
    count = len(arange([], p))
    if count and draw.chance(0.4):
        rows = next(n for n in range(1, count + 1) if count % n == 0 and (n > 1 or draw.chance(0.3) or count == n or count < 4) or n == count)
        p['shape'] = [rows, count // rows]
    if draw.chance(0.4):
        p['chunk'] = [draw.randint(1, 4)] * len(p.get('shape', [1]))
    return [], p


def arange(a, p):
    parts = p.get('start', 0), p['stop'], p.get('step', 1)
    x = np.arange(*parts, dtype='i8' if all(isinstance(v, int) for v in parts) else 'f8')
    return x.reshape(p['shape']) if 'shape' in p else x


add('arange', make_arange, arange, LOOSE)


def make_meshgrid(draw):
    count = draw.randint(1, 3)
    kind = draw.choice(NUMBERS)
    return [tensor(draw, [draw.randint(1, 4)], kind) for _ in range(count)], optional(draw, {'part': draw.randrange(count)}, indexing=lambda: draw.choice(['xy', 'ij']))


add('meshgrid', make_meshgrid, lambda a, p: np.meshgrid(*a, indexing=p.get('indexing', 'xy'))[p['part']])


# ---- what only moves ----

def index_text(draw, dims, stepped=True):
    parts = []
    for size in dims:
        form = draw.randrange(5)
        if form == 0:
            parts.append(':')
        elif form == 1 and size:
            parts.append(str(draw.randrange(-size, size)))
        elif form == 2:
            parts.append(f'{draw.randint(-3, 3)}:')
        elif form == 3:
            step = draw.choice([1, -1, 2, -2, 3]) if stepped else draw.choice([1, -1])
            parts.append(f'{draw.choice(["", 0, 1, 5, -2])}:{draw.choice(["", 0, 3, -1])}:{step}')
        else:
            parts.append(f'{draw.choice(["", 1])}:{draw.choice(["", 2, -1, 100])}')
    keep = draw.randint(1, len(parts))
    parts = parts[:keep] if draw.chance(0.5) else ['...'] + parts[len(parts) - keep:]
    if draw.chance(0.2) and stepped:
        parts.insert(draw.randint(0, len(parts)), 'None')
    return ', '.join(parts)


def indexed(array, text):
    return eval(f'array[{text}]', {'array': array})  # NumPy's own reading of it


def make_getitem(draw):
    if draw.chance(0.6):
        return tensor_index.draw_getitem(draw)
    a = tensor(draw, shape(draw))
    return [a], {'index': index_text(draw, a['shape'])}


add('getitem', make_getitem, tensor_index.getitem)


def make_setitem(draw):
    if draw.chance(0.6):
        return tensor_index.draw_setitem(draw)
    a = tensor(draw, shape(draw), wild=0)
    index = index_text(draw, a['shape'], False)
    hole = indexed(np.zeros(a['shape']), index).shape
    hole = [1 if draw.chance(0.3) else n for n in hole] or [1]
    return [a, tensor(draw, hole, a['dtype'])], {'index': index}


add('setitem', make_setitem, tensor_index.setitem)
add('transpose', lambda draw: (lambda a: ([a], optional(draw, {}, axes=lambda: draw.sample(range(len(a['shape'])), len(a['shape'])))))(tensor(draw, shape(draw, most=4))),
    lambda a, p: np.transpose(a[0], p.get('axes')))
add('swapaxes', lambda draw: (lambda a: ([a], {'axis1': axis_of(draw, len(a['shape'])), 'axis2': axis_of(draw, len(a['shape']))}))(tensor(draw, shape(draw, most=4))),
    lambda a, p: np.swapaxes(a[0], p['axis1'], p['axis2']))


def make_moveaxis(draw):
    a = tensor(draw, shape(draw, most=4))
    count = draw.randint(1, len(a['shape']))
    return [a], {'source': draw.sample(range(len(a['shape'])), count), 'destination': draw.sample(range(len(a['shape'])), count)}


add('moveaxis', make_moveaxis, lambda a, p: np.moveaxis(a[0], p['source'], p['destination']))
add('expand_dims', lambda draw: (lambda a, n: ([a], {'axes': sorted(draw.sample(range(len(a['shape']) + n), n))}))(tensor(draw, shape(draw)), draw.randint(1, 2)),
    lambda a, p: np.expand_dims(a[0], tuple(p['axes'])))


def make_squeeze(draw):
    a = tensor(draw, [draw.choice([1, 1, 2, 3]) for _ in range(draw.randint(2, 4))])
    single = [i for i, n in enumerate(a['shape']) if n == 1]
    return [a], {'axes': draw.some(single, len(single))} if single and draw.chance(0.7) else {}


add('squeeze', make_squeeze, lambda a, p: np.squeeze(a[0], tuple(p['axes']) if 'axes' in p else None))
add('flip', lambda draw: (lambda a: ([a], optional(draw, {}, axes=lambda: draw.some(range(len(a['shape'])), 3))))(tensor(draw, shape(draw))),
    lambda a, p: np.flip(a[0], axes(p)))


def make_broadcast(draw):
    to = shape(draw, most=4)
    start = draw.randrange(len(to))
    return [tensor(draw, [1 if draw.chance(0.4) else n for n in to[start:]])], {'shape': to}


add('broadcast_to', make_broadcast, lambda a, p: np.broadcast_to(a[0], p['shape']))


def two_axes(draw, dims, parameters):
    if draw.chance(0.5):
        parameters['axis1'], parameters['axis2'] = draw.sample(range(dims), 2)
    elif draw.chance(0.5):
        parameters['axis2'] = dims - 1
    return parameters


def diagonal_case(draw):
    a = tensor(draw, shape(draw, 2), wild=0)
    return [a], two_axes(draw, len(a['shape']), optional(draw, {}, offset=lambda: draw.randint(-3, 3)))


add('diagonal', diagonal_case, lambda a, p: np.diagonal(a[0], p.get('offset', 0), p.get('axis1', 0), p.get('axis2', 1)))
add('trace', diagonal_case, lambda a, p: np.asarray(np.trace(a[0], p.get('offset', 0), p.get('axis1', 0), p.get('axis2', 1))), LOOSE)


def make_concatenate(draw):
    where = shape(draw)
    axis = axis_of(draw, len(where))
    kind = draw.choice(DTYPES)
    inputs = []
    for _ in range(draw.randint(1, 4)):
        size = list(where)
        size[axis] = draw.randint(0, 4)
        inputs.append(tensor(draw, size, kind if draw.chance(0.7) else draw.choice(DTYPES)))
    return inputs, {'axis': axis} if axis != 0 or draw.chance(0.3) else {}


add('concatenate', make_concatenate, lambda a, p: np.concatenate(a, p.get('axis', 0)))


def alike(draw, least=1, most=3, dims=3):
    where, kind = shape(draw, least, dims), draw.choice(DTYPES)
    return [tensor(draw, where, kind if draw.chance(0.7) else draw.choice(DTYPES)) for _ in range(draw.randint(1, most))]


add('stack', lambda draw: (lambda i: (i, optional(draw, {}, axis=lambda: axis_of(draw, len(i[0]['shape']) + 1))))(alike(draw)), lambda a, p: np.stack(a, p.get('axis', 0)))
for name in ('vstack', 'hstack', 'dstack'):
    add(name, lambda draw: (alike(draw), {}), lambda a, p, f=getattr(np, name): f(a))
add('column_stack', lambda draw: (alike(draw, dims=2), {}), lambda a, p: np.column_stack(a))
add('tile', lambda draw: ([tensor(draw, shape(draw))], {'repeats': [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]}), lambda a, p: np.tile(a[0], p['repeats']))


def make_roll(draw):
    a = tensor(draw, shape(draw))
    where = draw.some(range(len(a['shape'])), 3)
    return [a], {'axes': where, 'shift': [draw.randint(-9, 9) for _ in where] if draw.chance(0.6) else [draw.randint(-9, 9)]}


add('roll', make_roll, lambda a, p: np.roll(a[0], p['shift'] if len(p['shift']) > 1 else p['shift'][0], tuple(p['axes'])))


def with_axis(draw, a, **parameters):
    return optional(draw, parameters, axis=lambda: axis_of(draw, len(a['shape'])))


add('repeat', lambda draw: (lambda a: ([a], with_axis(draw, a, repeats=draw.randint(0, 3))))(tensor(draw, shape(draw))), lambda a, p: np.repeat(a[0], p['repeats'], p.get('axis', 0)))


def make_take(draw):
    a = tensor(draw, shape(draw, empty=False))
    p = with_axis(draw, a)
    size = a['shape'][p.get('axis', 0)]
    return [a], dict(p, indices=[draw.randrange(-size, size) for _ in range(draw.randint(1, 5))])


add('take', make_take, lambda a, p: np.take(a[0], p['indices'], p.get('axis', 0)))
def split_oracle(a, p):
    axis, align = p.get('axis', 0), p.get('align', 1)
    own = np.array_split(np.arange(-(-a[0].shape[axis] // align)), p['parts'])[p['part']]
    return np.take(a[0], range(min(own[0] * align, a[0].shape[axis]), min((own[-1] + 1) * align, a[0].shape[axis])) if len(own) else [], axis)


add('split', lambda draw: (lambda a, n: ([a], optional(draw, with_axis(draw, a, parts=n, part=draw.randrange(n)), align=draw.randint(1, 3))))(tensor(draw, shape(draw)), draw.randint(1, 4)),
    split_oracle)
add('rechunk', lambda draw: (lambda a: ([a], {'chunk': [draw.randint(1, 4) for _ in a['shape']]}))(tensor(draw, shape(draw))), lambda a, p: a[0])
for name in ('fliplr', 'flipud'):
    add(name, lambda draw: ([tensor(draw, shape(draw, 2))], {}), lambda a, p, f=getattr(np, name): f(a[0]))


def make_rot90(draw):
    a = tensor(draw, shape(draw, 2))
    p = optional(draw, {}, k=lambda: draw.randint(-3, 5))
    if draw.chance(0.5):
        p['axis1'], p['axis2'] = draw.sample(range(len(a['shape'])), 2)
    return [a], p


add('rot90', make_rot90, lambda a, p: np.rot90(a[0], p.get('k', 1), (p.get('axis1', 0), p.get('axis2', 1))))
add('diag', lambda draw: ([tensor(draw, shape(draw, 1, 2))], optional(draw, {}, offset=lambda: draw.randint(-3, 3))), lambda a, p: np.diag(a[0], p.get('offset', 0)))


def make_pad(draw):
    a = tensor(draw, shape(draw, empty=False), draw.choice(NUMBERS))
    p = {}
    for name in draw.some(('before', 'after'), 2):
        p[name] = [draw.randint(0, 3) for _ in (a['shape'] if draw.chance(0.6) else [0])]
    if draw.chance(0.5):
        p['mode'] = draw.choice(['constant', 'edge'])
    if p.get('mode') != 'edge' and draw.chance(0.5):
        p['value'] = draw.choice([0, 1, 5])
    return [a], p


def pad(a, p):
    sizes = [p.get(n, [0]) for n in ('before', 'after')]
    sizes = [s if len(s) == a[0].ndim else s * a[0].ndim for s in sizes]
    more = {'constant_values': p.get('value', 0)} if p.get('mode', 'constant') == 'constant' else {}
    return np.pad(a[0], list(zip(*sizes)), p.get('mode', 'constant'), **more)


add('pad', make_pad, pad)


def make_reshape(draw):
    a = tensor(draw, shape(draw))
    count = len(a['values'])
    to = [count]
    for n in (2, 3, 5, 7):
        if to[-1] % n == 0 and to[-1] and draw.chance(0.6):
            to[-1:] = [n, to[-1] // n]
    draw.shuffle(to)
    if draw.chance(0.4) and count:
        to[draw.randrange(len(to))] = -1
    return [a], {'shape': to}


add('reshape', make_reshape, lambda a, p: a[0].reshape(p['shape']))
add('ravel', any_tensor, lambda a, p: a[0].ravel())


# ---- look-ups, sets, counts ----

def make_searchsorted(draw):
    kind = draw.choice(NUMBERS)
    a = tame(draw, [draw.randint(0, 8)], kind, 0)
    a['values'].sort()
    return [a, tame(draw, shape(draw), kind)], optional(draw, {}, side=lambda: draw.choice(['left', 'right']))


add('searchsorted', make_searchsorted, lambda a, p: np.searchsorted(a[0], a[1], p.get('side', 'left')))


def make_digitize(draw):
    kind = draw.choice(NUMBERS)
    bins = tame(draw, [draw.randint(1, 6)], kind, 0)
    bins['values'].sort(reverse=draw.chance(0.4))
    return [tame(draw, shape(draw), kind), bins], optional(draw, {}, right=lambda: draw.chance(0.7))


add('digitize', make_digitize, lambda a, p: np.digitize(a[0], a[1], p.get('right', False)))
add('isin', lambda draw: ([tame(draw), tame(draw, [draw.randint(0, 6)])], optional(draw, {}, invert=lambda: draw.chance(0.7))),
    lambda a, p: np.isin(a[0].astype(np.result_type(*a)), a[1].astype(np.result_type(*a)), invert=p.get('invert', False)))


def make_take_at(draw):
    a = tensor(draw, shape(draw, empty=False))
    return [a, tensor(draw, shape(draw, 1, 2), 'int64', low=-a['shape'][0], high=a['shape'][0] - 1)], {}


add('take_at', make_take_at, lambda a, p: a[0][a[1]])


def make_select(draw):
    a = tensor(draw, shape(draw))
    return [a, tensor(draw, a['shape'], draw.choice(['bool', 'int64', 'float64']))], {}


add('select_where', make_select, lambda a, p: a[0][a[1] != 0])
add('flatnonzero', any_tensor, lambda a, p: np.flatnonzero(a[0]))
add('argwhere', any_tensor, lambda a, p: np.argwhere(a[0]))


def unique(a, p):
    part = p.get('part', 'values')
    values, index, inverse, counts = np.unique(a[0], True, True, True, axis=p.get('axis'))
    inverse = inverse.reshape(a[0].shape if 'axis' not in p else a[0].shape[:1])
    return {'values': values, 'index': index, 'counts': counts, 'inverse': inverse}[part]


def make_unique(draw):
    p = optional(draw, {}, part=lambda: draw.choice(['values', 'counts', 'index', 'inverse']))
    if not draw.likely(0.4, 'axis'):
        return [tame(draw)], p
    a = tame(draw, [draw.randint(0, 9)] + [draw.randint(1, 3)] * draw.randint(0, 1), wild=0)
    if draw.chance(0.5):
        a['values'] = [v if draw.chance(0.4) else a['values'][0] for v in a['values']]
    return [a], dict(p, axis=draw.choice([0, -len(a['shape'])]))


add('unique', make_unique, unique)
for name in ('union1d', 'intersect1d', 'setdiff1d'):
    def maker(draw):
        kind = draw.choice(DTYPES)
        return [tame(draw, [draw.randint(0, 7)], kind, 0), tame(draw, [draw.randint(0, 7)], kind, 0)], {}
    add(name, maker, lambda a, p, f=getattr(np, name): f(*a))


def make_bincount(draw):
    where = shape(draw)
    a = tensor(draw, where, draw.choice(('bool',) + INTEGERS), low=0, high=1 if draw.chance(0.2) else 5)
    if a['dtype'] == 'bool':
        a['values'] = [bool(v & 1) for v in a['values']]
    return [a] + ([finite(draw, where)] if draw.chance(0.4) else []), {'length': draw.randint(6, 9)}


add('bincount', make_bincount, lambda a, p: np.bincount(a[0].ravel().astype('i8'), a[1].ravel() if len(a) > 1 else None, p['length']).astype('f8' if len(a) > 1 else 'i8'), LOOSE)


def make_histogram(draw):
    a = tame(draw, shape(draw, empty=False), draw.choice(NUMBERS), 0)
    p = optional(draw, {}, density=lambda: draw.chance(0.6), part=lambda: draw.choice(['counts', 'edges']))
    weights = []
    if draw.likely(0.3, 'weighted'):
        weights, p['weighted'] = [dict(tensor(draw, a['shape'], 'float64', low=0.5, high=3.0))], True
    if draw.chance(0.3):
        return [a, {'dtype': 'float64', 'shape': [4], 'values': sorted(draw.sample([-3.0, 0.0, 1.5, 2.5, 5.0, 8.0], 4))}, *weights], p
    if draw.chance(0.7):
        p['bins'] = draw.randint(1, 7)
    if draw.chance(0.5):
        p['low'], p['high'] = draw.choice([-4, 0.5]), draw.choice([3, 6.5])
    return [a, *weights], p


def histogram(a, p):
    weights = a.pop() if p.get('weighted') else None
    edges = a[1] if len(a) > 1 else p.get('bins', 10)
    span = (p['low'], p['high']) if 'low' in p else None
    counts, edges = np.histogram(a[0], edges, span, density=p.get('density', False), weights=weights)
    return edges.astype('f4' if a[0].dtype == np.float32 and len(a) == 1 else 'f8') if p.get('part') == 'edges' else counts


add('histogram', make_histogram, histogram, LOOSE)


# ---- products and linear algebra ----

def small(draw, size, kind=None):
    return finite(draw, size, kind or draw.choice(('int64', 'int32', 'float32', 'float64')))


def make_matmul(draw):
    n, m, k = (draw.randint(1, 5) for _ in range(3))
    left, right = draw.choice([([n, m], [m, k]), ([m], [m, k]), ([n, m], [m]), ([m], [m]), ([2, n, m], [m, k]), ([2, n, m], [2, m, k]), ([1, n, m], [3, m, k])])
    return [small(draw, left), small(draw, right)], {}


add('matmul', make_matmul, lambda a, p: np.matmul(*a), 1e-5)


def pair(maker):
    return lambda draw: ([small(draw, s) for s in maker(draw)], {})


def size(draw):
    return draw.randint(1, 5)


add('outer', pair(lambda d: ([size(d)], [size(d)])), lambda a, p: np.outer(*a), 1e-5)
add('inner', pair(lambda d: (lambda n: d.choice([([n], [n]), ([2, n], [3, n]), ([2, n], [n])]))(size(d))), lambda a, p: np.asarray(np.inner(*a)), 1e-5)
add('dot', pair(lambda d: (lambda n: d.choice([([n], [n]), ([2, n], [n, 3]), ([2, 3, n], [n, 2]), ([2, n], [3, n, 2])]))(size(d))), lambda a, p: np.asarray(np.dot(*a)), 1e-5)
add('vdot', pair(lambda d: (lambda n: d.choice([([n], [n]), ([2, n], [2, n])]))(size(d))), lambda a, p: np.asarray(np.vdot(*a)), 1e-5)


def make_tensordot(draw):
    form = draw.randrange(4)
    if form == 0:
        return [small(draw, [2, 3, 4]), small(draw, [3, 4, 2])], {}
    if form == 1:
        return [small(draw, [2, 3]), small(draw, [3, 4])], {'axes': 1}
    if form == 2:
        return [small(draw, [2, 3]), small(draw, [2])], {'axes': 0}
    return [small(draw, [2, 3, 4]), small(draw, [4, 2, 5])], {'axes_a': [0, 2], 'axes_b': [1, 0]}


add('tensordot', make_tensordot, lambda a, p: np.tensordot(*a, axes=(p['axes_a'], p['axes_b']) if 'axes_a' in p else p.get('axes', 2)), 1e-5)
EINSUM = {'ij,jk->ik': ([2, 3], [3, 4]), 'ij,jk': ([2, 3], [3, 4]), 'ij->ji': ([2, 3],), 'ii->i': ([3, 3],), 'ij,ij->': ([2, 3], [2, 3]), 'i,j->ij': ([2], [3]),
          'bij,bjk->bik': ([2, 3, 4], [2, 4, 2]), 'ij->': ([2, 3],), 'ba': ([2, 3],), 'ij,j->i': ([2, 3], [3])}
add('einsum', lambda draw: (lambda s: ([small(draw, x) for x in EINSUM[s]], {'subscripts': s}))(draw.choice(list(EINSUM))), lambda a, p: np.asarray(np.einsum(p['subscripts'], *a)), 1e-5)
add('kron', pair(lambda d: ([size(d), size(d)], [size(d), size(d)])), lambda a, p: np.kron(*a), 1e-5)
add('cross', pair(lambda d: d.choice([([3], [3]), ([4, 3], [4, 3]), ([4, 3], [3])])), lambda a, p: np.cross(*a), 1e-5)


def make_norm(draw):
    if draw.likely(0.4, 'kind', 'axes'):
        return make_matrix_norm(draw)
    a = small(draw, shape(draw, empty=False), draw.choice(FLOATS))
    p = optional(draw, {}, ord=lambda: draw.choice([0, 1, 2, 3, 2.5]), keepdims=lambda: draw.chance(0.7))
    if len(a['shape']) > 1 or draw.chance(0.5):
        if 'ord' in p or draw.chance(0.5):
            p['axis'] = axis_of(draw, len(a['shape']))
    return [a], p


def make_matrix_norm(draw):
    kinds = ['inf', '-inf', 'fro', 'nuc', '1', '2', '-1', '-2']
    a = small(draw, [draw.randint(1, 4) for _ in range(draw.choice([1, 2, 2, 3]))], draw.choice(FLOATS + ('int32',)))
    dims = len(a['shape'])
    p = optional(draw, {}, kind=lambda: draw.choice(kinds if dims == 2 else kinds[:2] if dims == 1 else kinds[:3] + ['1', '-1']), keepdims=lambda: draw.chance(0.7))
    if dims == 1:
        return [a], dict(p, axis=0) if draw.chance(0.5) else p
    if dims == 3 or draw.likely(0.5, 'axes'):
        p['axes'] = [d - dims if draw.chance(0.3) else d for d in draw.sample(range(dims), 2)]
    return [a], p


def norm_kind(a, p):
    kind = p.get('kind')
    ord = None if kind is None else kind if kind in ('fro', 'nuc') else float(kind)
    return np.asarray(np.linalg.norm(a[0], ord, tuple(p['axes']) if 'axes' in p else p.get('axis'), p.get('keepdims', False)))


add('norm', make_norm, lambda a, p: norm_kind(a, p) if 'kind' in p or 'axes' in p else np.asarray(np.linalg.norm(a[0] if 'axis' in p or 'keepdims' in p else a[0].ravel(), p.get('ord'), p.get('axis'), p.get('keepdims', False))), 1e-5)


def matrix(draw, rows, columns):
    return {'dtype': 'float64', 'shape': [rows, columns], 'values': [round(draw.uniform(-5, 5), 2) for _ in range(rows * columns)]}


def sturdy(draw, n):
    """Far from singular."""
    a = matrix(draw, n, n)
    for i in range(n):
        a['values'][i * n + i] += 20
    return a


def symmetric(draw, n):
    a = to_square(sturdy(draw, n))
    a = a + a.T
    return {'dtype': 'float64', 'shape': [n, n], 'values': a.ravel().tolist()}


def to_square(kept):
    return np.array(kept['values']).reshape(kept['shape'])


def up_to_signs(along):
    """Vectors whose sign is free: the largest element of each is made positive."""
    def fixed(x):
        x = np.array(x)
        places = np.argmax(np.abs(np.round(x, 6)), axis=along)
        picked = np.take_along_axis(x, np.expand_dims(places, along), along)
        return x * np.where(picked < 0, -1.0, 1.0)
    return fixed


def factored(function, parts):
    return lambda draw: ([matrix(draw, draw.randint(1, 6), draw.randint(1, 6))], {'part': draw.choice(parts)})


SIGNS = {('svd', 'u'): up_to_signs(0), ('svd', 'vt'): up_to_signs(1), **tensor_complex.SIGNS}
for name, (maker, oracle) in tensor_complex.OPERATORS.items():
    OPERATORS[name] = (maker, oracle, 1e-7 if name in ('angle', 'irfft', 'eig') else None)
add('qr', factored('qr', ['q', 'r']), lambda a, p: np.linalg.qr(a[0])[['q', 'r'].index(p['part'])], 1e-7)
add('svd', factored('svd', ['u', 's', 'vt']), lambda a, p: np.linalg.svd(a[0], full_matrices=False)[['u', 's', 'vt'].index(p['part'])], 1e-7)
add('eigh', lambda draw: ([symmetric(draw, draw.randint(1, 5))], {'part': draw.choice(['w', 'v'])}), lambda a, p: np.linalg.eigh(a[0])[['w', 'v'].index(p['part'])], 1e-7)
add('cholesky', lambda draw: ([symmetric(draw, draw.randint(1, 5))], {}), lambda a, p: np.linalg.cholesky(a[0]), 1e-7)
for name in ('det', 'inv'):
    add(name, lambda draw: ([sturdy(draw, draw.randint(1, 5))], {}), lambda a, p, f=getattr(np.linalg, name): np.asarray(f(a[0])), 1e-7)
add('pinv', lambda draw: ([matrix(draw, draw.randint(1, 5), draw.randint(1, 5))], {}), lambda a, p: np.linalg.pinv(a[0]), 1e-6)
add('matrix_rank', lambda draw: ([matrix(draw, draw.randint(1, 5), draw.randint(1, 5))], {}), lambda a, p: np.asarray(np.linalg.matrix_rank(a[0])), 0)
add('solve', lambda draw: (lambda n: ([sturdy(draw, n), matrix(draw, n, draw.randint(1, 3))], {}))(draw.randint(1, 5)), lambda a, p: np.linalg.solve(*a), 1e-7)


def solve_triangular(a, p):
    return np.linalg.solve((np.tril if p.get('lower') else np.triu)(a[0]), a[1])


add('solve_triangular', lambda draw: (lambda n: ([sturdy(draw, n), matrix(draw, n, 2)], optional(draw, {}, lower=lambda: draw.chance(0.7))))(draw.randint(1, 5)), solve_triangular, 1e-7)
add('lstsq', lambda draw: (lambda n, m: ([matrix(draw, n, m), matrix(draw, n, 2)], optional(draw, {}, rcond=1e-10)))(draw.randint(1, 6), draw.randint(1, 4)),
    lambda a, p: np.linalg.lstsq(a[0], a[1], rcond=p.get('rcond'))[0], 1e-6)


def lu(a, p):
    """Partial pivoting; a = p l u."""
    n, m = a[0].shape
    k = min(n, m)
    work, order = a[0].astype('f8').copy(), list(range(n))
    for j in range(k):
        best = j + int(np.argmax(np.abs(work[j:, j])))
        work[[j, best]] = work[[best, j]]
        order[j], order[best] = order[best], order[j]
        work[j + 1:, j] /= work[j, j]
        work[j + 1:, j + 1:] -= np.outer(work[j + 1:, j], work[j, j + 1:])
    if p['part'] == 'p':
        return np.eye(n)[order].T
    return (np.tril(work, -1) + np.eye(n, m))[:, :k] if p['part'] == 'l' else np.triu(work)[:k]


add('lu', lambda draw: ([sturdy(draw, draw.randint(1, 5))], {'part': draw.choice(['p', 'l', 'u'])}), lu, 1e-7)


# ---- statistics of elements ----

def of_axis(draw, kind=None, empty=False, wild=0):
    a = tame(draw, shape(draw, empty=empty), kind or draw.choice(NUMBERS), wild)
    return a, with_axis(draw, a)


def axis_case(kind=None, wild=0):
    def maker(draw):
        a, p = of_axis(draw, kind, wild=wild)
        return [a], p
    return maker


def make_average(draw):
    a, p = of_axis(draw)
    if draw.chance(0.6):
        size = [a['shape'][p['axis']]] if 'axis' in p and draw.chance(0.5) else a['shape']
        return [a, dict(tensor(draw, size, 'float64', low=0.5, high=3.0))], p
    return [a], p


def central(a, axis):
    x = a.astype(np.result_type(a, np.float32) if a.dtype != np.float32 else 'f4').astype('f8')
    return x - x.mean(axis=axis, keepdims=True)


def float_of(a):
    return np.dtype('f4') if a.dtype == np.float32 else np.dtype('f8')


def moments(power):
    return lambda a, p: np.asarray((central(a[0], p.get('axis')) ** p.get('order', power)).mean(axis=p.get('axis'))).astype(float_of(a[0]))


def skew(a, p):
    d, axis = central(a[0], p.get('axis')), p.get('axis')
    return np.asarray((d ** 3).mean(axis=axis) / (d ** 2).mean(axis=axis) ** 1.5).astype(float_of(a[0]))


def kurtosis(a, p):
    d, axis = central(a[0], p.get('axis')), p.get('axis')
    return np.asarray((d ** 4).mean(axis=axis) / (d ** 2).mean(axis=axis) ** 2 - (3 if p.get('fisher', True) else 0)).astype(float_of(a[0]))


def sem(a, p):
    axis = p.get('axis')
    count = a[0].size if axis is None else a[0].shape[axis]
    return np.asarray(a[0].std(axis=axis, ddof=p.get('ddof', 1)) / math.sqrt(count)).astype(float_of(a[0]))


add('ptp', axis_case(), lambda a, p: np.asarray(np.ptp(a[0], axis=p.get('axis'))))
add('average', make_average, lambda a, p: np.asarray(np.average(a[0], axis=p.get('axis'), weights=a[1] if len(a) > 1 else None)), 1e-6)
add('moment', lambda draw: (lambda a, p: ([a], optional(draw, p, order=lambda: draw.randint(1, 4))))(*of_axis(draw, draw.choice(FLOATS))), moments(1), 1e-4)
add('skew', lambda draw: (lambda a, p: ([a], p))(*of_axis(draw, 'float64')), skew, 1e-4)
add('kurtosis', lambda draw: (lambda a, p: ([a], optional(draw, p, fisher=lambda: draw.chance(0.5))))(*of_axis(draw, 'float64')), kurtosis, 1e-4)
add('sem', lambda draw: (lambda a, p: ([a], optional(draw, p, ddof=lambda: draw.randint(0, 2))))(*of_axis(draw, draw.choice(NUMBERS))), sem, 1e-5)


def nanarg(function, fill):
    def oracle(a, p):
        x = np.where(np.isnan(a[0]), fill, a[0]) if a[0].dtype.kind == 'f' else a[0]
        return np.asarray(function(x, axis=p.get('axis')))
    return oracle


add('nanargmax', axis_case(wild=0.2), nanarg(np.argmax, -np.inf))
add('nanargmin', axis_case(wild=0.2), nanarg(np.argmin, np.inf))


def covariances(draw):
    n, m = draw.randint(2, 4), draw.randint(2, 6)
    return [matrix(draw, n, m) for _ in range(draw.randint(1, 2))], optional(draw, {}, rowvar=lambda: draw.chance(0.5))


add('tensor_cov', lambda draw: (lambda i, p: (i, optional(draw, p, ddof=lambda: draw.randint(0, 1))))(*covariances(draw)),
    lambda a, p: np.cov(a[0], a[1] if len(a) > 1 else None, p.get('rowvar', True), ddof=p.get('ddof', 1)), 1e-7)
add('corrcoef', covariances, lambda a, p: np.corrcoef(a[0], a[1] if len(a) > 1 else None, p.get('rowvar', True)), 1e-7)


# ---- along an axis ----

def along(maker=None, kind=None, wild=0.1):
    def make(draw):
        a = tame(draw, shape(draw), kind and draw.choice(kind), wild if draw.chance(0.5) else 0)
        return [a], (maker(draw, a) if maker else {}) | ({'axis': axis_of(draw, len(a['shape']))} if draw.chance(0.6) else {})
    return make


def descending(draw, a):
    return optional(draw, {}, descending=lambda: draw.chance(0.7))


def sorted_positions(x, axis, down=False):
    """Stable, nan last in both directions."""
    if not down:
        return np.argsort(x, axis=axis, kind='stable')
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape).astype('i8')
    keys = -ranks
    if x.dtype.kind == 'f':
        keys = np.where(np.isnan(x), 1, keys)
    return np.argsort(keys, axis=axis, kind='stable')


def first(x, k, axis):
    return np.take(x, range(min(k, x.shape[axis])), axis)


def taken(x, places, axis):
    return np.take_along_axis(x, places, axis)


add('tensor_sort', along(descending), lambda a, p: taken(a[0], sorted_positions(a[0], p.get('axis', -1), p.get('descending', False)), p.get('axis', -1)))
add('argsort', along(descending), lambda a, p: sorted_positions(a[0], p.get('axis', -1), p.get('descending', False)))
TOP = along(lambda draw, a: {'k': draw.randint(1, 5)})
add('topk', TOP, lambda a, p: first(taken(a[0], sorted_positions(a[0], p.get('axis', -1), True), p.get('axis', -1)), p['k'], p.get('axis', -1)))
add('argtopk', TOP, lambda a, p: first(sorted_positions(a[0], p.get('axis', -1), True), p['k'], p.get('axis', -1)))
add('partition', along(), lambda a, p: np.sort(a[0], axis=p.get('axis', -1), kind='stable'))
add('argpartition', along(), lambda a, p: np.argsort(a[0], axis=p.get('axis', -1), kind='stable'))
for name in ('cumsum', 'cumprod', 'nancumsum', 'nancumprod'):
    add(name, along(), lambda a, p, f=getattr(np, name): f(a[0], axis=p.get('axis', -1)), 1e-6)
for name, function in (('cummax', np.maximum), ('cummin', np.minimum)):
    add(name, along(), lambda a, p, f=function: f.accumulate(a[0], axis=p.get('axis', -1)))
add('diff', along(lambda draw, a: optional(draw, {}, n=lambda: draw.randint(0, 3)), NUMBERS, 0), lambda a, p: np.diff(a[0], p.get('n', 1), p.get('axis', -1)), LOOSE)


def make_gradient(draw):
    a = tame(draw, [draw.randint(2, 5) for _ in range(draw.randint(1, 3))], draw.choice(NUMBERS), 0)
    return [a], optional(draw, with_axis(draw, a), spacing=lambda: draw.choice([2, 0.5]))


add('gradient', make_gradient, lambda a, p: np.gradient(a[0], p.get('spacing', 1), axis=p.get('axis', -1)), 1e-6)


def quantiles(name, whole, skip):
    def maker(draw):
        a, p = of_axis(draw, wild=0.15 if draw.chance(0.4) else 0)
        if 'median' not in name:
            p['q'] = draw.choice([0, 0.25, 0.5, 0.9, 1]) * whole
            if draw.chance(0.4):
                p['q'] = [draw.choice([0, 0.25, 0.5, 0.9, 1]) * whole for _ in range(draw.randint(1, 4))]
            optional(draw, p, method=lambda: draw.choice(['linear', 'lower', 'higher', 'nearest', 'midpoint']))
        a['values'] = [2.5 if isinstance(v, float) and math.isinf(v) else v for v in a['values']]
        return [a], p

    def oracle(a, p):
        x = a[0].astype('f8') if a[0].dtype != np.float32 else a[0]
        q = 0.5 if 'median' in name else np.asarray(p['q']) / whole
        return np.asarray((np.nanquantile if skip else np.quantile)(x, q, axis=p.get('axis'), method=p.get('method', 'linear'))).astype(x.dtype)
    add(name, maker, oracle, 1e-6)


for name, whole, skip in (('median', 1, False), ('nanmedian', 1, True), ('tensor_quantile', 1, False), ('nanquantile', 1, True), ('percentile', 100, False), ('nanpercentile', 100, True)):
    quantiles(name, whole, skip)


# ---- what is there, and files ----

add('array', lambda draw: ([tensor(draw, shape(draw))], {}), lambda a, p: a[0])
