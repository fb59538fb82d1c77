"""Results: estimates by name, and files that give back every array, dtype and attribute."""

import errno
import os
import re
import types
from typing import Any

import numpy as np
import pytest

import atlas
from atlas.ensemble import (
    ChunkStore,
    Estimate,
    Result,
    Variable,
    estimate_variables,
    write_atomically,
)

ATTRS = {
    "model": "reflected Atlas, Grüße",
    "empty": "",
    "null": "a\0b",
    "step": 0.05,
    "whole": 1.0,
    "bound": float("inf"),
    "seed": 2**64 - 1,
    "negative": -3,
    "floor": True,
    "flag": 1,
    "cut": None,
    "drifts": [1.0, -2.0, 3],
    "system": {"rates": [1, 2], "policy": {"name": "JSQ", "tie": None}},
    "digits": "5",
    "json_like": "[1]",
}


class Run(Result, kind="tests.Run"):
    """A result with a property, as packages make them."""

    @property
    def gaps(self):
        return self.values("gaps")


class Other(Result, kind="tests.Other"):
    """Another kind."""


def run(**changes) -> Run:
    rng = np.random.default_rng(31)
    variables = {
        "ranked": Variable(("time", "replica", "rank"), rng.normal(size=(2, 5, 3))),
        "gaps": Variable(("time", "replica", "gap"), rng.normal(size=(2, 5, 2)).astype("f4")),
        "total": Variable(("replica",), np.arange(5)),
    }
    coordinates = {"time": [0.5, 1.0], "replica": np.arange(10, 15)}
    return Run(**{"variables": variables, "attrs": ATTRS, "coordinates": coordinates, **changes})


def same(first: Result, second: Result) -> bool:
    assert type(first) is type(second)
    assert repr(first.attrs) == repr(second.attrs)
    for one, other in ((first.variables, second.variables),):
        assert list(one) == list(other)
        for name in one:
            assert one[name].dims == other[name].dims
            assert one[name].values.dtype == other[name].values.dtype
            np.testing.assert_array_equal(one[name].values, other[name].values)
    assert set(first.coordinates) == set(second.coordinates)
    for dim, labels in first.coordinates.items():
        assert labels.dtype == second.coordinates[dim].dtype
        np.testing.assert_array_equal(labels, second.coordinates[dim])
    return True


def test_a_saved_result_is_the_same_after_loading(tmp_path):
    result = run()
    path = result.save(tmp_path / "run.nc")
    assert path == (tmp_path / "run.nc").resolve()
    assert os.listdir(tmp_path) == ["run.nc"]
    assert same(Run.load(path), result)
    assert same(Result.load(str(path)), result)
    for name, value in Run.load(path).attrs.items():
        assert type(value) is type(ATTRS[name]), name
    np.testing.assert_array_equal(Run.load(path).gaps, result.gaps)


DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (3, 0)])
def test_every_dtype_and_shape_survives(tmp_path, dtype, shape):
    values = (np.arange(np.prod(shape)) % 2).astype(dtype).reshape(shape)
    if dtype in ("f4", "f8") and values.size:
        values.flat[0] = np.nan
    dims = ("level", "gap")[: len(shape)]
    result = Result({"x": Variable(dims, values)}, {})
    assert same(Result.load(result.save(tmp_path / "x.nc")), result)


def test_extreme_numbers_survive(tmp_path):
    extremes = {
        "f8": np.array([np.nan, -np.inf, 5e-324, -0.0, 0.1]),
        "i8": np.array([-(2**63), 2**63 - 1]),
        "u8": np.array([2**64 - 1], np.uint64),
    }
    variables = {name: Variable((name + "_index",), array) for name, array in extremes.items()}
    loaded = Result.load(Result(variables).save(tmp_path / "x.nc"))
    for name, array in extremes.items():
        assert loaded.values(name).tobytes() == array.tobytes()


def test_large_attributes_survive(tmp_path):
    """More than the 64 KiB that an attribute of the older file format can hold."""
    attrs = {"drifts": np.linspace(0, 1, 20_000).tolist(), "text": "x" * 200_000}
    attrs |= {f"a{i}": "y" * 1000 for i in range(100)}
    result = Result({"x": Variable((), np.array(1.0))}, attrs)
    assert same(Result.load(result.save(tmp_path / "x.nc")), result)


def test_numpy_attributes_become_plain():
    result = run(attrs={"a": np.float32(0.5), "b": np.int8(3), "c": np.array([1, 2]), "d": (1, 2)})
    assert result.attrs == {"a": 0.5, "b": 3, "c": [1, 2], "d": [1, 2]}
    assert [type(v) for v in result.attrs.values()] == [float, int, list, list]


def test_coordinates_count_from_one_and_replicas_keep_their_indices():
    result = run()
    assert result.coordinates["rank"].tolist() == [1, 2, 3]
    assert result.coordinates["gap"].tolist() == [1, 2]
    assert result.coordinates["replica"].tolist() == [10, 11, 12, 13, 14]
    assert result.sizes == {"time": 2, "replica": 5, "rank": 3, "gap": 2}
    names = ("server", "collision", "level", "replica", "prob")
    plain = Result({n + "_x": Variable((n,), np.zeros(2)) for n in names})
    found = {dim: labels.tolist() for dim, labels in plain.coordinates.items()}
    assert found == {"server": [1, 2], "collision": [1, 2], "level": [1, 2], "replica": [0, 1]}


def test_xarray_has_labels_and_can_be_written_by_xarray(tmp_path):
    import xarray

    result = run()
    data = result.to_xarray()
    assert data["gaps"].dims == ("time", "replica", "gap")
    assert (
        float(data["ranked"].sel(time=1.0, replica=12, rank=3)) == result.values("ranked")[1, 2, 2]
    )
    assert data.attrs["step"] == 0.05
    data.to_netcdf(tmp_path / "by_xarray.nc", engine="h5netcdf")
    with xarray.open_dataset(result.save(tmp_path / "ours.nc"), engine="h5netcdf") as opened:
        xarray.testing.assert_equal(opened, data)
    flags = Result({"on": Variable(("rank",), np.array([True, False]))})
    with xarray.open_dataset(flags.save(tmp_path / "b.nc"), engine="h5netcdf") as opened:
        assert opened["on"].dtype == np.bool_


def test_estimates_are_over_replicas():
    result = run()
    estimate = result.estimate("gaps")
    expected = Estimate.from_samples(result.gaps, axis=1)
    assert estimate.shape == (2, 2)
    np.testing.assert_array_equal(estimate.value, expected.value)
    np.testing.assert_array_equal(estimate.std_error, expected.std_error)
    assert result.estimate("total").value == 2.0


def test_streamed_estimates_are_given_back(tmp_path):
    estimate = Estimate([1.0, 2.0], [0.1, 0.2], 7)
    result = Result(estimate_variables("lengths", ("server",), estimate))
    assert result.names == ["lengths"]
    again = Result.load(result.save(tmp_path / "x.nc")).estimate("lengths")
    for field in ("value", "std_error", "dof"):
        np.testing.assert_array_equal(getattr(again, field), getattr(estimate, field))


def test_replicas_with_batch_means_are_pooled():
    each = Estimate.from_samples(np.random.default_rng(32).normal(size=(4, 10, 3)), axis=1)
    result = Result(estimate_variables("lengths", ("replica", "server"), each))
    pooled = Estimate.pooled(each.value, each.std_error, each.dof)
    found = result.estimate("lengths")
    np.testing.assert_array_equal(found.std_error, pooled.std_error)
    np.testing.assert_array_equal(found.dof, pooled.dof)


def test_arrays_are_read_only_and_not_copied():
    values = np.zeros(3)
    result = Result({"x": Variable(("rank",), values)})
    assert np.shares_memory(result.values("x"), values)
    with pytest.raises(ValueError, match="read-only"):
        result.values("x")[0] = 1.0
    values[0] = 1.0
    assert result.values("x")[0] == 1.0
    assert repr(result) == "Result(x; rank: 3)"


def test_unknown_names_list_the_known():
    result = run()
    for call in (result.estimate, result.values, lambda n: result.save_table("x.csv", [n])):
        with pytest.raises(ValueError, match=r"one of \['ranked', 'gaps', 'total'\], got 'gap'"):
            call("gap")
    plain = Result({"x": Variable(("rank",), np.zeros(3))})
    with pytest.raises(ValueError, match="replicas or a stored error, got 'x'"):
        plain.estimate("x")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    import h5netcdf

    path = run().save(tmp_path / "run.nc")
    monkeypatch.setattr(h5netcdf.File, "create_variable", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(attrs={}).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["run.nc"]
    assert same(Run.load(path), run())


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no room can be reserved here")
def test_a_full_disk_is_an_error_that_leaves_the_old_file(tmp_path, monkeypatch):
    """Left to itself HDF5 raises late, and ends the process when it is collected."""
    path = run().save(tmp_path / "run.nc")

    def full(descriptor, offset, size):
        assert size > 2**20
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        run(attrs={}).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["run.nc"]
    assert same(Run.load(path), run())


def test_a_single_wrong_bit_is_noticed(tmp_path):
    """HDF5 alone reads one file in twenty of these as other numbers, and some for ever."""
    import xarray

    path = run().save(tmp_path / "run.nc")
    whole = path.read_bytes()
    with xarray.open_dataset(path, engine="h5netcdf") as seen_by_others:
        assert set(seen_by_others.data_vars) == set(run().variables)
    for place in range(0, len(whole) - 50, 97):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="the file was damaged"):
            Run.load(path)
    path.write_bytes(whole[:-45])
    assert same(Run.load(path), run())


def test_files_that_are_not_ours_are_refused(tmp_path):
    import xarray

    path = run().save(tmp_path / "run.nc")
    with pytest.raises(FileNotFoundError, match="must name an existing file"):
        Result.load(tmp_path / "missing.nc")
    (tmp_path / "text.nc").write_text("time,gap\n")
    (tmp_path / "empty.nc").write_bytes(b"")
    (tmp_path / "half.nc").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for name in ("text.nc", "empty.nc", "half.nc", "."):
        with pytest.raises(ValueError, match="must be a whole netCDF-4 file"):
            Result.load(tmp_path / name)
    xarray.Dataset({"x": ("a", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="of another program: open it with xarray"):
        Result.load(tmp_path / "other.nc")
    with pytest.raises(
        ValueError, match=r"holds 'tests.Run', not 'tests.Other': use tests.Run.load"
    ):
        Other.load(path)


@pytest.mark.parametrize("path", [5, True, None, b"run.nc", ["run.nc"], "run\0.nc"])
@pytest.mark.parametrize(
    "use",
    [
        atlas.load,
        Result.load,
        Run.load,
        lambda path: run().save(path),
        lambda path: run().save_table(path),
        lambda path: ChunkStore(path, {}),
        lambda path: write_atomically(path, lambda file: file.touch()),
    ],
)
def test_what_is_no_path_is_refused_by_name(use, path):
    """Among them a NUL, at which the system's own error would not say whose it is."""
    value = re.escape(repr(path))
    remedy = "remove it" if isinstance(path, str) else "string or a pathlib.Path"
    with pytest.raises(ValueError, match=f"path must .*{value}") as refusal:
        use(path)
    assert remedy in str(refusal.value)


def test_unknown_kinds_and_formats_are_refused(tmp_path, monkeypatch):
    path = run().save(tmp_path / "run.nc")
    monkeypatch.delitem(Result._kinds, "tests.Run")
    with pytest.raises(ValueError, match=r"holds an unknown 'tests\.Run': import tests first"):
        Result.load(path)
    monkeypatch.undo()
    import h5netcdf

    with h5netcdf.File(path, "a") as file:
        file.attrs["atlas_format"] = 99
    with pytest.raises(ValueError, match="has format 99, this version reads 1"):
        Run.load(path)


def test_a_kind_belongs_to_one_class():
    for kind in ("atlas.Result", "tests.Run"):
        with pytest.raises(ValueError, match=f"'{kind}' is taken"):
            types.new_class("Twin", (Result,), {"kind": kind})


VECTOR = Variable(("rank",), np.zeros(3))
# What the types forbid is refused at run time too.
NUMBER: Any = 1
ARRAY: Any = np.zeros(3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Variable(("a",), np.zeros((2, 2))), ValueError, "one different name per axis"),
        (lambda: Variable(("a", "a"), np.zeros((2, 2))), ValueError, "one different name per axis"),
        (lambda: Variable("a", np.zeros(2)), ValueError, "dims must be a tuple of names"),
        (lambda: Variable((NUMBER,), np.zeros(2)), ValueError, "dims must be a tuple of names"),
        (lambda: Variable((), np.array("text")), ValueError, "values must be bool, integer"),
        (lambda: Variable((), np.array(1j)), ValueError, "values must be bool, integer"),
        (lambda: Variable((), np.array(None)), ValueError, "values must be bool, integer"),
        (lambda: Variable((), np.float16(1)), ValueError, "got dtype float16"),
        (lambda: Result({"x": ARRAY}), ValueError, "x must be a Variable, got ndarray"),
        (lambda: Result({"a/b": VECTOR}), ValueError, "name of a variable must be made of"),
        (lambda: Result({NUMBER: VECTOR}), ValueError, "name of a variable must be a string"),
        (lambda: Result({"x": Variable(("a b",), [1.0])}), ValueError, "name of a dim"),
        (lambda: Result({"rank": VECTOR}), ValueError, "name of a dim, got 'rank'"),
        (
            lambda: Result({"x": VECTOR, "y": Variable(("rank",), np.zeros(4))}),
            ValueError,
            "y must have 3 entries along rank, got 4",
        ),
        (lambda: Result({"x": Variable(("time",), [1.0])}), ValueError, "must give 'time'"),
        (
            lambda: Result({"x": VECTOR}, {}, {"rank": [1, 2]}),
            ValueError,
            "coordinates of rank must have length 3, got 2",
        ),
        (lambda: Result({"x": VECTOR}, {"a b": 1}), ValueError, "name of an attribute"),
        (lambda: Result({"x": VECTOR}, {"a": object()}), ValueError, "a must be a number, string"),
        (lambda: Result({"x": VECTOR}, {"a": [{1: 2}]}), ValueError, r"a\[0\] must have strings"),
        (lambda: Result({"x": VECTOR}, {"atlas_kind": 1}).save("x.nc"), ValueError, "atlas_kind"),
        (lambda: Result({"x": VECTOR}).save_table("x.xlsx", ["x"]), ValueError, ".csv or .parquet"),
        (lambda: Result({"x": VECTOR}).save_table("x.csv"), ValueError, r"at least one of \['x'\]"),
        (lambda: run().save_table("x.csv", "gaps"), ValueError, "names must be a list of names"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_have_one_row_per_value(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    result = run()
    path = result.save_table(tmp_path / f"run.{suffix}")
    table = pandas.read_csv(path) if suffix == "csv" else pandas.read_parquet(path)
    assert list(table.columns) == ["variable", "replica", "time", "rank", "gap", "value"]
    assert len(table) == 2 * 5 * 3 + 2 * 5 * 2 + 5
    row = table[(table.variable == "gaps") & (table.replica == 12) & (table.gap == 2)]
    assert row.value.tolist() == result.gaps[:, 2, 1].astype(float).tolist()
    assert row.time.tolist() == [0.5, 1.0]
    assert row["rank"].isna().all()
    only = result.save_table(tmp_path / f"total.{suffix}", ["total"])
    table = pandas.read_csv(only) if suffix == "csv" else pandas.read_parquet(only)
    assert list(table.columns) == ["variable", "replica", "value"]
    assert sorted(os.listdir(tmp_path)) == [f"run.{suffix}", f"total.{suffix}"]


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"\.parquet tables need the package pyarrow"):
        run().save_table(tmp_path / "run.parquet")
    assert os.listdir(tmp_path) == []
