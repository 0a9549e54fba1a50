import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.persistence.values import MAX_ARRAY_BYTES, canonical, decode, encode

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.integers(-(2**64), 2**64)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(max_size=3) | keys, inner)
    ),
    max_leaves=12,
)
dtypes = st.sampled_from(
    "bool int8 int16 int32 int64 uint8 uint64 float16 float32 >i4 >f8 U3 S4 <U1".split()
)


def there_and_back(value):
    text = canonical(encode(value, "value"))
    assert canonical(json.loads(text)) == text
    return decode(json.loads(text))


def shown(value):
    """Tell types, nan and -0.0 apart; the order of a dict is not kept."""
    if isinstance(value, dict):
        return sorted((repr(key), shown(v)) for key, v in value.items())
    if isinstance(value, list | tuple):
        return type(value).__name__, [shown(v) for v in value]
    return repr(value)


@given(values)
def test_every_value_comes_back(value):
    assert shown(there_and_back(value)) == shown(value)


@given(dtypes, st.lists(st.integers(0, 9), max_size=5))
def test_arrays_keep_dtype_and_order(dtype, numbers):
    array = np.array(numbers).astype(dtype)
    back = there_and_back(array)
    assert back.dtype == array.dtype
    assert back.dtype.byteorder == array.dtype.byteorder
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("word", ["", "ä", "\ud800", "nul\0inside", "💡"])
def test_any_string_comes_back(word):
    array = np.array([word, "b"], dtype=object)
    assert there_and_back(array).tolist() == array.tolist()
    assert there_and_back(array).dtype == object


def test_numpy_scalars_become_numbers_of_the_same_value():
    for value in (np.float32(0.1), np.int8(-3), np.bool_(True), np.float64(-0.0)):
        assert there_and_back(value) == value
    assert math.copysign(1, there_and_back(-0.0)) == -1


@pytest.mark.parametrize(
    "value",
    [
        *(object(), Fraction(1, 3), {1, 2}, 1j, b"bytes", np.longdouble(1)),
        *(np.zeros((2, 2)), np.zeros(2, complex), np.zeros(2, "M8[D]")),
        np.array(["a"], dtype=f"U{MAX_ARRAY_BYTES}"),
    ],
    ids=repr,
)
def test_what_cannot_be_stored_is_named(value):
    with pytest.raises(ValueError, match=r"alpha: .*(stored in|too large for) a model"):
        encode(value, "alpha")
    with pytest.raises(ValueError, match="alpha: .*stored in a model"):
        encode({"a": [value]}, "alpha")


def test_an_array_within_a_list_and_endless_keys_are_not_stored():
    with pytest.raises(ValueError, match="alpha: ndarray cannot be stored"):
        encode([np.zeros(2)], "alpha")
    with pytest.raises(ValueError, match="alpha: a key beyond"):
        encode({2**65: 1}, "alpha")
    assert there_and_back({2**64: 1, -(2**64): 2}) == {2**64: 1, -(2**64): 2}


@pytest.mark.parametrize(
    "plain",
    [
        *({"$x": 1}, {"$tuple": [], "a": 1}, {"$float": "2"}, {"$pairs": [[[], 1]]}),
        *({"$tuple": 1}, {"$pairs": [1]}, {"$array": 1}, {"$array": {}}),
        {"$array": {"dtype": "O8", "values": []}},
        {"$array": {"dtype": "<U99999999", "values": ["a"]}},
        {"$array": {"dtype": "<U1", "values": ["ab"]}},
        {"$array": {"dtype": "<i8", "values": [2**70]}},
        {"$array": {"dtype": "<i8", "values": [1.5]}},
        {"$array": {"dtype": "|S1", "values": ["\u1234"]}},
        {"$array": {"dtype": "O", "values": [["a"]]}},
        {"$array": {"dtype": "O", "values": {"a": 1}}},
        [{"$array": {"dtype": "<U2", "values": ["a"]}}],
        {"$pairs": [[2**65, 1]]},
    ],
    ids=repr,
)
def test_what_was_never_written_is_refused(plain):
    with pytest.raises((ValueError, TypeError, LookupError, OverflowError)):
        decode(plain)
