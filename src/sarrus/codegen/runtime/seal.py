"""Bytes that only this user can have written, for one name only.

A seal is a keyed hash of the name and the bytes. The key is a file of random bytes that only this user can read, made
when it is first needed. So neither a damaged file nor one made by somebody else nor another kernel's is taken for the
right one.
"""

from __future__ import annotations

import hashlib
import os
from hmac import compare_digest

from sarrus.codegen.runtime.private_directory import PrivateDirectory, UntrustedError

KEY_FILE = "seal.key"
_KEY_BYTES = 32
_MAGIC = b"sarrus kernel 2\n"
_HASH_BYTES = 32
NAME_BYTES = 64  # a SHA-256 in hexadecimal
OVERHEAD = len(_MAGIC) + _HASH_BYTES + NAME_BYTES


def sealed(key: bytes, name: str, payload: bytes) -> bytes:
    """The payload with its name and the seal of both in front."""
    body = name.encode() + payload
    return _MAGIC + _hash(key, body) + body


def unsealed(key: bytes, name: str, data: bytes) -> bytes:
    """The payload of `sealed` bytes; UntrustedError if they are not."""
    if len(data) < OVERHEAD or data[: len(_MAGIC)] != _MAGIC:
        raise UntrustedError("damaged, or no kernel of this version")
    start = len(_MAGIC) + _HASH_BYTES
    body = data[start:]
    if not compare_digest(data[len(_MAGIC) : start], _hash(key, body)):
        raise UntrustedError("damaged, or not sealed with this user's key")
    if body[:NAME_BYTES] != name.encode():
        raise UntrustedError("that of another kernel")
    return body[NAME_BYTES:]


def _hash(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=key, digest_size=_HASH_BYTES).digest()


def key_in(directory: PrivateDirectory) -> bytes | None:
    """The key that is there, if any; UntrustedError if others may know it."""
    key = directory.read(KEY_FILE, _KEY_BYTES, secret=True)
    if key is not None and len(key) != _KEY_BYTES:
        raise UntrustedError(f"damaged: {len(key)} bytes long instead of {_KEY_BYTES}")
    return key


def make_key_in(directory: PrivateDirectory) -> bytes | None:
    """A new key, or the one that another process made at the same time."""
    key = os.urandom(_KEY_BYTES)
    try:
        directory.write_first(KEY_FILE, key)
    except FileExistsError:
        pass
    except OSError:  # this file system has no hard links; if two do this at once, the last key is kept
        directory.write(KEY_FILE, key)
    return key_in(directory)
