"""What gradients cost, in exact operations, beside the value: `python -m benchmarks.gradient_counts`."""

from __future__ import annotations

from benchmarks.robots import tree_of, urdf_path
from sarrus import Model, catalog, op_count, zoo
from sarrus.codegen.tape.derivative import Derivative, derivative_tape


def robots() -> dict[str, Model]:
    """Those that are to be had."""
    files = {"Go1": urdf_path("go1"), "Talos": urdf_path("talos_full_v2")}
    found = {name: tree_of(path, floating_base=True) for name, path in files.items() if path is not None}
    return found | {"chain(30)": zoo.chain(30), "biped": zoo.biped().without_constraints()}


def main() -> None:
    print(f"{'robot':10} {'':5} {'value':>7} {'and vjp':>8} {'':>6} {'and jvp':>8}")
    for robot, model in robots().items():
        for name in ("aba", "rnea"):
            algorithm, value = catalog()[name], op_count(model, name).total
            vjp, jvp = (
                derivative_tape(model, algorithm, Derivative(kind, algorithm.required)).op_count.total
                for kind in ("vjp", "jvp")
            )
            print(f"{robot:10} {name:5} {value:7,} {vjp:8,} {vjp / value:5.2f}x {jvp:8,} {jvp / value:5.2f}x")


if __name__ == "__main__":
    main()
