"""Compares legacy.network with legacy-network.

Usage: network_test.py LEGACY_NETWORK
"""

import json
import subprocess
import unittest

import testing

import numpy

import legacy
from legacy import network


def column(table, name):
    return list(table[name])


class NetworkTest(unittest.TestCase):
    def test_numbers_have_the_units_of_their_options(self):
        options = {"topo": "star", "workers": 4, "bytes": "1MB", "fidelity": "analytic"}
        plain = network.simulate(**options, bandwidth="2Gbps", delay="50us")
        for bandwidth in (2e9, 2 * 10**9, numpy.float64(2e9)):
            numbers = network.simulate(**options, bandwidth=bandwidth, delay=5e-5)
            self.assertEqual(numbers.seconds, plain.seconds)
        later = network.simulate(**options, compute=1e-3)
        self.assertEqual(column(later.workers, "ready_seconds"), [1e-3] * 4)
        what = r"^Simulation\(ring-allreduce on star, analytic: [0-9.]+ s\)$"
        self.assertRegex(repr(plain), what)

    def test_rows_are_those_of_legacy_network(self):
        options = {
            "topo": "leaf-spine:oversubscription=4",
            "workers": 8,
            "bytes": "2MB",
            "placement": "random:1",
            "fidelity": "flow,analytic",
            "collective": "ring-allgather",
            "density": "1%",
        }
        line = [
            testing.PROGRAMS[0],
            "--quiet",
            "--json=-",
            *(f"--{name}={value}" for name, value in options.items()),
        ]
        printed = subprocess.run(line, check=True, capture_output=True, text=True).stdout
        result = network.simulate(**{**options, "fidelity": ["flow", "analytic"]})
        self.assertEqual(result.rows, json.loads(printed))
        self.assertEqual(len(result.rows), 2)
        self.assertEqual(result.seconds, result.rows[0]["time_seconds"])
        self.assertIn("leaf-spine", result.text)

    def test_a_ring_on_a_star_takes_its_closed_form(self):
        result = network.simulate(
            topology="star", workers=4, bytes="1MB", bandwidth="1Gbps", fidelity="analytic"
        )
        self.assertEqual(result.seconds, result.rows[0]["closed_form_seconds"])
        # 2 (N - 1) rounds send a quarter each; packets carry 1448 of 1538 bytes.
        self.assertAlmostEqual(result.seconds, 6 * 8 * 250_000 / 1e9 * 1538 / 1448, delta=1e-3)

    def test_tables_are_of_workers_and_links(self):
        result = network.simulate(
            topo="star", workers=4, bytes="1MB", fidelity="flow", record_flows=True
        )
        self.assertEqual(column(result.workers, "worker"), [0, 1, 2, 3])
        self.assertEqual(
            max(column(result.workers, "finish_seconds")), result.rows[0]["finish_max_seconds"]
        )
        self.assertEqual(sum(column(result.links, "bytes")) > 0, True)
        self.assertEqual(len(column(result.flows, "bytes")), result.rows[0]["delivered_flows"])
        self.assertEqual(list(result.table["fidelity"]), ["flow"])
        self.assertTrue(result.svg.startswith("<svg"))
        self.assertEqual(result._repr_svg_(), result.svg)
        self.assertIsNone(
            network.simulate(topo="star", workers=4, bytes="1MB", fidelity="flow").flows
        )

    def test_lists_of_flows_have_no_workers(self):
        result = network.simulate(
            topo="star", workers=9, pattern="incast:8", bytes="100KB", fidelity="flow"
        )
        self.assertIsNone(result.workers)
        self.assertEqual(len(column(result.flows, "bytes")), 8)

    def test_options_are_listed_and_checked(self):
        names = [option["name"] for option in network.options()]
        self.assertIn("pull_bytes", names)
        with self.assertRaisesRegex(legacy.Error, "bandwith.*did you mean bandwidth"):
            network.simulate(bandwith="1Gbps")
        with self.assertRaisesRegex(legacy.Error, "bytes: got '-3'"):
            network.simulate(bytes=-3)
        with self.assertRaisesRegex(TypeError, "^bytes: got an object .*; allowed: a number of b"):
            network.simulate(bytes=object())
        self.assertEqual(
            network.simulate(
                topo="star", workers=2, bytes=1000, fidelity="flow", queue=None
            ).warnings,
            [],
        )

    def test_an_interrupted_simulation_leaves_nothing_behind(self):
        fidelities = ["flow"]
        if (
            "packet"
            in [option for option in network.options() if option["name"] == "fidelity"][0][
                "default"
            ]
        ):
            fidelities.append("packet")
        for fidelity in fidelities:
            with self.subTest(fidelity):
                small = {"topo": "fat-tree", "workers": 16, "bytes": "100KB", "fidelity": fidelity}
                before = network.simulate(**small)
                with self.assertRaises(KeyboardInterrupt), testing.interrupted_after(0.3):
                    network.simulate(**{**small, "bytes": "20MB", "repeat": 100000})
                self.assertEqual(network.simulate(**small).rows, before.rows)


if __name__ == "__main__":
    testing.main()
