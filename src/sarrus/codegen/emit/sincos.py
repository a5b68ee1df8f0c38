"""Sine and cosine in IR, for any number of lanes, with one range reduction for both.

The argument is reduced to |r| <= pi/4 by subtracting a multiple of pi/2 held in parts (Cody and Waite), then the
polynomials of fdlibm apply. Where multiply-adds are fused two parts are enough: the first step is exact. Arguments too
large for that, and only those, ask the C library afterwards (`table.py`). Every operation is spelled out, so one lane
and many lanes give the same bits; a NaN stays in its lane.
(The one liberty: the sine of -0 is +0.)
"""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.writer import Writer


@dataclass(frozen=True)
class _Coefficients:
    round: float  # adding it rounds to an integer, whose low bits are then in the mantissa
    parts: tuple[float, ...]  # pi/2; multiples of them are exact when fused
    limit: float  # beyond it, the C library
    parts_unfused: tuple[float, ...]  # pi/2 in parts so short that multiples of them are exact
    limit_unfused: float
    sine: tuple[float, ...]  # r + r^3 (s0 + s1 z + ...), z = r^2
    cosine: tuple[float, ...]  # 1 - z/2 + z^2 (c0 + c1 z + ...)


_COEFFICIENTS = {
    64: _Coefficients(
        round=1.5 * 2.0**52,
        parts=(1.5707963267948966, 6.123233995736765e-17),
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


def write_sincos(w: Writer, lane: Lane, x: str) -> tuple[str, str]:
    """Append the computation of (sin x, cos x), for |x| up to `limit_of(lane)`; not a number gives not a number."""
    table = _COEFFICIENTS[lane.bits]
    parts = table.parts if lane.fma else table.parts_unfused
    T, integer, c = lane.type, lane.integer, lane.constant

    def fma(a: str, b: str, addend: str) -> str:
        if lane.fma:
            return w.value(f"call {T} @llvm.fma.{lane.suffix}({T} {a}, {T} {b}, {T} {addend})")
        product = w.value(f"fmul {T} {a}, {b}")
        return w.value(f"fadd {T} {product}, {addend}")

    def polynomial(coefficients: tuple[float, ...]) -> str:
        """In z: pairs first, then the pairs in z^2, which waits half as long as one after the other."""
        pairs = [fma(c(high), z, c(low)) for low, high in zip(coefficients[::2], coefficients[1::2], strict=False)]
        if len(coefficients) % 2:
            pairs.append(c(coefficients[-1]))
        p = pairs.pop()
        while pairs:
            p = fma(p, zz, pairs.pop())
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
    zz = w.value(f"fmul {T} {z}, {z}")
    sine = fma(polynomial(table.sine), w.value(f"fmul {T} {r}, {z}"), r)
    cosine = fma(fma(polynomial(table.cosine), z, c(-0.5)), z, c(1.0))

    # The quadrant n mod 4 swaps and negates: the sine where bit 1 of n is set, the cosine where bits 0 and 1 differ.
    k, sign = lane.integer_constant, lane.integer_constant(-(2 ** (lane.bits - 1)))
    bit0 = w.value(f"shl {integer} {bits}, {k(lane.bits - 1)}")
    bit1 = w.value(f"shl {integer} {bits}, {k(lane.bits - 2)}")
    swap = w.value(f"icmp slt {integer} {bit0}, {k(0)}")
    results = []
    for where, there, elsewhere in ((bit1, cosine, sine), (w.value(f"xor {integer} {bit1}, {bit0}"), sine, cosine)):
        value = w.value(f"select {lane.mask} {swap}, {T} {there}, {T} {elsewhere}")
        raw = w.value(f"bitcast {T} {value} to {integer}")
        raw = w.value(f"xor {integer} {raw}, {w.value(f'and {integer} {where}, {sign}')}")
        results.append(w.value(f"bitcast {integer} {raw} to {T}"))
    return results[0], results[1]


def limit_of(lane: Lane) -> float:
    """The largest argument for which `write_sincos` is right."""
    table = _COEFFICIENTS[lane.bits]
    return table.limit if lane.fma else table.limit_unfused
