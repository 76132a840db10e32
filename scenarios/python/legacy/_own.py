"""Your own codecs and policies, as classes of Python.

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

_CLASSES = {}  # classes by name; a class that is registered again replaces the earlier one


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A codec's number that policies choose."""

    name: str  # LEGACY's policies and --density choose "density"
    minimum: float
    maximum: float
    default: float
    integer: bool = False
    help: str = ""
    volume_falls: bool = False  # True where a larger parameter sends less


@dataclasses.dataclass(frozen=True)
class Context:
    """What a codec knows about a message besides its bytes."""

    unit: int  # number of the layer, bucket or model
    parameter: float
    seed: int
    step: int
    worker: int  # worker that sends; 0 when decoding
    # Eight numbers that a sender keeps from step to step for a unit; None when decoding.
    numbers: numpy.ndarray | None = dataclasses.field(repr=False)

    def random(self):
        """Returns a generator of the sender's own draws, the same in every run."""
        return numpy.random.default_rng([self.seed, self.step, self.unit, self.worker])

    def shared_random(self):
        """Returns a generator of draws that senders and receivers share."""
        return numpy.random.default_rng([self.seed, self.step, self.unit])


class Codec:
    """Base class of your own codecs. A subclass has encode, decode_add and all that differs from
    this class.

    The docstring's first line is its help; __init__'s arguments, which need defaults, are its
    options. Each method of a run has one object for all workers and units, which may keep state
    between calls in Context.numbers only.
    """

    name = ""  # name in texts, of a to z, digits and "-"; "": the class's name
    parameter = None  # a Parameter; None: there is none
    error_feedback = True  # False where the loss may be as large as the values
    # Rows of the table in docs/clock.md: costs of encoding and decoding all elements on the
    # simulated device.
    encode_kernel = "copy"
    decode_kernel = "copy"

    def encode(self, values, context):
        """Returns the bytes of a message without its header. values: finite numbers, float32."""
        raise NotImplementedError(f"{type(self).__name__}.encode")

    def decode_add(self, payload, sum, context):
        """Adds the values that a message's bytes encode to the float32 array `sum`."""
        raise NotImplementedError(f"{type(self).__name__}.decode_add")

    def length(self, numel, parameter):
        """Returns the number of bytes that encode returns for `numel` values; None: it depends on
        the values."""
        return None

    def sent(self, numel, parameter):
        """Returns the number of values in a message, of `numel` values in all."""
        return numel

    def __repr__(self):
        return f"Codec({_described(type(self))})"


@dataclasses.dataclass(frozen=True)
class Layer:
    """A unit that has a parameter: a layer, a bucket or the model."""

    name: str
    shape: tuple
    numel: int


@dataclasses.dataclass(frozen=True)
class Training:
    """The training for which a policy is made."""

    layers: list = dataclasses.field(repr=False)  # of type Layer
    workers: int
    steps: int
    steps_per_epoch: int
    parameter: float  # anchor of the policy: the uniform parameter, or the average density
    minimum: float  # smallest parameter
    maximum: float
    seed: int


@dataclasses.dataclass(frozen=True)
class Link:
    """The workers' estimate of the network."""

    latency_seconds: float
    seconds_per_byte: float


@dataclasses.dataclass(frozen=True)
class Step:
    """The step for which a policy decides."""

    step: int  # counts from 0
    total_steps: int
    learning_rate: float
    steps_per_epoch: int
    link: Link | None  # None without reads_clock


@dataclasses.dataclass(frozen=True)
class Times:
    """Simulated seconds of a step's parts."""

    simulated_seconds: float
    compute_seconds: float
    codec_seconds: float
    communication_seconds: float  # communication that computing does not hide


@dataclasses.dataclass(frozen=True)
class Feedback:
    """The results of a finished step that a policy sees."""

    step: int
    loss: float  # loss of worker 0
    # Flat; None without reads_mean_gradient.
    mean_gradient: numpy.ndarray | None = dataclasses.field(repr=False)
    message_bytes: float  # bytes that one worker sent
    layer_bytes: numpy.ndarray = dataclasses.field(repr=False)
    times: Times | None  # None without reads_clock


class Policy:
    """Base class of your own policies. A subclass has decide, and on_feedback where it uses the
    results of steps.

    The docstring's first line is its help; __init__'s arguments, which need defaults, are its
    options. Each training has an object of its own; self.training is known from begin() on.
    """

    name = ""  # name in texts, of a to z, digits and "-"; "": the class's name
    reads_clock = False  # True where times or the link decide: a training then needs its network
    reads_gradient = False  # True where on_gradient is called
    reads_mean_gradient = False  # True where Feedback has the mean gradient
    reason = ""  # reason for the decision, for decisions.csv; decide sets it
    training = None

    def begin(self):
        """Called once, when self.training is known."""

    def decide(self, step):
        """Returns the parameter of all layers, or a sequence with one for each."""
        raise NotImplementedError(f"{type(self).__name__}.decide")

    def on_feedback(self, feedback):
        """Called after each step."""

    def on_gradient(self, layer, gradient, error_fed):
        """Called before each step's exchange with worker 0's gradient of layer number `layer`, and
        with what will be compressed: the gradient with residual and momentum."""

    def save(self):
        """Returns all state, as bytes."""
        return b""

    def load(self, state):
        """Restores the state that save() returned; raises ValueError on anything else."""
        if state:
            raise ValueError("there is no state to load")

    def __repr__(self):
        return f"Policy({_described(type(self))})"


def register(cls):
    """Decorator that registers a subclass of legacy.Codec or legacy.Policy under its name. A class
    that is registered again, as by a notebook's cell that runs twice, replaces the earlier one; its
    options must be the same.
    """
    kinds = [kind for kind in (Codec, Policy) if isinstance(cls, type) and issubclass(cls, kind)]
    if not kinds:
        raise TypeError(f"got {cls!r}; allowed: subclasses of legacy.Codec and legacy.Policy")
    name = _name(cls)
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
        add(
            name,
            _help(cls),
            [
                (option, text(default), _ALLOWED[type(default)])
                for option, default in options.items()
            ],
        )
    _CLASSES[name] = cls
    return cls


def _name(cls):
    return cls.__dict__.get("name") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


def _help(cls):
    return (cls.__dict__.get("__doc__") or "").strip().split("\n")[0].rstrip(".")


def _described(cls):
    return f"{_name(cls)}: {_help(cls)}" if _help(cls) else _name(cls)


_ALLOWED = {bool: "on, off", int: "a whole number", float: "a number", str: "a text"}


def _options(cls):
    """Returns {name: default} of the arguments of __init__."""
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
    """Returns an object of the class of that name, from texts of its options. The compiled part
    calls it."""
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
    """Returns the exception and its place as text. The compiled part calls it."""
    frames = traceback.extract_tb(trace)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return "".join(traceback.format_exception_only(type(error), error)).strip() + where
