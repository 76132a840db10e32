"""Connects a model's gradients to the exchanges of a method."""

import dataclasses

import torch
import torch.distributed as dist

from . import _carry, _checks, _fully_sharded
from ._handle import Handle
from ._trace import Recorder
from ._training import hook
from .. import exchange
from .._legacy import Error


@dataclasses.dataclass
class Settings:
    """What a handle is made from."""

    method: str  # scheme and policy with their options
    names: list
    parameters: list
    named_parameters: object  # of the model now
    traits: dict
    seed: int
    steps_per_epoch: int
    optimizer: object
    scaler: object
    sums: str
    on_nonfinite: str
    overlap: bool
    group: object  # of messages
    model_group: object
    device: object
    recorder: object = None
    static_no_sync: bool = True


def compress(
    model,
    scheme="topk@1%",
    *,
    policy="uniform",
    error_feedback=True,
    record=None,
    method=None,
    metrics=None,
    seed=1,
    total_steps=0,
    steps_per_epoch=1,
    optimizer=None,
    scaler=None,
    sums="library",
    unit="parameter",
    overlap=True,
    unused="refuse",
    on_nonfinite="raise",
    group=None,
    **options,
):
    """Compresses the gradients of `model` from its next backward pass on, and returns a Handle.
    Call it on all ranks, before the first backward pass.

    model: a DistributedDataParallel, or FSDP with NO_SHARD. scheme: "topk:index=u32+rbf@1%", as in
    docs/compressors.md. policy: chooses each unit's parameter ("legacy-both", "lgreco", "gravac").
    record: path of a trace for legacy-replay; `method` is its name there, and `metrics` as for
    DdpTraceRecorder. total_steps: length of the training, which most policies need. optimizer: its
    learning rate rescales residuals. scaler: a GradScaler. sums: "library" adds up fp32 values by
    all-reduce; "ordered" adds messages in the order of ranks, to the simulator's bits. unit: what
    is compressed as one piece: parameter, bucket (of the simulator's plan) or model. overlap: True
    exchanges on a thread while the backward pass runs. unused: "allow" permits
    find_unused_parameters. on_nonfinite: what NaN and infinity do: "raise" at all ranks, "zero" the
    update of that unit, or "trust" that there are none. group: default: the model's. options: those
    of legacy-scenario, by their names: density, levels, rescale_residuals ...

    Raises legacy.Error, at all ranks where the reason is one rank's.
    """
    _fully_sharded.refuse_sharded(model)
    _choice("sums", sums, ("library", "ordered"))
    _choice("on_nonfinite", on_nonfinite, ("raise", "zero", "trust"))
    _checks.refuse_optimizers(scheme)
    _checks.check_steps(policy, total_steps)
    fsdp = _fully_sharded.is_wrapped(model)
    if not (fsdp or isinstance(model, torch.nn.parallel.DistributedDataParallel)):
        raise Error(
            f"model: got '{type(model).__name__}'; allowed: DistributedDataParallel, or FSDP with "
            "NO_SHARD"
        )
    _checks.check_model(model, unused)
    model_group = model.process_group
    _checks.check_world(group)
    used = model_group if group is None else group
    named = _fully_sharded.flat_parameters if fsdp else _parameters
    layers = named(model)
    if not layers:
        raise Error("model: got no parameters with gradients; allowed: at least one")
    core = exchange.open(
        scheme,
        [(name, tuple(parameter.shape) or (1,)) for name, parameter in layers],
        dist.get_world_size(used),
        policy=policy,
        unit=unit,
        steps_per_epoch=steps_per_epoch,
        seed=seed,
        error_feedback=error_feedback,
        **({"steps": total_steps} if total_steps > 0 else {}),
        **options,
    )
    traits = core.traits
    if traits["exchanges_momentum"]:
        _checks.refuse_optimizers("onebit-adam")
    _checks.check_momentum(traits, optimizer, scheme)
    device = layers[0][1].device
    own = None if fsdp or not overlap else _carry.own_group(used, True)
    overlaps = own is not None
    settings = Settings(
        method=f"{scheme} {policy} {unit} {core.description} {sorted(options.items())}",
        names=[name for name, _ in layers],
        parameters=[parameter for _, parameter in layers],
        named_parameters=named,
        traits=traits,
        seed=seed,
        steps_per_epoch=steps_per_epoch,
        optimizer=optimizer,
        scaler=scaler,
        sums=sums,
        on_nonfinite=on_nonfinite,
        overlap=overlaps,
        group=own if overlaps else used,
        model_group=used,
        device=device,
    )
    carrier = _carry.Carrier(settings.group, device)
    same = [settings.method, f"seed {seed}", f"sums {sums}", f"on_nonfinite {on_nonfinite}"]
    same += [f"{name} {tuple(parameter.shape)}" for name, parameter in layers]
    _checks.same_everywhere(carrier, "\n".join(same), "compress")
    if getattr(model, "static_graph", False):
        settings.static_no_sync = _checks.static_graph_accumulates(used)
    if record is not None:
        if fsdp:
            raise Error("record: got a path with FSDP; allowed: with DistributedDataParallel")
        name = method or (scheme if policy == "uniform" else f"{policy} {scheme}")
        settings.recorder = Recorder(record, model, name.replace(" ", "-"), metrics)
    handle = Handle(model, core, settings)
    if fsdp:
        model.register_comm_hook(handle, _fully_sharded.take_flat)
    else:
        model.register_comm_hook(handle, hook)
        model.register_forward_pre_hook(lambda *_: handle.forward() if _trains() else None)
    return handle


def _trains():
    return torch.is_grad_enabled()


def _parameters(model):
    return [(n, p) for n, p in model.module.named_parameters() if p.requires_grad]


def _choice(name, value, allowed):
    if value not in allowed:
        raise Error(f"{name}: got '{value}'; allowed: {', '.join(allowed)}")
