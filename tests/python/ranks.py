"""Runs functions on several ranks over gloo, each in a process of this machine. Tests that use it
are skipped without PyTorch."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"skipped: {error} (python3-torch)")
    sys.exit(77)

LIMIT = 60  # seconds
_CONTEXT = multiprocessing.get_context("fork")  # PyTorch is loaded once


def run(ranks, function, *arguments, timeout=None):
    """Returns what function(rank, *arguments) returns at each rank. Raises AssertionError with the
    text of the rank that fails first, and where they take longer than LIMIT."""
    with tempfile.TemporaryDirectory(prefix="legacy-ranks-") as folder:
        pipes, processes = [], []
        for rank in range(ranks):
            ours, theirs = _CONTEXT.Pipe()
            process = _CONTEXT.Process(
                target=_rank, args=(theirs, folder, rank, ranks, timeout, function, arguments)
            )
            process.start()
            theirs.close()
            pipes.append(ours)
            processes.append(process)
        try:
            return _results(pipes)
        finally:
            for process in processes:
                if process.is_alive():
                    process.join(5)
                if process.is_alive():
                    os.kill(process.pid, signal.SIGKILL)
                process.join()


def _rank(pipe, folder, rank, ranks, timeout, function, arguments):
    torch.set_num_threads(1)
    more = {}
    if timeout is not None:
        import datetime

        more["timeout"] = datetime.timedelta(seconds=timeout)
    try:
        store = f"tcp://127.0.0.1:{_port(folder, rank)}"
        dist.init_process_group("gloo", init_method=store, rank=rank, world_size=ranks, **more)
        pipe.send((True, function(rank, *arguments)))
    except BaseException:
        pipe.send((False, f"rank {rank}: {traceback.format_exc()}"))
    finally:
        pipe.close()
    os._exit(0)  # threads of a group whose other ranks are gone would wait


def _port(folder, rank):
    """Returns a free port, the same for all ranks."""
    path = os.path.join(folder, "port")
    if rank == 0:
        import socket

        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(str(port))
        os.replace(path + ".part", path)
        return port
    while not os.path.exists(path):
        time.sleep(0.005)
    with open(path, encoding="utf-8") as file:
        return int(file.read())


def _results(pipes):
    results = [None] * len(pipes)
    waiting = dict(enumerate(pipes))
    end = time.monotonic() + LIMIT
    while waiting:
        ready = multiprocessing.connection.wait(waiting.values(), max(0, end - time.monotonic()))
        if not ready:
            raise AssertionError(f"ranks {list(waiting)} took longer than {LIMIT} s")
        for rank in [rank for rank, pipe in waiting.items() if pipe in ready]:
            pipe = waiting.pop(rank)
            try:
                fine, result = pipe.recv()
            except EOFError:
                fine, result = False, f"rank {rank} ended"
            if not fine:
                raise AssertionError(result)
            results[rank] = result
    return results
