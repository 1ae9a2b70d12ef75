"""True tables stay sealed; protected tables are whole."""

import copy
import json
import pickle
import traceback

import numpy as np
import pytest

from discreet.core.description import Description
from discreet.core.domain import AxisRef
from discreet.core.table import Rehearsal, TrueTable
from discreet.core.true_values import Cells, reveal, seal

from ..facts import people

CANARY = 424_242_424


def sealed() -> TrueTable:
    description: Description = people()
    domain = description.domain((AxisRef("sex", "sex"),))
    cells = Cells(np.array([0, 1]), np.array([CANARY, CANARY]))
    return seal(domain, cells)


@pytest.mark.parametrize(
    "leak",
    [
        pickle.dumps,
        json.dumps,
        copy.copy,
        copy.deepcopy,
        vars,
        list,
        dict,
        lambda table: pickle.dumps(reveal(table)),
        lambda table: table.__getstate__(),
    ],
)
def test_a_true_table_cannot_be_taken_out(leak):
    """Neither pickle, JSON, copies nor attributes give its values away."""
    with pytest.raises(TypeError):
        leak(sealed())


def test_what_is_shown_is_the_shape():
    """repr, str, format and a traceback with locals show no value."""
    table = sealed()
    cells = reveal(table)
    shown = [
        repr(table),
        str(table),
        f"{table}",
        f"{table!r:>80}",
        repr(cells),
        str([table, cells]),
    ]
    try:
        raise ValueError(table, cells)
    except ValueError as error:
        trace = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown.append("".join(trace.format()))
    assert all(str(CANARY) not in text for text in shown)
    assert "2 sex" in repr(table)


def test_the_one_door_opens():
    """What was sealed comes out whole through true_values."""
    assert reveal(sealed()).counts.tolist() == [CANARY, CANARY]


def test_a_rehearsal_stays():
    """A rehearsal cannot be pickled and its repr shows no finding."""
    rehearsal = Rehearsal("a trial", {"count": CANARY})
    assert str(CANARY) not in repr(rehearsal)
    with pytest.raises(TypeError):
        pickle.dumps(rehearsal)
