"""Records a trace of distributed data-parallel training with PyTorch, for legacy-replay.

The trace is a text file (docs/trace-format.md) of the messages of each step by bucket, and of the
times of the devices; it can be timed on any simulated network. Needs only torch.

    model = torch.nn.parallel.DistributedDataParallel(model)
    recorder = DdpTraceRecorder("run.trace", model)
    model.register_comm_hook(recorder, recorder.hook)
    for batch in batches:
        loss = ...; loss.backward(); optimizer.step()
        recorder.end_step(loss=loss.item())
        if ...: recorder.evaluated(accuracy=evaluate(model))
    recorder.close()

Every rank writes PATH.rankN while it trains, a line for each step; close() merges these files.
After a crash, or if ranks share no folder, merge them by
    python3 record_ddp_trace.py PATH PATH.rank0 PATH.rank1 ...
"""

import json
import os
import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError:
    if __name__ != "__main__":  # merging needs no torch
        raise ImportError("record_ddp_trace needs PyTorch: apt install python3-torch (Debian), or "
                          "https://pytorch.org/get-started") from None

WAYS = ("all-reduce", "all-gather", "broadcast")
# Which way a metric is better, and whether its values are fractions.
METRIC_KINDS = ("higher", "lower", "higher fraction", "lower fraction")
# Bytes per element that PyTorch's own hooks send by all-reduce; None: those of the gradient.
KNOWN_HOOKS = {"allreduce_hook": None, "fp16_compress_hook": 2, "bf16_compress_hook": 2}


class _CpuTimer:
    def now(self):
        return time.perf_counter()

    def wait(self, mark):
        pass

    def seconds(self, begin, end):
        return end - begin


class _CudaTimer:
    """Measures times by events on the current stream, which stall the device only in wait()."""

    def now(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def wait(self, mark):
        mark.synchronize()

    def seconds(self, begin, end):
        return begin.elapsed_time(end) / 1e3


class _Step:
    def __init__(self, begin):
        self.begin = begin
        self.buckets = []  # messages, and marks
        self.done = []     # marks of the arrival of a bucket's mean
        self.end = None    # mark of the end of the optimizer's step
        self.evaluation = None  # mark of the start of an evaluation, if one came before end_step
        self.facts = {}

    def note(self, **values):
        self.facts.update({key: float(value) for key, value in values.items()
                           if value is not None})


class DdpTraceRecorder:
    """Records the training of `model`, a DistributedDataParallel. `hook`, `state`: the
    communication hook to run; default: PyTorch's all-reduce. `sends(bucket)`: the messages of one
    rank for a bucket, a list of (way, bytes) with ways of WAYS, one for each collective call;
    needed unless the hook is one of PyTorch's casts. `method`: the name in tables. `metrics`: the
    metrics besides accuracy that evaluated() gets, as {"perplexity": "lower", "top5": "higher
    fraction"}: which way is better, and whether values are fractions."""

    def __init__(self, path, model, hook=None, state=None, sends=None, method=None, metrics=None):
        for metric, kind in (metrics or {}).items():
            if kind not in METRIC_KINDS:
                raise ValueError(
                    f"metrics: got '{kind}' for {metric}; allowed: {', '.join(METRIC_KINDS)}")
        name = getattr(hook, "__name__", None)
        if hook is not None and sends is None and name not in KNOWN_HOOKS:
            raise ValueError(
                f"sends: got None for the hook {name}; allowed: a function of a bucket that "
                f"returns [(way, bytes), ...], or one of the hooks {', '.join(KNOWN_HOOKS)}")
        self._path = os.fspath(path)
        self._hook, self._state, self._sends = hook, state, sends
        self._element_bytes = KNOWN_HOOKS.get(name)
        self._encodes = sends is not None or name not in (None, "allreduce_hook")
        self._group = model.process_group
        layers = [(n, p) for n, p in model.module.named_parameters() if p.requires_grad]
        self._position = {p.data_ptr(): i for i, (_, p) in enumerate(layers)}
        self._timer = _CudaTimer() if layers[0][1].is_cuda else _CpuTimer()
        self._rank = dist.get_rank(self._group)
        self._file = open(part_path(self._path, self._rank), "w", encoding="utf-8")
        self._write({"legacy-ddp-record": 1, "rank": self._rank,
                     "ranks": dist.get_world_size(self._group),
                     "method": method or (name if hook else "dense"),
                     "metrics": metrics or {},
                     "layers": [[n, "x".join(map(str, p.shape)) or "1"] for n, p in layers]})
        self._metrics = metrics or {}
        self._step = None     # step that runs
        self._ended = []      # steps on which the device may still work
        self._update = 0.0    # optimizer's seconds after the last written step
        self._handles = [model.register_forward_pre_hook(self._begin_step),
                         model.module.register_forward_pre_hook(self._begin_evaluation)]

    @staticmethod
    def hook(recorder, bucket):
        """Is the hook for model.register_comm_hook(recorder, recorder.hook)."""
        return recorder._exchange(bucket)

    def end_step(self, loss=None, rate=None):
        """Ends a step; called right after optimizer.step(), so that its time counts, and before
        any evaluation, whose time does not. Each value is optional; rank 0's are recorded."""
        if self._step is None or not self._step.buckets:
            raise RuntimeError("end_step: no gradients were exchanged since the step before")
        # The time of an evaluation is not part of the step.
        self._step.end = self._step.evaluation or self._timer.now()
        self._step.note(loss=loss, rate=rate)
        self._finish_step()

    def evaluated(self, accuracy=None, test_loss=None, metrics=None):
        """Records what was measured on the test set after the last step; called at any time before
        the next step ends. Each value is optional; rank 0's are recorded. `accuracy`: a fraction.
        `metrics`: others, as {"perplexity": 118.2}."""
        for name in metrics or {}:
            if name not in self._metrics:
                raise ValueError(f"evaluated: got the metric '{name}'; allowed: those given to "
                                 f"DdpTraceRecorder: {', '.join(self._metrics) or 'none'}")
        if self._step is not None and self._step.buckets:
            step = self._step  # without end_step it ends with the next one's forward pass
        elif self._ended:
            step = self._ended[-1]
        else:
            raise RuntimeError("evaluated: no gradients were exchanged yet")
        step.note(accuracy=accuracy, test_loss=test_loss)
        if metrics:
            step.facts["metrics"] = {key: float(value) for key, value in metrics.items()}

    def close(self):
        """Ends the recording; called on all ranks. Rank 0 merges and removes the ranks' parts."""
        for handle in self._handles:
            handle.remove()
        if self._step is not None and self._step.buckets:
            self._finish_step()
        while self._ended:
            self._write_step(self._ended.pop(0))
        self._file.close()
        dist.barrier(self._group)
        if self._rank == 0:
            parts = [part_path(self._path, rank)
                     for rank in range(dist.get_world_size(self._group))]
            merge(self._path, parts)
            for part in parts:
                os.remove(part)
        dist.barrier(self._group)

    def _begin_step(self, module, inputs):
        if not torch.is_grad_enabled():
            return  # an evaluation
        if self._step is not None and self._step.buckets:
            self._finish_step()
        if self._step is None:  # otherwise the step has begun: gradients are accumulated
            self._step = _Step(self._timer.now())

    def _begin_evaluation(self, module, inputs):
        step = self._step
        if not torch.is_grad_enabled() and step is not None and step.buckets:
            step.evaluation = step.evaluation or self._timer.now()

    def open_bucket(self, layers):
        """Notes that a bucket of those layers (positions) is ready, and returns its entry, to which
        its caller adds `sends`. Hooks that record themselves call this and close_bucket."""
        entry = {"layers": layers, "marks": [self._timer.now()]}
        self._step.buckets.append(entry)
        return entry

    def close_bucket(self, entry, sends, encode, decode, held=0.0):
        """Notes what a bucket sent, once its mean is there: (way, bytes), in order, seconds of
        encoding, and of decoding after each of them. `held`: seconds besides encoding for which the
        hook kept the backward pass waiting."""
        entry.update(sends=[[way, int(size)] for way, size in sends], encode=encode, decode=decode,
                     held=held)
        self._step.done.append(self._timer.now())

    def _exchange(self, bucket):
        step, timer = self._step, self._timer
        gradient = bucket.buffer()
        entry = self.open_bucket([self._position[p.data_ptr()] for p in bucket.parameters()])
        if self._sends is not None:
            entry["sends"] = [[way, int(size)] for way, size in self._sends(bucket)]
            for way, _ in entry["sends"]:
                if way not in WAYS:
                    raise ValueError(f"sends: got '{way}'; allowed: {', '.join(WAYS)}")
        else:
            size = self._element_bytes or gradient.element_size()
            entry["sends"] = [["all-reduce", size * gradient.numel()]]
            entry["elements"] = gradient.numel()
        if self._hook is None:
            gradient.div_(dist.get_world_size(self._group))
            work = dist.all_reduce(gradient, group=self._group, async_op=True)
            future = work.get_future().then(lambda done: done.value()[0])
        else:
            future = self._hook(self._state, bucket)
        entry["marks"].append(timer.now())

        def note(done):
            value = done.value()
            step.done.append(timer.now())
            return value

        return future.then(note)

    def _finish_step(self):
        """Writes the step before, whose events have passed, so that it need not wait, and about
        which nothing more can be said."""
        self._ended.append(self._step)
        self._step = None
        if len(self._ended) > 1:
            self._write_step(self._ended.pop(0))

    def _write_step(self, step):
        timer = self._timer
        for mark in step.done + ([step.end] if step.end is not None else []):
            timer.wait(mark)
        # The device runs one kernel at a time, so that earlier encodings delay the backward pass;
        # their time is subtracted. A plain all-reduce encodes nothing: the time of its hook is part
        # of the backward pass.
        buckets, kept, ready = [], 0.0, 0.0
        for entry in step.buckets:
            begin, *end = entry.pop("marks")
            at = begin if self._encodes else end[0]
            ready = max(ready, timer.seconds(step.begin, at) - kept)
            if self._encodes and end:
                entry["encode"] = max(0.0, timer.seconds(begin, end[0]))
            kept += entry.get("encode", 0.0) + entry.pop("held", 0.0)
            buckets.append({**entry, "ready": self._update + ready})
        self._write({"compute": self._update + ready, "buckets": buckets, **step.facts})
        self._update = 0.0
        if step.end is not None:
            self._update = max(0.0, min(timer.seconds(mark, step.end) for mark in step.done))

    def _write(self, line):
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def part_path(path, rank):
    return f"{path}.rank{rank}"


def _read_part(path):
    """Returns header and steps, without a last line that a crash cut off."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    if not lines or lines[0].get("legacy-ddp-record") != 1:
        raise ValueError(f"{path}: no record of a rank")
    return lines[0], lines[1:]


def _number(value):
    if value != value or abs(value) >= 1e15:
        return str(value)
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _each(values):
    """Formats one number if all are equal, else each."""
    texts = [_number(value) for value in values]
    return texts[0] if len(set(texts)) == 1 else " ".join(texts)


def _name(text):
    return "".join("_" if c in "# \t" else c for c in text).replace("..", "._")


def _ranges(positions, names):
    """Formats runs of neighbours as FIRST..LAST."""
    words, i = [], 0
    while i < len(positions):
        last = i
        step = positions[i + 1] - positions[i] if i + 1 < len(positions) else 0
        while (abs(step) == 1 and last + 1 < len(positions)
               and positions[last + 1] - positions[last] == step):
            last += 1
        words.append(names[positions[i]] + (".." + names[positions[last]] if last > i else ""))
        i = last + 1
    return " ".join(words)


def _step_lines(steps, names, where):
    """Returns the lines of one step of all ranks."""
    shapes = [[(b["layers"], [way for way, _ in b["sends"]]) for b in step["buckets"]]
              for step in steps]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"{where}: the ranks' buckets differ")
    yield "step"
    yield "  compute " + _each([step["compute"] for step in steps])
    for key in ("rate", "loss"):
        if key in steps[0]:
            yield f"  {key} {steps[0][key]!r}"
    values = [f"metric {name} {value!r}" for name, value in steps[0].get("metrics", {}).items()]
    if "accuracy" in steps[0]:
        values.insert(0, f"accuracy {steps[0]['accuracy']!r}")
    if values and "test_loss" in steps[0]:
        values[0] += f" {steps[0]['test_loss']!r}"
    for value in values:
        yield "  " + value
    for buckets in zip(*(step["buckets"] for step in steps)):
        yield "  bucket " + _ranges(buckets[0]["layers"], names)
        yield "    ready " + _each([bucket["ready"] for bucket in buckets])
        if "elements" in buckets[0]:
            yield f"    elements {buckets[0]['elements']}"
        if "encode" in buckets[0]:
            yield "    encode " + _each([bucket["encode"] for bucket in buckets])
        for i, sends in enumerate(zip(*(bucket["sends"] for bucket in buckets))):
            yield f"    send {sends[0][0]} " + _each([size for _, size in sends])
            if "decode" in buckets[0]:
                yield "    decode " + _each([bucket["decode"][i] for bucket in buckets])


def merge(path, parts):
    """Writes the trace of the steps that all ranks' parts have."""
    read = sorted((_read_part(part) for part in parts), key=lambda part: part[0]["rank"])
    headers = [header for header, _ in read]
    first = headers[0]
    if [header["rank"] for header in headers] != list(range(first["ranks"])):
        ranks = [header["rank"] for header in headers]
        raise ValueError(f"{path}: got parts of the ranks {ranks}; "
                         f"allowed: each of {first['ranks']}, once")
    if any(header["layers"] != first["layers"] for header in headers):
        raise ValueError(f"{path}: the ranks' layers differ")
    names = [_name(name) for name, _ in first["layers"]]
    temporary = path + ".part"
    with open(temporary, "w", encoding="utf-8") as file:
        print("legacy-trace 1", f"workers {first['ranks']}", sep="\n", file=file)
        for name, (_, shape) in zip(names, first["layers"]):
            print(f"layer {name} {shape}", file=file)
        for name, kind in first.get("metrics", {}).items():
            print(f"metric {name} {kind}", file=file)
        print(f"method {_name(first['method'])}", file=file)
        for number, steps in enumerate(zip(*(steps for _, steps in read))):
            for line in _step_lines(steps, names, f"{path}: step {number}"):
                print(line, file=file)
    os.replace(temporary, path)


if __name__ == "__main__":
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__.strip())
        sys.exit(0)
    if len(sys.argv) < 3:
        sys.exit("usage: record_ddp_trace.py TRACE PART...   (--help says more)")
    merge(sys.argv[1], sys.argv[2:])
