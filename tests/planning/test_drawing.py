"""Drawings of plans are SVG documents with everything in them."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import sarrus
from sarrus import zoo
from sarrus.cli.main import app
from sarrus.errors import IllPosedError, UnsupportedError

SVG = "{http://www.w3.org/2000/svg}"


def drawn(model):
    return ElementTree.fromstring(sarrus.plan(model, cache=False).draw(model))


def test_bodies_joints_loops_clusters_contacts():
    model = zoo.humanoid_leg().with_constraints(sarrus.contact("sole", 6, name="a < b"))
    root = drawn(model)
    circles = root.findall(f".//{SVG}circle")
    assert len(circles) == model.nb + 1  # and one in the legend
    titles = [x.text for x in root.iter(f"{SVG}title")]
    assert any(t and t.startswith("embedded: ") for t in titles)
    assert "a < b: Contact, 6 rows" in titles
    for body in model.bodies:
        assert body.name in titles
    words = " ".join(x.text or "" for x in root.iter(f"{SVG}text"))
    assert "held by the world" in words
    assert "a gear or belt" in words


def test_numbers_are_the_order_of_elimination():
    model = zoo.stewart()
    root = drawn(model)
    numbers = [int(x.text) for x in root.iter(f"{SVG}text") if x.get("text-anchor") == "middle" and x.text != "free"]
    assert sorted(numbers) == sorted([*range(1, model.nb + 1), 1])


def test_lines_of_the_tree_run_down_and_across_and_through_no_name():
    """A hub with many limbs: its lines part above its children."""
    model = zoo.star_pairs(3)
    root = drawn(model)
    joints = {body.joint.name for body in model.bodies}
    lines = [x for x in root.iter(f"{SVG}path") if (x.findtext(f"{SVG}title") or "").split(":")[0] in joints]
    assert len(lines) > model.nb
    names = [(float(x.get("x", 0)), float(x.get("y", 0))) for x in root.iter(f"{SVG}text") if "_" in (x.text or "")]
    for line in lines:
        (ax, ay), (bx, by) = (map(float, part.split()) for part in line.get("d", "").removeprefix("M ").split(" L "))
        assert ax == bx or ay == by
        for x, y in names:
            assert not (min(ax, bx) < x + 5.0 < max(ax, bx) and y - 10.0 < ay < y)


def test_a_plan_of_another_model_is_refused():
    with pytest.raises(UnsupportedError, match="another model"):
        sarrus.plan(zoo.four_bar(), cache=False).draw(zoo.five_bar())


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "four_bar.svg"
    found = CliRunner().invoke(app, ["plan", "zoo:four_bar", "--draw", str(file), "--recuts"])
    assert found.exit_code == 0
    assert "candidates" in found.output
    assert file.read_text().startswith("<svg")
    as_json = CliRunner().invoke(app, ["plan", "zoo:four_bar", "--json", "--single"])
    assert json.loads(as_json.output)["model_name"] == "four_bar"
    assert not json.loads(as_json.output)["batch"]
    picture = tmp_path / "four_bar.png"
    pytest.importorskip("matplotlib")
    assert CliRunner().invoke(app, ["plan", "zoo:four_bar", "--draw", str(picture)]).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    refused = CliRunner().invoke(app, ["plan", "zoo:four_bar", "--draw", str(tmp_path / "four_bar.what")])
    assert isinstance(refused.exception, UnsupportedError)
    assert "png" in str(refused.exception)


def test_matplotlib_draws_the_same():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    model = zoo.humanoid_leg()
    plan = sarrus.plan(model, cache=False)
    axes = plan.plot(model, figure.add_subplot())
    words = {text.get_text() for text in axes.texts}
    assert words == {x.text for x in ElementTree.fromstring(plan.draw(model)).iter(f"{SVG}text")}
    assert plan.plot(model).figure is not figure


def test_the_command_line_plans_nothing_for_joints_without_inertia(tmp_path):
    """It said so of every candidate, and then of the whole."""
    file = tmp_path / "hand.urdf"
    file.write_text(
        """<robot name="hand"><link name="base"/><link name="finger"/>
        <joint name="knuckle" type="continuous"><parent link="base"/><child link="finger"/></joint></robot>"""
    )
    found = CliRunner().invoke(app, ["plan", str(file)])
    assert isinstance(found.exception, IllPosedError)
    assert "knuckle" in str(found.exception)
    assert "candidates" not in found.output
