"""The exchange of some units: collective calls until each has its mean.

In a round every unit with an open call sends a message. Messages of one way travel together:

    lengths     of messages whose length depends on the data, as far as no call before has said it;
                messages of one number (4 bytes) travel within
    all-gather  messages one after the other, padded to the longest rank's; those of an all-to-all
                as well, because every rank decodes all messages
    all-reduce  the values of messages that may be added up (sums="library")
    broadcast   messages of one rank

A flag says with the first of them whether a rank could not make its messages.
"""

import dataclasses
import time

import torch

from .._legacy import Error

FINE, REPLACED, FAILED = 0, 1, 2
_NUMBER = 4  # bytes of a message of one number
_PLACES = {"all-reduce": 0, "all-gather": 1, "all-to-all": 2, "broadcast": 3}


@dataclasses.dataclass
class Result:
    """What was sent for some units."""

    unit_bytes: dict = dataclasses.field(default_factory=dict)  # own messages, by unit
    sends: list = dataclasses.field(default_factory=list)  # (way, own bytes), in order
    decode: list = dataclasses.field(default_factory=list)  # seconds after each of them
    headers: int = 0
    padding: int = 0
    lengths: int = 0
    control: int = 0
    bad: set = dataclasses.field(default_factory=set)  # units without a mean
    encode_seconds: float = 0.0  # of the first messages


@dataclasses.dataclass
class Rules:
    """How a training exchanges."""

    rank: int
    size: int
    ordered: bool  # sums="ordered"
    on_nonfinite: str
    names: list  # of units


def exchange(core, carrier, rules, units, refused, result):
    """Runs the calls of units whose first messages are encoded; `refused` are the units for which
    that failed (unit, reason, replaced). Adds to `result` what was sent."""
    while True:
        calls = core.calls(units)
        if not calls:
            return
        _Round(core, carrier, rules, calls, refused, result).run()
        begin = time.perf_counter()
        opened = [call[0] for call in calls]
        more = core.finish(opened)
        refused = core.encode(rules.rank, opened) if more else []
        result.decode[-1] += time.perf_counter() - begin


class _Round:
    def __init__(self, core, carrier, rules, calls, refused, result):
        self.core, self.carrier, self.rules, self.result = core, carrier, rules, result
        self.refused = refused
        self.flag = FINE
        if refused:
            hard = any(not replaced for _, _, replaced in refused)
            self.flag = FAILED if hard else REPLACED
            if rules.on_nonfinite == "trust":
                raise Error(self._own_text())
        self.flagged = rules.on_nonfinite == "trust"  # True once all ranks know the flags
        units = [call[0] for call in calls]
        self.own = dict(zip(units, core.lengths(units)))
        self.unknown, self.gathers, self.sums, self.roots = [], [], [], {}
        self.known = {}
        for unit, way, root, sums, lengths in calls:
            if isinstance(lengths, int):
                lengths = [lengths] * rules.size
            if lengths is None:
                self.unknown.append(unit)
            else:
                self._place(unit, way, root, sums, lengths)
        self.ways = {call[0]: call[1:4] for call in calls}
        self._count(calls)

    def _place(self, unit, way, root, sums, lengths):
        self.known[unit] = lengths
        if sums and not self.rules.ordered:
            self.sums.append(unit)
        elif way == "broadcast":
            self.roots.setdefault(root, []).append(unit)
        else:
            self.gathers.append(unit)

    def _count(self, calls):
        """Counts the messages by way, as the simulator does."""
        sent = {}
        for unit, way, *_ in calls:
            size, header = self.own[unit]
            self.result.unit_bytes[unit] = self.result.unit_bytes.get(unit, 0) + size
            self.result.headers += header
            sent[way] = sent.get(way, 0) + size
        for way in sorted(sent, key=_PLACES.get):
            self.result.sends.append((way, sent[way]))
            self.result.decode.append(0.0)

    def run(self):
        if self.unknown:
            self._send_lengths()
        if self.gathers:
            self._gather()
        if self.sums:
            self._sum()
        if self.roots and not self.flagged:
            self.result.control += 1
            self._check(self.carrier.gather(torch.tensor([self.flag], dtype=torch.uint8))[:, 0])
        for root, units in self.roots.items():
            self._broadcast(root, units)

    def _send_lengths(self):
        """Sends lengths of messages, and the messages of one number."""
        units = self.unknown
        numbers = [unit for unit in units if self.own[unit][0] == _NUMBER]
        inline = torch.zeros(max(1, len(numbers)), dtype=torch.int32)
        self.core.pack(numbers, inline.data_ptr())
        values = dict(zip(numbers, inline.tolist()))
        own = [n for unit in units for n in (self.own[unit][0], values.get(unit, 0))]
        own = torch.tensor([*own, self.flag])
        self.result.lengths += own.numel() * own.element_size()
        rows = self.carrier.gather(own)
        self._check(rows[:, -1])
        lengths = rows[:, 0:-1:2].t().tolist()
        for i, unit in enumerate(units):
            if unit in values:
                for worker in range(self.rules.size):
                    number = rows[worker, 2 * i + 1].to(torch.int32).reshape(1).contiguous()
                    self.core.accumulate(worker, [unit], [_NUMBER], number.data_ptr())
            else:
                way, root, _ = self.ways[unit]
                self._place(unit, way, root, False, lengths[i])

    def _gather(self):
        units = self.gathers
        workers = range(self.rules.size)
        lengths = [[self.known[unit][worker] for unit in units] for worker in workers]
        totals = [sum(of_worker) for of_worker in lengths]
        extra = 0 if self.flagged else 1
        own = torch.zeros(max(totals) + extra, dtype=torch.uint8)
        if self.flag != FAILED:
            self.core.pack(units, own.data_ptr())
        if extra:
            own[-1] = self.flag
            self.result.control += 1
        self.result.padding += max(totals) - totals[self.rules.rank]
        rows = self.carrier.gather(own)
        if extra:
            self._check(rows[:, -1])
        begin = time.perf_counter()
        for worker in range(self.rules.size):
            self.core.accumulate(worker, units, lengths[worker], rows[worker].data_ptr())
        self._decoded(begin)

    def _sum(self):
        units = self.sums
        count = sum((size - header) // 4 for size, header in (self.own[unit] for unit in units))
        values = torch.empty(count + 1, dtype=torch.float32)
        self.core.pack_sums(units, values.data_ptr())
        values[-1] = self.flag
        self.carrier.add(values)
        if not self.flagged:
            self.result.control += 4
            self._check(values[-1:])
        begin = time.perf_counter()
        self.core.accumulate_sums(units, values.data_ptr())
        self._decoded(begin)

    def _broadcast(self, root, units):
        lengths = [self.known[unit][root] for unit in units]
        values = torch.zeros(sum(lengths), dtype=torch.uint8)
        if root == self.rules.rank:
            self.core.pack(units, values.data_ptr())
        self.carrier.broadcast(values, root)
        begin = time.perf_counter()
        for worker in range(self.rules.size):
            mine = lengths if worker == root else [0] * len(units)
            self.core.accumulate(worker, units, mine, values.data_ptr())
        self._decoded(begin)

    def _decoded(self, begin):
        self.result.decode[-1] += time.perf_counter() - begin

    def _check(self, flags):
        """Acts on the flags of all ranks, which all of them see at the same place."""
        self.flagged = True
        if float(flags.sum()) > 0:
            self.result.bad |= agree_on_refused(self.carrier, self.rules, self.refused)

    def _own_text(self):
        return refusal_text(self.carrier, self.rules, self.refused)


def refusal_text(carrier, rules, refused):
    """Says which messages this rank could not make, and why."""
    unit, reason, _ = refused[0]
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return f"rank {rules.rank}, {carrier.place}, parameter {rules.names[unit]}{more}: {reason}"


def agree_on_refused(carrier, rules, refused):
    """Tells all ranks which units of which rank have no message. Returns them if their update is to
    be left out; else raises the same Error at all ranks."""
    text = ""
    if refused:
        hard = any(not replaced for _, _, replaced in refused)
        units = ",".join(str(unit) for unit, _, _ in refused)
        text = f"{FAILED if hard else REPLACED}\n{units}\n{refusal_text(carrier, rules, refused)}"
    told = [text.split("\n", 2) for text in carrier.texts(text) if text]
    if rules.on_nonfinite != "zero" or any(int(flag) == FAILED for flag, _, _ in told):
        raise Error("; ".join(text for _, _, text in told))
    return {int(unit) for _, units, _ in told for unit in units.split(",")}
