"""From a claim's labels to the arms that are compared, each comparison once."""

from __future__ import annotations

from rankbench.kinds.claim import WeightedContrast
from rankbench.kinds.suite import Claim, Contrast
from rankbench.reports.sample import ArmKey, Race, Sampler

__all__ = ["resolve"]


def resolve(sampler: Sampler, claim: Claim) -> tuple[list[WeightedContrast], tuple[str, ...], bool]:
    """Turn labels into arms.

    Returns
    -------
    contrasts : list of WeightedContrast
        No two of them the same.
    notes : tuple of str
        What is left out, and why.
    complete : bool
        Whether all that the claim needs is there.
    """
    found: dict[tuple[tuple[ArmKey, float], ...], str] = {}
    notes: list[str] = []
    complete = True
    for contrast in claim.contrasts:
        cells = _places(sampler, contrast)
        if not cells:
            complete = False
            notes.append(f"{contrast.a} vs {contrast.b}: not in this run")
        for text, weights in cells:
            missing = _missing(sampler, weights)
            owners = tuple((_owner(sampler, key), weight) for key, weight in weights)
            if missing:
                complete = False
                notes.append(f"{text}: left out, {missing}")
            elif _cancels(owners):
                notes.append(f"{text}: left out, no query has so many judgments and the two are the same")
            elif owners in found:
                twin = found[owners]
                why = "no query has so many judgments and this is" if text != twin else "named twice:"
                notes.append(f"{text}: left out, {why} the same as {twin}")
            else:
                found[owners] = text
    return [WeightedContrast(text, weights) for weights, text in found.items()], tuple(notes), complete


def _missing(sampler: Sampler, weights: tuple[tuple[ArmKey, float], ...]) -> str:
    """Say which arm cannot be compared, if one cannot."""
    for key, _ in weights:
        arm = sampler.arm(key)
        if arm is None or not arm.racing:
            status = "not in this run" if arm is None else arm.status
            return f"{key[1]} at n = {key[0]:,} is {status}"
    return ""


def _owner(sampler: Sampler, key: ArmKey) -> ArmKey:
    """Return the arm of order infinity that an arm equals, if that one is in the race; else `key`."""
    arm = sampler.arm(key)
    owner = None if arm is None or not arm.equals else sampler.arm((key[0], arm.equals))
    return key if owner is None or not owner.racing else owner.key


def _cancels(weights: tuple[tuple[ArmKey, float], ...]) -> bool:
    """Whether a and b are one cell, at every n of the contrast."""
    return all(sum(w for k, w in weights if k == key) == 0 for key, _ in weights)


def _places(sampler: Sampler, contrast: Contrast) -> list[tuple[str, tuple[tuple[ArmKey, float], ...]]]:
    """Return the words and the weighted arms of a contrast: a, b[, a, b]."""
    a, b = contrast.a, contrast.b
    declared = {race.n_declared: race for race in sampler.races}
    if contrast.n_a is not None or contrast.n_b is not None:
        races = [declared.get(n) if n is not None else None for n in (contrast.n_a, contrast.n_b)]
        if races[0] is None or races[1] is None:
            return []
        n_a, n_b = races[0].n, races[1].n
        return [(f"{a} at n = {n_a:,} vs {b} at n = {n_b:,}", (((n_a, a), 1.0), ((n_b, b), -1.0)))]
    races_of_both: list[Race] = [race for race in sampler.races if race.arm(a) and race.arm(b)]
    if not races_of_both:
        return []
    first, last = races_of_both[0].n, races_of_both[-1].n
    if contrast.at == "last-first":
        if first == last:
            return []
        text = f"({a} vs {b}) at n = {last:,}, less the same at n = {first:,}"
        return [(text, (((last, a), 1.0), ((last, b), -1.0), ((first, a), -1.0), ((first, b), 1.0)))]
    at = {"each": [race.n for race in races_of_both], "first": [first], "last": [last]}[contrast.at]
    return [(f"{a} vs {b}, n = {n:,}", (((n, a), 1.0), ((n, b), -1.0))) for n in at]
