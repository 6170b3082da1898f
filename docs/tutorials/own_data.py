# %% [markdown]
# # Your own irregular data
#
# A rod was heated unevenly. 40 to 80 thermometers at random places measured it before and after a while; in every
# experiment they sat somewhere else. Each experiment is one CSV file:
#
# $$ u(x, 0) = \sum_k a_k \cos \pi k x \quad \longmapsto \quad u(x, t) = \sum_k a_k\, e^{-\pi^2 k^2 \kappa t} \cos \pi k x . $$
#
# We make such files here; with your own, start at *Training*.

# %%
import csv
import math
import random
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import iaenet

folder = Path(tempfile.mkdtemp())
(folder / "experiments").mkdir()
generator = random.Random(0)


def experiment(path: Path, sensors: int) -> None:
    """One file: a row for each thermometer."""
    sizes = [generator.gauss(0, 1) / k for k in range(1, 5)]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "before", "after"])
        for _ in range(sensors):
            x = generator.random()
            waves = [(k, a * math.cos(math.pi * k * x)) for k, a in enumerate(sizes, 1)]
            after = sum(wave * math.exp(-0.02 * (math.pi * k) ** 2) for k, wave in waves)
            rows.writerow(
                [
                    f"{x:.5f}",
                    f"{20 + 5 * sum(w for _, w in waves):.4f}",
                    f"{20 + 5 * after:.4f}",
                ]
            )


for i in range(120):
    experiment(folder / "experiments" / f"run{i:03d}.csv", generator.randint(40, 80))
experiment(folder / "new.csv", 60)
print((folder / "experiments" / "run000.csv").read_text()[:130], "...")

# %% [markdown]
# ## Training
#
# `import_data` makes one checked data file of the folder; a wrong number or a missing column is one line that names file and
# row. In a shell both steps are one command:
#
# ```
# iaenet train --data experiments/ --import.coordinates x --import.inputs before --import.outputs after --run rod
# ```

# %%
written = iaenet.import_data(
    "csv",
    folder / "experiments",
    folder / "rod.h5",
    coordinates="x",
    inputs="before",
    outputs="after",
    bounds=[[0, 1]],
    units={"before": "C", "after": "C"},
)
print(written)
model = iaenet.fit("iaenet", folder / "rod.h5", folder / "rod", epochs=12, threads=1)
print(iaenet.evaluate(model, iaenet.load_dataset(folder / "rod.h5", split="test")).table())

# %% [markdown]
# ## Prediction from file to file
#
# The new experiment has thermometers at 60 places; we want the rod at 201 points. The model knows from its training what
# columns are what. In a shell: `iaenet predict rod --input new.csv --output predicted.csv --at 201`.

# %%
print(iaenet.predict_files(model, folder / "new.csv", folder / "predicted.csv", at=201))
measured = np.genfromtxt(folder / "new.csv", delimiter=",", names=True)
predicted = np.genfromtxt(folder / "predicted.csv", delimiter=",", names=True)
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.plot(
    measured["x"],
    measured["before"],
    "o",
    color="0.6",
    markersize=4,
    label="measured before",
)
axis.plot(
    measured["x"],
    measured["after"],
    "o",
    color="tab:blue",
    markersize=4,
    label="measured after, hidden",
)
axis.plot(
    predicted["x"],
    predicted["after"],
    color="black",
    linewidth=1.2,
    label="predicted after",
)
axis.set(xlabel="x", ylabel="temperature in C")
axis.legend(fontsize=8)
plt.show()

# %% [markdown]
# Other formats (npz, MATLAB, HDF5, NetCDF, VTK meshes, WFDB) come in the same way: [Import](../import.md). Units, bounds and
# periodic axes are said once, at the import, and travel with the data and the model.
