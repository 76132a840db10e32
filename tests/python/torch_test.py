"""Checks legacy.torch against the simulator, over gloo on this machine."""

import csv
import os
import re
import subprocess
import tempfile
import unittest

import testing
import ranks

import numpy
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import legacy
import legacy.torch
from legacy import policy

SHAPES = {"conv": (8, 3, 3, 3), "bias": (8,), "fc": (40, 50), "one": (1,)}
NUMEL = 216 + 8 + 2000 + 1


class Given(torch.nn.Module):
    """A model whose gradient is what it is given."""

    def __init__(self, shapes=None):
        super().__init__()
        for name, shape in (shapes or SHAPES).items():
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))

    def forward(self, gradient):
        parts = gradient.split([p.numel() for p in self.parameters()])
        pairs = zip(self.parameters(), parts)
        return sum((p * part.view(p.shape)).sum() for p, part in pairs)


def given(step, rank, numel=NUMEL):
    generator = numpy.random.default_rng(100 * step + rank)
    gradient = generator.standard_normal(numel).astype(numpy.float32) * numpy.float32(1 + rank)
    gradient[::7] = 0
    return gradient


def flat_gradient(model):
    return torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy().copy()


def ddp(model=None, **options):
    dist._DEFAULT_FIRST_BUCKET_BYTES = 512  # several buckets of small models
    return DistributedDataParallel(model or Given(), **options)


def backward(model, rank, step, numel=NUMEL):
    """Makes a step and returns the mean gradient."""
    model.zero_grad(set_to_none=True)
    model(torch.from_numpy(given(step, rank, numel))).backward()
    return flat_gradient(model)


def compressed(scheme="topk@5%", model=None, ddp_options=None, **options):
    made = ddp(model, **(ddp_options or {}))
    return made, legacy.torch.compress(made, scheme, **options)


def failure(call):
    """Returns the text of what a call raises."""
    try:
        call()
    except (RuntimeError, ValueError) as error:
        return str(error)
    return "nothing was raised"


class Optimizer(torch.optim.SGD):
    """Changes no weights, as the gradients do not depend on them."""

    def __init__(self, model, rate, **options):
        super().__init__(model.parameters(), lr=rate, **options)


def against_the_simulator(rank, scheme, method, options):
    """Trains with the hook and with legacy.policy on the same gradients."""
    workers, steps = dist.get_world_size(), 20
    optimizer = None
    bridge = {key: value for key, value in options.items() if key in ("overlap", "unit")}
    shared = {key: value for key, value in options.items() if key not in bridge}
    made, handle = compressed(
        scheme,
        ddp_options={"bucket_cap_mb": 0.001},
        policy=method,
        sums="ordered",
        seed=3,
        total_steps=steps,
        optimizer=(optimizer := Optimizer(ddp(), 0.1)),
        **bridge,
        **shared,
    )
    name, _, parameter = scheme.partition("@")
    expected = policy.make(
        method,
        SHAPES,
        scheme=name,
        parameter=parameter or 0.0,
        scope={"parameter": "layer"}.get(options.get("unit", "parameter"), options.get("unit")),
        workers=workers,
        steps=steps,
        seed=3,
        **shared,
    )
    for step in range(steps):
        if step == 10:
            optimizer.param_groups[0]["lr"] = 0.05
        rate = optimizer.param_groups[0]["lr"]
        mean = backward(made, rank, step)
        result = expected.step(
            [given(step, r) for r in range(workers)], learning_rate=rate, keep_messages=True
        )
        assert numpy.array_equal(mean, result["mean"]), (scheme, method, step)
        own = [0] * len(expected.names)
        for message in result["messages"]:
            if message["worker"] == rank and message["unit"] is not None:
                own[message["unit"]] += len(message["message"])
        assert list(map(handle.bytes.get, expected.names)) == own, (scheme, step, handle.bytes, own)
        handle.feedback(loss=1.0)
        expected.feedback(loss=1.0)
    assert handle.step_number == steps
    assert handle.total["messages"] > handle.total["headers"] > 0
    return [handle.bytes, handle.total]


def small_cnn():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 25, 10),
    )


def loss_of(net, step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    images = torch.randn(8, 1, 12, 12, generator=generator)
    labels = torch.randint(10, (8,), generator=generator)
    return torch.nn.functional.cross_entropy(net(images), labels)


def against_one_process(rank):
    """Trains with the hook, and with the simulator's exchanges in one process. Returns the largest
    difference of a weight."""
    workers, steps = dist.get_world_size(), 20
    net = small_cnn()
    made = ddp(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    handle = legacy.torch.compress(made, "topk@5%", sums="ordered", optimizer=optimizer)
    other = small_cnn()
    shapes = {name: tuple(p.shape) for name, p in other.named_parameters()}
    simulated = policy.make("uniform", shapes, parameter="5%", workers=workers, steps=steps)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(made, step, rank).backward()
        optimizer.step()
        handle.feedback()
        gradients = []
        for worker in range(workers):
            other.zero_grad(set_to_none=True)
            loss_of(other, step, worker).backward()
            gradients.append(flat_gradient(other))
        result = simulated.step(gradients, learning_rate=0.1)
        parts = torch.from_numpy(result["mean"]).split([p.numel() for p in other.parameters()])
        with torch.no_grad():
            for parameter, part in zip(other.parameters(), parts):
                parameter.add_(part.view(parameter.shape), alpha=-0.1)
        own = [workers * handle.bytes[name] for name in shapes]
        assert own == result["bytes"].tolist()
    pairs = zip(net.parameters(), other.parameters())
    return max(float((one - two).abs().max().detach()) for one, two in pairs)


def recorded(rank, scheme, method, overlap, trace):
    """Records a training. Returns the bytes of each step's messages, with those of an agreement."""
    net = small_cnn()
    made = ddp(net, bucket_cap_mb=0.0005)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    handle = legacy.torch.compress(
        made,
        scheme,
        policy=method,
        total_steps=12,
        record=trace,
        overlap=overlap,
        optimizer=optimizer,
    )
    sent = []
    for step in range(6):
        optimizer.zero_grad()
        loss = loss_of(made, step, rank)
        loss.backward()
        optimizer.step()
        handle.feedback(loss=loss.item())
        sent.append(sum(handle.bytes.values()) + handle.policy_bytes)
    handle.feedback(accuracy=0.5)
    handle.close()
    return sent


class ExactTest(unittest.TestCase):
    def test_hooks_send_and_decode_what_the_simulator_does(self):
        cases = [
            ("topk@5%", "uniform", {}),
            ("topk@5%", "uniform", {"overlap": False}),
            ("threshold@1.5", "uniform", {}),
            ("powersgd@2", "uniform", {}),
            ("ar-topk@5%", "uniform", {}),
            ("dgc@5%", "uniform", {"momentum": 0.9}),
            ("qsgd", "uniform", {}),
            ("topk@5%", "legacy-both", {}),
            ("topk@5%", "lgreco:period=4,start=2", {}),
            ("topk@5%", "accordion:interval_steps=3", {}),
            ("topk@5%", "uniform", {"unit": "model"}),
        ]
        for scheme, method, options in cases:
            with self.subTest(scheme, policy=method, **options):
                told = ranks.run(3, against_the_simulator, scheme, method, options)
                if scheme.startswith("threshold"):
                    self.assertGreater(len({str(sizes) for sizes, _ in told}), 1)
                    self.assertGreater(max(total["padding"] for _, total in told), 0)

    def test_trainings_have_the_simulators_weights_and_bytes(self):
        for workers in (2, 4):
            for different in ranks.run(workers, against_one_process):
                # Equal bits, as both compute on one thread by the same library.
                self.assertEqual(different, 0.0)

    def test_traces_replay_with_the_bytes_of_the_hook(self):
        cases = [
            ("topk@5%", "uniform", True),
            ("threshold@1.5", "uniform", False),
            ("powersgd@2", "uniform", True),
            ("topk@5%", "gravac:window=3", True),
            ("topk@5%", "accordion:interval_steps=2", True),
        ]
        for scheme, method, overlap in cases:
            with self.subTest(scheme, policy=method), tempfile.TemporaryDirectory() as folder:
                trace = os.path.join(folder, "run.trace")
                sent = ranks.run(3, recorded, scheme, method, overlap, trace)
                self.check_trace(trace, sent)
                self.check_replay(trace, sent, folder, method.startswith("accordion"))

    def check_trace(self, trace, sent):
        """Compares the sends of each step with what each rank's handle said."""
        with open(trace, encoding="utf-8") as file:
            steps = file.read().split("\nstep\n")[1:]
        self.assertEqual(len(steps), len(sent[0]))
        for number, step in enumerate(steps):
            self.assertRegex(step, r"\n    encode \S+")
            self.assertRegex(step, r"\n    decode \S+")
            for rank in range(3):
                total = 0
                for way, sizes in re.findall(r"\n    send (\S+) (.*)", step):
                    if way == "broadcast":
                        continue  # what the policy announces, which ranks learn a step later
                    sizes = sizes.split()
                    total += int(sizes[rank if len(sizes) > 1 else 0])
                self.assertEqual(total, sent[rank][number], (number, rank))

    def check_replay(self, trace, sent, folder, announces):
        out = os.path.join(folder, "out")
        command = [testing.PROGRAMS[0], trace, "--fidelity=analytic", "--topo=star"]
        command += ["--pictures=off", f"--out={out}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(out, "steps.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for number, row in enumerate(rows):
            mean = sum(of_rank[number] for of_rank in sent) / len(sent)
            announced = 22 if announces else 0  # at most: a header and a byte for each unit
            self.assertAlmostEqual(float(row["message_bytes"]), mean, delta=0.51 + announced)
            self.assertGreater(float(row["decode_seconds"]), 0)


if __name__ == "__main__":
    testing.main()
