"""Gradient compression inside a training of PyTorch: all methods of this toolkit in a model of
DistributedDataParallel.

    import legacy.torch

    model = torch.nn.parallel.DistributedDataParallel(model)
    handle = legacy.torch.compress(model, "topk@1%", optimizer=optimizer, record="run.trace")
    for batch in batches:
        loss = ...; loss.backward(); optimizer.step(); optimizer.zero_grad()
        handle.feedback(loss=loss.item())
    handle.close()

Messages and residuals are those of the simulator, to the byte, and legacy-replay times the trace on
any network. Works with PyTorch 1.13 or newer. docs/pytorch.md is the handbook's page.
"""

from ._state import load_folder as load
from ._state import save
from ._compress import compress
from ._handle import Handle

__all__ = ["Handle", "compress", "load", "save"]
