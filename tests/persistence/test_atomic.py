"""The one writer of files: the path holds the old file or the whole new one."""

import contextlib
import os
import socket

import pytest

from cofire.data.catalog.download import download
from cofire.data.catalog.files import write_arrays
from cofire.lab.demo import page
from cofire.persistence import atomic
from cofire.persistence.atomic import (
    check_writable,
    move_into_place,
    replacing,
    write_atomically,
)


class Broken(Exception):
    """Not an OSError: any failure must clean up."""


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, OSError])
def test_a_failure_leaves_the_old_file_and_nothing_else(error, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(error), replacing(path) as file:
        file.write(b"half of the ne")
        raise error
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_system_call_leaves_the_old_file(call, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, call, fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_content_and_folder_are_synced_around_the_rename(tmp_path, monkeypatch):
    calls, sync, rename = [], os.fsync, os.replace

    def fsync(descriptor):
        calls.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        sync(descriptor)

    def replace(source, target):
        calls.append("rename")
        rename(source, target)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("there is no /proc to see which file is synced")
    monkeypatch.setattr(atomic.os, "fsync", fsync)
    monkeypatch.setattr(atomic.os, "replace", replace)
    write_atomically(tmp_path / "a", b"new")
    content, *rest = calls
    assert content.startswith(".a.") and content.endswith(".tmp")
    assert rest == ["rename", tmp_path.name]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "no" / "a"):
        pass
    assert caught.value.filename == str(tmp_path / "no")
    assert caught.value.strerror == "There is no such folder"


def test_an_error_names_the_path_and_not_the_temporary_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    path = tmp_path / "file" / "a"
    with pytest.raises(NotADirectoryError) as caught, replacing(path):
        pass
    assert caught.value.filename == str(path)
    assert "tmp'" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("way", ["itself", "by a link", "by a link to a link"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "loop"])
def test_what_is_no_regular_file_is_refused_and_stays(kind, way, tmp_path):
    path = tmp_path / kind
    with contextlib.ExitStack() as stack:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(path))
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to(path)
        before = path.lstat()
        for i in range(["itself", "by a link", "by a link to a link"].index(way)):
            (tmp_path / f"link {i}").symlink_to(path)
            path = tmp_path / f"link {i}"
        files = set(tmp_path.iterdir())
        for write in (
            lambda: check_writable(path),
            lambda: write_atomically(path, b"new"),
            lambda: replacing(path).__enter__(),
        ):
            with pytest.raises(OSError) as caught:
                write()
            assert caught.value.filename == os.path.realpath(path)
        assert set(tmp_path.iterdir()) == files
        after = (tmp_path / kind).lstat()
        assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_the_folder_of_a_link_is_that_of_its_file(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "later" / "a")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "later" / "a").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_folders_are_created_links_kept_and_the_umask_obeyed(tmp_path):
    path = tmp_path / "new" / "folder" / "a"
    write_atomically(path, b"one")
    (tmp_path / "link").symlink_to(path)
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "link", b"two")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"two" and (tmp_path / "link").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_finished_file_of_the_current_folder_is_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.part").write_bytes(b"whole")
    move_into_place("a.part", "a")
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_every_writer_goes_through_it(tmp_path, monkeypatch):
    """Data sets, downloads and the page of the demo fail where the rename fails."""

    def fail(*_):
        raise OSError("renaming was refused")

    monkeypatch.setattr(atomic.os, "replace", fail)
    monkeypatch.setattr(page, "demo_page", lambda figures: "text")
    monkeypatch.setattr(
        "cofire.data.catalog.download._continue", lambda url, part, watch: None
    )
    (tmp_path / "b.part").write_bytes(b"")
    for write in (
        lambda: write_arrays(tmp_path / "a.npz", {}),
        lambda: download("http://nowhere/b", tmp_path / "b"),
        lambda: page.write_demo_page(tmp_path / "c.html", {}),
    ):
        with pytest.raises(OSError, match="renaming was refused"):
            write()
    assert [file.name for file in tmp_path.iterdir()] == ["b.part"]


def test_a_check_finds_out_whether_a_file_can_be_written(tmp_path):
    check_writable(tmp_path / "a")
    check_writable(tmp_path / "new" / "folder" / "a")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError) as caught:
        check_writable(tmp_path / "file" / "a")
    assert caught.value.filename == str(tmp_path / "file" / "a")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    for name in ("n" * longest, "ü" * (longest // 2)):
        check_writable(tmp_path / name)
        write_atomically(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
        (tmp_path / name).unlink()
    for write in (check_writable, lambda path: write_atomically(path, b"new")):
        with pytest.raises(OSError, match="too long"):
            write(tmp_path / ("n" * (longest + 1)))
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_slash_at_its_end_is_a_folder(tmp_path):
    for write in (check_writable, lambda path: write_atomically(path, b"new")):
        with pytest.raises(IsADirectoryError):
            write(f"{tmp_path}/new/")
    assert list(tmp_path.iterdir()) == []
