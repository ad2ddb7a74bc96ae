"""Tensors."""
import numpy as np

import granary.array as xp

COMPLETE = False  # rows are still missing

a = xp.asarray

# topic, method, call, answer: an array's as a list, or NumPy's array; floats are compared nearly
ROWS = [
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
