#!/usr/bin/env python3
"""Times chains of PyTorch operators that compressors in Python queue on a GPU, as legacy-bench-gpu
times kernels: CUDA events, a cold last-level cache, three sets of inputs in turn, and medians,
beside a copy of the bytes that the result has to move. Needs a GPU and PyTorch with CUDA."""

import argparse
import json
import math
import statistics
import sys
import time

import torch

SETS = 3
WARM_UP = 2


class Bench:
    """Inputs, and the measured rows."""

    def __init__(self, n, ratio, turns):
        self.n, self.k, self.ratio, self.turns = n, max(1, int(n * ratio)), ratio, turns
        self.draw = torch.Generator(device="cuda").manual_seed(1)
        self.gradients = [self.student_t() for _ in range(SETS)]
        self.saved = [self.student_t() for _ in range(SETS)]
        self.residuals = [values.clone() for values in self.saved]
        self.velocity = torch.zeros(n, device="cuda")
        most = int(29 * n) // 8  # floats of the largest copy
        self.source = torch.full((most,), 0.5, device="cuda")
        self.target = torch.empty(most, device="cuda")
        properties = torch.cuda.get_device_properties(0)
        self.name = properties.name
        self.filler = torch.ones(properties.L2_cache_size // 2, device="cuda")
        self.results = []

    def student_t(self):
        """Returns values of 4 degrees of freedom: normal / sqrt(chi-squared / 4)."""
        normal = torch.randn(self.n, device="cuda", generator=self.draw)
        chi = torch.zeros(self.n, device="cuda")
        for _ in range(4):
            chi.add_(torch.randn(self.n, device="cuda", generator=self.draw).square_())
        return normal.div_(chi.div_(4).sqrt_())

    def milliseconds(self, work, before):
        before()
        self.filler.sum()  # evicts the cache's contents, and leaves nothing to be written back
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    def restore(self, which):
        self.residuals[which].copy_(self.saved[which])
        self.velocity.zero_()

    def row(self, kernel, bytes_an_element, work):
        """Measures work(set). A chain that fails leaves the others."""
        size = bytes_an_element * self.n
        result = {"kernel": kernel, "elements": self.n, "ratio": self.ratio, "bytes": size}
        try:
            words = int(size) // 8
            times, copies = [], []
            for turn in range(-WARM_UP * SETS, self.turns):
                which = turn % SETS
                mine = self.milliseconds(lambda: work(which), lambda: self.restore(which))
                copy = self.milliseconds(
                    lambda: self.target[:words].copy_(self.source[:words]), lambda: None)
                if turn >= 0:
                    times.append(mine)
                    copies.append(copy)
            ours, copied = statistics.median(times), statistics.median(copies)
            result |= {"seconds": 1e-3 * ours, "fastest_seconds": 1e-3 * min(times),
                       "copy_seconds": 1e-3 * copied}
            print(f"{kernel:36} {ours:10.4g} {copied:10.4g} {1e-6 * size / ours:8.0f}"
                  f" {100 * copied / ours:9.1f} {bytes_an_element:10.2f}", flush=True)
        except Exception as error:
            result["skipped"] = str(error).splitlines()[0]
            print(f"{kernel:36} skipped: {result['skipped']}", flush=True)
            torch.cuda.synchronize()
        self.results.append(result)


def sparsifiers(b):
    """Chains that select values."""

    def topk_with_feedback(s):
        # GRACE (Xu et al., ICDCS'21): memory.compensate, topk.compress, memory.update.
        compensated = 1.0 * b.residuals[s] + 1.0 * b.gradients[s]
        positions = torch.topk(compensated.abs(), b.k, sorted=False).indices
        values = torch.gather(compensated, 0, positions)
        sent = torch.zeros_like(compensated).scatter_(0, positions, values)
        torch.sub(compensated, sent, out=b.residuals[s])

    limit = torch.topk((b.saved[0] + b.gradients[0]).abs(), b.k, sorted=False).values.min()

    def threshold_with_feedback(s):
        compensated = b.residuals[s].add_(b.gradients[s])
        selected = compensated.abs() >= limit
        positions = selected.nonzero().flatten()
        values = compensated[positions]
        compensated.masked_fill_(selected, 0)
        return values

    def dgc(s):
        # Lin et al., ICLR'18: momentum correction, a threshold from a sample of 1 %, which is
        # adapted on the host until it selects .8 to 1.3 k, and masking.
        residual = b.residuals[s].add_(b.velocity.mul_(0.9).add_(b.gradients[s]))
        magnitudes = residual.abs()
        sample = magnitudes[::100]
        bound = torch.topk(sample, max(1, int(len(sample) * b.ratio)), sorted=False).values.min()
        selected = magnitudes >= bound
        for _ in range(10):
            count = int(selected.sum())
            if 0.8 * b.k <= count <= 1.3 * b.k:
                break
            bound = bound * (1.3 if count > b.k else 0.8)
            selected = magnitudes >= bound
        positions = selected.nonzero().flatten()[:b.k]
        values = residual[positions]
        b.velocity.index_fill_(0, positions, 0)
        residual.index_fill_(0, positions, 0)
        return values

    lists = [(torch.sort(torch.topk(b.student_t().abs(), b.k, sorted=False).indices).values,
              torch.rand(b.k, device="cuda")) for _ in range(8)]

    def sum_of_8(s):
        for positions, values in lists:
            b.residuals[s].index_add_(0, positions, values)
        b.residuals[s].div_(8)

    kept = b.ratio * 8
    b.row("topk-of-magnitudes", 4 + kept,
          lambda s: torch.topk(b.gradients[s].abs(), b.k, sorted=False))
    b.row("topk.feedback (GRACE)", 12 + kept, topk_with_feedback)
    b.row("threshold.feedback (nonzero)", 12 + kept, threshold_with_feedback)
    b.row("dgc: momentum, sample, mask", 20 + kept, dgc)
    b.row("random-subset (randperm)", 3 * kept / 2,
          lambda s: b.gradients[s][torch.randperm(b.n, device="cuda")[:b.k]])
    b.row("sparse-sum-of-8 (index_add_)", 8 + 8 * kept, sum_of_8)


def dense(b):
    """Chains over all values."""
    buckets = b.n // 512 * 512

    def qsgd(s):  # Alistarh et al., NeurIPS'17: 4 bits, buckets of 512, with error feedback
        values = b.residuals[s][:buckets].add_(b.gradients[s][:buckets]).view(-1, 512)
        scale = values.abs().amax(1, keepdim=True) / 7.0
        levels = values / scale
        low = levels.floor()
        codes = low + (torch.rand_like(values) < levels - low)
        values.sub_(codes * scale)
        packed = (codes + 7).to(torch.uint8)
        return packed[:, ::2] | packed[:, 1::2] << 4

    chunks = b.n // 4096

    def fft(s):  # keeps 15 % of the numbers of a spectrum, by power
        spectrum = torch.fft.rfft(b.gradients[s][:chunks * 4096].view(chunks, 4096), norm="ortho")
        power = (spectrum.real.square() + spectrum.imag.square()).flatten()
        positions = torch.topk(power, int(0.075 * power.numel() * 2), sorted=False).indices
        return spectrum.flatten()[positions]

    side, rank = int(math.sqrt(b.n)), 4
    size = side * side
    basis = torch.randn(side, rank, device="cuda", generator=b.draw)

    def powersgd_step(s):  # Vogels et al., NeurIPS'19, as PyTorch's powerSGD_hook orders it
        matrix = b.residuals[s][:size].add_(b.gradients[s][:size]).view(side, side)
        left = torch.linalg.qr(matrix @ basis).Q
        matrix.sub_(left @ (matrix.t() @ left).t())

    def powersgd_products(s):
        matrix = b.gradients[s][:size].view(side, side)
        left = matrix @ basis
        torch.mm(left, (matrix.t() @ left).t(), out=b.target[:size].view(side, side))

    b.row("qsgd.feedback, 4 bits of 512", 12.51, qsgd)
    b.row("fp16.encode", 6, lambda s: b.gradients[s].to(torch.float16))
    b.row("fft.select (cuFFT, topk)", 4.9, fft)
    b.row("powersgd.products, rank 4", 12, powersgd_products)
    b.row("powersgd.step, rank 4", 28, powersgd_step)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=float, default=1e8, help="of a vector (default: 1e8)")
    parser.add_argument("--ratio", type=float, default=0.01,
                        help="fraction to keep (default: 0.01)")
    parser.add_argument("--turns", type=int, default=11, help="measurements of a row (default: 11)")
    parser.add_argument("--json", metavar="FILE", help="file to write all figures to")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_chains.py: no GPU that PyTorch can use")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_grad_enabled(False)
    bench = Bench(int(arguments.elements), arguments.ratio, arguments.turns)
    print(f"{bench.name}, PyTorch {torch.__version__}, {bench.n} values, {bench.k} kept")
    print(f"{'chain':36} {'ms':>10} {'copy ms':>10} {'GB/s':>8} {'% of copy':>9}"
          f" {'bytes/elem':>10}")
    bench.row("copy", 8, lambda s: bench.target[:bench.n].copy_(bench.gradients[s]))
    sparsifiers(bench)
    dense(bench)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"program": "torch_chains.py",
                       "command": " ".join(["torch_chains.py", *sys.argv[1:]]),
                       "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
                       "device": {"name": bench.name, "torch": torch.__version__,
                                  "cuda": torch.version.cuda},
                       "turns": bench.turns, "results": bench.results}, file, indent=1)


if __name__ == "__main__":
    main()
