"""What gradients cost, in exact operations, beside the value.

    python -m benchmarks.gradient_counts [--write]

write: the table in docs/differentiation.md is written again
"""

from __future__ import annotations

import sys

from benchmarks.robots import tree_of, urdf_path
from benchmarks.written_figures import write_figures
from sarrus import Model, catalog, op_count, zoo
from sarrus.codegen.tape.derivative import Derivative, derivative_tape


def robots() -> dict[str, Model]:
    """Those that are to be had."""
    files = {"Go1": urdf_path("go1"), "Talos": urdf_path("talos_full_v2")}
    found = {name: tree_of(path, floating_base=True) for name, path in files.items() if path is not None}
    return found | {"chain(30)": zoo.chain(30), "biped": zoo.biped().without_constraints()}


def main() -> None:
    rows = ["| | value | and vjp | | and jvp | |", "|---|---:|---:|---:|---:|---:|"]
    print("\n".join(rows))
    for robot, model in robots().items():
        for name in ("aba", "rnea"):
            algorithm, value = catalog()[name], op_count(model, name).total
            vjp, jvp = (
                derivative_tape(model, algorithm, Derivative(kind, algorithm.required)).op_count.total
                for kind in ("vjp", "jvp")
            )
            ratios = f"{vjp:,} | {vjp / value:.2f}x | {jvp:,} | {jvp / value:.2f}x"
            rows.append(f"| {name}, {robot} | {value:,} | {ratios} |")
            print(rows[-1])
    if "--write" in sys.argv[1:]:
        write_figures("differentiation.md", "gradient_counts", "\n".join(rows))


if __name__ == "__main__":
    main()
