"""From robots to tapes: op counts known by hand, options, and models with symbols."""

from __future__ import annotations

import gc
import weakref

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import ModelBuilder
from sarrus.codegen.tape.derivative import Derivative, derivative_tape
from sarrus.codegen.tape.graph import Symbol
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.parameters import symbols_of
from sarrus.codegen.tape.tape import Port
from sarrus.codegen.tape.trace import op_count, trace
from sarrus.errors import UnknownNameError, UnsupportedError
from tests.mechanisms import mechanism, relative_error


def pendulum(**arguments):
    body = {"axis": (0, 1, 0), "mass": 2.0, "com": (0, 0, -0.5), "inertia": 0.1 * np.eye(3)} | arguments
    return ModelBuilder("pendulum").add_body("bob", **body).build()


def test_a_pendulum_by_hand():
    """I = 0.1 + 2 * 0.5^2 = 0.6; qdd = (tau - m g l sin q) / I: a sine, a product, a difference, a product by 1 / I."""
    model = pendulum()
    count = op_count(model, "aba")
    assert count.total == 4
    assert count.by_kind == {"add": 1, "mul": 2, "div": 0, "sqrt": 0, "trig": 1}
    assert op_count(model, "gravity_forces").total == 2
    assert op_count(model, "crba").total == 0  # a constant
    assert sarrus.aba(model, [0.3], [5.0], [1.0])[0] == pytest.approx(
        (1.0 - 2.0 * 9.81 * 0.5 * np.sin(0.3)) / 0.6, rel=1e-14
    )


def test_a_pendulum_costs_the_same_whichever_way_it_is_written():
    """About any axis, hung anywhere, offset along its axis: the frames are chosen, not given."""
    plain = op_count(pendulum(), "aba").total
    turned = pendulum(axis=(1, 0, 0), com=(0, 0.0, -0.5), position=(1.0, 2.0, 3.0))
    assert op_count(turned, "aba").total == plain
    assert op_count(pendulum(com=(0, 3.0, -0.5)), "aba").total == plain


def test_stages_add_up_to_the_total():
    model = mechanism(0, ["free", "revolute", "spherical", "universal"]).model
    for name in ("aba", "rnea", "crba", "bias_forces"):
        count = op_count(model, name)
        assert count.total == sum(count.by_stage.values()) == sum(count.by_kind.values()) > 0
    assert {"joints", "outward motion", "forces", "inward", "outward acceleration"} <= set(
        op_count(model, "aba").by_stage
    )


def test_what_is_not_asked_for_is_not_computed():
    model = mechanism(0, ["free", "revolute", "spherical"]).model
    assert (
        op_count(model, "gravity_forces").total < op_count(model, "bias_forces").total < op_count(model, "rnea").total
    )
    without, with_f = trace(model, "rnea"), trace(model, "rnea", inputs=("q", "v", "a", "external_forces"))
    assert len(without) < len(with_f)
    assert [port.name for port in without.inputs] == ["q", "v", "a"]
    assert with_f.inputs[3] == Port("external_forces", (3, 6))


def test_tapes_are_kept_per_model_and_options_and_die_with_the_model():
    model = mechanism(0, ["revolute", "revolute"]).model
    assert trace(model, "aba") is trace(model, "aba")
    assert trace(model, "frame_jacobian", frame="b0") is not trace(model, "frame_jacobian", frame="b1")
    assert trace(model, "forward_kinematics", frames=["b0"]) is trace(model, "forward_kinematics", frames=("b0",))
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


def test_unknown_names():
    model = pendulum()
    with pytest.raises(
        UnknownNameError, match=r"unknown algorithm 'abba'. Did you mean 'aba'\? Valid: aba, bias_forces, "
    ):
        op_count(model, "abba")
    with pytest.raises(
        UnknownNameError, match=r"option of frame_jacobian: 'fram'.*Did you mean 'frame'.*Valid: frame, reference"
    ):
        op_count(model, "frame_jacobian", fram="bob")
    with pytest.raises(UnknownNameError, match=r"option of aba: 'frame'. Valid: none"):
        op_count(model, "aba", frame="bob")
    with pytest.raises(UnknownNameError, match=r"input of aba: 'a'.*Valid: q, v, tau, external_forces"):
        trace(model, "aba", inputs=("q", "v", "a"))
    with pytest.raises(UnknownNameError, match=r"unknown frame 'bib'. Did you mean 'bob'\? Valid: world, bob"):
        op_count(model, "frame_jacobian", frame="bib")
    with pytest.raises(UnknownNameError, match=r"unknown reference 'global'.*Valid: local, world, local_world_aligned"):
        op_count(model, "frame_jacobian", frame="bob", reference="global")
    with pytest.raises(UnknownNameError, match="unknown reference 'global'"):
        sarrus.frame_jacobian_bias(model, [0.0], [0.0], frame="bob", reference="global")


# --- symbols in models -----------------------------------------------------------------------------------

NAMES = ["m", "l", "c", "I", "r", "h", "yaw"]
VALUES = np.array([1.7, 0.4, -0.3, 0.2, 0.05, 0.13, 0.6])


def parametric(m, l, c, I, r, h, yaw, cos=np.cos, sin=np.sin):
    """Masses, lengths, inertias, armature, pitch and a placement, each of which may be a symbol."""
    R = [[cos(yaw), -sin(yaw), 0.0], [sin(yaw), cos(yaw), 0.0], [0.0, 0.0, 1.0]]
    b = ModelBuilder("parametric", gravity=(1.0, 2.0, -9.0))
    b.add_body("base", joint="free", mass=3.0, inertia=[[I, 0, 0], [0, I, 0], [0, 0, I]], com=(c, 0, 0.1))
    b.add_body(
        "upper",
        "base",
        axis=(0, 1, 0),
        position=(0, l, 0),
        rotation=R,
        mass=m,
        com=(0, 0.1, c * l),
        inertia=np.eye(3),
        armature=r,
    )
    b.add_body(
        "screw",
        "upper",
        joint="helical",
        axis=(1, 1, 0),
        pitch=h,
        position=(l * 2, 0, l**2),
        mass=m / 2,
        inertia=np.eye(3),
    )
    b.add_body(
        "slide", "upper", joint="prismatic", axis=(0, 0, 1), position=(0, 0, l), rotation=(0.1, 0.2, 0.3), mass=1.0
    )
    b.add_body(
        "ball",
        "slide",
        joint="spherical",
        position=(0, -l, 0),
        mass=m * m,
        com=(0, 0, c),
        inertia=[[I, 0, 0], [0, 2 * I, 0], [0, 0, I]],
    )
    b.add_body("plate", "screw", joint="planar", axis=(0, 1, 1), mass=m, inertia=np.eye(3))
    b.add_body("cap", "ball", joint="fixed", position=(0, 0, l), mass=m)
    b.add_body(
        "hook",
        "plate",
        joint="universal",
        position=(l, l, l),
        mass=m,
        com=(c, c, c),
        inertia=I * np.eye(3) if isinstance(I, float) else [[I, 0, 0], [0, I, 0], [0, 0, I]],
    )
    return b.add_frame("tip", "ball", position=(0, 0, -l)).build()


SYMBOLS = [ca.SX.sym(name) for name in NAMES]
SYMBOLIC = parametric(*SYMBOLS, cos=ca.cos, sin=ca.sin)
NUMERIC = parametric(*map(float, VALUES))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("aba", {}),
        ("rnea", {}),
        ("crba", {}),
        ("bias_forces", {}),
        ("gravity_forces", {}),
        ("energy", {}),
        ("center_of_mass", {}),
        ("centroidal_momentum", {}),
        ("centroidal_momentum_matrix", {}),
        ("frame_jacobian", {"frame": "tip"}),
        ("frame_jacobian_bias", {"frame": "tip", "reference": "world"}),
        ("frame_velocity", {"frame": "tip", "reference": "local_world_aligned"}),
        ("frame_acceleration", {"frame": "tip", "reference": "local_world_aligned"}),
        ("forward_kinematics", {"frames": ("tip", "cap")}),
    ],
)
def test_a_model_with_symbols_is_the_model_with_their_values(name, options):
    """Three ways to put in the values: expressions of CasADi, the tape's input, and the numeric model."""
    assert not SYMBOLIC.is_numeric
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(NUMERIC, rng)
    arrays = {"q": q, "v": v, "a": rng.normal(size=NUMERIC.nv), "tau": rng.normal(size=NUMERIC.nv)}
    tape = trace(SYMBOLIC, name, parameters=SYMBOLS, **options)
    assert tape.inputs[-1] == Port("parameters", (len(NAMES),))
    inputs = {port.name: arrays[port.name] for port in tape.inputs[:-1]}
    expected = getattr(sarrus, name)(NUMERIC, **inputs, **options)
    expected = [np.asarray(x) for x in (expected if isinstance(expected, tuple) else (expected,))]
    for values, x in zip(run(tape, [*inputs.values(), VALUES]), expected, strict=True):
        assert relative_error(np.reshape(np.array(values, float), x.shape), x, 1.0) < 1e-9
    expressions = getattr(sarrus, name)(SYMBOLIC, **inputs, **options)
    flat = [
        y
        for x in (expressions if isinstance(expressions, tuple) else (expressions,))
        for y in (x if isinstance(x, list) else [x])
    ]
    values = ca.Function("f", SYMBOLS, [ca.vertcat(*(ca.vec(x.T) for x in flat))])(*VALUES)
    joined = np.concatenate([x.ravel() for x in expected])
    assert relative_error(np.array(values).ravel(), joined, 1.0) < 1e-9


def test_symbols_are_listed_once_in_order_of_appearance():
    assert [s.name() for s in symbols_of(SYMBOLIC)] == ["c", "I", "m", "l", "yaw", "r", "h"] or len(
        symbols_of(SYMBOLIC)
    ) == len(NAMES)
    assert symbols_of(NUMERIC) == []


def test_symbols_have_op_counts():
    assert op_count(SYMBOLIC, "aba").total > op_count(NUMERIC, "aba").total > 0


def test_a_symbol_that_is_not_listed():
    with pytest.raises(UnsupportedError, match=r"depends on .*which `parameters` does not list"):
        trace(SYMBOLIC, "aba", parameters=SYMBOLS[:3])


def test_an_operation_that_parameters_may_not_use():
    m = ca.SX.sym("m")
    with pytest.raises(UnsupportedError, match="an operation that model parameters may not use"):
        op_count(pendulum(mass=ca.erf(m)), "aba")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x * x,
        lambda x: x + x,
        lambda x: 1 / x,
        lambda x: -(-x - 1) - 0.5,
        lambda x: ca.sqrt(x),
        lambda x: ca.fabs(x),
        lambda x: ca.fmin(x, 2),
        lambda x: ca.fmax(x, 0.1),
        lambda x: ca.atan2(x, 1),
        lambda x: ca.copysign(x, 1),
        lambda x: 3 - x,
        lambda x: (x - 0.1) / (x + 1),
        lambda x: 2 + ca.sin(x) + ca.cos(x),
        lambda x: 2 - x + 1 * x,
        lambda x: 5 * x / x,
    ],
)
def test_expressions_of_parameters(make):
    x = ca.SX.sym("x")
    value = float(ca.Function("f", [x], [make(x)])(0.8))
    model = pendulum(mass=make(x))
    f = ca.Function("f", [x], [sarrus.gravity_forces(model, np.array([0.3]))])
    assert float(f(0.8)) == pytest.approx(value * 9.81 * 0.5 * np.sin(0.3), rel=1e-13)


def test_a_trace_is_freed_without_a_search_for_cycles():
    def symbols() -> int:
        return sum(type(x) is Symbol for x in gc.get_objects())

    gc.disable()
    try:
        before = symbols()
        trace(sarrus.zoo.chain(3), "aba")
        derivative_tape(sarrus.zoo.chain(3), sarrus.catalog()["rnea"], Derivative("jvp", ("q",)))
        assert symbols() == before
    finally:
        gc.enable()
