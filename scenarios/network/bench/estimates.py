#!/usr/bin/env python3
"""Measures packet simulations beside their estimates (scenarios/network/cost_estimate.h).

Usage: scenarios/network/bench/estimates.py BUILD [FILE]       BUILD: build/release

FILE (docs/results/validation/packet-cost.csv) gets the options of each simulation, the estimate in
seconds of the processor that the packet engine's rates were measured on, and the processor seconds
here.
"""

import csv
import pathlib
import re
import resource
import subprocess
import sys

FILE = "docs/results/validation/packet-cost.csv"
TCP = "bandwidth=10Gbps delay=1us "
WAN = "transport=wan "
NS3 = TCP + "transport=ns3:datacenter "
NS3_WAN = "transport=ns3:wan "
FAT = "topo=star workers=2 collective=broadcast "  # long fat paths
ROCE = "bandwidth=100Gbps delay=1us transport=roce"
CASES = [
    TCP + "topo=star workers=16 bytes=100MB",
    TCP + "topo=fat-tree workers=16 bytes=100MB",
    TCP + "topo=fat-tree workers=128 bytes=10MB",
    TCP + "topo=star workers=4 bytes=100MB streams=8",
    TCP + "topo=star workers=16 bytes=20MB collective=parameter-server",
    TCP + "topo=fat-tree workers=64 bytes=10MB collective=halving-doubling-allreduce",
    TCP + "topo=fat-tree workers=16 bytes=5MB collective=direct-allgather",
    TCP + "topo=fat-tree workers=64 bytes=200KB collective=direct-allgather",
    TCP + "topo=fat-tree workers=64 bytes=10MB collective=all-to-all",
    TCP + "topo=star workers=128 bytes=1KB collective=direct-allgather",
    TCP + "topo=fat-tree workers=128 bytes=50KB collective=direct-allgather",
    TCP + "topo=star workers=128 bytes=10KB collective=direct-allgather connections=cold",
    TCP + "topo=fat-tree workers=16 bytes=200MB transport=datacenter:train=4",
    TCP + "topo=fat-tree workers=16 bytes=400MB transport=datacenter:train=16",
    WAN + FAT + "bandwidth=10Gbps delay=50ms bytes=1GB",
    WAN + FAT + "bandwidth=10Gbps delay=50ms bytes=1GB connections=cold",
    WAN + FAT + "bandwidth=1Gbps delay=5ms bytes=1GB",
    WAN + "topo=star workers=8 bytes=200MB bandwidth=1Gbps delay=10ms",
    WAN + "topo=star workers=8 bytes=30MB collective=direct-allgather bandwidth=1Gbps delay=10ms",
    NS3 + "topo=star workers=16 bytes=10MB",
    NS3 + "topo=fat-tree workers=16 bytes=10MB",
    NS3 + "topo=fat-tree workers=64 bytes=2MB",
    NS3 + "topo=star workers=4 bytes=20MB streams=8",
    NS3 + "topo=star workers=16 bytes=2MB collective=parameter-server",
    NS3 + "topo=fat-tree workers=64 bytes=1MB collective=halving-doubling-allreduce",
    NS3 + "topo=fat-tree workers=16 bytes=500KB collective=direct-allgather",
    NS3 + "topo=fat-tree workers=64 bytes=20KB collective=direct-allgather",
    NS3 + "topo=fat-tree workers=64 bytes=1MB collective=all-to-all",
    NS3 + "topo=star workers=128 bytes=1KB collective=direct-allgather",
    NS3 + "topo=fat-tree workers=128 bytes=10KB collective=direct-allgather",
    NS3 + "topo=star workers=128 bytes=1KB collective=direct-allgather connections=cold",
    "transport=ns3:datacenter " + FAT + "bandwidth=10Gbps delay=50ms bytes=10MB",
    "transport=ns3:datacenter " + FAT + "bandwidth=10Gbps delay=50ms bytes=20MB",
    "transport=ns3:datacenter " + FAT + "bandwidth=10Gbps delay=50ms bytes=35MB",
    NS3_WAN + FAT + "bandwidth=10Gbps delay=50ms bytes=20MB",
    NS3_WAN + FAT + "bandwidth=10Gbps delay=5ms bytes=20MB",
    NS3_WAN + FAT + "bandwidth=10Gbps delay=50ms bytes=35MB connections=cold",
    NS3_WAN + FAT + "bandwidth=10Gbps delay=50ms bytes=50MB connections=cold",
    NS3_WAN + FAT + "bandwidth=1Gbps delay=25ms bytes=40MB",
    NS3_WAN + FAT + "bandwidth=1Gbps delay=5ms bytes=40MB",
    NS3_WAN + "topo=star workers=8 bytes=20MB bandwidth=1Gbps delay=10ms",
    NS3_WAN + "topo=star workers=8 bytes=3MB collective=direct-allgather bandwidth=1Gbps "
    "delay=10ms",
    ROCE + " topo=fat-tree workers=16 bytes=100MB",
    ROCE + ":mtu=4096 topo=fat-tree workers=16 bytes=400MB",
    ROCE + ":cc=hpcc topo=fat-tree workers=16 bytes=100MB",
    ROCE + ":train=4 topo=fat-tree workers=16 bytes=200MB",
    ROCE + ":train=16 topo=fat-tree workers=16 bytes=400MB",
    ROCE + " topo=fat-tree workers=16 bytes=10MB collective=direct-allgather",
    ROCE + ":train=16 topo=fat-tree workers=64 bytes=500KB collective=direct-allgather",
    ROCE + " topo=fat-tree workers=128 bytes=100KB collective=direct-allgather",
    ROCE + ":cc=hpcc topo=fat-tree workers=128 bytes=100KB collective=direct-allgather",
    ROCE + " topo=star workers=256 bytes=1KB collective=direct-allgather",
]


def measured(program, options):
    """Returns the estimate and the processor time of a packet simulation, in seconds."""
    command = [program, *("--" + option for option in options.split())]
    found = []
    for fidelity in ("--fidelity=analytic", "--fidelity=auto --packet-budget=1000h"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = subprocess.run([*command, *fidelity.split()],
                              check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime - before.ru_utime)
    return float(re.search(r"packets take about ([^ ]+) s", text)[1]), found[1] - found[0]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]) / "bin" / "legacy-network"
    with open(sys.argv[2] if len(sys.argv) == 3 else FILE, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["options", "estimated_seconds", "processor_seconds"])
        for options in CASES:
            estimate, seconds = measured(program, options)
            print(f"{estimate:9.3g} {seconds:9.3g}  {seconds / estimate:5.2f}  {options}",
                  flush=True)
            table.writerow([options, f"{estimate:.3g}", f"{seconds:.3g}"])


if __name__ == "__main__":
    main()
