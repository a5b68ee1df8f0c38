"""Every exception that Sarrus raises on purpose. Each names the culprit and, if there are any, the valid choices.

>>> issubclass(sarrus.errors.StateError, ValueError)
True
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class SarrusError(Exception):
    """Base class: `except sarrus.errors.SarrusError` catches everything below."""


class ModelError(SarrusError, ValueError):
    """A mechanism that cannot exist: bad topology, negative mass, ill-posed dynamics."""


class NameClashError(ModelError):
    """Two things of one kind have the same name."""


class UnknownNameError(SarrusError, KeyError):
    """A name that the model does not have."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])


class InertiaError(ModelError):
    """A mass or inertia that no distribution of mass has."""


class IllPosedError(ModelError):
    """A joint that moves no inertia: its acceleration is undefined."""


class ImportFileError(SarrusError, ValueError):
    """A robot file that is missing, malformed or asks for what no model can be."""


class StateError(SarrusError, ValueError):
    """An array of the wrong size or type, a number that is not finite, a quaternion that is not of length one."""


class AssemblyError(StateError):
    """No configuration meets the constraints, or none was found."""


class UnsupportedError(SarrusError, ValueError):
    """A method was asked for what it does not do."""


class MissingDependencyError(SarrusError, ImportError):
    """An optional package is needed for this and is not installed."""


class CacheWarning(UserWarning):
    """A cached kernel could not be used and was compiled again, or kernels are not kept on disk; and why."""


class RankWarning(UserWarning):
    """Whether rows depend on each other was decided by a small number."""


def unknown_name(kind: str, name: object, valid: Iterable[str]) -> UnknownNameError:
    """An error that says what was asked for, what is closest and what there is."""
    names = [str(v) for v in valid]
    asked = str(name).lower()
    longer = [known for known in names if len(asked) > 1 and asked in known.lower()]  # "hyq" of "hyq_no_sensors"
    close = get_close_matches(str(name), names, n=1) or longer
    hint = f" Did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(names[:40]) + (f", ... ({len(names)} in all)" if len(names) > 40 else "")
    return UnknownNameError(f"unknown {kind} {name!r}.{hint} Valid: {shown or 'none'}")


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first few of them, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def check_name(kind: str, name: object, valid: Collection[str]) -> None:
    """Raise the error of `unknown_name` unless the name is among the valid ones."""
    if name not in valid:
        raise unknown_name(kind, name, valid)


def optional_package(module: str, purpose: str, install: str) -> Any:
    """A module of a package that not everybody has installed; the error says what needs it, and what to install."""
    try:
        import_module(module.partition(".")[0])  # a package may be blocked whose parts are loaded
        return import_module(module)
    except ImportError:
        raise MissingDependencyError(f"{purpose}: pip install {install}") from None
