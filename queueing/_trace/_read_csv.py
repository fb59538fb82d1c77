"""Columns of numbers of a CSV file, each fault named by its line."""

from __future__ import annotations

import csv
import itertools
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TextIO

import numpy as np

from ._columns import choose_columns
from ._numbers import STAMPS
from ._place import Place

_ROWS_AT_ONCE = 1 << 14
_DELIMITERS = ",;\t"
# Timestamps so far from 0 lose digits as float64: they are counted from the first one.
_FAR = 2.0**23
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


def read_csv(
    path: Path, names: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, np.ndarray], Place]:
    """The chosen columns' names, their float64 values, both by role, and how to name a row.

    The first line names the columns; commas, semicolons or tabulators separate them; the decimal
    sign is a point.  UTF-8, with or without a byte order mark.  Memory: 8 bytes per row and column
    that is used.

    Raises:
        ValueError: naming the line and the remedy.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return _read(file, str(path), names)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is no UTF-8 text ({error.reason} at byte {error.start}); save it as CSV in "
            "UTF-8"
        ) from None


def _read(
    file: TextIO, source: str, names: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, np.ndarray], Place]:
    header, delimiter = _header(file.readline(), source)
    chosen = choose_columns(header, names, source)
    place = Place(source, lambda row: f"line {row + 2}")
    indices = [header.index(column) for column in chosen.values()]
    values = [array("d") for _ in indices]
    rows = _rows(file, delimiter, header, source)
    # Texts by column: lists of whole rows that live on would keep the garbage collector busy.
    origin: Decimal | None = None
    while any(batch := _texts_by_column(itertools.islice(rows, _ROWS_AT_ONCE), indices)):
        done = len(values[0])
        for (role, column), texts, numbers in zip(chosen.items(), batch, values, strict=True):
            parsed = _numbers(texts, column, place, done)
            if role in STAMPS:
                if len(numbers) == 0 and origin is None:
                    origin = Decimal(texts[0]) if abs(parsed[0]) >= _FAR else Decimal(0)
                if origin and all(map(math.isfinite, parsed)):
                    parsed = array("d", (float(Decimal(text) - origin) for text in texts))
            numbers.extend(parsed)
    arrays = [np.array(numbers, np.float64) for numbers in values]
    return chosen, dict(zip(chosen, arrays, strict=True)), place


def _texts_by_column(rows: Iterable[list[str]], indices: list[int]) -> list[list[str]]:
    texts: list[list[str]] = [[] for _ in indices]
    takers = [(index, column.append) for index, column in zip(indices, texts, strict=True)]
    for row in rows:
        for index, take in takers:
            take(row[index])
    return texts


def _header(line: str, source: str) -> tuple[list[str], str]:
    """The names of the columns, and what separates them."""
    if not line.strip():
        raise ValueError(
            f"{source}, line 1 is blank; the first line must name the columns, such as "
            "interarrival,service"
        )
    delimiter = max(_DELIMITERS, key=line.count)
    header = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
    for name in header:
        if _is_number(name):
            raise ValueError(
                f"{source}, line 1: {name!r} is a number where the name of a column should be; put "
                "a line of names first, such as interarrival,service"
            )
        if header.count(name) > 1:
            raise ValueError(f"{source}, line 1 names column {name!r} twice; rename one of them")
    return header, delimiter


def _rows(file: TextIO, delimiter: str, header: list[str], source: str) -> Iterator[list[str]]:
    """The rows below the names, each of as many fields as there are names."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    for line in itertools.count(2):
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"{source}, line {line}: {error}; write plain numbers, without quotes"
            ) from None
        if row is None:
            return
        if reader.line_num != line - 1:
            raise ValueError(
                f"{source}, line {line} has a quoted field that goes on in the next line; write "
                "each job in one line, without quotes"
            )
        if len(row) != len(header):
            if _is_blank(row) and all(map(_is_blank, reader)):
                return  # blank lines at the end of the file only
            raise ValueError(f"{source}, line {line} {_wrong_length(row, header, delimiter)}")
        yield row


def _is_blank(row: list[str]) -> bool:
    return not any(field.strip() for field in row)


def _wrong_length(row: list[str], header: list[str], delimiter: str) -> str:
    if _is_blank(row):
        return "is blank, and rows follow; remove it, or fill in the job that is missing"
    hint = ""
    if delimiter == "," and len(row) > len(header):
        hint = " (if commas are decimal signs, write points)"
    return f"has {len(row)} fields for {len(header)} columns; give one value per column{hint}"


def _numbers(texts: list[str], column: str, place: Place, done: int) -> array[float]:
    """The numbers of one column in successive rows, of which the first one is row `done`."""
    try:
        numbers = array("d", map(float, texts))
        if "_" not in "".join(texts):
            return numbers
    except ValueError:
        pass
    row = next(i for i, text in enumerate(texts) if not _is_number(text))
    text = texts[row].strip()
    fault = f"is {text!r}, which is no number; write a plain number, times as seconds or the like"
    if not text:
        fault = "is empty; fill it in, or remove that row"
    elif _DECIMAL_COMMA.fullmatch(text):
        fault = f"is {text!r}; write a point as the decimal sign"
    raise ValueError(f"{place.source}, {place.row(done + row)}: column {column!r} {fault}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
