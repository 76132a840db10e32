"""Models of FullyShardedDataParallel and fully_shard. Attributes tell what a model is, because
versions of PyTorch differ."""

from .._legacy import Error

_SHARDED = (
    "model: got sharded parameters; allowed: DistributedDataParallel, or FSDP with NO_SHARD, as "
    "reduce-scatter is not compressed"
)


def is_wrapped(model):
    """Returns whether a model is a FullyShardedDataParallel (PyTorch 1.11 on)."""
    return hasattr(model, "register_comm_hook") and hasattr(model, "sharding_strategy")


def refuse_sharded(model):
    """Refuses a model that went through fully_shard (PyTorch 2.4 on)."""
    if hasattr(model, "unshard") and hasattr(model, "set_requires_gradient_sync"):
        raise Error(_SHARDED)


def flat_parameters(model):
    """Returns the flat parameters of a FullyShardedDataParallel, which are its units."""
    if getattr(model.sharding_strategy, "name", "") != "NO_SHARD":
        raise Error(_SHARDED)
    return [(n, p) for n, p in model.named_parameters() if p.requires_grad]


def take_flat(training, gradient):
    """Is the hook of NO_SHARD: it changes the gradient of a flat parameter in place."""
    training.take_alone(training.layer_of_gradient(gradient), gradient)
