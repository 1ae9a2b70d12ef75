"""`python -m discreet.languages [--write] [FILE.po …]`: is every sentence there in every language?

With `--write` a file gets an empty entry for each sentence it lacks, and loses those said nowhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import InputError
from . import po_file
from .catalogue import FOLDER, from_file
from .check import problems, rewritten, sentences


def main(arguments: list[str]) -> int:
    """The exit code: 0 where all is well, else 2."""
    files = [Path(word) for word in arguments if word != "--write"] or sorted(FOLDER.glob("*.po"))
    try:
        wanted = sentences()
        wrong = []
        for file in files:
            if "--write" in arguments:
                file.write_text(rewritten(file, wanted), "utf-8")
            written = po_file.read(file)
            from_file(written)
            wrong += list(problems(written, wanted))
    except InputError as error:
        wrong = [error.message]
    for words in wrong:
        print(words)
    if not wrong:
        print(f"{len(wanted)} sentences, all of them in {', '.join(file.stem for file in files)}.")
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
