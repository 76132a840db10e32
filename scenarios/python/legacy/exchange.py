"""Exchanges of one rank over memory of the caller, who carries the messages between the ranks.

    made = legacy.exchange.open("topk@1%", {"conv": (16, 3, 3, 3), "fc": (1000, 64)}, workers=4)
    step = (number, learning_rate, latency, bandwidth)
    parameters, candidates, estimate, _ = made.decide(step)
    made.begin(step, parameters, candidates, estimate)
    made.encode(rank, units, addresses)             # addresses of contiguous float32 memory
    while calls := made.calls(units):               # (unit, way, root, sums, lengths)
        made.lengths(units); made.pack(units, to)   # own messages, one after the other
        made.accumulate(worker, units, lengths, at) # those of each worker, in order
        made.finish(units)
        made.encode(rank, units)                    # of the next call
    made.mean(units, addresses)

legacy.torch drives this for a training of PyTorch; nothing here needs PyTorch, and the memory may
be anyone's. Messages and means are those of the simulator: they depend on the seed, the step, the
rank and the position of the unit alone. Long calls let other threads run, and those for other units
may run at the same time.
"""

from . import _legacy
from ._legacy import Exchange, StepTimes
from ._text import scenario_rows, split_options
from .policy import _layers

__all__ = ["Exchange", "StepTimes", "open", "schemes"]

SCOPES = {"parameter": "layer", "bucket": "bucket", "model": "model"}


def open(  # noqa: A001
    scheme,
    units,
    workers,
    *,
    policy="uniform",
    parameter=0.0,
    unit="parameter",
    steps_per_epoch=1,
    **options,
):
    """Opens the exchanges of a rank among `workers`.

    scheme: a text with its parameter, "topk:index=u32+rbf@1%". units: sizes or shapes in the
    model's order, or a dict or pairs of names with sizes or shapes. policy: chooses parameters
    ("legacy-layer", "gravac:eps=0.9"). unit: what is compressed as one piece: parameter, bucket or
    model. options: those of legacy-scenario, by their names: steps, seed, error_feedback ...
    """
    name, at, text = scheme.partition("@")
    if at and parameter:
        raise _legacy.Error(f"scheme: got '{scheme}' and a parameter; allowed: one of them")
    if unit not in SCOPES:
        raise _legacy.Error(f"unit: got '{unit}'; allowed: {', '.join(SCOPES)}")
    texts, _ = split_options({"workers": workers, **options}, scenario_rows())
    return Exchange(
        policy,
        name,
        SCOPES[unit],
        text if at else parameter,
        list(_layers(units)),
        steps_per_epoch,
        list(texts.items()),
        workers,
    )


def schemes():
    """Returns the names with which a scheme can begin."""
    return _legacy.scheme_names()
