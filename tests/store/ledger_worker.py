"""A process that uses a ledger, to be raced, traced and killed by the tests.

python ledger_worker.py race FOLDER NAME COUNT        commit COUNT questions of its own
python ledger_worker.py serve FOLDER                  answer `key question size` lines
python ledger_worker.py order FOLDER COUNT FULL|NORMAL  one answer written after each commit
python ledger_worker.py once FOLDER SIZE              one commit; prints the error class, if any
python ledger_worker.py decide FOLDER NAME COUNT      record COUNT questions, each after a history
python ledger_worker.py persist FOLDER NAME           commit until the budget is gone, through crashes
python ledger_worker.py hold FOLDER                   hold budget for a job, then work for ever
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import threading
import time
from fractions import Fraction
from queue import SimpleQueue

from discreet.core.charge import Charge
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    HistoryMoved,
    LedgerDamaged,
    StoreError,
)
from discreet.store import LedgerStore, StoredAnswer, open_ledger


def commit(
    ledger: LedgerStore, key: str, question: str, measurements: bytes, user: str = ""
) -> StoredAnswer:
    charge = Charge.laplace("1/3", cells=3, neighbours="add-remove", question=question)
    return ledger.commit(
        charge,
        measurements,
        idempotency_key=key,
        user=user,
        data_version="1",
        policy_version="1",
    )


def race(folder: str, name: str, count: str) -> None:
    ledger = open_ledger(folder, dataset="people")
    print("ready", flush=True)
    sys.stdin.readline()
    granted = refused = 0
    for i in range(int(count)):
        try:
            granted += commit(ledger, f"{name}-{i}", f"q-{name}-{i}", os.urandom(64)).fresh
        except BudgetExceeded:
            refused += 1
    print(json.dumps({"granted": granted, "refused": refused}), flush=True)


def mixed(folder: str, name: str, count: str) -> None:
    ledger = open_ledger(folder, dataset="people")
    rng = random.Random(name)
    print("ready", flush=True)
    sys.stdin.readline()
    spent: dict[str, Fraction] = {}
    for i in range(int(count)):
        user, project = rng.choice(["ana", "ben", ""]), rng.choice(["health", "work", ""])
        cost = Fraction(rng.randrange(1, 50), rng.randrange(50, 120))
        charge = Charge.laplace(cost, cells=1, neighbours="add-remove", question=f"{name}-{i}")
        try:
            ledger.commit(
                charge,
                b"x",
                idempotency_key=f"{name}-{i}",
                user=user,
                project=project,
                data_version="1",
                policy_version="1",
            )
        except BudgetExceeded:
            continue
        for scope in {"dataset", f"user:{user}", f"project:{project}"}:
            spent[scope] = spent.get(scope, Fraction(0)) + cost
    print(json.dumps({scope: str(amount) for scope, amount in spent.items()}), flush=True)


def serve(folder: str) -> None:
    ledger = open_ledger(folder, dataset="people")
    lines: SimpleQueue[str] = SimpleQueue()
    saying = threading.Lock()

    def work() -> None:
        while True:
            key, question, size = lines.get().split()
            answer = commit(ledger, key, question, os.urandom(int(size)))
            said = hashlib.sha256(answer.measurements).hexdigest()
            with saying:
                os.write(1, f"{key} {question} {said}\n".encode())

    for _ in range(8):
        threading.Thread(target=work, daemon=True).start()
    os.write(1, b"ready\n")
    for line in sys.stdin:
        lines.put(line)
    time.sleep(60)


def persist(folder: str, name: str) -> None:
    """Asks again, with the same key, whatever the store could not do."""
    ledger: LedgerStore | None = None
    number = 0
    while True:
        question = f"q-{name}-{number}"
        try:
            ledger = ledger or open_ledger(folder, dataset="people")
            charge = Charge.laplace("1", cells=1, neighbours="add-remove", question=question)
            versions = {"data_version": "1", "policy_version": "1"}
            answer = ledger.commit(charge, os.urandom(200), idempotency_key=question, **versions)
        except BudgetExceeded:
            return
        except LedgerDamaged:
            raise
        except StoreError:
            time.sleep(0.2)
            continue
        print(question, hashlib.sha256(answer.measurements).hexdigest(), flush=True)
        number += 1


def order(folder: str, count: str, synchronous: str) -> None:
    ledger = open_ledger(folder, dataset="people", synchronous=synchronous)
    for i in range(int(count)):
        commit(ledger, f"k{i}", f"q{i}", os.urandom(1_200_000 if i % 10 == 3 else 64))
        os.write(1, b"answer\n")


def once(folder: str, size: str) -> None:
    try:
        ledger = open_ledger(folder, dataset="people", wait_seconds=300.0)
        answer = commit(ledger, "once", "q-once", os.urandom(int(size)))
        print(json.dumps({"answered": answer.receipt["entry"]}))
    except DiscreetError as error:
        print(json.dumps({"error": type(error).__name__, "message": str(error)}))


def decide(folder: str, name: str, count: str) -> None:
    """Each answer says which history it was decided on: its head, and how long it was."""
    ledger = open_ledger(folder, dataset="people")
    print("ready", flush=True)
    sys.stdin.readline()
    moved = 0
    for i in range(int(count)):
        question, decided = f"q-{name}-{i}", False
        while not decided:
            history = ledger.history()
            if any(answer.question == question for answer in history.answers):
                break  # stored before this process took over
            said = json.dumps([history.head, len(history.answers)])
            try:
                answer = ledger.commit(
                    Charge.record("decision", {}, question=question),
                    said.encode(),
                    idempotency_key=question,
                    data_version="1",
                    policy_version="1",
                    after=history.head,
                )
            except HistoryMoved:
                moved += 1
                continue
            decided = True
            print(f"{question} {answer.receipt['hash']}", flush=True)
    print(json.dumps({"moved": moved}), flush=True)


def hold(folder: str) -> None:
    ledger = open_ledger(folder, dataset="people")
    charge = Charge.laplace("3/4", cells=1, neighbours="add-remove", question="long job")
    print(ledger.hold(charge, seconds=3600).id, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    {
        "race": race,
        "mixed": mixed,
        "serve": serve,
        "persist": persist,
        "order": order,
        "once": once,
        "decide": decide,
        "hold": hold,
    }[sys.argv[1]](*sys.argv[2:])
