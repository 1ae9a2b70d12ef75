"""Texts that engines read differently unless they are told how: as ids, and as categories."""

from __future__ import annotations

import random

FIXED = [
    "1", "1.0", " 1 ", "\t2.000\n", "007", "007.0", "+5.0", "-3.00", "-0.0", "0.0", "1.50", "1e5", "1E15", "0x1F", "NaN", "inf",
    "3.0\u2028", "4.0\u0085", "5.0\n", "6.0\r\n", "\u00a05.0\u00a0", "\u20038.0", "\ufeff9.0", "\u200b9.0", "٣.0", "３.0",
    "é", "e\u0301", "ﬁ", "ß", "SS", "ı", "I\u0307", "日本語", "👩‍👩‍👧", "\U0001f1e9\U0001f1ea", "\ue000", "\uffff", "\U0010ffff",
    "'", "''", '"', "\\", "\\'", "\\n", "\\u0041", "${x}", "$1", "%", "%s", "_", "`", ";--", "/*", "{s}", "{", "}", "?", ":a",
    "a\nb", "a\tb", "a\x01b", "\x7f", "a b", "a  b", "NULL", "null", "None", "true", "2024-02-29", "12:00", "\x0b7.0\x0c",
    "9223372036854775807", "-9223372036854775808", "99999999999999999999999", ".0", "0.", "1.0.0", "+", "-", "z" * 5000,
]  # fmt: skip
"""Numbers, blanks, marks, accents, quotes, and what looks like something else."""

_RANGES = ((0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x400, 0x4FF), (0x5D0, 0x5EA),
           (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x4FFF), (0x1F300, 0x1F6FF), (0x09, 0x0D))  # fmt: skip


def odd_texts(number: int, seed: int = 19) -> list[str]:
    """So many texts, the fixed ones first; none is blank, none holds what Postgres cannot keep."""
    rng = random.Random(seed)
    texts = list(FIXED)
    while len(texts) < number:
        signs = [chr(rng.randint(*rng.choice(_RANGES))) for _ in range(rng.randint(1, 12))]
        if rng.random() < 0.2:
            signs.append(rng.choice([".0", ".00", ".", "0", " ", "\u00a0"]))
        if (text := "".join(signs)).strip():
            texts.append(text)
    return texts[:number]
