"""The custodians' pages: what waits, what people learnt, policies, releases, ledgers, people, log.

    home.py          what waits for a decision, budgets with every charge, what was refused
    gauge.py         a budget as a picture: one segment a charge
    publishing.py    from a recipe to a release: price, make, look, approve, publish, withdraw
    studio.py        a policy chosen on evidence; studio_routes.py its addresses and those of rehearsals
    pictures.py      floor and ceiling on one bar, and a law
    books.py         ledger with shares, and the audit log: filters, pages, files
    people.py        accounts, their tokens, and what two settle
    forms.py         what people write, read into the API's own forms
    routes.py        the addresses of home, proposals and requests; `ROUTERS` of all these pages

All of it is for custodians alone. A GET changes nothing; what changes something is a form.
"""
