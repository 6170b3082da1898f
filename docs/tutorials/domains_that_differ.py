# %% [markdown]
# # Domains that differ
#
# A plate with an elliptic hole is pulled to the right. Where is the stress high? Every sample has another hole and another
# triangle mesh:
#
# $$ \operatorname{div} \sigma = 0 \text{ in } \Omega, \qquad \Omega \;\longmapsto\; s = \sqrt{\sigma_{xx}^2 - \sigma_{xx}\sigma_{yy} +
# \sigma_{yy}^2 + 3\,\sigma_{xy}^2} . $$
#
# The input is the domain itself. A mesh has exact weights, from which the network gets the measure of the domain and the
# distance to its boundary as channels on its latent grid.

# %%
import tempfile
from pathlib import Path

from IPython.display import Image, display

import iaenet
from iaenet import Discretization
from iaenet.data.problems import PROBLEMS
from iaenet.reports.plots import draw_samples, png
from iaenet.reports.result_plots import draw_predictions

folder = Path(tempfile.mkdtemp())
iaenet.generate(
    PROBLEMS["plate"](),
    folder / "plate.h5",
    samples=100,
    resolutions=[300],
    splits=(80, 10, 10),
)
data = iaenet.load_dataset(folder / "plate.h5")
given, wanted = data[0]
at = given.discretization
print(f"{at.n} nodes, {len(at.cells)} triangles, area {at.measure:.3f}")

display(Image(png(draw_samples(data, samples=2))))

# %% [markdown]
# ## Training
#
# The same call as for a line. `for_data` sees that points do not fill their box, and takes `geometry` and a `head`, a small
# network at the query points.

# %%
model = iaenet.fit(
    "iaenet", folder / "plate.h5", folder / "plate", budget="25s cpu", threads=1
)
print({name: model.network.options[name] for name in ("grid", "geometry", "head")})
test = iaenet.load_dataset(folder / "plate.h5", split="test")
print(iaenet.evaluate(model, test).table())
display(Image(png(draw_predictions(model, test, [0, 1]))))

# %% [markdown]
# A training of 25 seconds on 80 plates is a start: more plates and more time take the error down (`--budget 10m`).
#
# ## Bare points instead of a mesh
#
# If you have points and no cells, the domain is found from them: simplices of their Delaunay triangulation that are too
# large for the local spacing are left out, and what remains has the hole.

# %%
bare = Discretization.points(at.points, bounds=[[0, 1], [0, 1]])
print(bare.domain)
print(f"area by the mesh {at.measure:.3f}, by the points {bare.measure:.3f}")

# %% [markdown]
# The other problems of this kind, `airfoil`, `bodies` and `laplace-ring`, are on the page on [data](../data.md).
