"""Examples are run, and what they show is asserted."""

from examples import invariance


def test_invariance(tmp_path, capsys):
    rows = invariance.main(tmp_path)
    assert max(rows["IAE-Net, uniform grids"][2:]) < 5e-4
    assert rows["IAE-Net, random sensors"][-1] < 1e-2
    assert min(rows["published form, uniform grids"][:-2]) > 1e-2
    assert (tmp_path / "invariance.png").stat().st_size > 10_000
    assert "picture" in capsys.readouterr().out
