"""Downloads, from a server of our own: no network is needed."""

import gzip
import http.server
import io
import tarfile
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from cofire.data import CATALOG, fetch, load
from cofire.data.catalog import lookup as catalog
from cofire.data.catalog.download import download
from cofire.data.catalog.files import packed_sheets
from cofire.data.catalog.reading import assembled

MADELON = catalog.BUNDLED / "madelon.npz"
CONTENT = np.random.default_rng(0).bytes(1 << 20)


class Site:
    """What a server has, and how it behaves."""

    def __init__(self):
        self.files, self.asked = {}, []
        self.breaks_after = None  # bytes, once
        self.ranges = True
        self.status = None


@contextmanager
def serving(site):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            name, given = self.path.rpartition("/")[2], self.headers.get("Range")
            site.asked.append((name, given))
            self.close_connection = True
            if site.status or name not in site.files:
                self.send_error(site.status or 404)
                return
            content, start = site.files[name], 0
            if given and site.ranges:
                start = int(given.removeprefix("bytes=").rstrip("-"))
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                last = len(content) - 1
                self.send_header("Content-Range", f"bytes {start}-{last}/{last + 1}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end, site.breaks_after = site.breaks_after, None
            self.wfile.write(content[start : None if end is None else start + end])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def site():
    return Site()


@pytest.fixture
def address(site):
    with serving(site) as address:
        yield address


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("COFIRE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path / "nothing")
    return tmp_path / "cache" / "cofire"


# ---- one file -----------------------------------------------------------------------


def test_a_download_is_whole_and_is_watched(site, address, tmp_path):
    site.files["a.bin"], seen = CONTENT, []
    download(f"{address}/a.bin", tmp_path / "a.bin", lambda *now: seen.append(now))
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert seen[-1] == ("a.bin", len(CONTENT), len(CONTENT))
    assert [file.name for file in tmp_path.iterdir()] == ["a.bin"]


def test_a_broken_download_goes_on_where_it_stopped(site, address, tmp_path):
    site.files["a.bin"], site.breaks_after = CONTENT, 300_000
    download(f"{address}/a.bin", tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert site.asked == [("a.bin", None), ("a.bin", "bytes=300000-")]


def test_a_later_call_goes_on_too(site, address, tmp_path):
    site.files["a.bin"] = CONTENT
    (tmp_path / "a.bin.part").write_bytes(CONTENT[:1000])
    download(f"{address}/a.bin", tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert site.asked == [("a.bin", "bytes=1000-")]


def test_a_server_without_ranges_sends_all_again(site, address, tmp_path):
    site.files["a.bin"], site.breaks_after, site.ranges = CONTENT, 300_000, False
    download(f"{address}/a.bin", tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("extra", [b"", b"more than there can be"])
def test_what_is_left_of_an_earlier_try_may_be_all_or_too_much(
    extra, site, address, tmp_path
):
    site.files["a.bin"] = CONTENT
    (tmp_path / "a.bin.part").write_bytes(CONTENT + extra)
    download(f"{address}/a.bin", tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(("status", "tries"), [(404, 1), (503, 3)])
def test_a_refusal_is_said(status, tries, site, address, tmp_path):
    site.status = status
    with pytest.raises(OSError, match=str(status)):
        download(f"{address}/a.bin", tmp_path / "a.bin")
    assert len(site.asked) == tries
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_not_there(site, tmp_path):
    with serving(site) as address:
        pass
    with pytest.raises(ConnectionError, match="127.0.0.1"):
        download(f"{address}/a.bin", tmp_path / "a.bin")
    assert not list(tmp_path.iterdir())


# ---- a data set ---------------------------------------------------------------------


def lines(array):
    return "\n".join(" ".join(map(str, row)) for row in array).encode()


@pytest.fixture
def madelon(site, address, monkeypatch):
    """Madelon's original files, made of the bundled one, on our server."""
    with np.load(MADELON) as arrays:
        for part, name in (("train", "madelon_train"), ("test", "madelon_valid")):
            site.files[f"{name}.data"] = lines(arrays[f"X_{part}"])
            signs = 2 * arrays[f"y_{part}"].astype(int)[:, None] - 1
            site.files[f"{name}.labels"] = lines(signs)
    urls = [f"{address}/{u.rpartition('/')[2]}" for u in CATALOG["madelon"].urls]
    entry = replace(CATALOG["madelon"], urls=urls)
    monkeypatch.setitem(CATALOG, "madelon", entry)
    return site


def test_fetch_makes_the_file_and_load_reads_it(madelon, own_cache):
    path = fetch("madelon")
    assert path == own_cache / "madelon.npz"
    assert load("madelon").digest() == CATALOG["madelon"].content
    with np.load(path) as made, np.load(MADELON) as ours:
        assert sorted(made) == sorted(ours)
        for name in ours:
            assert made[name].dtype == ours[name].dtype
            assert np.array_equal(made[name], ours[name])
    assert not list(own_cache.rglob("*.data")), "the originals are not kept"


def test_a_file_that_is_here_is_not_fetched_again(madelon):
    fetch("madelon")
    madelon.asked.clear()
    fetch("madelon")
    assert madelon.asked == []


def test_load_fetches_what_is_nowhere(madelon):
    assert load("madelon").X_train.shape == (2000, 500)
    assert len(madelon.asked) == 4


def test_fetch_into_a_folder(madelon, tmp_path, own_cache):
    path = fetch("madelon", tmp_path / "mine")
    assert path == tmp_path / "mine" / "madelon.npz" and path.exists()
    assert not own_cache.exists()


@pytest.mark.parametrize("wrong", [b"1 2 3", b"not a table", b""])
@pytest.mark.filterwarnings("ignore:loadtxt")
def test_wrong_values_are_refused_and_leave_nothing(wrong, madelon, own_cache):
    madelon.files["madelon_valid.data"] = wrong
    with pytest.raises(
        ValueError, match="(?s)127.0.0.1.*not the expected data.*sha256"
    ):
        fetch("madelon")
    assert not [path for path in own_cache.rglob("*") if path.is_file()]


def test_one_changed_value_is_noticed(madelon):
    content = madelon.files["madelon_valid.data"]
    madelon.files["madelon_valid.data"] = content.replace(b"483", b"484", 1)
    with pytest.raises(ValueError, match="sha256 of its values"):
        fetch("madelon")


def test_without_a_network_it_says_what_to_put_where(madelon, own_cache):
    madelon.status = 503
    with pytest.raises(FileNotFoundError) as caught:
        load("madelon")
    text, entry = str(caught.value), CATALOG["madelon"]
    for part in (
        str(own_cache / "madelon.npz"),
        str(own_cache / "downloads" / "madelon"),
        entry.sha256,
        entry.urls[0],
        "COFIRE_DATA",
    ):
        assert part in text


def test_a_copy_elsewhere_is_named_where_no_download_comes(
    madelon, own_cache, tmp_path, monkeypatch
):
    madelon.status = 503
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path / "here"))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "madelon.npz").write_bytes(MADELON.read_bytes())
    with pytest.raises(FileNotFoundError) as caught:
        fetch("madelon", tmp_path / "there")
    text = str(caught.value)
    assert f"{tmp_path / 'there' / 'madelon.npz'} does not exist" in text
    assert f"a copy is at {tmp_path / 'here' / 'madelon.npz'}" in text
    assert "none of the folders" not in text


def test_originals_that_were_put_there_by_hand_are_used_and_kept(madelon, own_cache):
    folder = own_cache / "downloads" / "madelon"
    folder.mkdir(parents=True)
    for name, content in madelon.files.items():
        (folder / name).write_bytes(content)
    fetch("madelon")
    assert madelon.asked == [] and len(list(folder.iterdir())) == 4


def test_a_damaged_file_in_the_cache_is_said(madelon, own_cache):
    own_cache.mkdir(parents=True)
    (own_cache / "madelon.npz").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="Remove it"):
        fetch("madelon")


# ---- the forms of the original files ------------------------------------------------


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.tobytes())


def tar(files):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def written(folder, contents):
    files = [folder / f"{i}" for i in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    return files


def test_idx_files(tmp_path):
    rng = np.random.default_rng(1)
    images = [rng.integers(0, 256, (n, 4, 3), np.uint8) for n in (5, 2)]
    labels = [rng.integers(0, 10, n).astype(np.uint8) for n in (5, 2)]
    contents = [idx(a) for pair in zip(images, labels, strict=True) for a in pair]
    data = assembled("mnist", CATALOG["mnist"].convert(written(tmp_path, contents)))
    assert data.X_train.dtype == np.uint8
    assert np.array_equal(data.X_train, images[0].reshape(5, 12))
    assert np.array_equal(data.y_test, labels[1])


@pytest.mark.parametrize(
    ("name", "train", "test", "names", "n_labels", "n_classes"),
    [
        ("cifar10", "data_batch_{}.bin", "test_batch.bin", "batches.meta.txt", 1, 10),
        ("cifar100", "train.bin", "test.bin", "fine_label_names.txt", 2, 100),
    ],
)
def test_picture_archives(name, train, test, names, n_labels, n_classes, tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 256, (12, n_labels + 3072), np.uint8)
    rows[:, :n_labels] %= n_classes
    files = {names: "\n".join(f"class{i}" for i in range(n_classes)).encode()}
    batches = 5 if "{}" in train else 1
    for i, batch in enumerate(np.split(rows[:10], batches)):
        files[train.format(i + 1)] = batch.tobytes()
    files[test] = rows[10:].tobytes()
    arrays = CATALOG[name].convert(written(tmp_path, [tar(files)]))
    assert len(arrays["class_names"]) == n_classes
    data = assembled(name, arrays)
    red_green_blue = rows[:10, n_labels:].reshape(10, 3, 32, 32)
    expected = red_green_blue.transpose(0, 2, 3, 1).reshape(10, 3072)
    labels = rows[:10, n_labels - 1]
    if name == "cifar100":  # in an order of its own, the same for any copy
        shuffled = arrays | {"y_train": labels[::-1].copy()}
        both = np.concatenate([expected[::-1], data.X_test])
        again = assembled(name, shuffled | packed_sheets(both))
        assert again.digest() == data.digest()
        pairs = zip(expected, labels, strict=True)
        found = zip(data.X_train, data.y_train, strict=True)
        assert sorted((x.tobytes(), int(y)) for x, y in pairs) == sorted(
            (x.tobytes(), int(y)) for x, y in found
        )
    else:
        assert np.array_equal(data.X_train, expected)
        assert np.array_equal(data.y_train, labels)


def mat(**arrays):
    file = io.BytesIO()
    scipy.io.savemat(file, arrays)
    return file.getvalue()


@pytest.mark.parametrize("stored", [np.asarray, scipy.sparse.csc_matrix])
def test_word_counts(stored, tmp_path):
    X = np.random.default_rng(3).poisson(0.4, (20, 6)).astype(float)
    y = np.repeat([1, 2], 10)[:, None]
    arrays = CATALOG["pcmac"].convert(written(tmp_path, [mat(X=stored(X), Y=y)]))
    assert (arrays["data"].dtype, arrays["indices"].dtype) == (np.uint8, np.uint16)
    data = assembled("pcmac", arrays)
    assert data.X_train.shape == (16, 6) and data.X_test.shape == (4, 6)
    together = np.concatenate([data.X_train.toarray(), data.X_test.toarray()])
    assert sorted(together.tolist()) == sorted(X.tolist())
    assert set(data.y_train) == {0, 1}


@pytest.mark.parametrize("keys", [("X", "Y"), ("fea", "gnd")])
def test_spoken_letters(keys, tmp_path):
    rng = np.random.default_rng(4)
    parts = [rng.integers(-10000, 10001, (3, 5)) / 10000 for _ in range(5)]
    labels = [rng.integers(1, 27, (3, 1)) for _ in range(5)]
    contents = [
        mat(**dict(zip(keys, part, strict=True)))
        for part in zip(parts, labels, strict=True)
    ]
    data = assembled("isolet", CATALOG["isolet"].convert(written(tmp_path, contents)))
    expected = np.concatenate(parts[:4])
    np.testing.assert_allclose(data.X_train, expected, rtol=0, atol=1e-7)
    assert data.X_test.shape == (3, 5)
    assert np.array_equal(data.y_test, labels[4].ravel() - 1)


def test_every_data_set_has_an_origin():
    for entry in CATALOG.values():
        assert entry.urls and len(entry.content) == len(entry.sha256) == 64
