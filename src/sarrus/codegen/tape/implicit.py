"""Derivatives of what solves equations, by the implicit function theorem at the solution: one solve for each right-hand
side, with the factors that the solution has; however the values were found, nothing goes through iterations.

With g(inputs, x, f) = 0 in two parts (`Implicit`), b an input, and all derivatives of g at the solution,

    [M -J^T; J C] [dx; df] = -dg/db db

along a direction (jvp), or for every column (jacobian). Of a sum weighted by x_bar and f_bar (vjp) it is one adjoint
solve. The transposed matrix is [M J^T; -J C], so that with signs changed the same solve serves:

    [M -J^T; J C] [l; -p] = [x_bar; -f_bar]        b_bar = -(dg/db)^T [l; p]

which is a gradient of g, whose text is straight. Where rows J depend on each other, f of those that depend on others
before them does not vary; it is one choice of many. The other choice are forces of the smallest norm, which meet one
more equation, s = J z - w f = 0 (`mechanics/solvers/minimum_norm.py`): their variation is that of any others, corrected
by ds with z and f held; backwards, weights of s come on top. Where rows cannot follow the others along some direction
(`unique` is 0: a loop whose rows are redundant only while it is closed), derivatives mean something along those
directions only that all rows allow. That is asked along one direction without any special property: it would have to
lie in a plane that it has nothing to do with to miss that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.codegen.tape.differentiate import jacobian, jvp, vjp
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.replay import replay
from sarrus.codegen.tape.tangent_space import tangent_shape
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.codegen.tape.trace import trace
from sarrus.model.independent import reported_rows
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Implicit, Input
from sarrus.spatial.arrays import Array
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import if_finite
from sarrus.status import Status

_GEOMETRY = ("q", "v", "k")  # inputs that rows depend on
_GOLDEN = 0.6180339887498949


class Solution:
    """Values that solve equations, as symbols of a graph, and linear equations with the same factors."""

    def __init__(
        self,
        model: Model,
        implicit: Implicit,
        inputs: Sequence[Port],
        columns: int,
        parameters: Sequence[Any] | None,
        **how: bool,
    ) -> None:
        """inputs: of the algorithm, then more; columns: of right-hand sides; how: options of the response"""
        self.model, self.inputs = model, inputs
        names = [x for x in inputs if x.name != "parameters"]
        rows = model.spanning.n_rows
        given = tuple(Input(port.name, False, port.shape) for port in names)
        x, f = (Input(name, False, (size,)) for name, size in zip(implicit.unknowns, (model.nv, rows), strict=True))
        right = Input("right_x", False, (model.nv, columns)), Input("right_f", False, (rows, columns))
        more = Input("probe", False, (rows,)), Input("varied", False, (rows, columns))
        self.unknowns = implicit.unknowns
        self.equations = _traced(model, implicit.equations, (*given, x, f), ("in_x", "in_f"), parameters)
        z = Input("z", False, (model.nv,))
        self.sharing = _traced(model, implicit.sharing, (*given, f, z), ("shared",), parameters)
        self._response = _traced(model, implicit.response, (*given, *right, *more), (), parameters, **how)
        self.graph = Graph()
        self.arrays = {port.name: self.graph.inputs(slot, port.size) for slot, port in enumerate(inputs)}

    def more_inputs(self, ports: Sequence[Port]) -> None:
        made = {p.name: self.graph.inputs(len(self.inputs) + n, p.size) for n, p in enumerate(ports)}
        self.arrays |= made
        self.inputs = (*self.inputs, *ports)

    def response(self, **right: Array) -> dict[str, Array]:
        """The values, and x and f for a right-hand side, all in their shapes; what is not given is zero."""
        return self.replayed(self._response, right)

    def replayed(self, tape: Tape, more: dict[str, Array]) -> dict[str, Array]:
        arrays = self.arrays | more
        values = replay(tape, self.graph, [np.ravel(arrays.get(p.name, np.zeros(p.size))) for p in tape.inputs])
        return {p.name: x.reshape(p.shape) for p, x in zip(tape.outputs, values, strict=True)}


def implicit_tape(
    model: Model,
    closed: AnyAlgorithm,
    kind: str,
    wrt: Sequence[str],
    tape: Tape,
    parameters: Sequence[Any] | None,
    minimum_norm: bool = False,
) -> Tape | None:
    """A derivative of an algorithm (its tape), whose values solve the equations of `closed`, which takes the same
    inputs; None: not all of them. minimum_norm: of forces of the smallest norm.
    """
    implicit = closed.implicit
    names = [port.name for port in tape.inputs if port.name != "parameters"]
    if implicit is None or not set(names) <= set(closed.input_names):
        return None
    by_name = {port.name: port for port in tape.inputs}
    shapes = [tangent_shape(model, by_name[name]) for name in wrt]
    sizes = [int(np.prod(shape, dtype=int)) for shape in shapes]
    columns = sum(sizes) if kind == "jacobian" else 1
    how = {"minimum_norm": minimum_norm, "adjoint": kind == "vjp"}
    at = Solution(model, implicit, tape.inputs, columns, parameters, **how)
    values = at.response()
    held = dict(zip(at.unknowns, (values["qdd"], values["forces"]), strict=True))
    probe, shares = _probe(at, wrt, held), {"z": values["z"], at.unknowns[1]: values["forces"]}
    ours = list(reported_rows(model))
    out = [Port(name, x.shape) for name, x in zip(at.unknowns, (values["qdd"], values["forces"][ours]), strict=True)]
    if kind == "vjp":
        at.more_inputs([Port(f"{port.name}_bar", port.shape) for port in out])
        x_bar, mine = (at.arrays[f"{port.name}_bar"] for port in out)
        f_bar = np.zeros(len(values["forces"]), dtype=object)
        f_bar[ours] = mine
        answer = at.response(right_x=x_bar, right_f=-f_bar, probe=probe)
        weights = {"in_x_bar": -answer["x"], "in_f_bar": answer["f"]}
        back = at.replayed(vjp(model, at.equations, wrt), held | weights)
        found = {f"{name}_bar": back[f"{name}_bar"] for name in wrt}
        if minimum_norm:  # rows are -f_bar
            more = at.replayed(vjp(model, at.sharing, wrt), shares | {"shared_bar": -answer["along"]})
            found = {name: x + more[name] for name, x in found.items()}
    elif kind == "jvp":
        at.more_inputs([Port(f"d{name}", shape) for name, shape in zip(wrt, shapes, strict=True)])
        along = at.replayed(jvp(model, at.equations, wrt), held)
        varied = {"varied": at.replayed(jvp(model, at.sharing, wrt), shares)["dshared"]} if minimum_norm else {}
        answer = at.response(right_x=-along["din_x"], right_f=-along["din_f"], probe=probe, **varied)
        found = {f"d{port.name}": x[:, 0] for port, x in zip(out, (answer["x"], answer["f"][ours]), strict=True)}
    else:
        slopes = at.replayed(jacobian(model, at.equations, wrt), held)
        if minimum_norm:
            slopes |= at.replayed(jacobian(model, at.sharing, wrt), shares)
        right = [
            np.concatenate([slopes[f"d{g}_d{name}"].reshape(-1, n) for name, n in zip(wrt, sizes, strict=True)], axis=1)
            for g in ("in_x", "in_f", *(["shared"] if minimum_norm else []))
        ]
        varied = {"varied": right[2]} if minimum_norm else {}
        answer = at.response(right_x=-right[0], right_f=-right[1], probe=probe, **varied)
        ends = np.cumsum(sizes)[:-1]
        columns = [np.split(x, ends, axis=1) for x in (answer["x"], answer["f"][ours])]
        found = {
            f"d{port.name}_d{name}": columns[k][n].reshape(*port.shape, *shapes[n])
            for n, name in enumerate(wrt) for k, port in enumerate(out)
        }  # fmt: skip
    status = answer["status"].item()
    worst = choose(0.5, status, status, Status.NOT_FINITE)
    said = {name: answer[name] for name in ("rank", "unique")}
    said["status"] = np.asarray(if_finite(status, worst, answer["x"], answer["f"], *found.values()), dtype=object)
    solved = {out[0].name: answer["qdd"], out[1].name: answer["forces"][ours]}
    return tape_of(at.graph, tuple(at.inputs), solved | said | found, ["status"])


def _probe(at: Solution, wrt: Sequence[str], held: dict[str, Array]) -> Array:
    """What rows ask for along a direction that is like no other."""
    moved = [port for port in at.equations.inputs if port.name in (*_GEOMETRY, *(x for x in wrt if x == "parameters"))]
    directions, first = {}, 1
    for port in moved:
        n = int(np.prod(tangent_shape(at.model, port), dtype=int))
        directions[f"d{port.name}"] = 0.5 + (_GOLDEN * np.arange(first, first + n)) % 1.0
        first += n
    return at.replayed(jvp(at.model, at.equations, [port.name for port in moved]), held | directions)["din_f"]


def _traced(
    model: Model,
    text: Any,
    inputs: tuple[Input, ...],
    fields: tuple[str, ...],
    parameters: Sequence[Any] | None,
    **options: Any,
) -> Tape:
    algorithm = Algorithm(text.__name__, text, inputs, None, tuple(options), fields=fields)
    return trace(model, algorithm, parameters=parameters, **options)
