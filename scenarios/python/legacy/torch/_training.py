"""What the communication hook of a compressed training does."""

import math
import time
import warnings

import torch
import torch.distributed as dist

from . import _carry, _checks, _step
from .. import _legacy
from .._legacy import Error
from ._exchanging import Exchanging

_LINK = (10e-6, 10e9)  # seconds, bit/s: what the ranks assume of their network


def hook(training, bucket):
    """Is the hook for model.register_comm_hook(training, hook)."""
    layers = [training.position(parameter) for parameter in bucket.parameters()]
    return training.take(bucket.buffer(), layers, bucket.gradients(), bucket.is_last())


class Training(Exchanging):
    """The exchanges of a model's gradients, step by step. A step begins with its first bucket and
    ends with its last."""

    def __init__(self, model, core, settings):
        self.model = model
        self._names = settings.names
        self._parameters = settings.parameters
        self._position = {id(p): i for i, p in enumerate(settings.parameters)}
        self._rates = None  # of the optimizer's groups
        self._arrived = False  # True from the first bucket of a step to its last
        self._held = []  # units that wait for the last bucket
        self._holds = False  # True where all of them do
        self._begun = False  # True from the first forward pass of a step to its last bucket
        self._feedback_due = False
        self._times = (0.0, 0.0, 0.0)  # start of the step; codec and carrier at the start
        self._scaled_finite = True
        self._alone = set()  # layers that are missing in a step without buckets
        self._dense = False
        self._closed = False
        self._lost = _carry.restarted()
        super().__init__(core, settings)

    # What the hook calls.

    def position(self, parameter):
        try:
            return self._position[id(parameter)]
        except KeyError:
            self._check_parameters()
            raise Error("model: got another parameter; allowed: those at compress()") from None

    def take(self, buffer, layers, gradients, last):
        """Takes a bucket and returns a Future of it, with the mean once it is there."""
        if buffer.is_sparse:
            raise Error("gradient: got a sparse one; allowed: Embedding(sparse=False)")
        if self._closed or self._dense:
            return self._all_reduce(buffer, layers)
        if self._failed is not None:
            raise Error(f"after an error the handle cannot be used any more: {self._failed}")
        try:
            with torch.no_grad():
                return self._take(buffer, layers, gradients, last)
        except Exception as error:
            self._fail(error)
            raise

    def forward(self):
        """Notes the begin of a forward pass with gradients."""
        if not getattr(self.model, "require_backward_grad_sync", True):
            if getattr(self.model, "static_graph", False) and not self.settings.static_no_sync:
                raise Error(
                    "no_sync: got static_graph=True; allowed: static_graph=False, because this "
                    "version of PyTorch does not run hooks with both"
                )
        if not self._begun:  # otherwise gradients are accumulated
            self._open_step()

    def _open_step(self):
        """Begins a step, with its first forward pass or, if that is not seen, its first bucket."""
        self._begun = True
        if self._feedback_due:
            if self.settings.traits["needs_training"] == "the loss":
                raise Error(
                    f"feedback: got none after step {self.step_number - 1}; allowed: "
                    "handle.feedback(loss=...) after each step, as the policy decides by the loss"
                )
            self.give_feedback(None)
        self._times = (time.perf_counter(), self.codec_seconds, self.carrier.seconds)
        if self.step_number % self.settings.steps_per_epoch == 0:
            self._check_parameters()

    def _take(self, buffer, layers, gradients, last):
        begin = time.perf_counter()
        if not self._arrived:
            self._begin_step()
        future = None
        if self._jobs is not None or self._holds or len(self.core.layers) < len(self._parameters):
            devices = {"devices": [buffer.device]} if buffer.is_cuda else {}
            future = torch.futures.Future(**devices)
        if self.settings.scaler is not None:
            self._scaled_finite = self._scaled_finite and self._finite(buffer)
        if self._scale != 1.0:
            buffer.mul_(1.0 / self._scale)
        ready = []
        for layer, gradient in zip(layers, gradients):
            unit = self._layout.arrive(layer, gradient)
            if unit is not None:
                ready.append(unit)
        units = {self._layout.unit_of[layer] for layer in layers}
        bucket = _step.Bucket(buffer, layers, gradients, units, future)
        with self._lock:
            self._pending.append(bucket)
            failed = self._failed
        if failed is not None:
            raise failed
        if self._holds:
            self._held += ready
            ready = []
        if last:
            self._arrived = False
            ready += sorted(self._held, reverse=True)
            self._held = []
            if self._holds and not self._prepare_held():
                ready = []
        if ready:
            self._start(ready, begin, last)
        if future is None:
            return _done(buffer)
        return future.then(_unwrap)

    def _begin_step(self):
        self._arrived = True
        self._check_step()
        self._layout.begin()
        self._held, self._pending = [], []
        if not self._begun:
            self._open_step()
        scaler = self.settings.scaler
        self._scaled_finite = True
        self._scale = 1.0
        if scaler is not None and scaler.is_enabled():
            self._scale = float(scaler.get_scale())
        self._holds = scaler is not None or self._layout.copies
        if scaler is None:
            self._decide()

    def _decide(self):
        """Lets the policy decide, at rank 0 where that is not the same everywhere."""
        rate = 1.0
        if self.settings.optimizer is not None:
            last = self._rates if self.settings.traits["rescales"] else None
            rate, self._rates = _checks.rate_of(self.settings.optimizer, last)
        self.carrier.place = f"step {self.step_number}"
        info = (self.step_number, rate, *_LINK)
        self._plan = _step.Plan(*self.core.decide(info), announced=self._announced)
        self._reads_mean = self._rules.rank == 0 and self.core.reads_mean_gradient()
        if self.settings.traits["adaptive"] and self._rules.size > 1:
            units = len(self.core.names)
            self._plan, sent = _step.share_plan(self.carrier, self._plan, units)
            self.total["control"] += sent
        self._note_announcement()
        plan = self._plan
        self.core.begin(info, plan.parameters, plan.candidates, plan.estimate)
        self._holds = self._holds or bool(plan.candidates) or plan.reads_gradient

    def _note_announcement(self):
        """Adds what rank 0 announced after the step before to that step's record."""
        announced, self._announced = len(self._plan.announced), b""
        if announced and self._recorder:
            self._recorder.announce(announced if self._rules.rank == 0 else 0)

    def _prepare_held(self):
        """Does what needs all gradients. Returns False where the step is left out."""
        if self.settings.scaler is not None:
            self._arrived = True  # errors from here on are of this step
            finite = torch.tensor([0.0 if self._scaled_finite else 1.0])
            self.carrier.add(finite)
            self.total["control"] += 4
            self._arrived = False
            if float(finite) > 0:
                self._skip()
                return False
            self._decide()
        if self.settings.traits["clip"] is not None:
            flat = self._layout.flat()
            _legacy.clip(flat.data_ptr(), flat.numel(), self.settings.traits["clip"])
        return True

    def _skip(self):
        """Fills gradients with infinities, which let the scaler of every rank skip the step."""
        for bucket in self._pending:
            bucket.buffer.fill_(math.inf)
            bucket.finish()
        self._pending = []
        self._begun = False
        if self._recorder:
            self._recorder.forget_step()

    def _finite(self, buffer):
        if buffer.is_cuda or buffer.dtype != torch.float32:
            return bool(torch.isfinite(buffer).all())
        return _legacy.all_finite(buffer.data_ptr(), buffer.numel())

    def layer_of_gradient(self, gradient):
        """Returns the position of the parameter that has this gradient."""
        address = gradient.data_ptr()
        for layer, parameter in enumerate(self._parameters):
            if parameter.grad is not None and parameter.grad.data_ptr() == address:
                return layer
        raise Error("model: got the gradient of another parameter; allowed: those at compress()")

    def take_alone(self, layer, gradient):
        """Takes the gradient of a parameter that is no bucket's, and changes it to the mean once
        all parameters have come."""
        missing = self._alone or set(range(len(self._parameters)))
        self._alone = missing - {layer}
        self.take(gradient.view(-1), [layer], [gradient], not self._alone)

    def announced(self):
        """Returns what rank 0 has announced for the next step."""
        return self._announced

    def go_on(self, step, announced):
        """Continues with a step of a loaded state."""
        self.step_number = step
        self._announced = announced
        self._rates = None
        self._feedback_due = False
        self._lost = False

    # Facts of steps.

    def end_step(self):
        self.bytes, self._step_bytes = self._step_bytes, {}
        self.step_number += 1
        self._begun = False
        self._feedback_due = True
        if self._lost:
            self._lost = False
            self._warn_of_lost_residuals()

    def give_feedback(self, loss):
        """Tells the policy about the last step."""
        self._feedback_due = False
        begin, codec, carried = self._times
        whole = max(0.0, time.perf_counter() - begin)
        codec, carried = self.codec_seconds - codec, self.carrier.seconds - carried
        times = _legacy.StepTimes(whole, max(0.0, whole - codec - carried), codec, carried)
        units = range(len(self.core.names))
        sizes = [float(self.bytes.get(name, 0)) for name in self.core.names]
        seconds = [self._unit_seconds.get(unit, 0.0) for unit in units]
        mean = self._mean.data_ptr() if self._reads_mean else 0
        self.core.feedback(self.step_number - 1, loss or 0.0, mean, times, sizes, seconds)

    def _check_step(self):
        config = getattr(self.model, "_join_config", None)
        if getattr(config, "enable", False):
            raise Error(
                "join: got a training within model.join(); allowed: none, because ranks without "
                "data would send their residuals (give all ranks as many batches)"
            )

    def _check_parameters(self):
        now = dict(self.settings.named_parameters(self.model))
        before = dict(zip(self._names, self._parameters))
        changes = [f"{name} added" for name in now if name not in before]
        changes += [f"{name} frozen or removed" for name in before if name not in now]
        changes += [f"{n} replaced" for n in now if n in before and now[n] is not before[n]]
        if changes:
            raise Error(
                f"model: got other parameters than at compress() ({', '.join(changes[:5])}); "
                "allowed: the same ones in the whole training"
            )

    def _refuse_within(self, call):
        if self._arrived or self._pending:
            raise Error(f"{call}: got a call within a step; allowed: after loss.backward()")

    def _warn_of_lost_residuals(self):
        held = self.core.residual_norm(self._rules.rank)
        gradients = [p.grad.detach().float() for p in self._parameters if p.grad is not None]
        whole = held + sum(float(gradient.pow(2).sum()) for gradient in gradients)
        share = math.sqrt(held / whole) if whole else 0.0
        warnings.warn(
            "restarted without a state: residuals of the training before are lost; after one step "
            f"they hold {share:.0%} of the gradient's norm (legacy.torch.save writes them)",
            stacklevel=2,
        )

    def _all_reduce(self, buffer, layers):
        entry = None
        if self._recorder and not self._closed:
            entry = self._recorder.open_bucket(layers)
        buffer.div_(self._rules.size)
        work = dist.all_reduce(buffer, group=self.settings.model_group, async_op=True)

        def done(future):
            if entry is not None:
                size = buffer.numel() * buffer.element_size()
                self._recorder.close_bucket(entry, [("all-reduce", size)], 0.0, [0.0])
            return future.value()[0]

        return work.get_future().then(done)


def _done(buffer):
    future = torch.futures.Future()
    future.set_result(buffer)
    return future


def _unwrap(future):
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value
