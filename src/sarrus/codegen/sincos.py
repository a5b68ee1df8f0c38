"""Sine and cosine in IR, for any number of lanes, with one range reduction for both.

The argument is reduced to |r| <= pi/4 by subtracting a multiple of pi/2 held in three parts (Cody and Waite), then the
polynomials of fdlibm apply. Lanes whose argument is too large for that, and only those, ask the C library. Every
operation is spelled out, so one lane and many lanes give the same bits; a NaN stays in its lane.
(The one liberty: the sine of -0 is +0.)
"""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.codegen.lane import Lane
from sarrus.codegen.writer import Writer


@dataclass(frozen=True)
class _Coefficients:
    round: float  # adding it rounds to an integer, whose low bits are then in the mantissa
    parts: tuple[float, float, float]  # pi/2; multiples of them are exact when fused
    limit: float  # beyond it, the C library
    parts_unfused: tuple[float, float, float]  # pi/2 in parts so short that multiples of them are exact
    limit_unfused: float
    sine: tuple[float, ...]  # r + r^3 (s0 + s1 z + ...), z = r^2
    cosine: tuple[float, ...]  # 1 - z/2 + z^2 (c0 + c1 z + ...)


_COEFFICIENTS = {
    64: _Coefficients(
        round=1.5 * 2.0**52,
        parts=(1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32),
        limit=1e6,
        parts_unfused=(1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
        limit_unfused=1e6,
        sine=(
            -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
            2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
        ),
        cosine=(
            4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
            -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
        ),
    ),
    32: _Coefficients(
        round=1.5 * 2.0**23,
        parts=(1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
        limit=1e5,
        parts_unfused=(1.5703125, 4.8375129699707031250e-04, 7.549790126404332e-08),
        limit_unfused=5e3,
        sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
    ),
}  # fmt: skip
_TWO_OVER_PI = 0.6366197723675814
SIN_POINTER, COS_POINTER, ATAN2_POINTER = 0, 8, 16  # bytes into the table of C functions


def write_sincos(w: Writer, lane: Lane, x: str, functions: str) -> tuple[str, str]:
    """Append the computation of (sin x, cos x); `functions` points to the table of C functions."""
    table = _COEFFICIENTS[lane.bits]
    parts, limit = (table.parts, table.limit) if lane.fma else (table.parts_unfused, table.limit_unfused)
    T, integer, c = lane.type, lane.integer, lane.constant

    def fma(a: str, b: str, addend: str) -> str:
        if lane.fma:
            return w.value(f"call {T} @llvm.fma.{lane.suffix}({T} {a}, {T} {b}, {T} {addend})")
        product = w.value(f"fmul {T} {a}, {b}")
        return w.value(f"fadd {T} {product}, {addend}")

    def polynomial(z: str, coefficients: tuple[float, ...]) -> str:
        p = c(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            p = fma(p, z, c(coefficient))
        return p

    # x = n pi/2 + r
    shifted = fma(x, c(_TWO_OVER_PI), c(table.round))
    bits = w.value(f"bitcast {T} {shifted} to {integer}")
    n = w.value(f"fsub {T} {shifted}, {c(table.round)}")
    minus_n = w.value(f"fneg {T} {n}")
    r = x
    for part in parts:
        r = fma(minus_n, c(part), r)
    z = w.value(f"fmul {T} {r}, {r}")

    sine = polynomial(z, table.sine)
    rz = w.value(f"fmul {T} {r}, {z}")
    sine = fma(sine, rz, r)
    cosine = polynomial(z, table.cosine)
    half = w.value(f"fmul {T} {z}, {c(0.5)}")
    top = w.value(f"fsub {T} {c(1.0)}, {half}")
    lost = w.value(f"fsub {T} {c(1.0)}, {top}")
    lost = w.value(f"fsub {T} {lost}, {half}")
    zz = w.value(f"fmul {T} {z}, {z}")
    rest = fma(zz, cosine, lost)
    cosine = w.value(f"fadd {T} {top}, {rest}")

    # The quadrant n mod 4 swaps and negates.
    k = lane.integer_constant
    odd = w.value(f"and {integer} {bits}, {k(1)}")
    swap = w.value(f"icmp ne {integer} {odd}, {k(0)}")
    s = w.value(f"select {lane.mask} {swap}, {T} {cosine}, {T} {sine}")
    co = w.value(f"select {lane.mask} {swap}, {T} {sine}, {T} {cosine}")
    after = w.value(f"add {integer} {bits}, {k(1)}")
    results = []
    for value, quadrant in ((s, bits), (co, after)):
        sign = w.value(f"and {integer} {quadrant}, {k(2)}")
        sign = w.value(f"shl {integer} {sign}, {k(lane.bits - 2)}")
        raw = w.value(f"bitcast {T} {value} to {integer}")
        raw = w.value(f"xor {integer} {raw}, {sign}")
        results.append(w.value(f"bitcast {integer} {raw} to {T}"))
    return _with_huge_lanes(w, lane, x, results, limit, functions)


def _with_huge_lanes(
    w: Writer, lane: Lane, x: str, results: list[str], limit: float, functions: str
) -> tuple[str, str]:
    """Replace the results of lanes beyond the limit by those of the C library."""
    T = lane.type
    magnitude = w.value(f"call {T} @llvm.fabs.{lane.suffix}({T} {x})")
    huge = w.value(f"fcmp ogt {T} {magnitude}, {lane.constant(limit)}")
    if lane.count == 1:
        any_huge = huge
    else:
        mask = w.value(f"bitcast {lane.mask} {huge} to i{lane.count}")
        any_huge = w.value(f"icmp ne i{lane.count} {mask}, 0")
    fast_block = w.block
    n = w.value("add i64 0, 0")[1:]  # a number that no other label has
    w.do(f"br i1 {any_huge}, label %huge.{n}, label %done.{n}")
    w.label(f"huge.{n}")
    slow = []
    for fast, pointer in zip(results, (SIN_POINTER, COS_POINTER), strict=True):
        function = w.value(f"load ptr, ptr {w.offset(functions, pointer)}, align 8")
        exact = call_per_lane(w, lane, function, [x])
        slow.append(w.value(f"select {lane.mask} {huge}, {T} {exact}, {T} {fast}"))
    slow_block = w.block
    w.do(f"br label %done.{n}")
    w.label(f"done.{n}")
    sine, cosine = (
        w.value(f"phi {T} [{fast}, %{fast_block}], [{exact}, %{slow_block}]")
        for fast, exact in zip(results, slow, strict=True)
    )
    return sine, cosine


def call_per_lane(w: Writer, lane: Lane, function: str, arguments: list[str]) -> str:
    """A C function of doubles, applied to each lane by itself."""
    result = "poison"
    for number in range(lane.count):
        scalars = []
        for x in arguments:
            y = x if lane.count == 1 else w.value(f"extractelement {lane.type} {x}, i32 {number}")
            scalars.append(y if lane.bits == 64 else w.value(f"fpext float {y} to double"))
        y = w.value(f"call double {function}({', '.join(f'double {s}' for s in scalars)})")
        if lane.bits == 32:
            y = w.value(f"fptrunc double {y} to float")
        if lane.count == 1:
            return y
        result = w.value(f"insertelement {lane.type} {result}, {lane.scalar} {y}, i32 {number}")
    return result
