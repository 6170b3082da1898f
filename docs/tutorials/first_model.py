# %% [markdown]
# # A first model
#
# Burgers' equation carries a wave along and steepens it. We learn the map from the initial wave $u(x, 0)$ to the wave at
# time one, $u(x, 1)$, for
#
# $$ u_t + u\,u_x = \nu\,u_{xx}, \qquad x \in [0, 1) \text{ periodic}, \quad \nu = 0.01 . $$
#
# The training data have 128 points. The trained network takes any.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import iaenet
from iaenet import Discretization, relative_l2
from iaenet.data.problems import PROBLEMS

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Data
#
# `generate` writes one checked file with splits. Every resolution is the solver's own answer there, nothing is interpolated.

# %%
iaenet.generate(
    PROBLEMS["burgers"](viscosity=0.01),
    folder / "burgers.h5",
    samples=240,
    resolutions=[64, 128, 512, 2048],
)
data = iaenet.load_dataset(folder / "burgers.h5")
print(data.samples, "samples at", data.resolutions, "points;", data.splits)

# %% [markdown]
# A sample is a pair of fields. A `Field` is values and the `Discretization` that says where they were taken.

# %%
given, wanted = data.sample(0)[2048]
print(given.discretization)
figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), sharey=True, layout="constrained")
for axis, i in zip(axes, (0, 1, 2), strict=True):
    given, wanted = data.sample(i)[2048]
    x = given.discretization.points[:, 0]
    axis.plot(x, given.values[:, 0], color="0.6", label="u(x, 0)")
    axis.plot(x, wanted.values[:, 0], color="tab:blue", label="u(x, 1)")
    axis.set_xlabel("x")
axes[0].legend()
plt.show()

# %% [markdown]
# ## Training
#
# One call. Sizes follow from the data, the best weights on validation samples are kept, and a run folder remembers all of
# it; the same call again resumes a training that was stopped. On the command line:
# `iaenet train --data burgers.h5 --resolution 128 --run run`.

# %%
model = iaenet.fit(
    "iaenet", folder / "burgers.h5", folder / "run", resolution=128, epochs=10, threads=1
)
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

# %% [markdown]
# ## The same error on every grid
#
# The network saw 128 points. `evaluate` takes its error on all resolutions of the test samples, and on random points.

# %%
test = iaenet.load_dataset(folder / "burgers.h5", split="test")
print(iaenet.evaluate(model, test, random_points=200).table())

# %% [markdown]
# ## From sensors to a curve
#
# 90 sensors at random places see the wave at time zero. `predict` takes what they saw and answers on 1000 points.

# %%
inputs, truth = iaenet.load_dataset(
    folder / "burgers.h5", split="test", resolution=2048
).batch(range(3))
places = torch.rand(90, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
sensors = Discretization.points(places, periodic=True)
seen = iaenet.interpolate(inputs, sensors)
found = model.predict(seen, at=truth.discretization)

figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True, layout="constrained")
x = truth.discretization.points[:, 0]
for i, axis in enumerate(axes):
    axis.plot(
        places[:, 0],
        seen.values[i, :, 0],
        ".",
        color="0.6",
        markersize=4,
        label="sensors, t = 0",
    )
    axis.plot(x, truth.values[i, :, 0], linewidth=4, alpha=0.35, label="solver, t = 1")
    axis.plot(
        x, found.values[i, :, 0], color="black", linewidth=1, label="predicted, t = 1"
    )
    axis.set_title(f"error {float(relative_l2(found, truth)[i]):.4f}", fontsize=9)
axes[0].legend(fontsize=8)
plt.show()

# %% [markdown]
# Later, or on another machine: `model = iaenet.load("run")`.
