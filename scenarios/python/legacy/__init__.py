"""The LEGACY co-design toolkit from Python: gradient compression and simulated networks on NumPy
arrays.

    import legacy

    codec = legacy.codec.make("topk+rbf:bits=8@1%")     # codecs turn arrays to bytes and back
    policy = legacy.policy.make("gravac", layers=[1000, (64, 128)])     # parameters, step by step
    legacy.network.simulate(topo="star", bytes="10MB", fidelity="flow").seconds
    run = legacy.run(workers=4, policies=["dense", "topk"], fidelity="flow")    # a comparison
    legacy.replay(run.path, bandwidth="10Gbps").evaluations     # the same run on another network
    legacy.read("runs/first")                           # results of earlier runs and studies

Your own codecs and policies are subclasses of legacy.Codec and legacy.Policy (legacy._own has an
example), or C++ plugins that load_plugin("my.so") loads.

Bad input raises legacy.Error, a ValueError, which says what is allowed. docs/python.md is the
handbook's page.
"""

from . import _interpreter

_interpreter.check()

from . import codec, exchange, network, policy  # noqa: E402
from ._legacy import Error, load_plugin  # noqa: E402
from ._legacy import version as __version__  # noqa: E402
from ._own import Codec, Parameter, Policy, register  # noqa: E402
from ._run import config, options, read, replay, resume, run  # noqa: E402

__all__ = [
    "Codec",
    "Error",
    "Parameter",
    "Policy",
    "codec",
    "config",
    "exchange",
    "load_plugin",
    "network",
    "options",
    "policy",
    "read",
    "register",
    "replay",
    "resume",
    "run",
]
