"""Exchanges the units of a training, in the hook or on a thread."""

import ctypes
import queue
import threading
import time

import torch

from . import _carry, _rounds, _step


class Exchanging:
    """What is exchanged in a step. A job is units whose gradients are complete; jobs are carried
    out in order, the same at all ranks."""

    def __init__(self, core, settings):
        self.core = core
        self.settings = settings
        self.step_number = 0
        self.bytes = {}
        self.policy_bytes = 0
        self.total = dict.fromkeys(("messages", "headers", "padding", "lengths", "control"), 0)
        self.codec_seconds = 0.0  # of encoding and decoding
        self.carrier = _carry.Carrier(settings.group, settings.device)
        self._layout = _step.Layout(core, settings.parameters)
        self._layout.copies = settings.traits["clip"] is not None
        self._rules = _rounds.Rules(
            rank=self.carrier.rank,
            size=self.carrier.size,
            ordered=settings.sums == "ordered",
            on_nonfinite=settings.on_nonfinite,
            names=core.names,
        )
        self._recorder = settings.recorder
        self._scale = 1.0  # of the loss, by which gradients were divided
        self._plan = None  # what the policy decided for the step
        self._pending = []  # buckets that wait for their means
        self._lock = threading.Lock()  # of _pending
        self._announced = b""  # by rank 0's policy, for the next step
        self._mean = None  # of the step, flat, where the policy reads it
        self._reads_mean = False
        self._unit_seconds = {}
        self._step_bytes = {}  # of the units so far
        self._failed = None  # the error that ended the training
        self._jobs = None
        if settings.overlap:
            self._jobs = queue.SimpleQueue()
            threading.Thread(target=self._work, name="legacy.torch", daemon=True).start()

    def end_step(self):
        """Is called once the last unit of a step has its mean."""
        raise NotImplementedError

    def _start(self, units, begin, last):
        """Encodes units, and exchanges them here or on the thread."""
        result = _rounds.Result()
        core, rank = self.core, self._rules.rank
        addresses = [self._layout.addresses[unit] for unit in units]
        entry = None
        if self._recorder:
            layers = [layer for unit in units for layer in self._layout.layers[unit]]
            entry = self._recorder.open_bucket(layers)
        refused = []
        self.policy_bytes = 0
        if self._plan.reads_gradient and rank == 0 and not self.settings.traits["compresses_mean"]:
            order = sorted(range(len(units)), key=units.__getitem__)
            core.show(rank, [units[i] for i in order], [addresses[i] for i in order])
        if self._plan.candidates:
            refused = core.measure(rank, units, addresses)
        refused += core.encode(rank, units, addresses)
        encode = time.perf_counter() - begin
        result.encode_seconds = encode
        if self._jobs is not None:
            self._jobs.put((units, addresses, refused, result, entry, last))
            return
        self._carry_out(units, addresses, refused, result, entry, last)
        if entry is not None:
            entry["held"] = time.perf_counter() - begin - encode

    def _carry_out(self, units, addresses, refused, result, entry, last):
        core, rules = self.core, self._rules
        before = self.carrier.seconds
        if self._plan.candidates:
            begin = time.perf_counter()
            _step.agree(core, self.carrier, rules, refused, result)
            self.policy_bytes = result.sends[0][1]
            measured = [unit for unit in units if core.measured(unit)]
            refused = core.encode(rules.rank, measured)
            result.decode[-1] += time.perf_counter() - begin
        _rounds.exchange(core, self.carrier, rules, units, refused, result)
        begin = time.perf_counter()
        core.mean(units, addresses)
        for unit in result.bad:
            self._leave_out(unit)
        result.decode[-1] += time.perf_counter() - begin
        seconds = self.carrier.seconds - before
        self._count(units, result, seconds)
        if self._plan.reads_gradient and rules.rank == 0 and last:
            if self.settings.traits["compresses_mean"]:
                core.show_mean()
        if self._reads_mean:
            self._keep_mean(units)
        if last and rules.rank == 0 and self.settings.traits["adaptive"]:
            self._announced = core.announce() or b""
        if entry is not None:
            entry["elements"] = core.elements(units)
            self._recorder.close_bucket(entry, result.sends, result.encode_seconds, result.decode)
        if last:
            self.end_step()
        self._release(set(units))

    def _leave_out(self, unit):
        """Clears a unit's update and its residuals, at all ranks."""
        numel = self._layout.ranges[unit][1]
        ctypes.memset(self._layout.addresses[unit], 0, 4 * numel)
        self.core.reset(unit)

    def _count(self, units, result, seconds):
        names = self.core.names
        sent = sum(result.unit_bytes.values())
        for unit in units:
            size = result.unit_bytes.get(unit, 0)
            self._step_bytes[names[unit]] = size
            self._unit_seconds[unit] = seconds * size / sent if sent else 0.0
        self.total["messages"] += sent
        self.total["headers"] += result.headers
        self.total["padding"] += result.padding
        self.total["lengths"] += result.lengths
        self.total["control"] += result.control
        self.codec_seconds += result.encode_seconds + sum(result.decode)

    def _keep_mean(self, units):
        if self._mean is None:
            self._mean = torch.zeros(self._layout.total)
        for unit in units:
            first, numel = self._layout.ranges[unit]
            to = self._mean.data_ptr() + 4 * first
            ctypes.memmove(to, self._layout.addresses[unit], 4 * numel)

    def _release(self, units):
        """Gives buckets back to DDP that have all their means."""
        with self._lock:
            for bucket in self._pending:
                bucket.units -= units
            done = [bucket for bucket in self._pending if not bucket.units]
            self._pending = [bucket for bucket in self._pending if bucket.units]
        for bucket in done:
            self._layout.leave(bucket)
            if self._scale != 1.0:
                bucket.buffer.mul_(self._scale)
            bucket.finish()

    def _work(self):
        """Carries out jobs in order, on a thread of its own."""
        while (job := self._jobs.get()) is not None:
            if self._failed is not None:
                continue
            try:
                with torch.no_grad():
                    self._carry_out(*job)
            except Exception as error:
                self._fail(error)

    def _fail(self, error):
        """Ends the training: all buckets that wait get the error."""
        with self._lock:
            self._failed = self._failed or error
            pending, self._pending = self._pending, []
        for bucket in pending:
            bucket.finish(error)
