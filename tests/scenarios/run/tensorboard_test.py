"""Compares event files, read by a decoder of its own, with the CSV files of the same run.

Usage: tensorboard_test.py LEGACY_SCENARIO
"""

import csv
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SCENARIO = sys.argv[1]
SHAPE = [
    "--layers=resnet18",
    "--workers=4",
    "--steps=4",
    "--topo=star",
    "--fidelity=analytic",
    "--seeds=2",
    "--policies=dense,topk+fp16@5%",
    "--pictures=off",
]
TRAINING = [
    "--workers=2",
    "--batch=4",
    "--steps=4",
    "--evaluate-every=2",
    "--test-limit=20",
    "--model=small-cnn",
    "--policies=topk",
    "--topo=star",
    "--fidelity=analytic",
    "--seeds=1",
    "--networks=none",
    "--pictures=off",
]


def crc32c(data):
    """Computes the checksum by long division, a bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(crc):
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        head, check = data[:8], struct.unpack("<I", data[8:12])[0]
        assert check == masked(crc32c(head)), "checksum of a length"
        (length,) = struct.unpack("<Q", head)
        record, check = (
            data[12 : 12 + length],
            struct.unpack("<I", data[12 + length : 16 + length])[0],
        )
        assert check == masked(crc32c(record)), "checksum of a record"
        yield record
        data = data[16 + length :]


def varint(data):
    value = shift = 0
    for size, byte in enumerate(data, 1):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, data[size:]
    raise AssertionError("an unfinished number")


def fields(message):
    """Yields (number, value) of a protocol buffer, by its wire types."""
    while message:
        key, message = varint(message)
        if key & 7 == 0:
            value, message = varint(message)
        elif key & 7 == 2:
            size, message = varint(message)
            value, message = message[:size], message[size:]
            assert len(value) == size, "an unfinished field"
        else:
            form = {1: "<d", 5: "<f"}[key & 7]
            size = struct.calcsize(form)
            (value,), message = struct.unpack(form, message[:size]), message[size:]
        yield key >> 3, value


def events(path):
    """Yields (wall time, step, {tag: value}) of all events but the first, which has the version."""
    first, *rest = [dict(fields(record)) for record in records(path.read_bytes())]
    assert first[3] == b"brain.Event:2", first
    for event in rest:
        values = [dict(fields(value)) for number, value in fields(event[5]) if number == 1]
        yield event[1], event[2], {value[1].decode(): value[2] for value in values}


class TensorBoardTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def run_scenario(self, name, *options):
        subprocess.run(
            [SCENARIO, *options, f"--out={self.folder / name}"], check=True, capture_output=True
        )
        return self.folder / name

    def rows(self, run, file):
        with open(run / file, newline="", encoding="utf-8") as text:
            return list(csv.DictReader(text))

    def test_the_checksum_is_the_one_of_rfc_3720(self):
        self.assertEqual(crc32c(bytes(32)), 0x8A9136AA)
        self.assertEqual(crc32c(b"123456789"), 0xE3069283)

    def test_events_are_the_rows(self):
        run = self.run_scenario("run", *SHAPE, "--tensorboard")
        steps = self.rows(run, "steps.csv")
        found = sorted(path.parent.name for path in (run / "tensorboard").glob("*/*tfevents*"))
        self.assertEqual(
            found, ["dense-seed1", "dense-seed2", "topk_fp16_5_-seed1", "topk_fp16_5_-seed2"]
        )
        elements = sum(
            int(row["elements"])
            for row in self.rows(run, "layers.csv")
            if (row["policy"], row["seed"]) == ("dense", "1")
        )
        for policy, seed, folder in (
            ("dense", "2", "dense-seed2"),
            ("topk+fp16@5%", "1", "topk_fp16_5_-seed1"),
        ):
            (path,) = (run / "tensorboard" / folder).iterdir()
            expected = [row for row in steps if (row["policy"], row["seed"]) == (policy, seed)]
            read = list(events(path))
            self.assertEqual(len(read), len(expected))
            for (wall_time, step, values), row in zip(read, expected):
                self.assertEqual(step, int(row["step"]) + 1)
                self.assertEqual(wall_time, float(row["simulated_seconds"]))
                self.assertNotIn("loss/training", values)  # nothing is trained
                for tag, column in {
                    "bytes/message": "message_bytes",
                    "bytes/nic": "nic_bytes",
                    "seconds/step": "step_seconds",
                    "seconds/compute": "compute_seconds",
                    "seconds/encode": "encode_seconds",
                    "seconds/decode": "decode_seconds",
                    "seconds/communication": "communication_seconds",
                    "seconds/wait": "wait_seconds",
                }.items():
                    self.assertTrue(
                        math.isclose(values[tag], float(row[column]), rel_tol=1e-6), tag
                    )
                density = float(row["elements_sent"]) / elements
                self.assertTrue(math.isclose(values["density"], density, rel_tol=1e-6))

    def test_a_training_has_losses_and_accuracies(self):
        run = self.run_scenario("run", *TRAINING, "--tensorboard")
        (path,) = (run / "tensorboard" / "topk-seed1").iterdir()
        read = list(events(path))
        losses = [values["loss/training"] for _, _, values in read if "loss/training" in values]
        for loss, row in zip(losses, self.rows(run, "steps.csv"), strict=True):
            self.assertTrue(math.isclose(loss, float(row["training_loss"]), rel_tol=1e-6))
        evaluations = [event for event in read if "accuracy/test" in event[2]]
        for (wall_time, step, values), row in zip(
            evaluations, self.rows(run, "evaluations.csv"), strict=True
        ):
            self.assertEqual((wall_time, step), (float(row["simulated_seconds"]), int(row["step"])))
            self.assertTrue(
                math.isclose(values["accuracy/test"], float(row["test_accuracy"]), abs_tol=1e-6)
            )
            self.assertTrue(
                math.isclose(values["loss/test"], float(row["test_loss"]), rel_tol=1e-6)
            )
            self.assertEqual(values["bytes/message_sum"], float(row["message_bytes"]))
        self.assertEqual(len(evaluations), 2)

    def test_nothing_else_changes(self):
        plain = self.run_scenario("plain", *SHAPE)
        run = self.run_scenario("run", *SHAPE, "--tensorboard")
        self.assertFalse((plain / "tensorboard").exists())
        for file in plain.glob("*.csv"):
            self.assertEqual(file.read_bytes(), (run / file.name).read_bytes(), file.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
