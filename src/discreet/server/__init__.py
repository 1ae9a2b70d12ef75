"""The table server: a workspace behind an HTTP API, with accounts, rules, budgets and jobs.

Every protected number comes through `release.py`; nothing here can see a true count. A request
goes through the gate (limits, who is asking, audit log), a guard (role and scope; a route without
one does not start), and a route that calls the same verbs as the command line.

    create_app(workspace, settings)     the ASGI app
"""

from .app import create_app
from .settings import Settings

__all__ = ["Settings", "create_app"]
