"""The handle of a compressed training, which its user has."""

import contextlib
import math
import warnings

from . import _state
from ._training import Training


class Handle(Training):
    """A training whose gradients are compressed, made by legacy.torch.compress().

    bytes: bytes of this rank's messages in the last step, by unit. policy_bytes: those of the
    message by which a policy agreed in it. total: sums over all steps of `messages` (with their
    `headers`), and of what travels besides: `padding`, `lengths`, `control`. step_number: number of
    the next step.
    """

    def feedback(self, loss=None, *, accuracy=None, test_loss=None, metrics=None):
        """Ends a step: call it right after optimizer.step(), and again with what an evaluation
        found. The loss of rank 0 reaches policies that decide by it."""
        if loss is not None and not math.isfinite(loss):
            warnings.warn(f"loss of step {self.step_number - 1}: {loss}", stacklevel=2)
        recorder = self._recorder
        if self._feedback_due:
            self.give_feedback(loss)
            if recorder:
                recorder.end_step(loss=loss, rate=self._rates[0] if self._rates else None)
        if recorder and (accuracy is not None or metrics):
            recorder.evaluated(accuracy=accuracy, test_loss=test_loss, metrics=metrics)

    @contextlib.contextmanager
    def dense(self):
        """Within it gradients are all-reduced as they are. Residuals stay; steps do not count."""
        before, self._dense = self._dense, True
        try:
            yield self
        finally:
            self._dense = before

    def state_dict(self):
        """Returns the state of this rank: residuals by parameter, policy, step. Every rank has its
        own; legacy.torch.save() writes them all."""
        self._refuse_within("state_dict")
        return _state.of_handle(self)

    def load_state_dict(self, state, world="strict"):
        """Restores a state. world: "strict" takes this rank's state of as many ranks; "spread" a
        list of the states of all ranks before, of which each rank takes the mean residual."""
        self._refuse_within("load_state_dict")
        _state.load(self, state, world)
        self._lost = False

    def decisions(self):
        """Returns the policy's decisions since the last call, with their reasons (rank 0)."""
        return self.core.decisions()

    def residual(self, name):
        """Returns a copy of this rank's residual of a unit, flat; empty if there is none."""
        return self.core.residual(self.carrier.rank, self.core.names.index(name))

    def close(self):
        """Ends the trace, on all ranks. Gradients are then all-reduced as they are, because a hook
        cannot be removed."""
        if self._closed:
            return
        self._closed = True
        if self._jobs is not None:
            self._jobs.put(None)
        if self._recorder:
            self._recorder.close()
