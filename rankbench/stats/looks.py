"""Looking at data several times, and stopping when one likes: how much of a level each look may spend.

How often one looks is declared beforehand, and look k gets a share t_k^3 - t_{k-1}^3 of the level, where t_k is the
part of all units that are there by then: the power family of spending functions ([LD83]_, [KD87]_). A difference
is judged once, at the look at which one stops. Whatever made one stop, the chance of a false alarm is at most the sum
of the chances at all looks (union bound), and so at most the level: nothing is assumed of how looks depend on one
another. The price is small: the last of looks that grow by the square root of two keeps two thirds of the level.

References
----------
.. [LD83] K. K. G. Lan, D. L. DeMets. Discrete sequential boundaries for clinical trials. Biometrika 70(3), 1983.
.. [KD87] K. Kim, D. L. DeMets. Design and analysis of group sequential tests based on the type I error spending rate
   function. Biometrika 74(1), 1987.
"""

from __future__ import annotations

__all__ = ["FIRST_LOOK", "declared_looks", "share_of_look"]

FIRST_LOOK = 6
"""Units that are there at the first look, at least: with fewer an interval is too wide to stop."""

GROWTH = 2**0.5
"""How many times more units there are from one look to the next."""

POWER = 3


def declared_looks(units: int) -> tuple[int, ...]:
    """Return after how many units one looks, of at most `units`; the last time after all of them."""
    looks = [units]
    while FIRST_LOOK <= (earlier := round(looks[-1] / GROWTH)) < looks[-1]:
        looks.append(earlier)
    return tuple(reversed(looks))


def share_of_look(declared: int, seen: int, *, last: bool) -> float:
    """Return which share of the level the look after `seen` units may spend, in (0, 1].

    Parameters
    ----------
    declared : int
        How many units there were to be at most, as for `declared_looks`.
    seen : int
        How many there are.
    last : bool
        Nothing comes after it, as there is no time left: it gets all that is left. What ends the time must not
        depend on the differences.
    """
    before = max((look for look in declared_looks(declared) if look < seen), default=0)
    part = 1.0 if last or seen >= declared else seen / declared
    return float(part**POWER - (before / declared) ** POWER)
