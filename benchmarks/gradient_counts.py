"""What gradients cost, in exact operations, beside the value.

    python -m benchmarks.gradient_counts [--write]

write: the table in docs/differentiation.md is written again
"""

from __future__ import annotations

from benchmarks.command_line import parser_of
from benchmarks.derivative_counts import FEET
from benchmarks.robots import shared_directory, tree_of, urdf_path
from benchmarks.written_figures import write_figures
from sarrus import Model, catalog, contact, load, op_count, zoo
from sarrus.codegen.tape.derivative import Derivative, derivative_tape


def robots() -> dict[str, Model]:
    """Those that are to be had."""
    files = {"Go1": urdf_path("go1"), "Talos": urdf_path("talos_full_v2")}
    found = {name: tree_of(path, floating_base=True) for name, path in files.items() if path is not None}
    return found | {"chain(30)": zoo.chain(30), "biped": zoo.biped().without_constraints()}


def looped() -> dict[str, Model]:
    """Those with constraints."""
    found = {name: model.with_constraints(*(contact(foot, 3) for foot in FEET)) for name, model in robots().items()
             if name == "Go1"}  # fmt: skip
    for name, file in (("Cassie", "cassie/cassie.xml"), ("Digit", "digit/digit-v3.xml")):
        path = shared_directory() / "robots" / file
        if path.is_file():
            found[name] = load(path)
    return found | {"biped": zoo.biped(), "stewart": zoo.stewart()}


def row(name: str, robot: str, model: Model) -> str:
    """Of the table: an algorithm on a robot."""
    algorithm, value = catalog()[name], op_count(model, name).total
    vjp, jvp = (
        derivative_tape(model, algorithm, Derivative(kind, algorithm.required)).op_count.total
        for kind in ("vjp", "jvp")
    )
    return f"| {name}, {robot} | {value:,} | {vjp:,} | {vjp / value:.2f}x | {jvp:,} | {jvp / value:.2f}x |"


def main(write: bool) -> None:
    rows = ["| | value | and vjp | | and jvp | |", "|---|---:|---:|---:|---:|---:|"]
    print("\n".join(rows))
    pairs = [(name, robot, model) for robot, model in robots().items() for name in ("aba", "rnea")]
    for each in [*pairs, *(("lcaba", robot, model) for robot, model in looped().items())]:
        rows.append(row(*each))
        print(rows[-1])
    if write:
        write_figures("differentiation.md", "gradient_counts", "\n".join(rows))


if __name__ == "__main__":
    main(parser_of(__doc__, writes="differentiation.md").parse_args().write)
