"""Mutants of robot files: none is misread without a word, none ends or holds up the process."""

from __future__ import annotations

import os
from random import Random

import pytest

pytest.importorskip("mujoco", exc_type=ImportError)
pytest.importorskip("pinocchio", exc_type=ImportError)

from benchmarks.adversary import file_bases, files
from benchmarks.adversary.mutants import Mutant, mutate_xml, mutate_yaml

SEED = 20240801


@pytest.fixture(scope="module")
def judge():
    return files.Judge(SEED)


@pytest.mark.parametrize("kind", files.KINDS)
def test_a_few_hundred_mutants_are_refused_in_words_or_agree_with_the_peer(judge, kind, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)  # MuJoCo may write a log there
    one = files.Judge(SEED, (kind,))
    found = []
    for index in range(80):
        mutant = one.mutant(index)
        name, detail = one.judge(mutant)
        if name in (*files.BAD, "unforeseen"):
            found.append((index, name, detail))
    capfd.readouterr()  # what the peers print
    assert found == []


@pytest.mark.parametrize("kind", ["urdf", "urdf+", "mjcf"])
def test_what_is_not_mutated_loads_and_agrees(judge, kind):
    for text in judge.own[kind]:
        assert judge.judge(Mutant(kind, text, "")) == ("agrees", "")


def test_a_mutant_is_the_same_every_time():
    again = files.Judge(SEED)
    assert [files.Judge(SEED).mutant(k) for k in range(5)] == [again.mutant(k) for k in range(5)]
    assert mutate_yaml("a: [b]\n", Random(1)) == mutate_yaml("a: [b]\n", Random(1))
    first, second = file_bases.URDF[:2]
    assert mutate_xml("urdf", first, second, Random(1)) == mutate_xml("urdf", first, second, Random(1))


def test_a_difference_is_seen(judge):
    """The judge is no judge if it cannot say no: the peer reads another mass."""
    text = file_bases.URDF[0]
    model = judge._load(Mutant("urdf", text, ""))
    other = Mutant("urdf", text.replace('value="0.5"', 'value="0.6"'), "")
    assert "differs" in judge._compare(other, model)


def test_hangs_and_aborts_are_counted_and_survived(monkeypatch):
    """Workers that end, and that say nothing: stand-ins for what a file could do to the process."""
    monkeypatch.setattr(files, "PATIENCE", 2.0)
    script = (
        "import os, sys, time\n"
        "first, last, step = (int(x) for x in sys.argv[-4:-1])\n"
        "for k in range(first, last, step):\n"
        "    print('begin', k, 'urdf', flush=True)\n"
        "    if k == 1: os.abort()\n"
        "    if k == 2: time.sleep(60)\n"
        "    print('end', k, 'urdf', 'refused', flush=True)\n"
    )
    real = files.subprocess.Popen

    def popen(arguments, **options):
        return real([arguments[0], "-c", script, *arguments[4:]], **options)

    monkeypatch.setattr(files.subprocess, "Popen", popen)
    tally = files.run(4, jobs=1)
    assert dict(tally.counts["urdf"]) == {"refused": 2, "raw": 1, "hang": 1}
    assert [(index, name) for index, name, _ in tally.bad] == [(1, "raw"), (2, "hang")]


@pytest.mark.slow
@pytest.mark.skipif("SARRUS_ADVERSARY" not in os.environ, reason="minutes: SARRUS_ADVERSARY is not set")
def test_many_mutants():
    tally = files.run(int(os.environ["SARRUS_ADVERSARY"]), jobs=2, seed=SEED)
    assert sum(tally.total(name) for name in files.BAD) == 0, tally.bad[:10]
