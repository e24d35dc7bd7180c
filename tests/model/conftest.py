from __future__ import annotations

from hypothesis import settings

# A busy machine is slow, not wrong.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
