#!/usr/bin/env python3
"""Times on a GPU what device profiles are made of, as PyTorch runs it: matrix products by shape and
precision, passes over memory, fused attention, whole training steps of known models, and how much
slower all of this gets while a kernel of a few blocks moves memory beside it, as collectives do.
Needs a GPU and PyTorch with CUDA; torchvision and transformers for the steps, cupy for what runs
beside. Times are medians by CUDA events; host times are those of queueing without a wait."""

import argparse
import json
import statistics
import sys
import time

import torch
from torch.nn import functional

GIB = 1 << 30
PRECISIONS = {"fp32": (torch.float32, False), "tf32": (torch.float32, True),
              "fp16": (torch.float16, False), "bf16": (torch.bfloat16, False)}
# A kernel of some blocks of 512 threads, which copies an array again and again.
MOVE = r"""
extern "C" __global__ void move(const float4* source, float4* target, long long n, int rounds) {
  const long long width = (long long)gridDim.x * blockDim.x * 4;
  for (int round = 0; round < rounds; ++round) {
    for (long long at = (long long)blockIdx.x * blockDim.x * 4 + threadIdx.x; at < n; at += width) {
      float4 held[4];
      for (int i = 0; i < 4; ++i) {
        if (at + i * blockDim.x < n) held[i] = source[at + i * blockDim.x];
      }
      for (int i = 0; i < 4; ++i) {
        if (at + i * blockDim.x < n) target[at + i * blockDim.x] = held[i];
      }
    }
  }
}"""
SECTIONS = ["products", "memory", "attention", "steps", "beside", "host"]


class Bench:
    """The device, the measured rows and the time that is left."""

    def __init__(self, arguments):
        self.device = torch.device(arguments.device)
        self.on_gpu = self.device.type == "cuda"
        self.turns, self.quick = arguments.turns, arguments.quick
        self.end = time.monotonic() + arguments.limit
        self.results = []

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def seconds(self, work, turns=None):
        """Returns the median of the seconds that a call of work() takes on the device."""
        for _ in range(3):
            work()
        self.wait()
        times = []
        for _ in range(turns or self.turns):
            if self.on_gpu:
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda._sleep(400000)  # cycles, in which the host queues what is measured
                begin.record()
                work()
                end.record()
                end.synchronize()
                times.append(1e-3 * begin.elapsed_time(end))
            else:
                begun = time.perf_counter()
                work()
                times.append(time.perf_counter() - begun)
        return statistics.median(times)

    def row(self, section, name, measure):
        """Adds what measure() returns, a dictionary. A row that fails leaves the others."""
        if time.monotonic() > self.end:
            return
        result = {"section": section, "name": name}
        try:
            result |= measure()
        except Exception as error:
            result["skipped"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            torch.cuda.empty_cache()
        self.results.append(result)
        figures = (f"{key}={value:.5g}" if isinstance(value, float) else f"{key}={value}"
                   for key, value in result.items()
                   if not isinstance(value, (dict, list)) and key not in ("section", "name"))
        print(f"{section:10} {name:40} {' '.join(figures)}", flush=True)


def use(precision):
    """Sets TF32 as the precision says, and returns the type of values."""
    kind, tf32 = PRECISIONS[precision]
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    return kind


def products(b):
    """C = A B of m x k and k x n. Whole waves of tiles, and the widths between them."""
    squares = [(n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)]
    widths = [(4096, n, 4096) for n in range(1024, 6145, 256)]
    # products of a transformer's blocks over 4096 tokens: hidden size, and what it becomes
    blocks = [(4096, wide, hidden) for hidden in (768, 1024, 1600, 2048, 4096, 5120, 8192)
              for wide in (hidden, 3 * hidden, 4 * hidden)]
    # gradients of their weights: the tokens are summed over
    weights = [(hidden, 4 * hidden, 4096) for hidden in (768, 1024, 1600, 2048, 4096, 5120)]
    depths = [(2048, 2048, k) for k in (64, 256, 1024, 4096, 13312)]
    few = [(m, 4096, 4096) for m in (1, 8, 32, 64, 128, 256, 512, 1024, 2048)]
    for precision, shapes in (("bf16", squares + widths + blocks + weights + depths + few),
                              ("fp16", squares), ("tf32", squares + blocks), ("fp32", squares)):
        kind = use(precision)
        for m, n, k in shapes[:2] if b.quick else shapes:
            def measure():
                left = torch.randn(m, k, device=b.device, dtype=kind)
                right = torch.randn(n, k, device=b.device, dtype=kind).t()
                out = torch.empty(m, n, device=b.device, dtype=kind)
                seconds = b.seconds(lambda: torch.mm(left, right, out=out))
                return {"precision": precision, "m": m, "n": n, "k": k, "seconds": seconds,
                        "tflops": 2e-12 * m * n * k / seconds}
            b.row("products", f"{precision} {m} x {n} x {k}", measure)


def memory(b):
    """Passes over memory; bytes are those that have to move: inputs read, outputs written."""
    for precision in ("bf16", "fp32"):
        kind = use(precision)
        size = torch.finfo(kind).bits // 8
        for rows in (16, 1024, 16384, 65536):
            wide = 64 if b.quick else 4096
            values = torch.randn(rows, wide, device=b.device, dtype=kind)
            other = torch.randn(rows, wide, device=b.device, dtype=kind)
            scale = torch.ones(wide, device=b.device, dtype=kind)
            passes = {
                "copy": (2, lambda: other.copy_(values)),
                "add": (3, lambda: torch.add(values, other)),
                "gelu": (2, lambda: functional.gelu(values)),
                "layer_norm": (2, lambda: functional.layer_norm(values, (wide,), scale, scale)),
                "softmax": (2, lambda: torch.softmax(values, -1)),
                "dropout": (2, lambda: functional.dropout(values, 0.1)),
                "to fp32 or bf16": (3 if size == 2 else 1.5, lambda: values.to(
                    torch.float32 if size == 2 else torch.bfloat16)),
                "sum": (1, lambda: values.sum(-1)),
            }
            for name, (moves, work) in passes.items():
                def measure():
                    moved = moves * size * rows * wide
                    seconds = b.seconds(work)
                    return {"precision": precision, "bytes": int(moved), "seconds": seconds,
                            "gbps": 1e-9 * moved / seconds}
                b.row("memory", f"{precision} {name} {rows} x {wide}", measure)


def attention(b):
    """Fused attention over 16,384 tokens: 4 s h FLOPs a token forward, half if causal."""
    kind = use("bf16")
    for heads, wide in ((16, 64), (32, 128)):
        for length in (512, 1024, 2048, 4096, 8192):
            for causal in (True, False):
                def measure():
                    batch = max(1, (1024 if b.quick else 16384) // length)
                    parts = [torch.randn(batch, heads, length, wide, device=b.device, dtype=kind,
                                         requires_grad=True) for _ in range(3)]
                    run = lambda: functional.scaled_dot_product_attention(*parts, is_causal=causal)
                    forward = b.seconds(run)
                    out = run()
                    gradient = torch.randn_like(out)
                    backward = b.seconds(
                        lambda: torch.autograd.grad(out, parts, gradient, retain_graph=True))
                    flops = 4.0 * batch * length * length * heads * wide / (2 if causal else 1)
                    return {"batch": batch, "heads": heads, "head": wide, "length": length,
                            "causal": causal, "forward": forward, "backward": backward,
                            "forward_tflops": 1e-12 * flops / forward,
                            "backward_tflops": 2.5e-12 * flops / backward}
                b.row("attention", f"{heads} x {wide}, {length}{' causal' if causal else ''}",
                      measure)


class Step:
    """A training step: forward, backward, optimizer."""

    def __init__(self, b, model, batch, loss, precision, optimizer):
        self.model, self.batch, self.loss = model, batch, loss
        self.kind = use(precision.split("+")[0])
        self.autocast = precision.endswith("+autocast")
        self.device = b.device.type
        weights = [p for p in model.parameters() if p.requires_grad]
        self.parameters = sum(p.numel() for p in weights)
        if optimizer == "sgd":
            self.optimizer = torch.optim.SGD(weights, lr=1e-4, momentum=0.9, foreach=True)
        else:
            self.optimizer = torch.optim.AdamW(weights, lr=1e-6, fused=b.on_gpu)

    def forward(self):
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.autocast):
            return self.loss(self.model, self.batch)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.forward().backward()
        self.optimizer.step()

    def parts(self, b):
        """Returns medians of the seconds of a step and of its parts, on the device."""
        for _ in range(3):
            self.run()
        b.wait()
        rows = []
        for _ in range(max(3, b.turns // 2)):
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
            marks[0].record()
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.forward()
            marks[1].record()
            loss.backward()
            marks[2].record()
            self.optimizer.step()
            marks[3].record()
            marks[3].synchronize()
            rows.append([1e-3 * marks[0].elapsed_time(marks[3])] +
                        [1e-3 * a.elapsed_time(z) for a, z in zip(marks, marks[1:])])
        return dict(zip(("seconds", "forward", "backward", "optimizer"),
                        (statistics.median(column) for column in zip(*rows))))

    def host(self, b):
        """Returns the seconds in which the host queues a step: the device idles meanwhile."""
        times = []
        for _ in range(3):
            b.wait()
            begun = time.perf_counter()
            self.run()
            times.append(time.perf_counter() - begun)
        b.wait()
        return min(times)

    def kernels(self, b):
        """Returns the number of kernels of a step, their seconds, and the largest by name."""
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            self.run()
            b.wait()
        found = [(e.key, e.count, 1e-6 * e.self_device_time_total) for e in profile.key_averages()
                 if e.self_device_time_total > 0]
        found.sort(key=lambda kernel: -kernel[2])
        return {"kernels": sum(k[1] for k in found), "kernel_seconds": sum(k[2] for k in found),
                "largest": [{"kernel": k[0][:160], "count": k[1], "seconds": k[2]}
                            for k in found[:16]]}


def images(b, name, batch, precision, layout):
    import torchvision
    with b.device:
        model = getattr(torchvision.models, name)(weights=None)
        pictures = torch.randn(batch, 3, 224, 224)
        labels = torch.randint(0, 1000, (batch,))
    if layout == "nhwc":
        model = model.to(memory_format=torch.channels_last)
        pictures = pictures.to(memory_format=torch.channels_last)
    return Step(b, model.train(), (pictures, labels),
                lambda m, x: functional.cross_entropy(m(x[0]), x[1]), precision, "sgd")


def words(b, name, batch, length, precision):
    import transformers
    sizes = {"gpt2": (12, 768, 12), "gpt2-medium": (24, 1024, 16), "gpt2-xl": (48, 1600, 25),
             "bert-base": (12, 768, 12), "bert-large": (24, 1024, 16),
             "llama-1b": (16, 2048, 32)}
    layers, hidden, heads = sizes[name]
    with b.device:
        if name.startswith("gpt2"):
            model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
                n_layer=layers, n_embd=hidden, n_head=heads))
        elif name.startswith("bert"):
            model = transformers.BertForMaskedLM(transformers.BertConfig(
                num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                intermediate_size=4 * hidden))
        else:
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
                num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                num_key_value_heads=8, intermediate_size=8192, vocab_size=128256,
                tie_word_embeddings=True))
        tokens = torch.randint(0, 30000, (batch, length))
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    return Step(b, model.train(), tokens, lambda m, x: m(input_ids=x, labels=x).loss, precision,
                "adamw")


def cases(b):
    """Yields name, facts and a function that makes the step, the most useful ones first."""
    pictures = [("resnet50", batch, precision, layout)
                for batch in (32, 64, 128)
                for precision, layout in (("fp32", "nchw"), ("tf32", "nchw"),
                                          ("bf16+autocast", "nhwc"))]
    pictures += [("vgg16", 32, "fp32", "nchw"), ("vgg16", 32, "tf32", "nchw"),
                 ("vgg16", 32, "bf16+autocast", "nhwc"), ("resnet18", 32, "tf32", "nchw"),
                 ("resnet101", 32, "fp32", "nchw"), ("resnet101", 32, "tf32", "nchw"),
                 ("vit_b_16", 64, "bf16+autocast", "nchw")]
    texts = [("gpt2", 8, 1024, "bf16+autocast"), ("gpt2", 8, 1024, "bf16"),
             ("gpt2", 8, 1024, "tf32"), ("gpt2", 1, 1024, "bf16"),
             ("gpt2-medium", 8, 1024, "bf16+autocast"), ("bert-large", 8, 512, "bf16+autocast"),
             ("bert-large", 8, 512, "tf32"), ("bert-large", 32, 128, "bf16+autocast"),
             ("gpt2-xl", 4, 1024, "bf16"), ("llama-1b", 2, 4096, "bf16"),
             ("bert-base", 32, 128, "bf16+autocast"), ("gpt2", 8, 1024, "fp32")]
    for name, batch, precision, layout in pictures[:1] if b.quick else pictures:
        yield (f"{name} {batch} {precision} {layout}",
               {"model": name, "batch": batch, "precision": precision, "layout": layout},
               lambda: images(b, name, batch, precision, layout))
    for name, batch, length, precision in texts[:1] if b.quick else texts:
        yield (f"{name} {batch} x {length} {precision}",
               {"model": name, "batch": batch, "length": length, "precision": precision},
               lambda: words(b, name, batch, length, precision))


def steps(b):
    torch.backends.cudnn.benchmark = True
    for name, facts, make in cases(b):
        def measure():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            step = make()
            measured = step.parts(b)
            return (facts | {"parameters": step.parameters} | measured |
                    {"host": step.host(b)} | step.kernels(b) |
                    {"peak_gib": torch.cuda.max_memory_allocated() / GIB})
        b.row("steps", name, measure)
    torch.backends.cudnn.benchmark = False


def beside(b):
    """What computing and a copy of a few blocks take from each other. The blocks stand for the
    channels of a collective: each holds a multiprocessor's share and moves memory."""
    import cupy
    import numpy
    move = cupy.RawKernel(MOVE, "move")

    def copy(blocks, rounds):
        stream = cupy.cuda.Stream.from_external(torch.cuda.current_stream())
        with stream:
            move((blocks,), (512,), (numpy.uint64(source.data_ptr()),
                                     numpy.uint64(target.data_ptr()), numpy.int64(n // 4),
                                     numpy.int32(rounds)))

    n = 1 << 26
    source, target = (torch.zeros(n, device=b.device) for _ in range(2))
    side = torch.cuda.Stream(priority=-1)  # as NCCL's

    kind = use("bf16")
    left, right = (torch.randn(8192, 8192, device=b.device, dtype=kind) for _ in range(2))
    wide = torch.randn(16384, 4096, device=b.device, dtype=kind)
    scale = torch.ones(4096, device=b.device, dtype=kind)
    loads = {
        "products": lambda: [torch.mm(left, right) for _ in range(8)],
        "layer_norm": lambda: [functional.layer_norm(wide, (4096,), scale, scale)
                               for _ in range(60)],
        "resnet50 64 bf16+autocast nhwc": images(b, "resnet50", 64, "bf16+autocast", "nhwc").run,
        "gpt2 8 x 1024 bf16": words(b, "gpt2", 8, 1024, "bf16").run,
    }
    for name, work in loads.items():
        alone = b.seconds(work, 5)
        for blocks in (1, 2, 4, 8, 16, 24, 32, 64):
            def measure():
                # The copy runs about 1.5 times as long as the work.
                once = b.seconds(lambda: copy(blocks, 1), 3)
                rounds = max(1, round(1.5 * alone / once))
                both, copied = [], []
                for _ in range(5):
                    b.wait()
                    marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
                    with torch.cuda.stream(side):
                        marks[2].record()
                        copy(blocks, rounds)
                        marks[3].record()
                    marks[0].record()
                    work()
                    marks[1].record()
                    b.wait()
                    both.append(1e-3 * marks[0].elapsed_time(marks[1]))
                    copied.append(1e-3 * marks[2].elapsed_time(marks[3]))
                slower, moved = statistics.median(both), statistics.median(copied)
                return {"load": name, "blocks": blocks, "alone": alone, "both": slower,
                        "slower": slower / alone, "copy_alone": once * rounds, "copy_both": moved,
                        "copy_gbps_alone": 8e-9 * n / once}
            b.row("beside", f"{name}, {blocks} blocks", measure)


def host(b):
    """What a small operation costs the host, eagerly and from a graph."""
    values = torch.zeros(1024, device=b.device)

    def chain():
        for _ in range(1000):
            values.add_(1)

    def eager():
        chain()
        b.wait()
        begun = time.perf_counter()
        chain()
        queued = time.perf_counter() - begun
        b.wait()
        return {"queued": queued / 1000, "seconds": (time.perf_counter() - begun) / 1000}

    def replayed():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            chain()
        return {"seconds": b.seconds(graph.replay) / 1000}

    b.row("host", "an operation", eager)
    b.row("host", "an operation of a graph", replayed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS),
                        help=f"what to measure, of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--turns", type=int, default=11, help="measurements of a row (default: 11)")
    parser.add_argument("--limit", type=float, default=1e9, metavar="SECONDS",
                        help="begin no row after that (default: none)")
    parser.add_argument("--device", default="cuda", help="of PyTorch (default: cuda)")
    parser.add_argument("--quick", action="store_true", help="a few small rows, for a first try")
    parser.add_argument("--json", metavar="FILE", help="file to write all figures to")
    arguments = parser.parse_args()
    sections = arguments.sections.split(",")
    for section in sections:
        if section not in SECTIONS:
            sys.exit(f"torch_steps.py: --sections: got '{section}'; allowed: {', '.join(SECTIONS)}")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_steps.py: no GPU that PyTorch can use")
    bench = Bench(arguments)
    device = {"name": "cpu", "torch": torch.__version__, "cuda": torch.version.cuda}
    if bench.on_gpu:
        properties = torch.cuda.get_device_properties(0)
        device |= {"name": properties.name, "multiprocessors": properties.multi_processor_count,
                   "memory": properties.total_memory}
    print(" ".join(f"{key}={value}" for key, value in device.items()), flush=True)
    for section in sections:
        try:
            globals()[section](bench)
        except Exception as error:
            print(f"{section:10} skipped: {error}", flush=True)
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump({"program": "torch_steps.py",
                           "command": " ".join(["torch_steps.py", *sys.argv[1:]]),
                           "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
                           "device": device, "turns": bench.turns,
                           "results": bench.results}, file, indent=1)


if __name__ == "__main__":
    main()
