"""Tapes: dead code, counts, and that they compute what was traced."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sarrus.codegen.tape.graph import Graph, Op
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.tape import OpCount, Port, Tape, tape_of
from sarrus.spatial.stages import stage

IN = (Port("x", (4,)),)


def array(*elements) -> np.ndarray:
    out = np.empty(len(elements), dtype=object)
    out[:] = elements
    return out


def test_dead_code_is_removed():
    g = Graph()
    x = g.inputs(0, 4)
    dead = (x[0] * x[1]).sin() + 17.0
    tape = tape_of(g, IN, {"y": array(x[2] + 3.0)})
    assert isinstance(dead, object)
    assert [Op(op) for op in tape.op] == [Op.INPUT, Op.CONST, Op.ADD]
    assert tape.constants.tolist() == [3.0]
    assert len(tape) == 3


def test_constant_outputs_and_unused_inputs():
    tape = tape_of(Graph(), IN, {"y": np.array([[1.0, 2.0], [2.0, 0.0]])})
    assert tape.outputs == (Port("y", (2, 2)),)
    assert run(tape, [np.zeros((4, 3))]) == [[1.0, 2.0, 2.0, 0.0]]
    assert tape.op_count.total == 0


def test_an_output_may_be_an_input():
    g = Graph()
    x = g.inputs(0, 4)
    assert run(tape_of(g, IN, {"y": x[::-1], "z": x[:1]}), [[1, 2, 3, 4]]) == [[4, 3, 2, 1], [1]]


def test_empty_and_scalar_outputs():
    g = Graph()
    x = g.inputs(0, 4)
    tape = tape_of(g, IN, {"none": np.zeros((0, 3)), "scalar": np.array(x[0] * 2.0, dtype=object)})
    assert [port.shape for port in tape.outputs] == [(0, 3), ()]
    assert [port.size for port in tape.outputs] == [0, 1]
    assert run(tape, [[1.0, 0, 0, 0]]) == [[], [2.0]]
    assert len(tape_of(Graph(), (), {})) == 0


def test_counts_by_kind_and_stage():
    g = Graph()
    x = g.inputs(0, 4)
    with stage("first"):
        a = x[0] * x[1] + x[2]
        b = (-a).sin() / x[3]
    with stage("second"):
        c = g.binary(Op.MAX, abs(b), a.sqrt())
        d = g.select(g.binary(Op.LESS, a, c), a, c)
    count = tape_of(g, IN, {"y": array(d)}).op_count
    assert count.by_kind == {"add": 2, "mul": 1, "div": 1, "sqrt": 1, "trig": 1, "compare": 4}
    assert count.by_stage == {"first": 5, "second": 5}
    assert count.total == 10


def test_a_fused_operation_counts_as_its_two():
    args = np.array([[0, 0, -1], [0, 1, -1], [0, 2, -1], [0, 1, 2]], dtype=np.int32)
    for fused, value in ((Op.FMA, 2 * 3 + 5), (Op.FNMA, 5 - 2 * 3), (Op.FMS, 2 * 3 - 5)):
        op = np.array([Op.INPUT, Op.INPUT, Op.INPUT, fused], dtype=np.uint8)
        tape = Tape(op, args, ("s",) * 4, np.zeros(0), (Port("x", (3,)),), (Port("y", (1,)),), (np.array([3]),))
        assert tape.op_count == OpCount(2, {"add": 1, "mul": 1, "div": 0, "sqrt": 0, "trig": 0}, {"s": 2})
        assert run(tape, [[2.0, 3.0, 5.0]]) == [[value]]


def test_digest_is_of_what_determines_the_values():
    def tape(constant: float, name: str = "y") -> Tape:
        g = Graph()
        with stage(f"stage {constant} {name}"):
            return tape_of(g, IN, {name: array(g.inputs(0, 4)[0] * constant)})

    assert tape(2.0).digest == tape(2.0).digest
    assert len({tape(2.0).digest, tape(3.0).digest, tape(2.0, "z").digest}) == 3


# --- random expressions ----------------------------------------------------------------------------------

BINARY = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 2.0), lambda a, b: -a - b,
    lambda a, b: (a * 3.0) * (b * -0.5), lambda a, b: 1.0 - a, lambda a, b: 2.0 / (a * a + 1.0),
    lambda a, b: (a * a + 1.0) * (1.0 / (a * a + 1.0)) + b, lambda a, b: (b - a) + (a - b) * 2.0,
]  # fmt: skip
UNARY = [np.sin, np.cos, lambda a: np.sqrt(a * a + 1.0), np.abs, lambda a: -a, lambda a: a * 0.0, lambda a: a + 0.5]


@st.composite
def programs(draw) -> list[tuple[int, int, int]]:
    n = draw(st.integers(1, 25))
    return [
        (draw(st.integers(0, len(BINARY) + len(UNARY) - 1)), draw(st.integers(0, 3 + k)), draw(st.integers(0, 3 + k)))
        for k in range(n)
    ]


def execute(program: list[tuple[int, int, int]], inputs: list) -> list:
    """Run it on whatever is given: the same Python text on floats and symbols."""
    values = list(inputs)
    for f, i, j in program:
        if f < len(BINARY):
            values.append(BINARY[f](values[i], values[j]))
        else:
            one = np.empty(1, dtype=object)
            one[0] = values[i]
            values.append(
                UNARY[f - len(BINARY)](one if not isinstance(values[i], (float, int)) else np.array([values[i]]))[0]
            )
    return values


@given(programs(), st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4))
def test_tapes_compute_what_was_traced(program, inputs):
    expected = execute(program, [float(x) for x in inputs])
    g = Graph()
    tape = tape_of(g, IN, {"y": array(*execute(program, list(g.inputs(0, 4))))})
    (got,) = run(tape, [inputs])
    scale = max(1.0, *(abs(x) for x in expected))
    assert np.allclose(np.array(got, float), np.array(expected, float), rtol=1e-12, atol=1e-13 * scale)
    # ... in batches
    (many,) = run(tape, [np.tile(np.array(inputs)[:, None], (1, 3))])
    assert all(np.array_equal(np.broadcast_to(m, 3), [x] * 3) for m, x in zip(many, got, strict=True))
    # ... and as CasADi expressions
    x = ca.SX.sym("x", 4)
    (symbolic,) = run(tape, [[x[k] for k in range(4)]], symbolic=True)
    values = np.array(ca.Function("f", [x], [ca.vertcat(*symbolic)])(inputs)).ravel()
    assert np.allclose(values, np.array(expected, float), rtol=1e-12, atol=1e-13 * scale)


@given(programs())
def test_counts_add_up(program):
    g = Graph()
    with stage("a"):
        values = execute(program, list(g.inputs(0, 4)))
    with stage("b"):
        values.append(values[-1] * values[0] + 1.25)
    tape = tape_of(g, IN, {"y": array(values[-1])})
    count = tape.op_count
    assert count.total == sum(count.by_kind.values()) == sum(count.by_stage.values())
    assert count.total == sum(op not in (Op.CONST, Op.INPUT) for op in tape.op)


def test_branches_in_every_interpreter():
    g = Graph()
    x = g.inputs(0, 4)
    outputs = [
        g.binary(Op.MIN, x[0], x[1]), g.binary(Op.MAX, x[0], x[1]), g.binary(Op.COPYSIGN, x[0], x[1]),
        g.binary(Op.ATAN2, x[0], x[1]), g.select(g.binary(Op.LESS, x[0], x[1]), x[2], x[3]), abs(x[0]), x[2].sqrt(),
    ]  # fmt: skip
    tape = tape_of(g, IN, {"y": array(*outputs)})
    for a, b in ((1.0, -2.0), (-2.0, 1.0), (0.5, 0.75)):
        expected = [min(a, b), max(a, b), np.copysign(a, b), np.arctan2(a, b), 4.0 if a < b else 9.0, abs(a), 2.0]
        assert np.allclose(run(tape, [[a, b, 4.0, 9.0]])[0], expected)
        symbols = ca.SX.sym("x", 4)
        expressions = run(tape, [[symbols[k] for k in range(4)]], symbolic=True)[0]
        assert np.allclose(
            np.array(ca.Function("f", [symbols], [ca.vertcat(*expressions)])([a, b, 4.0, 9.0])).ravel(), expected
        )


def test_a_sign_goes_into_a_constant_that_is_recorded_later():
    graph = Graph()
    x, y = graph.inputs(0, 2)
    negated = -(x * 2.0)
    tape = tape_of(graph, (Port("x", (2,)),), {"z": np.array([negated, y * y * -2.0])})
    assert Op.NEG not in tape.op
    for k, used in enumerate(tape.operands(list(range(len(tape))))):
        assert all(a < k for a in used)
    assert [float(z) for z in run(tape, [[3.0, 0.5]])[0]] == [-6.0, -0.5]
