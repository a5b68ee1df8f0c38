"""The five papers on trial: every table and figure with numbers, theirs beside ours: `python -m benchmarks.paper`."""
