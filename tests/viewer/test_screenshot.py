"""The viewer in a real, headless Chromium: the page is there, the robot is on it, and it moves when it should."""

from __future__ import annotations

import time

import numpy as np
import pytest

import sarrus
from tests.viewer.chromium import Chromium

pytest.importorskip("viser", reason='needs viser: pip install "sarrus[viewer]"')


def until(condition, seconds: float = 120.0) -> None:
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "the browser did not get there in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    chromium = Chromium(tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def opened(page, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SARRUS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        viewer = sarrus.view(sarrus.zoo.four_bar(), port=9100, open_browser=False, block=False)
        page.open(viewer.url)
        until(lambda: viewer.server.get_clients())
        yield viewer
        viewer.close()


def picture_of(viewer) -> np.ndarray:
    """What the browser draws, without the controls; once it has drawn the robot."""
    (client,) = viewer.server.get_clients().values()
    return client.get_render(height=240, width=320, timeout=120.0).astype(float)


def differing(a: np.ndarray, b: np.ndarray) -> float:
    """Part of the picture that differs visibly."""
    return float((np.abs(a - b).max(axis=-1) > 40.0).mean())


def colored(picture: np.ndarray) -> float:
    """Part of the picture that is not grey: the ground is, the robot is not."""
    return float((np.ptp(picture, axis=-1) > 40.0).mean())


def test_the_robot_is_drawn_and_moves(opened):
    until(lambda: colored(picture_of(opened)) > 0.003)
    before = picture_of(opened)
    assert differing(before, picture_of(opened)) < 1e-3  # it holds still
    q, reached = opened.mechanism.with_coordinate(opened.q, 0, 0.8)
    assert reached
    opened.show(q)
    after = picture_of(opened)
    assert colored(after) > 0.003
    assert differing(before, after) > 0.003


def test_an_open_loop_is_red(opened):
    def red(picture: np.ndarray) -> float:
        return float(((picture[..., 0] > 150) & (picture[..., 1:].max(axis=-1) < 80)).mean())

    closed = opened.q.copy()
    before = red(picture_of(opened))
    opened.show(closed + np.array([0.0, 0.5, 0.0]))
    assert red(picture_of(opened)) > before + 2e-3
    opened.show(closed)
    assert red(picture_of(opened)) < before + 1e-3


def test_the_page_says_what_it_shows(page, opened, tmp_path):
    until(lambda: "mobility 1" in page.text())
    text = page.text()
    for words in ("four_bar", "3 bodies, 3 dof", "1 loop", "crank_joint", "constraint forces"):
        assert words in text
    picture = page.picture(tmp_path / "page.png")
    assert picture.std() > 5.0  # not blank
