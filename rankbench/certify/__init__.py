"""Certificates prove that a surrogate is consistent or not, and a third person can check them.

The package can be called: ``rankbench.certify("pairwise-logistic")`` calls
`rankbench.certify.certify.certify`.
"""

from __future__ import annotations

from rankbench.core.callable_package import make_callable

make_callable(__name__)
