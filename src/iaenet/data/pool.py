"""The same work in other processes: on this machine, or on a Dask cluster."""

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import joblib
from joblib.externals.loky import ProcessPoolExecutor

from iaenet.errors import InvalidInputError

Pool = Callable[[Callable[[int], Any], Sequence[int]], Iterator[Any]]

# Linear algebra rounds differently on two threads than on one.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def pool(workers: int = 1, backend: Literal["dask"] | None = None, scheduler: str | None = None) -> Pool:
    """A function that gives `task(i)` for all i, in whatever order they are finished.

    Work is never done in this process, even for one worker: its linear algebra may use several threads, and would round
    differently. Dask workers use one thread each if they are started by `dask worker` as usual (by a nanny).

    >>> sorted(pool(1)(abs, [-1, 2]))
    [1, 2]
    """
    if backend not in (None, "dask"):
        raise InvalidInputError(f"backend must be 'dask' or left out, got {backend!r}")
    if scheduler is not None and backend != "dask":
        raise InvalidInputError("a scheduler belongs to backend 'dask'; ask for that, too")

    def results(task: Callable[[int], Any], numbers: Sequence[int]) -> Iterator[Any]:
        if not numbers:
            return
        try:
            if backend == "dask":
                yield from _on_dask(task, numbers, workers, scheduler)
            elif workers == 1:
                yield from _in_one_process(task, numbers)
            else:
                watched = {"initializer": _end_with, "initargs": (os.getpid(),)}
                with joblib.parallel_config(backend="loky", inner_max_num_threads=1, **watched):
                    yield from _unordered(task, numbers, workers)
        except BrokenExecutor:
            raise ChildProcessError(
                "a worker process was ended from outside, perhaps for lack of memory; "
                "repeat the command, with fewer workers, and it goes on"
            ) from None

    return results


def _in_one_process(task: Callable[[int], Any], numbers: Sequence[int]) -> Iterator[Any]:
    # joblib.Parallel would do the work of one worker in this process.
    executor = _executor(os.getpid())
    rest = iter(numbers)
    waiting = deque(executor.submit(task, i) for i in islice(rest, 2))
    try:
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(executor.submit(task, i) for i in islice(rest, 1))
    except BaseException:
        _executor.cache_clear()
        # The thread that manages the worker fails, and never ends, if work is on its way when the worker is killed.
        while not all(future.running() or future.done() for future in waiting):
            time.sleep(0.01)
        executor.shutdown(kill_workers=True)
        raise


@lru_cache(maxsize=1)
def _executor(process: int) -> ProcessPoolExecutor:
    """One worker for all calls in this process, since it takes seconds to start; it ends after a minute of rest."""
    return ProcessPoolExecutor(max_workers=1, timeout=60, env=ONE_THREAD, initializer=_end_with, initargs=(process,))


def _unordered(task: Callable[[int], Any], numbers: Sequence[int], workers: int) -> Iterator[Any]:
    parallel = joblib.Parallel(n_jobs=workers, return_as="generator_unordered", max_nbytes=None)
    results = parallel(joblib.delayed(task)(i) for i in numbers)
    try:
        for result in results:  # noqa: UP028  `yield from` would close it outside of the block below
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that work was given up is meant so
            results.close()


def _end_with(parent: int) -> None:
    """End this process when its parent has ended; after SIGKILL it would wait for work for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_dask(task: Callable[[int], Any], numbers: Sequence[int], workers: int, scheduler: str | None) -> Iterator[Any]:
    try:
        from dask.distributed import Client, LocalCluster
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
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield from _unordered(task, numbers, -1)
