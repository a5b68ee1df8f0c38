"""The threads that share the work of a batch.

Handing work to a sleeping thread takes 100 to 200 us where the operating system must wake a core first: as long as two
hundred states of a humanoid. So a thread that has finished looks out for more work for a moment before it goes to
sleep, in native code, without holding Python's lock; while it looks, work is handed over by writing to its *mailbox*,
in less than a microsecond.

A mailbox is three cache lines: what its owner writes to begin, the job, what the thread answers. The owner adds one to
`posted`, then looks whether the thread sleeps; the thread says that it will sleep, then looks at `posted` once more.
All cores agree on the order of these, so one of the two notices the other.

On a busy machine, a thread may not get a core before all pieces are done. So a job must be *taken* before it is done:
by its thread, or, when nothing is left to do, by its owner, who then does not wait for the thread.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import threading
import time
from collections.abc import Sequence

from sarrus.codegen.emit import host
from sarrus.codegen.emit.memory import CACHE_LINE, address_of, aligned
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.runtime.module import load_module

MOST_THREADS = max(64, os.cpu_count() or 1)  # of one call, however many are asked for
PIECES = 64  # per thread: small ones, so that all threads end together
LOOKS = 100_000  # of a thread that has nothing to do, before it sleeps: a few milliseconds
_POSTED, _ASLEEP, _JOB, _DONE, _TAKEN = 0, 8, CACHE_LINE, 2 * CACHE_LINE, 2 * CACHE_LINE + 8  # bytes into a mailbox
_MAILBOX = 3 * CACHE_LINE


def share(function: int, arguments: Sequence[tuple[int, int, int, int]], count: int, lanes: int) -> None:
    """function(a, b, first, n, c, d) for all of the states 0 .. count - 1, in pieces of whole blocks of lanes.

    There is one tuple (a, b, c, d) per thread to use, this one first. A thread takes a piece at a time until none are
    left: a core that something else slows down then does less of the work, and so does a thread that there is not.
    """
    piece = max(1, -(-count // lanes) // (PIECES * len(arguments))) * lanes
    board = _Board()
    shared = ctypes.addressof(board), count, piece
    free = _free_workers(os.getpid())
    workers: list[_Worker] = []
    try:
        for words in arguments[1:]:
            worker = _free_or_new(free)
            if worker is None:
                break
            workers.append(worker)
            worker.begin(function, *words, *shared)
        board.job[:] = function, *arguments[0], *shared
        _native().work(shared[0] + _Board.job.offset)
    finally:
        try:
            _wait_for(workers)
        finally:
            free += workers


def _free_or_new(free: list[_Worker]) -> _Worker | None:
    """None if the system starts no more threads."""
    try:
        return free.pop()  # atomic, as is append
    except IndexError:
        try:
            return _Worker()
        except RuntimeError:
            return None


def _wait_for(workers: list[_Worker]) -> None:
    """Until all are done, however often one is interrupted: they read and write the caller's arrays."""
    try:
        for worker in workers:
            worker.wait()
    except BaseException:
        _wait_for(workers)
        raise


class _Board(ctypes.Structure):
    """What the threads share, and this one's own job."""

    _fields_ = [("next", ctypes.c_int64), ("job", ctypes.c_int64 * 8)]  # next: the first state that nobody has taken


@functools.cache
def _free_workers(process: int) -> list[_Worker]:
    """Threads without work. A forked child has none of its parent's, hence one list per process."""
    return []


class _Worker:
    """A thread and its mailbox."""

    def __init__(self) -> None:
        self._memory = aligned(_MAILBOX)
        self._memory[:] = 0
        self._mailbox = address_of(self._memory)
        self._job = (ctypes.c_int64 * 8).from_address(self._mailbox + _JOB)
        self._bell = threading.Semaphore(0)
        threading.Thread(target=self._live, name="sarrus", daemon=True).start()

    def _live(self) -> None:
        while True:
            _native().serve(self._mailbox, LOOKS)
            self._bell.acquire()

    def begin(self, *job: int) -> None:
        self._job[:] = job
        if _native().post(self._mailbox):
            self._bell.release()

    def wait(self) -> None:
        """Until the job is done, if it was begun; otherwise it never will be.

        (A thread that does not get a core may take long: then do not keep it from one.)
        """
        if _native().withdraw(self._mailbox):
            return
        while not _native().look(self._mailbox, LOOKS):
            time.sleep(0)


class _Native:
    """What runs outside Python's lock."""

    def __init__(self) -> None:
        names = ["work", "serve", "post", "withdraw", "look"]
        address = load_module("crew", platform.machine(), _emit, names)
        i64, pointer = ctypes.c_int64, ctypes.c_void_p
        self.work = ctypes.CFUNCTYPE(None, pointer)(address["work"])
        self.serve = ctypes.CFUNCTYPE(None, pointer, i64)(address["serve"])
        self.post = ctypes.CFUNCTYPE(i64, pointer)(address["post"])
        self.withdraw = ctypes.CFUNCTYPE(i64, pointer)(address["withdraw"])
        self.look = ctypes.CFUNCTYPE(i64, pointer, i64)(address["look"])


@functools.cache
def _native() -> _Native:
    return _Native()


def _emit() -> str:
    is_x86 = host.is_x86()
    pause = "call void @llvm.x86.sse2.pause()" if is_x86 else ""  # lets the other thread of this core work
    declaration = "declare void @llvm.x86.sse2.pause()" if is_x86 else ""
    functions = [_emit_work(), _emit_serve(pause), _emit_post(), _emit_withdraw(), _emit_look(pause)]
    return "\n".join([declaration, *functions])


def _emit_work() -> str:
    """`work(job)`: take pieces until none are left."""
    w = Writer("void @work(ptr %job)")
    words = [w.value(f"load i64, ptr {w.offset('%job', 8 * k)}, align 8") for k in range(8)]
    function, following = (w.value(f"inttoptr i64 {words[k]} to ptr") for k in (0, 5))
    a, b, c, d = words[1:5]
    count, piece = words[6:]
    w.do("br label %take")
    w.label("take")
    first = w.value(f"atomicrmw add ptr {following}, i64 {piece} monotonic")
    w.do(f"br i1 {w.value(f'icmp ult i64 {first}, {count}')}, label %some, label %none")
    w.label("some")
    left = w.value(f"sub i64 {count}, {first}")
    whole = w.value(f"icmp ult i64 {piece}, {left}")
    mine = w.value(f"select i1 {whole}, i64 {piece}, i64 {left}")
    w.do(f"call void {function}(i64 {a}, i64 {b}, i64 {first}, i64 {mine}, i64 {c}, i64 {d})")
    w.do("br label %take")
    w.label("none")
    return w.finish()


def _emit_serve(pause: str) -> str:
    """`serve(mailbox, looks)`: do the jobs that arrive, unless they were withdrawn; return, asleep, when so many looks
    have found none."""
    w = Writer("void @serve(ptr %box, i64 %looks)")
    posted, asleep, job, done = (w.offset("%box", place) for place in (_POSTED, _ASLEEP, _JOB, _DONE))
    w.do(f"store atomic i64 0, ptr {asleep} seq_cst, align 8")
    w.do("br label %rest")
    w.label("rest")
    last = w.value(f"load i64, ptr {done}, align 8")
    w.do("br label %look")
    w.label("look")
    w.do("%n = phi i64 [%looks, %rest], [%less, %none]")
    now = w.value(f"load atomic i64, ptr {posted} acquire, align 8")
    w.do(f"br i1 {w.value(f'icmp eq i64 {now}, {last}')}, label %none, label %some")
    w.label("none")
    w.do(pause)
    w.do("%less = sub i64 %n, 1")
    w.do(f"br i1 {w.value('icmp eq i64 %less, 0')}, label %tired, label %look")
    w.label("tired")
    w.do(f"store atomic i64 1, ptr {asleep} seq_cst, align 8")
    again = w.value(f"load atomic i64, ptr {posted} seq_cst, align 8")
    w.do(f"br i1 {w.value(f'icmp eq i64 {again}, {last}')}, label %sleep, label %woken")
    w.label("woken")
    w.do(f"store atomic i64 0, ptr {asleep} seq_cst, align 8")
    w.do("br label %some")
    w.label("some")
    w.do(f"%mine = phi i64 [{now}, %look], [{again}, %woken]")
    w.do(f"br i1 {_take(w, '%mine')}, label %mine_to_do, label %over")
    w.label("mine_to_do")
    w.do(f"call void @work(ptr {job})")
    w.do("br label %over")
    w.label("over")
    w.do(f"store atomic i64 %mine, ptr {done} release, align 8")
    w.do("br label %rest")
    w.label("sleep")
    return w.finish()


def _emit_post() -> str:
    """`post(mailbox)`: the job is there to be done; returns 1 if the thread must be woken for it."""
    w = Writer("i64 @post(ptr %box)")
    w.value("atomicrmw add ptr %box, i64 1 seq_cst")
    asleep = w.value(f"load atomic i64, ptr {w.offset('%box', _ASLEEP)} seq_cst, align 8")
    return w.finish(f"ret i64 {asleep}")


def _emit_withdraw() -> str:
    """`withdraw(mailbox)`: 1 if the thread has not taken the last job, and now never will."""
    w = Writer("i64 @withdraw(ptr %box)")
    posted = w.value("load i64, ptr %box, align 8")
    return w.finish(f"ret i64 {w.value(f'zext i1 {_take(w, posted)} to i64')}")


def _take(w: Writer, number: str) -> str:
    """Whether nobody else has taken the job with this number: each is taken once, in their order."""
    before = w.value(f"sub i64 {number}, 1")
    tried = w.value(f"cmpxchg ptr {w.offset('%box', _TAKEN)}, i64 {before}, i64 {number} seq_cst seq_cst, align 8")
    return w.value(f"extractvalue {{ i64, i1 }} {tried}, 1")


def _emit_look(pause: str) -> str:
    """`look(mailbox, looks)`: 1 as soon as the job is done, 0 when so many looks have found it unfinished."""
    w = Writer("i64 @look(ptr %box, i64 %looks)")
    posted = w.value("load i64, ptr %box, align 8")
    done = w.offset("%box", _DONE)
    w.do("br label %look")
    w.label("look")
    w.do("%n = phi i64 [%looks, %entry], [%less, %none]")
    now = w.value(f"load atomic i64, ptr {done} acquire, align 8")
    w.do(f"br i1 {w.value(f'icmp eq i64 {now}, {posted}')}, label %finished, label %none")
    w.label("none")
    w.do(pause)
    w.do("%less = sub i64 %n, 1")
    w.do(f"br i1 {w.value('icmp eq i64 %less, 0')}, label %unfinished, label %look")
    w.label("finished")
    w.do("ret i64 1")
    w.label("unfinished")
    return w.finish("ret i64 0")
