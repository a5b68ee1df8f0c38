"""Mutants of robot files: structure is broken on purpose, one to three times in each.

Elements and attributes are dropped, doubled, swapped, renamed, nested and moved between files; numbers become what no
number should be; words become other words of the same file, which makes cycles, doubles and references to nothing.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

NUMBERS = (
    "nan", "inf", "-inf", "1e308", "-1e308", "1e999", "-0", "0", "1e-320", "1e-160", "", "1_000", "\uff11", "\u0661",
    "0x10", "1" * 400, "-1", "1,5", "1e", "--1", "+1", ".5", "5.", "1e3", "1E-3", "1 2", "1 2 3 4", "NaN", "1d3",
    "99999999999999999999", "1e100", "1e-100", "-1e-9", "3.141592653589793",
)  # fmt: skip
WORDS = (
    "",
    " ",
    "world",
    "%n%s",
    "\u00e9",
    "a" * 3000,
    "../x",
    "/",
    "${x}",
    "nobody",
    "true",
    "fixed",
    "main",
    "&amp;",
)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Mutant(NamedTuple):
    kind: str  # urdf, urdf+, mjcf, yaml, npz
    content: str | bytes
    how: str


def mutate_xml(kind: str, text: str, other: str, random: Random) -> Mutant:
    """other: another file of the kind, for splices."""
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True))
    donor = etree.fromstring(other.encode(), etree.XMLParser(remove_comments=True))
    names = []
    for _ in range(random.choice((1, 1, 1, 1, 1, 2, 2, 3))):
        change = random.choice(_TREE_CHANGES) if random.random() < 0.6 else _number
        change(root, donor, random)
        names.append(change.__name__.strip("_"))
    result = etree.tostring(root, encoding="unicode")
    if random.random() < 0.08:
        change = random.choice(_TEXT_CHANGES)
        result = change(result, random)
        names.append(change.__name__.strip("_"))
    return Mutant(kind, result, " + ".join(names))


def mutate_yaml(text: str, random: Random) -> Mutant:
    names = []
    for _ in range(random.choice((1, 1, 2))):
        change = random.choice((*_TEXT_CHANGES, *_YAML_CHANGES, *_YAML_CHANGES))
        text = change(text, random)
        names.append(change.__name__.strip("_"))
    return Mutant("yaml", text, " + ".join(names))


def mutate_npz(arrays: dict[str, np.ndarray], random: Random) -> Mutant:
    """A trajectory's file: arrays of other kinds, or bytes that are cut, changed, doubled."""
    arrays = dict(arrays)
    names = []
    if random.random() < 0.3:
        said = json.loads(str(arrays["about"]))
        said[random.choice(list(said))] = random.choice((None, 3, "x", [], {}, 1e308, True))
        arrays["about"] = np.array(json.dumps(said))
        names.append("about")
    if random.random() < 0.6:
        name = random.choice(list(arrays))
        arrays[name] = random.choice(_ARRAYS)(arrays[name], random)
        names.append(f"array {name}")
    if random.random() < 0.2:
        arrays.pop(random.choice(list(arrays)))
        names.append("drop")
    out = io.BytesIO()
    packing = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(out, "w") as archive:
        for name, x in arrays.items():
            content = io.BytesIO()
            np.save(content, x, allow_pickle=True)
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))  # not now: a mutant is always the same
            archive.writestr(member, content.getvalue(), packing)
    data = bytearray(out.getvalue())
    if random.random() < 0.4:
        names.append("bytes")
        at = random.randrange(len(data))
        choice = random.randrange(3)
        if choice == 0:
            del data[at:]
        elif choice == 1:
            data[at] ^= 1 << random.randrange(8)
        else:
            data[at:at] = data[: random.randrange(64)]
    return Mutant("npz", bytes(data), " + ".join(names) or "none")


# --- changes of the tree ---------------------------------------------------------------------------------


def _pick(root: Any, random: Random, inner: bool = True) -> Any:
    found = list(root.iter())
    return random.choice(found[1:] if inner and len(found) > 1 else found)


def _drop(root: Any, donor: Any, random: Random) -> None:
    element = _pick(root, random)
    if element.getparent() is not None:
        element.getparent().remove(element)


def _double(root: Any, donor: Any, random: Random) -> None:
    element = _pick(root, random)
    if element.getparent() is not None:
        copy = deepcopy(element)
        if random.random() < 0.5:
            _number(copy, donor, random)
        element.addnext(copy)


def _swap(root: Any, donor: Any, random: Random) -> None:
    """Two elements change places."""
    a, b = _pick(root, random), _pick(root, random)
    if a.getparent() is None or b.getparent() is None or a in b.iter() or b in a.iter():
        return
    mark = etree.Element("mark")
    a.getparent().replace(a, mark)
    b.getparent().replace(b, a)
    mark.getparent().replace(mark, b)


def _rename(root: Any, donor: Any, random: Random) -> None:
    element = _pick(root, random, inner=False)
    other = _pick(root, random).tag
    element.tag = random.choice((other, other, element.tag.upper(), element.tag[:-1] or "x", element.tag + "s"))


def _reorder(root: Any, donor: Any, random: Random) -> None:
    element = _pick(root, random, inner=False)
    children = list(element)
    random.shuffle(children)
    for child in children:
        element.append(child)


def _nest(root: Any, donor: Any, random: Random) -> None:
    """An element inside itself, a few times or very often."""
    element = _pick(root, random)
    for _ in range(random.choice((1, 2, 5, 300))):
        copy = etree.SubElement(element, element.tag, element.attrib)
        element = copy


def _splice(root: Any, donor: Any, random: Random) -> None:
    _pick(root, random, inner=False).append(deepcopy(_pick(donor, random)))


def _attribute(root: Any, random: Random) -> tuple[Any, str] | None:
    found = [(element, name) for element in root.iter() for name in element.attrib]
    return random.choice(found) if found else None


def _drop_attribute(root: Any, donor: Any, random: Random) -> None:
    found = _attribute(root, random)
    if found:
        del found[0].attrib[found[1]]


def _rename_attribute(root: Any, donor: Any, random: Random) -> None:
    found, other = _attribute(root, random), _attribute(root, random)
    if found and other:
        value = found[0].attrib.pop(found[1])
        found[0].set(random.choice((other[1], found[1] + "x", found[1].upper())), value)


def _add_attribute(root: Any, donor: Any, random: Random) -> None:
    other = _attribute(donor, random)
    if other:
        _pick(root, random, inner=False).set(other[1], other[0].get(other[1]))


def _number(root: Any, donor: Any, random: Random) -> None:
    """One number of one attribute becomes something else."""
    found = [(e, name) for e in root.iter() for name, text in e.attrib.items() if _NUMBER.fullmatch(text.split(" ")[0])]
    if not found:
        return
    element, name = random.choice(found)
    words = element.get(name).split()
    at = random.randrange(len(words))
    words[at] = random.choice((*NUMBERS, str(round(random.uniform(-3, 3), 3)), str(random.randrange(-2, 100))))
    element.set(name, " ".join(words))


def _count(root: Any, donor: Any, random: Random) -> None:
    """More numbers, or fewer."""
    found = _attribute(root, random)
    if found:
        words = found[0].get(found[1]).split()
        found[0].set(found[1], " ".join(random.choice((words[:-1], [*words, "0"], words[::-1], words * 2))))


def _word(root: Any, donor: Any, random: Random) -> None:
    """A word becomes another one, often one that the file has elsewhere."""
    found, other = _attribute(root, random), _attribute(root, random)
    if found and other:
        found[0].set(found[1], random.choice((other[0].get(other[1]), other[0].get(other[1]), random.choice(WORDS))))


def _text(root: Any, donor: Any, random: Random) -> None:
    _pick(root, random, inner=False).text = random.choice((*WORDS, *NUMBERS))


_TREE_CHANGES: tuple[Callable[[Any, Any, Random], None], ...] = (
    _drop, _drop, _double, _double, _swap, _rename, _reorder, _nest, _splice, _drop_attribute, _drop_attribute,
    _rename_attribute, _add_attribute, _number, _number, _number, _number, _count, _word, _word, _word, _text,
)  # fmt: skip


# --- changes of the text ---------------------------------------------------------------------------------


def _truncate(text: str, random: Random) -> str:
    return text[: random.randrange(len(text) + 1)]


def _flip(text: str, random: Random) -> str:
    if not text:
        return text
    at = random.randrange(len(text))
    return text[:at] + random.choice('<>&"=/ \0\ufffe\u00e9%{}[]:#-*!0x') + text[at + 1 :]


def _delete(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + text[at + random.randrange(40) :]


def _repeat(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + text[at : at + random.randrange(80)] * random.choice((2, 3, 50)) + text[at:]


def _bom(text: str, random: Random) -> str:
    return "\ufeff" + text


_TEXT_CHANGES: tuple[Callable[[str, Random], str], ...] = (_truncate, _flip, _flip, _delete, _repeat, _bom)


def _yaml_word(text: str, random: Random) -> str:
    words = list(re.finditer(r"\w+", text))
    if not words:
        return text
    found = random.choice(words)
    new = random.choice(
        (*NUMBERS, *WORDS, "null", "~", "[a, b]", "{a: b}", "&x y", "*x", "!!int 3", "<<", "- -", "|", "? a")
    )
    return text[: found.start()] + new + text[found.end() :]


def _yaml_line(text: str, random: Random) -> str:
    lines = text.splitlines()
    if not lines:
        return text
    at = random.randrange(len(lines))
    choice = random.randrange(4)
    if choice == 0:
        del lines[at]
    elif choice == 1:
        lines.insert(at, random.choice(lines))
    elif choice == 2:
        random.shuffle(lines)
    else:
        lines.insert(
            at, random.choice(("a: &a [1]", "b: *a", "c: {<<: *a}", "[" * 100, "x: " + "{a: " * 60, "---", "..."))
        )
    return "\n".join(lines)


_YAML_CHANGES: tuple[Callable[[str, Random], str], ...] = (_yaml_word, _yaml_line)

_ARRAYS: tuple[Callable[[np.ndarray, Random], np.ndarray], ...] = (
    lambda x, r: np.array([{}, None], dtype=object),
    lambda x, r: x.astype(complex) if x.dtype.kind == "f" else np.array(1.0),
    lambda x, r: np.array("text"),
    lambda x, r: x[..., :-1] if x.ndim else x,
    lambda x, r: x[None],
    lambda x, r: np.zeros((0, *x.shape[1:]), x.dtype),
    lambda x, r: np.full(x.shape, np.nan) if x.dtype.kind == "f" else np.array("{"),
    lambda x, r: x.astype(np.int8) if x.dtype.kind == "f" else np.array("[]"),
    lambda x, r: np.zeros(x.shape, dtype=[("a", float), ("b", "U3")]),
    lambda x, r: np.zeros((1_000_000,)),
)
