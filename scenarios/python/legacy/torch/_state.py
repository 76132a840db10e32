"""States of a compressed training: residuals by parameter, policy and step, for checkpoints."""

import os

import torch

from . import _carry
from .._legacy import Error

VERSION = 1


def of_handle(handle):
    """Returns the state of this rank, of tensors, numbers and texts alone."""
    core, rank = handle.core, handle.carrier.rank
    units = {}
    for unit, name in enumerate(core.names):
        shared, own = core.save(unit, rank)
        units[name] = {
            "elements": core.offsets[unit][1],
            "shared": _carry.bytes_tensor(shared),
            "own": _carry.bytes_tensor(own),
        }
    return {
        "version": VERSION,
        "method": handle.settings.method,
        "seed": handle.settings.seed,
        "rank": rank,
        "ranks": handle.carrier.size,
        "step": handle.step_number,
        "rate": core.last_rate,
        "units": units,
        "policy": _carry.bytes_tensor(core.save_policy()),
        "announced": _carry.bytes_tensor(handle.announced()),
    }


def load(handle, state, world):
    if world not in ("strict", "spread"):
        raise Error(f"world: got '{world}'; allowed: strict, spread")
    states = list(state) if isinstance(state, (list, tuple)) else [state]
    for one in states:
        _check(handle, one)
    if world == "strict":
        _load_own(handle, states)
    else:
        _load_mean(handle, states)


def _check(handle, state):
    """Refuses the state of another training, before anything is changed."""
    expected = {
        "version": VERSION,
        "method": handle.settings.method,
        "seed": handle.settings.seed,
    }
    for key, value in expected.items():
        if state.get(key) != value:
            raise Error(f"state: {key}: got '{state.get(key)}'; allowed: {value}")
    core = handle.core
    sizes = dict(zip(core.names, (numel for _, numel in core.offsets)))
    found = {name: unit["elements"] for name, unit in state["units"].items()}
    for name in [*sizes, *found]:
        if sizes.get(name) != found.get(name):
            raise Error(
                f"state: {name}: got {found.get(name, 'no')} elements; allowed: "
                f"{sizes.get(name, 'none')}"
            )


def _load_own(handle, states):
    size, rank = handle.carrier.size, handle.carrier.rank
    state = next((one for one in states if one["rank"] == rank), states[0])
    if state["ranks"] != size:
        raise Error(
            f"state: got that of {state['ranks']} ranks; allowed: {size}, or world='spread' with "
            "the states of all ranks"
        )
    if state["rank"] != rank:
        raise Error(f"state: got that of rank {state['rank']}; allowed: {rank}, each rank's own")
    for unit, name in enumerate(handle.core.names):
        saved = state["units"][name]
        handle.core.load(unit, rank, _bytes(saved["shared"]), _bytes(saved["own"]))
    _load_rest(handle, state)


def _load_mean(handle, states):
    """Gives this rank the mean of all ranks' residuals, so that the mean over the ranks is kept."""
    ranks = sorted(state["rank"] for state in states)
    if ranks != list(range(states[0]["ranks"])):
        raise Error(
            f"state: got those of ranks {ranks}; allowed: all of {states[0]['ranks']}, once"
        )
    states = sorted(states, key=lambda state: state["rank"])
    for unit, name in enumerate(handle.core.names):
        saved = [state["units"][name] for state in states]
        own = [_bytes(one["own"]) for one in saved]
        handle.core.load_mean(unit, handle.carrier.rank, _bytes(saved[0]["shared"]), own)
    _load_rest(handle, states[0])


def _load_rest(handle, state):
    handle.core.load_policy(_bytes(state["policy"]))
    handle.core.last_rate = state["rate"]
    handle.go_on(state["step"], _bytes(state["announced"]))


def _bytes(tensor):
    return bytes(tensor.numpy())


def save(handle, folder):
    """Writes the states of all ranks to a folder that all of them see; called on all ranks."""
    os.makedirs(folder, exist_ok=True)
    path = _path(folder, handle.carrier.rank)
    torch.save(handle.state_dict(), path + ".part")
    os.replace(path + ".part", path)
    handle.carrier.gather(torch.zeros(1))  # all are written


def load_folder(handle, folder, world="strict"):
    """Restores what save() wrote; called on all ranks."""
    first = _read(folder, 0)
    if world == "strict" and first["ranks"] == handle.carrier.size:
        return handle.load_state_dict(_read(folder, handle.carrier.rank), world)
    states = [first, *(_read(folder, rank) for rank in range(1, first["ranks"]))]
    return handle.load_state_dict(states, world)


def _path(folder, rank):
    return os.path.join(folder, f"legacy-rank{rank}.pt")


def _read(folder, rank):
    path = _path(folder, rank)
    if not os.path.exists(path):
        raise Error(f"{path}: no such file; allowed: a folder that legacy.torch.save() filled")
    return torch.load(path, map_location="cpu")
