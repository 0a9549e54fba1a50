"""Files and paths that were made to do harm when they are opened as a model.

Whoever runs what they carry makes a file: the mark, which nobody must ever find.
"""

import base64
import gzip
import io
import json
import marshal
import os
import pickle
import socket
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from helpers.reliability.file_cases import Good, assemble, entries, pack, with_text

Content = tuple[str, bytes]


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments) -> None:
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def payloads(mark: Path) -> dict[str, Call]:
    """Ways to run code from a pickle."""
    code = f"open({str(mark)!r}, 'w')"
    return {
        "os.system": Call(os.system, f"touch {mark}"),
        "os.mkdir": Call(os.mkdir, str(mark)),
        "open": Call(open, str(mark), "w"),
        "exec": Call(exec, code),
        "eval": Call(eval, code),
        "import": Call(__import__, "antigravity"),
        "compile": Call(compile, code, "x", "exec"),
        "marshal": Call(marshal.loads, marshal.dumps(compile(code, "x", "exec"))),
        "np.load": Call(np.load, str(mark), None, True),
        "Path.touch": Call(Path.touch, mark),
    }


def pickles(mark: Path) -> Iterator[Content]:
    for name, payload in payloads(mark).items():
        for protocol in range(6):
            yield f"pickle {protocol} of {name}", pickle.dumps(payload, protocol)
        content = pickle.dumps(payload)
        yield f"gzip of a pickle of {name}", gzip.compress(content, mtime=0)
        yield f"pickle of {name} as a header", assemble(content)
        array = np.array([payload], dtype=object)
        file = io.BytesIO()
        np.save(file, array, allow_pickle=True)
        yield f"npy of {name}", file.getvalue()
        file = io.BytesIO()
        np.savez(file, weights=array)
        yield f"npz of {name}", file.getvalue()


def archives(good: Good) -> Iterator[Content]:
    """Archives, programs, and files that are two things at once."""
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("data.pkl", pickle.dumps(1))
        archive.writestr("../../escaped", "x")
    with tarfile.open(fileobj=tarred, mode="w") as archive:
        member = tarfile.TarInfo("/etc/cofire")
        archive.addfile(member)
    numbers = io.BytesIO()
    np.save(numbers, np.arange(9))
    strange = {
        "zip": zipped.getvalue(),
        "tar": tarred.getvalue(),
        "npy": numbers.getvalue(),
        "script": b"#!/bin/sh\ntouch mark\n",
        "Python": b"import os; os.system('touch mark')\n",
        "ELF": b"\x7fELF\x02\x01\x01" + b"\0" * 200,
        "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 200,
        "page": b"<html><script>alert(1)</script></html>",
        "YAML": b"!!python/object/apply:os.system ['touch mark']\n",
        "pickle": pickle.dumps([1, 2]),
    }
    for name, content in strange.items():
        yield name, content
        yield f"{name} before a model", content + good.content
        yield f"{name} behind a model", good.content + content
        yield (
            f"{name} between header and arrays",
            (
                good.content[: good.header_end]
                + content
                + good.content[good.header_end :]
            ),
        )


EXPRESSIONS = (
    "__import__('os').system('touch mark')",
    "os.system",
    "builtins.eval",
    "posix",
    "{0.__class__.__mro__}",
    "%(x)s",
    "${jndi:ldap://127.0.0.1/a}",
    "../../../../etc/passwd",
    "cofire.cli:main",
    "sklearn.linear_model.LinearRegression",
)


def forged(good: Good, mark: Path) -> Iterator[Content]:
    """Right files but for a value: expressions, classes, code where names belong."""
    encoded = base64.b64encode(pickle.dumps(Call(os.mkdir, str(mark)))).decode()
    places = {
        "estimator": ("estimator",),
        "method": ("parameters", "method"),
        "similarity": ("parameters", "similarity"),
        "activation": ("progress", "activation"),
        "optimizer": ("progress", "optimizer"),
        "solver": ("parameters", "solver"),
    }
    for place, (*path, last) in places.items():
        for expression in (*EXPRESSIONS, encoded):
            parts = good.parts.copy()
            holder = parts.document
            for key in path:
                holder = holder[key]
            holder[last] = expression
            yield f"{place} = {expression[:40]}", pack(parts)
    for name in ("__class__", "__init__", "__dict__", "network_", "callbacks_", "self"):
        parts = good.parts.copy()
        parts.document["parameters"][name] = {"name": "set", "settings": {}}
        yield f"parameter {name}", pack(parts)
    for name in ("os", "set", "cofire.methods.set:SET"):
        for settings in ({"__class__": 1}, {"needs": ["x"]}, {"self": 1}):
            parts = good.parts.copy()
            parts.document["parameters"]["method"] = {
                "name": name,
                "settings": settings,
            }
            yield f"method {name} with {settings}", pack(parts)
    parts = good.parts.copy()
    parts.document["parameters"]["method_options"] = {"of_another_package": 1}
    yield "an option that packages would be searched for", pack(parts)
    for callback in ("print", {"$tuple": ["os.system"]}, [["exec", "1"]]):
        parts = good.parts.copy()
        parts.document["parameters"]["callbacks"] = callback
        yield f"callbacks {callback}", pack(parts)


def labels(good: Good) -> Iterator[Content]:
    """Labels of strange dtypes."""
    for dtype in (
        *("|O", "O8", "object", "|V8", "<M8[s]", "<m8[D]", "<c16", "i8,O", "T"),
        *("<U99999999", "<U999999999999", "|S99999999", "[('a','O')]", "", "<i16"),
        *("{'names':['a'],'formats':['O']}", "pickle", "datetime64", "<f16"),
    ):
        parts = good.parts.copy()
        plain = {"$array": {"dtype": dtype, "values": ["a", "b", "c"]}}
        parts.document["targets"]["classes_"] = plain
        yield f"labels of dtype {dtype!r}", pack(parts)
    for values in ([{"$array": {"dtype": "O", "values": []}}] * 3, [["a"], 1, None]):
        parts = good.parts.copy()
        plain = {"$array": {"dtype": "O", "values": values}}
        parts.document["targets"]["classes_"] = plain
        yield f"labels {values}", pack(parts)


def tensor_names(good: Good) -> Iterator[Content]:
    """Names of tensors that would be paths, attributes or code somewhere else."""
    for name in (
        *("../../escaped", "/etc/passwd", "C:\\x", "a\0b", "", ".", "__metadata__ "),
        *("network.0.__class__", "network.-1.bias", "network.0.weights\0", "\u202e"),
        *("file:///etc/passwd", "network.0.bias/..", "~", "${HOME}", "`id`"),
    ):
        parts = good.parts.copy()
        parts.tensors[name] = parts.tensors.pop("network.0.bias")
        yield f"tensor {name!r} in place of another", pack(parts)
        parts = good.parts.copy()
        parts.tensors[name] = np.zeros(1, np.float32)
        yield f"tensor {name!r} too many", pack(parts)


def descriptions(good: Good) -> Iterator[Content]:
    """Descriptions that JSON readers disagree about."""
    text = good.text
    for name, changed in {
        "two descriptions": text + text,
        "a comment": text + "/* */",
        "NaN": text.replace('"notes":[]', '"notes":[NaN]'),
        "a byte order mark": "\ufeff" + text,
        "a key twice": text.replace("{", '{"format":1,', 1),
        "an exponent": text.replace('"format":1', '"format":1e0'),
        "spaces": text.replace(",", ", "),
        "unescaped": text.replace("\\u00e4", "ä"),
        "deep": "[" * 100_000,
    }.items():
        yield f"description with {name}", with_text(changed, good.parts)
    header = {"__metadata__": {"cofire": text}} | entries(good.parts.tensors)
    data = good.content[good.header_end :]
    for coding in ("utf-16", "utf-32", "utf-7", "utf-8-sig"):
        yield f"header in {coding}", assemble(json.dumps(header).encode(coding), data)


def forged_pipelines(good: Good, mark: Path) -> Iterator[Content]:
    """Right files of a pipeline but for a class, an attribute, or a value."""
    encoded = base64.b64encode(pickle.dumps(Call(os.mkdir, str(mark)))).decode()
    for expression in (*EXPRESSIONS, encoded):
        for place in ("class", "parameter", "attribute", "step", "dtype", "version"):
            parts = good.parts.copy()
            pipeline = parts.document["pipeline"]
            steps = pipeline["steps"]["parameters"]["steps"]
            step = steps[0][1]
            if place == "class":
                step["class"] = expression
            elif place == "parameter":
                step["parameters"]["remainder"] = expression
            elif place == "attribute":
                step["attributes"][expression] = 1
            elif place == "step":
                steps.insert(0, ["x", expression])
            elif place == "dtype":
                rare = step["attributes"]["transformers_"][1][1]
                rare["defaults"]["dtype"] = expression
            else:
                pipeline["scikit-learn"] = expression
            yield f"pipeline, {place} = {expression[:40]}", pack(parts)
    for name in ("__class__", "__dict__", "transform", "__setstate__", "set_params"):
        parts = good.parts.copy()
        step = parts.document["pipeline"]["steps"]["parameters"]["steps"][0][1]
        step["attributes"][name] = encoded
        yield f"pipeline, attribute {name}", pack(parts)
    parts = good.parts.copy()
    parts.document["pipeline"]["steps"]["defaults"]["memory"] = str(mark)
    yield "pipeline, a folder to write to", pack(parts)


def contents(good: Good, pipeline: Good, mark: Path) -> Iterator[Content]:
    yield from pickles(mark)
    yield from archives(good)
    yield from forged(good, mark)
    yield from labels(good)
    yield from tensor_names(good)
    yield from descriptions(good)
    yield from forged_pipelines(pipeline, mark)


def strange_paths(folder: Path, good: Good) -> Iterator[tuple[str, str]]:
    """Paths that are no files, lead elsewhere, or would be commands."""
    (folder / "model").write_bytes(good.content)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    os.symlink("pipe", folder / "link to a pipe")
    os.symlink("/dev/zero", folder / "link to zero")
    os.symlink("loop", folder / "loop")
    os.symlink("nowhere", folder / "dangling")
    os.symlink("folder", folder / "link to a folder")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    for path in sorted(folder.iterdir()):
        if path.name != "model":
            yield path.name, str(path)
    model = str(folder / "model")
    for path in (
        *("/dev/zero", "/dev/null", "/dev/random", "/dev/tty", "/dev/stdin"),
        *("/proc/self/mem", "/proc/self/environ", "/proc/self/maps", "/proc/self/fd"),
        *("", ".", "/", "~", "\0", model + "\0", "\0" + model, model + "/", "-"),
        *(
            f"file://{model}",
            "http://127.0.0.1:9/m",
            f"|cat {model}",
            f"$(cat {model})",
        ),
        *(f"{model}/../model/x", "a" * 5000, f"{folder}/*"),
    ):
        yield f"path {path[:30]!r}", path
