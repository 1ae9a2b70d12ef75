"""Known attacks, run: each on a baseline where it must succeed, and on a custodian's own policy.

They run on a twin: made-up people under the public description and the policy's own parameters, so
that nothing here sees a record. `run.py` runs them all.
"""
