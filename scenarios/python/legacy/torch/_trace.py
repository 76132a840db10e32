"""Records a compressed training as a trace for legacy-replay."""

from .._legacy import Error
from ..record_ddp_trace import WAYS, DdpTraceRecorder, _CpuTimer, _Step


class Recorder(DdpTraceRecorder):
    """Records what the bridge tells it: it runs no hook itself."""

    def __init__(self, path, model, method, metrics):
        super().__init__(path, model, hook=_none, sends=_none, method=method, metrics=metrics)
        self._timer = _CpuTimer()  # gradients are exchanged in host memory

    def close_bucket(self, entry, sends, *arguments):
        for way, _ in sends:
            if way not in WAYS:
                raise Error(f"record: got a method that sends by {way}; allowed: {', '.join(WAYS)}")
        super().close_bucket(entry, sends, *arguments)

    def announce(self, size):
        """Adds an announcement of the policy to the step before."""
        if self._ended:
            bucket = self._ended[-1].buckets[-1]
            bucket["sends"].append(["broadcast", size])
            bucket["decode"].append(0.0)

    def forget_step(self):
        """Leaves out a step that its scaler skips: its time counts as that of the next one."""
        if self._step is not None:
            begin = self._step.begin
            self._step = _Step(begin)


def _none(*_):
    return []
