"""Kills, stops and damages runs of legacy-scenario, and expects the files of an undisturbed run.

Usage: resume_test.py LEGACY_SCENARIO [--kills=N]
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from killing import checkpoints, give_up, kill_at_random, newest, slow_gnuplot, take_kills, wait_for

KILLS = take_kills(sys.argv)
SCENARIO = sys.argv[1]
OPTIONS = [
    "--dataset=glyphs",
    "--model=small-cnn",
    "--train-limit=96",
    "--test-limit=40",
    "--workers=3",
    "--batch=4",
    "--steps=8",
    "--evaluate-every=3",
    "--seeds=2",
    "--threads=2",
    "--policies=dense,topk,powersgd,legacy-both,lgreco,gravac,kimad",
    "--topo=star",
    "--fidelity=flow",
    "--networks=far:bandwidth=100Mbps",
    "--record",
    "--tensorboard",
    "--doctor=on",
    "--trace-steps=2,5",
    "--trace-workers=0-1",
    "--gradient-steps=1,6",
    "--pictures=off",
]
# One training that is long enough to be reached by signals.
LONG = [
    "--steps=4000",
    "--evaluate-every=4000",
    "--policies=topk",
    "--seeds=1",
    "--networks=none",
    "--doctor=off",
    "--trace-steps=0",
    "--record=off",
    "--tensorboard=off",
    "--gradient-steps=0",
]
# One training whose steps and evaluation take half a second or more each.
SLOW = [
    "--dataset=glyphs",
    "--model=resnet20",
    "--train-limit=384",
    "--test-limit=1250",
    "--workers=6",
    "--batch=32",
    "--steps=2",
    "--evaluate-every=2",
    "--threads=1",
    "--policies=topk",
    "--seeds=1",
    "--topo=star",
    "--fidelity=analytic",
    "--networks=none",
    "--pictures=off",
]
PERIOD = "--checkpoint=1ms"


def run(folder, *options, resume=False, **settings):
    """Runs to the end. Returns the completed process."""
    place = ["--resume=" + str(folder)] if resume else OPTIONS + ["--out=" + str(folder)]
    return subprocess.run([SCENARIO, *place, *options], capture_output=True, text=True,
                          check=False, timeout=120, **settings)


def start(folder, *options, **settings):
    return subprocess.Popen([SCENARIO, *OPTIONS, "--out=" + str(folder), *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


def files(folder):
    """Returns the bytes of all files; of manifests what does not tell when and where they ran."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if path.name == "manifest.json":
            document = json.loads(content)
            del document["created"], document["command_line"]
            for key in ("checkpoint", "jobs", "out", "overwrite", "pictures", "threads"):
                document["configuration"]["run"].pop(key)
            content = json.dumps(document).encode()
        found[str(path.relative_to(folder))] = content
    return found


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="resume-"))
        cls.whole = cls.root / "whole"
        done = run(cls.whole, "--checkpoint=off")
        assert done.returncode == 0, done.stderr
        cls.expected = files(cls.whole)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def expect_whole(self, folder):
        got = files(folder)
        self.assertEqual(sorted(got), sorted(self.expected))
        self.assertEqual([name for name in got if got[name] != self.expected[name]], [])

    def refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("legacy-scenario:")]
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def stopped(self, name, *options, after=3):
        """Starts a run and ends it by SIGTERM after some checkpoints."""
        folder = self.root / name
        process = start(folder, PERIOD, *options)
        wait_for(lambda: len(checkpoints(folder)) == 2
                 and int(checkpoints(folder)[-1].name.split("-")[1]) >= after, process)
        process.terminate()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("--resume=" + str(folder), out)
        return folder

    def kill_at_random(self, name, count, *options):
        folder = self.root / name
        kill_at_random(self, folder, count,
                       lambda resume: start(folder, PERIOD, *options, *resume),
                       lambda: self.expect_whole(folder))

    def test_killed_at_random_moments(self):
        self.kill_at_random("killed", KILLS)

    def test_killed_between_its_last_row_and_its_end(self):
        environment, began = slow_gnuplot(self.root / "slow")
        for name, period in (("late", PERIOD), ("late-without-checkpoints", "--checkpoint=off")):
            folder = self.root / name
            process = start(folder, period, "--pictures=on", env=environment)
            wait_for(began.exists, process)
            process.kill()
            process.communicate()
            began.unlink()
            rows = (folder / "network.csv").read_bytes()
            self.assertEqual(rows, self.expected["network.csv"])
            self.assertFalse((folder / "finished").exists())
            self.assertEqual(bool(checkpoints(folder)), period == PERIOD)
            for script in folder.glob("*.gp"):
                script.unlink()
            done = run(folder, "--pictures=off", resume=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.expect_whole(folder)
        # Killed between its last file and the end of its checkpoints, it is finished.
        (folder / "checkpoints").mkdir()
        (folder / "checkpoints" / "checkpoint-7").write_bytes(b"old")
        self.refused(run(folder, resume=True), "a run that is not finished")
        self.expect_whole(folder)

    def test_what_a_killed_process_was_writing_goes(self):
        folder = self.stopped("half-written")
        # Other processes have these numbers now.
        for name in ("doctor.json.1-0.tmp", f"doctor.json.{os.getpid()}-7.tmp"):
            (folder / name).write_text("half")
        done = run(folder, resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_whole(folder)

    def test_killed_at_random_moments_with_jobs(self):
        self.kill_at_random("killed-jobs", KILLS // 2, "--jobs=2")

    def test_jobs_leave_the_same_files(self):
        folder = self.root / "jobs"
        done = run(folder, "--jobs=3", "--checkpoint=off")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_whole(folder)

    def test_jobs_keep_passes_and_updates_of_local_steps(self):
        found = []
        for jobs in ("1", "2"):
            folder = self.root / ("local-" + jobs)
            done = run(folder, "--accumulate=2", "--policies=dense,diloco", "--local-steps=4",
                       "--gradient-steps=0", "--jobs=" + jobs, "--checkpoint=off")
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append(files(folder))
        one, two = found
        self.assertEqual(sorted(one), sorted(two))
        self.assertEqual([name for name in one if one[name] != two[name]], [])

    def test_a_run_that_is_timed_as_a_shape_goes_on(self):
        views = ("--gradient-steps", "--doctor", "--trace")
        options = [option for option in OPTIONS if not option.startswith(views)]
        shape = self.root / "small.layers"
        shape.write_text("a 64x300 2e6 1e4\na.bias 64\nb 100x64 1e6 1e4\n")
        command = [SCENARIO, *options, "--times-of=" + str(shape), "--policies=topk,lgreco"]
        whole, folder = self.root / "shape-whole", self.root / "shape"
        done = subprocess.run([*command, "--out=" + str(whole), "--checkpoint=off"], text=True,
                              capture_output=True, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        process = subprocess.Popen([*command, "--out=" + str(folder), PERIOD], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: newest(folder) >= 3, process)
        process.terminate()
        err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, err)
        done = run(folder, resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(files(folder), files(whole))

    def test_a_job_that_dies_ends_the_run_with_its_name(self):
        folder = self.root / "dies"
        process = start(folder, *LONG, "--jobs=2", "--policies=dense,topk", PERIOD)
        job = folder / "checkpoints" / "job-1" / "journal"
        wait_for(lambda: job.exists() and job.stat().st_size > 0, process)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)],
                                  capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(len(children), 2)
        os.kill(max(map(int, children)), signal.SIGKILL)
        err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(err.splitlines()[-1], "method topk, seed 1: .*signal 9")
        for child in children:
            self.assertFalse(pathlib.Path("/proc", child).exists())

    def test_stops_at_a_signal_and_goes_on(self):
        folder = self.stopped("terminated")
        self.assertTrue((folder / "summary.json").exists())  # as of any interrupted run
        again = start(folder)  # the same command without --resume
        err = again.communicate()[1]
        self.assertEqual(again.returncode, 2)
        self.assertIn("--resume=", err)
        done = run(folder, resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("continues after step", done.stderr)
        self.expect_whole(folder)
        self.refused(run(folder, resume=True), "a run that is not finished")

    def test_long_steps_and_evaluations_are_given_up(self):
        def rows(folder, name):
            path = folder / name
            return len(path.read_text().splitlines()) - 1 if path.exists() else 0

        def begin(folder, *options):
            return subprocess.Popen([SCENARIO, *SLOW, "--out=" + str(folder), *options], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        first = self.root / "slow-first"
        process = begin(first)
        wait_for((first / "steps.csv").exists, process)
        time.sleep(0.2)  # a signal before the first step ends it at once
        out, err = give_up(process)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("--resume=" + str(first) + " starts again", out)
        self.assertEqual(rows(first, "steps.csv"), 0)
        folder = self.root / "slow-steps"
        for steps, options in ((1, []), (2, ["--resume"])):  # in step 2, and while it is judged
            process = begin(folder, PERIOD, *options)
            wait_for(lambda count=steps: rows(folder, "steps.csv") >= count
                     and newest(folder) >= 1, process)
            out, err = give_up(process)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn("--resume=" + str(folder), out)
            self.assertEqual(rows(folder, "steps.csv"), steps)
            self.assertEqual(rows(folder, "evaluations.csv"), 0)
            self.assertEqual(newest(folder), 1)
        whole = self.root / "slow-whole"
        for place, options in ((folder, ["--resume"]), (whole, ["--checkpoint=off"])):
            process = begin(place, *options)
            err = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(files(folder), files(whole))

    def test_a_long_run_says_how_long_it_takes(self):
        process = start(self.root / "long", *LONG, "--steps=1000000", "--schedule=constant")
        said = next((line for line in process.stderr if line.startswith("This takes")), "nothing")
        process.kill()
        process.communicate()
        self.assertRegex(said, r"^This takes about \d[\d.]* (minutes|hours)\.$")

    def test_a_request_writes_a_checkpoint_and_goes_on(self):
        folder = self.root / "requested"
        process = start(folder, *LONG)
        steps = folder / "steps.csv"
        wait_for(lambda: steps.exists() and steps.stat().st_size > 2000, process)
        self.assertEqual(checkpoints(folder), [])  # ten minutes are not over
        for count in (1, 2):
            process.send_signal(signal.SIGUSR1)
            wait_for(lambda: checkpoints(folder)[-1:]
                     and checkpoints(folder)[-1].name == f"checkpoint-{count}", process)
        size = steps.stat().st_size
        wait_for(lambda: steps.stat().st_size > size, process)
        with self.subTest("a second process is refused"):
            self.refused(run(folder, resume=True), "no other process")
        process.kill()
        process.communicate()

    def test_only_one_message_where_there_is_nothing_to_resume(self):
        self.refused(run(self.root / "none", resume=True), "--resume", "manifest.json")
        self.refused(run(self.whole, resume=True), "a run that is not finished")
        empty = subprocess.run([SCENARIO, *OPTIONS, "--resume"], capture_output=True, text=True,
                               check=False)
        self.refused(empty, "--resume", "--out")

    def test_a_changed_scenario_is_refused(self):
        folder = self.stopped("changed")
        before = files(folder)
        for option, key in (
            ("--learning-rate=0.5", "training.learning_rate"),
            ("--seeds=3", "run.seeds"),
            ("--steps=7", "training.steps"),
            ("--bandwidth=2Gbps", "network.bandwidth"),
            ("--policies=dense,topk", "compression.policies"),
            ("--jobs=2", "run.jobs"),
        ):
            self.refused(run(folder, option, resume=True), key, "as the run began")
        self.assertEqual(files(folder), before)
        done = run(folder, "--threads=1", "--checkpoint=off", resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_whole(folder)

    def test_steps_may_grow_within_the_first_training(self):
        constant = ["--schedule=constant", "--warmup-steps=0", "--policies=topk,dense", "--seeds=1",
                    "--evaluate-every=3"]
        folder = self.stopped("grown", *constant, "--steps=120", after=3)
        done = run(folder, "--steps=122", resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        longer = self.root / "longer"
        done = run(longer, *constant, "--steps=122", "--checkpoint=off")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("steps.csv", "evaluations.csv", "network.csv", "layers.csv"):
            self.assertEqual((folder / name).read_text(), (longer / name).read_text(), name)
        manifest = json.loads((folder / "manifest.json").read_text())
        self.assertEqual(manifest["configuration"]["training"]["steps"], "122")
        late = self.stopped("late-steps", after=20)
        self.refused(run(late, "--steps=9", resume=True), "training.steps", "dense, seed 1, ended")

    def test_damaged_checkpoints_are_refused_for_the_one_before(self):
        for kind in ("cut", "changed"):
            folder = self.stopped("damaged-" + kind, after=12)
            before, newest = checkpoints(folder)
            content = bytearray(newest.read_bytes())
            if kind == "cut":
                content = content[: len(content) // 2]
            else:
                content[len(content) // 3] ^= 1
            newest.write_bytes(content)
            done = run(folder, resume=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            warnings = [line for line in done.stderr.splitlines() if str(newest) in line]
            self.assertEqual(len(warnings), 1, done.stderr)
            self.assertIn("the checkpoint before it is used", warnings[0])
            self.assertIn(str(before), done.stderr)
            self.expect_whole(folder)

    def test_without_a_whole_checkpoint_the_run_starts_again(self):
        folder = self.stopped("lost")
        for path in checkpoints(folder):
            path.write_bytes(b"nothing")
        done = run(folder, resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("starts from its beginning", done.stderr)
        self.expect_whole(folder)

    def test_a_full_disk_loses_nothing(self):
        folder = self.root / "full"
        largest = max(len(content) for content in self.expected.values())

        def little_space():
            # No file may become as large as a checkpoint, which fails as on a full disk.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 4096, resource.RLIM_INFINITY))

        done = run(folder, PERIOD, preexec_fn=little_space)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "checkpoint-1: cannot be written: .*continues without")
        self.expect_whole(folder)
        # A disk that fills up later leaves the checkpoints so far.
        folder = self.stopped("filled")
        before = [path.read_bytes() for path in checkpoints(folder)]
        process = subprocess.Popen([SCENARIO, "--resume=" + str(folder)], preexec_fn=little_space,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertTrue(any("cannot be written" in line for line in process.stderr))
        process.kill()
        process.communicate()
        self.assertEqual([path.read_bytes() for path in checkpoints(folder)], before)
        done = run(folder, resume=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_whole(folder)

    def test_values_of_the_option(self):
        for value in ("5min", "off", "30s"):
            text = run("x", "--checkpoint=" + value, "--print-config").stdout
            self.assertTrue(re.search("checkpoint: " + value, text), text)
        self.refused(run("x", "--checkpoint=often"), "--checkpoint", "30s, 10min or 2h")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
