"""DLPack's C structs by ctypes: a producer that counts what is deleted, and a consumer. No library of tensors is needed."""
import ctypes

import numpy as np

VOID = ctypes.c_void_p
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
CODES = {'i': INT, 'u': UINT, 'f': FLOAT, 'c': COMPLEX, 'b': BOOL}
KINDS = {code: kind for kind, code in CODES.items()}


class Tensor(ctypes.Structure):
    _fields_ = [('data', VOID), ('device_type', ctypes.c_int32), ('device_id', ctypes.c_int32), ('ndim', ctypes.c_int32), ('code', ctypes.c_uint8),
                ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16), ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('strides', ctypes.POINTER(ctypes.c_int64)), ('byte_offset', ctypes.c_uint64)]


class Legacy(ctypes.Structure):
    _fields_ = [('tensor', Tensor), ('context', VOID), ('deleter', VOID)]


class Versioned(ctypes.Structure):
    _fields_ = [('major', ctypes.c_uint32), ('minor', ctypes.c_uint32), ('context', VOID), ('deleter', VOID), ('flags', ctypes.c_uint64),
                ('tensor', Tensor)]


NAMES = {Legacy: b'dltensor', Versioned: b'dltensor_versioned'}
DELETER = ctypes.CFUNCTYPE(None, VOID)
DESTRUCTOR = ctypes.CFUNCTYPE(None, VOID)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [VOID, ctypes.c_char_p, VOID]
_get = ctypes.pythonapi.PyCapsule_GetPointer
_get.restype, _get.argtypes = VOID, [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_name_of_address = ctypes.PYFUNCTYPE(ctypes.c_char_p, VOID)(('PyCapsule_GetName', ctypes.pythonapi))


def name_of(capsule):
    return _name(capsule).decode()


_LIVE = []  # a deleter may be called when the test has forgotten its producer


class Producer:
    """An object with DLPack's methods over a NumPy array; keywords overwrite fields of the tensor. `deleted` counts."""

    def __init__(self, array, kind=Legacy, major=1, flags=0, strides=True, **fields):
        self.array, self.kind, self.deleted, self.kept, self.asked = array, kind, 0, [], []
        _LIVE.append(self)
        self.struct = kind()
        tensor = self.struct.tensor
        tensor.data, tensor.device_type, tensor.ndim = array.ctypes.data, 1, array.ndim
        tensor.code, tensor.bits, tensor.lanes = CODES[array.dtype.kind], 8 * array.itemsize, 1
        tensor.shape = self.sides(array.shape)
        if strides:
            tensor.strides = self.sides([step // array.itemsize for step in array.strides])
        for name, value in fields.items():
            setattr(tensor, name, value)
        if kind is Versioned:
            self.struct.major, self.struct.flags = major, flags
        self.struct.deleter = ctypes.cast(self.keep(DELETER(self.delete)), VOID)

    def keep(self, one):
        self.kept.append(one)
        return one

    def sides(self, values):
        return self.keep((ctypes.c_int64 * max(len(values), 1))(*values))

    def delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.struct.tensor.device_type, self.struct.tensor.device_id

    def capsule(self, name=None):
        """Its destructor deletes what nobody has taken, as the specification has it."""
        def destroy(address):
            if _name_of_address(address) == NAMES[self.kind]:
                self.deleted += 1

        return _new(ctypes.addressof(self.struct), self.keep(NAMES[self.kind] if name is None else name),
                    ctypes.cast(self.keep(DESTRUCTOR(destroy)), VOID))

    def __dlpack__(self, **options):
        """As in libraries of before 1.0 when the struct is theirs."""
        self.asked.append(options)
        if options and self.kind is Legacy:
            raise TypeError('unexpected keyword argument')
        return self.capsule()


class Consumed:
    """What a capsule holds, taken out of it: elements where they lie, until delete()."""

    def __init__(self, capsule):
        self.kind = next(kind for kind, name in NAMES.items() if name.decode() == name_of(capsule))
        self.struct = self.kind.from_address(_get(capsule, NAMES[self.kind]))
        self.used = b'used_' + NAMES[self.kind]
        assert _rename(capsule, self.used) == 0
        self.flags = self.struct.flags if self.kind is Versioned else 0
        tensor = self.struct.tensor
        shape = [tensor.shape[i] for i in range(tensor.ndim)]
        strides = [tensor.strides[i] * tensor.bits // 8 for i in range(tensor.ndim)]
        self.address = tensor.data + tensor.byte_offset
        dtype = np.dtype(f'{KINDS[tensor.code]}{tensor.bits // 8}')
        low = sum(min(0, step * (side - 1)) for step, side in zip(strides, shape))
        high = sum(max(0, step * (side - 1)) for step, side in zip(strides, shape)) + dtype.itemsize
        raw = (ctypes.c_char * (high - low)).from_address(self.address + low)
        self.array = np.ndarray(shape, dtype, raw, -low, strides)

    def delete(self):
        del self.array
        DELETER(self.struct.deleter)(ctypes.addressof(self.struct))
