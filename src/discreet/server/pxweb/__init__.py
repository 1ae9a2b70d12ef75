"""A PxWebApi v2 face over saved tables, so that tools made for PxWeb read them; nothing is spent.

`routes.py` has tables, metadata and data, `query_routes.py` code lists and saved queries;
`shared_tables.py` what can be read here, `selection.py` what a selection means, `answers.py` the file
it is answered with, `shapes.py` what is sent and answered.
"""

from . import query_routes, routes
from .shapes import PREFIX

ROUTERS = [routes.router, query_routes.router]

__all__ = ["PREFIX", "ROUTERS"]
