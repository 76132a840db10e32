"""Policies step by step: each layer's parameter, from gradients that the caller has.

    layers = {"conv": (16, 3, 3, 3), "fc": (1000, 64)}
    policy = legacy.policy.make("lgreco", layers, workers=4, steps=100)
    for _ in range(100):
        # The gradient of each worker: a flat array, or a list with an array for each layer.
        result = policy.step(gradients)
        result["parameters"], result["bytes"], result["mean"]
        policy.feedback(loss=1.2, communication_seconds=0.01)

The exchanges are those of a training, with residuals, and so are the policy's own messages.
"""

from collections.abc import Mapping

import numpy

from . import _legacy
from ._text import split_options

__all__ = ["SteppedPolicy", "check", "make", "methods", "names"]


class SteppedPolicy(_legacy.SteppedPolicy):
    """A policy with the exchanges that it steers, as make() makes it."""

    def step(self, gradients=None, *, learning_rate=1.0, latency=10e-6, bandwidth=10e9):
        """The next step, as a dict: `step`, `parameters` of all layers, and with gradients the
        `bytes` and `elements` that were sent for each layer (bytes: of all workers; elements: of
        one), and the `mean` gradient, flat.

        gradients: of each worker a flat array, or a list with an array for each layer. Without them
        the policy is asked, and nothing is exchanged. latency (seconds) and bandwidth (bit/s) are
        what workers take the link for.
        """
        flat = [] if gradients is None else [_flat(gradient) for gradient in gradients]
        return self._step(flat, learning_rate, latency, bandwidth)


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
    """A policy by its name with options, "gravac:eps=0.9", over a scheme, "powersgd".

    layers: sizes or shapes in the model's order, or a dict or pairs of names with them. scope:
    layer, bucket or model. parameter: the scheme's, or what a policy begins with; 0: the density,
    or the scheme's default. options: those of legacy-scenario, by their names: steps, seed,
    density, levels, volume, error_feedback ...
    """
    texts, _ = split_options({"workers": workers, **options})
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
    """What every policy has to fulfil, and whether this one does: dicts of name, holds and detail,
    as `legacy-codec check` prints them."""
    return _legacy.check_policy(text)


def methods():
    """All policies that have options, as dicts: name, help, paper and options."""
    return _legacy.policy_methods()


def names():
    """Names of all policies, with those that follow LEGACY's tables of levels."""
    return _legacy.policy_names()


def _layers(layers):
    """Pairs of name and shape."""
    pairs = layers.items() if isinstance(layers, Mapping) else enumerate(layers)
    for name, shape in pairs:
        if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[0], str):
            name, shape = shape
        yield (name if isinstance(name, str) else f"layer{name}"), list(numpy.atleast_1d(shape))


def _flat(gradient):
    if isinstance(gradient, (list, tuple)):
        return numpy.concatenate([numpy.ravel(part) for part in gradient])
    return numpy.ravel(gradient)
