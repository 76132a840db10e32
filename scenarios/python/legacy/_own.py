"""Codecs and policies of your own, as classes of Python.

    @legacy.register
    class Strongest(legacy.Codec):
        '''Sends the largest magnitudes as they are.'''
        parameter = legacy.Parameter("density", 0, 1, default=0.01)

        def sent(self, numel, parameter):
            return max(1, int(parameter * numel))

        def length(self, numel, parameter):
            return 8 * self.sent(numel, parameter)

        def encode(self, values, context):
            order = numpy.argsort(-abs(values), kind="stable")
            kept = numpy.sort(order[:self.sent(values.size, context.parameter)])
            return kept.astype("<u4").tobytes() + values[kept].tobytes()

        def decode_add(self, payload, sum, context):
            half = len(payload) // 2
            sum[numpy.frombuffer(payload[:half], "<u4")] += numpy.frombuffer(payload[half:], "<f4")

    legacy.run(policies=["dense", "strongest@5%"])
"""

import dataclasses
import inspect
import re
import traceback

import numpy

from . import _legacy
from ._text import text

_CLASSES = {}  # by name; a class that is registered again takes the other's place


@dataclasses.dataclass(frozen=True)
class Parameter:
    """The number of a codec that policies choose."""

    name: str  # "density" is what LEGACY's policies and --density choose
    minimum: float
    maximum: float
    default: float
    integer: bool = False
    help: str = ""
    volume_falls: bool = False  # more of it sends less


@dataclasses.dataclass(frozen=True)
class Context:
    """What a codec knows of a message besides its bytes."""

    unit: int  # number of the layer, bucket or model
    parameter: float
    seed: int
    step: int
    worker: int  # who sends; 0 when decoding
    # 8 numbers that a sender keeps from step to step for a unit; None when decoding.
    numbers: numpy.ndarray | None

    def random(self):
        """A generator of the sender's own draws, the same in every run."""
        return numpy.random.default_rng([self.seed, self.step, self.unit, self.worker])

    def shared_random(self):
        """A generator of draws that senders and receivers share."""
        return numpy.random.default_rng([self.seed, self.step, self.unit])


class Codec:
    """A codec of your own: a subclass with encode, decode_add and what else differs from this one.

    The docstring's first line is its help; __init__'s arguments, which need defaults, are its
    options. An object is made for each method of a run, and must keep nothing between calls but in
    Context.numbers: it serves all workers and units.
    """

    name = ""  # in texts, of a to z, digits and "-"; "": the class's name
    parameter = None  # a Parameter; None: there is none
    error_feedback = True  # False where what is lost may be as large as the values
    # Rows of the table in docs/clock.md: what encoding and decoding cost the simulated device, for
    # all elements.
    encode_kernel = "copy"
    decode_kernel = "copy"

    def encode(self, values, context):
        """The bytes of a message, without its header. values: a float32 array of finite numbers."""
        raise NotImplementedError(f"{type(self).__name__}.encode")

    def decode_add(self, payload, sum, context):
        """Adds what the bytes of a message stand for to the float32 array `sum`."""
        raise NotImplementedError(f"{type(self).__name__}.decode_add")

    def length(self, numel, parameter):
        """How many bytes encode returns for `numel` values; None: that depends on the values."""
        return None

    def sent(self, numel, parameter):
        """How many of `numel` values a message has."""
        return numel


@dataclasses.dataclass(frozen=True)
class Layer:
    """What has a parameter: a layer, a bucket or the model."""

    name: str
    shape: tuple
    numel: int


@dataclasses.dataclass(frozen=True)
class Training:
    """What a policy is made for."""

    layers: list  # of Layer
    workers: int
    steps: int
    steps_per_epoch: int
    parameter: float  # the uniform parameter, or the average density: what a policy begins with
    minimum: float  # of parameters
    maximum: float
    seed: int


@dataclasses.dataclass(frozen=True)
class Link:
    """What workers take the network for."""

    latency_seconds: float
    seconds_per_byte: float


@dataclasses.dataclass(frozen=True)
class Step:
    """When a policy decides."""

    step: int  # from 0
    total_steps: int
    learning_rate: float
    steps_per_epoch: int
    link: Link | None  # of policies with reads_clock


@dataclasses.dataclass(frozen=True)
class Times:
    """Simulated seconds of a step."""

    simulated_seconds: float
    compute_seconds: float
    codec_seconds: float
    communication_seconds: float  # not hidden behind computing


@dataclasses.dataclass(frozen=True)
class Feedback:
    """What a finished step tells a policy."""

    step: int
    loss: float  # of worker 0
    mean_gradient: numpy.ndarray | None  # flat, of policies with reads_mean_gradient
    message_bytes: float  # of one worker
    layer_bytes: numpy.ndarray
    times: Times | None  # of policies with reads_clock


class Policy:
    """A policy of your own: a subclass with decide, and on_feedback where it looks at what steps
    bring.

    The docstring's first line is its help; __init__'s arguments, which need defaults, are its
    options. An object is made for each training; self.training is known from begin() on.
    """

    name = ""  # in texts, of a to z, digits and "-"; "": the class's name
    reads_clock = False  # decides by times or by the link: a training then depends on its network
    reads_gradient = False  # calls on_gradient
    reads_mean_gradient = False  # Feedback has the mean gradient
    reason = ""  # why it decided as it did, for decisions.csv; set it in decide
    training = None

    def begin(self):
        """Called once self.training is known."""

    def decide(self, step):
        """The parameter of all layers, or a sequence with one for each."""
        raise NotImplementedError(f"{type(self).__name__}.decide")

    def on_feedback(self, feedback):
        """Called after each step."""

    def on_gradient(self, layer, gradient, residual):
        """Called before each step's exchange: worker 0's gradient of layer number `layer`, and its
        residual."""

    def save(self):
        """All state, as bytes."""
        return b""

    def load(self, state):
        """Takes what save() returned; raises ValueError on anything else."""
        if state:
            raise ValueError("there is no state to load")


def register(cls):
    """Makes a subclass of legacy.Codec or legacy.Policy known by its name: a decorator. A class
    that is registered again, as where a notebook's cell is run twice, takes the other's place; its
    options must be the same.
    """
    kinds = [kind for kind in (Codec, Policy) if isinstance(cls, type) and issubclass(cls, kind)]
    if not kinds:
        raise TypeError(f"got {cls!r}; allowed: subclasses of legacy.Codec and legacy.Policy")
    name = cls.__dict__.get("name") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()
    options = _options(cls)
    known = _CLASSES.get(name)
    if known is not None:
        if not issubclass(known, kinds[0]) or _options(known) != options:
            raise _legacy.Error(
                f"name of a method: got '{name}'; allowed: the same kind and options as before, or "
                "a name of its own"
            )
    else:
        add = _legacy.add_codec if kinds[0] is Codec else _legacy.add_policy
        summary = (cls.__dict__.get("__doc__") or "").strip().split("\n")[0].rstrip(".")
        add(
            name,
            summary,
            [
                (option, text(default), _ALLOWED[type(default)])
                for option, default in options.items()
            ],
        )
    _CLASSES[name] = cls
    return cls


_ALLOWED = {bool: "on, off", int: "a whole number", float: "a number", str: "a text"}


def _options(cls):
    """{name: default} of what __init__ takes."""
    options = {}
    if cls.__init__ is object.__init__:
        return options
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if type(parameter.default) not in _ALLOWED:
            raise TypeError(
                f"{cls.__name__}.__init__: {parameter.name}: allowed: arguments with a default of "
                f"{', '.join(kind.__name__ for kind in _ALLOWED)}"
            )
        options[parameter.name] = parameter.default
    return options


def make(name, texts):
    """An object of the class of that name, of options as texts. The compiled part calls it."""
    cls = _CLASSES[name]
    values = {}
    for option, default in _options(cls).items():
        given = texts[option]
        try:
            values[option] = (
                {"on": True, "off": False}[given]
                if isinstance(default, bool)
                else type(default)(given)
            )
        except (KeyError, ValueError):
            raise ValueError(
                f"{option}: got '{given}'; allowed: {_ALLOWED[type(default)]}"
            ) from None
    return cls(**values)


def describe(error, trace):
    """What was raised, and where. The compiled part calls it."""
    frames = traceback.extract_tb(trace)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return "".join(traceback.format_exception_only(type(error), error)).strip() + where
