"""Checks which times the recorder of DDP trainings counts, with a clock that the test sets and the
few parts of PyTorch that the recorder uses, in the place of torch.

Usage: record_ddp_steps_test.py RECORDER
"""

import importlib.util
import json
import os
import sys
import tempfile
import types


class Clock:
    """Stands for the time module."""

    now = 100.0

    def perf_counter(self):
        return Clock.now


class Future:
    def __init__(self, value):
        self._value = value

    def value(self):
        return self._value

    def then(self, call):
        return Future(call(self))


class Gradient:
    def element_size(self):
        return 4

    def numel(self):
        return 10

    def div_(self, by):
        return self


class Bucket:
    def buffer(self):
        return Gradient()

    def parameters(self):
        return [Parameter()]


class Parameter:
    requires_grad, is_cuda, shape = True, False, (2, 5)

    def data_ptr(self):
        return 1


class Net:
    """A module, or the DistributedDataParallel around one."""

    process_group = None

    def __init__(self, module=None):
        self.module, self._hooks = module, []

    def named_parameters(self):
        return [("weight", Parameter())]

    def register_forward_pre_hook(self, hook):
        self._hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: self._hooks.remove(hook))

    def forward(self):
        for hook in self._hooks:
            hook(self, ())
        if self.module is not None:
            self.module.forward()


def load_recorder(path):
    torch = types.ModuleType("torch")
    torch.gradients = True
    torch.is_grad_enabled = lambda: torch.gradients
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.get_rank = lambda group: 0
    torch.distributed.get_world_size = lambda group: 1
    torch.distributed.barrier = lambda group: None
    torch.distributed.all_reduce = lambda gradient, group, async_op: types.SimpleNamespace(
        get_future=lambda: Future([gradient]))
    sys.modules.update({"torch": torch, "torch.distributed": torch.distributed})
    spec = importlib.util.spec_from_file_location("record_ddp_trace", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.time = Clock()
    return module, torch


class Training:
    """Trains with steps of 1 ms of computing and 1 ms of the optimizer."""

    def __init__(self, module, torch, path, **options):
        self._torch, self._model = torch, Net(Net())
        self.recorder = module.DdpTraceRecorder(path, self._model, **options)

    def step(self):
        self._model.forward()
        Clock.now += 1e-3
        self.recorder.hook(self.recorder, Bucket())
        Clock.now += 1e-3

    def evaluate(self, inner=False):
        self._torch.gradients = False
        (self._model.module if inner else self._model).forward()
        self._torch.gradients = True
        Clock.now += 1.0


def computes(trace):
    with open(trace, encoding="utf-8") as file:
        return [float(line.split()[1]) for line in file if line.startswith("  compute ")]


def check_times(module, torch, folder):
    """An evaluation of a second between steps of 1 ms counts nowhere, whatever the order."""
    path = os.path.join(folder, "times.trace")
    for order in ("ended first", "evaluated first", "evaluated inside"):
        training = Training(module, torch, path)
        for _ in range(3):
            training.step()
            if order == "ended first":
                training.recorder.end_step(loss=0.5)
            training.evaluate(inner=order == "evaluated inside")
            if order != "ended first":
                training.recorder.end_step(loss=0.5)
            training.recorder.evaluated(accuracy=0.25, test_loss=2)
        training.recorder.close()
        assert [round(t, 6) for t in computes(path)] == [0.001, 0.002, 0.002], (
            order, computes(path))
        with open(path, encoding="utf-8") as file:
            trace = file.read()
        assert trace.count("  loss 0.5\n  accuracy 0.25 2.0\n") == 3, order
        assert "layer weight 2x5\n" in trace, trace


def check_places(module, torch, folder):
    """An evaluation belongs to the step before it, with end_step and without."""
    path = os.path.join(folder, "places.trace")
    for ends in (True, False):
        training = Training(module, torch, path, metrics={"perplexity": "lower"})
        try:
            training.recorder.evaluated(accuracy=1)
            raise AssertionError("an evaluation before the first step was taken")
        except RuntimeError as error:
            assert "evaluated: no gradients" in str(error), error
        for number in range(4):
            training.step()
            if ends:
                training.recorder.end_step()
            if number == 1:
                training.recorder.evaluated(metrics={"perplexity": 118.5})
        try:
            training.recorder.evaluated(metrics={"bleu": 1})
            raise AssertionError("an unknown metric was taken")
        except ValueError as error:
            assert "allowed: those given to DdpTraceRecorder: perplexity" in str(error), error
        training.recorder.close()
        with open(path, encoding="utf-8") as file:
            steps = file.read().split("\nstep\n")[1:]
        assert ["perplexity" in step for step in steps] == [False, True, False, False], steps


def check_parts(module, torch, folder):
    """Parts have each step once nothing more can be said about it."""
    path = os.path.join(folder, "parts.trace")
    training = Training(module, torch, path)
    lengths = []
    for _ in range(3):
        training.step()
        training.recorder.end_step()
        with open(path + ".rank0", encoding="utf-8") as file:
            lengths.append(len([json.loads(line) for line in file]))
    assert lengths == [1, 2, 3], lengths
    training.recorder.close()


def main():
    module, torch = load_recorder(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_times(module, torch, folder)
        check_places(module, torch, folder)
        check_parts(module, torch, folder)


if __name__ == "__main__":
    main()
