"""Codecs on NumPy arrays, which turn values into the bytes of messages and back.

    codec = legacy.codec.make("topk:index=u32+rbf:bits=8@1%")
    message = codec.encode(gradient)                    # bytes
    codec.decode(message, gradient.size)                # a float32 array
    legacy.codec.round_trip(codec, gradient).relative_error

A text names a composition: a sparsifier, "+" and a quantiser; ":" begins a part's options, and "@"
the parameter. Calls take a parameter as a number or as such a text, "1%"; a bare 1 is refused for a
density, as on command lines, and "100%" or 1.0 sends all. Arrays of any shape and type are read as
float32 values one after the other. `seed`, `step`, `worker` and `unit` key the random draws, as
they do in a training; a decoder needs the same keys except `worker`.
"""

import dataclasses

import numpy

from . import _legacy
from ._arrays import floats
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
    """Returns the codec of that text. parameter: the one for calls that name none; default: the
    text's, or the codec's."""
    return MadeCodec(text, parameter)


def methods():
    """Returns all codecs that can begin a text, as dicts: name, help, paper, options and parameter
    with their ranges."""
    return _legacy.codec_methods()


def names():
    """Returns the names of methods()."""
    return [method["name"] for method in methods()]


def sparsifiers():
    """Returns the names of sparsifiers, which select the values to send; a quantiser may follow."""
    return _legacy.sparsifier_names()


def quantisers():
    """Returns the names of quantisers, which turn values into bits."""
    return _legacy.quantiser_names()


def gradients():
    """Returns the gradients that gradient() knows, as dicts: name, help and options. Real ones come
    first, then drawn ones."""
    return _legacy.gradient_methods()


def gradient(text, worker=0, step=0):
    """Returns a gradient to try codecs on: a real one, "small-cnn", or a drawn one,
    "student-t:n=1e6,seed=1"."""
    return _legacy.gradient(text, worker, step)


def layers(name):
    """Returns {name: shape} of the layers of a real gradient, in their order."""
    return _legacy.gradient_layers(name)


def check(text):
    """Checks the properties that every codec must have. Returns dicts of name, holds and detail, as
    `legacy-codec check` prints them."""
    return _legacy.check_codec(text)


@dataclasses.dataclass(repr=False)
class RoundTrip:
    """Result of encoding and decoding an array."""

    codec: str  # text of the codec
    parameter: float
    message: bytes
    decoded: numpy.ndarray  # in the shape of the encoded array
    ratio: float  # bytes of float32 values divided by bytes of the message
    elements_sent: int
    relative_error: float  # norm of the difference divided by the norm of the values
    squared_error: float  # squared difference, summed over the elements
    largest_error: float  # largest difference of an element
    cosine: float  # cosine of the angle between the values before and after

    @property
    def bytes(self):
        return len(self.message)

    def __repr__(self):
        return (
            f"RoundTrip({self.codec}: {self.decoded.size:,} values in {self.bytes:,} bytes, "
            f"ratio {self.ratio:.4g}, relative error {self.relative_error:.4g})"
        )


def round_trip(codec, values, parameter=None, *, seed=1, step=0, worker=0, unit=0):
    """Encodes and decodes `values` with a codec or its text, and measures the loss."""
    if isinstance(codec, str):
        codec = make(codec)
    values = floats(values, "values")
    used = codec.parameter if parameter is None else make(codec.text, parameter).parameter
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
    """Returns the number of values in a message, from its header or else from the codec."""
    try:
        return header(message)["count"]
    except _legacy.Error:
        return codec.elements_sent(numel, parameter)
