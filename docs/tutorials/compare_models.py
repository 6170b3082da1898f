# %% [markdown]
# # Compare models
#
# All models have one call, so that a comparison is a loop. Four kinds of networks learn Burgers' equation on 128 points:
# IAE-Net, FNO between the same E and D, a ResNet behind a linear interpolation, and the published form of IAE-Net, each for
# the same time, each without augmentation.

# %%
import json
import tempfile
from pathlib import Path

from IPython.display import Image, display

import iaenet
from iaenet.data.problems import PROBLEMS
from iaenet.reports.plots import png
from iaenet.reports.result_plots import draw_comparison

folder = Path(tempfile.mkdtemp())
resolutions = [64, 128, 256, 512, 1024]
iaenet.generate(
    PROBLEMS["burgers"](viscosity=0.01),
    folder / "a.h5",
    samples=200,
    resolutions=resolutions,
)
models = {
    "IAE-Net": "iaenet",
    "FNO": "fno",
    "ResNet, interpolated": "resnet-interpolation",
    "published form": {"name": "published", "width": 16, "latent": 32, "blocks": 2},
}

# %% [markdown]
# ## Equal time
#
# `budget` trains for a time instead of a number of epochs, here of the processor, and the learning rate follows it. One short
# training each is no verdict: the [tables](../experiments/README.md) choose learning rates on validation samples, and say more.

# %%
test = iaenet.load_dataset(folder / "a.h5", split="test")
found, sizes = {}, {}
for name, model in models.items():
    trained = iaenet.fit(model, folder / "a.h5", resolution=128, budget="8s cpu", threads=1)
    sizes[name] = sum(p.numel() for p in trained.parameters())
    found[name] = json.loads(iaenet.evaluate(trained, test, random_points=128).to_json())[
        "rows"
    ]

# %% [markdown]
# ## Error against resolution
#
# One picture says which network learned the operator and which the grid. Stars are random points.

# %%
display(Image(png(draw_comparison(found, training=128))))

# %%
print(
    f"{'':<22}{'parameters':>11}"
    + "".join(f"{row['on'].replace(' points', ''):>12}" for row in found["IAE-Net"])
)
for name, rows in found.items():
    cells = (
        f"{row['relative_l2']['mean']:12.4f}"
        if "refused" not in row
        else f"{'refused':>12}"
        for row in rows
    )
    print(f"{name:<22}{sizes[name]:>11,}" + "".join(cells))

# %% [markdown]
# The same for run folders, with pictures of samples, training curves and certificates on one page:
# `iaenet report run1 run2 --out comparison.html`. A model of your own joins by [one file](../models.md).
