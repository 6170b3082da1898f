"""Devices without float64: coordinates stay on the CPU, E works there, and nothing of float64 reaches the device.

The meta device stands for one: it computes shapes, types and devices of everything, and no numbers. What comes back
from it to the CPU is zeros.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from iaenet import Discretization, Field
from iaenet.errors import InvalidInputError
from iaenet.functions import devices
from iaenet.functions.devices import holds_float64, place
from iaenet.functions.metrics import relative_l2
from iaenet.models.registry import model_class

COPIES = ("_to_copy", "copy_")


class DeviceWithoutFloat64(TorchDispatchMode):
    """Fails where a kernel has operands on two devices, or gives float64 on the meta device."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if name == "_to_copy" and args[0].is_meta and kwargs.get("device") == torch.device("cpu"):
            return torch.zeros(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)
        if name == "_local_scalar_dense" and args[0].is_meta:
            return 0.0
        if name not in COPIES:
            assert len({x.device.type for x in given if x.ndim}) <= 1, f"{name} of two devices"
        found = function(*args, **kwargs)
        for x in tree_leaves(found):
            if isinstance(x, torch.Tensor):
                assert not (x.is_meta and x.dtype == torch.float64), f"{name} gives float64"
        return found


@pytest.fixture(autouse=True)
def _meta_has_no_float64(monkeypatch):
    monkeypatch.setattr(devices, "NO_FLOAT64", frozenset({"meta"}))
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)  # which knows no meta device


def fields(kind):
    generator = torch.Generator().manual_seed(0)
    grid = {
        "uniform": Discretization.uniform(16, periodic=True),
        "sensors": Discretization.points(torch.rand(20, 1, dtype=torch.float64, generator=generator), periodic=True),
        "plane": Discretization.uniform((8, 8)),
        "scattered": Discretization.points(torch.rand(60, 2, dtype=torch.float64, generator=generator)),
    }[kind]
    wave = torch.sin(grid.points[:, :1]).float()
    return Field(grid, torch.stack([wave, 2 * wave])), grid


@pytest.mark.parametrize("kind", ["uniform", "sensors", "plane", "scattered"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("iaenet", {"width": 8, "blocks": 1, "grid": 12, "head": 4, "geometry": ["measure", "distance"]}),
        ("fno", {"width": 4, "modes": 3}),
        ("galerkin", {"width": 8}),
        ("transolver", {}),
    ],
)
def test_forward_and_backward_without_float64(name, options, kind):
    field, _ = fields(kind)
    model = model_class(name).for_data([(field, field)], **options)
    place(model, "meta")
    there = field.to("meta")
    assert there.values.is_meta
    assert there.discretization.points.device.type == "cpu"
    with DeviceWithoutFloat64():
        found = model(there)
        relative_l2(found, there).sum().backward()
    assert found.values.shape == field.values.shape
    assert found.values.dtype == torch.float32
    assert all(p.grad is not None and p.grad.is_meta for p in model.parameters() if p.requires_grad)
    if model.accepts.query_points:
        with DeviceWithoutFloat64():
            assert model(there, at=fields(kind)[1]).values.is_meta


def test_the_stand_in_fails_where_a_device_would():
    x = torch.zeros(3, device="meta")
    with DeviceWithoutFloat64(), pytest.raises(AssertionError, match="float64"):
        x.double()
    with DeviceWithoutFloat64(), pytest.raises(AssertionError, match="two devices"):
        torch.add(x, torch.zeros(3))


def test_a_network_with_float64_of_its_own_is_refused():
    field, _ = fields("uniform")
    model = model_class("deeponet").for_data([(field, field)])
    with pytest.raises(InvalidInputError, match=r"bounds in float64, which meta has not; use the CPU"):
        place(model, "meta")
    assert not holds_float64("meta")
    assert holds_float64("cuda")
