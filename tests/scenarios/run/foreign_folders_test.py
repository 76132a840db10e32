"""Gives every program the folders of every other one, and folders that somebody prepared.

Each is taken or refused in one sentence, whatever lies in it. What is refused changes nothing, and
nothing outside of a folder changes.

Usage: foreign_folders_test.py LEGACY_SCENARIO LEGACY_FEDERATED LEGACY_REPLAY LEGACY_REPORT
       LEGACY_STUDY [--every-file]

Without --every-file, one file of each kind and folder stands for those that are written alike.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

from killing import checkpoints, wait_for

SCENARIO, FEDERATED, REPLAY, REPORT, STUDY = sys.argv[1:6]
EVERY_FILE = sys.argv[6:] == ["--every-file"]
SMALL = ["--train-limit=96", "--test-limit=40", "--pictures=off"]
WORKERS = [SCENARIO, *SMALL, "--dataset=glyphs", "--model=small-cnn", "--workers=2", "--batch=4",
           "--policies=dense,topk", "--topo=star", "--fidelity=flow"]
CLIENTS = [FEDERATED, *SMALL, "--model=logistic", "--batch=8", "--clients=4", "--per-round=2"]
DEFINITION = """
study: {name: tiny}
scenario:
  training: {dataset: glyphs, model: small-cnn, train_limit: 96, test_limit: 40, workers: 2,
             batch: 4, steps: 4, evaluate_every: 4}
  compression: {policies: [dense]}
  network: {topology: star, fidelity: flow, stragglers: none}
grid: {bandwidth: [1Gbps]}
"""


def call(*command, **settings):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False, timeout=120, **settings)


def contents(folder):
    """Returns what each file of a folder is, links and FIFOs not followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = path.stat().st_mode
    return found


def sections(content):
    """Returns the sections of a checkpoint (base/files/section_file.h)."""
    number = lambda at, size: int.from_bytes(content[at:at + size], "little")  # noqa: E731
    table, end = number(len(content) - 28, 8), len(content) - 28
    found = {}
    while table < end:
        length = number(table, 4)
        name = content[table + 4:table + 4 + length].decode()
        offset, size = number(table + 4 + length, 8), number(table + 12 + length, 8)
        found[name] = content[offset:offset + size]
        table += 20 + length
    return found


def checkpoint_of(found):
    """Returns a checkpoint that is whole and has these sections."""
    content, table = b"LGSECT01", b""
    for name, part in found.items():
        table += len(name).to_bytes(4, "little") + name.encode()
        table += len(content).to_bytes(8, "little") + len(part).to_bytes(8, "little")
        content += part
    place = len(content)
    content += table + place.to_bytes(8, "little")
    content += (len(content) + 20).to_bytes(8, "little")
    return content + zlib.crc32(content).to_bytes(4, "little") + b"LGEND\0\0\0"


def growing_file(name, size):
    encoded = name.encode()
    return (len(encoded).to_bytes(8, "little") + encoded + size.to_bytes(8, "little"))


class ForeignFolders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="foreign-"))
        made = cls.root / "made"
        made.mkdir()
        (made / "nothing").mkdir()
        (cls.root / "tiny.yaml").write_text(DEFINITION)
        for command in (
            [*WORKERS, "--steps=4", "--record", "--out=" + str(made / "workers")],
            [*CLIENTS, "--rounds=2", "--record", "--out=" + str(made / "clients")],
            [REPLAY, made / "workers", "--pictures=off", "--out=" + str(made / "workers-again")],
            [FEDERATED, "replay", made / "clients", "--pictures=off",
             "--out=" + str(made / "clients-again")],
            [FEDERATED, "plan", "--elements=1000", "--client-seconds=1", "--clients=10",
             "--rounds=2", "--out=" + str(made / "plan")],
            [STUDY, "run", cls.root / "tiny.yaml", "--out=" + str(made / "study")],
        ):
            done = call(*command)
            assert done.returncode == 0, done.stderr
        cls.made = made

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def refused(self, done, *words):
        # 2: the folder is not allowed; 1: reading or writing in it failed
        self.assertIn(done.returncode, (1, 2), done.stdout + done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("legacy-")]
        self.assertEqual(len(said), 1, done.stderr)
        for word in words:
            self.assertIn(word, said[0])

    def test_every_program_takes_or_refuses_every_folder(self):
        out = str(self.root / "out")
        takers = {
            "resume workers": lambda folder: [SCENARIO, "--resume=" + folder],
            "resume clients": lambda folder: [FEDERATED, "--resume=" + folder],
            "replay": lambda folder: [REPLAY, folder, "--pictures=off", "--out=" + out],
            "replay clients": lambda folder: [FEDERATED, "replay", folder, "--pictures=off",
                                              "--out=" + out],
            "doctor": lambda folder: [FEDERATED, "doctor", folder, "--remedies=off"],
            "report": lambda folder: [REPORT, folder, "--no-pictures"],
            "status": lambda folder: [STUDY, "status", folder],
            "resume study": lambda folder: [STUDY, "resume", folder],
        }
        takes = {
            "workers": {"replay", "report"},
            "clients": {"replay", "replay clients", "doctor", "report"},
            "workers-again": {"report"},
            "clients-again": {"doctor", "report"},
            "plan": set(), "nothing": set(), "study": {"status", "resume study"},
        }
        for name, taken in takes.items():
            for what, command in takers.items():
                with self.subTest(folder=name, program=what):
                    shutil.rmtree(out, ignore_errors=True)
                    before = contents(self.made / name)
                    done = call(*command(str(self.made / name)))
                    if what in taken:
                        self.assertEqual(done.returncode, 0, done.stderr)
                        continue
                    self.refused(done, name)
                    self.assertEqual(contents(self.made / name), before)

    def test_nothing_is_written_among_the_files_of_others(self):
        tiny = str(self.root / "tiny.yaml")
        writers = {
            "plan": [FEDERATED, "plan", "--elements=1000", "--client-seconds=1", "--clients=10",
                     "--rounds=2"],
            "study": [STUDY, "run", tiny],
            "advise": [SCENARIO, "advise"],
            "advise clients": [FEDERATED, "advise"],
            "advise again": [FEDERATED, "advise", "--resume"],
            "run": [*WORKERS, "--steps=2", "--overwrite"],
        }
        for name in ("workers", "clients", "study"):
            for what, command in writers.items():
                if what == "run" and name != "study":
                    continue  # overwrites a run, as it was told
                with self.subTest(folder=name, program=what):
                    before = contents(self.made / name)
                    self.refused(call(*command, "--out=" + str(self.made / name)))
                    self.assertEqual(contents(self.made / name), before)

    def test_an_unfinished_run_goes_on_with_its_own_program_alone(self):
        for name in ("workers", "clients", "workers-again", "clients-again"):
            folder = self.root / "unfinished" / name
            shutil.copytree(self.made / name, folder)
            (folder / "finished").unlink()
            before = contents(folder)
            for program in (SCENARIO, FEDERATED):
                own = name == ("workers" if program == SCENARIO else "clients")
                if not own:
                    self.refused(call(program, "--resume=" + str(folder)), "program: got 'legacy-")
                    self.assertEqual(contents(folder), before)
        # A manifest that says one thing and has another is refused, too.
        folder = self.root / "unfinished" / "clients"
        document = json.loads((folder / "manifest.json").read_text())
        del document["configuration"]["federated"]
        (folder / "manifest.json").write_text(json.dumps(document))
        self.refused(call(FEDERATED, "--resume=" + str(folder)), "federated")
        self.refused(call(FEDERATED, "doctor", folder), "a run of legacy-federated")

    def test_another_version_does_not_go_on(self):
        folder = self.stopped("version", [*WORKERS, "--processor=native"], "--steps=4000")
        document = json.loads((folder / "manifest.json").read_text())
        for section, key in ((document["versions"], "cpu_capability"),
                             (document["versions"], "processor"), (document, "version")):
            was = section[key]
            section[key] = "of another machine"
            (folder / "manifest.json").write_text(json.dumps(document))
            self.refused(call(SCENARIO, "--resume=" + str(folder)), key, "of another machine")
            section[key] = was

    def stopped(self, name, program=WORKERS, *options):
        """Starts a run and stops it behind two checkpoints."""
        folder = self.root / name
        if not options and program == WORKERS:
            options = ["--steps=4000", "--tensorboard", "--networks=far:bandwidth=100Mbps"]
        elif not options:
            options = ["--rounds=4000"]
        command = [*program, "--checkpoint=1ms", "--record", "--evaluate-every=4000",
                   "--out=" + str(folder), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        wait_for(lambda: len(checkpoints(folder)) == 2, process)
        process.terminate()
        err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, err)
        return folder

    def expect_untouched(self, folder, program, *words):
        """Expects that a run does not continue, and that the folder beside it stays as it is."""
        beside = contents(folder.parent / "beside")
        self.refused(call(program, "--resume=" + str(folder)), *words)
        self.assertEqual(contents(folder.parent / "beside"), beside)

    def test_links_of_a_folder_lead_nowhere(self):
        for program, begin in ((SCENARIO, WORKERS), (FEDERATED, CLIENTS)):
            source = self.stopped("links-" + pathlib.Path(program).name, begin)
            beside = self.root / "beside"
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir()
            names = [str(path.relative_to(source)) for path in sorted(source.rglob("*"))
                     if path.suffix in (".csv", ".jsonl", ".legacy")
                     and path.name != "networks.csv"]  # which does not grow
            self.assertGreater(len(names), 6)
            if not EVERY_FILE:
                kinds = {pathlib.Path(name).with_stem("any"): name for name in names}
                names = sorted({*kinds.values(), "steps.csv"})
            folder = self.root / "copy"
            for whole in (True, False):  # with a checkpoint, and from the beginning
                for name in names:
                    for kind in ("link", "second name", "FIFO"):
                        if (kind != "link" or not whole) and name != "steps.csv":
                            continue
                        shutil.rmtree(folder, ignore_errors=True)
                        shutil.copytree(source, folder)
                        if not whole:
                            shutil.rmtree(folder / "checkpoints")
                        if not (folder / name).exists():
                            continue
                        victim = beside / "victim"
                        shutil.move(folder / name, victim)
                        with open(victim, "ab") as file:
                            file.write(b"more\n")
                        {"link": lambda: (folder / name).symlink_to(victim),
                         "second name": lambda: os.link(victim, folder / name),
                         "FIFO": lambda: os.mkfifo(folder / name)}[kind]()
                        with self.subTest(program=program, name=name, kind=kind, whole=whole):
                            self.expect_untouched(folder, program, str(folder))

    def test_folders_of_a_run_are_no_links(self):
        source = self.stopped("folders")
        beside = self.root / "beside"
        for name in ("checkpoints", "networks", "networks/far", "tensorboard"):
            shutil.rmtree(beside, ignore_errors=True)
            folder = self.root / "linked"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(source, folder)
            shutil.move(folder / name, beside)
            (folder / name).symlink_to(beside)
            with self.subTest(name=name):
                self.expect_untouched(folder, SCENARIO, "link")

    def test_a_checkpoint_names_files_of_the_run_alone(self):
        folder = self.stopped("names")
        beside = self.root / "beside"
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        (beside / "victim").write_text("precious\n")
        (folder / "lnk").symlink_to(beside)
        (folder / "notes.txt").write_text("precious\n")
        newest = checkpoints(folder)[-1]
        found = sections(newest.read_bytes())
        for name in ("lnk/victim", "../beside/victim", str(beside / "victim"), "notes.txt"):
            found["files"] = (1).to_bytes(8, "little") + growing_file(name, 0)
            newest.write_bytes(checkpoint_of(found))
            with self.subTest(name=name):
                self.expect_untouched(folder, SCENARIO, "none of the run's", name)
                self.assertEqual((folder / "notes.txt").read_text(), "precious\n")

    def test_a_new_run_writes_over_no_link(self):
        folder, beside = self.root / "over", self.root / "beside"
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        folder.mkdir()
        names = ("manifest.json", "summary.json", "finished", "metric-time.gp")
        for name in names:
            (beside / name).write_text("precious\n")
            (folder / name).symlink_to(beside / name)
        done = call(*WORKERS, "--steps=2", "--overwrite", "--out=" + str(folder),
                    "--pictures=on", env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in names:
            self.assertEqual((beside / name).read_text(), "precious\n", name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
