"""How many random examples a test takes where it wants another number than the usual hundred."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def examples(count: int, *quiet: HealthCheck) -> settings:
    """So many in `make test`; `make check` takes the same share of them as of the usual hundred."""
    usual = settings.get_profile("patient").max_examples
    most = -(-count * settings().max_examples // usual)
    return settings(max_examples=most, suppress_health_check=[HealthCheck.too_slow, *quiet])
