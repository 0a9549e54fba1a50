"""Damages to model files, and what must become of each file."""

import json
import math
import random
import struct
from collections.abc import Callable, Iterator

import numpy as np

from helpers.reliability.file_cases import (
    CODES,
    DTYPES,
    LOADED,
    REFUSED,
    SAME,
    SOUND,
    Good,
    Parts,
    assemble,
    is_sound,
    pack,
    with_text,
)

# ---- damage to the bytes ------------------------------------------------------------


def flipped(content: bytes, bit: int) -> bytes:
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def cut(good: Good, draw: random.Random) -> bytes:
    return good.content[: draw.randrange(len(good.content))]


def flip_anywhere(good: Good, draw: random.Random) -> bytes:
    content = good.content
    for _ in range(draw.choice((1, 1, 2, 8))):
        content = flipped(content, draw.randrange(8 * len(content)))
    return content


def splice(good: Good, draw: random.Random) -> bytes:
    """Leave a part out, or have it twice."""
    a, b = draw.sample(range(len(good.content) + 1), 2)
    return good.content[:a] + good.content[b:]


def overwrite(good: Good, draw: random.Random) -> bytes:
    n = draw.choice((1, 4, 16, 200))
    place = draw.randrange(len(good.content))
    filling = draw.choice((b"\0" * n, b"\xff" * n, b" " * n, draw.randbytes(n)))
    return (good.content[:place] + filling + good.content[place + n :])[
        : len(good.content)
    ]


def insert(good: Good, draw: random.Random) -> bytes:
    place = draw.randrange(len(good.content) + 1)
    return (
        good.content[:place]
        + draw.randbytes(draw.choice((1, 8, 64)))
        + (good.content[place:])
    )


def exchange(good: Good, draw: random.Random) -> bytes:
    a, b, c = sorted(draw.sample(range(len(good.content) + 1), 3))
    content = good.content
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def lie_about_the_header(good: Good, draw: random.Random) -> bytes:
    length = draw.choice(
        (draw.randrange(2 * len(good.content)), draw.getrandbits(64), 2**63, 2**64 - 1)
    )
    return struct.pack("<Q", length) + good.content[8:]


# ---- damage to the list of tensors; the description is whole ------------------------

NUMBERS = (0, 1, -1, 4, 0.5, True, None, "4", 2**31, 2**32, 2**61, 2**62, 2**63, 2**64)


def _header(good: Good) -> dict:
    return json.loads(good.content[8 : good.header_end])


def _tensor_name(good: Good, draw: random.Random) -> str:
    return draw.choice(sorted(good.parts.tensors))


def lie_about_a_tensor(good: Good, draw: random.Random) -> bytes:
    header = _header(good)
    entry = header[_tensor_name(good, draw)]
    offsets, shape = entry["data_offsets"], entry["shape"]
    number, small = draw.choice(NUMBERS), draw.choice((-8, -4, 4, 8, 1))
    changes: list[Callable[[], object]] = [
        lambda: offsets.__setitem__(draw.randrange(2), number),
        lambda: offsets.__setitem__(0, offsets[0] + small),
        lambda: offsets.__setitem__(1, offsets[1] + small),
        lambda: entry.update(data_offsets=[o + small for o in offsets]),
        lambda: entry.update(data_offsets=offsets[::-1]),
        lambda: entry.update(data_offsets=[*offsets, 0]),
        lambda: entry.update(data_offsets=number),
        lambda: shape.__setitem__(0, number),
        lambda: entry.update(shape=[shape[0] + small]),
        lambda: entry.update(shape=[shape[0], 1]),
        lambda: entry.update(shape=[2**62, 4]),
        lambda: entry.update(shape=[]),
        lambda: entry.update(shape=number),
        lambda: entry.update(dtype=draw.choice([*DTYPES, "F64", "BOOL", "", None, []])),
        lambda: entry.pop(draw.choice(sorted(entry))),
        lambda: entry.update(more=number),
    ]
    draw.choice(changes)()
    return assemble(header, good.content[good.header_end :])


def overflow(good: Good, draw: random.Random) -> bytes:
    """A tensor as large as its offsets say: only the file is too small."""
    header = _header(good)
    entry = header[_tensor_name(good, draw)]
    n = draw.choice((10**6, 2**31, 2**40, 2**61, 2**63, 2**64 - 4))
    size = np.dtype(DTYPES[entry["dtype"]]).itemsize
    entry["shape"] = [n]
    entry["data_offsets"][1] = entry["data_offsets"][0] + n * size
    return assemble(header, good.content[good.header_end :])


def overlap(good: Good, draw: random.Random) -> bytes:
    """Two tensors in the same place."""
    header = _header(good)
    one, other = draw.sample(sorted(good.parts.tensors), 2)
    header[one] = header[other]
    return assemble(header, good.content[good.header_end :])


def rename_tensors(good: Good, draw: random.Random) -> bytes:
    header = _header(good)
    one, other = draw.sample(sorted(good.parts.tensors), 2)
    strange = draw.choice(("", "../x", "/etc/passwd", "a\0b", "__class__", other + " "))
    if draw.random() < 0.5:
        header[one], header[other] = header[other], header[one]
    else:
        header[strange] = header.pop(one)
    return assemble(header, good.content[good.header_end :])


def repeat_a_key(good: Good, draw: random.Random) -> bytes:
    header = good.content[8 : good.header_end].strip()
    name = _tensor_name(good, draw)
    again = draw.choice((name, "__metadata__"))
    entry = json.dumps({again: _header(good)[again]}).encode()
    text = header[:-1] + b"," + entry[1:]
    return assemble(text, good.content[good.header_end :])


# ---- damage to the description, checksums repaired ----------------------------------


def flip_and_repair(good: Good, bit: int) -> tuple[bytes, str]:
    """Flip a bit of the description; where it is still JSON, make the rest right."""
    text = flipped(good.text.encode(), bit).decode("latin-1")
    try:
        document = json.loads(text)
        parts = Parts(document, good.parts.tensors)
        return pack(parts), SOUND
    except (ValueError, AttributeError):
        return with_text(text, good.parts), SAME


def _containers(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Paths of all values in lists and dicts."""
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield (*path, key)
        yield from _containers(inner, (*path, key))


STRANGE = (
    *(None, True, False, 0, 1, -1, 3, 0.5, -0.5, 1e308, 2**31, 2**63, 2**64, 10**300),
    *("", "a", "relu", "set", "dense", "adam", "sgd", "linear", "softmax", "own", "\0"),
    *([], [0], [1, 2], ["a"], [[]], {}, {"a": 1}, {"name": "set", "settings": {}}),
    *({"$float": "nan"}, {"$float": "-inf"}, {"$float": 1}, {"$tuple": [3, 4]}),
    *({"$tuple": {}}, {"$pairs": [[1, 2]]}, {"$pairs": [[{"$tuple": []}, 1]]}),
    *({"$pairs": [[[], 1]]}, {"$pairs": 3}, {"$x": 0}, {"$array": 3}),
    {"$array": {"dtype": "<i8", "values": [1, 2]}},
    {"$array": {"dtype": "O", "values": ["a", "b", "c"]}},
    {"$array": {"dtype": "<U9999999", "values": ["a", "b"]}},
    {"$array": {"dtype": "<f8", "values": [0.5, 1.5]}},
)


def change_a_value(good: Good, draw: random.Random) -> bytes:
    """Put something else in one place of the description."""
    parts = good.parts.copy()
    paths = [
        p for p in _containers(parts.document) if p[0] not in ("tensors", "sha256")
    ]
    *path, key = draw.choice(paths)
    holder = parts.document
    for step in path:
        holder = holder[step]
    action = draw.randrange(6)
    if action == 0:
        holder.pop(key)
    elif action == 1 and isinstance(holder, dict):
        holder[draw.choice(("a", "$tuple", key + " ", "__class__"))] = holder.pop(key)
    elif action == 2 and type(holder[key]) in (int, float):
        holder[key] += draw.choice((1, -1, 0.5, 2**31, 2**63))
    elif action == 3 and isinstance(holder[key], list):
        holder[key] *= draw.choice((0, 2))
    else:
        holder[key] = draw.choice(STRANGE)
    return pack(parts)


# ---- damage to the arrays, checksums repaired ---------------------------------------


def flip_in_an_array(good: Good, draw: random.Random) -> tuple[bytes, str]:
    parts = good.parts.copy()
    names = [name for name, array in parts.tensors.items() if array.size]
    name = draw.choice(names)
    width = parts.tensors[name].itemsize
    raw = parts.tensors[name].view(np.uint8)
    for _ in range(draw.choice((1, 1, 3))):
        if draw.random() < 0.2:  # a sign
            raw[draw.randrange(width - 1, len(raw), width)] ^= 0x80
        else:
            raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    if name.startswith("pipeline."):
        return pack(parts), SOUND
    return pack(parts), LOADED if is_sound(parts) else REFUSED


def _layer_with(good: Good, draw: random.Random, n: int) -> tuple[Parts, str, int]:
    """Some layer and a neuron of it that has at least n connections."""
    parts = good.parts.copy()
    choices = [
        (name.removesuffix("indptr"), neuron)
        for name, indptr in parts.tensors.items()
        if name.endswith("indptr")
        for neuron in np.flatnonzero(np.diff(indptr) >= n)
    ]
    return parts, *draw.choice(choices)


def break_csr(good: Good, draw: random.Random) -> bytes:
    """One of the ways in which a CSR matrix can be wrong."""
    parts, layer, neuron = _layer_with(good, draw, 2)
    indptr, indices = parts.tensors[layer + "indptr"], parts.tensors[layer + "indices"]
    start, stop = indptr[neuron], indptr[neuron + 1]
    n_layer = int(layer.split(".")[1])
    n_in = parts.document["progress"]["sizes"][n_layer]
    far = draw.choice((n_in, n_in + 1, 2**31 - 1, -1, -(2**31)))
    long = draw.choice((2**31, 2**62, 2**63 - 1, -1, -(2**63), len(indices) + 1))

    def swap() -> None:
        indices[[start, stop - 1]] = indices[[stop - 1, start]]

    ways: list[Callable[[], object]] = [
        swap,
        lambda: indices.__setitem__(start, indices[start + 1]),
        lambda: indices.__setitem__(draw.randrange(start, stop), far),
        lambda: indices.__setitem__(slice(None), 0),
        lambda: indptr.__setitem__(0, draw.choice((1, -1, long))),
        lambda: indptr.__setitem__(-1, draw.choice((0, indptr[-1] - 1, long))),
        lambda: indptr.__setitem__(draw.randrange(len(indptr)), long),
        lambda: indptr.__setitem__(neuron + 1, start - 1),
        lambda: indptr.__setitem__(slice(None), indptr[::-1].copy()),
    ]
    draw.choice(ways)()
    return pack(parts)


def not_finite(good: Good, draw: random.Random) -> bytes:
    parts = good.parts.copy()
    own = {n: a for n, a in parts.tensors.items() if not n.startswith("pipeline.")}
    names = [n for n, a in own.items() if a.dtype == np.float32 and a.size]
    array = parts.tensors[draw.choice(names)]
    array[draw.randrange(len(array))] = draw.choice((math.nan, math.inf, -math.inf))
    return pack(parts)


def wrong_array(good: Good, draw: random.Random) -> bytes:
    """An array of another length or dtype, one too many, one too few."""
    parts = good.parts.copy()
    tensors = parts.tensors
    name = draw.choice([name for name, array in tensors.items() if array.size])
    array, other = tensors[name], draw.choice([d for d in CODES])
    ways: list[Callable[[], object]] = [
        lambda: array[:-1],
        lambda: array[:0],
        lambda: np.concatenate([array, array[-1:]]),
        lambda: np.concatenate([array, array]),
        lambda: array.astype(other) if other != array.dtype else array[1:],
        lambda: array.view(np.int32) if array.dtype != np.int32 else array[1:],
        lambda: array.reshape(1, -1),
    ]
    with np.errstate(all="ignore"):
        tensors[name] = np.ascontiguousarray(draw.choice(ways)())
    if draw.random() < 0.2:
        tensors[name] = array
        tensors.pop(name)
    elif draw.random() < 0.2:
        tensors[name] = array
        tensors[draw.choice(("more", "network.9.bias", "../x"))] = array
    return pack(parts)


# ---- all of it ----------------------------------------------------------------------

# Those that may change nothing or make another right file, and those that may not.
DAMAGES: dict[Callable[[Good, random.Random], bytes], str] = {
    cut: REFUSED,
    flip_anywhere: SAME,
    splice: SAME,
    overwrite: SAME,
    insert: SAME,
    exchange: SAME,
    lie_about_the_header: SAME,
    lie_about_a_tensor: SAME,
    overflow: REFUSED,
    overlap: SAME,
    rename_tensors: SAME,
    repeat_a_key: REFUSED,
    change_a_value: SOUND,
    break_csr: REFUSED,
    not_finite: REFUSED,
    wrong_array: REFUSED,
}


def damaged_files(
    files: list[Good], n: int, seed: int
) -> Iterator[tuple[str, int, bytes, str]]:
    """n cases: the name of the damage, the number of the file, its bytes, its fate.

    First a file cut at each byte of its first 4 KB. Of the rest a quarter are flipped
    bits of headers, a quarter flipped bits of descriptions with checksums repaired; the
    other half takes all other kinds in turn.
    """
    draw = random.Random(seed)
    n_cuts = min(4096, n // 2)
    for place in range(n_cuts):
        yield "cut", 0, files[0].content[:place], REFUSED
    for i, good in enumerate(files):
        share = (n - n_cuts) // len(files)
        for bit in _some(8 * good.header_end, share // 4, draw):
            yield "flip in the header", i, flipped(good.content, bit), SAME
        for bit in _some(8 * len(good.text), share // 4, draw):
            yield "flip and repair", i, *flip_and_repair(good, bit)
        kinds = [flip_in_an_array, *DAMAGES]
        for k in range(share - 2 * (share // 4)):
            kind = kinds[k % len(kinds)]
            if kind is flip_in_an_array:
                yield kind.__name__, i, *flip_in_an_array(good, draw)
            else:
                yield kind.__name__, i, kind(good, draw), DAMAGES[kind]


def _some(n: int, wanted: int, draw: random.Random) -> Iterator[int]:
    """So many of the numbers below n: all of them once before any comes again."""
    for _ in range(wanted // n):
        yield from range(n)
    yield from draw.sample(range(n), wanted % n)
