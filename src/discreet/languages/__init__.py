"""Every sentence a reader sees, in the reader's language.

English is written where it is said: `say("{n} of {all} cells", n=3, all=8)` makes a `Sentence`, a text
that reads as English and can be said in any other language later. Other languages are one file each
(`de.po`), which `python -m discreet.languages` checks against the code. Language is layout: it changes
no number, no hash and no charge.
"""

from .catalogue import ENGLISH, keeps_capitals, known, language_of, named
from .sentence import (
    Number,
    Sentence,
    Voice,
    counted,
    listed,
    meant,
    number,
    one_of_several,
    say,
    says,
    speaker,
    together,
    told,
)

__all__ = [
    "ENGLISH", "Number", "Sentence", "Voice", "counted", "keeps_capitals", "known", "language_of",
    "listed", "meant", "named", "number", "one_of_several", "say", "says", "speaker", "together",
    "told",
]  # fmt: skip
