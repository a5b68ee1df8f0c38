"""Paper C: constraint embedding. Figs. 8, 10, 12 and 13."""

from __future__ import annotations

from typing import Any

from benchmarks import embedding_counts, rotor_accuracy
from benchmarks.geared_robots import mit_humanoid_leg
from benchmarks.loop_systems import MissingFileError
from benchmarks.paper.item import Item, Panel, Table, Tell, Verdict, missing, silent
from sarrus import zoo

METHODS = ("ce_aba", "lcaba", "prox_ltl")


def measure_fig_8(quick: bool, tell: Tell) -> dict[str, Any]:
    depths = (1, 2, 4) if quick else embedding_counts.DEPTHS
    series = []
    for kind in embedding_counts.KINDS:
        for branches in (1,) if quick else embedding_counts.BRANCHES:
            tell(f"{kind}, {branches} branches")
            series.append(embedding_counts.depth_series(silent(), kind, branches, depths))
    return {"series": series, "quick": quick}


def verdicts_fig_8(result: dict[str, Any]) -> list[Verdict]:
    e = {m: [s["exponents"][m] for s in result["series"]] for m in METHODS}
    bend = max(s["off_a_line"]["ce_aba"] for s in result["series"])
    ratios = [s["counts"]["prox_ltl"][-1] / s["counts"]["ce_aba"][-1] for s in result["series"]]
    reason = (
        "the sizes are small: the first link of a branch costs less than the others, which tilts the line"
        if result["quick"]
        else ""
    )
    return [
        Verdict(
            "constraint embedding is linear in the number of clusters",
            f"exponents {min(e['ce_aba']):.2f} to {max(e['ce_aba']):.2f}; off a straight line by {100 * bend:.1f} %",
            bend < 0.02,
            reason if bend >= 0.02 else "",
        ),
        Verdict(
            "Proximal and Sparse grows faster than linearly",
            f"exponents {min(e['prox_ltl']):.2f} to {max(e['prox_ltl']):.2f}",
            min(e["prox_ltl"]) > 1.05,
        ),
        Verdict(
            "so embedding gains with depth",
            f"deepest: prox_ltl takes {min(ratios):.1f} to {max(ratios):.1f} times ce_aba's operations",
            min(ratios) > 1.0,
        ),
    ]


def tables_fig_8(result: dict[str, Any]) -> list[Table]:
    rows = [
        (
            s["kind"].replace("_", " "),
            str(s["branches"]),
            str(s["depths"][-1]),
            *(f"{s['counts'][m][-1]:,} ({s['exponents'][m]:.2f})" for m in METHODS),
        )
        for s in result["series"]
    ]
    return [Table("Operations at the largest depth (exponent)", ("mechanism", "branches", "depth", *METHODS), rows)]


def panels_fig_8(result: dict[str, Any]) -> list[Panel]:
    out = []
    for kind in embedding_counts.KINDS:
        series = next(s for s in result["series"] if s["kind"] == kind)
        curves = {m: (series["depths"], series["counts"][m]) for m in METHODS}
        out.append(Panel(f"Fig. 8: {kind.replace('_', ' ')}", "depth of the tree [links]", "operations", curves))
    return out


def measure_fig_10(quick: bool, tell: Tell) -> dict[str, Any]:
    series = []
    for tie in embedding_counts.TIES:
        for d_t in (5,) if quick else tuple(embedding_counts.LOOPS):
            tell(f"{tie}, chains of {d_t}")
            series.append(embedding_counts.locality(silent(), tie, d_t, embedding_counts.LOOPS[d_t]))
    return {"series": series}


def verdicts_fig_10(result: dict[str, Any]) -> list[Verdict]:
    out = []
    small = max(s["counts"]["ce_aba"][0] / s["counts"]["prox_ltl"][0] for s in result["series"])
    words = f"at most {small:.2f} of prox_ltl's operations with the smallest loops"
    out.append(Verdict("for small loops embedding needs the fewest instructions", words, small < 1.0))
    for tie in dict.fromkeys(s["tie"] for s in result["series"]):
        found = {s["d_t"]: embedding_counts.crossover(s, "prox_ltl") for s in result["series"] if s["tie"] == tie}
        words = {d: "never" if x is None else f"{x:.1f}" for d, x in found.items()}
        known = [x for x in found.values() if x is not None]
        out.append(
            Verdict(
                f"{tie.replace('_', ' ')}: Proximal and Sparse wins for large loops, later in longer chains",
                "curves cross at d_l = " + ", ".join(f"{w} (d_t = {d})" for d, w in words.items()),
                bool(known) and known == sorted(known),
                "" if known else "in chains of this length, embedding stays ahead: the loop would have to be larger",
            )
        )
    return out


def tables_fig_10(result: dict[str, Any]) -> list[Table]:
    rows = [
        (s["tie"].replace("_", " "), str(s["d_t"]), str(d), *(f"{s['counts'][m][k]:,}" for m in METHODS))
        for s in result["series"]
        for k, d in enumerate(s["d_l"])
    ]
    return [Table("Operations", ("tie", "d_t", "d_l", *METHODS), rows)]


def panels_fig_10(result: dict[str, Any]) -> list[Panel]:
    out = []
    for tie in dict.fromkeys(s["tie"] for s in result["series"]):
        s = [s for s in result["series"] if s["tie"] == tie][-1]
        out.append(
            Panel(
                f"Fig. 10: {tie.replace('_', ' ')}, d_t = {s['d_t']}",
                "depth of the loop d_l [links]",
                "operations",
                {m: (s["d_l"], s["counts"][m]) for m in METHODS},
            )
        )
    return out


def measure_fig_12(quick: bool, tell: Tell) -> dict[str, Any]:
    tell("robots")
    return {"robots": embedding_counts.robots(silent())}


def verdicts_fig_12(result: dict[str, Any]) -> list[Verdict]:
    out = []
    for row in result["robots"]:
        less = row["less"]["bare"]
        close = abs(less - row["paper"]) < 5.0  # percentage points
        out.append(
            Verdict(
                f"{row['robot']}: approximate ABA needs {row['paper']} % less",
                f"{less:.1f} % less without rotors, {row['less']['approximate']:.1f} % with their inertia as armature",
                less > 0.0 and close,
                ""
                if close
                else f"the same; with rotors of general inertia, {row['less']['general']:.1f} %"
                if any(v.reason for v in out)
                else "the exact method is cheaper here than in the paper: tracing uses the fact that a rotor is "
                "balanced and symmetric about its axis, so leaving it out saves less. With rotors of general inertia, "
                f"which a library has to allow for, it saves {row['less']['general']:.1f} %",
            )
        )
    return out or missing(list(embedding_counts.PAPER))


def tables_fig_12(result: dict[str, Any]) -> list[Table]:
    rows = [
        (
            r["robot"],
            *(f"{r['counts'][m]:,}" for m in ("ce_aba", "general", "approximate", "bare", "lcaba", "prox_ltl")),
        )
        for r in result["robots"]
    ]
    columns = (
        "robot", "ce_aba", "ce_aba, rotors of general inertia", "aba, armature", "aba, no rotors", "lcaba", "prox_ltl",
    )  # fmt: skip
    return [Table("Operations", columns, rows)]


def panels_fig_12(result: dict[str, Any]) -> list[Panel]:
    names = [r["robot"] for r in result["robots"]]
    bars = {
        m: (names, [r["counts"][k] for r in result["robots"]])
        for m, k in (("ce_aba", "ce_aba"), ("aba, no rotors", "bare"))
    }
    return [Panel("Fig. 12: exact and approximate", "", "operations", bars, False)] if names else []


def measure_fig_13(quick: bool, tell: Tell) -> dict[str, Any]:
    tell("leg")
    try:
        model, made_up = mit_humanoid_leg(), False
    except MissingFileError:
        model, made_up = zoo.humanoid_leg(), True
    leg = rotor_accuracy.Leg(model)
    found = rotor_accuracy.compare(silent(), leg, 1.5)
    return {
        "made_up": made_up,
        "joints": list(leg.joints),
        "largest": found["largest"],
        "rms": found["rms"],
        "time": found["time"][::20],
        "torques": {j: {m: x[::20] for m, x in t.items()} for j, t in found["torques"].items()},
    }


def verdicts_fig_13(result: dict[str, Any]) -> list[Verdict]:
    claim = "the ankle's torque is off by 4.31 N m (39.2 %) without rotors, by 1.04 N m (9.5 %) with them as armature"
    words = "; ".join(
        f"{j}: {result['rms']['unconstrained'][k]:.2f} and {result['rms']['approximate'][k]:.2f} N m, largest "
        f"{result['largest'][k]:.1f}"
        for k, j in enumerate(result["joints"])
        if any(w in j for w in ("knee", "ankle"))
    )
    if result["made_up"]:
        return [
            Verdict(
                claim,
                words,
                None,
                "the file of the MIT Humanoid is not here; these are of a made-up leg (zoo.humanoid_leg)",
            )
        ]
    order = all(a > b for a, b in zip(result["rms"]["unconstrained"], result["rms"]["approximate"], strict=True))
    return [
        Verdict("leaving rotors out costs more than approximating them", words, order),
        Verdict(
            claim,
            words,
            False,
            "with the published file, both numbers are those of the knee, to every printed digit (4.306 and 1.041). "
            "The largest torque that 39.2 % and 9.5 % imply (11.0 N m) is also about that of the knee (11.2; the ankle "
            "needs 2.7). The paper's figure seems to show the knee under the ankle's name",
        ),
    ]


def panels_fig_13(result: dict[str, Any]) -> list[Panel]:
    return [
        Panel(
            f"Fig. 13: torque of the {joint}",
            "time [s]",
            "torque [N m]",
            {m: (result["time"], x) for m, x in result["torques"][joint].items()},
            False,
        )
        for joint in result["joints"]
        if any(w in joint for w in ("knee", "ankle"))
    ]


ITEMS = [
    Item(
        "C.fig8",
        "Fig. 8",
        "VI-A",
        "instructions against the depth of a tree of gears, belts and four-bars",
        measure_fig_8,
        verdicts_fig_8,
        tables_fig_8,
        panels_fig_8,
    ),
    Item(
        "C.fig10",
        "Fig. 10",
        "VI-B",
        "instructions against the size of a loop between two chains",
        measure_fig_10,
        verdicts_fig_10,
        tables_fig_10,
        panels_fig_10,
    ),
    Item(
        "C.fig12",
        "Fig. 12",
        "VI-C",
        "exact against approximate forward dynamics of legged robots",
        measure_fig_12,
        verdicts_fig_12,
        tables_fig_12,
        panels_fig_12,
    ),
    Item(
        "C.fig13",
        "Fig. 13",
        "VI-C",
        "torques of the MIT Humanoid's leg with and without rotors",
        measure_fig_13,
        verdicts_fig_13,
        panels=panels_fig_13,
    ),
]
