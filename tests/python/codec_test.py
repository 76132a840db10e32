"""Compares legacy.codec with NumPy and with legacy-codec.

Usage: codec_test.py LEGACY_CODEC
"""

import pathlib
import struct
import subprocess
import tempfile
import threading
import unittest

import testing

import numpy

import legacy
from legacy import codec


def normals(count, seed=1):
    return numpy.random.default_rng(seed).standard_normal(count).astype(numpy.float32)


class Tensor:
    """Stands in for PyTorch's tensor, which raises where NumPy cannot read it."""

    layout = "torch.strided"

    def __init__(self, values, requires_grad=False, device="cpu", dtype="torch.float32"):
        self.values = values
        self.requires_grad = requires_grad
        self.device = device
        self.dtype = dtype

    def detach(self):
        return Tensor(self.values, device=self.device, dtype=self.dtype)

    def __array__(self, dtype=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.device != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


class OnDevice:
    """Stands in for an array that only DLPack passes on, and not to the host."""

    def __dlpack__(self, stream=None):
        raise BufferError("unsupported device")

    def __dlpack_device__(self):
        return (2, 0)


class CodecTest(unittest.TestCase):
    def expect_error(self, text, call, *arguments, **keywords):
        with self.assertRaises(legacy.Error) as caught:
            call(*arguments, **keywords)
        self.assertIn(text, str(caught.exception))

    def test_objects_say_what_they_are(self):
        made = codec.make("topk:index=u32@1%")
        self.assertEqual(repr(made), "legacy.codec.make('topk:index=u32', 0.01)")
        trip = codec.round_trip(made, normals(1000))
        self.assertIn("RoundTrip(topk:index=u32: 1,000 values in ", repr(trip))
        self.assertLess(len(repr(trip)), 100)
        self.assertEqual(repr(codec.State()), "State(nothing kept yet)")

        class EveryOther(legacy.Codec):
            """Sends every other value."""

        self.assertEqual(repr(EveryOther()), "Codec(every-other: Sends every other value)")

    def test_top_k_is_what_numpy_selects(self):
        values = normals(10007)
        made = codec.make("topk:index=u32")
        message = made.encode(values, 0.01)
        kept = numpy.zeros_like(values)
        largest = numpy.sort(numpy.argsort(-numpy.abs(values), kind="stable")[:100])
        kept[largest] = values[largest]
        numpy.testing.assert_array_equal(made.decode(message, values.size), kept)
        # The bytes follow docs/message-format.md: a header, positions, values.
        header = struct.pack("<HBBIIII", 0x474C, 0x10, 2 | 2 << 5, 0, 10007, 100, 0)[:16]
        self.assertEqual(
            message, header + largest.astype("<u4").tobytes() + kept[largest].tobytes()
        )
        self.assertEqual(
            codec.header(message),
            {"codec": 2, "index": 2, "values": 0, "unit": 0, "numel": 10007, "count": 100},
        )

    def test_half_precision_is_numpys(self):
        values = normals(1000)
        decoded = codec.round_trip("fp16", values).decoded
        numpy.testing.assert_array_equal(
            decoded, values.astype(numpy.float16).astype(numpy.float32)
        )

    def test_losses_are_those_of_the_definition(self):
        values = normals(5000).reshape(50, 100)
        trip = codec.round_trip("topk+rbf:bits=8", values, 0.05)
        self.assertEqual(trip.decoded.shape, (50, 100))
        difference = values.astype(float) - trip.decoded
        self.assertAlmostEqual(trip.squared_error, (difference**2).sum())
        self.assertAlmostEqual(
            trip.relative_error, numpy.linalg.norm(difference) / numpy.linalg.norm(values)
        )
        self.assertAlmostEqual(trip.largest_error, numpy.abs(difference).max())
        product = (values.astype(float) * trip.decoded).sum()
        norms = numpy.linalg.norm(values) * numpy.linalg.norm(trip.decoded)
        self.assertAlmostEqual(trip.cosine, product / norms, places=6)
        self.assertEqual(trip.elements_sent, 250)
        self.assertEqual(trip.bytes, len(trip.message))
        self.assertEqual(trip.ratio, 20000 / trip.bytes)

    def test_every_method_goes_round_and_tells_its_length(self):
        values = normals(4096)
        self.assertEqual([method["name"] for method in codec.methods()], codec.names())
        for method in codec.methods():
            with self.subTest(method["name"]):
                made = codec.make(method["name"])
                self.assertEqual(method["parameter"], made.spec)
                trip = codec.round_trip(made, values)
                self.assertTrue(numpy.isfinite(trip.decoded).all())
                self.assertIn(made.message_bytes(values.size), (None, trip.bytes))
                self.assertTrue(
                    all(option["name"] and option["help"] for option in method["options"])
                )
        self.assertIn("topk", codec.sparsifiers())
        self.assertIn("rbf", codec.quantisers())

    def test_draws_are_keyed(self):
        values = normals(1000)
        made = codec.make("qsgd")
        first = made.encode(values, seed=3, step=5, worker=1)
        self.assertEqual(first, made.encode(values, seed=3, step=5, worker=1))
        for key in ({"seed": 4}, {"step": 6}, {"worker": 2}, {"unit": 1}):
            self.assertNotEqual(
                first[16:], made.encode(values, **{"seed": 3, "step": 5, "worker": 1, **key})[16:]
            )
        drawn = codec.make("randomk@10%")
        message = drawn.encode(values, seed=3, worker=7)
        kept = drawn.decode(message, values.size, seed=3)  # a decoder does not know the worker
        self.assertEqual(numpy.count_nonzero(kept), 100)

    def test_feedback_loses_nothing(self):
        made = codec.make("topk@1%")
        residual = numpy.zeros(1000, numpy.float32)
        sent = numpy.zeros(1000, numpy.float32)
        total = numpy.zeros(1000)
        for step in range(20):
            gradient = normals(1000, seed=step)
            total += gradient
            made.decode_add(made.encode_with_feedback(gradient, residual, step=step), sent)
        numpy.testing.assert_allclose(sent + residual, total, atol=1e-5)
        self.assertTrue(made.allows_error_feedback())
        self.expect_error(
            "diverge", codec.make("qsgd").encode_with_feedback, normals(1000), residual, 2
        )

    def test_errors_of_many_parameters_are_those_of_each(self):
        values = normals(2000)
        made = codec.make("topk")
        errors = made.squared_errors(values, [0.1, 0.01])
        for parameter, error in zip([0.1, 0.01], errors):
            measured = codec.round_trip(made, values, parameter).squared_error
            # The expected error comes from a histogram.
            self.assertAlmostEqual(error / measured, 1, places=3)

    def test_bytes_are_those_of_legacy_codec(self):
        values = normals(3000)
        for text in ("topk:index=u32+rbf:bits=8@1%", "qsgd@4", "fft", "dense", "randomk@10%"):
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                (folder / "gradient.f32").write_bytes(values.tobytes())
                subprocess.run(
                    [
                        testing.PROGRAMS[0],
                        folder / "gradient.f32",
                        f"--codec={text}",
                        "--seed=5",
                        f"--out={folder / 'message'}",
                        "--error-feedback=off",
                        "--workers=1",
                    ],
                    check=True,
                    capture_output=True,
                )
                written = (folder / "message").read_bytes()
                self.assertIn(codec.make(text).encode(values, seed=5), written)

    def test_what_cannot_be_says_what_is_allowed(self):
        self.expect_error("topk", codec.make, "topkk")
        self.expect_error("density", codec.make, "topk", 2)
        self.expect_error("0.01", codec.make, "topk@1.5")
        self.expect_error("bits", codec.make, "rbf:bitz=3")
        made = codec.make("topk@1%")
        message = made.encode(normals(100))
        self.expect_error("got '100'; allowed: 99", made.decode, message, 99)
        self.expect_error("n: got '-1'", made.decode, message, -1)
        self.expect_error("got '3'; allowed: 4", made.decode, message[:-1], 100)
        self.expect_error("shorter than the header", made.decode, b"", 100)
        values = normals(100)
        values[3] = numpy.nan
        self.expect_error("element 3: got 'nan'", made.encode, values)
        self.expect_error(
            "gradient", made.encode_with_feedback, normals(5), numpy.zeros(6, numpy.float32)
        )
        # A copy would be changed instead.
        with self.assertRaisesRegex(TypeError, "residual: got 'an array of float64'; allowed: a c"):
            made.encode_with_feedback(normals(6), numpy.zeros(6))
        self.expect_error(
            "contiguous", made.encode_with_feedback, normals(6), numpy.zeros(12, numpy.float32)[::2]
        )
        with self.assertRaises(ValueError):  # legacy.Error is a ValueError
            codec.make("")

    def test_a_bare_one_is_refused_for_a_density(self):
        says = "topk: density: got '1'; allowed: 1%, or 100% where all is meant"
        values, made = normals(100), codec.make("topk@10%")
        for one in (1, numpy.int64(1), "1"):
            self.expect_error(says, codec.make, "topk", one)
            self.expect_error(says, made.encode, values, one)
            self.expect_error(says, made.encode_with_feedback, values, values.copy(), one)
            self.expect_error(says, made.squared_errors, values, [0.5, one])
            self.expect_error(says, made.message_bytes, 100, one)
            self.expect_error(says, codec.round_trip, made, values, one)
            self.expect_error(says, legacy.policy.make, "uniform", [100], parameter=one)
        everything = made.encode(values, 1.0)
        self.assertEqual(made.encode(values, "100%"), everything)
        self.assertEqual(repr(codec.make("topk", 1.0)), "legacy.codec.make('topk', 1.0)")
        self.assertEqual(made.encode(values, "1%"), made.encode(values, 0.01))
        self.assertEqual(codec.round_trip(made, values, "100%").parameter, 1)
        self.assertEqual(made.encode(values, numpy.float32(0.5)), made.encode(values, 0.5))
        # Of other parameters a 1 is a 1.
        self.assertEqual(codec.make("qsgd", 4).parameter, 4)
        ranks = legacy.policy.make("uniform", [(10, 10)], scheme="powersgd", parameter=1)
        self.assertEqual(ranks.parameter, 1)

    def test_complex_numbers_are_refused(self):
        codec = legacy.codec.make("topk@10%")
        for values in (
            numpy.ones(20, numpy.complex64),
            numpy.ones(20, numpy.complex128),
            [1 + 2j] * 20,
            numpy.ones((4, 5), numpy.complex64)[:, ::2],
        ):
            with self.assertRaisesRegex(legacy.Error, "complex numbers'; allowed: real numbers"):
                codec.encode(values)
            with self.assertRaisesRegex(legacy.Error, "complex"):
                codec.squared_errors(values, [0.1])
            with self.assertRaisesRegex(legacy.Error, "complex"):
                codec.encode_with_feedback(values, numpy.zeros(20, numpy.float32))
        # Other numbers are converted.
        for values in ([True] * 20, list(range(20)), numpy.arange(20, dtype=numpy.float16)):
            self.assertEqual(codec.encode(values), codec.encode(numpy.float32(values)))
        with self.assertRaises(TypeError):
            codec.encode(object())

    def test_tensors_are_taken_or_refused_with_the_remedy(self):
        values = normals(20)
        made = codec.make("topk@10%")
        self.assertEqual(made.encode(Tensor(values)), made.encode(values))
        for tensor, what, remedy in (
            (Tensor(values, True), "Tensor with a gradient", ".detach().cpu().numpy()"),
            (Tensor(values, device="cuda:0"), "Tensor on cuda:0", ".detach().cpu().numpy()"),
            (Tensor(values, dtype="torch.bfloat16"), "bfloat16", ".detach().cpu().float().numpy()"),
        ):
            residual = numpy.zeros(20, numpy.float32)
            policy = legacy.policy.make("uniform", [20], steps=2)
            for argument, call in {
                "values": lambda: made.encode(tensor),
                "gradient": lambda: made.encode_with_feedback(tensor, residual),
                "gradients": lambda: policy.step([[tensor]]),
                "mean_gradient": lambda: policy.feedback(mean_gradient=tensor),
            }.items():
                with self.subTest(what + argument), self.assertRaises(legacy.Error) as caught:
                    call()
                said = str(caught.exception)
                self.assertTrue(said.startswith(argument + ": got '"), said)
                self.assertIn(what + "'; allowed: ", said)
                self.assertTrue(said.endswith("call " + remedy), said)
            self.expect_error(remedy, made.encode, [tensor, tensor])
            self.expect_error(remedy, codec.round_trip, made, tensor)
        with self.assertRaisesRegex(TypeError, "residual: got '.*Tensor'.*shares the tensor's"):
            made.encode_with_feedback(values, Tensor(values))
        for value in (OnDevice(), object(), ["one", "two"], [[1, 2], [3]], "text", None):
            with self.assertRaisesRegex(TypeError, "^values: got '.*'; allowed: an array or a seq"):
                made.encode(value)

    def test_gradient_and_residual_share_no_memory(self):
        codec = legacy.codec.make("topk@10%")
        values = numpy.arange(40, dtype=numpy.float32)
        kept = values.copy()
        for gradient, residual in (
            (values, values),
            (values[:20], values[:20]),
            (values[:20], values[10:30]),
            (values[10:30], values[:20]),
            (values.reshape(4, 10)[:2], values[19:39].reshape(2, 10)),
        ):
            with self.assertRaisesRegex(legacy.Error, "residual: got 'memory of the gradient'"):
                codec.encode_with_feedback(gradient, residual)
        numpy.testing.assert_array_equal(values, kept)
        codec.encode_with_feedback(values[:20], values[20:])  # neighbours
        empty = values[:0]
        codec.encode_with_feedback(empty, empty)

    def test_gradients_to_try_them_on(self):
        real = codec.gradient("small-cnn")
        shapes = codec.layers("small-cnn")
        self.assertEqual(sum(int(numpy.prod(shape)) for shape in shapes.values()), real.size)
        numpy.testing.assert_array_equal(
            codec.gradient("gaussian:n=50", 1), codec.gradient("gaussian:n=50", 1)
        )
        self.assertFalse(
            (codec.gradient("gaussian:n=50", 1) == codec.gradient("gaussian:n=50", 2)).any()
        )
        self.assertIn("laplace", [one["name"] for one in codec.gradients()])
        self.expect_error("laplace", codec.gradient, "nothing")

    def test_codecs_are_used_by_several_threads(self):
        values = normals(100000)
        made = codec.make("topk+rbf@1%")
        expected = made.encode(values)
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(made.encode(values))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 4)


if __name__ == "__main__":
    testing.main()
