"""Arrays of callers: taken as float32 values, or refused with the call that makes them fit."""

import numpy

from . import _legacy

_ARRAY = "an array or a sequence of real numbers in the host's memory"
_CHANGED = (
    "a contiguous, writable float32 array, as it is changed, such as "
    "numpy.zeros(n, numpy.float32)"
)
# What NumPy and libraries of tensors raise where they cannot convert.
_FAILURES = (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError)


def floats(value, name):
    """Returns the numbers of an array, a tensor or a sequence as a contiguous float32 array. `name`
    is the argument, for messages."""
    reason = ""
    try:
        array = numpy.asarray(value)
        if array.dtype == object and hasattr(value, "__dlpack__"):
            array = numpy.from_dlpack(value)
        if array.dtype.kind in "biuf":
            return numpy.ascontiguousarray(array, dtype=numpy.float32)
        if array.dtype.kind == "c":
            raise _legacy.Error(
                f"{name}: got 'complex numbers'; allowed: real numbers, such as x.real"
            )
    except _legacy.Error:
        raise
    except _FAILURES as error:
        if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
            reason = f" ({error})"
    _refuse(value, name, reason)


def changed(value, name):
    """Returns an array that the call changes, and which is therefore taken as it is."""
    if isinstance(value, numpy.ndarray) and value.dtype == numpy.float32:
        if value.flags.c_contiguous and value.flags.writeable:
            return value
        lacks = "contiguous" if value.flags.writeable else "writable"
        raise _legacy.Error(f"{name}: got 'an array that is not {lacks}'; allowed: {_CHANGED}")
    if isinstance(value, numpy.ndarray):
        raise TypeError(f"{name}: got 'an array of {value.dtype}'; allowed: {_CHANGED}")
    raise TypeError(f"{name}: got '{_words(value)}'; allowed: {_CHANGED}{_view(value)}")


def _refuse(value, name, reason):
    if isinstance(value, (list, tuple)):
        for part in value:  # one of them says more than the list
            if _remedy(part):
                floats(part, name)
    remedy = _remedy(value)
    if remedy:
        raise _legacy.Error(f"{name}: got '{_words(value)}'; allowed: {_ARRAY}: call {remedy}")
    raise TypeError(f"{name}: got '{_words(value)}'; allowed: {_ARRAY}{reason}")


def _remedy(value):
    """Returns the call that makes an array of a tensor; "" for other objects."""
    if hasattr(value, "detach"):  # PyTorch
        dense = "" if "strided" in _attribute(value, "layout", "strided") else ".to_dense()"
        wide = ".float()" if "bfloat16" in _attribute(value, "dtype") else ""
        return f".detach().cpu(){dense}{wide}.numpy()"
    return ".get()" if hasattr(value, "__cuda_array_interface__") else ""  # CuPy


def _view(value):
    """Returns what else is allowed: the array that shares the memory of a tensor."""
    shares = (
        hasattr(value, "detach")
        and not getattr(value, "requires_grad", False)
        and _attribute(value, "device", "cpu") == "cpu"
        and "float32" in _attribute(value, "dtype")
    )
    return "; .numpy() gives the one that shares the tensor's memory" if shares else ""


def _words(value):
    """Returns what a value is."""
    words = type(value).__name__
    if type(value).__module__ != "builtins":
        words = f"{type(value).__module__.partition('.')[0]}.{words}"
    if getattr(value, "requires_grad", False):
        words += " with a gradient"
    if _attribute(value, "device", "cpu") != "cpu":
        words += f" on {value.device}"
    if not isinstance(value, numpy.ndarray) and "bfloat16" in _attribute(value, "dtype"):
        words += f" of {value.dtype}"
    if isinstance(value, numpy.ndarray):
        words = f"an array of {value.dtype}"
    return words


def _attribute(value, name, default=""):
    return str(getattr(value, name, default))
