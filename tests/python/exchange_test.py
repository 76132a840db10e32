"""Checks legacy.exchange against the simulator: the ranks' messages and means are those of
legacy.policy, to the bit, for all schemes."""

import unittest

import testing

import numpy

import legacy
from legacy import exchange, policy

LAYERS = {"conv": (8, 3, 3, 3), "bias": (8,), "fc": (40, 50), "one": (1,)}
SIZES = [216, 8, 2000, 1]
OFFSETS = [0, 216, 224, 2224]
LINK = (10e-6, 10e9)

# Schemes with their parameters: every call structure, and lengths that depend on the data.
SCHEMES = [
    "dense",
    "fp16",
    "bf16",
    "topk@5%",
    "topk:index=delta@5%",
    "topk:where=after-mean@5%",
    "topk:dense_start=2@5%",
    "randomk@5%",
    "topk+rbf:bits=8@5%",
    "qsgd",
    "threshold",
    "dgc@5%",
    "redsync@5%",
    "sidco@5%",
    "adacomp",
    "signsgd",
    "terngrad-shared",
    "ar-topk@5%",
    "ar-topk:root=variance@5%",
    "flexible-topk@5%",
    "powersgd@2",
    "variance",
    "fft",
    "qsgd:reduction=requantise",
    "fp16:reduction=hop",
    "onebit-adam:warmup=2",
]


def all_schemes():
    """Returns SCHEMES, and every other scheme with its defaults that ranks can exchange."""
    names = {scheme.partition("@")[0].partition(":")[0].partition("+")[0] for scheme in SCHEMES}
    names.update(["dynamiq", "oktopk", "omnireduce"])
    return SCHEMES + [name for name in exchange.schemes() if name not in names]


def gradients(step, workers):
    """Returns gradients whose norms differ between workers, with some zeros."""
    generator = numpy.random.default_rng(step)
    all_of = generator.standard_normal((workers, sum(SIZES))).astype(numpy.float32)
    all_of[:, ::7] = 0
    return [gradient * numpy.float32(1 + worker) for worker, gradient in enumerate(all_of)]


class Ranks:
    """All ranks of a training in one process: each has exchanges of its own, and this carries the
    messages between them."""

    def __init__(self, scheme, workers, ordered=True, **options):
        self.workers = workers
        self.ordered = ordered
        self.made = [exchange.open(scheme, LAYERS, workers, **options) for _ in range(workers)]
        self.messages = []  # of the last step: (unit, call, worker, bytes)
        self.steps = 0

    def step(self, given, rate=1.0, order=None):
        """Returns each rank's mean. `order`: lists of units that are exchanged together."""
        self.messages = []
        step = (self.steps, rate, *LINK)
        plans = [made.decide(step) for made in self.made]
        for made in self.made:
            made.begin(step, plans[0][0], plans[0][1], plans[0][2])
        means = [numpy.array(gradient) for gradient in given]
        for units in order or [[3, 2, 1, 0]]:
            places = [
                [mean.ctypes.data + 4 * made.offsets[unit][0] for unit in units]
                for made, mean in zip(self.made, means)
            ]
            for rank, made in enumerate(self.made):
                refused = made.encode(rank, units, places[rank])
                if refused:
                    raise AssertionError(refused)
            self._calls(units)
            for made, place in zip(self.made, places):
                made.mean(units, place)
        self.steps += 1
        return means

    def _calls(self, units):
        number = dict.fromkeys(units, 0)
        while self.made[0].calls(units):
            calls = [made.calls(units) for made in self.made]
            for call in calls[1:]:
                assert [c[:4] for c in call] == [c[:4] for c in calls[0]], call
            for i, (unit, way, root, sums, lengths) in enumerate(calls[0]):
                own = [made.lengths([unit])[0] for made in self.made]
                if sums and not self.ordered:
                    self._sum(unit, own)
                else:
                    self._gather(unit, number[unit], own, [c[i][4] for c in calls], way, root)
                number[unit] += 1
            opened = [call[0] for call in calls[0]]
            more = {made.finish(opened) for made in self.made}
            assert len(more) == 1
            for rank, made in enumerate(self.made):
                assert not made.encode(rank, opened)

    def _gather(self, unit, call, own, known, way, root):
        messages = []
        for rank, made in enumerate(self.made):
            size = own[rank][0]
            message = numpy.zeros(size, numpy.uint8)
            made.pack([unit], message.ctypes.data)
            messages.append(message)
            self.messages.append((unit, call, rank, message.tobytes()))
            if known[rank] is not None:  # what all ranks knew beforehand
                lengths = known[rank]
                expected = lengths if isinstance(lengths, int) else lengths[rank]
                assert size == expected, (unit, way, size, expected)
            if way == "broadcast":
                assert (size > 0) == (rank == root)
        for made in self.made:
            for worker, message in enumerate(messages):
                made.accumulate(worker, [unit], [len(message)], message.ctypes.data)

    def _sum(self, unit, own):
        values = []
        for (size, header), made in zip(own, self.made):
            part = numpy.zeros((size - header) // 4, numpy.float32)
            made.pack_sums([unit], part.ctypes.data)
            values.append(part)
        total = numpy.sum(values[::-1], axis=0, dtype=numpy.float32)
        for made in self.made:
            made.accumulate_sums([unit], total.ctypes.data)


def simulated(scheme, workers, steps, **options):
    name, _, parameter = scheme.partition("@")
    return policy.make(
        options.pop("policy", "uniform"),
        LAYERS,
        scheme=name,
        parameter=parameter or 0.0,
        workers=workers,
        steps=steps,
        **options,
    )


def by_call(messages):
    return {(unit, call, worker): data for unit, call, worker, data in messages}


class ExchangeTest(unittest.TestCase):
    def test_messages_and_means_are_the_simulators(self):
        for scheme in all_schemes():
            with self.subTest(scheme):
                workers, steps = 3, 4
                ranks = Ranks(scheme, workers, steps=steps, seed=3)
                expected = simulated(scheme, workers, steps, seed=3)
                for step in range(steps):
                    given = gradients(step, workers)
                    rate = 0.1 if step < 2 else 0.05  # residuals are rescaled
                    result = expected.step(given, learning_rate=rate, keep_messages=True)
                    means = ranks.step(given, rate, order=[[3, 2], [1], [0]])
                    for mean in means:
                        numpy.testing.assert_array_equal(mean, result["mean"])
                    self.assertEqual(
                        by_call(ranks.messages),
                        {
                            (m["unit"], m["call"], m["worker"]): m["message"]
                            for m in result["messages"]
                        },
                    )
                    for worker in range(workers):
                        held = numpy.concatenate(
                            [ranks.made[worker].residual(worker, unit) for unit in range(4)]
                        )
                        simulators = expected.residual(worker)
                        if held.size == simulators.size:  # some units have none
                            numpy.testing.assert_array_equal(held, simulators)

    def test_sums_of_values_are_the_mean_up_to_rounding(self):
        for scheme, sums in (("dense", True), ("powersgd@2", True), ("ar-topk@5%", True)):
            with self.subTest(scheme):
                ranks = Ranks(scheme, 4, ordered=False, steps=3)
                expected = Ranks(scheme, 4, steps=3)
                for step in range(3):
                    given = gradients(step, 4)
                    means = ranks.step(given)
                    wanted = expected.step(given)[0]
                    for mean in means:
                        numpy.testing.assert_array_equal(mean, means[0])
                    scale = numpy.abs(wanted).max()
                    # Later steps of PowerSGD start from factors that differ in their last bits.
                    numpy.testing.assert_allclose(means[0], wanted, atol=1e-5 * scale)

    def test_states_go_on_and_spread(self):
        for scheme in ("topk@5%", "dgc@5%", "powersgd@2", "variance"):
            with self.subTest(scheme):
                ranks = Ranks(scheme, 3, steps=9)
                for step in range(3):
                    ranks.step(gradients(step, 3))
                again = Ranks(scheme, 3, steps=9)
                saved = [
                    [made.save(unit, rank) for unit in range(4)]
                    for rank, made in enumerate(ranks.made)
                ]
                for rank, made in enumerate(again.made):
                    for unit in range(4):
                        made.load(unit, rank, *saved[rank][unit])
                    made.last_rate = ranks.made[rank].last_rate
                again.steps = ranks.steps
                given = gradients(3, 3)
                numpy.testing.assert_array_equal(again.step(given)[0], ranks.step(given)[0])
                # Five ranks have the mean of what three had.
                spread = Ranks(scheme, 5, steps=9)
                for rank, made in enumerate(spread.made):
                    for unit in range(4):
                        own = [saved[old][unit][1] for old in range(3)]
                        made.load_mean(unit, rank, saved[0][unit][0], own)
                original = Ranks(scheme, 3, steps=9)
                for rank, made in enumerate(original.made):
                    for unit in range(4):
                        made.load(unit, rank, *saved[rank][unit])
                for unit in range(4):
                    held = [original.made[r].residual(r, unit) for r in range(3)]
                    for rank, made in enumerate(spread.made):
                        now = made.residual(rank, unit)
                        self.assertEqual(now.size, held[0].size)
                        numpy.testing.assert_allclose(now, numpy.mean(held, axis=0), atol=1e-6)

    def test_refused_gradients_send_zeros(self):
        for scheme in ("topk@5%", "dense", "powersgd@2", "threshold", "ar-topk@5%"):
            with self.subTest(scheme):
                made = exchange.open(scheme, LAYERS, 1, steps=3)
                step = (0, 1.0, *LINK)
                made.begin(step, *made.decide(step)[:3])
                given = gradients(0, 1)[0]
                given[300] = numpy.nan  # in fc
                places = [given.ctypes.data + 4 * offset for offset in OFFSETS]
                ((unit, reason, replaced),) = made.encode(0, [0, 1, 2, 3], places)
                self.assertEqual((unit, replaced), (2, True))
                self.assertRegex(reason, "NaN|finite|nan")
                self.assertTrue(made.calls([2]))
                self.assertEqual(made.residual(0, 2).any(), False)

    def test_what_cannot_be_says_what_is_allowed(self):
        with self.assertRaisesRegex(legacy.Error, "allowed: one of them"):
            exchange.open("topk@1%", LAYERS, 2, parameter=0.1)
        with self.assertRaisesRegex(legacy.Error, "not encoded again at every hop"):
            exchange.open("mx:reduction=ring", LAYERS, 2)
        with self.assertRaisesRegex(legacy.Error, "nor aggregators of blocks"):
            exchange.open("oktopk", LAYERS, 2)
        with self.assertRaisesRegex(legacy.Error, "one that chooses before a step"):
            exchange.open("topk:where=after-mean@5%", LAYERS, 2, policy="gravac")
        with self.assertRaisesRegex(legacy.Error, "unit: got 'layer'; allowed: parameter, bucket"):
            exchange.open("topk@1%", LAYERS, 2, unit="layer")
        with self.assertRaisesRegex(legacy.Error, "did you mean topk"):
            exchange.open("topc@1%", LAYERS, 2)
        made = exchange.open("topk@1%", LAYERS, 2, steps=3)
        with self.assertRaisesRegex(legacy.Error, "worker: got '2'; allowed: 0 to 1"):
            made.encode(2, [0], [8])
        with self.assertRaisesRegex(legacy.Error, "unit: got '4'; allowed: 0 to 3"):
            made.calls([4])
        with self.assertRaisesRegex(legacy.Error, "addresses: got '0'"):
            made.encode(0, [0], [0])
        with self.assertRaisesRegex(legacy.Error, "one for each unit"):
            made.encode(0, [0, 1], [8])
        step = (0, 1.0, *LINK)
        made.begin(step, *made.decide(step)[:3])
        with self.assertRaisesRegex(legacy.Error, "step 0, worker 0, unit 'fc': "):
            bytes_of = numpy.zeros(20, numpy.uint8)
            made.accumulate(0, [2], [20], bytes_of.ctypes.data)


if __name__ == "__main__":
    testing.main()
