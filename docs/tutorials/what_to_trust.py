# %% [markdown]
# # What to trust
#
# A prediction has two errors: what the training left, and what the discretization of the input adds,
#
# $$ \| \Psi_h a - u \| \;\le\; \underbrace{\| \Psi a - u \|}_{\text{training}} + \underbrace{\| \Psi_h a - \Psi a \|}_{\text{discretization}} . $$
#
# The second one can be measured without knowing the truth. `certify` does it for a model, `predict` for a single input.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import iaenet
from iaenet import Discretization
from iaenet.data.problems import PROBLEMS
from iaenet.evaluation.mismatch import mismatch

folder = Path(tempfile.mkdtemp())
iaenet.generate(
    PROBLEMS["burgers"](viscosity=0.01),
    folder / "a.h5",
    samples=200,
    resolutions=[64, 128, 256, 1024],
)
model = iaenet.fit(
    "iaenet", folder / "a.h5", folder / "run", resolution=128, epochs=8, threads=1
)
test = iaenet.load_dataset(folder / "a.h5", split="test")

# %% [markdown]
# ## A certificate
#
# The same functions on every grid, on random points, in another order, in mixed batches: do the outputs agree, far better
# than the model's own error? In a shell: `iaenet certify run`, which ends with exit code 1 if not.

# %%
certificate = iaenet.certify(model, test, training_resolution=128)
print(certificate.table())

# %% [markdown]
# The published form of the network, trained in the same way without augmentation, is another function on every grid:

# %%
published = iaenet.fit(
    {"name": "published", "width": 8, "latent": 32, "blocks": 1},
    folder / "a.h5",
    resolution=128,
    epochs=2,
    threads=1,
)
print(iaenet.certify(published, test, training_resolution=128).verdict)

# %% [markdown]
# ## Inputs unlike those of the training
#
# `predict` compares an input with what the model was trained on, and says what is unusual.

# %%
inputs, truth = iaenet.load_dataset(folder / "a.h5", split="test", resolution=1024).batch(
    [0]
)
generator = torch.Generator().manual_seed(0)
for count in (16, 40, 150):
    sensors = Discretization.points(
        torch.rand(count, 1, dtype=torch.float64, generator=generator), periodic=True
    )
    for note in iaenet.predict(model, iaenet.interpolate(inputs, sensors)).notes:
        print(f"{count} sensors: {note}")

# %% [markdown]
# ## The estimate beside the truth
#
# The estimate is the difference between the predictions from all and from half of the points,
# $\|\Psi_H a - \Psi_h a\| / \|\Psi_h a\|$, as in Richardson's extrapolation. Here the truth is known, so that both can be drawn.

# %%
counts, estimated, true = [12, 16, 24, 32, 48, 64, 96, 128, 192, 256], [], []
exact = model.predict(inputs, at=truth.discretization)
for count in counts:
    grid = Discretization.uniform(count, periodic=True)
    coarse = iaenet.interpolate(inputs, grid)
    estimated.append(mismatch(model, coarse))
    true.append(
        float(iaenet.relative_l2(model.predict(coarse, at=truth.discretization), exact))
    )
left = float(iaenet.relative_l2(exact, truth))
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.loglog(counts, estimated, "o-", label="estimated, without the truth")
axis.loglog(counts, true, "s-", label="true error of the discretization")
axis.axhline(left, color="0.5", linestyle="--", label="error that the training left")
axis.set(xlabel="points of the input", ylabel="relative L2")
axis.legend(fontsize=8)
axis.grid(alpha=0.3)
plt.show()

# %% [markdown]
# Above about fifty points more sensors do not help this model: more training would.
