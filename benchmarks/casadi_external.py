"""IPOPT with dynamics as an expression and as native code: `python -m benchmarks.casadi_external [--write]`.

The problem of `examples/steer_five_bar.py`, both ways in turns; medians. And the instructions of whole Jacobians, ours
and CasADi's own. --write puts the tables into docs/hooks/casadi.md.
"""

from __future__ import annotations

import time

import numpy as np

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.written_figures import computed, measured, write_figures
from examples.steer_five_bar import transcribed, ways

ROUNDS = 5


def main(write: bool) -> None:
    model = sarrus.zoo.five_bar()
    start = sarrus.neutral(model)
    goal = sarrus.forward_kinematics(model, start, frames=("tool",)).position[0] + np.array([0.05, 0.0, -0.03])
    tool = sarrus.compile(model, "forward_kinematics", frames=("tool",)).to_casadi()
    problems = {name: transcribed(model, dynamics, tool, start, goal) for name, dynamics in ways(model).items()}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in problems}
    iterations, solutions = {}, {}
    for _ in range(ROUNDS):
        for name, (solver, problem) in problems.items():
            began = time.perf_counter()
            solutions[name] = np.array(solver(**problem)["x"]).ravel()
            whole, said = time.perf_counter() - began, solver.stats()
            seconds[name].append((whole, sum(x for key, x in said.items() if key.startswith("t_wall_nlp_"))))
            iterations[name] = said["iter_count"]
    lines = ["| dynamics | iterations | solve time | of which in functions |", "|---|---:|---:|---:|"]
    for name, found in seconds.items():
        whole, functions = np.median(np.array(found), axis=0)
        lines.append(f"| {name} | {iterations[name]} | {1e3 * whole:.0f} ms | {1e3 * functions:.0f} ms |")
    ratios = np.array(seconds["expression"]) / np.array(seconds["external"])
    off = np.abs(solutions["expression"] - solutions["external"]).max()
    whole, functions = np.median(ratios, axis=0)
    lines += [
        "",
        f"Native code solves it {whole:.0f} times as fast; the functions alone are {functions:.0f} times as fast. "
        f"The solutions differ by {off:.0e}.",
    ]
    sizes = jacobians()
    print("\n".join(lines), sizes, sep="\n\n")
    if write:
        write_figures("hooks/casadi.md", "casadi jacobians", f"{computed('casadi_external')}\n\n{sizes}")
        write_figures("hooks/casadi.md", "casadi", "\n".join([measured("casadi_external"), "", *lines]))


def jacobians() -> str:
    """How long whole Jacobians are."""
    lines = ["| `function.jacobian().n_instructions()` | with our Jacobian | CasADi's own |", "|---|---:|---:|"]
    biped = sarrus.zoo.biped().without_constraints()
    for words, model, method in (("biped", biped, "aba"), ("five-bar", sarrus.zoo.five_bar(), "lcaba")):
        kernel = sarrus.compile(model, method)
        ours, theirs = (kernel.to_casadi(jacobian=yes).jacobian().n_instructions() for yes in (True, False))
        lines.append(f"| `{method}`, {words} | {ours:,} | {theirs:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(parser_of(__doc__, writes="hooks/casadi.md").parse_args().write)
