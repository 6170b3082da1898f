"""Files as they come: gaps in observations, grids of every convention, bad records among good ones."""

import numpy as np
import pytest
import torch

import iaenet
from iaenet.cli.main import main
from iaenet.data.formats.csv_folder import read_csv_folder
from iaenet.data.formats.hdf5 import read_hdf5
from iaenet.data.formats.meshes import read_meshes
from iaenet.data.formats.npz import read_npz
from iaenet.data.formats.torch_tensors import read_torch
from iaenet.data.import_files import import_data
from iaenet.data.problems.problem import Channel
from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.target import choose, write
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

RNG = np.random.default_rng(20)


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


# ------------------------------------------------------------------ missing values


def test_a_missing_value_is_refused_with_the_option_that_leaves_it_out(tmp_path, capsys):
    u = np.ones((4, 6))
    u[2, 5] = np.nan
    saved(tmp_path / "f.npz", a=np.ones((4, 6)), u=u)
    command = ["import", "npz", str(tmp_path / "f.npz"), "--inputs", "a", "--outputs", "u"]
    assert main([*command, "--out", str(tmp_path / "f.h5")]) == 2
    assert "sample 2: channel u, point 5 is nan; --missing drop leaves points" in capsys.readouterr().err
    assert main([*command, "--missing", "drop", "--out", str(tmp_path / "f.h5")]) == 0
    data = iaenet.load_dataset(tmp_path / "f.h5")
    assert sorted(data[i][1].discretization.n for i in range(4)) == [5, 6, 6, 6]
    assert {data[i][0].discretization.n for i in range(4)} == {6}, "the input of that sample is whole"


@pytest.mark.parametrize("layout", ["uniform", "axes", "points"])
def test_points_without_a_value_are_left_out_sample_by_sample(tmp_path, layout):
    axis = np.linspace(0, 1, 9)
    mesh = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    u = np.sin(3 * mesh[..., 0]) + mesh[..., 1] + np.arange(5)[:, None, None]
    holes = RNG.random(u.shape) < 0.2
    holes[4] = False
    arrays = {"a": np.ones_like(u), "u": np.where(holes, np.nan, u), "x": axis, "y": axis, "p": mesh.reshape(-1, 2)}
    coordinates = {"uniform": None, "axes": "x,y", "points": "p"}[layout]
    if layout == "points":
        arrays |= {name: arrays[name].reshape(5, -1) for name in "au"}
    found = read_npz(
        saved(tmp_path / "f.npz", **arrays), inputs="a", outputs="u", coordinates=coordinates, missing="drop"
    )
    for i, (given, wanted) in enumerate(found.pairs):
        kept = ~holes[i].ravel()
        assert given.discretization.n == 81
        assert np.allclose(wanted.discretization.points, mesh.reshape(-1, 2)[kept])
        assert np.allclose(wanted.values[:, 0], u[i].ravel()[kept])
        assert wanted.discretization.bounds.tolist() == [[0, 1], [0, 1]], "one domain for all"
    assert found.pairs[4][1].discretization.axes is not None or layout == "points"


def test_gaps_on_a_line_leave_an_axis_with_its_weights(tmp_path):
    x = np.linspace(0, 1, 11)
    u = np.tile(x**2, (2, 1))
    u[0, 3:6] = np.nan
    found = read_npz(saved(tmp_path / "f.npz", x=x, u=u), inputs="u", outputs="u", coordinates="x", missing="drop")
    assert np.allclose(found.pairs[0][0].discretization.axes[0], np.delete(x, [3, 4, 5]))
    assert float(found.pairs[0][0].discretization.weights.sum()) == pytest.approx(1)


def test_a_sample_without_any_value_is_named_and_infinity_is_no_missing_value(tmp_path):
    u = np.ones((3, 6))
    u[1] = np.nan
    found = read_npz(saved(tmp_path / "f.npz", u=u), inputs="u", outputs="u", missing="drop")
    with pytest.raises(InvalidInputError, match="sample 1: no point has a value of u"):
        _ = found.pairs[1]
    u[1] = np.inf
    with pytest.raises(InvalidInputError, match=r"sample 1: channel u, point 0 is inf$"):
        _ = read_npz(saved(tmp_path / "f.npz", u=u), inputs="u", outputs="u", missing="drop").pairs[1]


def test_empty_cells_of_csv_files(tmp_path):
    (tmp_path / "s1.csv").write_text("x,a,u\n0.1,1,2\n0.2,3,\n0.3,NA,5\n0.4,6,nan\n")
    names = {"coordinates": "x", "inputs": "a", "outputs": "u"}
    with pytest.raises(InvalidInputError, match="row 4, column 'a': 'NA' is not a number; --missing drop"):
        list(read_csv_folder(tmp_path, **names).pairs)
    ((given, wanted),) = read_csv_folder(tmp_path, **names, missing="drop").pairs
    assert given.discretization.points[:, 0].tolist() == [0.1, 0.2, 0.4]
    assert wanted.values[:, 0].tolist() == [2.0, 5.0]


def test_corners_of_a_mesh_without_a_value(tmp_path):
    meshio = pytest.importorskip("meshio")
    axis = np.linspace(0, 1, 5)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    cells = Discretization.points(points, bounds=[[0, 1], [0, 1]]).cells.numpy()
    u = points[:, 0] + 1.0
    u[0] = np.nan  # a corner of the square
    mesh = meshio.Mesh(np.pad(points, ((0, 0), (0, 1))), {"triangle": cells}, point_data={"u": u, "a": points[:, 1]})
    meshio.vtu.write(str(tmp_path / "m.vtu"), mesh)
    ((given, wanted),) = read_meshes(tmp_path, inputs="a", outputs="u", missing="drop").pairs
    assert (given.discretization.rule, wanted.discretization.rule) == ("mesh", "mesh")
    assert (given.discretization.n, wanted.discretization.n) == (25, 24)
    assert 0.9 < wanted.discretization.measure < 1, "the cells of the corner are gone"


# ------------------------------------------------------------------ grids as they are


@pytest.mark.parametrize(
    ("grid", "first", "last"), [("closed", 0, 1), ("left", 0, 15 / 16), ("centres", 0.5 / 16, 15.5 / 16)]
)
def test_grids_without_coordinates_lie_where_it_is_said(tmp_path, grid, first, last):
    path = saved(tmp_path / "f.npz", u=np.ones((4, 16, 16)))
    at = read_npz(path, inputs="u", outputs="u", grid=grid).pairs[0][0].discretization
    assert [(axis[0].item(), axis[-1].item()) for axis in at.axes] == [(first, last)] * 2
    assert at.bounds.tolist() == [[0, 1], [0, 1]]
    assert at.measure == pytest.approx(1)
    scaled = read_npz(path, inputs="u", outputs="u", grid=grid, bounds=[[0, 2], [-1, 1]]).pairs[0][0].discretization
    assert scaled.axes[0][-1].item() == pytest.approx(2 * last)


def test_on_a_periodic_axis_closed_is_the_left_end(tmp_path):
    path = saved(tmp_path / "f.npz", u=np.ones((4, 16)))
    ends = {
        grid: read_npz(path, inputs="u", outputs="u", grid=grid, periodic=True).pairs[0][0].discretization.axes[0]
        for grid in ("closed", "left", "centres")
    }
    assert torch.equal(ends["closed"], ends["left"])
    assert ends["centres"][0].item() == 0.5 / 16


def test_an_assumed_grid_is_told_and_a_chosen_one_is_not(tmp_path, capsys):
    saved(tmp_path / "f.npz", a=np.ones((4, 16)), u=np.ones((4, 16)), x=np.arange(16) / 16)
    command = ["import", "npz", str(tmp_path / "f.npz"), "--inputs", "a", "--outputs", "u"]
    for more, told in (([], True), (["--grid", "left"], False), (["--coordinates", "x"], False)):
        assert main([*command, *more, "--out", str(tmp_path / "f.h5")]) == 0
        assert ("note: no coordinates: a closed grid is assumed" in capsys.readouterr().out) == told
    assert main([*command, "--grid", "left", "--out", str(tmp_path / "f.h5")]) == 0
    assert iaenet.load_dataset(tmp_path / "f.h5").provenance["options"]["grid"] == "left"


# ------------------------------------------------------------------ bad records


def csv_files(folder):
    folder.mkdir()
    good = "x,a,u\n" + "".join(f"{i / 10},{i},{i * i}\n" for i in range(8))
    for i in range(10):
        (folder / f"s{i}.csv").write_text(good)
    (folder / "s0.csv").write_text("")
    (folder / "s3.csv").write_text(good.replace("3,9", "3,two"))
    (folder / "s7.csv").write_text("x,a\n0,1\n")
    return folder


def test_bad_files_of_a_folder_are_named_and_can_be_skipped(tmp_path, capsys):
    folder = csv_files(tmp_path / "runs")
    command = ["import", "csv", str(folder), "--coordinates", "x", "--inputs", "a", "--outputs", "u"]
    assert main([*command, "--out", str(tmp_path / "f.h5")]) == 2
    assert "s0.csv: the file is empty" in capsys.readouterr().err
    assert main([*command, "--skip_bad", "--out", str(tmp_path / "f.h5")]) == 0
    said = capsys.readouterr().out
    assert "7 samples" in said
    assert "skipped: 3" in said
    for reason in ("s0.csv: the file is empty", "s3.csv: row 5, column 'u': 'two'", "s7.csv: no column 'u'"):
        assert reason in said
    data = iaenet.load_dataset(tmp_path / "f.h5")
    assert (data.samples, len(data.provenance["skipped"])) == (7, 3)


def test_nothing_left_is_an_error_also_if_bad_ones_are_skipped(tmp_path):
    (tmp_path / "s1.csv").write_text("x,a,u\n0,1,two\n")
    with pytest.raises(InvalidInputError, match=r"none of 1 samples can be used; the first: .*s1\.csv: row 2"):
        read_csv_folder(tmp_path, coordinates="x", inputs="a", outputs="u", skip_bad=True)


def test_a_bad_sample_of_arrays_groups_and_meshes(tmp_path):
    h5py = pytest.importorskip("h5py")
    meshio = pytest.importorskip("meshio")
    u = np.ones((4, 6))
    u[1, 2] = np.nan
    found = read_npz(saved(tmp_path / "f.npz", u=u), inputs="u", outputs="u", skip_bad=True)
    assert (len(found.pairs), found.where(1)[-8:], len(found.skipped)) == (3, "sample 2", 1)
    with h5py.File(tmp_path / "g.h5", "w") as file:
        for name in ("s0", "s1", "s2"):
            file[f"{name}/x"], file[f"{name}/u"] = np.arange(5.0), np.ones(5)
        del file["s0/u"]
    groups = read_hdf5(tmp_path / "g.h5", coordinates="x", inputs="u", outputs="u", groups="/", skip_bad=True)
    assert (len(groups.pairs), "s0/u" in groups.skipped[0]) == (2, True)
    folder = tmp_path / "meshes"
    folder.mkdir()
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    for i, name in enumerate(("b", "u", "u")):
        cells = {"triangle": [[0, 1, 2], [0, 2, 3]]}
        meshio.vtu.write(str(folder / f"m{i}.vtu"), meshio.Mesh(square, cells, point_data={name: np.ones(4)}))
    (folder / "m9.vtu").write_text("<VTKFile>")
    meshes = read_meshes(folder, inputs="u", outputs="u", skip_bad=True)
    assert (len(meshes.pairs), len(meshes.skipped), len(meshes.mesh(1).points)) == (2, 2, 4)


# ------------------------------------------------------------------ tensors of PyTorch


class Runs:
    """What a pickle would run."""

    def __reduce__(self):
        return (print, ("code in the file ran",))


def test_tensors_as_other_packages_save_them(tmp_path, capsys):
    x, y = torch.rand(8, 16, 16) > 0.5, torch.rand(8, 16, 16)
    torch.save({"x": x, "y": y, "note": "made elsewhere"}, tmp_path / "darcy.pt")
    out = tmp_path / "darcy.h5"
    assert main(["import", "pt", str(tmp_path / "darcy.pt"), "--grid", "left", "--out", str(out)]) == 0
    given, wanted = iaenet.load_dataset(out, split="train")[0]
    assert wanted.discretization.axes[0].tolist() == [i / 16 for i in range(16)]
    whole = [(a.float().ravel(), b.ravel()) for a, b in zip(x, y, strict=True)]
    assert any(torch.equal(given.values[:, 0], a) and torch.equal(wanted.values[:, 0], b) for a, b in whole)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "options", "shapes"),
    [
        ([torch.rand(3, 8), torch.rand(3, 8)], {"inputs": "0", "outputs": "1"}, [(8, 1), (8, 1)]),
        (torch.rand(3, 8, 2), {"inputs": "tensor[0]", "outputs": "tensor[1]", "dim": 1}, [(8, 1), (8, 1)]),
        ({"train": {"x": torch.rand(3, 2, 8), "y": torch.rand(3, 1, 8).half()}},
         {"inputs": "train/x", "outputs": "train/y", "dim": 1, "channels": "first"}, [(8, 2), (8, 1)]),
        ([{"p": torch.rand(n, 2), "x": torch.rand(n), "y": torch.rand(n, 2)} for n in (40, 50)],
         {"coordinates": "p"}, [(40, 1), (40, 2)]),
    ],
)  # fmt: skip
def test_lists_and_dicts_of_tensors(tmp_path, content, options, shapes):
    torch.save(content, tmp_path / "f.pt")
    assert [tuple(field.values.shape) for field in read_torch(tmp_path / "f.pt", **options).pairs[0]] == shapes


def test_no_pickle_is_read(tmp_path, capsys):
    torch.save({"x": torch.rand(3, 8), "y": Runs()}, tmp_path / "f.pt")
    with pytest.raises(InvalidInputError, match=r"f\.pt: holds Python objects, whose loading would run code"):
        import_data("pt", str(tmp_path / "f.pt"), str(tmp_path / "f.h5"))
    torch.save({"x": torch.zeros(1).expand(10**9, 10**6), "y": torch.zeros(1)}, tmp_path / "f.pt")
    with pytest.raises(InvalidInputError, match=r"tensor 'x': needs 4 PB of memory"):
        import_data("pt", str(tmp_path / "f.pt"), str(tmp_path / "f.h5"))
    (tmp_path / "g.pt").write_bytes((tmp_path / "f.pt").read_bytes()[:-200])
    with pytest.raises(InvalidInputError, match=r"g\.pt: is no file of torch\.save"):
        import_data("pt", str(tmp_path / "g.pt"), str(tmp_path / "f.h5"))
    assert "code in the file ran" not in capsys.readouterr().out


def test_predictions_go_to_tensors_and_come_back(tmp_path):
    grid = Discretization.uniform((4, 3))
    fields = [iaenet.Field(grid, torch.full((12, 1), float(i))) for i in range(3)]
    samples = [Sample(f"s{i}", field, field) for i, field in enumerate(fields)]
    output = Output(samples, (Channel("a"),), (Channel("u"),), ("x", "y"), suffix=".pt")
    write(choose(tmp_path / "out.pt", "pt"), output)
    found = read_torch(tmp_path / "out.pt", coordinates="x,y", inputs="u", outputs="u")
    assert [pair[0].values.mean().item() for pair in found.pairs] == [0.0, 1.0, 2.0]
