"""Optimisers and learning rates against independent references."""

import math
import warnings

import pytest
import torch
from torch import nn

from iaenet.models.registry import build
from iaenet.training.config import OptimizerConfig, ScheduleConfig
from iaenet.training.optim import Muon, Rate, make_optimizers, orthogonal
from tests.trainings import Dropping, waves

BAND = 0.68, 1.14  # where five steps of the iteration bring singular values that are not tiny


def matrices(*shape, dtype=torch.float64, smallest=0.05):
    """Matrices with singular values from `smallest` to 1, and their two orthogonal factors."""
    generator = torch.Generator().manual_seed(sum(shape))
    u, _, v = torch.linalg.svd(torch.randn(*shape, generator=generator, dtype=dtype), full_matrices=False)
    sizes = torch.logspace(math.log10(smallest), 0, min(shape[-2:]), dtype=dtype)
    return (u * sizes) @ v, u, v


# ------------------------------------------------------------------ Muon


@pytest.mark.parametrize("shape", [(8, 8), (8, 64), (64, 8), (33, 17)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_orthogonal_keeps_the_factors_and_levels_the_sizes(shape, dtype):
    given, u, v = matrices(*shape, dtype=dtype)
    made = orthogonal(given[None])[0]
    assert made.dtype == dtype
    core = u.mT @ made @ v.mT  # diagonal if the singular vectors are kept
    sizes = core.diagonal()
    assert (core - sizes.diag()).abs().max() < (1e-4 if dtype == torch.float32 else 1e-12)
    assert sizes.min() > BAND[0]
    assert sizes.max() < BAND[1]
    assert (made - u @ v).norm() < 0.33 * (u @ v).norm()  # the nearest orthogonal matrix by SVD, within the band


def test_orthogonal_does_not_depend_on_scale_and_takes_zero():
    given = matrices(16, 8)[0][None]
    assert torch.allclose(orthogonal(1e-4 * given), orthogonal(given), rtol=0, atol=1e-9)
    assert orthogonal(torch.zeros(1, 8, 8)).abs().max() == 0


def test_muon_steps_are_those_of_the_formula():
    rate, momentum, decay = 0.1, 0.95, 0.3
    start = torch.randn(24, 10, dtype=torch.float64)
    weight = nn.Parameter(start.clone())
    optimizer = Muon([weight], rate, momentum, decay)
    mean, expected = torch.zeros_like(start), start.clone()
    for seed in range(4):
        gradient = torch.randn(24, 10, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        weight.grad = gradient.clone()
        before = weight.detach().clone()
        optimizer.step()
        mean = momentum * mean + (1 - momentum) * gradient
        ahead = momentum * mean + (1 - momentum) * gradient  # Nesterov
        step = 0.2 * math.sqrt(24) * orthogonal(ahead[None])[0]
        expected = expected - rate * decay * expected - rate * step
        assert torch.allclose(weight, expected, rtol=0, atol=1e-12)
        # By SVD: along the same singular vectors, and as long as that up to the band.
        u, _, v = torch.linalg.svd(ahead, full_matrices=False)
        moved = (before - rate * decay * before - weight.detach()) / (rate * 0.2 * math.sqrt(24))
        sizes = (u.mT @ moved @ v.mT).diagonal()
        assert BAND[0] < sizes.min() <= sizes.max() < BAND[1]


def test_muon_on_all_matrices_at_once_is_muon_one_by_one():
    shapes = [(8, 16), (16, 8), (8, 16), (8, 8), (8, 16)]
    starts = [torch.randn(*shape) for shape in shapes]
    together = [nn.Parameter(start.clone()) for start in starts]
    alone = [nn.Parameter(start.clone()) for start in starts]
    optimizers = [Muon(together, 0.1, weight_decay=0.1), *(Muon([one], 0.1, weight_decay=0.1) for one in alone)]
    for seed in range(3):
        for i, (one, other) in enumerate(zip(together, alone, strict=True)):
            generator = torch.Generator().manual_seed(10 * seed + i)
            one.grad = torch.randn(one.shape, generator=generator)
            other.grad = one.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for one, other in zip(together, alone, strict=True):
        assert torch.allclose(one, other, rtol=0, atol=2e-6)


def test_muon_leaves_parameters_without_gradient():
    used, unused = nn.Parameter(torch.eye(8)), nn.Parameter(torch.eye(8))
    used.grad = torch.ones(8, 8)
    Muon([used, unused], 0.1).step()
    assert not torch.equal(used, torch.eye(8))
    assert torch.equal(unused, torch.eye(8))


def test_a_step_is_as_large_as_one_of_adamw():
    """Root mean square 0.2, that of AdamW in practice, whatever the shape: so one rate serves both."""
    for shape in ((8, 8), (128, 16), (16, 128)):
        weight = nn.Parameter(torch.zeros(shape))
        weight.grad = torch.randn(shape)
        Muon([weight], 1.0).step()
        assert 0.13 < weight.detach().square().mean().sqrt() < 0.25


# ------------------------------------------------------------------ who takes what


@pytest.mark.parametrize("name", ["muon", "adamw", "adam"])
@pytest.mark.parametrize("model", ["iaenet", "fno", "deeponet", "own"])
def test_every_parameter_is_in_exactly_one_optimizer(name, model):
    network = Dropping() if model == "own" else build(model, waves(4, grids=(32,)))
    network.project_bias_of_mine = nn.Parameter(torch.zeros(3), requires_grad=False)
    taken = [
        id(parameter)
        for optimizer in make_optimizers(network, OptimizerConfig(name))
        for group in optimizer.param_groups
        for parameter in group["params"]
    ]
    assert len(taken) == len(set(taken))
    assert set(taken) == {id(parameter) for parameter in network.parameters() if parameter.requires_grad}


def test_muon_takes_matrices_and_adamw_the_rest():
    network = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 7))
    muon, rest = make_optimizers(network, OptimizerConfig("muon", lr=0.1, weight_decay=0.2))
    assert [parameter.shape for parameter in muon.param_groups[0]["params"]] == [(16, 8)]
    assert isinstance(rest, torch.optim.AdamW)
    assert [group["lr"] for one in (muon, rest) for group in one.param_groups] == [0.1, 0.1]
    assert [group["weight_decay"] for one in (muon, rest) for group in one.param_groups] == [0.2, 0.2]


@pytest.mark.parametrize("convolutions", [True, False])
def test_kernels_of_convolutions_are_matrices_and_tables_are_not(convolutions):
    network = nn.Sequential(nn.Linear(8, 8), nn.Conv2d(4, 16, 3), nn.Conv1d(1, 16, 3))
    network.table = nn.Parameter(torch.zeros(16, 16, 16))
    muon, rest = make_optimizers(network, OptimizerConfig("muon", convolutions=convolutions))
    kernels = [network[1].weight] if convolutions else []
    assert {id(p) for p in muon.param_groups[0]["params"]} == {id(p) for p in [network[0].weight, *kernels]}
    assert id(network.table) in {id(p) for p in rest.param_groups[0]["params"]}


def test_muon_makes_the_step_of_a_kernel_that_it_makes_of_its_matrix():
    gradient = torch.randn(16, 4, 3, 3)
    kernel, matrix = nn.Parameter(torch.zeros(16, 4, 3, 3)), nn.Parameter(torch.zeros(16, 36))
    kernel.grad, matrix.grad = gradient, gradient.flatten(1)
    Muon([kernel, matrix], 1.0).step()
    torch.testing.assert_close(kernel.flatten(1), matrix)
    assert matrix.detach().abs().max() > 0.1


@pytest.mark.parametrize(
    ("network", "kinds"), [(nn.Linear(3, 3), [torch.optim.AdamW]), (nn.Linear(8, 8, bias=False), [Muon])]
)
def test_no_empty_optimizer(network, kinds):
    assert [type(one) for one in make_optimizers(network, OptimizerConfig("muon"))] == kinds


# ------------------------------------------------------------------ learning rates


def test_cosine_rises_falls_and_ends_at_zero():
    rate = Rate(ScheduleConfig(warmup=0.1), steps=200)
    shares = [rate.at(step) for step in range(201)]
    assert shares[:20] == [(step + 1) / 20 for step in range(20)]
    for step in range(20, 201):
        assert shares[step] == pytest.approx(math.cos(math.pi / 2 * (step - 20) / 180) ** 2, abs=1e-12)
    assert shares[200] == 0
    assert 0 < shares[199] < 1e-3


def test_cosine_without_warm_up_and_of_one_step():
    assert Rate(ScheduleConfig(warmup=0.0), steps=10).at(0) == 1
    assert Rate(ScheduleConfig(), steps=1).at(0) == 1


def test_constant_is_constant():
    rate = Rate(ScheduleConfig("constant", warmup=0.5), steps=10)
    rate.epoch(1.0)
    assert {rate.at(step) for step in range(10)} == {1.0}


@pytest.mark.parametrize(("patience", "factor"), [(0, 0.5), (2, 0.1), (5, 0.9)])
def test_plateau_is_that_of_pytorch(patience, factor):
    parameter = nn.Parameter(torch.zeros(1))
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(
        torch.optim.SGD([parameter], lr=1.0), patience=patience, factor=factor, eps=0.0
    )
    rate = Rate(ScheduleConfig("plateau", patience=patience, factor=factor), steps=1)
    generator = torch.Generator().manual_seed(1)
    lowered = 0
    for epoch in range(60):
        noise = 0.3 * torch.rand(1, generator=generator).item()
        loss = 2.0 ** -(epoch // 8) * (1 + (noise if epoch % 3 else 0.00005 * epoch))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reference.step(loss)
        rate.epoch(loss)
        assert rate.at(epoch) == pytest.approx(reference.optimizer.param_groups[0]["lr"], rel=1e-12)
        lowered = rate.at(epoch) < 1
    assert lowered
