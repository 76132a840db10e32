"""Runs legacy-federated as a whole: training over simulated networks, records and their replays.

Usage: federated_run_test.py LEGACY_FEDERATED LEGACY_SCENARIO [--kills=N]
"""

import collections
import csv
import json
import math
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "run"))
from killing import (  # noqa: E402
    give_up, kill_at_random, newest, slow_gnuplot, take_kills, wait_for)

KILLS = take_kills(sys.argv)
FEW = KILLS < 10  # a sample of what is tested after many kills
FEDERATED, SCENARIO = sys.argv[1:3]
SMALL = [
    "--train-limit=400",
    "--test-limit=60",
    "--model=logistic",
    "--batch=8",
    "--clients=12",
    "--rounds=6",
    "--evaluate-every=2",
    "--pictures=off",
]


def rounds_of(options):
    other = ("--server", "--exchange")
    return [] if any(option.startswith(other) for option in options) else ["--per-round=4"]


def run(folder, *options, **settings):
    command = [FEDERATED, *SMALL, *rounds_of(options), "--out=" + str(folder), *options]
    return subprocess.run(command, text=True,
                          capture_output=True, check=False, timeout=300, **settings)


def tables(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


def rows(folder, name):
    with open(folder / name, newline="") as file:
        return list(csv.DictReader(file))


class FederatedRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="federated-"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def run_to_end(self, name, *options):
        folder = self.root / name
        done = run(folder, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def replayed(self, recording, name, *options):
        folder = self.root / name
        done = subprocess.run([FEDERATED, "replay", str(recording), "--out=" + str(folder),
                               *options],
                              text=True, capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def expect_same(self, one, other):
        first, second = tables(one), tables(other)
        self.assertEqual(sorted(first), sorted(second))
        self.assertEqual([name for name in first if first[name] != second[name]], [])

    def refused(self, *options):
        folder = self.root / "refused"
        done = run(folder, *options)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertFalse(folder.exists())
        lines = [line for line in done.stderr.splitlines() if line.startswith("legacy-")]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_a_replay_equals_its_run_at_every_fidelity(self):
        options = [
            "--policies=dense,fp16,topk,legacy-both,qsgd,redsync",
            "--algorithms=fedavg,scaffold,fedprox:mu=0.1",
            "--selection=power-of-choice:d=6",
            "--availability=bernoulli:p=0.7",
            "--dropout=0.1",
            "--seeds=2",
            "--record",
        ]
        recording = None
        for fidelity in ("flow", "analytic", "packet"):
            folder = self.run_to_end("whole-" + fidelity, *options, "--fidelity=" + fidelity)
            recording = recording or folder
            again = self.replayed(recording, "again-" + fidelity, "--fidelity=" + fidelity)
            self.expect_same(folder, again)

    def test_replays_follow_every_downlink(self):
        """Methods have downlinks and algorithms of their own; deltas depend on who took part."""
        path = self.root / "downlinks.yaml"
        path.write_text(
            "methods:\n"
            "  half: {scheme: topk, downlink: fp16}\n"
            "  deltas: {scheme: topk, downlink: 'delta:topk@5%', algorithm: scaffold}\n"
            "  varied: {scheme: dense, downlink: 'delta:sidco@2%'}\n"
            "federated: {algorithms: 'fedavg,feddyn'}\n")
        options = ["--scenario=" + str(path), "--policies=half,deltas,varied,dense", "--record",
                   "--rounds=12", "--availability=bernoulli:p=0.7", "--dropout=0.1",
                   "--population=phones"]
        folder = self.run_to_end("downlinks", *options)
        self.expect_same(folder, self.replayed(folder, "downlinks-again"))
        steps = rows(folder, "steps.csv")
        names = {row["policy"] for row in steps}
        self.assertEqual(names, {"fedavg half", "feddyn half", "deltas", "fedavg varied",
                                 "feddyn varied", "fedavg dense", "feddyn dense"})
        down = collections.Counter()
        for row in rows(folder, "rounds.csv"):
            down[row["policy"]] += int(row["down_bytes"])
        self.assertLess(down["fedavg half"], 0.52 * down["fedavg dense"])
        self.assertLess(down["fedavg varied"], 0.95 * down["fedavg dense"])
        for policy in names:
            decoded = [float(row["decode_seconds"]) > 0 for row in steps
                       if row["policy"] == policy]
            self.assertEqual(any(decoded), "dense" not in policy, policy)
            if "half" in policy:
                self.assertTrue(all(decoded))

    def test_clients_pay_for_the_messages_that_they_missed(self):
        """Equal clients: a task works longer by each version since its client's last one."""
        folder = self.run_to_end("missed", "--policies=dense", "--partition=iid",
                                 "--train-limit=480", "--downlink=delta:topk@1%", "--rounds=20",
                                 "--per-round=3")
        last, seconds = {}, collections.defaultdict(set)
        tasks = sorted(rows(folder, "tasks.csv"), key=lambda task: int(task["base_version"]))
        for task in tasks:
            version = int(task["base_version"])
            missed = version - last.get(task["client"], version)
            last[task["client"]] = version
            seconds[missed].add(round(float(task["worked"]) - float(task["downloaded"]), 8))
        self.assertGreater(len(seconds), 5)
        base, one = min(seconds[0]), min(seconds[1]) - min(seconds[0])
        self.assertGreater(one, 1e-6)
        for missed, works in seconds.items():
            for work in works:
                self.assertAlmostEqual(work, base + missed * one, delta=2e-8 * (1 + missed))

    def test_a_replay_changes_lines_devices_and_prices_alone(self):
        folder = self.run_to_end("base", "--record", "--policies=dense,topk")
        changes = ["--population=broadband:up=2Mbps", "--device-speed=2", "--price=0.1"]
        again = self.replayed(folder, "slower", *changes)
        other = self.run_to_end("other", "--policies=dense,topk", *changes)
        self.expect_same(again, other)
        self.assertNotEqual(tables(again)["steps.csv"], tables(folder)["steps.csv"])
        self.assertNotEqual(tables(again)["rounds.csv"], tables(folder)["rounds.csv"])
        for option, key in (("--per-round=5", "federated.per_round"),
                            ("--learning-rate=0.5", "training.learning_rate"),
                            ("--density=5%", "compression.density")):
            done = subprocess.run([FEDERATED, "replay", str(folder), option], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(key, done.stderr)
            self.assertIn("as recorded", done.stderr)
        phones = subprocess.run([FEDERATED, "replay", str(folder), "--population=phones",
                                 "--out=" + str(self.root / "phones")], text=True,
                                capture_output=True, check=False)
        self.assertEqual(phones.returncode, 0, phones.stderr)

    def test_files_do_not_depend_on_threads(self):
        servers = (
            ["--policies=dense,topk,qsgd", "--local=epochs:1-3", "--over-select=1.5",
             "--deadline=factor:3", "--population=phones", "--downlink=delta:topk@5%"],
            ["--policies=dense,redsync", "--algorithms=fedbuff:k=3,fedasync", "--rounds=12",
             "--downlink=delta:qsgd@6",
             "--server=async:concurrency=6", "--population=phones", "--dropout=0.1",
             "--availability=sessions:on=10m,off=5m"],
        )
        for number, options in enumerate(servers):
            one = self.run_to_end(f"threads-{number}-1", *options, "--threads=1")
            for threads in ("8",) if FEW else ("2", "8"):
                other = self.run_to_end(f"threads-{number}-{threads}", *options,
                                        "--threads=" + threads)
                self.expect_same(one, other)

    def test_tasks_rounds_and_clients_add_up(self):
        folder = self.run_to_end("sums", "--policies=topk,redsync", "--over-select=1.5",
                                 "--deadline=factor:1.2", "--dropout=0.2", "--population=phones",
                                 "--price=0.05")
        tasks, rounds = rows(folder, "tasks.csv"), rows(folder, "rounds.csv")
        ends = ("counted", "late", "lost", "interrupted", "cancelled", "stale")
        for policy in ("topk", "redsync"):
            mine = [task for task in tasks if task["policy"] == policy]
            count = collections.Counter(task["end"] for task in mine)
            own = [row for row in rounds if row["policy"] == policy]
            self.assertEqual(sum(int(row["started"]) for row in own), len(mine))
            for end in ends:
                self.assertEqual(sum(int(row[end]) for row in own), count[end], end)
            clients = [row for row in rows(folder, "clients.csv") if row["policy"] == policy]
            self.assertEqual(sum(int(row["tasks"]) for row in clients), len(mine))
            self.assertEqual(sum(int(row["counted"]) for row in clients), count["counted"])
            self.assertAlmostEqual(sum(float(row["usd"]) for row in clients),
                                   sum(float(row["usd"]) + float(row["usd_hours"]) for row in own))
            self.assertEqual(sum(int(row["samples"]) for row in clients), 400)
            steps = [row for row in rows(folder, "steps.csv") if row["policy"] == policy]
            sent = sum(float(row["message_bytes"]) * int(row["participants"]) for row in steps)
            counted = sum(int(t["message_bytes"]) for t in mine if t["end"] == "counted")
            self.assertAlmostEqual(sent, counted, delta=1e-6 * counted)
            for task in mine:
                times = [task[name] for name in ("dispatched", "downloaded", "worked", "uploaded")]
                times = [float(time) for time in times if time]
                self.assertEqual(times, sorted(times))
                self.assertEqual(bool(task["uploaded"]), task["end"] in ("counted", "stale"))

    def test_one_client_and_one_sample_are_enough(self):
        alone = self.run_to_end("alone", "--clients=1", "--per-round=1", "--policies=dense,topk",
                                "--partition=iid", "--train-limit=1")
        for task in rows(alone, "tasks.csv"):
            self.assertEqual((task["client"], task["samples"], task["local_steps"], task["end"]),
                             ("0", "1", "1", "counted"))
        one_each = self.run_to_end("one-each", "--policies=dense", "--partition=iid",
                                   "--train-limit=12", "--local=epochs:3")
        for client in rows(one_each, "clients.csv"):
            self.assertEqual((client["samples"], client["labels"]), ("1", "1"))
        for task in rows(one_each, "tasks.csv"):
            self.assertEqual(task["local_steps"], "3")

    def test_a_partition_is_that_of_the_run(self):
        run_folder = self.run_to_end("whole", "--policies=dense")
        folder = self.root / "parts"
        shown = subprocess.run([FEDERATED, "partition", *SMALL, "--out=" + str(folder)], text=True,
                               capture_output=True, check=False, timeout=60)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("12 clients with", shown.stdout)
        clients = rows(run_folder, "clients.csv")
        parts = rows(folder, "partition.csv")
        self.assertEqual(len(parts), 12)
        self.assertEqual(sum(int(row["samples"]) for row in parts), 400)
        for part, client in zip(parts, clients):
            counts = [int(n) for name, n in part.items() if name.startswith("label_")]
            self.assertEqual(sum(counts), int(part["samples"]))
            self.assertEqual(part["samples"], client["samples"])
            self.assertEqual(sum(n > 0 for n in counts), int(client["labels"]))
            self.assertTrue(0 < float(part["distance"]) < 1)
        again = subprocess.run([FEDERATED, "partition", *SMALL, "--out=" + str(folder)], text=True,
                               capture_output=True, check=False, timeout=60)
        self.assertEqual(again.returncode, 2)
        self.assertIn("--overwrite", again.stderr)

    def test_residuals_beyond_memory_change_nothing(self):
        options = ["--policies=topk", "--algorithms=fedavg,scaffold"]
        whole = self.run_to_end("in-memory", *options)
        self.expect_same(whole, self.run_to_end("on-disk", *options, "--state-memory=1KiB"))

    def test_reports_and_the_doctor_read_a_run(self):
        whole = self.root / "doctored"
        done = run(whole, "--record", "--policies=dense,topk", "--local=epochs:2", "--price=0.1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for title in ("Rounds: median time", "Clients by group", "Clients by decile of speed"):
            self.assertIn(title, done.stdout)
        self.assertIn("What the target took", done.stdout)
        self.assertTrue((whole / "summary.json").exists())
        again = self.replayed(whole, "doctored-again")
        self.expect_same(whole, again)
        found = subprocess.run([FEDERATED, "doctor", str(whole)], text=True, capture_output=True,
                               check=True).stdout
        self.assertEqual(found.count("A round waits for its last counted task"), 2)
        self.assertEqual(found.count("Remedies (simulated again, 6 rounds each)"), 2)
        # What is simulated as it is takes the run's time.
        lines = [line.split() for line in found.splitlines() if line.startswith("as it is")]
        ends = {row["policy"]: float(row["end"]) for row in rows(whole, "rounds.csv")}
        for line, policy in zip(lines, ("dense", "topk")):
            self.assertAlmostEqual(float(line[-2]), ends[policy], delta=1e-3 * ends[policy])
        (again / "traffic.jsonl").unlink(missing_ok=True)
        alone = subprocess.run([FEDERATED, "doctor", str(again)], text=True, capture_output=True,
                               check=True).stdout
        self.assertIn("no record (--record)", alone)
        self.assertEqual(alone.count("A round waits for its last counted task"), 2)
        self.assertNotIn("Remedies", alone)
        nothing = subprocess.run([FEDERATED, "doctor", str(self.root)], text=True,
                                 capture_output=True, check=False)
        self.assertEqual(nothing.returncode, 2)
        self.assertIn("a directory with a manifest.json", nothing.stderr)

    def test_a_run_is_the_plan_of_its_bytes_and_works(self):
        """Equal clients with equal data: rounds are those of a plan without training."""
        options = ["--policies=dense", "--partition=iid", "--train-limit=480",
                   "--population=broadband:up=8Mbps"]
        folder = self.run_to_end("planned", *options, "--batch=10")
        task = rows(folder, "tasks.csv")[0]
        elements = json.loads((folder / "manifest.json").read_text())["parameters"]
        work = float(task["worked"]) - float(task["downloaded"])
        plan = subprocess.run(
            [FEDERATED, "plan", "--clients=12", "--per-round=4", "--rounds=6",
             "--population=broadband:up=8Mbps", f"--down-bytes={4 * elements}",
             "--up-bytes=" + task["message_bytes"], f"--client-seconds={work:.12f}",
             "--remedies=off", "--quiet", "--out=" + str(self.root / "plan")],
            text=True, capture_output=True, check=False)
        self.assertEqual(plan.returncode, 0, plan.stderr)
        for mine, other in zip(rows(folder, "rounds.csv"), rows(self.root / "plan", "rounds.csv"),
                               strict=True):
            for name in ("version", "started", "counted", "down_bytes", "up_bytes"):
                self.assertEqual(mine[name], other[name])
            self.assertAlmostEqual(float(mine["end"]), float(other["end"]), delta=2e-8)

    def test_mistakes_are_one_message_and_no_files(self):
        self.assertIn("federated.server: got 'sync'", self.refused("--algorithms=fedbuff"))
        self.assertIn("federated.server: got 'async'",
                      self.refused("--server=async:concurrency=4", "--algorithms=fedavg"))
        self.assertIn("algorithm", self.refused("--algorithms=fedavgg"))
        self.assertIn("alpha", self.refused("--partition=dirichlet:alpha=0"))
        self.assertIn("--local: got '0'", self.refused("--local=epochs:0"))
        self.assertIn("--local: got 'rounds:3'", self.refused("--local=rounds:3"))
        self.assertIn("uplink", self.refused("--policies=powersgd"))
        self.assertIn("compression.policies", self.refused("--policies=local-sgd"))
        self.assertIn("gravac", self.refused("--policies=gravac"))
        self.assertIn("delta:topk@1%", self.refused("--downlink=half"))
        self.assertIn("contractive", self.refused("--downlink=delta:terngrad"))
        self.assertIn("per-round", self.refused("--per-round=13"))
        self.assertIn("run.record", self.refused("--record", "--deadline=60s"))
        self.assertIn("training.steps", self.refused("--set", "training.steps=5"))
        self.assertIn("samples", self.refused("--clients=500", "--partition=iid"))
        path = self.root / "federated.yaml"
        path.write_text("federated: {clients: 5}\n")
        self.assertIn("legacy-federated", self.scenario_refuses(path))
        path.write_text("federated: {clientz: 5}\n")
        self.assertIn("did you mean federated.clients", self.refused("--scenario=" + str(path)))
        path.write_text("methods: {mine: {scheme: topk, downlink: fp16}}\n")
        self.assertIn("methods.mine.downlink", self.scenario_refuses(path))
        path.write_text("training: {workers: 5}\n")
        self.assertIn("legacy-scenario reads it", self.refused("--scenario=" + str(path)))

    def scenario_refuses(self, path):
        done = subprocess.run([SCENARIO, "--scenario=" + str(path)], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        return done.stderr

    def killed(self, name, *options):
        """Kills a run, which continues each time, and expects the files of a whole one."""
        options = [*options, "--rounds=10" if FEW else "--rounds=30", "--train-limit=240",
                   "--checkpoint=1ms"]
        whole = self.run_to_end(name + "-whole", *options, "--checkpoint=off")
        folder = self.root / name

        def start(resume):
            return subprocess.Popen([FEDERATED, *SMALL, *rounds_of(options), *options,
                                     "--out=" + str(folder), *resume], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)

        kill_at_random(self, folder, KILLS, start, lambda: self.expect_same(folder, whole))

    def test_killed_between_its_last_row_and_its_end(self):
        environment, began = slow_gnuplot(self.root / "slow")
        whole = self.run_to_end("late-whole")
        folder = self.root / "late"
        command = [FEDERATED, *SMALL, "--per-round=4", "--out=" + str(folder), "--checkpoint=1ms",
                   "--pictures=on"]
        process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        wait_for(began.exists, process)
        process.kill()
        process.communicate()
        self.expect_same(whole, folder)
        self.assertFalse((folder / "finished").exists())
        done = subprocess.run([FEDERATED, "--resume=" + str(folder), "--pictures=off"], text=True,
                              capture_output=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_same(whole, folder)
        self.assertTrue((folder / "finished").exists())
        self.assertFalse((folder / "checkpoints").exists())

    def test_a_long_run_says_how_long_it_takes(self):
        process = subprocess.Popen(
            [FEDERATED, "--rounds=100000", "--policies=dense", "--train-limit=4000",
             "--test-limit=50", "--fidelity=analytic", "--out=" + str(self.root / "long")],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = next((line for line in process.stderr if line.startswith("This takes")), "nothing")
        process.kill()
        process.communicate()
        self.assertRegex(said, r"^This takes about \d[\d.]* (minutes|hours|days)\.$")

    def test_a_long_version_is_given_up(self):
        slow = ["--clients=40", "--per-round=4", "--rounds=2", "--evaluate-every=2",
                "--policies=topk", "--dataset=glyphs", "--model=resnet20", "--train-limit=3000",
                "--test-limit=50", "--batch=16", "--threads=1", "--fidelity=analytic",
                "--pictures=off"]
        folder, whole = self.root / "given-up", self.root / "not-given-up"

        def begin(place, *options):
            return subprocess.Popen([FEDERATED, *slow, "--out=" + str(place), *options],
                                    text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        process = begin(folder, "--checkpoint=1ms")
        wait_for(lambda: newest(folder) == 1, process)
        out, err = give_up(process)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("--resume=" + str(folder), out)
        self.assertEqual(newest(folder), 1)
        self.assertEqual(len((folder / "rounds.csv").read_text().splitlines()), 2)
        for place, options in ((folder, ["--resume"]), (whole, ["--checkpoint=off"])):
            process = begin(place, *options)
            err = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 0, err)
        self.expect_same(whole, folder)

    PLAN = ["plan", "--elements=1000", "--client-seconds=1", "--quiet"]

    def test_plans_end_at_a_signal_whatever_they_do(self):
        for number, seconds in ((signal.SIGINT, 0.1), (signal.SIGTERM, 0.7), (signal.SIGINT, 1.5)):
            process = subprocess.Popen([FEDERATED, *self.PLAN, "--clients=1000000",
                                        "--rounds=1000000"], text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            time.sleep(seconds)
            process.send_signal(number)
            start = time.monotonic()
            process.communicate(timeout=60)
            # Before it listens to signals they end it themselves.
            self.assertIn(process.returncode, (130, -number))
            self.assertLess(time.monotonic() - start, 10)  # of a loaded machine

    def test_what_memory_does_not_hold_is_one_message(self):
        homes = self.root / "homes.yaml"
        homes.write_text("- {count: 2000000000, per_line: 3}\n")
        for options in (["--clients=2000000000"], ["--population=" + str(homes)],
                        ["--clients=2000000000", "--exchange=in-network-allreduce"]):
            done = subprocess.run([FEDERATED, *self.PLAN, *options], text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("fewer", done.stderr)

    def test_secure_aggregation_takes_more_bytes_and_says_so(self):
        options = ["--policies=dense,randomk", "--rounds=3"]
        plain = self.run_to_end("unmasked", *options)
        folder = self.root / "masked"
        done = run(folder, *options, "--secure-aggregation=on")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no protocol is simulated", done.stdout)
        summary = json.loads((folder / "summary.json").read_text())
        self.assertIn("no protocol is simulated", " ".join(summary["notes"]))
        self.assertEqual(json.loads((plain / "summary.json").read_text())["notes"], [])
        for one, other in zip(rows(plain, "tasks.csv"), rows(folder, "tasks.csv"), strict=True):
            self.assertEqual(int(other["message_bytes"]),
                             math.ceil(1.73 * int(one["message_bytes"])))
        for name in ("training_loss", "message_bytes"):  # nothing else changes
            self.assertEqual([row[name] for row in rows(plain, "steps.csv")],
                             [row[name] for row in rows(folder, "steps.csv")])
        # More clients a round need more, and there is no figure beyond 2^14.
        many = ["--clients=1030", "--per-round=1024", "--partition=iid:samples=2,replace=on",
                "--policies=dense", "--rounds=1"]
        whole = int(next(row for row in rows(plain, "tasks.csv")
                         if row["policy"] == "dense")["message_bytes"])
        for more, factor in (([], 1.73), (["--over-select=1.005"], 1.98)):
            masked = self.run_to_end(f"many-{factor}", *many, *more, "--secure-aggregation=on")
            bytes_up = {int(row["message_bytes"]) for row in rows(masked, "tasks.csv")}
            self.assertEqual(bytes_up, {math.ceil(factor * whole)})
        self.assertIn("beyond 16384", self.refused(
            "--secure-aggregation=on", "--policies=dense", "--clients=16400", "--per-round=16385",
            "--partition=iid:samples=2,replace=on"))
        self.assertIn("off with topk", self.refused("--secure-aggregation=on", "--policies=topk"))
        self.assertIn("off with algorithm fedbuff",
                      self.refused("--secure-aggregation=on", "--algorithms=fedbuff",
                                   "--policies=dense", "--server=async:concurrency=4"))

    def test_rates_over_steps_are_recorded_and_resumed(self):
        options = ["--policies=topk", "--rate-over=steps", "--schedule=cosine",
                   "--local=epochs:1-3", "--algorithms=scaffold,fedavg"]
        folder = self.run_to_end("rates", *options, "--record")
        self.expect_same(folder, self.replayed(folder, "rates-again"))
        rates = [float(row["learning_rate"]) for row in rows(folder, "steps.csv")]
        self.assertGreater(rates[0], rates[5])
        self.killed("rates-killed", *options)

    def test_oort_runs_are_killed_and_go_on(self):
        self.killed("killed-oort", "--policies=topk", "--algorithms=fedavg", "--dropout=0.1",
                    "--population=phones", "--selection=oort:pacer=5", "--deadline=factor:3")

    def test_oort_depends_on_the_network(self):
        self.assertIn("federated.selection: it reads times",
                      self.refused("--record", "--selection=oort"))
        options = ["--policies=dense", "--population=phones", "--rounds=20"]
        one = self.run_to_end("oort", *options, "--selection=oort", "--threads=1")
        self.expect_same(one, self.run_to_end("oort-8", *options, "--selection=oort",
                                              "--threads=8"))
        uniform = self.run_to_end("uniform", *options)
        self.assertLess(float(rows(one, "steps.csv")[-1]["simulated_seconds"]),
                        float(rows(uniform, "steps.csv")[-1]["simulated_seconds"]))
        async_run = self.run_to_end("oort-async", "--policies=dense", "--algorithms=fedbuff:k=3",
                                    "--server=async:concurrency=6", "--selection=oort")
        tasks = sorted(rows(async_run, "tasks.csv"), key=lambda task: float(task["dispatched"]))
        busy = {}
        for task in tasks:  # nobody has two tasks at once
            end = float(task["uploaded"] or "inf")
            self.assertGreaterEqual(float(task["dispatched"]), busy.get(task["client"], 0))
            busy[task["client"]] = end

    def test_synchronous_runs_are_killed_and_go_on(self):
        self.killed("killed-sync", "--policies=topk,qsgd,lgreco", "--algorithms=fedavg,scaffold",
                    "--over-select=1.5", "--deadline=factor:2", "--dropout=0.1",
                    "--population=phones", "--selection=power-of-choice:d=6",
                    "--local=epochs:1-3", "--downlink=delta:topk@5%")

    def test_asynchronous_runs_are_killed_and_go_on(self):
        self.killed("killed-async", "--policies=dense,redsync,lgreco", "--algorithms=fedbuff:k=3",
                    "--server=async:concurrency=6", "--population=phones", "--dropout=0.1",
                    "--availability=sessions:on=10m,off=5m", "--seeds=2",
                    "--downlink=delta:sidco@5%")

    EXCHANGE = ("--exchange=ring-allreduce", "--local=steps:3", "--clients=5",
                "--population=phones", "--price=0.05")
    STREAMED = ("--algorithms=diloco:fragments=2,diloco:fragments=2,overlap=1,diloco:overlap=2",
                "--local=steps:6")

    def test_a_replay_of_an_exchange_equals_its_run_at_every_fidelity(self):
        options = [*self.EXCHANGE, "--policies=dense,fp16,topk,legacy-both,qsgd,powersgd,lgreco",
                   "--algorithms=fedavg,diloco", "--local=epochs:1-3", "--record"]
        recording = self.replays(options)
        done = subprocess.run([FEDERATED, "replay", str(recording), "--exchange=server"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("federated.exchange: got 'server'; allowed: a collective", done.stderr)
        replay = pathlib.Path(SCENARIO).parent / "legacy-replay"
        again = recording.parent / "by-legacy-replay"
        subprocess.run([replay, str(recording), "--up-rates=0.5", "--out=" + str(again),
                        "--pictures=off"], capture_output=True, check=True)
        self.expect_same(again, self.replayed(recording, "alias", "--up-rates=0.5"))

    def test_a_replay_of_streamed_fragments_equals_its_run(self):
        self.replays([*self.EXCHANGE, *self.STREAMED, "--policies=dense,topk,legacy-both,lgreco",
                      "--record"])

    def replays(self, options):
        recording = None
        name = self._testMethodName
        for fidelity in ("flow", "analytic", "packet"):
            folder = self.run_to_end(name + fidelity, *options, "--fidelity=" + fidelity)
            recording = recording or folder
            again = self.replayed(recording, name + "again-" + fidelity, "--fidelity=" + fidelity)
            self.expect_same(folder, again)
        changes = ["--exchange=direct-allgather", "--order=4,2,0,1,3", "--device-speed=2"]
        again = self.replayed(recording, name + "other", *changes)
        other = self.run_to_end(name + "changed", *options, *changes)
        self.expect_same(again, other)
        self.assertNotEqual(tables(again)["rounds.csv"], tables(recording)["rounds.csv"])
        for column in ("training_loss", "message_bytes"):
            self.assertEqual([row[column] for row in rows(again, "steps.csv")],
                             [row[column] for row in rows(recording, "steps.csv")])
        return recording

    def test_the_doctor_reads_an_exchange(self):
        folder = self.root / "exchange-doctored"
        done = run(folder, *self.EXCHANGE, "--policies=dense,topk", "--record",
                   "--device-speed=0.002")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = subprocess.run([FEDERATED, "doctor", str(folder)], text=True, capture_output=True,
                               check=True).stdout
        self.assertEqual(found.count("A version ends when all clients have everything"), 2)
        self.assertEqual(found.count("The slowest hop is "), 2)
        self.assertEqual(found.count("Remedies (simulated again, 6 rounds each)"), 2)
        remedies = [line.rsplit(maxsplit=6) for line in found.splitlines()
                    if line.startswith(("as it is", "half", "lines", "work", "the slowest"))]
        self.assertEqual(len(remedies), 2 * 5)
        ends = {row["policy"]: float(row["end"]) for row in rows(folder, "rounds.csv")}
        for policy, table in (("dense", remedies[:5]), ("topk", remedies[5:])):
            seconds = {line[0]: float(line[-2]) for line in table}
            whole = seconds["as it is"]
            self.assertAlmostEqual(whole, ends[policy], delta=1e-3 * ends[policy])
            for name, value in seconds.items():
                self.assertLessEqual(value, whole, name)
            self.assertLess(seconds["work in half the time"], whole)
            self.assertLess(seconds["the slowest tenth works like the median"], whole)
        (folder / "traffic.jsonl").unlink()
        alone = subprocess.run([FEDERATED, "doctor", str(folder)], text=True, capture_output=True,
                               check=True).stdout
        self.assertIn("no record (--record)", alone)
        self.assertEqual(alone.count("A version ends when all clients have everything"), 2)
        self.assertNotIn("Remedies", alone)

    def test_files_of_an_exchange_do_not_depend_on_threads(self):
        options = [*self.EXCHANGE, "--policies=dense,topk,qsgd,powersgd,accordion"]
        one = self.run_to_end("exchange-1", *options, "--threads=1")
        for threads in ("3",) if FEW else ("2", "3"):
            self.expect_same(one, self.run_to_end("exchange-" + threads, *options,
                                                  "--threads=" + threads))
        streamed = [*self.EXCHANGE, *self.STREAMED, "--policies=topk,qsgd"]
        self.expect_same(self.run_to_end("streamed-1", *streamed, "--threads=1"),
                         self.run_to_end("streamed-3", *streamed, "--threads=3"))

    def test_streamed_fragments_send_what_the_model_does(self):
        folder = self.run_to_end(
            "streamed", *self.EXCHANGE, "--policies=dense", "--local=steps:6",
            "--algorithms=diloco,diloco:fragments=1,overlap=0,diloco:fragments=2,overlap=1")
        one, same, two = (
            [row for row in rows(folder, "steps.csv") if row["policy"] == name + " dense"]
            for name in ("diloco", "diloco:fragments=1,overlap=0", "diloco:fragments=2,overlap=1"))
        for column in one[0]:
            if column != "policy":
                self.assertEqual([row[column] for row in one], [row[column] for row in same])
        for column in ("message_bytes", "nic_bytes", "elements_sent"):
            self.assertEqual([row[column] for row in one], [row[column] for row in two])
        self.assertNotEqual([row["training_loss"] for row in one],
                            [row["training_loss"] for row in two])

    def test_rounds_clients_and_links_of_an_exchange_add_up(self):
        folder = self.run_to_end("exchange-sums", *self.EXCHANGE, "--policies=dense,redsync")
        for policy in ("dense", "redsync"):
            def own(name):
                return [row for row in rows(folder, name) if row["policy"] == policy]
            self.assertEqual({row["participants"] for row in own("steps.csv")}, {"5"})
            self.assertEqual(len(own("tasks.csv")), 5 * 6)
            clients, links = own("clients.csv"), own("links.csv")
            up = sum(int(row["up_bytes"]) for row in clients)
            self.assertEqual(up, sum(int(row["down_bytes"]) for row in clients))
            self.assertEqual(up, sum(int(row["up_bytes"]) for row in own("rounds.csv")))
            usd = sum(float(row["usd"]) for row in own("rounds.csv"))
            self.assertAlmostEqual(usd, sum(float(row["usd"]) for row in links), delta=1e-9)
            self.assertAlmostEqual(usd, sum(float(row["usd"]) for row in clients),
                                   delta=2e-4 * usd)
            for row in own("steps.csv"):
                parts = sum(float(row[name + "_seconds"]) for name in
                            ("compute", "encode", "decode", "communication", "wait"))
                self.assertAlmostEqual(parts, float(row["step_seconds"]), delta=1e-6)

    def test_exchanges_are_killed_and_go_on(self):
        self.killed("killed-exchange", *self.EXCHANGE, "--policies=topk,powersgd,lgreco",
                    "--algorithms=fedavg,diloco", "--optimizer=adamw", "--client-state=keep")

    def test_streamed_fragments_are_killed_and_go_on(self):
        self.killed("killed-streamed", *self.EXCHANGE, *self.STREAMED, "--policies=topk,lgreco",
                    "--optimizer=adamw")

    def test_options_of_servers_are_refused_without_one(self):
        for option in ("--per-round=4", "--selection=weighted", "--over-select=1.5",
                       "--deadline=60s", "--dropout=0.1", "--availability=nightly",
                       "--server=async:concurrency=2", "--uplink-memory=ef21",
                       "--residual-age=5", "--server-rate=1Gbps"):
            message = self.refused("--exchange=ring-allreduce", "--clients=4", option)
            self.assertIn(option.split("=")[0], message)
            self.assertIn("--exchange=server reads it", message)
        self.assertIn("mean update alone",
                      self.refused("--exchange=ring-allreduce", "--algorithms=scaffold"))
        for local, algorithm, message in (
                ("steps:6", "diloco:fragments=7", "fragments: got '7'; allowed: at most the local"),
                ("steps:6", "diloco:fragments=2,overlap=3", "overlap: got '3'; allowed: below the"),
                ("epochs:2", "diloco:overlap=1", "federated.local in steps alone"),
                ("steps:6", "diloco:fragments=3", "fragments: got '3'; allowed: 1 to 2, the")):
            self.assertIn(message, self.refused("--exchange=ring-allreduce", "--local=" + local,
                                                "--clients=4", "--algorithms=" + algorithm))
        self.assertIn("federated.exchange alone",
                      self.refused("--algorithms=diloco:fragments=2", "--local=steps:6"))
        self.assertIn("clients that exchange: got '257'",
                      self.refused("--exchange=ring-allreduce", "--clients=257",
                                   "--partition=iid"))
        self.assertIn("power of two", self.refused("--exchange=recursive-doubling-allgather"))
        self.assertIn("compression.policies: got 'kimad'",
                      self.refused("--exchange=ring-allreduce", "--policies=kimad"))

    def test_what_ends_early_says_why(self):
        folder = self.root / "nobody"
        done = run(folder, "--dropout=1")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("does not come", done.stderr)

    def test_files_and_printed_scenarios_are_read_back(self):
        printed = subprocess.run([FEDERATED, *SMALL, "--per-round=4", "--print-config",
                                  "--algorithms=scaffold,fedprox:mu=1"], text=True,
                                 capture_output=True, check=True)
        path = self.root / "printed.yaml"
        path.write_text(printed.stdout)
        again = subprocess.run([FEDERATED, "--scenario=" + str(path), "--print-config"], text=True,
                               capture_output=True, check=True)
        self.assertEqual(printed.stdout, again.stdout)
        self.assertIn("per_round: 4", printed.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
