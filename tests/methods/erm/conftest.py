"""Both ways in which empirical risks are minimized."""

from __future__ import annotations

import pytest

from rankbench.methods.erm import fit


@pytest.fixture(params=["compiled", "interpreted"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute as compiled code does, and as NumPy does."""
    if request.param == "interpreted":
        monkeypatch.setattr(fit, "is_compiled", lambda contender: False)
