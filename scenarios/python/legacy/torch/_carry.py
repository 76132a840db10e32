"""Carries messages between ranks, by the collective calls of torch.distributed."""

import os
import time

import torch
import torch.distributed as dist

from .._legacy import Error


class Carrier:
    """Collective calls of one group, on tensors in host memory. With NCCL they travel through the
    device `device`."""

    def __init__(self, group, device=None):
        self.group = group
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)
        self.seconds = 0.0  # of all calls so far
        self.place = "step 0"  # where the training is, for messages
        self._device = device if dist.get_backend(group) == "nccl" else None

    def gather(self, own):
        """Returns the tensors of all ranks, of one length, as rows."""
        there = self._there(own)
        rows = torch.empty((self.size, *there.shape), dtype=there.dtype, device=there.device)
        self._call(lambda: dist.all_gather(list(rows.unbind(0)), there, group=self.group))
        return self._back(rows)

    def add(self, values):
        """Adds up the tensors of all ranks in place."""
        there = self._there(values)
        self._call(lambda: dist.all_reduce(there, group=self.group))
        if there is not values:
            values.copy_(there)

    def broadcast(self, values, root):
        """Gives the tensor of rank `root` of the group to all, in place."""
        there = self._there(values)
        source = root if self.group is None else _global_rank(self.group, root)
        self._call(lambda: dist.broadcast(there, source, group=self.group))
        if there is not values:
            values.copy_(there)

    def texts(self, own):
        """Returns the text of each rank, of any length."""
        data = own.encode()
        lengths = self.gather(torch.tensor([len(data)]))[:, 0].tolist()
        padded = bytes_tensor(data.ljust(max(lengths), b"\0"))
        rows = self.gather(padded) if max(lengths) else []
        if not max(lengths):
            return [""] * self.size
        return [bytes(row[:n].tolist()).decode() for row, n in zip(rows, lengths)]

    def _there(self, values):
        return values if self._device is None else values.to(self._device)

    def _back(self, values):
        return values if self._device is None else values.cpu()

    def _call(self, call):
        begin = time.perf_counter()
        try:
            call()
            if self._device is not None:
                torch.cuda.synchronize(self._device)
        except RuntimeError as error:
            raise Error(
                f"rank {self.rank}, {self.place}: a collective call failed; {self._suspects()}: "
                f"{error}"
            ) from error
        self.seconds += time.perf_counter() - begin

    def _suspects(self):
        """Names the ranks to look at: those that do not say that a call failed there as well."""
        try:
            store = dist.distributed_c10d._get_default_store()
            store.set(f"legacy/failed/{self.rank}", self.place)
            others = [rank for rank in range(self.size) if rank != self.rank]
            missing = others
            for _ in range(20):
                missing = [r for r in missing if not store_has(store, f"legacy/failed/{r}")]
                if not missing:
                    break
                time.sleep(0.1)
        except RuntimeError as error:  # the process that keeps the store has ended
            return f"look at rank 0, whose store does not answer ({error})"
        if not missing:
            return "it failed at all ranks"
        return f"look at rank {', '.join(map(str, missing))}, which did not take part"


def store_has(store, key):
    """Returns whether a store has a key, without waiting for it."""
    return store.compare_set(key, "", "") != b""


def bytes_tensor(data):
    """Returns bytes as a tensor."""
    if not data:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def own_group(group, wanted):
    """Returns a group of its own for a thread of the bridge, of the ranks of `group`; or `group`
    where none can be made, because processes outside of it would have to help."""
    if not wanted:
        return group
    ranks = group_ranks(group)
    if len(ranks) == dist.get_world_size():
        return dist.new_group(ranks, backend=dist.get_backend(group))
    try:
        return dist.new_group(ranks, use_local_synchronization=True)
    except TypeError:  # before PyTorch 2.1
        return None


def group_ranks(group):
    """Returns the global ranks of a group, in order."""
    return [_global_rank(group, rank) for rank in range(dist.get_world_size(group))]


def _global_rank(group, rank):
    for name in ("get_global_rank", "_get_global_rank"):
        if hasattr(dist, name):
            return getattr(dist, name)(group, rank)
    return dist.distributed_c10d._get_global_rank(group, rank)


def restarted():
    """Returns whether torchrun started this process after a failure."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") or 0) > 0
