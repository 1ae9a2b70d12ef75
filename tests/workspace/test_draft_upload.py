"""Files that are not what they say, pieces in the wrong place, and what a kill leaves behind."""

from __future__ import annotations

import io
import time
import zipfile
from pathlib import Path

import pytest

from discreet.errors import DataError, InputError
from discreet.workspace import draft_upload
from discreet.workspace.draft_folder import DraftFolder, DraftMoved, Drafts


def workbook(part: str, size: int) -> bytes:
    """A packed file with one part of so many zeros."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book,
        book.open(part, "w", force_zip64=True) as stream,
    ):
        for _ in range(size >> 20):
            stream.write(bytes(1 << 20))
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"PAR1 and more", "is a Parquet file"),
        ("a.csv", b"%PDF-1.7", "is a PDF"),
        ("a.csv", b"PK\x03\x04....", "is a packed file"),
        ("a.parquet", b"a,b\n1,2\n", "is no Parquet file"),
        ("a.parquet", b"PAR1 cut off", "only a part of one"),
        ("a.xlsx", b"a,b\n1,2\n", "is no workbook"),
        ("a.xlsx", workbook("xl/workbook.xml", 0)[:-8], "is no workbook"),
        ("a.xlsx", workbook("other.xml", 0), "but no workbook"),
        ("a.xlsx", workbook("xl/workbook.xml", 300 << 20), "would unpack to"),
    ],
)
def test_a_file_that_is_not_what_it_says(name: str, data: bytes, words: str, tmp_path: Path):
    """One sentence, and its bytes are gone."""
    draft = begun(tmp_path, name, data)
    with pytest.raises(DataError, match=words):
        draft_upload.complete(draft)
    assert not draft.part.exists()
    assert not draft.made.exists()


@pytest.mark.parametrize(
    "name", ["a.sav", "a", ".csv/../../etc/passwd", "x.duckdb", "x.sqlite", ""]
)
def test_a_name_that_says_no_kind(name: str):
    """It is refused before a byte is sent."""
    with pytest.raises(InputError):
        draft_upload.safe_name(name)


def test_names_cannot_leave_their_folder():
    """Folders, markup and control characters of a name are not kept."""
    for name in ("../../a.csv", "..\\a.csv", "<img src=x>.csv", "a\x00\n.csv", "....csv"):
        safe = draft_upload.safe_name(name)
        assert safe.endswith(".csv")
        assert not set(safe) & set("/\\<>\x00\n")
        assert not safe.startswith(".")


def test_pieces_follow_one_another(tmp_path: Path):
    """From elsewhere, of two senders at once, or of too many bytes: refused, and nothing is lost."""
    draft = Drafts(tmp_path).begin("cas", file="a.csv", bytes=6)
    with draft_upload.receiving(draft, 0, 100) as piece:
        piece.write(b"abc")
        twice = pytest.raises(draft_upload.UploadConflict, match="at this moment")
        with twice, draft_upload.receiving(draft, 3, 100):
            pass
    elsewhere = pytest.raises(draft_upload.UploadConflict, match="byte 3")
    with elsewhere, draft_upload.receiving(draft, 0, 100):
        pass
    with pytest.raises(draft_upload.TooLarge), draft_upload.receiving(draft, 3, 100) as piece:
        piece.write(b"defg")
    assert draft.received == 3


def test_what_a_kill_left_is_swept(tmp_path: Path):
    """Old uploads and broken forms vanish; young uploads and open drafts stay; one being sent stays."""
    drafts = Drafts(tmp_path)
    young, form = (
        drafts.begin("cas", file="a.csv", bytes=9, resumable=kind) for kind in (True, False)
    )
    opened = drafts.begin("cas", file="a.csv", bytes=9)
    opened.set(state="open")
    for draft in (young, form):
        with draft_upload.receiving(draft, 0, 100) as piece:
            piece.write(b"abc")
            drafts.sweep(before=0)
            assert draft.exists()
    drafts.sweep(before=0)
    assert [one.exists() for one in (young, form, opened)] == [True, False, True]
    drafts.sweep(before=time.time() + 60)
    assert [one.exists() for one in (young, opened)] == [False, True]
    opened.delete()
    assert list(tmp_path.iterdir()) == []


def test_the_second_of_two_custodians_is_told(tmp_path: Path):
    """An edition that has moved is refused, with who moved it."""
    draft = Drafts(tmp_path).begin("cas", file="a.csv", bytes=9)
    draft.set(state="open")
    draft.answer({"name": "a"}, edition=1, by="dora")
    with pytest.raises(DraftMoved, match="dora changed this draft"):
        draft.answer({"name": "b"}, edition=1, by="cas")
    assert draft.state.answers == {"name": "a"}


def begun(workspace: Path, name: str, data: bytes) -> DraftFolder:
    """A draft whose bytes are all there."""
    draft = Drafts(workspace).begin("cas", file=name, bytes=len(data))
    with draft_upload.receiving(draft, 0, 1 << 30) as piece:
        piece.write(data)
    return draft


def test_the_last_piece_twice_completes_once(tmp_path: Path):
    """Two senders of the same last piece: one completes the file, the other is told that it is there."""
    draft = begun(tmp_path, "a.csv", b"a,b\n1,2\n")
    size = draft.received
    with draft_upload.receiving(draft, size, 100) as piece:
        assert piece.received == size
    path = draft_upload.complete(draft)
    with pytest.raises(draft_upload.UploadConflict, match="there already"):
        draft_upload.complete(draft)
    assert path.read_bytes() == b"a,b\n1,2\n"
    with pytest.raises(draft_upload.UploadConflict), draft_upload.receiving(draft, size, 100):
        pass


def test_drafts_are_listed_while_one_is_cancelled(tmp_path: Path):
    """One that is there without its state is about to begin or to go, and is none."""
    draft = begun(tmp_path, "a.csv", b"a\n")
    (draft.folder.parent / ("0" * 16)).mkdir()
    drafts = Drafts(tmp_path)
    assert [one.folder.name for one in drafts.all()] == [draft.folder.name]
    assert len(drafts.here()) == 2
