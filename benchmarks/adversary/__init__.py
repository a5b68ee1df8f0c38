"""The adversary: machines that try to break Sarrus, and oracles that decide. `python -m benchmarks.adversary`."""
