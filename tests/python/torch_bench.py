#!/usr/bin/env python3
"""legacy-torch-bench: times the hook of legacy.torch against PyTorch's own, on one thread.

    PYTHONPATH=build/release/python /usr/bin/python3 tests/python/torch_bench.py [--runs=5]

Prints medians of processor time, which other programs of the machine disturb least. There is one
rank, so that nothing travels: these are the times of codecs and of the bridge. Ratios are PyTorch's
time divided by the bridge's.
"""

import argparse
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import legacy.torch

LARGE = 25_600_000
MATRICES = [(2048, 2048)] * 6
SMALL = [(64,)] * 161  # as many tensors as a ResNet-50 has


class Weights(torch.nn.Module):
    """A model whose gradients are normal numbers: its passes cost little."""

    def __init__(self, shapes):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(s)) for s in shapes)
        self.noise = [torch.randn(s) for s in shapes]

    def forward(self, scale):
        return sum((w * n).sum() * scale for w, n in zip(self.weights, self.noise))


class TopKState:
    def __init__(self, density):
        self.density = density
        self.residuals = {}


def topk_hook(state, bucket):
    """Top-K with error feedback as hooks of PyTorch are written, by torch.topk."""
    gradient = bucket.buffer()
    residual = state.residuals.setdefault(bucket.index(), torch.zeros_like(gradient))
    residual += gradient
    k = max(1, int(state.density * gradient.numel()))
    _, positions = residual.abs().topk(k)
    values = residual[positions]
    residual[positions] = 0
    size = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(size)]
    all_positions = [torch.empty_like(positions) for _ in range(size)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_positions, positions)
    gradient.zero_()
    for some, at in zip(all_values, all_positions):
        gradient.index_add_(0, at, some)
    gradient /= size
    done = torch.futures.Future()
    done.set_result(gradient)
    return done


def steps(shapes, register, runs):
    """Returns the median seconds of a step, after two that warm up."""
    torch.manual_seed(1)
    model = DistributedDataParallel(Weights(shapes), bucket_cap_mb=25)
    register(model)
    scale = torch.tensor(1.0)
    times = []
    for _ in range(runs + 2):
        model.zero_grad(set_to_none=True)
        loss = model(scale)
        begin = time.process_time()
        loss.backward()
        times.append(time.process_time() - begin)
    return statistics.median(times[2:])


def own(scheme, **options):
    return lambda model: legacy.torch.compress(model, scheme, overlap=False, **options)


def theirs(hook, state=None):
    return lambda model: model.register_comm_hook(state() if state else None, hook)


def power_state():
    return powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2)


def show(name, seconds, base, against=None):
    ratio = "" if against is None else f"{(against - base) / (seconds - base):8.2f}x"
    print(f"{name:44} {1e3 * seconds:10.2f} ms {1e3 * (seconds - base):10.2f} ms {ratio}")


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=5)
    runs = options.parse_args().runs
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
        print(f"{'backward pass with':44} {'median':>13} {'of the hook':>13} {'ratio':>9}")
        nothing = theirs(nothing_hook)
        base = steps([(LARGE,)], nothing, runs)
        show("25.6 M values, a hook that does nothing", base, base)
        slow = steps([(LARGE,)], theirs(topk_hook, lambda: TopKState(0.01)), runs)
        show("  Top-K 1 % by torch.topk", slow, base)
        show("  topk@1%", steps([(LARGE,)], own("topk@1%"), runs), base, slow)
        show("  topk@1%, on_nonfinite=trust",
             steps([(LARGE,)], own("topk@1%", on_nonfinite="trust"), runs), base, slow)
        dense = steps([(LARGE,)], theirs(default_hooks.allreduce_hook), runs)
        show("  allreduce_hook", dense, base)
        base = steps(MATRICES, nothing, runs)
        show("six 2048 x 2048 matrices, nothing", base, base)
        slow = steps(MATRICES, theirs(powerSGD_hook.powerSGD_hook, power_state), runs)
        show("  powerSGD_hook, rank 4", slow, base)
        show("  powersgd@4", steps(MATRICES, own("powersgd@4"), runs), base, slow)
        base = steps(SMALL, nothing, runs)
        show("161 tensors of 64 values, nothing", base, base)
        ours = steps(SMALL, own("topk@10%"), runs)
        show("  topk@10%", ours, base)
        print(f"  of which for each tensor: {1e6 * (ours - base) / len(SMALL):.1f} us")
        dist.destroy_process_group()


def nothing_hook(state, bucket):
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


if __name__ == "__main__":
    main()
