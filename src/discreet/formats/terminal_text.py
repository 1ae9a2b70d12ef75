"""Text for a terminal: made harmless, measured in columns, cut and wrapped by words."""

from __future__ import annotations

import unicodedata

_DIRECTION = {chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)}


def safe(text: str) -> str:
    """The text on one line, without characters that steer a terminal or turn its direction.

    >>> safe("two\\nlines \\x1b[31mred")
    'two lines �[31mred'
    """
    if text.isprintable():
        return text
    characters = []
    for char in text:
        if char in "\n\r\t\v\f\u2028\u2029\x85":
            characters.append(" ")
        elif char in _DIRECTION:
            continue
        else:
            characters.append("�" if unicodedata.category(char) in ("Cc", "Cs") else char)
    return "".join(characters)


def above(text: str) -> int:
    """How many columns of a terminal the text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """The text within a width; what is cut ends in an ellipsis.

    >>> cut("Yorkshire", 6)
    'Yorks…'
    """
    from rich.cells import set_cell_size

    if above(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…" if width > 0 else ""


def padded(text: str, width: int, *, right: bool = False) -> str:
    """The text filled with spaces to a width; cut where it is longer."""
    text = cut(text, width)
    space = " " * (width - above(text))
    return space + text if right else text + space


def wrapped(text: str, width: int, most: int | None = None) -> list[str]:
    """The text in lines of at most `width`, broken between words, the last of `most` lines cut.

    >>> wrapped("Diseases of the circulatory system", 11, most=3)
    ['Diseases of', 'the', 'circulator…']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and above(lines[-1]) + 1 + above(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [cut(line, width) for line in lines]
