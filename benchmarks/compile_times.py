"""Time of a cold compile, against another checkout of this repository: fresh processes, empty caches, in turns.

    python -m benchmarks.compile_times /path/to/other/checkout [repetitions] [words of names] [--write]

Both must give the same numbers; then CPU seconds of the first call are compared, the least of all repetitions. Robots
are loaded before the clock starts, and Python's bytecode is there, as after an installation. Simulations are without
forces of joints, whose limits are not what they were.

The first row of a case is the very first kernel of a machine, for which the drivers of all kernels are compiled, too;
the second one any later kernel. --write puts the rows into the table in docs/kernels.md; rows of cases that were not
asked for stay.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command_line import parser_of

HERE = Path(__file__).resolve().parents[1]
CASES = {  # by how much the time should have fallen
    "Talos aba": 4.0, "Cassie lcaba": 4.0, "Digit lcaba": 4.0, "Cassie simulate": 4.0,
    "Cassie simulate on the ground": 4.0, "chain(200) aba": 5.0, "two Digits prox_ltl": 6.0,
}  # fmt: skip
_AGREEMENT = 1e-6  # relative to the largest number
_STEPS, _DT = 10, 1e-3


def model_of(case: str) -> Any:
    """The robot of a case, as the checkout that runs this reads it."""
    import sarrus
    from benchmarks.loop_systems import two_digits
    from benchmarks.robots import shared_directory, tree_of, urdf_path

    name = case.split()[0]
    if name == "Talos":
        path = urdf_path("talos_full_v2")
        assert path is not None
        return tree_of(path, floating_base=True)
    if name.startswith("chain"):
        return sarrus.zoo.chain(int(name[6:-1]))
    if name == "two":
        return two_digits()
    file = {"Cassie": "cassie/cassie.xml", "Digit": "digit/digit-v3.xml"}[name]
    if "ground" in case:
        file = "cassie/scene.xml"
    return sarrus.load(shared_directory() / "robots" / file)


def first_call(case: str, state: dict[str, list[float]], knows_contacts: bool) -> tuple[float, np.ndarray]:
    """CPU seconds of compiling (for simulations: of the first one altogether), and numbers to compare."""
    import sarrus

    model = model_of(case)
    q, v, tau = (np.array(state[name]) for name in ("q", "v", "tau"))
    clock = time.process_time()
    if "simulate" in case:
        options = {"joint_forces": False} | ({"contacts": "ground" in case} if knows_contacts else {})
        found = sarrus.simulate(model, q, v, None, _STEPS * _DT, _DT, "semi_implicit_euler", **options)
        return time.process_time() - clock, np.array(found.q[-1])
    kernel = sarrus.compile(model, case.split()[-1])
    seconds = time.process_time() - clock
    result = kernel(q, v, tau)
    return seconds, np.array(getattr(result, "qdd", result))


def child(checkout: Path, case: str, state: dict[str, list[float]], cache: str) -> tuple[float, np.ndarray]:
    """`first_call` in a process of its own, by the code of another checkout; bytecode is kept beside the cache."""
    more = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(checkout / "src"), str(checkout), *(path for path in more if path and not path.startswith(str(HERE)))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "SARRUS_CACHE_DIR": cache}
    environment |= {"PYTHONPYCACHEPREFIX": str(Path(cache).parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    given = json.dumps({"case": case, "state": state, "knows_contacts": checkout == HERE})
    done = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).resolve()), "--child"], input=given, text=True, env=environment,
        capture_output=True, cwd=checkout,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"], np.array(answer["numbers"])


def state_of(case: str) -> dict[str, list[float]]:
    import sarrus

    model = model_of(case)
    q, v = sarrus.random_state(model, rng=0)
    tau = np.random.default_rng(0).normal(size=model.nv)
    return {"q": q.tolist(), "v": (0.1 * v).tolist(), "tau": tau.tolist()}


def compare(case: str, other: Path, repetitions: int) -> list[str]:
    """Validate and time one case: its rows."""
    state = state_of(case)
    first: dict[Path, list[float]] = {HERE: [], other: []}
    later: dict[Path, list[float]] = {HERE: [], other: []}
    with tempfile.TemporaryDirectory() as folder:
        prepared = {checkout: f"{folder}/drivers{number}" for number, checkout in enumerate(first)}
        for checkout, cache in prepared.items():  # all that is compiled once per machine
            child(checkout, "chain(2) aba", {"q": [0.1] * 2, "v": [0.1] * 2, "tau": [0.1] * 2}, cache)
        for _ in range(repetitions):
            numbers = []
            for checkout in first:
                for times, start in ((first, None), (later, prepared[checkout])):
                    cache = f"{folder}/cache"
                    if start is not None:
                        shutil.copytree(start, cache)
                    seconds, found = child(checkout, case, state, cache)
                    shutil.rmtree(cache, ignore_errors=True)
                    times[checkout].append(seconds)
                numbers.append(found)
            if "ground" not in case:  # which the other may not know
                off = float(np.abs(numbers[0] - numbers[1]).max() / np.abs(numbers[1]).max())
                assert off < _AGREEMENT, f"{case}: numbers differ by {off:.1e}"
    rows = []
    for what, times in (("first of a machine", first), ("later", later)):
        ours, theirs = min(times[HERE]), min(times[other])
        rows.append(f"| {case} | {what} | {theirs:.2f} s | {ours:.2f} s | {theirs / ours:.1f} | {CASES[case]:.0f} |")
    return rows


def main(words: list[str]) -> None:
    if words == ["--child"]:
        asked = json.loads(sys.stdin.read())
        seconds, numbers = first_call(asked["case"], asked["state"], asked["knows_contacts"])
        print(json.dumps({"seconds": seconds, "numbers": numbers.tolist()}))
        return
    parser = parser_of(__doc__, writes="kernels.md")
    parser.add_argument("checkout", type=Path, help="the other one")
    parser.add_argument("repetitions", nargs="?", type=int, default=3)
    parser.add_argument(
        "words", nargs="*", help="words that the names of cases contain; all of them (default: every case)"
    )
    given = parser.parse_args(words)
    rows: dict[str, list[str]] = {}
    for case in CASES:
        if all(word in case for word in given.words):
            rows[case] = compare(case, given.checkout.resolve(), given.repetitions)
            print("\n".join(rows[case]), flush=True)
    if given.write:
        from benchmarks.written_figures import figures, write_figures

        written = figures("kernels.md", "compile_times").splitlines()
        before = {case: [row for row in written if row.startswith(f"| {case} |")] for case in CASES}
        head = ["| case | kernel | before | now | ratio | bar |", "|---|---|---:|---:|---:|---:|"]
        table = [row for case in CASES for row in rows.get(case, before[case])]
        write_figures("kernels.md", "compile_times", "\n".join(head + table))


if __name__ == "__main__":
    main(sys.argv[1:])
