"""What foreign exceptions say, without trusting them to say anything."""

from __future__ import annotations

__all__ = ["said"]


def said(error: BaseException) -> str:
    """Return an exception's type and message.

    Its ``__str__`` is foreign code: whatever that raises, even `SystemExit`, is taken for
    a message that cannot be had.
    """
    name = type.__getattribute__(type(error), "__name__")
    try:
        message = f"{error}"
    except BaseException:
        return f"{name} (its message cannot be shown)"
    return f"{name}: {message}" if message else f"{name}"
