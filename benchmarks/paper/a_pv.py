"""Paper A: the PV solver. Table II with Pinocchio's and MuJoCo's columns, Figs. 2, 3, 4a and 4c."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import sarrus
from benchmarks import osim_counts, pv_table2
from benchmarks.paper.item import Item, Panel, Table, Tell, Verdict, exponent, missing, silent
from benchmarks.pv_table2 import METHODS, ROWS, SOFT, WEIGHT, constrained
from benchmarks.robots import tree_of, urdf_path
from sarrus.cli.bench import Case
from sarrus.model.bodies import Frame, Placement

# Microseconds: PV, PV-e, LTL, Pinocchio, PV-s, LTL-s, MuJoCo.
TABLE_2 = {
    "iiwa 0D": (0.55, 0.55, 0.63, 2.15, 0.55, 0.63, 3.11),
    "iiwa H3": (0.75, 0.61, 0.83, 2.73, 0.61, 0.80, 4.45),
    "iiwa H": (1.01, 1.09, 1.08, 3.53, 0.63, 0.89, 4.88),
    "go1 0D": (1.65, 1.67, 1.74, 4.68, 1.64, 1.74, 7.10),
    "go1 1F3": (1.88, 1.81, 1.96, 5.61, 1.70, 1.84, 11.2),
    "go1 2F3": (2.10, 1.98, 2.20, 6.40, 1.76, 1.98, 12.0),
    "go1 3F3": (2.32, 2.14, 2.48, 7.33, 1.82, 2.16, 12.8),
    "go1 4F3": (2.53, 2.33, 2.85, 8.20, 1.90, 2.33, 13.5),
    "atlas 0D": (3.44, 3.47, 4.64, 12.3, 3.47, 4.64, 15.9),
    "atlas F": (4.59, 3.94, 5.88, 15.4, 3.61, 5.58, 31.5),
    "atlas 2F": (6.09, 4.40, 7.52, 18.5, 3.73, 6.61, 34.2),
    "atlas 2F+H": (7.37, 5.03, 8.69, 22.3, 3.76, 6.93, 36.5),
    "atlas 2F+2H": (8.27, 5.52, 11.8, 26.5, 3.82, 7.77, 38.8),
    "talos 0D": (4.92, 4.97, 8.14, 17.1, 4.96, 8.28, 23.6),
    "talos F": (5.63, 5.48, 9.25, 21.1, 4.96, 8.65, 51.3),
    "talos 2F": (6.72, 6.45, 10.9, 25.2, 4.99, 9.21, 54.3),
    "talos 2F+H": (8.40, 7.06, 13.4, 30.0, 5.08, 10.6, 57.0),
    "talos 2F+2H": (10.13, 7.40, 15.4, 34.7, 5.11, 11.9, 59.4),
}
QUICK_TIMES = (("go1", "4F3"),)
SOFT_VARIANTS = ("pv_soft", "ltl_soft", "ltl_soft, accurate")
PEERS = ("pin constraintDynamics", "MuJoCo")


def label(robot: str, constraints: str) -> str:
    return f"{robot.removesuffix('_full_v2')} {constraints}"


def mujoco_case(model: sarrus.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Any:
    """`mj_forward` of the same robot, frames held by MuJoCo's own equalities: written as MJCF, read by MuJoCo."""
    import mujoco

    from sarrus.importers import to_mujoco_state

    frames, loops = list(model.frames), []
    for k, c in enumerate(model.active_constraints):
        at = sarrus.forward_kinematics(model, q, frames=(c.frame,))
        frames.append(Frame(f"hold_{k}", -1, Placement(at.rotation[0].copy(), at.position[0].copy())))
        loops.append((sarrus.weld if c.size == 6 else sarrus.connect)(c.frame, f"hold_{k}", name=f"hold_{k}"))
    bare = replace(model, constraints=(), actuators=(), geometries=(), visuals=(), keyframes={}, home=None)
    held = replace(bare, frames=tuple(frames), constraints=tuple(loops), geometry_pairs=(), excluded_pairs=())
    mj = mujoco.MjModel.from_xml_string(held.to_mjcf().text)
    mj.dof_damping[:], mj.dof_frictionloss[:], mj.jnt_limited[:] = 0.0, 0.0, 0
    data = mujoco.MjData(mj)
    data.qpos[:], data.qvel[:] = to_mujoco_state(bare, q, v)
    _, data.qfrc_applied[:] = to_mujoco_state(bare, q, tau)
    return lambda: mujoco.mj_forward(mj, data)


def measure_table_2(quick: bool, tell: Tell) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for robot, constraints, what in ROWS:
        name, path = label(robot, constraints), urdf_path(robot)
        if path is None:
            continue
        tell(name)
        if not quick or (robot, constraints) in QUICK_TIMES:

            def in_mujoco(model: sarrus.Model, name: str = name) -> dict[str, Case]:
                q, v = sarrus.random_state(model, 0)
                try:
                    return {"MuJoCo": mujoco_case(model, q, v, np.zeros(model.nv))}
                except (ImportError, sarrus.errors.SarrusError, ValueError) as error:
                    tell(f"{name}: no MuJoCo column: {error}")
                    return {}

            found = pv_table2.measure(robot, constraints, what, 3 if quick else 9, in_mujoco)
            assert found is not None
            rows[name] = {part: found[part] for part in ("ops", "us", "over pv_early")}
        else:
            model = constrained(tree_of(path, robot != "iiwa"), robot, what)
            options = {m: {"weight": WEIGHT} if m in SOFT else {} for m in METHODS}
            counts = {m: sarrus.op_count(model, m, **o).total for m, o in options.items()}
            rows[name] = {"ops": {"aba": sarrus.op_count(model, "aba").total} | counts, "us": {}}
    return {"rows": rows}


def verdicts_table_2(result: dict[str, Any]) -> list[Verdict]:
    rows = result["rows"]
    out = []
    # The paper counts within 2 %: iiwa H has PV-e above PV, as have we.
    worst = max(rows, key=lambda n: rows[n]["ops"]["pv"] / rows[n]["ops"]["ltl"])
    ratio = rows[worst]["ops"]["pv"] / rows[worst]["ops"]["ltl"]
    out.append(
        Verdict(
            "PV as fast as LTL or faster, on all robots",
            f"at most {ratio:.2f} of LTL's operations ({worst})",
            ratio <= 1.0,
        )
    )
    for robot, theirs in (("atlas 2F+2H", (0.47, 0.67)), ("talos 2F+2H", (0.48, 0.73))):
        if robot in rows:
            ops = rows[robot]["ops"]
            ours = (ops["pv_early"] / ops["ltl"], ops["pv_early"] / ops["pv"])
            out.append(
                Verdict(
                    f"{robot}: PV-e takes {theirs[0]:.2f} of LTL, {theirs[1]:.2f} of PV (time)",
                    f"{ours[0]:.2f} and {ours[1]:.2f} (operations)",
                    ours[0] < 0.6 and ours[1] < 0.8,
                )
            )
            soft = ops["pv_soft"] / ops["aba"]
            out.append(
                Verdict(f"{robot}: PV-s costs nearly what ABA costs", f"{soft:.2f} of ABA's operations", soft < 1.2)
            )
    if "iiwa H" in rows:
        ops = rows["iiwa H"]["ops"]
        more = ops["pv_early"] > ops["pv"]
        out.append(Verdict("iiwa H: PV-e a little slower than PV", f"{ops['pv_early'] / ops['pv']:.3f} of PV", more))
    for name, row in rows.items():
        us, theirs = row["us"], TABLE_2.get(name)
        if theirs is None or "pv_early single" not in us:
            continue
        for k, peer in ((3, "pin constraintDynamics"), (6, "MuJoCo")):
            if peer in us and name.endswith(("2F+2H", "4F3")):
                ours = row["over pv_early"][peer]
                out.append(
                    Verdict(
                        f"{name}: {peer} takes {theirs[k] / theirs[1]:.1f} times PV-e (the paper itself calls "
                        "this comparison unfair)",
                        f"{ours:.1f} times, single calls from Python, median of the ratios within rounds",
                        ours > 1.0,
                    )
                )
    return out + missing([n for n in TABLE_2 if n not in rows])


def tables_table_2(result: dict[str, Any]) -> list[Table]:
    columns = ("robot", "PV", "PV-e", "LTL", "PV-s", "LTL-s", "ours: pv", "pv_early", "ltl", "pv_soft", "ltl_soft")
    order = ("pv", "pv_early", "ltl", "pv_soft", "ltl_soft")
    theirs = [(n, [TABLE_2[n][k] / TABLE_2[n][2] for k in (0, 1, 2, 4, 5)]) for n in TABLE_2 if n in result["rows"]]
    shares = [
        (
            n,
            *(f"{x:.2f}" for x in t),
            *(f"{result['rows'][n]['ops'][m] / result['rows'][n]['ops']['ltl']:.2f}" for m in order),
        )
        for n, t in theirs
    ]
    out = [Table("Relative to LTL: the paper's times, our operations", columns, shares)]
    timed = [(n, r["us"]) for n, r in result["rows"].items() if r["us"]]
    if timed:
        names = (
            "robot",
            *order,
            *(f"{peer} (paper)" for peer in PEERS),
        )
        cells = [
            (
                n,
                *(f"{us[f'{m} batch']:.2f} / {us[f'{m} single']:.2f}" for m in order),
                *(
                    f"{us[p]:.1f} ({TABLE_2[n][k]:.1f})" if p in us else f"- ({TABLE_2[n][k]:.1f})"
                    for p, k in zip(PEERS, (3, 6), strict=True)
                ),
            )
            for n, us in timed
        ]
        out.append(
            Table(
                "Microseconds per state on this machine, one thread, in batches / in single calls; "
                "medians, in which other "
                "work on the machine shows",
                names,
                cells,
            )
        )
    return out


# --- Fig. 2 ----------------------------------------------------------------------------------------------------------


def measure_fig_2(quick: bool, tell: Tell) -> dict[str, Any]:
    cases = [c for c in osim_counts.FIG_2 if not quick or c[0].split()[-1] in ("H", "4F3", "2F", "2F+2H")]
    tell(f"{len(cases)} cases")
    robots = osim_counts.figure(silent(), "", cases, fast=True)
    ratios: dict[str, dict[str, float]] = {}
    for branches in (1, 4) if quick else (1, 2, 4, 8, 9, 10):
        for n_stem in (5, 20) if quick else (5, 20, 40, 60):
            tell(f"stem {n_stem}, {branches} branches")
            model = sarrus.zoo.stem(n_stem, branches, constrained=True)
            n = {m: sarrus.op_count(model, m).total for m in ("pv_osim", "efpa")}
            ratios.setdefault(str(branches), {})[str(n_stem)] = n["pv_osim"] / n["efpa"]
    found: dict[str, Any] = {"robots": robots, "ratios": ratios}
    if not quick:
        tell("stem 60, 8 branches, frames in general position")
        model = in_general_position(sarrus.zoo.stem(60, 8, constrained=True))
        found["general"] = sarrus.op_count(model, "pv_osim").total / sarrus.op_count(model, "efpa").total
    return found


def in_general_position(model: sarrus.Model) -> sarrus.Model:
    """The same tree with frames that are turned and moved at random, so that no zeros fold."""
    rng = np.random.default_rng(0)

    def turned(body: sarrus.Body) -> sarrus.Body:
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        return replace(body, placement=Placement(Q * np.sign(np.linalg.det(Q)), 0.1 * rng.normal(size=3)))

    return replace(model, bodies=(model.bodies[0], *(turned(body) for body in model.bodies[1:])))


def verdicts_fig_2(result: dict[str, Any]) -> list[Verdict]:
    robots = result["robots"]
    worst = max((n["pv_osim"] / n["efpa"] for n in robots.values()), default=0.0)
    out = [Verdict("PV-OSIM cheaper than EFPA on all robots", f"at most {worst:.2f} of it", worst < 1.0)]
    big = {n: x for n, x in robots.items() if n.startswith(("Talos", "Atlas"))}
    if big:
        talos = {
            n: x["ltl_osim"] / max(x["efpa"], x["pv_osim"]) for n, x in big.items() if n.startswith("Talos")
        }  # fmt: skip
        words = ", ".join(f"{n}: {x:.2f} of the next" for n, x in talos.items())
        out.append(Verdict("LTL-OSIM the slowest on Talos", words, min(talos.values(), default=0.0) > 1.0))
        atlas = {n: x["ltl_osim"] / x["efpa"] for n, x in big.items() if n.startswith("Atlas")}
        if atlas:
            out.append(
                Verdict(
                    "LTL-OSIM the slowest on Atlas",
                    ", ".join(f"{n}: {x:.2f} of EFPA" for n, x in atlas.items()),
                    all(x > 1.0 for x in atlas.values()),
                    ""
                    if all(x > 1.0 for x in atlas.values())
                    else "tracing folds the zeros of J and M of this robot; the paper says itself that LTL "
                    "beats EFPA with 18 or 24 rows where J is not counted",
                )
            )
    fast = {
        n: x["pv_osim_fast"] / (x["pv_osim"] + x["ldl"])
        for n, x in robots.items()
        if x.get("pv_osim_fast") and not n.startswith("iiwa")
    }
    if fast:
        out.append(
            Verdict(
                "PV-OSIM-fast + solve the cheapest on floating robots",
                "of PV-OSIM + solve: " + ", ".join(f"{n} {x:.2f}" for n, x in fast.items()),
                all(x < 1.0 for x in fast.values()),
                ""
                if all(x < 1.0 for x in fast.values())
                else "not where few rows are held. The two methods differ only in what they do at the root: "
                f"{_at_root(robots)}. Each further leg adds the same to PV-OSIM-fast, but more and more to PV-OSIM, so "
                "they change places between two and three points, or between one and two welded feet. (Two hands on "
                "one torso are one block.) The paper's figure shows this only as bars",
            )
        )
    below = {b: max(r.values()) for b, r in result["ratios"].items() if int(b) <= 8}
    out.append(
        Verdict(
            "Fig. 2f: PV-OSIM below EFPA up to 8 branches, whatever the stem",
            ", ".join(f"{b} branch{'' if int(b) == 1 else 'es'}: {x:.2f}" for b, x in below.items()),
            max(below.values()) < 1.0,
            ""
            if max(below.values()) < 1.0
            else "zeros of the straight stem fold, and EFPA has more of them than PV-OSIM. In general position, "
            f"the ratio is {result.get('general', float('nan')):.2f} with 8 branches and 60 links",
        )
    )
    above = {b: r for b, r in result["ratios"].items() if int(b) > 8}
    if above:
        end = {b: list(r.values())[-1] for b, r in above.items()}
        out.append(
            Verdict(
                "Fig. 2f: with 9 branches or more EFPA overtakes on long stems (10 branches: at 54)",
                ", ".join(f"{b} branches, stem 60: {x:.2f}" for b, x in end.items()),
                max(end.values()) > 1.0,
                ""
                if max(end.values()) > 1.0
                else "our PV-OSIM needs fewer operations per link of the stem, so the curves cross farther out; "
                "the trend is the same",
            )
        )
    else:
        out.append(
            Verdict(
                "Fig. 2f: with 9 branches or more EFPA overtakes on long stems", "not counted", None, "full mode only"
            )
        )
    return out


def _at_root(robots: dict[str, Any]) -> str:
    """What pv_osim_fast and pv_osim do at the root, for each robot with its limbs held one after the other."""
    found: dict[str, list[str]] = {}
    for name, n in robots.items():
        if "at_root" in n and not name.startswith("iiwa"):
            at = n["at_root"]
            found.setdefault(name.split()[0], []).append(f"{at['pv_osim_fast']:,} / {at['pv_osim']:,}")
    return "; ".join(f"{robot} {', '.join(counts)}" for robot, counts in found.items()) + " operations (fast / PV-OSIM)"


def tables_fig_2(result: dict[str, Any]) -> list[Table]:
    columns = ("case", "dof", "rows", *osim_counts.METHODS, "pv_osim_fast + solve")
    rows = [
        (
            n,
            str(x["nv"]),
            str(x["rows"]),
            *(f"{x[m]:,}" for m in osim_counts.METHODS),
            f"{x['pv_osim_fast']:,}" if x.get("pv_osim_fast") else "-",
        )
        for n, x in result["robots"].items()
    ]
    return [Table("Operations", columns, rows)]


def panels_fig_2(result: dict[str, Any]) -> list[Panel]:
    curves = {
        f"{b} branch{'' if int(b) == 1 else 'es'}": ([int(s) for s in r], list(r.values()))
        for b, r in result["ratios"].items()
    }
    bars = {
        m: (list(result["robots"]), [x[m] for x in result["robots"].values()])
        for m in ("ltl_osim", "efpa", "pv_osim", "pv_osimr")
    }
    return [
        Panel("Fig. 2a-d: operations per method", "robot and constraints", "operations", bars),
        Panel("Fig. 2f: PV-OSIM / EFPA", "links of the stem", "ratio of operations", curves, False),
    ]


# --- Fig. 3 ----------------------------------------------------------------------------------------------------------


def measure_fig_3(quick: bool, tell: Tell) -> dict[str, Any]:
    path = urdf_path("talos_full_v2")
    if path is None:
        return {"rows": []}
    model = constrained(tree_of(path, True), "talos_full_v2", [("F", 2, 6), ("H", 2, 6)])
    rng = np.random.default_rng(0)
    states = 5 if quick else 1000
    q, v = sarrus.random_state(model, rng, states)
    tau = rng.normal(size=v.shape)

    def run(name: str, **options: Any) -> Any:
        if not quick:
            return sarrus.compile(model, name, cache=not options, **options)(q, v, tau)
        with sarrus.interpreted():
            one = [getattr(sarrus, name)(model, q[k], v[k], tau[k], **options) for k in range(states)]
        return type(one[0])(*(np.array(x) for x in zip(*one, strict=True)))

    reference = run("pv")
    rows = []
    for name in ("pv", "pv_early", "ltl"):
        rows.append([name, None, *_errors(run(name), reference)])
    for name in SOFT_VARIANTS:
        for e in (2, 5, 8, 12) if quick else range(2, 13):
            tell(f"{name}, weight 1e{e}")
            options = {"accurate": True} if name.endswith("accurate") else {}
            rows.append([name, 10.0**e, *_errors(run(name.split(",")[0], weight=10.0**e, **options), reference)])
    return {"rows": rows, "states": states}


def _errors(result: Any, reference: Any) -> list[float]:
    residual = np.linalg.norm(result.residual, axis=1)
    difference = np.linalg.norm(result.qdd - reference.qdd, axis=1) / np.linalg.norm(reference.qdd, axis=1)
    return [float(np.median(residual)), float(np.median(difference)), float(np.quantile(difference, 0.95))]


def verdicts_fig_3(result: dict[str, Any]) -> list[Verdict]:
    if not result["rows"]:
        return missing(["Talos"])
    soft = {n: [(r[1], r[2], r[3]) for r in result["rows"] if r[0] == n and r[1]] for n in SOFT_VARIANTS}
    hard = max(r[2] for r in result["rows"] if r[1] is None)
    falls = all(a[1] > b[1] for n in soft for a, b in zip(soft[n], soft[n][1:], strict=False) if a[0] <= 1e6)
    best = {n: min(x, key=lambda r: r[2]) for n, x in soft.items()}
    last = {n: x[-1] for n, x in soft.items()}
    printed, other = SOFT_VARIANTS[:2], SOFT_VARIANTS[2]
    return [
        Verdict("hard methods meet the constraints to rounding", f"median residual {hard:.0e}", hard < 1e-6),
        Verdict(
            "the residual of soft methods falls with the weight",
            "; ".join(
                f"{n}: {soft[n][0][1]:.0e} at {_weight(soft[n][0][0])}, {x[1]:.0e} at {_weight(x[0])}"
                for n, x in last.items()
            ),
            falls,
        ),
        Verdict(
            "beyond weights of about 1e8 the accelerations diverge again",
            "; ".join(
                f"{n}: least error {b[2]:.0e} at {_weight(b[0])}, {last[n][2]:.0e} at 1e12" for n, b in best.items()
            ),
            all(last[n][2] > best[n][2] for n in printed),
        ),
        Verdict(
            "PV-s is numerically more stable than LTL-s",
            ", ".join(f"{n}: {last[n][2]:.1e} at 1e12" for n in printed),
            last["pv_soft"][2] < last["ltl_soft"][2],
            "" if last["pv_soft"][2] < last["ltl_soft"][2] else "both add K^T R^-1 K to inertias and lose digits",
        ),
        Verdict(
            "soft constraints are less stable in joint space",
            f"{other}: {last[other][2]:.1e} at 1e12",
            last[other][2] >= last["pv_soft"][2],
            ""
            if last[other][2] >= last["pv_soft"][2]
            else "solved for the forces by the matrix inversion lemma, the joint-space method loses no digits to "
            "stiff rows and is the most stable of all. The finding is about one way of writing the method",
        ),
    ]


def _weight(weight: float) -> str:
    """1e8, not 1e+08."""
    return f"{weight:.0e}".replace("e+0", "e").replace("e+", "e")


def tables_fig_3(result: dict[str, Any]) -> list[Table]:
    rows = [
        (n, "hard" if w is None else _weight(w), f"{a:.1e}", f"{b:.1e}", f"{c:.1e}") for n, w, a, b, c in result["rows"]
    ]
    return [
        Table(
            f"Talos, feet and hands welded, {result.get('states', 0)} states",
            ("method", "weight", "residual, median", "error against pv, median", "error, 95 %"),
            rows,
        )
    ]


def panels_fig_3(result: dict[str, Any]) -> list[Panel]:
    def of(k: int) -> dict[str, Any]:
        return {
            n: (
                [r[1] for r in result["rows"] if r[0] == n and r[1]],
                [r[k] for r in result["rows"] if r[0] == n and r[1]],
            )
            for n in SOFT_VARIANTS
        }

    return [
        Panel("Fig. 3a: constraint residual", "weight of the constraints", "median of the l2 norm", of(2)),
        Panel("Fig. 3b: error of accelerations", "weight of the constraints", "median of the relative error", of(3)),
    ]


# --- Fig. 4 ----------------------------------------------------------------------------------------------------------


def _scaling(make: Any, sizes: tuple[int, ...], methods: tuple[str, ...], tell: Tell) -> dict[str, Any]:
    counts: dict[str, list[int]] = {m: [] for m in methods}
    for n in sizes:
        model = make(n)
        for m in methods:
            tell(f"{model.name}, {n}: {m}")
            counts[m].append(sarrus.op_count(model, m, **({"weight": WEIGHT} if m in SOFT else {})).total)
    return {"sizes": list(sizes), "counts": counts, "exponents": {m: exponent(sizes, n) for m, n in counts.items()}}


def measure_fig_4a(quick: bool, tell: Tell) -> dict[str, Any]:
    def make(n: int) -> sarrus.Model:
        return sarrus.zoo.chain(n).with_constraints(sarrus.contact("tip", 6))

    sizes = (6, 12, 24, 36) if quick else (6, 12, 25, 50, 75, 100)
    return _scaling(make, sizes, ("pv", "pv_early", "pv_soft", "ltl", "ltl_soft"), tell)


def measure_fig_4c(quick: bool, tell: Tell) -> dict[str, Any]:
    sizes = (2, 4, 6) if quick else (2, 4, 8, 12, 16)
    return _scaling(lambda n: sarrus.zoo.ladder(n, constrained=True), sizes, ("pv", "pv_early", "pv_soft", "ltl"), tell)


def _exponent_words(result: dict[str, Any], methods: tuple[str, ...]) -> str:
    return ", ".join(f"{m} {result['exponents'][m]:.2f}" for m in methods)


def verdicts_fig_4a(result: dict[str, Any]) -> list[Verdict]:
    linear, other = ("pv", "pv_early", "pv_soft"), ("ltl", "ltl_soft")
    e = result["exponents"]
    return [
        Verdict(
            "PV, PV-e and PV-s scale linearly",
            f"exponents: {_exponent_words(result, linear)}",
            max(e[m] for m in linear) < 1.15,
        ),
        Verdict(
            "LTL and LTL-s scale worse", f"exponents: {_exponent_words(result, other)}", min(e[m] for m in other) > 1.5
        ),
    ]


def verdicts_fig_4c(result: dict[str, Any]) -> list[Verdict]:
    e = result["exponents"]
    return [
        Verdict(
            "PV-e and PV-s scale linearly on the ladder",
            f"exponents: {_exponent_words(result, ('pv_early', 'pv_soft'))}",
            max(e["pv_early"], e["pv_soft"]) <= 1.15,
        ),
        Verdict(
            "PV and LTL scale badly there",
            f"exponents: {_exponent_words(result, ('pv', 'ltl'))}",
            min(e["pv"], e["ltl"]) >= 1.25,
        ),
    ]


def scaling_tables(size: str) -> Any:
    """What grows is called `size`."""

    def tables(result: dict[str, Any]) -> list[Table]:
        methods = list(result["counts"])
        rows = [(str(n), *(f"{result['counts'][m][k]:,}" for m in methods)) for k, n in enumerate(result["sizes"])]
        rows.append(("exponent", *(f"{result['exponents'][m]:.2f}" for m in methods)))
        return [Table("Operations, and exponents fitted to the larger sizes", (size, *methods), rows)]

    return tables


def scaling_panels(title: str, x_label: str) -> Any:
    return lambda result: [
        Panel(title, x_label, "operations", {m: (result["sizes"], n) for m, n in result["counts"].items()})
    ]


ITEMS = [
    Item(
        "A.table2",
        "Table II",
        "IX-C",
        "times of PV, PV-e, LTL, Pinocchio, PV-s, LTL-s and MuJoCo on iiwa, Go1, Atlas, Talos",
        measure_table_2,
        verdicts_table_2,
        tables_table_2,
    ),
    Item(
        "A.fig2",
        "Fig. 2",
        "IX-B",
        "operations of OSIM algorithms on four robots, and of PV-OSIM against EFPA on a stem",
        measure_fig_2,
        verdicts_fig_2,
        tables_fig_2,
        panels_fig_2,
    ),
    Item(
        "A.fig3",
        "Fig. 3",
        "IX-C3",
        "residual and acceleration error of soft methods against the weight, Talos",
        measure_fig_3,
        verdicts_fig_3,
        tables_fig_3,
        panels_fig_3,
    ),
    Item(
        "A.fig4a",
        "Fig. 4a",
        "IX-D",
        "times on chains of 6 to 100 joints, end welded",
        measure_fig_4a,
        verdicts_fig_4a,
        scaling_tables("joints"),
        scaling_panels("Fig. 4a: chain, end welded", "joints"),
    ),
    Item(
        "A.fig4c",
        "Figs. 4b, 4c",
        "IX-D",
        "times on the ladder, m ~ O(n)",
        measure_fig_4c,
        verdicts_fig_4c,
        scaling_tables("rungs"),
        scaling_panels("Fig. 4c: ladder", "rungs"),
    ),
]
