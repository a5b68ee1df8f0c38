"""lxml's names that Sarrus uses. Its modules are compiled and ship no types: a name not written here is an error."""

from typing import Any

class ErrorTypes:
    NS_ERR_UNDEFINED_NAMESPACE: int

class _LogEntry:
    type: int
    line: int
    message: str

class XMLParser:
    error_log: list[_LogEntry]
    def __init__(
        self,
        *,
        encoding: str | None = None,
        no_network: bool = True,
        recover: bool = False,
        remove_comments: bool = False,
        remove_pis: bool = False,
        resolve_entities: bool = True,
    ) -> None: ...

# An element is Any: its methods take XPath, and what they give depends on it.
def fromstring(text: bytes | str, parser: XMLParser | None = None) -> Any: ...
def tostring(element: Any, *, encoding: str | None = None) -> str: ...
