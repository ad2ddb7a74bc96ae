"""Complex tensors: which operators are drawn with them, and operators that are about them: parts, transforms, eig."""
import math

import numpy as np

from draw import COMPLEX, FLOATS, complexed, shape, tensor

MOVES = set('getitem setitem transpose swapaxes moveaxis expand_dims squeeze flip broadcast_to diagonal concatenate stack tile roll repeat take '
            'split rechunk reshape ravel triu tril take_at select_where where zeros_like ones_like empty_like full_like meshgrid pad flatnonzero argwhere '
            'take_along_axis put_along_axis append insert delete vstack hstack dstack column_stack fliplr flipud rot90 diag zeros ones empty full eye tri'.split())
"""They only move elements: these are to be the same to the last bit."""

FUNCTIONS = set('negative positive absolute sign square reciprocal sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh '
                'cosh tanh arcsinh arccosh arctanh rint isnan isfinite isinf logical_not add subtract multiply divide power equal not_equal '
                'logical_and logical_or logical_xor astype isclose allclose array_equal matmul outer inner dot vdot tensordot einsum kron cross '
                'trace norm average all any count_nonzero prod var std sum mean cumsum diff round nan_to_num cholesky det inv solve eigh eigvalsh matrix_power'.split())

MADE = set('zeros ones empty full eye tri'.split())
TAKES = (MOVES | FUNCTIONS) - MADE
SMALL = [0.5, -1.5, 2.0, 1.0, -1.0, 0.0]
OWN_DTYPE = ('astype', 'zeros_like', 'ones_like', 'empty_like', 'full_like')


def hermitian(draw, kept):
    """With an imaginary part that is turned round; its diagonal stays real."""
    n = kept['shape'][0]
    a = np.array(kept['values'], 'c16').reshape(n, n)
    more = np.triu(np.array([[draw.uniform(-2, 2) for _ in range(n)] for _ in range(n)]), 1)
    a += 1j * (more - more.T)
    return {'dtype': 'complex128', 'shape': [n, n], 'values': [[v.real, v.imag] for v in a.ravel().tolist()]}


def turned(name, maker):
    """The maker, some of whose cases have complex tensors."""
    def made(draw):
        inputs, parameters = maker(draw)
        if name not in TAKES or not inputs or draw.chance(0.75):
            return inputs, parameters
        if name == 'norm' and parameters.get('kind') in ('nuc', '2', '-2'):  # singular values are those of real matrices
            return inputs, parameters
        if name in ('eigh', 'cholesky', 'eigvalsh'):
            return [hermitian(draw, inputs[0])], parameters
        which = {'where': range(1, len(inputs)), 'take_at': (0,), 'select_where': (0,), 'getitem': (0,), 'setitem': (0, 1),
                 'take_along_axis': (0,), 'delete': (0,), 'put_along_axis': (0, 2)}.get(name, range(len(inputs)))
        inputs = list(inputs)
        for i in which:
            if i == 0 or draw.chance(0.7):
                inputs[i] = complexed(draw, inputs[i], SMALL if name == 'prod' else None)
                if 'close' in name:  # NumPy's is the product of infinities and 1 + 0j: nan
                    inputs[i]['values'] = [[v if math.isfinite(v) else 1.5 for v in pair] for pair in inputs[i]['values']]
        if name == 'where' and not any(kept['dtype'] in COMPLEX for kept in inputs):
            inputs[-1] = complexed(draw, inputs[-1])
        if name in OWN_DTYPE and 'dtype' in parameters:
            parameters = dict(parameters, dtype=draw.choice(COMPLEX + (('bool',) if name == 'astype' else ())))
        if 'value' in parameters and draw.chance(0.5) and name != 'pad':
            parameters = dict(parameters, value=draw.choice(['1+2j', '-0.5-1j', '2.5j', '0+1j']))
        return inputs, parameters
    return made


def number(value):
    """A parameter as Python's number."""
    return complex(value) if isinstance(value, str) and value.endswith('j') else value


def sign(x):
    """As NumPy 2 has it: of length 1."""
    with np.errstate(all='ignore'):
        size = np.abs(x)
        by = np.where(size == 0, 1, size).astype(size.dtype)
        tiny = size < np.finfo(size.dtype).tiny  # NumPy's division of complex numbers overflows
        return np.where(tiny, x.real / by + 1j * (x.imag / by), x / by).astype(x.dtype)


def is_complex(spec):
    return any(kept['dtype'] in COMPLEX for kept in spec['inputs']) or spec['parameters'].get('dtype') in COMPLEX


def same(ours, theirs, exactly):
    """Element by element. Where NumPy's is not finite, ours is not either: which parts are depends on formulas."""
    if exactly:
        parts = [(ours.real, theirs.real), (ours.imag, theirs.imag)]
        return np.all([(a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b) for a, b in parts], axis=0)
    tolerance = 5e-5 if theirs.dtype == np.complex64 else 1e-7
    with np.errstate(all='ignore'):
        return np.where(np.isfinite(theirs), np.abs(ours - theirs) <= tolerance * (1 + np.abs(theirs)), ~np.isfinite(ours))


# ---- operators that are about complex numbers ----

def any_numbers(draw):
    a = tensor(draw, shape(draw), wild=draw.choice([0, 0.1]))
    return [complexed(draw, a) if draw.chance(0.6) else a], {}


def part(function):
    return lambda a, p: np.asarray(function(a[0]))


def angle(x):
    return np.angle(x) if x.dtype.kind == 'c' else np.arctan2(np.array(0, x.dtype), x)


def two_parts(draw):
    a = tensor(draw, shape(draw))
    if draw.likely(0.3, 'value', 'left') and a['dtype'] in FLOATS:
        return [a], {'value': draw.choice([0, 1, 2.5, -1]), **({'left': True} if draw.chance(0.6) else {})}
    return [a, tensor(draw, a['shape'] if draw.chance(0.7) else [1])], {}


def make_complex(a, p):
    if 'value' in p:
        a = [a[0], np.array([p['value']], a[0].dtype)][::-1 if p.get('left') else 1]
    kind = np.result_type(*[np.result_type(x.dtype, 'f2') for x in a], 'f4')
    made = np.empty(np.broadcast_shapes(a[0].shape, a[1].shape), 'c8' if kind == np.float32 else 'c16')
    made.real, made.imag = a
    return made


def lines(real):
    def maker(draw):
        a = tensor(draw, shape(draw, empty=False), draw.choice(FLOATS + ('int32', 'bool')), 0)
        if not real and draw.chance(0.7):
            a = complexed(draw, a)
        p = {}
        for name, choice in (('axis', lambda: draw.randrange(-len(a['shape']), len(a['shape']))), ('n', lambda: draw.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 67, 71])),
                             ('norm', lambda: draw.choice(['backward', 'ortho', 'forward']))):
            if draw.likely(0.5, name):
                p[name] = choice()
        return [a], p
    return maker


def transform(name):
    def oracle(a, p):
        made = getattr(np.fft, name)(a[0], p.get('n'), p.get('axis', -1), p.get('norm'))
        single = a[0].dtype in (np.float32, np.complex64)
        return made.astype(made.dtype.kind + ('4' if made.dtype.kind == 'f' else '8')) if single else made
    return oracle


def make_eig(draw):
    n = draw.randint(1, 5)
    a = {'dtype': draw.choice(FLOATS), 'shape': [n, n], 'values': [draw.choice([-2, -1, 0.5, 1, 2, 3]) + (11.0 * (k // n) if k % (n + 1) == 0 else 0.0) for k in range(n * n)]}
    return [complexed(draw, a, [0.5, 0.25, -0.5, 0.0]) if draw.chance(0.5) else a], {'part': draw.choice(['w', 'v'])}


def eig(a, p):
    values, vectors = np.linalg.eig(a[0].astype('c16' if a[0].dtype.kind == 'c' else 'f8'))
    return (values if p['part'] == 'w' else vectors).astype('c16')


def in_order(x):
    """Eigenvalues come in no order."""
    return x[np.lexsort((np.round(x.imag, 5), np.round(x.real, 5)))]


def in_phase(x):
    """Vectors of any order and any phase: the largest element of each is made positive."""
    if not x.size:
        return x
    places = np.argmax(np.abs(np.round(x, 5)), axis=0)
    picked = np.take_along_axis(x, places[None, :], 0)
    x = x * (np.conj(picked) / np.abs(picked))
    return x[:, np.lexsort(np.round(np.concatenate([x.real, x.imag]), 4))]


SIGNS = {('eig', 'w'): in_order, ('eig', 'v'): in_phase, ('eigh', 'v'): in_phase}
OPERATORS = {
    'conj': (any_numbers, part(np.conj)), 'real': (any_numbers, part(np.real)), 'imag': (any_numbers, part(np.imag)), 'angle': (any_numbers, part(angle)),
    'make_complex': (two_parts, make_complex), 'eig': (make_eig, eig), 'rfft': (lines(True), transform('rfft')),
    **{name: (lines(False), transform(name)) for name in ('fft', 'ifft', 'irfft')},
}
