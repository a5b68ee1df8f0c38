"""A small run of the adversary: whatever the state, a method is right or says that it is not."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sarrus
from benchmarks.adversary import dynamics, tally
from benchmarks.adversary.mechanisms import make
from benchmarks.adversary.tally import Tally, Unit
from benchmarks.adversary.trial import attack, cases_of, hangs_on_rounding, methods, takes

QUICK = (  # small ones: most of the time goes into compiling
    ("contact on an axis", 6), ("contacts at origins", 12), ("sliders", 4), ("conflicting contacts", 2),
    ("rows of any length", 4), ("legs", 1), ("both frames on one body", 4),
    ("hinge of two points", 8), ("rigid cluster", 2), ("nearly planar", 1),
)  # fmt: skip


@pytest.mark.parametrize(("family", "seed"), QUICK, ids=[f"{f} {s}" for f, s in QUICK])
def test_right_or_told(family, seed):
    """With a fallback only on every second family: it is the method alone where that is ok, and one of the others
    where it is not (`test_only_states_that_need_it_fall_back_and_say_so`), and those are attacked on all."""
    names = set(methods())
    if QUICK.index((family, seed)) % 2:
        names -= {name.removesuffix(" alone") for name in names if name.endswith(" alone")}
    found = Tally(attack(family, seed, per_class=20, texts=1, only=names))
    assert found.bad == 0, "\n" + "\n".join(found.worst())
    assert found.total["tried"] > 500


def test_methods_are_those_of_the_registry():
    names = {name for name, _ in methods().values()}
    assert {"aba", "ce_aba", "pv", "pv_early", "ltl", "lcaba", "prox_bbo", "bbo", "constrained_aba"} <= names
    contacts, tree, cluster = (make(f, 0) for f in ("contacts", "tree", "embedded"))
    assert contacts
    assert tree
    assert cluster
    assert takes(tree.model, "aba")
    assert not takes(contacts.model, "aba")
    assert takes(cluster.model, "lcaba")


def test_a_status_that_hangs_on_rounding_is_no_difference_if_what_is_ok_is_right():
    mechanism = make("contacts", 0)
    assert mechanism
    case = cases_of(mechanism, 3, ["generic"])["generic"]
    state = case.q[1], case.v[1], case.tau[1]
    text = sarrus.forward_dynamics(mechanism.model, *state, method="lcaba")
    wrong = text._replace(qdd=text.qdd + 1.0)

    def decides(q, v, tau, threads):
        return text._replace(status=np.where(tau[:, 0] < case.tau[1, 0], 0, 1))

    def tells(q, v, tau, threads):
        return text._replace(status=np.ones(len(q), int))

    assert text.status == 0
    assert hangs_on_rounding(decides, case, 1, "lcaba", text)
    assert not hangs_on_rounding(tells, case, 1, "lcaba", text)
    assert not hangs_on_rounding(decides, case, 1, "lcaba", wrong)
    assert hangs_on_rounding(decides, case, 1, "lcaba", wrong._replace(status=np.array(1)))


def test_a_run_is_resumed(tmp_path):
    """Finished units are read and not done again; a line that was cut off is left out."""
    file = tmp_path / "units.jsonl"
    arguments = {"per_class": 3, "families": ("tree", "sliders"), "methods": ("aba", "ltl"), "texts": 0}
    first = dynamics.run(60, jobs=1, resume=file, **arguments)
    done = {unit.key for unit in first.units}
    with file.open("a") as out:
        out.write('{"family": "tree", "se')
    second = dynamics.run(first.total["tried"] + 20, jobs=1, resume=file, **arguments)
    assert done < {unit.key for unit in second.units}
    assert len({unit.key for unit in second.units}) == len(second.units)
    assert second.total["tried"] >= first.total["tried"] + 20


def test_a_tally_counts_what_must_not_be(tmp_path):
    counts = dict.fromkeys(tally.COUNTS, 0) | {"tried": 5, "right": 2, "wrong": 2, "nan": 1}
    blamed = {"states": "generic", "index": 4, "outcome": "WRONG", "first": True}
    bad = Unit("legs", 7, "pv", 5, {"generic": counts}, [blamed])
    raised = Unit("legs", 8, "pv", 5, raised="IndexError: no")
    found = Tally([bad, raised])
    assert found.bad == 4
    assert "pv 2" in found.worst()[0]
    assert "--reproduce 'legs' 7 'pv' --class 'generic' --index 4 --per-class 5" in found.worst()[0]
    tally.append(tmp_path / "x", found.units)
    assert tally.read(tmp_path / "x") == found.units
    assert json.loads((tmp_path / "x").read_text().splitlines()[0])["family"] == "legs"
    assert found.table("a title", found.by(states=True)).row_count == 1
