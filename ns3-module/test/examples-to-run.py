#! /usr/bin/env python3

# Examples that ns-3's test.py runs: (command, True to run it, True to run it under valgrind).
cpp_examples = [
    ("legacy-ring-example --workers=4 --bytes=100kB", "True", "False"),
    ("legacy-fidelity-example --bytes=100kB", "True", "False"),
]
python_examples = []
