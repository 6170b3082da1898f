"""Faults put into this process: the k-th call fails, no file grows beyond k bytes, the k-th array is not allocated."""

import ctypes
import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode


class Countdown:
    """Says at the k-th call, and only then, that it is time to fail."""

    def __init__(self, k: int) -> None:
        self.left, self.failed = k, False

    def __call__(self) -> bool:
        self.left -= 1
        self.failed |= self.left == 0
        return self.left == 0


@contextmanager
def kth_call(k: int) -> Iterator[Countdown]:
    """The k-th fsync or rename fails, as on a full disk."""
    due = Countdown(k)

    def wrapped(function):
        def call(*arguments, **options):
            if due():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*arguments, **options)

        return call

    with (
        patch.object(os, "fsync", wrapped(os.fsync)),
        patch.object(os, "replace", wrapped(os.replace)),
        patch.object(os, "rename", wrapped(os.rename)),
    ):
        yield due


@contextmanager
def no_longer_than(size: int) -> Iterator[Countdown]:
    """The write fails by which any file would have more than `size` bytes, whoever writes: HDF5 and PyTorch, too."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield Countdown(0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@contextmanager
def kth_array(k: int) -> Iterator[Countdown]:
    """The k-th allocation of NumPy's fails, wherever in C it is made (NEP 49)."""
    due = Countdown(k)
    table = ctypes.cast(_pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[304])
    default = ctypes.cast(table[306], ctypes.POINTER(ctypes.py_object)).contents.value
    usual = _Handler.from_address(_pointer(default, NAME))
    handler = _Handler.from_buffer_copy(usual)  # what is freed is freed as always
    handler.malloc = _MALLOC(lambda at, size: None if due() else usual.malloc(at, size))
    handler.calloc = _CALLOC(lambda at, count, size: None if due() else usual.calloc(at, count, size))
    KEPT.append(handler)  # arrays that outlive the block refer to it
    set_handler(_capsule(ctypes.addressof(handler), NAME, None))
    try:
        yield due
    finally:
        set_handler(default)


@contextmanager
def kth_tensor(k: int) -> Iterator[Countdown]:
    """The k-th operation of PyTorch's finds no memory for its result."""
    due = Countdown(k)

    class Short(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if due():
                raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory")
            return func(*args, **(kwargs or {}))

    with Short():
        yield due


NAME = b"mem_handler"
KEPT: list[object] = []
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_MALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", _MALLOC),
        ("calloc", _CALLOC),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )
