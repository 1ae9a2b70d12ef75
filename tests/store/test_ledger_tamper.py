"""Edited, deleted, swapped, truncated and rolled-back ledgers are found, every time."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.errors import DiscreetError, LedgerDamaged
from discreet.store import Ledger, verify
from discreet.store.chain import START, link


def fill(folder, dataset="people", count=12, seed=0):
    rng = random.Random(seed)
    with Ledger(folder, dataset=dataset) as ledger:
        ledger.set_cap(PureLoss(100), who="ana", reason="test")
        ledger.set_subcap("user:u1", PureLoss(50), who="ana", reason="test")
        add(ledger, 0, count, rng)


def add(ledger, start, count, rng):
    for i in range(start, start + count):
        ledger.commit(
            Charge.laplace("0.5", cells=2, neighbours="add-remove", question=f"q{i}"),
            rng.randbytes(1_100_000 if i == 3 else 50),
            idempotency_key=f"k{i}",
            user=f"u{i % 2}",
            data_version="1",
            policy_version="1",
        )


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A ledger, an earlier state of it, another data set's, and a twin that took another turn."""
    root = tmp_path_factory.mktemp("ledgers")
    fill(root / "now")
    shutil.copytree(root / "now", root / "earlier")
    with Ledger(root / "now", dataset="people") as ledger:
        add(ledger, 12, 4, random.Random(1))
    shutil.copytree(root / "earlier", root / "twin")
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("DISCREET_ANCHORS", str(root / "anchors of another"))
        with Ledger(root / "twin", dataset="people") as ledger:
            add(ledger, 20, 4, random.Random(2))
    fill(root / "other", dataset="others", seed=3)
    fill(root / "namesake", seed=4)
    verify(root / "now")
    return root


def without_triggers(folder, *statements, restore=True):
    """What someone with the file and an SQLite shell could do."""
    raw = sqlite3.connect(folder / "store.sqlite3", isolation_level=None)
    triggers = raw.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        raw.execute(f"DROP TRIGGER {name}")
    for statement, *values in statements:
        assert raw.execute(statement, values).rowcount != 0
    if restore:
        for _, sql in triggers:
            raw.execute(sql)
    raw.close()


def replace_database(folder, source):
    for name in os.listdir(folder):
        if name.startswith("store.sqlite3"):
            (folder / name).unlink()
    shutil.copy(source / "store.sqlite3", folder / "store.sqlite3")
    shutil.copytree(source / "measurements", folder / "measurements", dirs_exist_ok=True)


def edit_amount(folder, rng, root):
    seq = rng.randrange(4, 20)
    without_triggers(
        folder, ("UPDATE log SET body = replace(body, '\"0.5\"', '\"0.1\"') WHERE seq = ?", seq)
    )


def edit_and_rehash_one(folder, rng, root):
    """The row's own hash is redone, the later ones are not (the last row: the anchor knows)."""
    raw = sqlite3.connect(folder / "store.sqlite3")
    rows = raw.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
    raw.close()
    seq, body, _ = rows[rng.randrange(3, len(rows))]
    changed = body.replace('"data_version":"1"', '"data_version":"2"')
    new = link(rows[seq - 2][2], changed)
    without_triggers(folder, ("UPDATE log SET body = ?, hash = ? WHERE seq = ?", changed, new, seq))


def rewrite_all(folder, rng, root):
    """One charge dropped, the whole chain and all tables redone: only the anchor tells."""
    raw = sqlite3.connect(folder / "store.sqlite3")
    bodies = [json.loads(r[0]) for r in raw.execute("SELECT body FROM log ORDER BY seq")]
    raw.close()
    gone = bodies.pop(rng.randrange(3, len(bodies)))
    user = gone["user"]
    head, rows = START, []
    for i, body in enumerate(bodies):
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        head = link(head, text)
        rows.append((i + 1, text, head, body.get("question")))
    number = {body.get("question"): i + 1 for i, body in enumerate(bodies)}
    left = sum(body["kind"] == "charge" for body in bodies)
    mine = sum(body.get("user") == "u1" for body in bodies)
    raw = sqlite3.connect(folder / "store.sqlite3")
    questions = [r[0] for r in raw.execute("SELECT question FROM answers ORDER BY seq")]
    raw.close()
    without_triggers(
        folder,
        ("DELETE FROM answers WHERE question = ?", gone["question"]),
        ("DELETE FROM requests WHERE user = ? AND key = ?", user, gone["key"]),
        *(
            ("UPDATE answers SET seq = ? WHERE question = ?", number[q], q)
            for q in questions
            if q in number
        ),
        ("DELETE FROM log",),
        *(("INSERT INTO log VALUES (?, ?, ?, ?)", *row) for row in rows),
        (
            "UPDATE scopes SET spent = ? WHERE scope = 'dataset'",
            f'{{"epsilon":"{left}","kind":"pure"}}',
        ),
        (
            "UPDATE scopes SET spent = ? WHERE scope = 'user:u1'",
            f'{{"epsilon":"{mine}","kind":"pure"}}',
        ),
    )


def delete_row(folder, rng, root):
    without_triggers(folder, ("DELETE FROM log WHERE seq = ?", rng.randrange(1, 20)))


def truncate_log(folder, rng, root):
    without_triggers(folder, ("DELETE FROM log WHERE seq > ?", rng.randrange(0, 18)))


def swap_rows(folder, rng, root):
    one, two = rng.sample(range(1, 19), 2)
    without_triggers(
        folder,
        ("UPDATE log SET seq = 1000 WHERE seq = ?", one),
        ("UPDATE log SET seq = ? WHERE seq = ?", one, two),
        ("UPDATE log SET seq = ? WHERE seq = 1000", two),
    )


def lower_spent(folder, rng, root):
    without_triggers(folder, ('UPDATE scopes SET spent = \'{"epsilon":"1","kind":"pure"}\'',))


def raise_cap(folder, rng, root):
    without_triggers(folder, ('UPDATE scopes SET cap = \'{"epsilon":"999","kind":"pure"}\'',))


def drop_trigger(folder, rng, root):
    raw = sqlite3.connect(folder / "store.sqlite3", isolation_level=None)
    raw.execute(rng.choice(["DROP TRIGGER log_UPDATE", "DROP TRIGGER answers_DELETE"]))
    raw.close()


def forget_answer(folder, rng, root):
    without_triggers(folder, ("DELETE FROM answers WHERE question = ?", f"q{rng.randrange(16)}"))


def forget_request(folder, rng, root):
    without_triggers(folder, ("DELETE FROM requests WHERE key = ?", f"k{rng.randrange(16)}"))


def edit_measurements(folder, rng, root):
    question = rng.choice([f"q{i}" for i in range(16) if i != 3])
    without_triggers(
        folder,
        ("UPDATE answers SET measurements = ? WHERE question = ?", rng.randbytes(50), question),
    )


def edit_file(folder, rng, root):
    (file,) = (folder / "measurements").iterdir()
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def delete_file(folder, rng, root):
    (file,) = (folder / "measurements").iterdir()
    file.unlink()


def truncate_database(folder, rng, root):
    size = (folder / "store.sqlite3").stat().st_size
    os.truncate(folder / "store.sqlite3", rng.randrange(size // 4096) * 4096)


def delete_database(folder, rng, root):
    (folder / "store.sqlite3").unlink()


def roll_back(folder, rng, root):
    replace_database(folder, root / "earlier")


def take_the_twin(folder, rng, root):
    replace_database(folder, root / "twin")


def take_another(folder, rng, root):
    replace_database(folder, root / rng.choice(["other", "namesake"]))


def delete_anchor(folder, rng, root):
    (folder / "ledger.anchor").unlink()


def garble_anchor(folder, rng, root):
    (folder / "ledger.anchor").write_bytes(rng.randbytes(rng.randrange(200)))


TRICKS = [
    edit_amount,
    edit_and_rehash_one,
    rewrite_all,
    delete_row,
    truncate_log,
    swap_rows,
    lower_spent,
    raise_cap,
    drop_trigger,
    forget_answer,
    forget_request,
    edit_measurements,
    edit_file,
    delete_file,
    truncate_database,
    delete_database,
    roll_back,
    take_the_twin,
    take_another,
    delete_anchor,
    garble_anchor,
]
LATER = {edit_measurements, edit_file}  # found by `verify` and when read, not at `open`

ONLY_BY_ANCHOR = {rewrite_all, roll_back, take_the_twin}


def attempt(trick, seed, sound, folder):
    shutil.copytree(sound / "now", folder)
    trick(folder, random.Random(seed), sound)
    with pytest.raises(LedgerDamaged) as found:
        verify(folder)
    assert str(found.value).count(". ") <= 3
    if trick in ONLY_BY_ANCHOR:
        assert "rolled back or rewritten" in str(found.value)
    if trick not in LATER:
        with pytest.raises(LedgerDamaged):
            Ledger(folder, dataset="people")
    else:
        with Ledger(folder, dataset="people") as ledger:
            damaged = 0
            for i in range(16):
                try:
                    ledger.find(f"q{i}")
                except LedgerDamaged:
                    damaged += 1
            assert damaged == 1


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
def test_tampering_is_found(trick, sound, tmp_path):
    """Twice each of 21 ways to falsify a ledger: found by `verify`, and before any answer."""
    for seed in range(2):
        attempt(trick, seed, sound, tmp_path / str(seed))


@pytest.mark.proof
@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
def test_tampering_is_found_in_all_of_two_hundred_tries(trick, sound, tmp_path):
    """21 ways to falsify a ledger, 10 times each, are found by `verify` and before any answer."""
    for seed in range(2, 12):
        attempt(trick, seed, sound, tmp_path / str(seed))


def check_bit_flips(sound, tmp_path, tries, first_seed):
    """Any flipped bit: found, or without effect on entries, sums and answers."""
    with Ledger(sound / "now", dataset="people") as ledger:
        true = {f"q{i}": ledger.find(f"q{i}").measurements for i in range(16)}
    found = 0
    for seed in range(first_seed, first_seed + tries):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        shutil.copytree(sound / "now", folder)
        content = bytearray((folder / "store.sqlite3").read_bytes())
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (folder / "store.sqlite3").write_bytes(content)
        try:
            state = verify(folder)
            with Ledger(folder, dataset="people") as ledger:
                assert {q: ledger.find(q).measurements for q in true} == true
                assert ledger.spent() == PureLoss(16)
            assert state.entries == 19
        except DiscreetError:
            found += 1
        shutil.rmtree(folder)
    return found


@pytest.mark.slow
def test_flipped_bits_never_change_an_answer_or_a_sum(sound, tmp_path):
    """None of 40 flipped bits changes an answer or a sum without being found."""
    assert check_bit_flips(sound, tmp_path, 40, 0) >= 5


@pytest.mark.proof
def test_two_thousand_flipped_bits(sound, tmp_path):
    """None of 2,000 flipped bits in a ledger's file changes an answer or a sum without being found."""
    assert check_bit_flips(sound, tmp_path, 2000, 1000) >= 200


def read_all(ledger):
    ledger.standing()
    return [ledger.find(f"q{i}") for i in range(16)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 5",
        "UPDATE log SET body = '{' WHERE seq = 19",
        "UPDATE scopes SET spent = CAST(x'ff' AS TEXT)",
        "UPDATE answers SET digest = CAST(x'ff' AS TEXT) WHERE seq = 5",
    ],
)
def test_text_that_is_no_text_is_damage(sound, tmp_path, statement):
    """Bytes that are not UTF-8, or not JSON: before and after opening, one sentence."""
    folder = tmp_path / "garbled"
    shutil.copytree(sound / "now", folder)
    with Ledger(folder, dataset="people") as ledger:
        without_triggers(folder, (statement,))
        with pytest.raises(LedgerDamaged):
            read_all(ledger)
    with pytest.raises(LedgerDamaged):
        Ledger(folder, dataset="people")


def test_an_anchor_behind_the_log_is_a_crash_not_a_fraud(sound, tmp_path):
    """Killed between commit and anchor: the log is ahead, and the ledger opens."""
    folder = tmp_path / "crashed"
    shutil.copytree(sound / "now", folder)
    shutil.copy(sound / "earlier" / "ledger.anchor", folder / "ledger.anchor")
    assert verify(folder).anchored < verify(folder).entries
    with Ledger(folder, dataset="people") as ledger:
        add(ledger, 30, 1, random.Random(0))
    found = verify(folder)
    assert found.anchored == found.entries


def test_a_row_changed_under_an_open_ledger_stops_it(sound, tmp_path):
    """The part of the chain this process has seen must still be there at each commit."""
    folder = tmp_path / "live"
    shutil.copytree(sound / "now", folder)
    with Ledger(folder, dataset="people") as ledger:
        without_triggers(
            folder,
            ("DELETE FROM answers WHERE seq = 19",),
            ("DELETE FROM requests WHERE key = 'k15'",),
            ("DELETE FROM log WHERE seq = 19",),
        )
        with pytest.raises(LedgerDamaged, match="entry 19, read earlier, is gone"):
            add(ledger, 40, 1, random.Random(0))


def test_who_may_write_ledger_and_anchor_is_not_stopped(sound, tmp_path):
    """The limit, shown: with the anchor rolled back too nothing tells. Keep it elsewhere."""
    folder = tmp_path / "both"
    shutil.copytree(sound / "now", folder)
    replace_database(folder, sound / "earlier")
    shutil.copy(sound / "earlier" / "ledger.anchor", folder / "ledger.anchor")
    assert verify(folder).entries == verify(sound / "earlier").entries


def check_torn_logs(tmp_path, tries, first_seed):
    """A write-ahead log cut, or garbled from some place on: refused, or nothing is missing."""
    live = tmp_path / "live"
    refused = 0
    with Ledger(live, dataset="people") as ledger:
        ledger.set_cap(PureLoss(100), who="ana", reason="test")
        add(ledger, 4, 12, random.Random(5))
        for seed in range(first_seed, first_seed + tries):
            rng = random.Random(seed)
            folder = tmp_path / str(seed)
            shutil.copytree(live, folder, ignore=shutil.ignore_patterns("*-shm"))
            log = folder / "store.sqlite3-wal"
            place = rng.randrange(log.stat().st_size)
            if rng.random() < 0.5:
                os.truncate(log, place)
            else:
                content = bytearray(log.read_bytes())
                content[place : place + 64] = rng.randbytes(min(64, len(content) - place))
                log.write_bytes(content)
            try:
                with Ledger(folder, dataset="people") as again:
                    assert again.spent() == PureLoss(12)
                    assert all(again.find(f"q{i}") is not None for i in range(4, 16))
            except LedgerDamaged:
                refused += 1
            shutil.rmtree(folder)
    return refused


def test_a_torn_log_is_refused_or_whole(tmp_path):
    """40 write-ahead logs cut off or overwritten: the ledger is whole, or refused as damaged."""
    assert check_torn_logs(tmp_path, 40, 0) >= 10


@pytest.mark.proof
def test_a_thousand_torn_logs(tmp_path):
    """1,000 write-ahead logs cut off or overwritten: the ledger is whole, or refused as damaged."""
    assert check_torn_logs(tmp_path, 1000, 1000) >= 300
