"""Traces from files and arrays: what they give, and that nothing wrong goes through."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import queueing
from queueing import Empirical, Erlang, InOrder, Renewal, Trace, TraceArrivals, from_trace

HEAD = "interarrival,service\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="trace.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def trace():
    generator = np.random.default_rng(0)
    return Trace(generator.lognormal(size=500), 3.0 * Erlang(2).sample(generator, 500))


def write_parquet(path, columns):
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)
    return path


def test_a_trace_knows_its_rates_and_variability():
    trace = from_trace({"interarrival": [1.0, 3.0], "service": [2, 4]})
    assert (trace.num_jobs, trace.arrival_rate, trace.service_mean) == (2, 0.5, 3.0)
    assert (trace.interarrival_scv, trace.service_scv) == (0.25, pytest.approx(1.0 / 9.0))
    assert trace.arrivals() == TraceArrivals([1.0, 3.0])
    assert trace.arrivals(repeat=True).repeat and trace.arrivals().mean_rate == 0.5
    assert trace.service() == Empirical([2.0, 4.0])
    assert trace.service(in_order=True) == InOrder([2.0, 4.0])
    assert trace.renewal_surrogate() == Renewal(Empirical([1.0, 3.0]))
    assert trace == Trace([1, 3], [2, 4]) != Trace([1, 3], [4, 2])
    with pytest.raises(ValueError, match="read-only"):
        trace.services[0] = 1.0


def test_autocorrelation_sees_the_order():
    """Oracle: by hand for an alternating sequence; independent times within 5.5/sqrt(m)."""
    alternating = Trace([1.0, 3.0] * 50, [1.0] * 100)
    lags = alternating.interarrival_autocorrelation(2)
    assert lags == pytest.approx([1.0, -0.99, 0.98])
    assert alternating.service_autocorrelation(1).tolist() == [1.0, 0.0]
    assert alternating.interarrival_dispersion(2) == 0.0
    free = Trace(np.random.default_rng(0).exponential(size=10_000), np.ones(10_000))
    assert np.abs(free.interarrival_autocorrelation(5)[1:]).max() < 0.055


def test_a_saved_trace_comes_back_bit_for_bit(trace, tmp_path):
    path = trace.save(tmp_path / "saved.csv")
    assert from_trace(path) == from_trace(str(path)) == trace
    columns = {"interarrival": trace.interarrivals, "service": trace.services}
    assert from_trace(write_parquet(tmp_path / "saved.parquet", columns)) == trace
    assert from_trace(columns) == trace


def test_timestamps_give_differences(write):
    text = "arrival,start,end,note\n10,10,12,a\n11,12,15,b\n14,15,16,c\n"
    trace = from_trace(write(text))
    assert trace.interarrivals.tolist() == [1.0, 3.0]
    assert trace.services.tolist() == [2.0, 3.0, 1.0]
    assert trace.service(in_order=True) == InOrder([3.0, 1.0])
    with pytest.raises(ValueError, match="services has one time more"):
        trace.save("unknown.csv")


def test_dates_become_seconds(tmp_path):
    days = np.array(["2026-01-01T00:00:00", "2026-01-01T00:00:01.5", "2026-01-01T00:01"], "M8[ns]")
    columns = {"arrival": days, "service": np.array([1500, 500, 250], "m8[ms]")}
    trace = from_trace(columns)
    assert trace.interarrivals.tolist() == [1.5, 58.5]
    assert trace.services.tolist() == [1.5, 0.5, 0.25]
    assert from_trace(write_parquet(tmp_path / "dates.parquet", columns)) == trace
    late = {"arrival": np.array(["2026-01-01", "NaT"], "M8[s]"), "service": [1, 2]}
    with pytest.raises(ValueError, match="row 2: column 'arrival' is NaT, which is missing"):
        from_trace(late)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "1,2\n0.5,1\n",
        HEAD + "1,2\n0.5,1",
        HEAD + '"1","2"\n" 0.5 ",1\n',
        "\ufeff" + HEAD + "1,2\n5e-1,1.\n\n  \n\n",
        "service ;x; interarrival\r\n2;;1\r\n+1;z;.5\r\n",
        "service\tinterarrival\n2\t1\n1\t0.5\n",
    ],
    ids=["plain", "no last newline", "quoted", "byte order mark, blank end", "semicolon", "tab"],
)
def test_usual_ways_to_write_csv_are_read(write, text):
    assert from_trace(write(text)) == Trace([1.0, 0.5], [2.0, 1.0])


def test_columns_can_have_other_names(write):
    path = write("t_in,svc,end,arrival\n1,2,3,7\n2,3,4,9\n")
    trace = from_trace(path, columns={"arrival": "t_in", "service": "svc"})
    assert trace == Trace([1.0], [2.0, 3.0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2\nfast,2\n", "line 3: column 'interarrival' is 'fast'.*plain number"),
        ("1,2\n1,\n", "line 3: column 'service' is empty; fill it in"),
        ("1,2\n1,nan\n", "line 3: column 'service' is nan, which is not finite; correct"),
        ("1,2\n-inf,2\n", "line 3: column 'interarrival' is -inf, which is not finite"),
        ("1,2\n1,-2\n", "line 3: column 'service' is -2.0, which is negative"),
        ("1,2\n-1,2\n", "line 3: column 'interarrival' is -1.0, which is negative"),
        ("1,2\n1\n", "line 3 has 1 fields for 2 columns; give one value per column"),
        ("1,2\n1,5,2,5\n", "line 3 has 4 fields.*write points"),
        ('1,2\n"1,5","2,5"\n', "line 3: column 'interarrival' is '1,5'; write a point"),
        ("1,2\n\n1,2\n", "line 3 is blank, and rows follow"),
        ("1,2\n1_0,2\n", "line 3: column 'interarrival' is '1_0'"),
        ("1,2\n0x1,2\n", "line 3: column 'interarrival' is '0x1'"),
        ("1,2\n1,2026-01-01T00:00:00\n", "line 3: column 'service' is '2026"),
        ('1,2\n"1\n1",2\n', "line 3 has a quoted field that goes on"),
        ('1,2\n"1"1,2\n', "line 3: .*without quotes"),
        ('1,2\n"1,2\n', "line 3: .*without quotes"),
        ("", "has no rows; give a trace of at least one job"),
        ("\n\n", "has no rows"),
        ("0,1\n0,2\n", "all interarrival times are 0"),
        ("1,0\n1,0\n", "all service times are 0"),
    ],
)
def test_a_wrong_row_is_refused_by_its_line(write, rows, message):
    path = write(HEAD + rows)
    with pytest.raises(ValueError, match=message) as refusal:
        from_trace(path)
    assert "trace.csv" in str(refusal.value)


def test_the_line_is_right_far_down(write):
    """Rows are read many at a time."""
    rows = ["1,2\n"] * 40_000
    for line, text in ((16_385, "1,x\n"), (16_386, "1,-1\n"), (39_999, "1\n"), (40_001, "nan,1\n")):
        wrong = [*rows]
        wrong[line - 2] = text
        with pytest.raises(ValueError, match=f"line {line}[ :]"):
            from_trace(write(HEAD + "".join(wrong)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 is blank; the first line must name"),
        ("\n" + HEAD + "1,2\n", "line 1 is blank"),
        ("1.5,2\n1,2\n", "line 1: '1.5' is a number where the name"),
        ("service,service\n1,2\n", "line 1 names column 'service' twice"),
        ("gap,time\n1,2\n", "needed are 'interarrival' or .* its columns are 'gap', 'time'"),
        (
            "interarrival\n1\n",
            "needed are .*'service' or .* its columns are 'interarrival'; rename",
        ),
        ("arrival,start\n1,2\n", "needed are"),
        ("arrival,interarrival,service\n1,1,1\n", "two ways.*columns={'interarrival': "),
        ("arrival,service,start,end\n1,1,1,2\n", "two ways"),
        ("arrival,service\n1,1\n3,1\n2,1\n", "line 4: column 'arrival' is 2.0, before the 3.0"),
        ("arrival,service\n1,1\n", "one row, so column 'arrival' gives no interarrival"),
        ("arrival,start,end\n1,1,2\n2,3,2.5\n", "line 3: column 'end' is 2.5.*before column 'st"),
        ("arrival,start,end\n1,1,2\n2,1.5,2.5\n", "line 3: column 'start' is 1.5.*before column"),
        (HEAD.encode() + b"1,\xff\n", "no UTF-8 text"),
        ((HEAD + "1,2\n").encode("utf-16"), "no UTF-8 text"),
    ],
)
def test_a_wrong_file_is_refused(write, text, message):
    with pytest.raises(ValueError, match=message):
        from_trace(write(text))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"interarrival": [1.0, None], "service": [1, 2]}, "row 2: column 'inter.* is missing"),
        ({"interarrival": [1.0, math.nan], "service": [1, 2]}, "row 2: .* not finite"),
        ({"interarrival": ["1", "2"], "service": [1, 2]}, "row 1, '1': .*no plain numbers"),
        ({"interarrival": [True], "service": [1]}, "holds truth values"),
        ({"arrival": [1.0, 3.0, 2.0], "service": [1, 1, 1]}, "row 3: .*before the 3.0"),
        ({"gap": [1.0]}, "its columns are 'gap'"),
        ({"interarrival": np.empty(0), "service": np.empty(0)}, "has no rows"),
    ],
)
def test_wrong_parquet_is_refused_by_its_row(tmp_path, columns, message):
    path = write_parquet(tmp_path / "wrong.parquet", columns)
    with pytest.raises(ValueError, match=message):
        from_trace(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"interarrival": [1, 2], "service": [1]}, "'interarrival' has 2, 'service' has 1"),
        ({"interarrival": [], "service": []}, "no rows"),
        ({"interarrival": [[1.0]], "service": [1.0]}, r"shape \(1, 1\); give a vector"),
        ({"interarrival": 1.0, "service": [1.0]}, r"shape \(\)"),
        ({"interarrival": [1, "a"], "service": [1, 2]}, "no plain numbers"),
        ({"interarrival": [[1], [1, 2]], "service": [1, 2]}, "give a vector"),
        ({"interarrival": [1, math.inf], "service": [1, 2]}, "source, row 2: .*not finite"),
        (None, "source is None; give a path"),
        ([1.0, 2.0], "source is"),
        ("trace.xlsx", "ends in .csv or .parquet"),
        ("", "ends in .csv or .parquet"),
    ],
)
def test_wrong_arrays_and_names_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        from_trace(source)


NUMBER: Any = 5


def test_other_wrong_arguments_are_refused(write, tmp_path, trace):
    with pytest.raises(FileNotFoundError, match="no such file"):
        from_trace(tmp_path / "missing.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="no file"):
        from_trace(tmp_path / "folder.csv")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        from_trace(write("no parquet", "trace.parquet"))
    with pytest.raises(ValueError, match=r"path must be .* got 5"):
        trace.save(NUMBER)
    with pytest.raises(ValueError, match="source is 5; give a path"):
        from_trace(NUMBER)
    with pytest.raises(ValueError, match="source must hold no NUL"):
        from_trace("trace\0.csv")
    path = write(HEAD + "1,2\n")
    for columns, message in (
        ({"gap": "service"}, "columns has the key 'gap'; the keys are interarrival"),
        ({"service": "svc"}, "no such column; its columns are 'interarrival', 'service'"),
        (["service"], "give a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            from_trace(path, columns=columns)
    with pytest.raises(ValueError, match=r"ends in \.csv"):
        trace.save(tmp_path / "trace.txt")
    with pytest.raises(ValueError, match="in_order is 1"):
        trace.service(in_order=1)
    with pytest.raises(ValueError, match="max_lag is 500"):
        trace.interarrival_autocorrelation(500)
    with pytest.raises(ValueError, match="services has 3 times for 1 interarrivals"):
        Trace([1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"interarrivals\[0\] is -1"):
        Trace([-1.0], [1.0])


@pytest.mark.slow
def test_memory_grows_by_a_few_numbers_per_row(write):
    """A clean file of m rows peaks below 100 bytes per row: it is never held as rows of text."""
    count = 200_000
    path = write(HEAD + "1.25,2.5\n" * count)
    tracemalloc.start()
    from_trace(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * count


def test_the_surrogate_forgets_the_order_only():
    process = queueing.MarkovModulated([5.0, 0.5], [[-0.2, 0.2], [0.05, -0.05]])
    times = np.empty(20_000)
    process.start(np.random.default_rng(0)).fill(times)
    trace = Trace(times, np.ones(times.size))
    copy = np.empty(20_000)
    surrogate = trace.renewal_surrogate()
    surrogate.start(np.random.default_rng(1)).fill(copy)
    assert np.isin(np.round(copy * times.mean(), 9), np.round(times, 9)).all()
    assert surrogate.asymptotic_scv == pytest.approx(trace.interarrival_scv)
    assert trace.interarrival_autocorrelation(1)[1] > 0.05
    assert abs(Trace(copy, copy).interarrival_autocorrelation(1)[1]) < 0.04
