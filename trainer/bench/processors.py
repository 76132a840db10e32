#!/usr/bin/env python3
"""Measures what --processor=portable costs: processor time of trainings, beside --processor=native.

Usage: trainer/bench/processors.py BUILD [TURNS]        BUILD: build/release

Both settings train the same steps in turns, on one thread. The time of a step is the difference
between a training of many steps and one of a single step, so that loading and evaluating are left
out. The ratio is that of the medians of the turns (5).
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ALWAYS = [
    "--topo=star",
    "--fidelity=analytic",
    "--networks=none",
    "--policies=dense",
    "--target=none",
    "--seeds=1",
    "--threads=1",
    "--checkpoint=off",
    "--pictures=off",
    "--overwrite",
]
# Model, its options, and steps.
MODELS = [
    ("patch-resnet20", ["--workers=8", "--batch=8", "--test-limit=8"], 25),
    ("small-cnn", ["--workers=4", "--batch=32", "--test-limit=8"], 300),
    ("resnet20", ["--workers=2", "--batch=16", "--test-limit=8"], 15),
    ("lstm:hidden=200", ["--dataset=grammar:tokens=20000", "--workers=4", "--batch=20"], 15),
    ("gpt-tiny", ["--dataset=grammar:tokens=20000", "--workers=4", "--batch=8"], 30),
]


def seconds(program, folder, processor, steps, model, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, f"--model={model}", *options, *ALWAYS, f"--out={folder}",
                    f"--processor={processor}", f"--steps={steps}", f"--evaluate-every={steps}",
                    "--warmup-steps=0"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=os.environ | {"LEGACY_DATA": "/nowhere"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]) / "bin" / "legacy-scenario"
    turns = int(sys.argv[2]) if len(sys.argv) == 3 else 5
    print("| model | workers x samples | native, ms a step | portable, ms a step | ratio |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for model, options, steps in MODELS:
            times = {"native": [], "portable": []}
            for _ in range(turns):
                for processor, of_steps in times.items():
                    one, many = (seconds(program, folder, processor, n, model, options)
                                 for n in (1, steps + 1))
                    of_steps.append(1000 * (many - one) / steps)
            native, portable = (statistics.median(times[p]) for p in ("native", "portable"))
            shape = " x ".join(o.split("=")[1] for o in options
                               if o.startswith(("--workers", "--batch")))
            row = [model, shape, f"{native:.1f}", f"{portable:.1f}", f"{portable / native:.2f}"]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
