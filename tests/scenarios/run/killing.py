"""Kills runs at random moments, and expects the files of an undisturbed run."""

import os
import random
import shutil
import signal
import time


KILLS = "--kills="


def take_kills(arguments):
    """Takes --kills=N out of the arguments of a test. Returns N, or else a few."""
    found = [argument for argument in arguments if argument.startswith(KILLS)]
    for argument in found:
        arguments.remove(argument)
    return int(found[-1][len(KILLS):]) if found else 2


def checkpoints(folder):
    names = (folder / "checkpoints").glob("checkpoint-*")
    found = [path for path in names if path.name.split("-")[1].isdigit()]
    return sorted(found, key=lambda path: int(path.name.split("-")[1]))


def newest(folder):
    """Returns the number of the newest checkpoint, which counts steps; 0: there is none."""
    found = checkpoints(folder)
    return int(found[-1].name.split("-")[1]) if found else 0


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError("the run ended or hung: " + process.communicate()[1])
        time.sleep(0.002)


def give_up(process):
    """Asks a run that is within a step to stop, and sends the alarm that it set for a second later.

    A step of any length is thus given up, however fast the machine is. Returns what the run said.
    """
    time.sleep(0.1)  # its checkpoint is there; the next step has begun
    process.terminate()
    process.send_signal(signal.SIGALRM)
    return process.communicate(timeout=60)


def slow_gnuplot(folder):
    """Makes a gnuplot that hangs, and returns the environment that finds it, and what it leaves.

    A run is then held between its last row and its end.
    """
    folder.mkdir()
    program = folder / "gnuplot"
    program.write_text('#!/bin/sh\ntouch "$0.began"\nexec sleep 2\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, folder / "gnuplot.began"


def kill_at_random(test, folder, count, start, expect_whole):
    """Kills a run some steps, and then some milliseconds, after it started or continued.

    `start(options)` starts it, with ["--resume"] where it continues. A run that ends before all
    kills is compared, and a new one takes the rest.
    """
    draws = random.Random(folder.name)
    kills = 0
    for _ in range(3 * count):
        if kills == count:
            break
        begun = (folder / "manifest.json").exists()
        before = newest(folder)
        process = start(["--resume"] if begun else [])
        steps = draws.randrange(7)
        wait_for(lambda target=before + steps: newest(folder) >= target
                 or process.poll() is not None, process)
        time.sleep(draws.random() * (0.01 if steps > 0 else 0.5))
        process.kill()
        err = process.communicate()[1]
        if process.returncode == -signal.SIGKILL:
            kills += 1
            continue
        # A run killed between its last byte and its exit is refused as a finished one.
        finished = begun and "a run that is not finished" in err
        test.assertTrue(process.returncode == 0 or finished, err)
        expect_whole()
        shutil.rmtree(folder)
    test.assertEqual(kills, count)
    process = start(["--resume"])
    err = process.communicate(timeout=120)[1]
    if "a run that is not finished" not in err:
        test.assertEqual(process.returncode, 0, err)
    expect_whole()
