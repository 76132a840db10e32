#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures how long this machine's Linux takes for a list of flows over TCP.

It builds a star of network namespaces: each host has one virtual link to a bridge, and each
direction of a link is a token bucket (tbf) at its sending end, with a drop-tail queue. The list is
that of `legacy-network --flows`: lines of source, destination, bytes; hosts are numbers. All flows
start at once, and the time is that until the last byte of the last one is read. Prints the median,
the least and the largest time of all repetitions.

    for d in 0 1 2 3; do for s in 0 1 2 3; do [ $s = $d ] || echo $s,$d,250000; done; done > a2a.csv
    sudo ns3-module/bench/measure-linux-tcp.py --hosts=4 --rate=100 --flows=a2a.csv

It needs root, `ip` and `tc` (iproute2), and a kernel that allows network namespaces, virtual
links, bridges and tbf; with --delay also netem. Where one is lacking it says which, and ends with
status 1. The namespaces are removed again.
"""
import argparse
import csv
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

PORT = 5001
TAG = f"linuxtcp{os.getpid()}"
SETTINGS = (("tcp_ecn", "0"), ("tcp_slow_start_after_idle", "0"), ("tcp_no_metrics_save", "1"),
            ("tcp_rmem", "4096 131072 33554432"))


class NotAllowed(Exception):
    """This machine lacks something that measuring needs."""


def run(*command):
    """Runs a command; raises NotAllowed with what it says where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NotAllowed(f"{command[0]} is not installed") from error
    if done.returncode != 0:
        raise NotAllowed(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")


def inside(space, *command):
    """Runs a command in a namespace."""
    run("ip", "netns", "exec", space, *command)


def shape(space, device, options):
    """Makes one direction of a link: a token bucket, behind it netem's delay."""
    frame = options.mtu + 14
    burst = options.burst or frame + int(options.rate * 1e6 / 8 * 150e-6)
    inside(space, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "tbf", "rate",
           f"{options.rate}mbit", "burst", str(burst), "limit", str(options.queue))
    if options.delay > 0:
        inside(space, "tc", "qdisc", "add", "dev", device, "parent", "1:1", "netem", "delay",
               f"{options.delay}ms", "limit", "100000")


def build(options):
    """Builds the star."""
    refused = set()
    run("ip", "netns", "add", f"{TAG}sw")
    inside(f"{TAG}sw", "ip", "link", "add", "bridge", "mtu", str(options.mtu), "type", "bridge")
    inside(f"{TAG}sw", "ip", "link", "set", "bridge", "up")
    for i in range(options.hosts):
        space = f"{TAG}h{i}"
        run("ip", "netns", "add", space)
        run("ip", "link", "add", "eth0", "netns", space, "mtu", str(options.mtu), "type", "veth",
            "peer", "name", f"port{i}", "netns", f"{TAG}sw", "mtu", str(options.mtu))
        for where, device in ((space, "eth0"), (f"{TAG}sw", f"port{i}")):
            # One segment a packet, as without offloads.
            inside(where, "ip", "link", "set", device, "gso_max_segs", "1")
            shape(where, device, options)
        inside(space, "ip", "address", "add", f"10.77.0.{i + 1}/24", "dev", "eth0")
        inside(space, "ip", "link", "set", "eth0", "up")
        inside(f"{TAG}sw", "ip", "link", "set", f"port{i}", "master", "bridge", "up")
        for name, value in SETTINGS:
            try:
                inside(space, "sysctl", "-qw", f"net.ipv4.{name}={value}")
            except NotAllowed:
                refused.add(f"{name}={value}")
    if refused:
        print("these settings are refused here, so the kernel's own hold: " +
              ", ".join(sorted(refused)), file=sys.stderr)


def remove(options):
    """Removes the star, as far as there is one."""
    for name in [f"{TAG}sw"] + [f"{TAG}h{i}" for i in range(options.hosts)]:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def receive(connection, size, done):
    """Reads `size` bytes, and notes when."""
    left = size
    buffer = bytearray(1 << 20)
    while left > 0:
        got = connection.recv_into(buffer, min(left, len(buffer)))
        if got == 0:
            return
        left -= got
    done.append(time.monotonic())


def connect(address, congestion):
    """Opens a connection with that congestion control."""
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.connect((address, PORT))
    return connection


def host(number, flows, congestion):
    """A host: orders come on standard input, answers go to standard output, a line each."""
    def answer(value):
        print(json.dumps(value), flush=True)

    listener = socket.create_server(("", PORT), backlog=1000)
    answer("ready")
    out, into = {}, {}
    for order in map(json.loads, sys.stdin):
        if order == "connect":
            for index, (source, destination, _) in enumerate(flows):
                if source == number:
                    out[index] = connect(f"10.77.0.{destination + 1}", congestion)
                    out[index].sendall(index.to_bytes(4, "big"))
            answer("connected")
        elif order == "accept":
            while len(into) < sum(flow[1] == number for flow in flows):
                connection = listener.accept()[0]
                into[int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")] = connection
            answer("accepted")
        else:  # a time at which to start
            done = []
            threads = [threading.Thread(target=receive, args=(connection, flows[i][2], done))
                       for i, connection in into.items()]
            senders = [threading.Thread(target=connection.sendall, args=(bytes(flows[i][2]),))
                       for i, connection in out.items()]
            for thread in threads:
                thread.start()
            time.sleep(max(0.0, order - time.monotonic()))
            for thread in senders:
                thread.start()
            for thread in threads + senders:
                thread.join()
            answer(max(done, default=order))


def measure(options, flows):
    """Returns the seconds of each repetition."""
    hosts = [subprocess.Popen(["ip", "netns", "exec", f"{TAG}h{i}", sys.executable, __file__,
                               f"--as-host={i}", f"--flows={options.flows}",
                               f"--congestion={options.congestion}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
             for i in range(options.hosts)]

    def ask(order):
        for each in hosts:
            each.stdin.write(json.dumps(order) + "\n")
            each.stdin.flush()
        return [json.loads(each.stdout.readline()) for each in hosts]

    times = []
    try:
        for each in hosts:
            each.stdout.readline()
        ask("connect")
        ask("accept")
        warm_ups = 0 if options.cold else 2
        for index in range(1 if options.cold else warm_ups + options.repeat):
            start = time.monotonic() + 0.5
            took = max(ask(start)) - start
            if index >= warm_ups:
                times.append(took)
    finally:
        for each in hosts:
            each.stdin.close()
            each.wait()
    return times


def read_flows(path):
    """Reads the list of flows."""
    with open(path, encoding="utf-8") as file:
        return [(int(row[0]), int(row[1]), int(row[2])) for row in csv.reader(file) if row]


def main():
    """Measures as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flows", required=True, help="CSV file: source, destination, bytes")
    parser.add_argument("--hosts", type=int, default=4, help="number of hosts [4]")
    parser.add_argument("--rate", type=float, default=100, help="Mbit/s of each link [100]")
    parser.add_argument("--queue", type=int, default=1000000, help="bytes of each queue [1000000]")
    parser.add_argument("--burst", type=int, help="bytes of each bucket [a frame and 150 us]")
    parser.add_argument("--delay", type=float, default=0, help="ms of each direction, by netem [0]")
    parser.add_argument("--mtu", type=int, default=1500, help="bytes of the largest packet [1500]")
    parser.add_argument("--congestion", default="cubic", help="reno, cubic, bbr, ... [cubic]")
    parser.add_argument("--repeat", type=int, default=5, help="number of repetitions [5]")
    parser.add_argument("--cold", action="store_true", help="new connections each time")
    parser.add_argument("--as-host", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    flows = read_flows(options.flows)
    if options.as_host is not None:
        host(options.as_host, flows, options.congestion)
        return 0
    if any(not 0 <= end < options.hosts for flow in flows for end in flow[:2]):
        parser.error(f"{options.flows}: hosts are 0 to {options.hosts - 1}")
    times = []
    try:
        if os.geteuid() != 0:
            raise NotAllowed("network namespaces need root")
        build(options)
        for _ in range(options.repeat if options.cold else 1):
            times += measure(options, flows)
    except NotAllowed as error:
        print(f"cannot be measured here: {error}", file=sys.stderr)
        return 1
    finally:
        remove(options)
    print("median,least,largest")
    print(f"{statistics.median(times):.6f},{min(times):.6f},{max(times):.6f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
