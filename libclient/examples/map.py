"""A table, or another frame that a graph left, as NumPy arrays, chunk by chunk and without a copy: python3 map.py KEY [TARGET]

Frames are Arrow's layout, so libgranary and ctypes are enough. An array is valid as long as its view is leased.
"""
import ctypes
import os
import sys

import numpy as np

granary = ctypes.CDLL(os.environ.get("GRANARY_LIBRARY", "libgranary.so"))
granary.granary_error_message.restype = ctypes.c_char_p
granary.granary_frame_columns.restype = ctypes.c_size_t
granary.granary_dtype_name.restype = ctypes.c_char_p

ENOENT = -4  # granary/types.h
NUMPY = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
         "float32": "f4", "float64": "f8", "date": "i4", "timestamp": "M8[us]", "duration": "m8[us]", "time": "m8[us]",
         "timestamptz": "M8[us]"}


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 16)]


class View(ctypes.Structure):  # granary_view of granary/store.h
    _fields_ = [("id", Id), ("data", ctypes.c_void_p), ("data_size", ctypes.c_uint64), ("meta", ctypes.c_void_p),
                ("meta_size", ctypes.c_uint64), ("serial", ctypes.c_uint64), ("lease", ctypes.c_uint64)]


class Column(ctypes.Structure):  # granary_column of granary/frame.h
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_uint), ("rows", ctypes.c_int64), ("null_count", ctypes.c_int64),
                ("validity", ctypes.c_void_p), ("values", ctypes.c_void_p), ("offsets", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p)]


granary.granary_frame_column.restype = ctypes.POINTER(Column)


def check(err):
    if err != 0:
        sys.exit("map.py: " + granary.granary_error_message().decode())


def array(column):
    """The values where they lie in the store; what stands under nulls is anything."""
    kind = np.dtype(NUMPY[granary.granary_dtype_name(column.dtype).decode()])
    mapped = (ctypes.c_char * (kind.itemsize * column.rows)).from_address(column.values)
    values = np.frombuffer(mapped, kind)
    values.flags.writeable = False
    return values


def mean(values):
    """Of moments, too, of which NumPy has none."""
    return values.view("i8").mean().astype(values.dtype) if values.dtype.kind == "M" else values.mean()


def print_means(view):
    """Of the columns of one chunk."""
    frame = ctypes.c_void_p()

    check(granary.granary_frame_open(ctypes.byref(view), ctypes.byref(frame)))
    for i in range(granary.granary_frame_columns(frame)):
        column = granary.granary_frame_column(frame, ctypes.c_size_t(i)).contents
        dtype = granary.granary_dtype_name(column.dtype).decode()
        if dtype in NUMPY and column.null_count == 0 and column.rows > 0:
            print(column.name.decode(), dtype, mean(array(column)))
    granary.granary_frame_close(frame)


def main():
    key, target = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "table"
    client, chunk, view, cursor = ctypes.c_void_p(), Id(), View(), ctypes.c_uint64(0)

    check(granary.granary_connect(None, ctypes.byref(client)))
    while True:
        err = granary.granary_graph_next(client, key.encode(), target.encode(), ctypes.byref(cursor), -1, ctypes.byref(chunk))
        if err == ENOENT and cursor.value > 0:
            break
        check(err)
        check(granary.granary_object_get(client, chunk, -1, ctypes.byref(view)))
        print_means(view)
        granary.granary_object_release(client, ctypes.byref(view))
    granary.granary_disconnect(client)


main()
