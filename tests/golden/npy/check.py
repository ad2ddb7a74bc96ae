"""What golden_write wrote, seen by NumPy: dtype, shape, values, alignment."""
import os
import sys

import numpy

SHAPE = (2, 3, 1, 2)
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
for dtype in DTYPES:
    for dims in range(5):
        path = os.path.join(sys.argv[1], f"{dtype}_{dims}.npy")
        tensor = numpy.load(path)
        shape = SHAPE[:dims]
        want = numpy.arange(int(numpy.prod(shape, dtype=int)))
        want = (want % 2 if dtype == "bool" else want).astype(dtype).reshape(shape)
        assert tensor.dtype == numpy.dtype(dtype), (path, tensor.dtype)
        assert tensor.shape == shape, (path, tensor.shape)
        assert (tensor == want).all(), path
        assert numpy.load(path, mmap_mode="r").offset % 64 == 0 if dims else True, path
print(f"{5 * len(DTYPES)} files read by numpy")
