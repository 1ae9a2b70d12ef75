"""The routes by room. A room's routers are in its `ROUTERS`; each lets named roles through."""

from __future__ import annotations

from fastapi import APIRouter

from . import (
    accounts,
    catalogue,
    custody,
    drafts,
    inference,
    jobs,
    oversight,
    questions,
    rehearsals,
    releases,
    saved,
    search,
    tables,
)


def routers() -> list[APIRouter]:
    """Every router of the API, to be mounted under /api/v1."""
    # routes are tried in order: tables first, which are asked for most
    rooms = (
        tables,
        inference,
        catalogue,
        search,
        jobs,
        saved,
        releases,
        accounts,
        oversight,
        questions,
        custody,
        rehearsals,
        drafts,
    )
    return [router for room in rooms for router in room.ROUTERS]
