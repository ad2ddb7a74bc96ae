"""Tensors."""
import numpy as np

import granary.array as xp

COMPLETE = False  # rows are still missing

a = xp.asarray

# topic, method, call, answer: an array's as a list, or NumPy's array; floats are compared nearly
ROWS = [
    ('fancy indexing', 'xp.Array.__getitem__', lambda: a([[1, 2], [3, 4], [5, 6]])[[2, 0, -1], [0, 1, 1]], [5, 2, 6]),
    ('fancy indexing', 'xp.Array.__setitem__', lambda: (lambda x: x.__setitem__([0, 2], a([7, 8])) or x)(a([1, 2, 3])), [7, 2, 8]),
    ('eig, eigvalsh', 'xp.linalg.eigvalsh', lambda: xp.linalg.eigvalsh(a([[2.0, 1], [1, 2]])), [1.0, 3.0]),
    ('interp', 'xp.interp', lambda: xp.interp([0.5, 3.0], [0, 1, 2], [0.0, 10, 20]), [5.0, 20.0]),
    ('convolve, correlate', 'xp.convolve', lambda: xp.convolve([1, 2, 3], [1, 1]), [1, 3, 5, 3]),
    ('convolve, correlate', 'xp.correlate', lambda: xp.correlate([1, 2, 3], [0, 1], 'same'), [1, 2, 3]),
    ('polyfit, polyval', 'xp.polyfit', lambda: xp.polyfit([0, 1, 2], [1.0, 3, 5], 1), [2.0, 1.0]),
    ('polyfit, polyval', 'xp.polyval', lambda: xp.polyval([2, 1], [0, 1, 2]), [1, 3, 5]),
    ('take_along_axis', 'xp.take_along_axis', lambda: xp.take_along_axis([[3, 1, 2]], [[1, 2, 0]], 1), [[1, 2, 3]]),
    ('unique by axis and index', 'xp.unique', lambda: xp.unique([[1, 2], [0, 1], [1, 2]], axis=0), [[0, 1], [1, 2]]),
    ('unique by axis and index', 'xp.unique', lambda: xp.unique([5, 3, 5], return_index=True)[1], [1, 0]),
    ('several quantiles', 'xp.quantile', lambda: xp.quantile([1.0, 2, 3], [0.0, 0.5, 1.0]), [1.0, 2.0, 3.0]),
    ('slogdet, cond', 'xp.linalg.slogdet', lambda: xp.linalg.slogdet(a([[0.0, 1], [1, 0]])).sign, np.array(-1.0)),
    ('slogdet, cond', 'xp.linalg.cond', lambda: xp.linalg.cond(a([[2.0, 0], [0, 1]])), np.array(2.0)),
    ('matrix_power, norms', 'xp.linalg.matrix_power', lambda: xp.linalg.matrix_power(a([[1, 1], [0, 1]]), 3), [[1, 3], [0, 1]]),
    ('matrix_power, norms', 'xp.linalg.norm', lambda: xp.linalg.norm([[3.0, 4], [0, 0]], 'nuc'), np.array(5.0)),
    ('trapz', 'xp.trapz', lambda: xp.trapz([1.0, 2, 3]), np.array(4.0)),
    ('histogram2d', 'xp.histogram2d', lambda: xp.histogram2d([0.0, 1, 1], [0.0, 1, 1], 2)[0], [[1.0, 0.0], [0.0, 2.0]]),
    ('insert, delete, append', 'xp.insert', lambda: xp.insert([1, 2], 1, 9), [1, 9, 2]),
    ('insert, delete, append', 'xp.delete', lambda: xp.delete([1, 2, 3], [0, 2]), [2]),
    ('insert, delete, append', 'xp.append', lambda: xp.append([1, 2], [3]), [1, 2, 3]),
    ('multivariate random numbers', 'xp.random.multivariate_normal', lambda: xp.random.multivariate_normal([1.0, 2], [[0.0, 0], [0, 0]]), [1.0, 2.0]),
    ('multivariate random numbers', 'xp.random.multinomial', lambda: xp.random.multinomial(4, [0, 1.0]), [0, 4]),
    ('multivariate random numbers', 'xp.random.dirichlet', lambda: xp.random.dirichlet([2.0]), [1.0]),
    ('boolean indexing', 'xp.Array.__getitem__', lambda: (lambda x: x[x > 1])(a([1, 2, 3])), [2, 3]),
    ('fft', 'xp.fft.fft', lambda: xp.fft.fft(a([1.0, 0.0, 0.0, 0.0])), np.ones(4, complex)),
    ('fft', 'xp.fft.rfft', lambda: xp.fft.rfft(a([1.0, 2.0, 3.0, 4.0])), np.array([10, -2 + 2j, -2])),
    ('fft', 'xp.fft.irfft', lambda: xp.fft.irfft(a([10, -2 + 2j, -2])), np.array([1.0, 2.0, 3.0, 4.0])),
    ('fft', 'xp.fft.fft2', lambda: xp.fft.fft2(a([[1.0, 2.0], [3.0, 4.0]])), np.array([[10, -2], [-4, 0]], complex)),
    ('fft', 'xp.fft.ifftn', lambda: xp.fft.ifftn(a([[10.0, -2.0], [-4.0, 0.0]])), np.array([[1, 2], [3, 4]], complex)),
    ('fft', 'xp.fft.fftfreq', lambda: xp.fft.fftfreq(4, d=0.5), np.array([0.0, 0.5, -1.0, -0.5])),
    ('fft', 'xp.fft.fftshift', lambda: xp.fft.fftshift(a([0, 1, 2, -2, -1])), [-2, -1, 0, 1, 2]),
    ('eig, eigvalsh', 'xp.linalg.eigvals', lambda: xp.linalg.eigvals(a([[0.0, 1.0], [-1.0, 0.0]])).imag, np.array([1.0, -1.0])),
    ('eig, eigvalsh', 'xp.linalg.eig', lambda: xp.abs(xp.linalg.eig(a([[2.0, 0.0], [0.0, 3.0]])).eigenvectors), np.eye(2)),
    ('complex numbers', 'xp.Array.__mul__', lambda: a([1 + 2j, 3.0]) * 1j, np.array([-2 + 1j, 3j])),
    ('complex numbers', 'xp.conj', lambda: xp.conj(a([1 + 2j])), np.array([1 - 2j])),
    ('complex numbers', 'xp.real', lambda: xp.real(a([1 + 2j])), np.array([1.0])),
    ('complex numbers', 'xp.imag', lambda: xp.imag(a([1 + 2j])), np.array([2.0])),
    ('complex numbers', 'xp.angle', lambda: xp.angle(a([1j, -1 + 0j])), np.array([np.pi / 2, np.pi])),
    ('complex numbers', 'xp.abs', lambda: xp.abs(a([3 + 4j])), np.array([5.0])),
    ('complex numbers', 'xp.matmul', lambda: xp.matmul(a([[1j, 2.0]]), a([[1j], [1.0]])), np.array([[1 + 0j]])),
    ('float16', 'xp.asarray', lambda: xp.asarray(np.array([0.5, 1.5], 'float16')), np.array([0.5, 1.5])),
]
