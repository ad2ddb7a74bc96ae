"""What the tests of tensor operators share: nodes with what NumPy gives for them, run with several chunk sizes.

    with Instance() as granary:
        cases = Cases(granary, {'a': np.arange(6.0)})
        cases.add({'op': 'negative', 'input': 'a'}, -cases.arrays['a'])
        cases.check()
"""
import numpy as np

from granary_test import GranaryError


class Cases:
    def __init__(self, granary, arrays):
        self.granary = granary
        self.arrays = arrays
        self.inputs = {name: self.source(array) for name, array in arrays.items()}
        self.nodes = {}
        self.wants = {}

    def source(self, array):
        return {'op': 'array', 'ids': [self.granary.put_tensor(array)], 'shape': list(array.shape), 'dtype': str(array.dtype)}

    def add(self, node, want):
        name = f'case{len(self.wants)}'
        self.nodes[name] = node
        self.wants[name] = np.asarray(want)

    def check(self, chunk_bytes=(0, 100, 1000), tolerance=1e-12, same=True):
        """Close to NumPy's, and the same bytes whatever the chunks (not `same`: of products of matrices)."""
        names = list(self.wants)
        for start in range(0, len(names), 400):
            part = names[start:start + 400]
            graph = {**self.inputs, **{name: self.nodes[name] for name in part}}
            first = None
            for size in chunk_bytes:
                results = self.granary.run(graph, part, chunk_bytes=size)
                for name, result in zip(part, results):
                    self._compare(name, result, tolerance)
                raw = [result.tobytes() for result in results]
                assert first is None or not same or raw == first, [self.nodes[n] for n, x, y in zip(part, raw, first) if x != y][:3]
                first = raw

    def _compare(self, name, result, tolerance):
        want, node = self.wants[name], self.nodes[name]
        if want.dtype == np.float16:  # there is none: float32
            want, tolerance = want.astype(np.float32), 2e-3
        elif want.dtype == np.float32:
            tolerance = max(tolerance, 2e-5)
        assert result.dtype == want.dtype and result.shape == want.shape, (node, result.dtype, want.dtype, result.shape, want.shape)
        with np.errstate(all='ignore'):
            good = np.isclose(result, want, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert good.all(), (node, result[~good][:5], want[~good][:5])

    def refuse(self, node):
        """The node must be refused, or fail, with its name."""
        try:
            self.granary.run({**self.inputs, 'refused': node}, 'refused')
        except GranaryError as error:
            assert "'refused'" in str(error), error
            return
        raise AssertionError(f'{node} did not fail')
