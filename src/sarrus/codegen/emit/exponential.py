"""Exponential, logarithm and hyperbolic tangent in IR, for any number of lanes.

Each reduces its argument by a multiple of ln 2 and evaluates one polynomial (minimax fits of our own) on what is left.
There are no branches and no calls: special values are chosen lane by lane, so a NaN stays in its lane, and every
operation is spelled out, so one lane and many lanes give the same bits. What is not finite comes out as in C:
exp(-inf) = 0, exp(inf) = inf, log(0) = -inf, log(x < 0) = NaN, tanh(+-inf) = +-1. Subnormal numbers are neither flushed
on the way in nor on the way out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.writer import Writer

_LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class _Coefficients:
    mantissa_bits: int
    bias: int  # of the exponent
    ln2: tuple[float, float]  # the first part so short that the multiples that occur are exact
    exp_limit: float  # beyond it the exponential is infinite or 0 for certain; half its power of two is still a number
    tanh_limit: float  # beyond it the hyperbolic tangent rounds to 1
    exp: tuple[float, ...]  # e^r = 1 + r + r^2 (e0 + e1 r + ...), |r| <= ln(2) / 2
    log: tuple[float, ...]  # log m = 2 s + s z (l0 + l1 z + ...), s = (m - 1) / (m + 1), z = s^2, 1/2 <= m^2 <= 2
    root_half: int  # the bits of sqrt(1/2)


_COEFFICIENTS = {
    64: _Coefficients(
        mantissa_bits=52,
        bias=1023,
        ln2=(0.6931471803691238, 1.9082149292705877e-10),
        exp_limit=1000.0,
        tanh_limit=20.0,
        exp=(
            0.5, 0.16666666666666677, 0.0416666666666667, 0.008333333333321579, 0.0013888888888866767,
            0.00019841269886266668, 2.480158736069556e-05, 2.7557244061460987e-06, 2.755724263969861e-07,
            2.5109090578603176e-08, 2.0924480649747736e-09,
        ),
        log=(
            0.6666666666666735, 0.3999999999941109, 0.28571428743262584, 0.22222198475997118, 0.1818356973921434,
            0.153139032622528, 0.14797507550265765,
        ),
        root_half=0x3FE6A09E667F3BCD,
    ),
    32: _Coefficients(
        mantissa_bits=23,
        bias=127,
        ln2=(0.693115234375, 3.1946184945309415e-05),
        exp_limit=150.0,
        tanh_limit=10.0,
        exp=(0.5, 0.1666654279387433, 0.041666281397902113, 0.00836661060001897, 0.0013946497029479062),
        log=(0.6666677671703414, 0.39977495581742784, 0.2987307320923306),
        root_half=0x3F3504F3,
    ),
}  # fmt: skip


def write_exp(w: Writer, lane: Lane, x: str) -> str:
    """Append the computation of e^x."""
    v, table = _Values(w, lane), _COEFFICIENTS[lane.bits]
    for compare, limit in (("ogt", table.exp_limit), ("olt", -table.exp_limit)):
        x = v.select(v.compare(compare, x, v.number(limit)), v.number(limit), x)
    n, p = _reduced(v, x)
    # 2^n in two factors, each of which is a number although the product may overflow or be subnormal.
    first = v.integer("lshr", n, 1)
    second = w.value(f"sub {lane.integer} {n}, {first}")
    y = v.add(v.number(1.0), p)
    return v.mul(v.mul(y, _power_of_two(v, first)), _power_of_two(v, second))


def write_tanh(w: Writer, lane: Lane, x: str) -> str:
    """Append the computation of tanh x = (e^2x - 1) / (e^2x - 1 + 2), without the cancellation near 0."""
    v, table = _Values(w, lane), _COEFFICIENTS[lane.bits]
    magnitude = v.call("fabs", x)
    limit = v.number(table.tanh_limit)
    magnitude = v.select(v.compare("ogt", magnitude, limit), limit, magnitude)
    n, p = _reduced(v, v.add(magnitude, magnitude))
    power = _power_of_two(v, n)
    y = v.fma(power, p, v.sub(power, v.number(1.0)))  # e^2|x| - 1
    return v.call("copysign", v.div(y, v.add(y, v.number(2.0))), x)


def write_log(w: Writer, lane: Lane, x: str) -> str:
    """Append the computation of the natural logarithm of x."""
    v, table = _Values(w, lane), _COEFFICIENTS[lane.bits]
    bits, ln2 = table.mantissa_bits, table.ln2
    # x = 2^k m with sqrt(1/2) <= m < sqrt(2). The bits of a subnormal number do not tell: it is made larger first.
    is_subnormal = v.compare("olt", x, v.number(2.0 ** (1 - table.bias)))
    normal = v.select(is_subnormal, v.mul(x, v.number(2.0 ** (bits + 1))), x)
    raw = v.integer("add", v.bits(normal), (table.bias << bits) - table.root_half)
    exponent = v.integer("or", v.integer("lshr", raw, bits), (table.bias + bits) << bits)  # as a number: + 2^bits
    k = v.sub(v.real(exponent), v.number(2.0**bits + table.bias))
    k = v.sub(k, v.select(is_subnormal, v.number(bits + 1.0), v.number(0.0)))
    m = v.real(v.integer("add", v.integer("and", raw, (1 << bits) - 1), table.root_half))

    # log m = f - f^2 / 2 + s (f^2 / 2 + z l(z)): the largest term is exact.
    f = v.sub(m, v.number(1.0))
    s = v.div(f, v.add(f, v.number(2.0)))
    z = v.mul(s, s)
    half_square = v.mul(v.mul(f, f), v.number(0.5))
    rest = v.fma(z, v.polynomial(z, table.log), half_square)
    rest = v.fma(s, rest, v.mul(k, v.number(ln2[1])))
    y = v.fma(k, v.number(ln2[0]), v.sub(f, v.sub(half_square, rest)))

    infinity = v.number(float("inf"))
    y = v.select(v.compare("olt", x, infinity), y, x)  # infinity and NaN
    y = v.select(v.compare("oeq", x, v.number(0.0)), v.number(float("-inf")), y)
    return v.select(v.compare("olt", x, v.number(0.0)), v.number(float("nan")), y)


FUNCTIONS: dict[str, Callable[[Writer, Lane, str], str]] = {"exp": write_exp, "log": write_log, "tanh": write_tanh}


def _reduced(v: _Values, x: str) -> tuple[str, str]:
    """(n, e^r - 1) with x = n ln 2 + r; n is in the low bits of an integer. The second has no cancellation near 0."""
    table = _COEFFICIENTS[v.lane.bits]
    rounding = v.number(1.5 * 2.0**table.mantissa_bits)  # adding it rounds to an integer
    shifted = v.fma(x, v.number(_LOG2_E), rounding)
    minus_n = v.sub(rounding, shifted)
    r = v.fma(minus_n, v.number(table.ln2[0]), x)
    r = v.fma(minus_n, v.number(table.ln2[1]), r)
    return v.bits(shifted), v.fma(v.polynomial(r, table.exp), v.mul(r, r), r)


def _power_of_two(v: _Values, n: str) -> str:
    """2^n for n in the low bits of an integer."""
    table = _COEFFICIENTS[v.lane.bits]
    return v.real(v.integer("shl", v.integer("add", n, table.bias), table.mantissa_bits))


class _Values:
    """Arithmetic on all lanes at once, written as IR; what it takes and returns are names of values."""

    def __init__(self, w: Writer, lane: Lane) -> None:
        self.lane = lane
        self._w, self._type = w, lane.type

    def number(self, value: float) -> str:
        return self.lane.constant(value)

    def add(self, a: str, b: str) -> str:
        return self._w.value(f"fadd {self._type} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self._w.value(f"fsub {self._type} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self._w.value(f"fmul {self._type} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self._w.value(f"fdiv {self._type} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the processor does that."""
        return self.call("fma", a, b, c) if self.lane.fma else self.add(self.mul(a, b), c)

    def call(self, intrinsic: str, *arguments: str) -> str:
        text = ", ".join(f"{self._type} {x}" for x in arguments)
        return self._w.value(f"call {self._type} @llvm.{intrinsic}.{self.lane.suffix}({text})")

    def polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        p = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            p = self.fma(p, x, self.number(coefficient))
        return p

    def compare(self, condition: str, a: str, b: str) -> str:
        return self._w.value(f"fcmp {condition} {self._type} {a}, {b}")

    def select(self, mask: str, yes: str, no: str) -> str:
        return self._w.value(f"select {self.lane.mask} {mask}, {self._type} {yes}, {self._type} {no}")

    def bits(self, x: str) -> str:
        return self._w.value(f"bitcast {self._type} {x} to {self.lane.integer}")

    def real(self, n: str) -> str:
        return self._w.value(f"bitcast {self.lane.integer} {n} to {self._type}")

    def integer(self, operation: str, n: str, constant: int) -> str:
        return self._w.value(f"{operation} {self.lane.integer} {n}, {self.lane.integer_constant(constant)}")
