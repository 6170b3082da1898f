"""WFDB records as the wfdb package writes them, and the folders of fecgsyndb."""

import warnings

import numpy as np
import pytest

from iaenet import fit, load_dataset
from iaenet.cli.main import main
from iaenet.data.formats.fecgsyndb import read_fecgsyndb
from iaenet.data.formats.wfdb_records import read_wfdb
from iaenet.data.import_files import import_data
from iaenet.data.problems.fetal_ecg import times
from iaenet.errors import InvalidInputError

wfdb = pytest.importorskip("wfdb")
RNG = np.random.default_rng(6)


def write(folder, name, signals, rate=250, fmt="16", names=None, unit="mV", comments=None, gain=3000.0):
    """Digital values are whole numbers, so physical ones come back exactly."""
    folder.mkdir(parents=True, exist_ok=True)
    digital = np.round(np.asarray(signals) * gain).astype(int)
    count = digital.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # wfdb writes with calls that pandas will drop
        wfdb.wrsamp(
            name, fs=rate, units=[unit] * count, sig_name=names or [f"ch{i + 1}" for i in range(count)],
            d_signal=digital, fmt=[fmt] * count, adc_gain=[gain] * count, baseline=[0] * count, comments=comments,
            write_dir=str(folder),
        )  # fmt: skip
    return digital / gain


@pytest.mark.parametrize("fmt", ["16", "212", "24", "32"])
def test_windows_of_plain_records(tmp_path, fmt):
    truth = [write(tmp_path, f"r{i}", RNG.uniform(-0.5, 0.5, (n, 3)), 360, fmt) for i, n in enumerate((250, 130))]
    imported = read_wfdb(tmp_path, inputs="ch1", outputs="ch3,ch2", window=60)
    assert len(imported.pairs) == 4 + 2, "what remains of a record is left out"
    assert [channel.unit for channel in imported.outputs] == ["mV", "mV"]
    windows = [(signal, k) for signal in truth for k in range(len(signal) // 60)]
    for (given, wanted), (signal, k) in zip(imported.pairs, windows, strict=True):
        rows = slice(60 * k, 60 * k + 60)
        assert np.array_equal(given.values[:, 0], signal[rows, 0])
        assert np.array_equal(wanted.values, signal[rows][:, [2, 1]])
        assert np.allclose(given.discretization.points[:, 0], np.arange(60) / 360)
        assert given.discretization.bounds.tolist() == [[0, pytest.approx(60 / 360)]]
    splits = imported.split(1, 0, 1, seed=0)
    assert set(splits[:4]) != set(splits[4:]), "records are kept whole"


def test_signals_that_do_not_match_their_checksum_are_told(tmp_path, caplog):
    write(tmp_path, "r", RNG.uniform(-1, 1, (20, 2)))
    list(read_wfdb(tmp_path, inputs="ch1", outputs="ch2", window=10).pairs)
    assert not caplog.text
    damaged = bytearray((tmp_path / "r.dat").read_bytes())
    damaged[2] ^= 1  # the first sample of the second signal
    (tmp_path / "r.dat").write_bytes(damaged)
    list(read_wfdb(tmp_path, inputs="ch1", outputs="ch2", window=10).pairs)
    assert "r.hea: signal ch2 does not match its checksum" in caplog.text
    assert "ch1" not in caplog.text


def test_one_record_by_name_or_by_header(tmp_path):
    write(tmp_path, "r", RNG.uniform(-1, 1, (20, 2)))
    for path in (tmp_path / "r", tmp_path / "r.hea"):
        assert len(read_wfdb(path, inputs="ch1", outputs="ch2", window=10).pairs) == 2


def subject(root, base, leads=34, n=4500, fetuses=1, noises=2, counted=True):
    """What fecgsyn2wfdb writes for one simulation."""
    name = base.split("_")
    folder = root / name[0] / name[1]
    comments = [f"nfetus:{fetuses}", f"nnoise:{noises}"] if counted else None
    sources = ["mecg", *(f"fecg{i + 1}" for i in range(fetuses)), *(f"noise{i + 1}" for i in range(noises))]
    return {
        source: write(folder, f"{base}_{source}", RNG.normal(0, 0.1, (n, leads)), unit="nu", comments=comments)
        for source in sources
    }


def test_the_folders_of_fecgsyndb(tmp_path):
    bases = ["sub01_snr00dB_l1_c0", "sub01_snr03dB_l2", "sub02_snr12dB_l1_c5"]
    truth = {bases[0]: subject(tmp_path, bases[0])}
    truth[bases[1]] = subject(tmp_path, bases[1], noises=0)
    truth[bases[2]] = subject(tmp_path, bases[2], fetuses=2)
    imported = read_fecgsyndb(tmp_path, leads=[1, 11, 25])
    assert len(imported.pairs) == 3 * 2 * 3
    assert [(channel.name, channel.unit) for channel in imported.inputs + imported.outputs] == [
        ("mixture", "nu"), ("maternal", "nu"), ("fetal", "nu"),
    ]  # fmt: skip
    pairs = iter(imported.pairs)
    for base in bases:
        sources = truth[base]
        fetal = sum(signal for name, signal in sources.items() if name.startswith("fecg"))
        noise = sum((signal for name, signal in sources.items() if name.startswith("noise")), np.zeros_like(fetal))
        for window in range(2):
            for lead in (0, 10, 24):
                rows = slice(2000 * window, 2000 * window + 2000)
                given, wanted = next(pairs)
                assert np.array_equal(wanted.values[:, 0], sources["mecg"][rows, lead])
                assert np.array_equal(wanted.values[:, 1], fetal[rows, lead])
                mixture = sources["mecg"][rows, lead] + fetal[rows, lead] + noise[rows, lead]
                assert np.allclose(given.values[:, 0], mixture, rtol=0, atol=1e-15)
    assert imported.pairs[0][0].discretization.key == times(2000).key, "the same points as generated recordings"
    assert imported.records == tuple(base for base in bases for _ in range(6))
    by_subject = read_fecgsyndb(tmp_path, leads=[1], split_by="subject").split(1, 0, 1)
    assert len(set(by_subject[:4])) == 1
    assert by_subject[0] != by_subject[4]


def test_a_source_that_is_missing_is_noticed(tmp_path):
    subject(tmp_path, "sub01_snr00dB_l1_c0")
    folder = tmp_path / "sub01" / "snr00dB"
    (folder / "sub01_snr00dB_l1_c0_noise2.hea").unlink()
    with pytest.raises(InvalidInputError, match=r"has 2 sources sub01_snr00dB_l1_c0_noiseN, but 1 are in the folder"):
        read_fecgsyndb(tmp_path)
    subject(tmp_path, "sub01_snr00dB_l1_c0")
    (tmp_path / "other").mkdir()
    with pytest.raises(InvalidInputError, match=r"no lead 40: there are 34"):
        read_fecgsyndb(tmp_path, leads=[40])
    with pytest.raises(InvalidInputError, match=r"no record of fecgsyndb"):
        read_fecgsyndb(tmp_path / "other")
    subject(tmp_path, "sub02_snr00dB_l1_c0", counted=False, leads=1)
    (tmp_path / "sub02" / "snr00dB" / "sub02_snr00dB_l1_c0_fecg1.hea").unlink()
    with pytest.raises(InvalidInputError, match=r"sub02_snr00dB_l1_c0_fecg1\.hea is missing"):
        read_fecgsyndb(tmp_path / "sub02", leads=[1])


def test_what_does_not_fit_is_named(tmp_path):
    write(tmp_path / "a", "r", RNG.uniform(-1, 1, (50, 2)))
    write(tmp_path / "b", "r", RNG.uniform(-1, 1, (50, 2)), rate=500)
    invalid = RNG.uniform(-1, 1, (50, 2))
    write(tmp_path / "c", "r", invalid)
    with (tmp_path / "c" / "r.dat").open("r+b") as stream:
        stream.seek(2 * (2 * 13 + 1))
        stream.write((-32768).to_bytes(2, "little", signed=True))  # WFDB's mark of an invalid sample
    (tmp_path / "d").mkdir()
    good = {"inputs": "ch1", "outputs": "ch2", "window": 10}
    for name, options, message in (
        ("a", {"inputs": "MLII"}, r"r\.hea: no signal 'MLII'; there are: ch1, ch2"),
        ("a", {"window": 51}, r"r\.hea: 50 samples are less than one window of 51"),
        ("a", {"window": 1}, r"window must be at least 2 samples, got 1"),
        ("c", {}, r"c/r\.hea: window 1: channel ch2, point 3 is nan"),
        ("d", {}, r"d: no record \(\.hea file\) in this folder"),
        ("a/s", {}, r"s\.hea: no such file"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            list(read_wfdb(tmp_path / name, **{**good, **options}).pairs)


def test_a_header_cannot_point_elsewhere_or_promise_too_much(tmp_path):
    write(tmp_path, "r", RNG.uniform(-1, 1, (50, 2)))
    (tmp_path / "secret.dat").write_bytes(bytes(200))
    header = (tmp_path / "r.hea").read_text()
    good = {"inputs": "ch1", "outputs": "ch2", "window": 10}
    (tmp_path / "in").mkdir()
    for text, message in (
        (
            header.replace("r.dat", "../secret.dat"),
            r"signal file '\.\./secret\.dat' is not beside its header|invalid syntax in signal line",
        ),
        (header.replace("r.dat", str(tmp_path / "secret.dat")), r"is not beside its header|invalid syntax"),
        (
            header.replace(" 50\n", " 50000000000000\n", 1),
            r"r\.dat: 200 bytes, but the header promises 200000000000000",
        ),
        (header.replace("r 2 250 50", "r/2 2 250 50"), r"a record of several segments|cannot be read as a WFDB header"),
        ("nonsense", r"r\.hea: cannot be read as a WFDB header"),
    ):
        (tmp_path / "in" / "r.hea").write_text(text)
        (tmp_path / "in" / "r.dat").write_bytes((tmp_path / "r.dat").read_bytes())
        with pytest.raises(InvalidInputError, match=message):
            read_wfdb(tmp_path / "in", **good)


def one_record(tmp_path, length=1000, rate=100):
    t = np.arange(length) / rate
    return write(tmp_path, "rec", np.stack([np.sin(6 * t), np.cos(5 * t)], axis=1) * 0.5, rate)


def test_one_record_is_split_in_time_and_trains(tmp_path, capsys):
    one_record(tmp_path)
    names = ["--inputs", "ch1", "--outputs", "ch2", "--window", "50"]
    assert main(["import", "wfdb", str(tmp_path / "rec"), *names, "--out", str(tmp_path / "rec.h5")]) == 0
    said = capsys.readouterr().out
    assert "18 samples (14 train, 2 validation, 2 test)" in said
    assert "split in time, with a gap of 1 window between parts" in said
    data = load_dataset(tmp_path / "rec.h5")
    fit({"name": "fno", "width": 4}, data, epochs=1, threads=1)
    truth = one_record(tmp_path)
    starts = {
        name: [
            int(np.flatnonzero(np.abs(truth[::50, 0] - pair[0].values[0, 0].item()) < 1e-6)[0])
            for pair in data.select(split=name)
        ]
        for name in ("train", "validation", "test")
    }
    assert starts == {"train": list(range(14)), "validation": [15, 16], "test": [18, 19]}, "a window between parts"


def test_gaps_and_what_is_too_short_for_them(tmp_path):
    one_record(tmp_path)
    options = {"inputs": "ch1", "outputs": "ch2", "window": 50, "out": str(tmp_path / "rec.h5")}
    assert "14 samples" in import_data("wfdb", str(tmp_path / "rec"), split="time", gap=3, **options)
    assert "20 samples (16 train, 4 validation)" in import_data(
        "wfdb", str(tmp_path / "rec"), split="time", gap=0, validation=0.2, test=0, **options
    )
    with pytest.raises(InvalidInputError, match="20 windows are too few for 3 parts with a gap of 9"):
        import_data("wfdb", str(tmp_path / "rec"), gap=9, **options)
    import_data("wfdb", str(tmp_path / "rec"), split="random", train=1.0, validation=0, test=0, **options)
    with pytest.raises(InvalidInputError, match="import the record with --split time"):
        fit("fno", options["out"], epochs=1)


def test_records_and_signals_of_different_rates(tmp_path):
    slow = write(tmp_path, "r1", RNG.uniform(-1, 1, (100, 2)), rate=50)
    fast = write(tmp_path, "r2", RNG.uniform(-1, 1, (450, 2)), rate=125)
    frames = RNG.integers(-1000, 1000, (40, 3))  # a frame: one sample of A, two of B
    (tmp_path / "r3.hea").write_text("r3 2 50 40\nr3.dat 16 3000 16 0 0 0 0 ch1\nr3.dat 16x2 3000 16 0 0 0 0 ch2\n")
    frames.astype("<i2").tofile(tmp_path / "r3.dat")
    imported = read_wfdb(tmp_path, inputs="ch1", outputs="ch2", window=40)
    assert "signals at 50, 100, 125 Hz" in imported.notes[0]
    assert [where.rsplit("/")[-1] for where in map(imported.where, range(len(imported.pairs)))] == [
        *(f"r1.hea: window {k}" for k in range(2)), *(f"r2.hea: window {k}" for k in range(4)), "r3.hea: window 0",
    ]  # fmt: skip
    pairs = list(imported.pairs)
    assert [(a.discretization.n, u.discretization.n) for a, u in pairs] == [(40, 40)] * 2 + [(100, 100)] * 4 + [
        (40, 80)
    ]
    assert np.array_equal(pairs[1][0].values[:, 0], slow[40:80, 0])
    assert np.array_equal(pairs[4][1].values[:, 0], fast[200:300, 1])
    assert np.array_equal(pairs[6][0].values[:, 0], frames[:, 0] / 3000)
    assert np.array_equal(pairs[6][1].values[:, 0], frames[:, 1:].ravel() / 3000)
    assert {tuple(map(tuple, field.discretization.bounds.tolist())) for pair in pairs for field in pair} == {
        ((0, 0.8),)
    }
    with pytest.raises(InvalidInputError, match="ch1 50 Hz, ch2 100 Hz: channels of one function must have one rate"):
        read_wfdb(tmp_path / "r3", inputs="ch1,ch2", outputs="ch2", window=40)


def test_windows_that_are_no_whole_number_of_samples_keep_their_times(tmp_path):
    write(tmp_path, "r1", RNG.uniform(-1, 1, (30, 1)), rate=10, names=["a"])
    write(tmp_path, "r2", np.linspace(-1, 1, 12)[:, None], rate=3, names=["a"])
    imported = read_wfdb(tmp_path, inputs="a", outputs="a", window=5)  # half a second: 1.5 samples at 3 Hz
    fields = [imported.given[i] for i in range(len(imported.given)) if "r2.hea" in imported.where(i)]
    times = [k / 2 + t for k, field in enumerate(fields) for t in field.discretization.points[:, 0].tolist()]
    assert times == pytest.approx(np.arange(12) / 3)
    assert np.concatenate([f.values[:, 0] for f in fields]) == pytest.approx(np.linspace(-1, 1, 12), abs=1e-3)


def test_a_bad_record_of_a_folder_is_skipped(tmp_path):
    write(tmp_path, "r1", RNG.uniform(-1, 1, (40, 2)))
    write(tmp_path, "r2", RNG.uniform(-1, 1, (40, 2)), names=["ch1", "other"])
    write(tmp_path, "r3", RNG.uniform(-1, 1, (4, 2)))
    (tmp_path / "r0.hea").write_text("nonsense")
    good = {"inputs": "ch1", "outputs": "ch2", "window": 10}
    with pytest.raises(InvalidInputError, match=r"r0\.hea: cannot be read"):
        read_wfdb(tmp_path, **good)
    imported = read_wfdb(tmp_path, **good, skip_bad=True)
    assert (len(imported.pairs), len(imported.skipped)) == (4, 3)
    assert [name in reason for name, reason in zip(("r0", "r2", "r3"), imported.skipped, strict=True)] == [True] * 3
