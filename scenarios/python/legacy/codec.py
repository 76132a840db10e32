"""Codecs on NumPy arrays: numbers to the bytes that travel, and back.

    codec = legacy.codec.make("topk:index=u32+rbf:bits=8@1%")
    message = codec.encode(gradient)                    # bytes
    codec.decode(message, gradient.size)                # a float32 array
    legacy.codec.round_trip(codec, gradient).relative_error

A text names a composition: what is sent, "+", and as which bits; ":" begins a part's options, "@"
the parameter. Arrays of any shape and type are taken as float32 values one after the other. `seed`,
`step`, `worker` and `unit` key the random draws, as they do in a training; a decoder needs the same
but the worker's.
"""

import dataclasses

import numpy

from . import _legacy
from ._legacy import MadeCodec, State, header

__all__ = [
    "MadeCodec",
    "RoundTrip",
    "State",
    "check",
    "gradient",
    "gradients",
    "header",
    "layers",
    "make",
    "methods",
    "names",
    "quantisers",
    "round_trip",
    "sparsifiers",
]


def make(text, parameter=None):
    """The codec of that text. parameter: what is used where a call names none; default: the text's,
    or the codec's."""
    return MadeCodec(text, parameter)


def methods():
    """All codecs that can stand first, as dicts: name, help, paper, options and parameter with
    their ranges."""
    return _legacy.codec_methods()


def names():
    """The names of methods()."""
    return [method["name"] for method in methods()]


def sparsifiers():
    """Names of those that choose what is sent; a quantiser may follow them."""
    return _legacy.sparsifier_names()


def quantisers():
    """Names of those that say as which bits values are sent."""
    return _legacy.quantiser_names()


def gradients():
    """What gradient() knows, as dicts: name, help and options. Real ones first, then those that are
    drawn."""
    return _legacy.gradient_methods()


def gradient(text, worker=0, step=0):
    """A gradient to try codecs on: a real one, "small-cnn", or a drawn one,
    "student-t:n=1e6,seed=1"."""
    return _legacy.gradient(text, worker, step)


def layers(name):
    """{name: shape} of the layers of a real gradient, in their order."""
    return _legacy.gradient_layers(name)


def check(text):
    """What every codec has to fulfil, and whether this one does: dicts of name, holds and detail,
    as `legacy-codec check` prints them."""
    return _legacy.check_codec(text)


@dataclasses.dataclass
class RoundTrip:
    """An array, encoded and decoded again."""

    codec: str  # its text
    parameter: float
    message: bytes
    decoded: numpy.ndarray  # in the shape of what was encoded
    ratio: float  # bytes of float32 values over those of the message
    elements_sent: int
    relative_error: float  # norm of the difference over the norm of the values
    squared_error: float  # sum over the elements
    largest_error: float  # of an element
    cosine: float  # of the angle between values and what was decoded

    @property
    def bytes(self):
        return len(self.message)


def round_trip(codec, values, parameter=None, *, seed=1, step=0, worker=0, unit=0):
    """Encodes and decodes `values` by a codec or its text, and measures what is lost."""
    if isinstance(codec, str):
        codec = make(codec)
    values = numpy.ascontiguousarray(values, dtype=numpy.float32)
    used = codec.parameter if parameter is None else parameter
    message = codec.encode(values, used, seed=seed, step=step, worker=worker, unit=unit)
    decoded = codec.decode(message, values.size, used, seed=seed, step=step, unit=unit)
    return RoundTrip(
        codec=codec.text,
        parameter=used,
        message=message,
        decoded=decoded.reshape(values.shape),
        ratio=4 * values.size / len(message),
        elements_sent=_sent(codec, message, values.size, used),
        **_legacy.measure_loss(values, decoded)
    )


def _sent(codec, message, numel, parameter):
    """Values in a message: what its header counts, or what the codec says."""
    try:
        return header(message)["count"]
    except _legacy.Error:
        return codec.elements_sent(numel, parameter)
