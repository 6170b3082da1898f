"""How long a training epoch and an inference take: a row of the paper's table of speed."""

import time
from typing import Any

import torch

from iaenet.experiments.data import made, material
from iaenet.experiments.machine import machine
from iaenet.experiments.plan import Job, digest
from iaenet.experiments.progress import Part
from iaenet.experiments.row import WorkFolder, ideas_of, read_json, write_json
from iaenet.experiments.step_time import step_seconds
from iaenet.models.registry import build

EPOCH = 1000  # samples of an epoch in the published table
ROUNDS = 3  # of inference; the best counts


def time_row(job: Job, work: WorkFolder, part: Part) -> dict[str, Any]:
    """Parameters, seconds for an epoch of 1000 samples, and for all test samples at once; kept once measured."""
    path, key = work.result(job, job.seeds[0]), digest([job.training.name, job.test.name])
    kept = read_json(path)
    if kept is not None and kept.get("key") == key:
        return kept
    training = job.training
    config = training.made(training.rates[0], epochs=1)
    threads = torch.get_num_threads()
    learnt = material(training, work.data, work.workers, part.note)
    given, _ = (
        made(job.test, work.data, work.workers, part.note).select(resolution=job.home).batch(range(job.test.samples[2]))
    )
    part.note("training steps")
    epoch = step_seconds(training, learnt) * EPOCH / config.batch_size
    part.note("inference")
    options = {key: value for key, value in training.model.items() if key != "name"}
    network = build(training.model["name"], [(given, given)], **options)
    torch.set_num_threads(config.threads or threads)
    try:
        spent = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            with torch.no_grad():
                network(given)
            spent.append(time.perf_counter() - begin)
    finally:
        torch.set_num_threads(threads)
    outcome = {
        "key": key,
        "row": job.row,
        "seed": 0,
        "machine": machine(config.threads),
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "ideas": ideas_of(network, config),
        "train": epoch,
        "test": min(spent),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, outcome)
    return outcome
