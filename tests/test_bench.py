"""The bench harness says what holds, and keeps a peer's chatter apart from its answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench import bars
from bench.bars import Figure
from bench.peers import Peer, PeerFailed


@pytest.mark.parametrize(
    ("figure", "holds", "verdict"),
    [
        (Figure("a", 1.5, at_most=1.5), True, "yes"),
        (Figure("a", 1.51, at_most=1.5), False, "NO"),
        (Figure("a", 7.0, at_least=7), True, "yes"),
        (Figure("a", 6.99, at_least=7), False, "NO"),
        (Figure("a", 5000, at_least=5000, at_most=5000), True, "yes"),
        (Figure("a", 5001, at_least=5000, at_most=5000), False, "NO"),
        (Figure("a", float("nan"), at_most=1), False, "NO"),
        (Figure("a", None, at_most=1), None, "—"),
    ],
)
def test_a_bar_holds_up_to_its_limit(figure: Figure, holds: bool | None, verdict: str) -> None:
    """A figure at its limit holds, one past it does not, and one not measured claims nothing."""
    assert figure.holds is holds
    assert figure.verdict == verdict


def test_what_a_bench_measured_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line printed and the figure kept are the same; the table has a row for each."""
    file = tmp_path / "figures.jsonl"
    monkeypatch.setenv(bars.KEPT_IN, str(file))
    made = bars.measured("loading ÷ copying", 3.25, "×", at_most=3, note="processor 2.9")
    lost = bars.measured("faster than a peer", None, "×", at_least=7, note="it could not run")
    assert bars.kept(file) == [made, lost]
    said = capsys.readouterr().out
    assert "3.25 ×, bar ≤ 3 ×, holds: NO" in said
    assert "not measured, bar ≥ 7 ×, holds: —" in said
    rows = bars.table([("loading", made, "0.1"), ("peer", lost, "0.1")]).splitlines()
    assert len(rows) == 4
    assert len({len(row) for row in rows}) == 1


class Here(Peer):
    """A peer that needs no environment of its own."""

    def _python(self) -> Path:
        return Path(sys.executable)


def test_a_peer_answers_round_by_round() -> None:
    """What it prints besides is not taken for an answer."""
    program = """
print("loading …")
asked = int(sys.argv[1])
def once():
    global asked
    asked += 1
    print("chatter", asked)
    return {"asked": asked}
"""
    with Here("counter", ()).running(program, "40") as peer:
        assert [peer.once()["asked"] for _ in range(3)] == [41, 42, 43]


@pytest.mark.parametrize(
    "program", ["raise OSError('no Java here')", "def once(): raise OSError('no Java here')"]
)
def test_a_peer_that_fails_says_why(program: str) -> None:
    """While it is set up or in a round: the last thing it said."""
    with (
        pytest.raises(PeerFailed, match="broken could not run: OSError: no Java here"),
        Here("broken", ()).running(program) as peer,
    ):
        peer.once()
