"""Tables for people's scripts."""

import numpy


def table(columns):
    """A DataFrame of {name: values} where pandas is there, else a dict of arrays."""
    try:
        import pandas
    except ImportError:
        return {name: numpy.array(values) for name, values in columns.items()}
    return pandas.DataFrame(columns)
