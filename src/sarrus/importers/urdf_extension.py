"""The YAML beside a URDF of Gepetto's example-parallel-robots: which frames close loops, which joints change type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.errors import ImportFileError, listed, optional_package, unknown_name
from sarrus.importers.document import YAML_BYTES, YAML_DEPTH, as_path, check_limit, read_bytes, reading
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import LoopClosure

_EXTENDED_TYPES = {"3d": "connect", "6d": "weld"}
_READ = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")


@dataclass(frozen=True)
class Extension:
    """What the YAML says."""

    name: str
    closed_loop: tuple[tuple[str, str], ...] = ()
    types: tuple[str, ...] = ()
    motors: tuple[str, ...] = ()
    joint_types: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()  # keys that mean nothing here

    def add_loops(self, builder: ModelBuilder, body_of: Mapping[str, str]) -> None:
        """`body_of` has links, and joints: a joint's name stands for the link that it moves."""
        for k, ((a, b), kind) in enumerate(zip(self.closed_loop, self.types, strict=True)):
            for link in (a, b):
                if link not in body_of:
                    raise ImportFileError(f"{self.name}: closed_loop: {unknown_name('link or joint', link, body_of)}")
            if body_of[a] == body_of[b]:
                raise ImportFileError(f"{self.name}: closed loop {k} is between {a!r} and itself")
            joint = _EXTENDED_TYPES.get(kind.lower())
            if joint is None:
                valid = ", ".join(_EXTENDED_TYPES)
                raise ImportFileError(f"{self.name}: type of closed loop {k}: {kind!r}. Valid: {valid}")
            builder.add_constraint(LoopClosure(f"loop_{k}", body_of[a], body_of[b], joint, source="YAML closed_loop"))
        called = [name for name in body_of if "spherical" in name and name not in self.joint_types]
        if called and not self.joint_types:
            builder.report(
                f"{len(called)} joints are called spherical ({', '.join(called[:3])}, ...), but {Path(self.name).name} "
                f"has no joint_name and joint_type: they stay what the URDF says, and loops through them may not close"
            )
        if self.motors:
            builder.report(f"{len(self.motors)} joints have motors ({', '.join(self.motors)}): not represented")
        if self.ignored:
            builder.report(f"{len(self.ignored)} keys of {Path(self.name).name} ({listed(self.ignored)}): ignored")

    def report_unknown(self, builder: ModelBuilder, joints: Mapping[str, Any]) -> None:
        """Joints that are to change their type and do not exist: a published robot has one, misspelt in its URDF."""
        for name in self.joint_types:
            if name not in joints:
                builder.report(f"{Path(self.name).name}: joint_name: {unknown_name('joint', name, joints)}", lost=True)

    def joint(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """What this joint is instead of what the URDF says: its type and axes."""
        kind = self.joint_types.get(name)
        if kind is None:
            return None
        if kind.startswith("UJOINT_") and len(kind) == 9 and set(kind[7:]) <= set("XYZ") and kind[7] != kind[8]:
            first, second = (np.eye(3)["XYZ".index(letter)] for letter in kind[7:])
            return "universal", {"axis": first, "second_axis": second}
        if kind in ("SPHERICAL", "FIXED"):
            return kind.lower(), {}
        raise ImportFileError(
            f"{self.name}: joint_type of {name!r}: {kind!r}. Valid: SPHERICAL, FIXED, UJOINT_XY (any two axes)"
        )


def read_extension(path: str | PathLike[str]) -> Extension:
    """Read the YAML beside a URDF of example-parallel-robots."""
    file = as_path(path)
    with reading(str(file)):
        content = _read_mapping(file)
        loops = []
        for pair in _list(file, content, "closed_loop"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise ImportFileError(f"{file}: closed_loop: expected pairs of names, got {pair!r}")
            loops.append((_word(file, "closed_loop", pair[0]), _word(file, "closed_loop", pair[1])))
        types, motors, names, kinds = (
            tuple(_word(file, key, x) for x in _list(file, content, key))
            for key in ("type", "name_mot", "joint_name", "joint_type")
        )
        if len(loops) != len(types) or len(names) != len(kinds):
            raise ImportFileError(
                f"{file}: closed_loop and type, and joint_name and joint_type, must have equal lengths"
            )
        if len(set(names)) < len(names):
            raise ImportFileError(f"{file}: joint_name names a joint twice")
        ignored = tuple(key for key in content if key not in _READ)
        return Extension(str(file), tuple(loops), types, motors, dict(zip(names, kinds, strict=True)), ignored)


def _read_mapping(file: Path) -> dict[str, Any]:
    """The file as mappings, lists and words: no anchors, no tags, no types guessed from how a word looks."""
    yaml = optional_package("yaml", "reading YAML needs pyyaml", "pyyaml")
    text = _text(file)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):  # not recursive, and nothing is expanded yet
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ImportFileError(f"{file}: anchors and aliases (&, *) are not read")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            check_limit(str(file), "depth of nesting", depth, YAML_DEPTH)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ImportFileError(f"{file}: malformed YAML: {error}") from error
    content = {} if root is None else _plain(file, root)
    if content == "":  # only comments, or null
        return {}
    if not isinstance(content, dict):
        raise ImportFileError(f"{file}: expected keys and values ({', '.join(_READ)}), not {type(content).__name__}")
    return content


def _text(file: Path) -> str:
    try:
        return read_bytes(file, YAML_BYTES, may_be_empty=True).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFileError(f"{file}: this is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _plain(file: Path, node: Any) -> Any:
    """A node of YAML as a word, a list or a mapping."""
    if node.id == "scalar":
        return "" if node.tag.endswith(":null") else str(node.value)
    if node.id == "sequence":
        return [_plain(file, part) for part in node.value]
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = _plain(file, key)
        if not isinstance(name, str):
            raise ImportFileError(f"{file}, line {key.start_mark.line + 1}: a key must be a word")
        if name in found:
            raise ImportFileError(f"{file}, line {key.start_mark.line + 1}: there is already a key {name!r}")
        found[name] = _plain(file, value)
    return found


def _list(file: Path, content: dict[str, Any], key: str) -> list[Any]:
    value = content.get(key) or []
    if not isinstance(value, list):
        raise ImportFileError(f"{file}: {key}: expected a list, got {value!r}")
    return value


def _word(file: Path, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ImportFileError(f"{file}: {key}: expected names, got {value!r}")
    return value
