"""One model and one data file, used by threads and processes at the same time: the same results as alone."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import torch

from iaenet import load, load_dataset
from tests.trainings import PROCESSES


def results(run, data):
    """A hash of all predictions."""
    torch.set_num_threads(1)
    dataset, operator = load_dataset(data), load(run)
    return digest(operator, dataset)


def digest(operator, dataset):
    found = hashlib.sha256()
    for i in range(len(dataset)):
        found.update(operator.predict(dataset[i][0]).values.numpy().tobytes())
    return found.hexdigest()


def test_two_threads_and_four_processes(here):
    alone = results("run", "waves.h5")
    operator, dataset = load("run"), load_dataset("waves.h5")
    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(lambda _: digest(operator, dataset), range(4))) == {alone}
    with PROCESSES.Pool(4) as pool:
        assert set(pool.starmap(results, [(here / "run", here / "waves.h5")] * 4)) == {alone}
