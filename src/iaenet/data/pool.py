"""The same work in other processes: on this machine, or on a Dask cluster."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import ExitStack
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from loky import ProcessPoolExecutor

from iaenet.errors import InvalidInputError

Pool = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]  # of things that can be ordered

# Linear algebra rounds differently on two threads than on one.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def pool(workers: int = 1, backend: Literal["dask"] | None = None, scheduler: str | None = None) -> Pool:
    """A function that gives `task(i)` for all i, in whatever order they are finished.

    There are never more workers than the machine has use for. Work is never done in this process, even for one worker:
    its linear algebra may use several threads, and would round differently. Dask workers use one thread each if they
    are started by `dask worker` as usual (by a nanny).

    >>> sorted(pool(1)(abs, [-1, 2]))
    [1, 2]
    """
    workers = min(workers, most_workers())
    if backend not in (None, "dask"):
        raise InvalidInputError(f"backend must be 'dask' or left out, got {backend!r}")
    if scheduler is not None and backend != "dask":
        raise InvalidInputError("a scheduler belongs to backend 'dask'; ask for that, too")

    def results(task: Callable[[Any], Any], numbers: Sequence[Any]) -> Iterator[Any]:
        if not numbers:
            return
        try:
            if backend == "dask":
                yield from _on_dask(task, numbers, workers, scheduler)
            else:
                yield from _here(task, numbers, workers)
        except BrokenExecutor:
            raise ChildProcessError(
                "a worker process was ended from outside, perhaps for lack of memory; "
                "repeat the command, with fewer workers, and it resumes"
            ) from None

    return results


def most_workers() -> int:
    """Processes that this machine can use at a time; a few more than cores do no harm.

    >>> most_workers() >= 4
    True
    """
    return max(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _here(task: Callable[[Any], Any], numbers: Sequence[Any], workers: int) -> Iterator[Any]:
    executor = _executor(os.getpid(), workers)
    rest = iter(numbers)
    waiting = {executor.submit(task, i): i for i in islice(rest, 2 * workers)}
    try:
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=waiting.__getitem__):  # one worker gives them in order
                del waiting[future]
                yield future.result()
            waiting |= {executor.submit(task, i): i for i in islice(rest, len(done))}
    except BaseException:
        _executor.cache_clear()
        for future in waiting:
            future.cancel()
        # The thread that manages the workers fails, and never ends, if work is on its way when they are killed.
        while not all(future.running() or future.done() for future in waiting):
            time.sleep(0.01)
        executor.shutdown(kill_workers=True)
        raise


@lru_cache(maxsize=1)
def _executor(process: int, workers: int) -> ProcessPoolExecutor:
    """Workers for all calls in this process, since they take seconds to start; they end after a minute of rest."""
    return ProcessPoolExecutor(workers, timeout=60, env=ONE_THREAD, initializer=_end_with, initargs=(process,))


def _end_with(parent: int) -> None:
    """End this process when its parent has ended; after SIGKILL it would wait for work for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_dask(task: Callable[[Any], Any], numbers: Sequence[Any], workers: int, scheduler: str | None) -> Iterator[Any]:
    try:
        from dask.distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise InvalidInputError("backend 'dask' needs the extra: pip install 'iaenet[cluster]'") from None
    with ExitStack() as stack:
        if scheduler is None:
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            stack.enter_context(cluster)
        try:
            client = stack.enter_context(Client(cluster if scheduler is None else scheduler))
        except OSError as failure:
            raise InvalidInputError(f"no Dask scheduler answers at {scheduler}: {failure}") from None
        waiting = as_completed(client.map(task, list(numbers), pure=False))
        for future in waiting:
            yield future.result()
