"""Policies step by step, which choose each layer's parameter from gradients of the caller.

    layers = {"conv": (16, 3, 3, 3), "fc": (1000, 64)}
    policy = legacy.policy.make("lgreco", layers, workers=4, steps=100)
    for _ in range(100):
        # The gradient of each worker: a flat array, or a list with an array for each layer.
        result = policy.step(gradients)
        result["parameters"], result["bytes"], result["mean"]
        policy.feedback(loss=1.2, communication_seconds=0.01)

Exchanges, residuals and the policy's own messages are those of a training.
"""

from collections.abc import Mapping

import numpy

from . import _legacy
from ._arrays import floats
from ._text import scenario_rows, split_options

__all__ = ["SteppedPolicy", "check", "make", "methods", "names"]


class SteppedPolicy(_legacy.SteppedPolicy):
    """A policy with the exchanges that it controls, made by make()."""

    def step(
        self,
        gradients=None,
        *,
        learning_rate=1.0,
        latency=10e-6,
        bandwidth=10e9,
        keep_messages=False,
    ):
        """Makes the next step and returns a dict: `step`, the `parameters` of all layers, and with
        gradients the `bytes` and `elements` sent for each layer (bytes of all workers, elements of
        one) and the flat `mean` gradient.

        gradients: for each worker a flat array, or a list with an array for each layer. Without
        them the policy decides, and nothing is exchanged. latency (seconds) and bandwidth (bit/s)
        are the workers' estimate of the link. keep_messages: True adds `messages`, dicts of
        unit (None: the policy's own), call, worker and the bytes, in the order of decoding.
        """
        flat = [] if gradients is None else [_flat(gradient) for gradient in gradients]
        return self._step(flat, learning_rate, latency, bandwidth, keep_messages)

    def __repr__(self):
        return (
            f"SteppedPolicy({self.name}: {self.numel:,} elements, workers: {self.workers}, "
            f"step {self.step_number})"
        )


def make(
    policy,
    layers,
    *,
    scheme="topk",
    scope="layer",
    parameter=0.0,
    steps_per_epoch=1,
    workers=1,
    **options,
):
    """Returns the policy of that name with options ("gravac:eps=0.9") over a scheme ("powersgd").

    layers: sizes or shapes in the model's order, or a dict or pairs of names with sizes or shapes.
    scope: layer, bucket or model. parameter: the scheme's parameter, or the anchor of an adaptive
    policy; 0: the density, or the scheme's default. options: those of legacy-scenario, by their
    names: steps, seed, density, levels, volume, error_feedback ...
    """
    texts, _ = split_options({"workers": workers, **options}, scenario_rows())
    return SteppedPolicy(
        policy,
        scheme,
        scope,
        parameter,
        list(_layers(layers)),
        steps_per_epoch,
        list(texts.items()),
    )


def check(text):
    """Checks the properties that every policy must have. Returns dicts of name, holds and detail,
    as `legacy-codec check` prints them."""
    return _legacy.check_policy(text)


def methods():
    """Returns all policies that have options, as dicts: name, help, paper and options."""
    return _legacy.policy_methods()


def names():
    """Returns the names of all policies, with those that follow LEGACY's schedules."""
    return _legacy.policy_names()


def _layers(layers):
    """Yields pairs of name and shape."""
    pairs = layers.items() if isinstance(layers, Mapping) else enumerate(layers)
    for name, shape in pairs:
        if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[0], str):
            name, shape = shape
        yield (name if isinstance(name, str) else f"layer{name}"), list(numpy.atleast_1d(shape))


def _flat(gradient):
    parts = gradient if isinstance(gradient, (list, tuple)) else [gradient]
    return numpy.concatenate([numpy.ravel(floats(part, "gradients")) for part in parts])
