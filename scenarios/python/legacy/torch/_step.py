"""A step of a training: its buckets as they arrive, and the units that are exchanged."""

import dataclasses
import struct

import torch

from . import _rounds
from .._legacy import Error


@dataclasses.dataclass
class Bucket:
    """A bucket of DDP that waits for the means of its units."""

    buffer: torch.Tensor
    layers: list
    gradients: list
    units: set
    future: object  # None: the hook waits

    def finish(self, error=None):
        if self.future is not None:
            self.future.set_result(self.buffer if error is None else error)


class Layout:
    """Where the gradients of units are: in the buckets of DDP where the unit is one parameter whose
    gradient is float32 in host memory, else in a copy (`flat`), in the order of the model."""

    def __init__(self, core, parameters):
        self.numels = [parameter.numel() for parameter in parameters]
        self.offsets = [0]
        for numel in self.numels:
            self.offsets.append(self.offsets[-1] + numel)
        self.layers = core.layers  # of units
        self.unit_of = {layer: u for u, layers in enumerate(core.layers) for layer in layers}
        self.ranges = core.offsets  # of units: first element, elements
        self.total = self.offsets[-1]
        self.addresses = [0] * len(core.layers)
        self.copies = False  # True: all gradients are copied
        self._flat = None
        self._copied = set()  # layers
        self._left = []
        self.begin()

    def begin(self):
        self._left = [len(layers) for layers in self.layers]

    def flat(self):
        if self._flat is None:
            pinned = torch.cuda.is_available()
            self._flat = torch.zeros(self.total, dtype=torch.float32, pin_memory=pinned)
        return self._flat

    def part(self, layer):
        return self.flat()[self.offsets[layer] : self.offsets[layer + 1]]

    def arrive(self, layer, gradient):
        """Takes a gradient. Returns its unit if that is complete, else None."""
        unit = self.unit_of[layer]
        direct = (
            not self.copies
            and len(self.layers[unit]) == 1
            and gradient.dtype == torch.float32
            and not gradient.is_cuda
        )
        if direct:
            self._copied.discard(layer)
            self.addresses[unit] = gradient.data_ptr()
        else:
            self._copied.add(layer)
            self.part(layer).copy_(gradient.reshape(-1))
            self.addresses[unit] = self.flat().data_ptr() + 4 * self.ranges[unit][0]
        self._left[unit] -= 1
        return unit if self._left[unit] == 0 else None

    def leave(self, bucket):
        """Copies means back to where DDP reads them."""
        for layer, gradient in zip(bucket.layers, bucket.gradients):
            if layer in self._copied:
                gradient.copy_(self.part(layer).view(gradient.shape))


@dataclasses.dataclass
class Plan:
    """What rank 0's policy decided for a step, and what it announced after the one before."""

    parameters: list
    candidates: list
    estimate: bool
    reads_gradient: bool
    announced: bytes = b""

    _HEAD = struct.Struct("<IIBB")

    def pack(self):
        head = self._HEAD.pack(
            len(self.announced), len(self.candidates), self.estimate, self.reads_gradient
        )
        numbers = [*self.parameters, *self.candidates]
        return head + self.announced + struct.pack(f"<{len(numbers)}d", *numbers)

    @classmethod
    def unpack(cls, data, units):
        announced, candidates, estimate, reads = cls._HEAD.unpack_from(data)
        at = cls._HEAD.size + announced
        numbers = struct.unpack_from(f"<{units + candidates}d", data, at)
        return cls(
            list(numbers[:units]),
            list(numbers[units:]),
            bool(estimate),
            bool(reads),
            bytes(data[cls._HEAD.size : at]),
        )


def share_plan(carrier, plan, units):
    """Gives rank 0's plan to all ranks. Returns it with the bytes that traveled."""
    room = 8 * units + 4 * units + 256
    data = plan.pack() if carrier.rank == 0 else b""
    first = torch.zeros(room + 4, dtype=torch.uint8)
    first[:4] = torch.frombuffer(bytearray(struct.pack("<I", len(data))), dtype=torch.uint8)
    shown = data[:room]
    if shown:
        first[4 : 4 + len(shown)] = torch.frombuffer(bytearray(shown), dtype=torch.uint8)
    carrier.broadcast(first, 0)
    raw = bytes(first.numpy())
    (length,) = struct.unpack_from("<I", raw)
    data = raw[4 : 4 + min(length, room)]
    sent = len(raw)
    if length > room:
        rest = torch.zeros(length - room, dtype=torch.uint8)
        if carrier.rank == 0:
            rest.copy_(torch.frombuffer(bytearray(plan.pack()[room:]), dtype=torch.uint8))
        carrier.broadcast(rest, 0)
        data += bytes(rest.numpy())
        sent += rest.numel()
    return Plan.unpack(data, units), sent


def agree(core, carrier, rules, refused, result):
    """Lets the policy agree on a candidate for all units, once they are measured."""
    if refused and rules.on_nonfinite == "trust":
        raise Error(_rounds.refusal_text(carrier, rules, refused))
    message = core.agreement(rules.rank)
    own = torch.frombuffer(bytearray(message + bytes([1 if refused else 0])), dtype=torch.uint8)
    rows = carrier.gather(own)
    if int(rows[:, -1].max()) > 0:
        result.bad |= _rounds.agree_on_refused(carrier, rules, refused)
    chosen = core.agree([bytes(row[:-1].numpy()) for row in rows])
    result.sends.append(("all-reduce", len(message)))
    result.decode.append(0.0)
    result.control += len(message) + 1
    core.choose(chosen)
