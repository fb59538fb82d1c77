"""Timestamps keep all their digits, however far from 0 they are, and dates are days, not means."""

# What is passed here is wrong on purpose.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalCall=false

import numpy as np
import pytest

from queueing import Empirical, Trace, TraceArrivals, from_trace
from tests.test_traces import write_parquet

JOBS = np.ones(3)


@pytest.mark.parametrize(
    ("stamps", "gaps"),
    [
        (["1700000000.123456", "1700000000.123457", "1700000001"], [1e-6, 0.876543]),
        (["1700000000123456789", "1700000000123456790", "1700000000123456900"], [1.0, 110.0]),
        (["-1e9", "-999999999.9999999", "5"], [1e-7, 1000000004.9999999]),
        (["0.1", "0.2", "0.4"], [0.1, 0.2]),
    ],
    ids=["microseconds of an epoch", "nanoseconds as whole numbers", "before 1970", "small"],
)
def test_far_timestamps_of_csv_keep_their_digits(tmp_path, stamps, gaps):
    path = tmp_path / "far.csv"
    path.write_text("arrival,service\n" + "".join(f"{stamp},1\n" for stamp in stamps))
    np.testing.assert_allclose(from_trace(path).interarrivals, gaps, rtol=1e-15)


def test_starts_are_counted_from_the_same_moment(tmp_path):
    path = tmp_path / "far.csv"
    path.write_text(
        "arrival,start,end\n"
        "1700000000.1,1700000000.1,1700000000.3\n1700000000.2,1700000000.3,1700000000.6\n"
    )
    trace = from_trace(path)
    np.testing.assert_allclose(trace.services, [0.2, 0.3], rtol=1e-15)
    np.testing.assert_allclose(trace.interarrivals, [0.1], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_are_subtracted_as_such(tmp_path, dtype):
    stamps = np.array([2**62, 2**62 + 1, 2**62 + 3], dtype)
    columns = {"arrival": stamps, "start": stamps, "end": stamps + dtype(5)}
    for source in (columns, write_parquet(tmp_path / "far.parquet", columns)):
        assert from_trace(source) == Trace([1.0, 2.0], [5.0, 5.0, 5.0])
    small = {"arrival": np.array([250, 252, 255], np.uint8), "service": JOBS}
    assert from_trace(small) == Trace([2.0, 3.0], JOBS)


@pytest.mark.parametrize(
    ("dates", "gaps"),
    [
        (np.array(["2024-01", "2024-02", "2024-03"], "M8[M]"), [31.0 * 86400, 29.0 * 86400]),
        (np.array(["2024", "2025", "2026"], "M8[Y]"), [366.0 * 86400, 365.0 * 86400]),
        (np.array(["0001-01-01", "2026-01-01", "9999-12-31"], "M8[s]"), None),
        (np.array([0, 1500, 2750], "M8[ms]"), [1.5, 1.25]),
    ],
    ids=["months", "years", "ten thousand years", "milliseconds"],
)
def test_dates_of_every_unit_are_calendar_dates(dates, gaps):
    seconds = dates.astype("M8[ms]").astype(np.int64) / 1e3
    expected = np.diff(seconds) if gaps is None else gaps
    assert from_trace({"arrival": dates, "service": JOBS}).interarrivals.tolist() == list(expected)


def test_dates_with_a_time_zone_are_moments():
    pandas = pytest.importorskip("pandas")
    # The clocks of Berlin go from 2 to 3 o'clock that night.
    local = pandas.to_datetime(["2020-03-29 00:30", "2020-03-29 03:30", "2020-03-29 04:00"])
    frame = pandas.DataFrame({"arrival": local.tz_localize("Europe/Berlin"), "service": JOBS})
    assert from_trace(frame) == Trace([7200.0, 1800.0], JOBS)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array([1, 2, 3], "m8[Y]"), r"timedelta64\[Y\], of no fixed length"),
        (np.array([1, 2, 3], "m8"), "timedelta64, of no fixed length"),
        (np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]), "row 2: .* masked, which is missing"),
        (np.array(["1", "1e4000", "1"], np.longdouble), "row 2: .* inf, which is not finite"),
    ],
    ids=["years", "no unit", "masked", "beyond a double"],
)
def test_times_of_no_known_length_are_refused(column, message):
    if column.dtype == np.float64 and not np.ma.isMA(column):
        pytest.skip("a long double is no longer than a double here")
    with pytest.raises(ValueError, match=message):
        from_trace({"interarrival": column, "service": JOBS})


def test_dates_beside_numbers_are_refused():
    dates = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "M8[D]")
    with pytest.raises(ValueError, match="some timestamps are dates and others numbers"):
        from_trace({"arrival": dates, "start": [1, 2, 3], "end": [2, 3, 4]})


def test_columns_of_a_frame_may_be_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    assert from_trace(frame, columns={"interarrival": "0", "service": "1"}) == Trace([1, 3], [2, 4])


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_statistics_do_not_depend_on_the_unit(unit):
    times = np.array([1.0, 2.0, 4.0, 1.0]) * unit
    trace, plain = Trace(times, times), Trace(times / unit, times / unit)
    assert trace.interarrival_scv == pytest.approx(plain.interarrival_scv, rel=1e-12)
    assert trace.interarrival_dispersion(2) == pytest.approx(plain.interarrival_dispersion(2))
    assert trace.arrival_rate * unit == pytest.approx(plain.arrival_rate, rel=1e-12)
    assert "scv" in repr(trace)


@pytest.mark.parametrize("time", [5e-324, 1e-300, 1e300, 1.7e308])
def test_times_out_of_the_range_of_rates_are_refused(time):
    with pytest.raises(ValueError, match=r"interarrivals are up to .* in another unit"):
        Trace([time, time], [1.0, 1.0])
    if time < 1e-307:
        with pytest.raises(ValueError, match=r"interarrivals have the mean .* another unit"):
            TraceArrivals([time, time])
        with pytest.raises(ValueError, match=r"values have a mean .* another unit"):
            Empirical([time, 0.0, 0.0, 0.0])
