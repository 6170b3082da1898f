"""Several functions and numbers from files of each format: the same samples, on the same points."""

import h5py
import numpy as np
import pytest
import scipy.io

from iaenet import InvalidInputError, Sample, load_dataset
from iaenet.data.formats import FORMATS
from iaenet.data.import_files import import_data

T = np.linspace(0, 1, 9)  # of the boundary's parameter
X, Y = np.linspace(0, 2, 5), np.linspace(0, 1, 4)
AT = np.random.default_rng(0).random((12, 2)) * [2, 1]
G = np.random.default_rng(1).random((3, 9))
F = np.random.default_rng(2).random((3, 5, 4))
U = np.random.default_rng(3).random((3, 12))
KAPPA, HEAT = np.array([1.0, 2.0, 5.0]), np.array([7.0, 8.0, 9.0])
ARRAYS = {"t": T, "x": X, "y": Y, "at": AT, "g": G, "f": F, "u": U, "kappa": KAPPA, "T": HEAT}
OPTIONS = {
    "inputs": {"boundary": "g", "source": "f"},
    "coordinates": {"boundary": "t", "source": ["x", "y"], "output": "at"},
    "scalars": "kappa,T",
    "outputs": "u",
    "units": {"kappa": "1/m2", "g": "K"},
}


def check(imported, axes=True):
    """These are the samples above."""
    assert [(c.name, c.function, c.unit) for c in imported.inputs] == [
        ("g", "boundary", "K"),
        ("f", "source", "1"),
        ("kappa", "scalars", "1/m2"),
        ("T", "scalars", "1"),
    ]
    assert len(imported.pairs) == 3
    for i, (given, wanted) in enumerate(imported.pairs):
        assert isinstance(given, Sample)
        assert given["kappa"] == KAPPA[i]
        assert given["T"] == HEAT[i]
        assert np.allclose(given["boundary"].values[:, 0], G[i])
        assert given["boundary"].discretization.bounds.tolist() == [[0, 1]]
        assert np.allclose(given["source"].values[:, 0], F[i].ravel())
        assert (given["source"].discretization.axes is not None) == axes
        assert np.allclose(wanted.values[:, 0], U[i])
        # The source and the output lie in one domain, which holds both.
        assert (
            given["source"].discretization.bounds.tolist() == wanted.discretization.bounds.tolist() == [[0, 2], [0, 1]]
        )


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    check(FORMATS["npz"].load(tmp_path / "a.npz", OPTIONS))


def test_mat(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", ARRAYS)
    check(FORMATS["mat"].load(tmp_path / "a.mat", OPTIONS))


def test_hdf5_stacked_and_in_groups(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, array in ARRAYS.items():
            file[name] = array
    check(FORMATS["hdf5"].load(tmp_path / "a.h5", OPTIONS))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        for i in range(3):
            for name, array in ARRAYS.items():
                file[f"s{i}/{name}"] = array[i] if name in ("g", "f", "u", "kappa", "T") else array
    check(FORMATS["hdf5"].load(tmp_path / "b.h5", OPTIONS | {"groups": "/"}))


def test_netcdf(tmp_path):
    xarray = pytest.importorskip("xarray")
    dims = {"t": "t", "x": "x", "y": "y", "g": "run t", "f": "run x y", "u": "run node", "kappa": "run", "T": "run"}
    found = {name: (each.split(), ARRAYS[name]) for name, each in dims.items()}
    found |= {"px": (["node"], AT[:, 0]), "py": (["node"], AT[:, 1])}
    xarray.Dataset(found).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    coordinates = OPTIONS["coordinates"] | {"output": ["px", "py"]}
    check(FORMATS["netcdf"].load(tmp_path / "a.nc", OPTIONS | {"coordinates": coordinates, "sample": "run"}))


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in np.asarray(rows).tolist())]) + "\n")


@pytest.fixture
def folder(tmp_path):
    """The samples above as folders of CSV files; the table of numbers in another order."""
    plane = np.stack(np.meshgrid(X, Y, indexing="ij"), axis=-1).reshape(-1, 2)
    for i in range(3):
        write(tmp_path / f"boundary/{i}.csv", "t,g", np.stack([T, G[i]], axis=1))
        write(tmp_path / f"source/{i}.csv", "x,y,f", np.column_stack([plane, F[i].ravel()]))
        write(tmp_path / f"output/{i}.csv", "x,y,u", np.column_stack([AT, U[i]]))
    write(tmp_path / "scalars.csv", "sample,kappa,T", np.column_stack([[2, 0, 1], KAPPA[[2, 0, 1]], HEAT[[2, 0, 1]]]))
    return tmp_path


CSV = OPTIONS | {"coordinates": {"boundary": "t", "source": "x,y", "output": "x,y"}}


def test_csv_folders(folder):
    check(FORMATS["csv"].load(folder, CSV), axes=False)


def test_meshes(tmp_path):
    meshio = pytest.importorskip("meshio")
    lines = [("line", np.array([[0, 1], [1, 2], [2, 0]]))]
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    for i in range(2):
        for name in ("wall", "output"):
            (tmp_path / name).mkdir(exist_ok=True)
            cells = lines if name == "wall" else [("triangle", np.array([[0, 1, 2]]))]
            meshio.Mesh(corners, cells, point_data={name[0]: np.arange(3.0) + i}).write(tmp_path / name / f"{i}.vtu")
    (tmp_path / "scalars.csv").write_text("Re\n10\n20\n")
    options = {"inputs": {"wall": "w"}, "outputs": "o", "scalars": "Re", "coordinates": "x,y"}
    given, wanted = FORMATS["mesh"].load(tmp_path, options).pairs[1]
    assert given["wall"].discretization.measure == pytest.approx(2 + 2**0.5)
    assert wanted.discretization.measure == pytest.approx(0.5)
    assert given["Re"] == 20


def test_one_function_with_numbers_and_numbers_alone(tmp_path):
    for i in range(4):
        write(tmp_path / f"s{i}.csv", "x,a,u", np.column_stack([T, G[0] + i, G[1]]))
    write(tmp_path / "scalars.csv", "Re", [[1], [2], [3], [4]])
    import_data("csv", str(tmp_path), str(tmp_path / "a.h5"), coordinates="x", inputs="a", outputs="u", scalars="Re")
    given, wanted = load_dataset(tmp_path / "a.h5")[2]
    assert given["Re"] == 3
    assert np.allclose(given["a"].values[:, 0], G[0] + 2)
    assert given["a"].discretization.bounds.tolist() == wanted.discretization.bounds.tolist()
    import_data("csv", str(tmp_path), str(tmp_path / "b.h5"), coordinates="x", outputs="u", scalars="Re")
    assert load_dataset(tmp_path / "b.h5").functions == ("scalars",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"inputs": {"boundary": "h", "source": "f"}, "units": None}, "'h'"),
        ({"inputs": {"output": "g"}}, "functions other than"),
        ({"scalars": "Re"}, "'Re'"),
        ({"units": {"nu": "m"}}, "units: 'nu' is not among"),
        ({"separate": True}, "--separate is for one function"),
    ],
)
def test_mistakes_are_named(folder, change, says):
    with pytest.raises(InvalidInputError, match=says):
        list(FORMATS["csv"].load(folder, CSV | change).pairs)


def test_samples_must_have_all_their_files(folder):
    (folder / "source" / "1.csv").unlink()
    with pytest.raises(InvalidInputError, match="source has other samples than boundary"):
        FORMATS["csv"].load(folder, CSV)


def test_formats_without_numbers_say_so():
    with pytest.raises(InvalidInputError, match="--scalars is no option of the format wfdb"):
        FORMATS["wfdb"].check({"inputs": "a", "outputs": "b", "scalars": "Re"})
