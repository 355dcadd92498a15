"""Compiled forms of losses, called with scratch memory that is dirty and longer than asked for."""

from __future__ import annotations

import numpy as np


def compiled(loss, alpha, structure):
    kernel = loss.kernel()
    return kernel.function(alpha, structure, kernel.params, np.full(kernel.work(len(alpha)) + 3, 9.0))
