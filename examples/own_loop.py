"""A training loop of your own: PyTorch's `DataLoader` and any optimizer, with samples on different points.

`iaenet.collate` stacks samples on the same points; a model takes the list of stacks in one call. Loss, schedule, mixed
precision and the like are then up to you. `Operator` puts the result in the data's units, with `predict` and the rest.
"""

import math

import torch
from torch.utils.data import DataLoader

import iaenet
from iaenet import Discretization, Field, Operator, collate, relative_l2
from iaenet.functions.normalizer import Normalizer
from iaenet.models.registry import build


def sample(at: Discretization, k: int) -> tuple[Field, Field]:
    """A wave and its square."""
    a = torch.sin(2 * math.pi * (at.points + k / 17)) * (1 + k % 5)
    return Field(at, a.float()), Field(at, (a**2).float())


def main(epochs: int = 40) -> float:
    """Train on two grids at once; return the error on a third one."""
    grids = [Discretization.uniform(n, periodic=True) for n in (32, 48)]
    pairs = [sample(grids[k % 2], k) for k in range(60)]
    torch.manual_seed(0)
    inputs, outputs = Normalizer.fit(pairs)
    scaled = [(inputs.apply(a), outputs.apply(u)) for a, u in pairs]
    model = Operator(build("iaenet", scaled, width=16, blocks=1), inputs, outputs)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(pairs, batch_size=12, shuffle=True, collate_fn=collate)  # type: ignore[arg-type, var-annotated]
    for _ in range(epochs):
        for given, wanted in loader:
            found = model(given, [u.discretization for u in wanted])
            loss = torch.cat([relative_l2(one, u) for one, u in zip(found, wanted, strict=True)]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    unseen, true = sample(Discretization.uniform(100, periodic=True), 71)
    return float(relative_l2(iaenet.predict(model, unseen).fields[0], true))


if __name__ == "__main__":
    print(f"relative L2 error on 100 points: {main():.4f}")
