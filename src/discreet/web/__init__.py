"""The pages people meet: server-rendered, whole without scripts, in the words of their reader.

    address.py      where a reader is in the builder: address ↔ question, layout and view; every link
    axes.py         chips, their menus and the list of variables, all of them links
    verdicts.py     the bar that says what a question would cost and say, in one shape for all states
    grid.py         a protected table as rows of HTML, a window of them at a time
    ghost.py        the same table before anything is spent: how far off each number would be
    notes_view.py   what is said of a table, in three depths
    builder.py      one question on a page: what is asked, what of it may be shown
    frame.py        the frame of every page, errors as pages, style sheet and scripts
    compare.py      two cells side by side
    finding.py      search, and categories to choose from
    custody/        the custodians' pages
    routes.py       the addresses of pages; *_routes.py those of finding, keeping, oversight and accounts

Every number comes through the one flow, as over the API. A GET never spends.
"""

from .. import server  # whichever of the two rooms is imported first, the server's comes first

__all__ = ["server"]
