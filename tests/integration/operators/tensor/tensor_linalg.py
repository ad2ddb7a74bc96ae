"""Factorizations and solutions: their defining properties, and NumPy's results."""
import numpy as np

from granary_test import Instance
from tensor_test import Cases

random = np.random.default_rng(1)


def near(a, b, tolerance=1e-8):
    assert a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance), (a.shape, b.shape)


def check_tall(granary, shape):
    a = random.standard_normal(shape)
    cases = Cases(granary, {'whole': a})
    k = min(shape)
    first = None
    for chunk in (shape, (max(1, shape[0] // 7), max(1, shape[1] // 2))):
        nodes = {**cases.inputs, 'a': {'op': 'rechunk', 'input': 'whole', 'chunk': [max(1, n) for n in chunk]}}
        nodes.update({part: {'op': 'qr', 'input': 'a', 'part': part} for part in ('q', 'r')})
        nodes.update({part: {'op': 'svd', 'input': 'a', 'part': part} for part in ('u', 's', 'vt')})
        q, r, u, s, vt = results = granary.run(nodes, ['q', 'r', 'u', 's', 'vt'])
        near(q @ r, a)
        near(q.T @ q, np.eye(k))
        near(np.tril(r, -1), np.zeros(r.shape))
        near(u * s @ vt, a)
        near(u.T @ u, np.eye(k))
        near(s, np.linalg.svd(a, compute_uv=False) if k > 0 else s)
        raw = [x.tobytes() for x in results]
        assert first is None or raw == first, shape
        first = raw


def main():
    n = 60
    a, b, v = random.standard_normal((n, n)), random.standard_normal((n, 3)), random.standard_normal(n)
    tall, right = random.standard_normal((80, n)), random.standard_normal((80, 2))
    lower, upper, positive = np.tril(a) + 5 * np.eye(n), np.triu(a) + 5 * np.eye(n), a @ a.T + np.eye(n)
    with Instance(executors=2) as granary:
        for shape in ((5, 3), (3, 5), (4, 4), (50, 1), (1, 7), (0, 3), (3, 0), (210000, 10)):
            check_tall(granary, shape)
        cases = Cases(granary, {'a': a, 'b': b, 'v': v, 'tall': tall, 'right': right, 'lower': lower, 'upper': upper, 'positive': positive,
                                'zero': np.zeros((3, 3)), 'wide': np.zeros((3, 4))})
        cases.add({'op': 'cholesky', 'input': 'positive'}, np.linalg.cholesky(positive))
        cases.add({'op': 'det', 'input': 'a'}, np.linalg.det(a))
        cases.add({'op': 'det', 'input': 'zero'}, 0.0)
        cases.add({'op': 'inv', 'input': 'a'}, np.linalg.inv(a))
        cases.add({'op': 'solve', 'inputs': ['a', 'b']}, np.linalg.solve(a, b))
        cases.add({'op': 'solve', 'inputs': ['a', 'v']}, np.linalg.solve(a, v))
        cases.add({'op': 'solve_triangular', 'inputs': ['lower', 'b'], 'lower': True}, np.linalg.solve(lower, b))
        cases.add({'op': 'solve_triangular', 'inputs': ['upper', 'v']}, np.linalg.solve(upper, v))
        cases.add({'op': 'lstsq', 'inputs': ['tall', 'right']}, np.linalg.lstsq(tall, right, rcond=None)[0])
        cases.add({'op': 'eigh', 'input': 'positive', 'part': 'w'}, np.linalg.eigvalsh(positive))
        cases.check(chunk_bytes=(0, 2000), tolerance=1e-7)
        parts = {name: {'op': 'lu', 'input': 'tall', 'part': name} for name in 'plu'}
        parts.update({name: {'op': 'eigh', 'input': 'positive', 'part': name} for name in 'wv'})
        p, l, u, w, vectors = granary.run({**cases.inputs, **{f'x{k}': node for k, node in parts.items()}}, ['xp', 'xl', 'xu', 'xw', 'xv'])
        near(p @ l @ u, tall)
        near(positive @ vectors, vectors * w)
        for node in ({'op': 'inv', 'input': 'zero'}, {'op': 'solve', 'inputs': ['zero', 'zero']}, {'op': 'cholesky', 'input': 'zero'},
                     {'op': 'inv', 'input': 'wide'}, {'op': 'qr', 'input': 'v', 'part': 'q'}, {'op': 'svd', 'input': 'a', 'part': 'x'},
                     {'op': 'solve', 'inputs': ['a', 'tall']}):
            cases.refuse(node)


main()
