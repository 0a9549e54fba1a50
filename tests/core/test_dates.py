"""Dates: which text is one, and which numbers become of it."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.core.dates import (
    PARTS,
    TIMES,
    common_orders,
    date_text,
    has_times,
    moments,
    part_names,
    parts_of,
)

THIRD = datetime(2021, 4, 3)


@pytest.mark.parametrize(
    "text",
    [
        *("2021-04-03", "2021/4/3", "2021.04.03", "2021-04-03T00:00:00", "03.04.2021"),
        *("3 Apr 2021", "03-Apr-2021", "April 3, 2021", "apr. 3 2021", "3. April 2021"),
        *(
            "2021-04-03 00:00Z",
            "2021-04-03 02:00:00.000+02:00",
            "2021-04-02 22:00-0200",
        ),
        *("2021-04-03 12:00 AM", " 2021-04-03 "),
    ],
)
def test_texts_that_are_one_date_whatever_the_order(text):
    for day_first in (True, False):
        assert date_text(text).moment(day_first) == THIRD
    assert not date_text(text).is_ambiguous


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2021", "20210403", "3.5", "2021-13-01", "2021-02-30", "1/2/03"),
        *("13/13/2020", "2021-04-03 25:00", "2021-04/03", "3 Foo 2021", "10.0.0.1"),
        *("2021-04-03 13:00 PM", "2021-W14-6", "0/1/2020"),
    ],
)
def test_texts_that_are_no_dates(text):
    assert date_text(text) is None


def test_the_order_of_day_and_month():
    both = date_text("03/04/2021")
    assert both.is_ambiguous and both.moment(True) == THIRD
    assert both.moment(False) == datetime(2021, 3, 4)
    day, month = date_text("13/04/2021"), date_text("04-13-2021")
    assert day.moment(True) == month.moment(False) == datetime(2021, 4, 13)
    assert common_orders([both, day]) == {True}
    assert common_orders([both, month]) == {False}
    assert common_orders([day, month]) == set()
    assert common_orders([both, date_text("2021-04-03")]) == {True, False}


@given(st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1)))
def test_what_datetime_writes_is_read(moment):
    assert date_text(moment.isoformat()).moment(True) == moment


def naive_parts(moment, times):
    days = (moment - datetime(1970, 1, 1)) / timedelta(days=1)
    start = datetime(moment.year, 1, 1)
    year = (moment - start) / (datetime(moment.year + 1, 1, 1) - start)
    in_day = (moment - datetime(moment.year, moment.month, moment.day)) / timedelta(1)
    week = (moment.weekday() + in_day) / 7
    cycles = [year, week, in_day] if times else [year, week]
    waves = [wave(2 * np.pi * c) for c in cycles for wave in (np.sin, np.cos)]
    return [days, *waves]


@given(st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)), st.booleans())
def test_parts_equal_the_oracle(moment, times):
    (found,) = parts_of(np.array([moment], "datetime64[us]"), times)
    np.testing.assert_allclose(found, naive_parts(moment, times), atol=1e-6)
    assert len(found) == len(part_names("x", times)) == 5 + 2 * times
    assert len(PARTS) == 5 and len(TIMES) == 2


def test_missing_dates():
    found = moments(["2021-04-03", None, "soon"], True)
    assert np.isnat(found).tolist() == [False, True, True]
    parts = parts_of(found, True)
    assert np.isnan(parts).all(axis=1).tolist() == [False, True, True]
    assert not np.isnan(parts[0]).any()
    assert not has_times(found)
    assert has_times(moments([None, "2021-04-03 01:00"], True))
