"""What is looked at in an MJCF before MuJoCo reads it: files that it names, its size, texts that MuJoCo trips over.

MuJoCo opens `<include>`, `<model>` and `<flexcomp>` files as it parses, carries out `<replicate>`, makes height fields
of any size, and some of its versions (3.17 and 4.0.0 among them) take the name of an unknown class for a format: a
percent sign there ends the process.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from sarrus.errors import ImportFileError
from sarrus.importers.document import (
    BODIES,
    CELLS,
    ELEMENTS,
    FILES,
    Document,
    check_inside,
    check_limit,
    plain_numbers,
    read_document,
    shown,
)

_OPENED = ("include", "model", "flexcomp")  # tags whose file is opened when they are parsed
_COPIES = ("replicate", "composite", "flexcomp")  # tags with a `count`
_CELLS = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}
_TEXTS = ("file", "data", "content_type")  # attributes in which a percent sign is nobody's format
_NAN = re.compile(r"(?<!\S)[+-]*nan[+-]*(?!\S)", re.IGNORECASE)
_MOST_NUMBER = 1_000_000  # in <size>


@dataclass
class MjcfChecks:
    """The files of one MJCF. `outside` are those of assets that lie elsewhere, by what the file calls them."""

    main: Document
    allow_outside: bool
    outside: dict[str, Path] = field(default_factory=dict)
    _elements: float = 0
    _copies: float = 0
    _seen: set[str] = field(default_factory=set)

    def run(self) -> MjcfChecks:
        """Errors in words; else the checks, for `check_asset`."""
        self._check(self.main, self.main.folder)
        return self

    def check_asset(self, file: str, what: str) -> None:
        """A file of an asset that is about to be read."""
        if file in self.outside:
            check_inside(self.outside[file], self._folders(), self.main.name, what, self.allow_outside)

    def why_not(self, file: str) -> str:
        """Why a file of an asset must not be read, in words that follow its name; "": it may."""
        if "\0" in file:
            return "is no path"
        try:
            self.check_asset(file, "it")
        except ImportFileError:
            return "is not a regular file in the folder of the MJCF (`allow_outside=True` reads files outside)"
        return ""

    def _check(self, document: Document, base: Path, copies: float = 1.0) -> None:
        """base: the folder of the main file, which names are relative to."""
        stack = [(document.root, copies)]
        folders = _asset_folders(document, base)
        while stack:
            element, times = stack.pop()
            if not isinstance(element.tag, str):
                continue
            self._elements += times
            check_limit(self.main.name, "elements, with copies", self._elements, ELEMENTS)
            _check_texts(document, element)
            _check_sizes(document, element)
            made = _product(element.get("count")) if element.tag in _COPIES else 1.0
            if made > 1.0:
                self._copies += made * times
                check_limit(self.main.name, "copies that the file asks for", self._copies, BODIES)
            file = element.get("file")
            if file and element.tag in _OPENED:
                self._check_file(document, base, element, file, times)
            elif file:
                self._note_asset(file, folders)
            inner = times * made if element.tag == "replicate" else times
            stack.extend((child, inner) for child in element)

    def _check_file(self, document: Document, base: Path, element: Any, file: str, times: float) -> None:
        """MuJoCo looks beside the main file, then beside the file that names it."""
        what = f"<{element.tag} file={shown(file)}>"
        for folder in dict.fromkeys((base, document.folder)):
            path = folder / file
            if "\0" in file or not os.path.lexists(path):
                continue
            check_inside(path, self._folders(), self.main.name, what, self.allow_outside)
            if element.tag == "flexcomp":
                return
            key = os.path.realpath(path)
            if key in self._seen and element.tag == "model":
                return
            if key in self._seen or key == os.path.realpath(self.main.path or ""):
                raise document.error(f"{what}: it is included already", element)
            self._seen.add(key)
            check_limit(self.main.name, "files that it includes", len(self._seen), FILES)
            part = read_document(path)
            self._check(part, base if element.tag == "include" else path.parent, times)
            return

    def _note_asset(self, file: str, folders: list[Path]) -> None:
        for folder in folders:
            real = Path(os.path.realpath(folder / file))
            special = os.path.lexists(real) and not real.is_file()
            if special or not any(real.is_relative_to(own) for own in self._folders()):
                self.outside[file] = folder / file

    def _folders(self) -> list[Path]:
        """Where the main file is, and where it really is if it is a link."""
        found = [self.main.folder]
        if self.main.path is not None:
            found.append(Path(os.path.realpath(self.main.path)).parent)
        return [Path(os.path.realpath(folder)) for folder in found]


def _asset_folders(document: Document, base: Path) -> list[Path]:
    """Where meshes and textures may be."""
    named = {
        element.get(key) for element in document.root.iter("compiler") for key in ("meshdir", "assetdir", "texturedir")
    }
    return [base, *(base / name for name in sorted(name for name in named if name and "\0" not in name))]


def _check_texts(document: Document, element: Any) -> None:
    for attribute, text in element.attrib.items():
        if "%" in text and attribute not in _TEXTS:
            raise document.error(
                f"{attribute}={shown(text)} of <{element.tag}>: MuJoCo does not bear a percent sign in names", element
            )
        if attribute != "name" and _NAN.search(text):
            raise document.error(f"{attribute}={shown(text)} of <{element.tag}>: expected numbers", element)


def _check_sizes(document: Document, element: Any) -> None:
    if element.tag in _CELLS:
        numbers = [_product(element.get(key)) for key in _CELLS[element.tag]]
        check_limit(document.name, f"cells of a <{element.tag}>", prod(numbers), CELLS)
    if element.tag == "size":
        for attribute, text in element.attrib.items():
            found = plain_numbers(text, 1)
            if attribute != "memory" and found is not None:
                check_limit(document.name, f"{attribute} of <size>", found[0], _MOST_NUMBER)


def _product(text: str | None) -> float:
    """Of the numbers in an attribute; 1 where there are none. MuJoCo says what is wrong with them."""
    numbers = plain_numbers(text, len((text or "").split())) or ()
    return prod(max(1.0, number) for number in numbers)
