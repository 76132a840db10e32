"""Checks legacy.policy step by step."""

import unittest

import testing

import numpy

import legacy
from legacy import policy

LAYERS = {"conv": (8, 3, 3, 3), "bias": 8, "fc": (40, 50)}
SIZES = [216, 8, 2000]


def gradients(step, workers=3):
    generator = numpy.random.default_rng(step)
    return [generator.standard_normal(sum(SIZES)).astype(numpy.float32) for _ in range(workers)]


class PolicyTest(unittest.TestCase):
    def test_a_uniform_parameter_is_that_of_all_layers(self):
        made = policy.make("uniform", LAYERS, density=0.05, steps=4)
        self.assertEqual(made.names, ["conv", "bias", "fc"])
        for step in range(4):
            self.assertEqual(made.step_number, step)
            self.assertIn(f"elements, workers: 1, step {step})", repr(made))
            result = made.step()
            self.assertEqual(result["step"], step)
            numpy.testing.assert_array_equal(result["parameters"], [0.05] * 3)
        with self.assertRaisesRegex(legacy.Error, "steps: got '4'"):
            made.step()

    def test_legacys_levels_send_the_same_volume(self):
        made = policy.make("legacy-both", LAYERS, density=0.05, steps=60)
        sent = 0
        levels = set()
        for _ in range(60):
            parameters = made.step()["parameters"]
            levels.add(tuple(parameters))
            sent += sum(max(1, int(density * size)) for density, size in zip(parameters, SIZES))
        self.assertGreater(len(levels), 1)
        self.assertAlmostEqual(
            sent / (60 * sum(max(1, int(0.05 * size)) for size in SIZES)), 1, delta=0.02
        )

    def test_the_mean_and_the_bytes_are_those_of_the_exchange(self):
        dense = policy.make("uniform", LAYERS, scheme="dense", workers=3, steps=2)
        given = gradients(1)
        result = dense.step(given)
        numpy.testing.assert_allclose(
            result["mean"], numpy.mean(given, axis=0), rtol=1e-5, atol=1e-7
        )
        codec = legacy.codec.make("dense")
        numpy.testing.assert_array_equal(
            result["bytes"], [3 * codec.message_bytes(size) for size in SIZES]
        )
        numpy.testing.assert_array_equal(result["elements"], SIZES)

    def test_residuals_hold_what_was_not_sent(self):
        made = policy.make("uniform", [1000], scheme="topk", density=0.01, workers=2, steps=5)
        total = numpy.zeros(1000)
        received = numpy.zeros(1000)
        for step in range(5):
            given = [normal[:1000] for normal in gradients(step, 2)]
            total += numpy.mean(given, axis=0)
            received += made.step(given)["mean"]
        held = (made.residual(0) + made.residual(1)) / 2
        numpy.testing.assert_allclose(received + held, total, atol=1e-5)

    def test_layers_and_gradients_have_several_forms(self):
        flat = gradients(7)
        parts = [numpy.split(whole, numpy.cumsum(SIZES)[:-1]) for whole in flat]
        parts = [
            [part.reshape(LAYERS["conv"]) if part.size == 216 else part for part in one]
            for one in parts
        ]
        by_dict = policy.make("uniform", LAYERS, workers=3, steps=1)
        by_pairs = policy.make("uniform", list(LAYERS.items()), workers=3, steps=1)
        by_shapes = policy.make("uniform", list(LAYERS.values()), workers=3, steps=1)
        self.assertEqual(by_shapes.names, ["layer0", "layer1", "layer2"])
        expected = by_dict.step(flat)["mean"]
        numpy.testing.assert_array_equal(by_pairs.step(parts)["mean"], expected)
        numpy.testing.assert_array_equal(by_shapes.step(numpy.array(flat))["mean"], expected)

    def test_policies_decide_by_what_they_observe(self):
        # Accordion sends more while the mean gradient's norm changes.
        made = policy.make("accordion:interval_steps=2", [1000], workers=1, steps=40, density=0.01)
        for step in range(20):
            scale = 0.1 ** (step // 5)
            made.step([scale * gradients(1, 1)[0][:1000]])
            made.feedback(loss=1.0)
        decisions = made.decisions()
        self.assertGreater(len({decision["parameter"] for decision in decisions}), 1)
        self.assertEqual(decisions[0]["layer"], "layer0")
        self.assertTrue(all(decision["reason"] for decision in decisions))
        self.assertEqual(made.decisions(), [])

    def test_every_policy_steps(self):
        for name in policy.names():
            with self.subTest(name):
                made = policy.make(
                    name,
                    LAYERS,
                    scheme={"theta": "fft", "edgc": "powersgd"}.get(name, "topk"),
                    workers=3,
                    steps=8,
                    density=0.05,
                )
                for step in range(8):
                    result = made.step(gradients(step))
                    self.assertTrue(numpy.isfinite(result["mean"]).all())
                    made.feedback(loss=1.0, simulated_seconds=0.1, communication_seconds=0.05)
        self.assertEqual([method["name"] for method in policy.methods()][0], "accordion")

    def test_what_cannot_be_says_what_is_allowed(self):
        with self.assertRaisesRegex(legacy.Error, "allowed: accordion"):
            policy.make("uniformly", [10])
        with self.assertRaisesRegex(legacy.Error, "did you mean steps"):
            policy.make("uniform", [10], stepz=3)
        with self.assertRaisesRegex(legacy.Error, "layers"):
            policy.make("uniform", [])
        with self.assertRaisesRegex(legacy.Error, "layers: layer0: got '0'"):
            policy.make("uniform", [0])
        made = policy.make("uniform", [10], workers=2, steps=3)
        with self.assertRaisesRegex(legacy.Error, "1 workers'; allowed: 2"):
            made.step([numpy.zeros(10)])
        with self.assertRaisesRegex(legacy.Error, "9 values'; allowed: 10"):
            made.step([numpy.zeros(10), numpy.zeros(9)])
        with self.assertRaisesRegex(legacy.Error, "after each step"):
            made.feedback()
        with self.assertRaisesRegex(legacy.Error, "worker: got '2'"):
            made.residual(2)


if __name__ == "__main__":
    testing.main()
