"""Records two gloo processes on the CPU and replays the trace.

Usage: record_ddp_trace_test.py RECORDER LEGACY_REPLAY; exits with 77 (skipped) if torch cannot be
imported.
"""

import csv
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

RANKS = 2
STEPS = 4


def load_recorder(path):
    spec = importlib.util.spec_from_file_location("record_ddp_trace", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train(module, folder, rank, record):
    """Returns the parameters after a few steps; `record`: None, "dense", "fp16" or "own"."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU(),
                              torch.nn.Linear(1024, 512))
    # DistributedDataParallel closes its first bucket from 1 MiB on.
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recorder = None
    if record:
        path = os.path.join(folder, record + ".trace")
        options = {"dense": {},
                   "fp16": {"hook": default_hooks.fp16_compress_hook,
                            "metrics": {"perplexity": "lower"}},
                   "own": {"hook": lambda *arguments: default_hooks.allreduce_hook(*arguments),
                           "method": "own",
                           "sends": lambda bucket: [("broadcast", 8),
                                                    ("all-gather", 10 + rank)]}}[record]
        recorder = module.DdpTraceRecorder(path, model, **options)
        model.register_comm_hook(recorder, recorder.hook)
    for step in range(STEPS):
        torch.manual_seed(100 * step + rank)
        optimizer.zero_grad()
        loss = model(torch.randn(16, 64)).square().mean()
        loss.backward()
        optimizer.step()
        if recorder:
            recorder.end_step(loss=loss.item(), rate=0.1)
            with torch.no_grad():
                model(torch.randn(4, 64))  # an evaluation is no step
            if step + 1 == STEPS:
                recorder.evaluated(**({"metrics": {"perplexity": 118.5}} if record == "fp16"
                                      else {"accuracy": 0.5}))
    if recorder:
        recorder.close()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def run_rank(recorder, folder, rank):
    module = load_recorder(recorder)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank,
                            world_size=RANKS)
    plain = train(module, folder, rank, None)
    recorded = train(module, folder, rank, "dense")
    assert torch.equal(plain, recorded), "recording changed the training"
    train(module, folder, rank, "fp16")
    train(module, folder, rank, "own")
    try:
        train_unknown(module, folder)
        raise AssertionError("a hook that says nothing was taken")
    except ValueError as error:
        assert "sends" in str(error), error


def train_unknown(module, folder):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    module.DdpTraceRecorder(os.path.join(folder, "x"), model, hook=lambda state, bucket: None)


def replay(program, folder, name):
    """Replays a trace; returns the rows of steps.csv, and the trace."""
    trace, out = os.path.join(folder, name + ".trace"), os.path.join(folder, name)
    subprocess.run([program, trace, "--fidelity=analytic", "--topo=star", "--pictures=off",
                    "--out=" + out],
                   check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "steps.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == STEPS, rows
    assert all(float(row["compute_seconds"]) > 0 for row in rows), rows
    with open(trace, encoding="utf-8") as file:
        return rows, file.read()


def check_traces(program, folder):
    elements = 65 * 1024 + 1025 * 512
    rows, trace = replay(program, folder, "dense")
    assert all(float(row["message_bytes"]) == 4 * elements for row in rows), rows
    assert all(float(row["elements_sent"]) == elements for row in rows), rows
    assert trace.count("\n  bucket ") > STEPS, "several buckets a step were meant"
    assert "method dense\n" in trace and "layer 0.weight 1024x64\n" in trace, trace
    assert re.search(r"\n  compute \S+ \S+\n", trace), "times of each rank were meant"
    assert "encode" not in trace, "a plain all-reduce encodes nothing"
    assert all(float(row["encode_seconds"]) == 0 for row in rows), rows
    assert "  rate 0.1\n" in trace and trace.count("accuracy 0.5\n") == 1, trace
    rows, trace = replay(program, folder, "fp16")
    assert "metric perplexity lower\nmethod " in trace, trace
    assert trace.count("  metric perplexity 118.5\n") == 1, trace
    with open(os.path.join(folder, "fp16", "evaluations.csv"), encoding="utf-8") as file:
        header, last = file.read().splitlines()
    assert header.endswith(",test_loss,test_perplexity") and last.endswith(",nan,118.5"), last
    assert all(float(row["message_bytes"]) == 2 * elements for row in rows), rows
    assert all(float(row["encode_seconds"]) > 0 for row in rows), rows
    rows, trace = replay(program, folder, "own")
    assert "send broadcast 8\n    send all-gather 10 11\n" in trace, trace
    assert not [name for name in os.listdir(folder) if ".rank" in name
                and not name.startswith("x.")], "parts are left"


def check_merge(module, folder):
    """Merges the parts that a crash leaves, with a cut line and different numbers of steps."""
    header = ('{"legacy-ddp-record": 1, "rank": %d, "ranks": 2, "method": "m", '
              '"layers": [["a", "3"], ["b", "2x2"], ["c", "5"]]}\n')
    step = ('{"compute": %s, "buckets": [{"layers": [2, 1, 0], "ready": %s, "encode": 0.0, '
            '"sends": [["all-reduce", 48]]}]}\n')
    parts = [os.path.join(folder, f"cut.rank{rank}") for rank in range(2)]
    for rank, part in enumerate(parts):
        with open(part, "w", encoding="utf-8") as file:
            file.write(header % rank + step % (0.5, 0.25) + (step % (1, 1)) * rank
                       + '{"compute": 1')
    out = os.path.join(folder, "cut.trace")
    module.merge(out, parts)
    with open(out, encoding="utf-8") as file:
        assert file.read().endswith(
            "method m\nstep\n  compute 0.5\n  bucket c..a\n    ready 0.25\n    encode 0\n"
                                    "    send all-reduce 48\n")
    for wrong in (parts[:1], parts[:1] * 2):
        try:
            module.merge(out, wrong)
            raise AssertionError("parts of other ranks were taken")
        except ValueError as error:
            assert "each of 2" in str(error), error


def main():
    recorder, program = sys.argv[1:3]
    if len(sys.argv) == 5:
        run_rank(recorder, sys.argv[3], int(sys.argv[4]))
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
        ranks = [subprocess.Popen([sys.executable, __file__, recorder, program, folder, str(rank)],
                                  env=environment)
                 for rank in range(RANKS)]
        assert [rank.wait() for rank in ranks] == [0] * RANKS
        check_traces(program, folder)
        check_merge(load_recorder(recorder), folder)
        print(open(os.path.join(folder, "dense.trace"), encoding="utf-8").read()[:1200])


if __name__ == "__main__":
    main()
