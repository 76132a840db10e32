"""Checks what legacy.torch does in the hard cases of trainings, over gloo on this machine."""

import os
import tempfile
import time
import unittest
import warnings

import testing
import ranks

import numpy
import torch
import torch.distributed as dist
from torch_test import (
    SHAPES,
    Given,
    Optimizer,
    backward,
    compressed,
    ddp,
    failure,
    flat_gradient,
    given,
)

import legacy
import legacy.torch
from legacy import policy


def means(scheme, steps, workers, gradient=given, **options):
    """Returns the simulator's mean of each step."""
    name, _, parameter = scheme.partition("@")
    made = policy.make(
        "uniform", SHAPES, scheme=name, parameter=parameter, workers=workers, steps=steps, **options
    )
    return [
        made.step([gradient(step, rank) for rank in range(workers)])["mean"]
        for step in range(steps)
    ]


def accumulates(rank):
    made, _ = compressed(sums="ordered")
    wanted = means("topk@5%", 2, 2, lambda step, r: given(step, r) + given(step + 50, r))
    for step in range(2):
        made.zero_grad(set_to_none=True)
        with made.no_sync():
            made(torch.from_numpy(given(step, rank))).backward()
        made(torch.from_numpy(given(step + 50, rank))).backward()
        assert numpy.array_equal(flat_gradient(made), wanted[step]), step


def unused(rank):
    options = {"find_unused_parameters": True}
    refused = failure(lambda: compressed(ddp_options=options))
    assert "find_unused_parameters: got True" in refused, refused
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made, handle = compressed(ddp_options=options, unused="allow")
    assert any("no rank used" in str(one.message) for one in caught), caught
    backward(made, rank, 0)
    before = handle.residual("fc")
    made.zero_grad(set_to_none=True)
    part = torch.from_numpy(given(1, rank)[:216])
    loss = (made.module.conv.view(-1) * part).sum()
    made.module.forward = lambda gradient: loss
    made(part).backward()  # fc and others are not used
    after = handle.residual("fc")
    # A unit without a gradient sends its residual as usual.
    assert numpy.count_nonzero(after) < numpy.count_nonzero(before)


def static_graph(rank):
    made, _ = compressed(sums="ordered", ddp_options={"static_graph": True})
    for step, wanted in enumerate(means("topk@5%", 3, 2)):
        assert numpy.array_equal(backward(made, rank, step), wanted), step


def scaled(rank):
    optimizer = Optimizer(ddp(), 0.1)
    scaler = Scaler(2.0**10)
    made, handle = compressed(sums="ordered", scaler=scaler, optimizer=optimizer)
    wanted = means("topk@5%", 3, 2)
    for step in range(2):
        made.zero_grad(set_to_none=True)
        loss = made(torch.from_numpy(given(step, rank))) * scaler.get_scale()
        loss.backward()
        assert numpy.array_equal(flat_gradient(made) / scaler.get_scale(), wanted[step]), step
    residual = handle.residual("fc")
    made.zero_grad(set_to_none=True)
    infinite = torch.from_numpy(given(9, rank))
    if rank == 1:
        infinite[0] = float("inf")  # the scale was too large at one rank
    (made(infinite) * scaler.get_scale()).backward()
    assert not numpy.isfinite(flat_gradient(made)).any(), "every rank skips"
    assert handle.step_number == 2
    assert numpy.array_equal(handle.residual("fc"), residual)
    scaler.scale = 2.0**9
    made.zero_grad(set_to_none=True)
    (made(torch.from_numpy(given(2, rank))) * scaler.get_scale()).backward()
    assert numpy.array_equal(flat_gradient(made) / scaler.get_scale(), wanted[2])


class Scaler:
    """What the bridge asks of a torch.cuda.amp.GradScaler, which needs a GPU."""

    def __init__(self, scale):
        self.scale = scale

    def is_enabled(self):
        return True

    def get_scale(self):
        return self.scale


def not_a_number(rank, overlap):
    made, handle = compressed(overlap=overlap)
    backward(made, rank, 0)
    bad = torch.from_numpy(given(1, rank))
    if rank == 1:
        bad[300] = float("nan")
    text = failure(lambda: made(bad).backward())
    assert "rank 1, step 1, parameter fc" in text, text
    assert failure(lambda: backward(made, rank, 2)) != "nothing was raised"
    assert "cannot be used any more" in failure(
        lambda: handle.take(torch.zeros(8), [1], [torch.zeros(8)], True)
    )
    return text.partition("rank 1")[2].splitlines()[0]


def zeroed(rank):
    made, handle = compressed(on_nonfinite="zero", sums="ordered")
    wanted = means("topk@5%", 2, 2)
    backward(made, rank, 0)
    made.zero_grad(set_to_none=True)
    bad = torch.from_numpy(given(1, rank))
    if rank == 0:
        bad[300] = float("inf")
    made(bad).backward()
    mean = flat_gradient(made)
    assert not mean[224:2224].any(), "the update of fc is left out"
    assert not handle.residual("fc").any()
    assert numpy.array_equal(mean[:224], wanted[1][:224])
    backward(made, rank, 2)
    assert handle.residual("fc").any()


def half(rank, kind):
    made, handle = compressed(sums="ordered")
    all_of = [torch.from_numpy(given(0, r)).to(kind) for r in range(2)]
    # DDP of PyTorch 1.13 over gloo has no bfloat16: the bucket comes from here.
    buffer = all_of[rank].clone()
    sizes = [p.numel() for p in made.parameters()]
    parts = [part.view(p.shape) for part, p in zip(buffer.split(sizes), made.parameters())]
    handle.take(buffer, [0, 1, 2, 3], parts, True).wait()
    simulated = policy.make("uniform", SHAPES, parameter="5%", workers=2, steps=1)
    wanted = simulated.step([one.float().numpy() for one in all_of])["mean"]
    assert torch.equal(buffer, torch.from_numpy(wanted).to(kind))
    assert handle.residual("fc").dtype == numpy.float32


def joined(rank):
    made, _ = compressed()

    def train():
        with made.join():
            for step in range(2 - rank):
                backward(made, rank, step)

    return failure(train)


def two_models(rank):
    first, one = compressed(sums="ordered")
    second, two = compressed("topk@10%", sums="ordered")
    wanted = means("topk@5%", 2, 2), means("topk@10%", 2, 2)
    for step in range(2):
        assert numpy.array_equal(backward(first, rank, step), wanted[0][step])
        assert numpy.array_equal(backward(second, rank, step), wanted[1][step])
    assert sum(one.bytes.values()) < sum(two.bytes.values())


def two_groups(rank):
    """Ranks 0 and 1 train one model, and ranks 2 and 3 another."""
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    own = groups[rank // 2]
    made, _ = compressed(sums="ordered", ddp_options={"process_group": own})
    pair = rank - rank % 2
    wanted = means("topk@5%", 2, 2, lambda step, r: given(step, pair + r))
    for step in range(2):
        assert numpy.array_equal(backward(made, rank, step), wanted[step])


def stopped_and_resumed(rank, folder):
    options = {"sums": "ordered", "policy": "accordion:interval_steps=2", "total_steps": 12}
    made, handle = compressed(**options)
    for step in range(5):
        backward(made, rank, step)
        handle.feedback(loss=1.0)
    legacy.torch.save(handle, folder)
    wanted = []
    for step in range(5, 9):
        wanted.append(backward(made, rank, step))
        handle.feedback(loss=1.0)
    again, resumed = compressed(**options)
    legacy.torch.load(resumed, folder)
    assert resumed.step_number == 5
    for step in range(5, 9):
        assert numpy.array_equal(backward(again, rank, step), wanted[step - 5]), step
        resumed.feedback(loss=1.0)
    other, refused = compressed("topk@6%")
    text = failure(lambda: legacy.torch.load(refused, folder))
    assert "state: method: got" in text, text
    _, refused = compressed("topk@5%", model=Given({"conv": (3,)}), **options)
    text = failure(lambda: legacy.torch.load(refused, folder))
    assert "conv: got 216 elements; allowed: 3" in text or "method" in text, text
    # The state of another rank is refused: saving rank 0's alone is the usual mistake.
    state = torch.load(os.path.join(folder, f"legacy-rank{1 - rank}.pt"))
    _, refused = compressed(**options)
    assert "each rank's own" in failure(lambda: refused.load_state_dict(state))


def saved_by_three(rank, folder):
    made, handle = compressed()
    for step in range(3):
        backward(made, rank, step)
    legacy.torch.save(handle, folder)
    return handle.residual("fc")


def loaded_by_two(rank, folder):
    made, handle = compressed()
    text = failure(lambda: legacy.torch.load(handle, folder))
    assert "got that of 3 ranks; allowed: 2, or world='spread'" in text, text
    legacy.torch.load(handle, folder, world="spread")
    assert handle.step_number == 3
    residual = handle.residual("fc")
    backward(made, rank, 3)
    return residual


def restarted(rank):
    os.environ["TORCHELASTIC_RESTART_COUNT"] = "1"
    made, _ = compressed(overlap=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        backward(made, rank, 0)
    return [str(one.message) for one in caught]


def changed_parameters(rank):
    made, handle = compressed()
    backward(made, rank, 0)
    made.module.bias.requires_grad_(False)
    text = failure(lambda: backward(made, rank, 1))
    assert "bias frozen or removed" in text, text
    shared = Given()
    shared.again = shared.fc
    made, handle = compressed(model=shared)
    assert list(handle.core.names) == list(SHAPES), "shared parameters count once"


def refused_by_all(rank):
    sparse = torch.nn.Sequential(torch.nn.Embedding(10, 4, sparse=True))
    texts = [
        failure(lambda: compressed(model=sparse)),
        failure(lambda: compressed("onebit-adam")),
        failure(lambda: compressed("demo@1%")),
        failure(lambda: compressed("topk@5%", policy="legacy-both")),
        failure(lambda: compressed("topk@5%", seed=rank)),
        failure(lambda: compressed("topk@5%", sums="fast")),
        failure(lambda: legacy.torch.compress(Given(), "topk@5%")),
        failure(
            lambda: compressed("dgc@5%", optimizer=torch.optim.SGD(Given().parameters(), 1, 0.9))
        ),
        failure(lambda: compressed("topc@5%")),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compressed("dgc@5%")
    return texts + [str(caught[-1].message)]


class Fails(legacy.Codec):
    """Sends everything, until it fails at rank 1."""

    name = "fails"
    step = 0

    def encode(self, values, context):
        if dist.get_rank() == 1 and context.step == 1:
            raise RuntimeError("out of paper")
        return values.tobytes()

    def decode_add(self, payload, sum, context):
        sum += numpy.frombuffer(payload, numpy.float32)


def failing_codec(rank):
    legacy.register(Fails)
    made, _ = compressed("fails")
    backward(made, rank, 0)
    begin = time.monotonic()
    text = failure(lambda: backward(made, rank, 1))
    return text, time.monotonic() - begin


def missing_rank(rank):
    made, _ = compressed(on_nonfinite="trust")
    for step in range(2):
        backward(made, rank, step)
    if rank == 1:
        time.sleep(6)  # it hangs
        return "slept"
    return failure(lambda: backward(made, rank, 2))


def dense_between(rank):
    made, handle = compressed(sums="ordered")
    wanted = means("topk@5%", 2, 2)
    assert numpy.array_equal(backward(made, rank, 0), wanted[0])
    residual = handle.residual("fc")
    with handle.dense():
        mean = backward(made, rank, 7)
    whole = (given(7, 0) + given(7, 1)) / 2
    assert numpy.array_equal(mean, whole)
    assert numpy.array_equal(handle.residual("fc"), residual)
    assert numpy.array_equal(backward(made, rank, 1), wanted[1])
    handle.close()
    assert numpy.array_equal(backward(made, rank, 7), whole)


def dense_hook(rank):
    plain = ddp()
    made, _ = compressed("dense")
    for step in range(3):
        assert numpy.array_equal(backward(made, rank, step), backward(plain, rank, step))


def long_training(rank):
    made, handle = compressed(ddp_options={"bucket_cap_mb": 0.001})
    sizes = []
    for step in range(300):
        backward(made, rank, step)
        handle.feedback(loss=1.0)
        if step in (100, 299):
            sizes.append(memory())
    return sizes


def memory():
    """Returns the bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Wrapped:
    """What the bridge asks of a FullyShardedDataParallel, which Debian's PyTorch cannot import."""

    def __init__(self, kind):
        self.sharding_strategy = type("Strategy", (), {"name": kind})
        self.process_group = dist.distributed_c10d._get_default_group()
        self.flat = [torch.nn.Parameter(torch.zeros(numel)) for numel in (224, 2001)]

    def register_comm_hook(self, state, hook):
        self.hook = lambda gradient: hook(state, gradient)

    def named_parameters(self):
        return [("first", self.flat[0]), ("second", self.flat[1])]

    def named_modules(self):
        return []


def without_shards(rank):
    assert "got sharded parameters" in failure(
        lambda: legacy.torch.compress(Wrapped("FULL_SHARD"), "topk@5%")
    )
    model = Wrapped("NO_SHARD")
    handle = legacy.torch.compress(model, "topk@5%", sums="ordered")
    simulated = policy.make("uniform", [224, 2001], parameter="5%", workers=2, steps=3)
    for step in range(3):
        wanted = simulated.step([given(step, r) for r in range(2)])["mean"]
        gradients = torch.from_numpy(given(step, rank)).split([224, 2001])
        for parameter, gradient in zip(reversed(model.flat), reversed(gradients)):
            parameter.grad = gradient.clone()
            model.hook(parameter.grad)
        mean = torch.cat([parameter.grad for parameter in model.flat]).numpy()
        assert numpy.array_equal(mean, wanted), step
        assert handle.step_number == step + 1


def gravac(rank):
    made, handle = compressed("topk@1%", policy="gravac:window=4", total_steps=20, sums="ordered")
    sizes = []
    for step in range(12):
        mean = backward(made, rank, step)
        handle.feedback(loss=1.0)
        sizes.append((sum(handle.bytes.values()), float(numpy.abs(mean).sum())))
    return sizes, len(handle.decisions()), handle.total["control"]


class CasesTest(unittest.TestCase):
    def test_accumulation_exchanges_the_sum_once(self):
        ranks.run(2, accumulates)

    def test_unused_parameters_are_refused_or_allowed(self):
        ranks.run(2, unused)

    def test_static_graphs(self):
        ranks.run(2, static_graph)

    def test_scaled_losses_and_skipped_steps(self):
        ranks.run(2, scaled)

    def test_what_is_not_finite_is_the_same_error_everywhere(self):
        for overlap in (True, False):
            self.assertEqual(len(set(ranks.run(2, not_a_number, overlap))), 1)

    def test_what_is_not_finite_may_be_zeroed(self):
        ranks.run(2, zeroed)

    def test_half_precision_is_rounded_once(self):
        ranks.run(2, half, torch.bfloat16)
        ranks.run(2, half, torch.float16)

    def test_join_is_refused(self):
        text = ranks.run(1, joined)[0]
        self.assertIn("join: got a training within model.join()", text)

    def test_two_models_and_two_groups(self):
        ranks.run(2, two_models)
        ranks.run(4, two_groups)

    def test_a_resumed_training_has_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks.run(2, stopped_and_resumed, folder)

    def test_states_spread_over_other_numbers_of_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            before = numpy.mean(ranks.run(3, saved_by_three, folder), axis=0)
            for after in ranks.run(2, loaded_by_two, folder):
                numpy.testing.assert_allclose(after, before, atol=1e-6)

    def test_a_restart_without_a_state_says_what_is_lost(self):
        for told in ranks.run(2, restarted):
            self.assertEqual(len(told), 1)
            self.assertRegex(told[0], r"restarted without a state: .* hold [1-9][0-9]% of")

    def test_changed_parameters_are_named(self):
        ranks.run(2, changed_parameters)

    def test_what_cannot_be_is_refused_at_once(self):
        for told in ranks.run(2, refused_by_all):
            for text, part in zip(
                told,
                (
                    "0: got sparse gradients; allowed: Embedding(sparse=False)",
                    "scheme: got 'onebit-adam', which is part of an optimizer",
                    "scheme: got 'demo@1%', which is part of an optimizer",
                    "total_steps: got 0; allowed: the number of steps",
                    "compress: got 'seed 1' at rank 1 and 'seed 0' at rank 0",
                    "sums: got 'fast'; allowed: library, ordered",
                    "model: got 'Given'; allowed: DistributedDataParallel",
                    "optimizer: got momentum 0.9; allowed: 0 with scheme dgc",
                    "topk",
                    "the optimizer must have none",
                ),
            ):
                self.assertIn(part, text)

    def test_a_rank_that_fails_is_named_within_seconds(self):
        for text, seconds in ranks.run(3, failing_codec):
            self.assertIn("rank 1, step 1, parameter", text)
            self.assertIn("out of paper", text)
            self.assertLess(seconds, 5)

    def test_a_rank_that_hangs_is_named(self):
        text = ranks.run(2, missing_rank, timeout=2)[0]
        self.assertRegex(text, "rank 0, step 2: a collective call failed; look at rank 1")

    def test_dense_steps_keep_residuals(self):
        ranks.run(2, dense_between)

    def test_the_dense_hook_is_no_hook(self):
        ranks.run(2, dense_hook)

    def test_memory_does_not_grow(self):
        for early, late in ranks.run(2, long_training):
            self.assertLess(late - early, 8 << 20)

    def test_flat_parameters_are_units_without_shards(self):
        ranks.run(2, without_shards)

    def test_gravac_agrees_at_all_ranks(self):
        told = ranks.run(3, gravac)
        self.assertEqual(len({str(sizes) for sizes, _, _ in told}), 1)
        self.assertGreater(told[0][1], 0)
        self.assertGreater(told[0][2], 0)


if __name__ == "__main__":
    testing.main()
