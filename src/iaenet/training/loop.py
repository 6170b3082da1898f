"""The training loop.

A step takes a batch of functions, on whatever points, and lowers (eq. loss)

    L(Psi f, g) + lambda L(Psi I_T f, I_T g),      L the relative L2 error in the data's own units, or a loss of yours.

All random numbers follow from the seed and the step, so that a run which was stopped resumes as if it had not been: bit
for bit on a CPU with the same number of threads.
"""

import copy
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import torch

from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError, pass_on_lack_of_memory
from iaenet.functions.devices import place
from iaenet.functions.metrics import relative_l2
from iaenet.functions.seeds import derived_seed, stream
from iaenet.models.inference import infer
from iaenet.models.operator import Operator
from iaenet.outside import document
from iaenet.training.batches import Samples, batches
from iaenet.training.checkpoint import Tensors, flatten_optimizers, restore_optimizers
from iaenet.training.config import TrainConfig
from iaenet.training.distributed import Distributed
from iaenet.training.found_symmetries import is_time, overfits, symmetries_of
from iaenet.training.horizon import EVERY, Horizon, budget_of
from iaenet.training.loggers import Logger, recording
from iaenet.training.losses import Loss, losses_of
from iaenet.training.optim import Rate, make_optimizers
from iaenet.training.run_folder import RunFolder
from iaenet.training.signals import interrupts, stopped

Progress = Callable[[int, int, str], None]


@dataclass
class State:
    """Where a training stands; with weights and optimizer, all that is needed to resume."""

    step: int = 0  # steps done
    epoch: int = 0  # epochs finished
    position: int = 0  # batches done in the present epoch
    loss: float = 0.0  # sum of the losses of the samples seen in it
    seen: int = 0
    best: float = math.inf  # lowest validation error
    best_epoch: int = 0
    seconds: float = 0.0
    rate: dict[str, float] = field(default_factory=dict)
    horizon: dict[str, Any] = field(default_factory=dict)  # of a budget
    validated: float = 0.0  # how far it was at the last validation
    # Epochs that are planned, of which a finished run may get more, with a schedule that begins anew at this step.
    plan: dict[str, int] = field(default_factory=lambda: {"epochs": 0, "first_step": 0, "first_epoch": 0})
    symmetries: list[str] | None = None  # of the problem, found by the way; None before they were looked for
    history: list[dict[str, float]] = field(default_factory=list)


def train(
    operator: Operator,
    training: Samples,
    validation: Samples,
    config: TrainConfig,
    folder: RunFolder,
    team: Distributed,
    progress: Progress | None = None,
    spent: float = 0.0,
    loss: Loss | None = None,
    loggers: Sequence[Logger] = (),
) -> State:
    """Train `operator` in place, from the newest checkpoint in the folder if there is one.

    `spent` are the seconds of the budget that went by before. `loss` replaces the relative L2 error.
    """
    place(operator, team.device)
    training, validation = training.to(team.device), validation.to(team.device)
    optimizers = make_optimizers(operator, config.optimizer)
    mean = copy.deepcopy(operator) if config.optimizer.ema else operator  # what is validated and kept
    turns = config.epochs_per_resolution if config.sampling == "sequential" else 0
    seconds, clock = budget_of(config.budget)

    def order_of(epoch: int) -> list[list[int]]:
        return batches(
            training,
            epoch,
            batch_size=config.batch_size,
            seed=config.seed,
            epochs=0 if seconds else config.epochs,
            epochs_per_resolution=turns,
        )

    state = _restore(folder, operator, mean, optimizers) if folder.has("step") else State()
    if 0 < state.plan["epochs"] < config.epochs:
        state.plan, state.rate = {"first_step": state.step, "first_epoch": state.epoch}, {}
    state.plan["epochs"] = config.epochs
    first_step, epochs = state.plan["first_step"], range(state.plan["first_epoch"], config.epochs)
    # Without turns all epochs have as many steps.
    steps = 0 if seconds else sum(map(len, map(order_of, epochs))) if turns else len(epochs) * len(order_of(0))
    rate = Rate(config.schedule, steps)
    rate.state |= state.rate
    network, *prepared = team.engine.prepare(operator, *optimizers)
    network = torch.compile(network) if team.compile else network
    for parameter in operator.parameters():  # a first step, also one after a stop, must find what every step finds
        parameter.grad = torch.zeros_like(parameter)
    document = operator.to_json()
    begin, saved, known = clock() - spent - state.seconds, time.monotonic(), (state.step, state.epoch)
    horizon = (
        Horizon(seconds, folder.read_pace(), lambda n: round(team.total(n * team.is_main, 0)[0])) if seconds else None
    )
    if horizon is not None and state.horizon:
        horizon.restore(state.horizon)
    if team.is_main:
        folder.rewind(state.epoch)

    def lr_at(step: int) -> float:
        share = rate.at(step - first_step) if horizon is None else rate.along(horizon.progress)
        return config.optimizer.lr * share

    def save() -> None:
        nonlocal saved, known
        state.seconds, state.rate, saved = clock() - begin, rate.state, time.monotonic()
        state.horizon = {} if horizon is None else horizon.state
        if team.is_main and known != (state.step, state.epoch):
            parts = {"weights": operator.state_dict(), "optimizer": flatten_optimizers(optimizers)}
            parts |= {"mean": mean.state_dict()} if config.optimizer.ema else {}
            folder.save("step", state.step, {"training": asdict(state), "operator": document}, **parts)
        known = state.step, state.epoch

    def stop_if(requested: int) -> None:
        if requested:
            save()
            team.wait()  # a launcher ends all processes as soon as one has ended
            raise stopped(requested, state.step)

    def way() -> float:
        return (state.step - first_step) / max(steps, 1) if horizon is None else horizon.progress

    looks = "auto" in config.augment.symmetries and config.augment.steps == 1 and loss is None
    settings = {"model": document["model"], **asdict(config)}
    recorder = recording(loggers if team.is_main else (), folder.path, settings, state.step)
    with recorder as record, interrupts() as stop, torch.random.fork_rng(devices=[]):
        while not (state.epoch >= config.epochs if horizon is None else horizon.over) and not early_stop(
            state, config.patience
        ):
            order = order_of(state.epoch)
            learnt = config.but(augment={"symmetries": config.augment.known_symmetries + (state.symmetries or [])})
            operator.train()
            for indices in order[state.position :]:
                torch.manual_seed(derived_seed(config.seed, "network", state.step, team.rank))  # dropout
                mine = team.share(indices)
                chance = stream(config.seed, "augment", state.step)
                losses = losses_of(network, training, mine.indices, learnt, chance, loss)
                team.engine.backward(mine.scale * losses.sum() / len(indices))
                total, requested = team.total(mine.scale_of(losses), stop.signal)
                _check(total, "loss", state.step + 1, state.epoch)
                norm = team.engine.clip_grad_norm_(operator.parameters(), config.optimizer.clip or math.inf)
                _check(float(norm), "gradient", state.step + 1, state.epoch)
                for optimizer in prepared:
                    for group in optimizer.param_groups:
                        group["lr"] = lr_at(state.step)
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=False)  # fresh memory is expensive
                _average(mean, operator, config.optimizer.ema)
                if horizon is not None and horizon.advance(state.step, clock() - begin) and team.is_main:
                    folder.write_json("pace.json", {str(step): left for step, left in horizon.known.items()})
                state.step, state.position = state.step + 1, state.position + 1
                state.loss, state.seen = state.loss + total, state.seen + len(indices)
                if progress is not None:
                    ahead = first_step + steps if horizon is None else state.step + horizon.left
                    progress(state.step, ahead, _note(state))
                record(state.step, {"batch_loss": total / len(indices), "lr": lr_at(state.step - 1)})
                stop_if(requested)
                if time.monotonic() - saved >= config.save_seconds:
                    save()
                if horizon is not None and horizon.over:
                    break
            if horizon is not None and not horizon.over and horizon.progress - state.validated < EVERY:
                state.epoch, state.position = state.epoch + 1, 0  # so many short passes need not all be validated
                continue
            before, state.validated = state.validated, way()
            error = _validate(mean, validation, team, config, lambda: stop_if(team.total(0.0, stop.signal)[1]))
            _check(error, "validation error", state.step, state.epoch)
            _finish_epoch(state, error, lr_at(state.step - 1))
            rate.epoch(state.history[-1]["loss"])
            if (
                looks
                and state.symmetries is None
                and is_time(before, state.validated)
                and overfits(mean, training, error)
            ):
                state.symmetries = symmetries_of(mean, validation, folder if team.is_main else None)
            record(state.step, {name: state.history[-1][name] for name in ("epoch", "loss", "validation")})
            if team.is_main:
                folder.append_log({**state.history[-1], "seconds": round(clock() - begin, 3)})
                if state.best_epoch == state.epoch:
                    best = {"epoch": state.epoch, "error": error, "operator": document}
                    folder.save("best", state.step, best, weights=mean.state_dict())
        save()
    return state


def _validate(
    operator: Operator, samples: Samples, team: Distributed, config: TrainConfig, poll: Callable[[], None]
) -> float:
    """Mean error of the samples, of which each process takes a part; `poll` is called after each batch."""
    total, count = 0.0, 0
    size = 2 * config.batch_size * team.size
    for start in range(0, len(samples), size):
        indices = list(range(start, min(start + size, len(samples))))[team.rank :: team.size]
        pairs = samples.take(indices)
        found = infer(
            operator, [given for given, _ in pairs], [wanted.discretization for _, wanted in pairs], check=False
        )
        for one, (_, wanted) in zip(found, pairs, strict=True):
            errors = relative_l2(one, wanted.to("cpu"), by_channel=config.optimizer.loss == "channels")
            total, count = total + float(errors.sum()), count + len(errors)
        poll()
    return team.mean(total, count)


def _finish_epoch(state: State, error: float, rate: float) -> None:
    state.epoch, state.position = state.epoch + 1, 0
    if error < state.best:
        state.best, state.best_epoch = error, state.epoch
    loss = state.loss / state.seen
    state.history.append({"epoch": state.epoch, "step": state.step, "loss": loss, "validation": error, "lr": rate})
    state.loss, state.seen = 0.0, 0


def early_stop(state: State, patience: int) -> bool:
    """Whether there was no better validation error for too long."""
    return 0 < patience <= state.epoch - max(state.best_epoch, state.plan["first_epoch"])


@torch.no_grad()
def _average(mean: Operator, operator: Operator, decay: float) -> None:
    if decay:
        torch._foreach_lerp_(list(mean.parameters()), list(operator.parameters()), 1 - decay)
        for kept, new in zip(mean.buffers(), operator.buffers(), strict=True):
            kept.copy_(new)


def _restore(folder: RunFolder, operator: Operator, mean: Operator, optimizers: list[torch.optim.Optimizer]) -> State:
    found, parts = folder.newest("step")
    training: dict[str, Any] = found.get("training", {})
    finite = json.loads(json.dumps(training), parse_constant=lambda _: 0.0)  # the best error is infinite at first
    document(State, finite, folder.checkpoints, more=False)
    lacking = [one.name for one in fields(State) if one.name not in training]
    if lacking:
        raise CorruptFileError(f"{folder.checkpoints} is damaged, or of another version of iaenet: no {lacking[0]}")
    state = State(**training)
    set_weights(operator, parts.get("weights", {}), folder)
    if mean is not operator:
        set_weights(mean, parts.get("mean", {}), folder)
    try:
        restore_optimizers(optimizers, parts.get("optimizer", {}))
    except (ValueError, LookupError, TypeError, RuntimeError) as error:
        pass_on_lack_of_memory(error)
        raise CorruptFileError(f"{folder.checkpoints}: the optimizer is of another training: {error}") from None
    return state


def set_weights(operator: Operator, weights: Tensors, folder: RunFolder) -> None:
    """Give a network the weights of a checkpoint; an error if they are of another one."""
    try:
        operator.load_state_dict(weights)
    except RuntimeError as error:
        pass_on_lack_of_memory(error)
        raise InvalidInputError(
            f"{folder.path} was trained with another network than this: {str(error)[:300]}"
        ) from None


def _check(value: float, what: str, step: int, epoch: int) -> None:
    if not math.isfinite(value):
        raise DivergedError(
            f"the {what} is {value} at step {step} (epoch {epoch + 1}); the last checkpoint is kept. "
            "Lower optimizer.lr, or set clip"
        )


def _note(state: State) -> str:
    validation = f", validation {state.history[-1]['validation']:.3g}" if state.history else ""
    return f"epoch {state.epoch + 1}, loss {state.loss / max(state.seen, 1):.3g}{validation}"
