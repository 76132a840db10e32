"""Collectives and flows on a simulated network, as legacy-network runs them.

    result = legacy.network.simulate(topo="leaf-spine:oversubscription=4", workers=16,
                                     collective="ring-allreduce", bytes="25MB",
                                     bandwidth="10Gbps", fidelity=["flow", "packet"])
    result.seconds          # at the first fidelity, until the last worker is done
    result.rows             # a dict for each fidelity and repetition
    result.workers, result.links        # when each worker was done, what each link carried

Options are those of `legacy-network --help`, with "_" for "-"; `topology` is another name of
`topo`.
"""

import csv
import dataclasses
import json

from . import _legacy
from ._tables import table
from ._text import network_rows, split_options

__all__ = ["Simulation", "options", "simulate"]


@dataclasses.dataclass(repr=False)
class Simulation:
    """A finished experiment. Tables are DataFrames where pandas is installed, else dicts of arrays;
    docs/legacy-network.md describes their columns."""

    rows: list  # a dict for each fidelity and repetition
    workers: object  # ready and finish times; None: lists of flows have no workers
    links: object  # bytes, utilisation, drops of each directed link
    flows: object  # start, end and slowdown of each flow; None where flows were not recorded
    warnings: list
    text: str  # table that legacy-network prints
    svg: str  # picture of the fabric, with its links coloured by utilisation

    @property
    def seconds(self):
        """Simulated seconds at the first fidelity, in the mean over its repetitions."""
        times = [
            row["time_seconds"] for row in self.rows if row["fidelity"] == self.rows[0]["fidelity"]
        ]
        return sum(times) / len(times)

    @property
    def table(self):
        """Returns the rows as a table, without the lists of finish times, which `workers` has."""
        names = [name for name in self.rows[0] if name != "finish_seconds"]
        return table({name: [row[name] for row in self.rows] for name in names})

    def __repr__(self):
        row = self.rows[0]
        rows = f", {len(self.rows)} rows" if len(self.rows) > 1 else ""
        return (
            f"Simulation({row.get('collective') or 'flows'} on {row['topo']}, {row['fidelity']}: "
            f"{self.seconds:.6g} s{rows})"
        )

    def _repr_svg_(self):
        return self.svg


def simulate(*, record_flows=False, **options):
    """Runs one experiment. record_flows: whether to keep the times of all flows of a collective.
    ns3: a dict of ns-3 attributes.

    Ctrl-C ends the simulation. Other Python threads run meanwhile; packet simulations run one after
    the other.
    """
    if "topology" in options:
        options["topo"] = options.pop("topology")
    options = {name.replace("_", "-"): value for name, value in options.items()}
    texts, attributes = split_options(options, network_rows())
    done = _legacy.Simulation(texts, attributes, record_flows)
    return Simulation(
        rows=json.loads(done.rows()),
        workers=_csv_table(done.workers()),
        links=_csv_table(done.links()),
        flows=_csv_table(done.flows()),
        warnings=done.warnings(),
        text=done.text(),
        svg=done.svg(),
    )


def options():
    """Returns all options of simulate(), as dicts: name, kind, default, allowed, help."""
    return [
        {**option, "name": option["name"].replace("-", "_")} for option in _legacy.network_options()
    ]


def _csv_table(text):
    if not text:
        return None
    names, *rows = csv.reader(text.splitlines())
    columns = zip(*rows) if rows else [[] for _ in names]
    return table({name: _numbers(values) for name, values in zip(names, columns)})


def _numbers(values):
    """Returns the texts as whole numbers, or else as numbers, or else as they are."""
    for kind in (int, float):
        try:
            return [kind(value) for value in values]
        except ValueError:
            pass
    return list(values)
