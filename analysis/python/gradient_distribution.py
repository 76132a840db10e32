#!/usr/bin/env python3
"""Shows how the values of gradients and their spectra are distributed.

Sparsifiers and range-based floats rest on these distributions.

    legacy-scenario --policies=dense --gradient-steps=0,150,299 --out=runs/gradients
    python3 analysis/python/gradient_distribution.py runs/gradients/gradients \\
        --picture=gradients.svg

Reads the gradients of a run directory (raw float32 beside layers.txt). Prints a row for each layer
of at least --least values and each file: the share of exact zeros, the decades between the smallest
magnitude above 0 and the largest, the kurtosis (3: Gaussian, 6: Laplace), and the share of the
energy that the strongest --kept of the values have, and of the bins of the spectrum. Spectra are
real transforms of chunks of 4,096 values, the last one padded with zeros; a bin and its conjugate
count as one. With --picture gnuplot draws both shares against the part that is kept. Needs Python
3.10 or newer and its standard library only.
"""
import argparse
import array
import cmath
import math
import pathlib
import subprocess
import sys

CHUNK = 4096


def read_layers(path):
    layers = []
    for line in path.read_text(encoding="utf-8").splitlines():
        name, shape = line.split()
        layers.append((name, math.prod(int(extent) for extent in shape.split("x"))))
    return layers


def read_floats(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    if sys.byteorder == "big":
        values.byteswap()
    return values


def transform(values):
    """Returns the discrete Fourier transform of 2^n values, by halves."""
    if len(values) == 1:
        return [complex(values[0])]
    even, odd = transform(values[0::2]), transform(values[1::2])
    turned = [cmath.exp(-2j * math.pi * k / len(values)) * odd[k] for k in range(len(odd))]
    return [e + o for e, o in zip(even, turned)] + [e - o for e, o in zip(even, turned)]


def spectrum(values):
    """Returns the energies of the bins of all chunks; a conjugate pair counts as one bin."""
    energies = []
    for start in range(0, len(values), CHUNK):
        chunk = list(values[start:start + CHUNK])
        size = 1 << max(6, (len(chunk) - 1).bit_length())
        bins = transform(chunk + [0.0] * (size - len(chunk)))
        energies += [abs(bins[k]) ** 2 * (1 if k in (0, size // 2) else 2) / size
                     for k in range(size // 2 + 1)]
    return energies


def energy_held(energies, parts):
    """Returns the share of the energy in the strongest part of the entries, for each of `parts`."""
    ordered = sorted(energies, reverse=True)
    total, held, shares = sum(ordered) or 1, 0, []
    at = 0
    for part in parts:
        end = max(1, int(part * len(ordered)))
        held += sum(ordered[at:end])
        at = max(at, end)
        shares.append(held / total)
    return shares


def kurtosis(values):
    mean = sum(values) / len(values)
    second = sum((v - mean) ** 2 for v in values) / len(values)
    fourth = sum((v - mean) ** 4 for v in values) / len(values)
    return fourth / second ** 2 if second else math.nan


def decades(values):
    sizes = [abs(v) for v in values if v]
    return math.log10(max(sizes) / min(sizes)) if sizes else 0


def draw(path, panels, parts):
    """Draws one panel for each layer, with curves of values and of the spectrum for each file."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    script = [f"set terminal svg size {330 * columns},{440 * rows} font ',11'",
              f"set output '{path}'", f"set multiplot layout {rows},{columns}", "set logscale x",
              "set yrange [0:1]", "set format x '%g %%'", "set xlabel 'kept'",
              "set ylabel 'share of the energy'",
              "set key below maxcols 2 samplen 2"]
    for layer, curves in panels.items():
        script.append(f"set title '{layer}' noenhanced")
        plots = []
        for number, (label, shares) in enumerate(curves):
            block = f"$d{number}"
            points = (f"{100 * p} {v} {s}" for p, v, s in zip(parts, *shares))
            script.append(f"{block} << E\n" + "\n".join(points) + "\nE")
            colour = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"][number % 4]
            plots += [f"{block} using 1:2 with lines lw 2 lc rgb '{colour}' "
                      f"title '{label}, values' noenhanced",
                      f"{block} using 1:3 with lines lw 2 dt 2 lc rgb '{colour}' title 'spectrum'"]
        script.append("plot " + ", ".join(plots))
    script.append("unset multiplot")
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--least", type=int, default=1000, help="values of a layer [1000]")
    parser.add_argument("--kept", type=float, default=0.15, help="part of values and bins [0.15]")
    parser.add_argument("--picture", help="an SVG file")
    arguments = parser.parse_args()
    layers = read_layers(arguments.folder / "layers.txt")
    files = sorted(arguments.folder.glob("*.f32"),
                   key=lambda path: int(path.stem.rpartition("step")[2]))
    if not files:
        sys.exit(
            f"{arguments.folder}: no gradients; legacy-scenario --gradient-steps=0,100 writes some")
    parts = [0.001 * 10 ** (i / 10) for i in range(31)]
    panels = {}
    print("| layer | gradient | zeros | decades | kurtosis | energy in the strongest "
          f"{arguments.kept:.0%} of values | of the spectrum |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for path in files:
        values, start = read_floats(path), 0
        if len(values) != sum(count for _, count in layers):
            sys.exit(
                f"{path}: {len(values)} values; layers.txt has {sum(count for _, count in layers)}")
        for name, count in layers:
            layer, start = values[start:start + count], start + count
            if count < arguments.least:
                continue
            squares, bins = [v * v for v in layer], spectrum(layer)
            label = "step " + path.stem.rpartition("step")[2]
            kept = [energy_held(energies, [arguments.kept])[0] for energies in (squares, bins)]
            zeros = sum(1 for v in layer if v == 0) / count
            print(f"| {name} | {label} | {zeros:.1%} | {decades(layer):.1f} "
                  f"| {kurtosis(layer):.1f} | {kept[0]:.1%} | {kept[1]:.1%} |")
            shares = (energy_held(squares, parts), energy_held(bins, parts))
            panels.setdefault(name, []).append((label, shares))
    if arguments.picture:
        draw(arguments.picture, panels, parts)


if __name__ == "__main__":
    main()
