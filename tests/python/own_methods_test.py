"""Checks codecs and policies that are Python classes."""

import pathlib
import shutil
import tempfile
import unittest

import testing

import numpy

import legacy

SMALL = {
    "workers": 2,
    "batch": 4,
    "steps": 6,
    "evaluate_every": 3,
    "test_limit": 20,
    "model": "small-cnn",
    "topo": "star",
    "fidelity": "flow",
    "seeds": 1,
    "networks": "none",
    "pictures": False,
    "progress": False,
}


@legacy.register
class Strongest(legacy.Codec):
    """Sends the largest magnitudes as they are."""

    parameter = legacy.Parameter("density", 0, 1, default=0.01)
    encode_kernel = "topk.encode"
    decode_kernel = "copy"

    def sent(self, numel, parameter):
        return max(1, int(parameter * numel)) if numel else 0

    def length(self, numel, parameter):
        return 8 * self.sent(numel, parameter)

    def encode(self, values, context):
        order = numpy.argsort(-abs(values), kind="stable")
        kept = numpy.sort(order[: self.sent(values.size, context.parameter)])
        return kept.astype("<u4").tobytes() + values[kept].tobytes()

    def decode_add(self, payload, sum, context):
        half = len(payload) // 2
        positions = numpy.frombuffer(payload[:half], "<u4")
        if (numpy.diff(positions.astype(int)) <= 0).any():
            raise ValueError("positions do not ascend")
        values = numpy.frombuffer(payload[half:], "<f4")
        if not numpy.isfinite(values).all():
            raise ValueError("a value is not finite")
        sum[positions] += values


@legacy.register
class Rounding(legacy.Codec):
    """Stochastic rounding to multiples of a step, as text."""

    name = "rounding-2"

    def __init__(self, step=0.5, negative=True, digits=3, word="x"):
        self.step = step
        self.options = (step, negative, digits, word)

    def encode(self, values, context):
        rounded = numpy.floor(values / self.step + context.random().random(values.size))
        context.numbers[0] += 1
        return " ".join(str(int(number)) for number in rounded).encode()

    def decode_add(self, payload, sum, context):
        numbers = [int(number) for number in payload.split()]
        sum += numpy.array(numbers, numpy.float32) * numpy.float32(self.step)


@legacy.register
class Halving(legacy.Policy):
    """Halves the density every so many steps, and records its feedback."""

    reads_mean_gradient = True
    reads_gradient = True
    seen = []

    def __init__(self, period=2):
        self.period = period

    def begin(self):
        self.seen.append(
            (
                "begin",
                [layer.name for layer in self.training.layers],
                self.training.workers,
                self.training.steps,
            )
        )

    def decide(self, step):
        self.reason = f"step {step.step}"
        return max(
            self.training.minimum, self.training.parameter * 0.5 ** (step.step // self.period)
        )

    def on_feedback(self, feedback):
        self.seen.append(
            (
                "observe",
                feedback.step,
                feedback.times,
                feedback.mean_gradient.size,
                feedback.layer_bytes.sum() == feedback.message_bytes,
            )
        )

    def on_gradient(self, layer, gradient, error_fed):
        self.seen.append(("gradient", layer, gradient.size))
        assert error_fed.size == gradient.size


@legacy.register
class Broken(legacy.Codec):
    """Fails in the given way."""

    def __init__(self, how="encode"):
        self.how = how

    def encode(self, values, context):
        if self.how == "encode":
            raise RuntimeError("cannot encode")
        return {"type": "text", "length": b"12345", "nan": b"1234"}[self.how]

    def decode_add(self, payload, sum, context):
        sum += numpy.nan

    def length(self, numel, parameter):
        return 4


@legacy.register
class Failing(legacy.Policy):
    """Fails in the method of that name."""

    reads_gradient = True
    reads_mean_gradient = True

    def __init__(self, where="decide", how="error"):
        self.where = where
        self.how = how

    def fail(self, where):
        if self.where != where:
            return None
        if self.how == "error":
            raise KeyError(f"in {where}")
        if self.how == "exit":
            raise SystemExit(3)
        if self.how == "stop":
            raise StopIteration
        return object()

    def begin(self):
        self.fail("begin")

    def decide(self, step):
        return self.fail("decide") or 0.1

    def on_gradient(self, layer, gradient, error_fed):
        self.fail("on_gradient")

    def on_feedback(self, feedback):
        self.fail("on_feedback")

    def save(self):
        return self.fail("save") or b""


@legacy.register
class FailingCodec(legacy.Codec):
    """Fails in the method of that name."""

    def __init__(self, at="encode"):
        self.at = at

    def encode(self, values, context):
        if self.at == "encode":
            raise ZeroDivisionError("in encode")
        return values.tobytes()

    def decode_add(self, payload, sum, context):
        if self.at == "decode_add":
            raise ZeroDivisionError("in decode_add")
        sum += numpy.frombuffer(payload, numpy.float32)

    def length(self, numel, parameter):
        if self.at == "length":
            raise ZeroDivisionError("in length")
        return 4 * numel

    def sent(self, numel, parameter):
        if self.at == "sent":
            raise ZeroDivisionError("in sent")
        return numel


def normals(count, seed=1):
    return numpy.random.default_rng(seed).standard_normal(count).astype(numpy.float32)


class OwnMethodsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        Halving.seen.clear()

    def test_a_codec_of_ones_own_is_made_from_text(self):
        values = normals(5000)
        own = legacy.codec.round_trip("strongest@2%", values)
        built_in = legacy.codec.round_trip("topk:index=u32@2%", values)
        numpy.testing.assert_array_equal(own.decoded, built_in.decoded)
        self.assertEqual(own.message[16:], built_in.message[16:])
        self.assertEqual(own.elements_sent, 100)
        self.assertEqual(legacy.codec.make("strongest@2%").message_bytes(5000), own.bytes)
        (method,) = [method for method in legacy.codec.methods() if method["name"] == "strongest"]
        self.assertEqual(method["help"], "Sends the largest magnitudes as they are")
        self.assertEqual(method["parameter"]["name"], "density")

    def test_it_fulfils_what_every_codec_has_to(self):
        for found in legacy.codec.check("strongest"):
            self.assertTrue(found["holds"], found)
        self.assertFalse(all(found["holds"] for found in legacy.codec.check("broken")))

    def test_options_are_arguments(self):
        (method,) = [method for method in legacy.codec.methods() if method["name"] == "rounding-2"]
        self.assertEqual(
            [
                (option["name"], option["default"], option["allowed"])
                for option in method["options"]
            ],
            [
                ("step", "0.5", "a number"),
                ("negative", "on", "on, off"),
                ("digits", "3", "a whole number"),
                ("word", "x", "a text"),
            ],
        )
        values = normals(100)
        coarse = legacy.codec.round_trip("rounding-2:step=1", values)
        self.assertTrue((coarse.decoded == numpy.round(coarse.decoded)).all())
        self.assertLessEqual(coarse.largest_error, 1)
        with self.assertRaisesRegex(legacy.Error, "digits: got '2.5'; allowed: a whole number"):
            legacy.codec.make("rounding-2:digits=2.5")
        with self.assertRaisesRegex(legacy.Error, "bits"):
            legacy.codec.make("rounding-2:bits=3")

    def test_draws_are_keyed_and_numbers_kept(self):
        codec = legacy.codec.make("rounding-2")
        values = normals(100)
        self.assertEqual(codec.encode(values, seed=1), codec.encode(values, seed=1))
        self.assertNotEqual(codec.encode(values, seed=1), codec.encode(values, seed=2))
        self.assertNotEqual(codec.encode(values, worker=1), codec.encode(values, worker=2))
        state = legacy.codec.State()
        codec.encode(values, state=state)
        codec.encode(values, state=state)
        self.assertEqual(state.numbers[0], 2)

    def test_mistakes_name_the_codec_and_the_place(self):
        with self.assertRaisesRegex(
            legacy.Error,
            r"codec broken: encode: RuntimeError: cannot encode .*own_methods_test.py:\d+",
        ):
            legacy.codec.make("broken").encode(normals(3))
        with self.assertRaisesRegex(legacy.Error, "codec broken: encode: .*bytes"):
            legacy.codec.make("broken:how=type").encode(normals(3))
        with self.assertRaisesRegex(legacy.Error, "5 bytes'; allowed: 4, as length says"):
            legacy.codec.make("broken:how=length").encode(normals(3))
        nan = legacy.codec.make("broken:how=nan")
        message = nan.encode(normals(3))
        with self.assertRaisesRegex(legacy.Error, "finite"):
            nan.decode(message, 3)
        with self.assertRaises(legacy.Error):  # the state of another codec
            legacy.codec.make("strongest").decode(message, 3)
        with self.assertRaisesRegex(legacy.Error, "codec broken: encode: RuntimeError"):
            legacy.run(**SMALL, policies=["broken"], out=self.folder / "run")

    def test_exceptions_in_policies_end_the_run_and_say_where(self):
        for where in ("begin", "decide", "on_gradient", "on_feedback"):
            for how, what in (("error", "KeyError"), ("exit", "SystemExit"), ("stop", "Stop")):
                methods = {"m": {"scheme": "topk", "policy": f"failing:where={where},how={how}"}}
                with self.assertRaisesRegex(legacy.Error, f"policy failing.*{what}"):
                    legacy.run(
                        {"methods": methods},
                        **SMALL,
                        threads=2,
                        policies=["m"],
                        out=self.folder / f"{where}-{how}",
                    )
        with self.assertRaisesRegex(legacy.Error, "policy failing: decide"):
            legacy.run(
                {"methods": {"m": {"scheme": "topk", "policy": "failing:how=object"}}},
                **SMALL,
                policies=["m"],
                out=self.folder / "object",
            )
        # The interpreter continues as before.
        run = legacy.run(**SMALL, policies=["topk@5%"], out=self.folder / "after")
        self.assertEqual([policy for policy, _ in run.curves], ["topk@5%"])

    def test_exceptions_in_codecs_end_the_run_and_say_where(self):
        for where in ("encode", "decode_add", "length", "sent"):
            text = f"failing-codec:at={where}"
            with self.assertRaisesRegex(
                legacy.Error, rf"codec failing-codec: {where}: ZeroDivisionError: in {where}"
            ):
                legacy.codec.round_trip(text, normals(50))
            with self.assertRaisesRegex(legacy.Error, rf"{where}: ZeroDivisionError"):
                legacy.run(**SMALL, threads=2, policies=[text], out=self.folder / where)

    def test_a_run_with_it_is_the_run_with_its_equal(self):
        run = legacy.run(
            **SMALL, policies=["topk@5%", "strongest@5%"], index="u32", out=self.folder / "run"
        )
        curves = list(run.curves.values())
        for name in ("test_loss", "test_accuracy", "message_bytes"):
            self.assertEqual(list(curves[0][name]), list(curves[1][name]), name)
        threads = legacy.run(
            **SMALL, threads=2, policies=["strongest@5%", "rounding-2"], out=self.folder / "two"
        )
        alone = legacy.run(
            **SMALL, threads=1, policies=["strongest@5%", "rounding-2"], out=self.folder / "one"
        )
        self.assertEqual(
            (threads.path / "steps.csv").read_bytes(), (alone.path / "steps.csv").read_bytes()
        )

    def test_a_policy_of_ones_own_decides_and_observes(self):
        methods = {
            "methods": {
                "halved": {"scheme": "strongest", "policy": "halving:period=3", "parameter": 0.08}
            }
        }
        run = legacy.run(methods, **SMALL, policies=["halved"], out=self.folder / "run")
        decisions = {
            (int(step), float(parameter))
            for step, parameter in zip(run.decisions["step"], run.decisions["parameter"])
        }
        self.assertEqual(decisions, {(0, 0.08), (3, 0.04)})
        self.assertIn("step 3", list(run.decisions["reason"]))
        begun = [event for event in Halving.seen if event[0] == "begin"]
        self.assertEqual(begun[-1][2:], (2, 6))
        observed = [event for event in Halving.seen if event[0] == "observe"][-6:]
        self.assertEqual([event[1] for event in observed], list(range(6)))
        self.assertEqual({event[2] for event in observed}, {None})  # it does not read the clock
        self.assertEqual({event[3:] for event in observed}, {(run.manifest["parameters"], True)})
        sizes = {event[2] for event in Halving.seen if event[0] == "gradient"}
        self.assertEqual(sizes, set(map(int, run.layers["elements"])))

    def test_a_policy_of_ones_own_steps(self):
        made = legacy.policy.make("halving:period=1", [100, 50], workers=2, steps=3, density=0.4)
        parameters = [
            made.step([normals(150), normals(150)])["parameters"].tolist() for _ in range(3)
        ]
        self.assertEqual(parameters, [[0.4, 0.4], [0.2, 0.2], [0.1, 0.1]])
        self.assertEqual(
            [decision["parameter"] for decision in made.decisions()], [0.4, 0.4, 0.2, 0.2, 0.1, 0.1]
        )

        @legacy.register
        class Wrong(legacy.Policy):
            def __init__(self, how=0):
                self.how = how

            def decide(self, step):
                return [2.0, [0.1] * 3, "x"][self.how]

        for how, text in enumerate(
            [
                "got '2'; allowed: 0 to 1",
                "3 parameters'; allowed: 2, or one for all",
                "policy wrong: decide",
            ]
        ):
            with self.assertRaisesRegex(legacy.Error, text):
                legacy.policy.make(f"wrong:how={how}", [100, 50], steps=3).step()

    def test_a_class_takes_the_place_of_its_namesake(self):
        def of(value):
            class Constant(legacy.Codec):
                def encode(self, values, context):
                    return bytes([value])

                def decode_add(self, payload, sum, context):
                    sum += payload[0]

            return Constant

        legacy.register(of(1))
        self.assertEqual(
            legacy.codec.round_trip("constant", normals(3)).decoded.tolist(), [1, 1, 1]
        )
        legacy.register(of(2))
        self.assertEqual(
            legacy.codec.round_trip("constant", normals(3)).decoded.tolist(), [2, 2, 2]
        )

        class Constant(legacy.Policy):
            pass

        with self.assertRaisesRegex(legacy.Error, "a name of its own"):
            legacy.register(Constant)

    def test_what_cannot_be_registered_says_why(self):
        class TopK(legacy.Codec):
            name = "topk"

        class Spaces(legacy.Codec):
            name = "a b"

        class NoDefault(legacy.Codec):
            def __init__(self, bits):
                pass

        with self.assertRaisesRegex(legacy.Error, "names that no other method has"):
            legacy.register(TopK)
        with self.assertRaisesRegex(legacy.Error, "letters a to z"):
            legacy.register(Spaces)
        with self.assertRaisesRegex(TypeError, "arguments with a default"):
            legacy.register(NoDefault)
        with self.assertRaisesRegex(TypeError, "subclasses of legacy.Codec"):
            legacy.register(int)
        with self.assertRaisesRegex(legacy.Error, "allowed: a file"):
            legacy.load_plugin("nowhere.so")


if __name__ == "__main__":
    testing.main()
