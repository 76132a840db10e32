#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draws the thumbnail of ns-3's App Store, a fat tree on a transparent ground:
thumbnail.py FILE.png; or checks one: thumbnail.py --check FILE.png"""
import struct
import sys
import zlib

SIZE, FINE = 100, 4  # pixels, and parts of a pixel in each direction
BLUE, TEAL, GREY = (26, 82, 148), (0, 137, 123), (120, 130, 140)
CORES, EDGES = [(34, 18), (66, 18)], [(20, 50), (50, 50), (80, 50)]
HOSTS = [(x, 84) for x in (10, 28, 41, 59, 72, 90)]


def distance(x, y, a, b):
    """Returns the distance of a point from a segment."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    t = max(0, min(1, ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy)))
    return ((x - a[0] - t * dx) ** 2 + (y - a[1] - t * dy) ** 2) ** 0.5


def colour(x, y):
    """Returns the colour of a point, or nothing."""
    for nodes, radius, shade in ((CORES, 8, BLUE), (EDGES, 7, TEAL), (HOSTS, 6, GREY)):
        if any((x - a) ** 2 + (y - b) ** 2 <= radius**2 for a, b in nodes):
            return shade
    links = [(c, e) for c in CORES for e in EDGES]
    links += [(HOSTS[i], EDGES[i // 2]) for i in range(len(HOSTS))]
    return GREY if any(distance(x, y, a, b) <= 1.2 for a, b in links) else None


def pixel(x, y):
    """Returns the mean of a pixel's parts, as red, green, blue, alpha."""
    parts = [colour(x + (i + 0.5) / FINE, y + (j + 0.5) / FINE)
             for i in range(FINE) for j in range(FINE)]
    drawn = [part for part in parts if part]
    if not drawn:
        return bytes(4)
    mean = [round(sum(part[i] for part in drawn) / len(drawn)) for i in range(3)]
    return bytes([*mean, round(255 * len(drawn) / len(parts))])


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png():
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def check(data):
    """Returns what is wrong with a thumbnail, or nothing."""
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        return "it is no PNG file"
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    if not 64 <= width == height <= 128:
        return f"it has {width} x {height} pixels; about 100 x 100 are asked for"
    return "" if kind in (4, 6) else "it is not transparent"


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        sys.exit(check(open(sys.argv[2], "rb").read()) or 0)
    open(sys.argv[1], "wb").write(png())
