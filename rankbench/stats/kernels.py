"""Kernels compute the differences of all pairs of contenders.

Additions go from the first row to the last, as NumPy's along the first axis do, so that the
results are those of NumPy on the differences themselves, bit for bit. The innermost loops run
over columns, in vector registers.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Matrix, Vector, declared

settle_runtime()


Sides = Annotated[NDArray[np.uint8], types.uint8[::1]]

TILE = 64


@declared()
def variances(values: Matrix, part: int, out: Vector) -> None:
    """Write the variance (divisor N - 1) of ``values[:, i] - values[:, j]`` for all i < j, row by row.

    `part` is 0 or 1: i in the tiles of even numbers, or of odd ones.
    """
    rows, columns = values.shape
    means, squares = np.empty((TILE, TILE)), np.empty((TILE, TILE))
    for first in range(part * TILE, columns, 2 * TILE):
        height = min(TILE, columns - first)
        for second in range(first, columns, TILE):
            width = min(TILE, columns - second)
            means[:] = 0.0
            squares[:] = 0.0
            for row in range(rows):
                for i in range(height):
                    x = values[row, first + i]
                    for j in range(width):
                        means[i, j] += x - values[row, second + j]
            for i in range(height):
                for j in range(width):
                    means[i, j] = means[i, j] / rows
            for row in range(rows):
                for i in range(height):
                    x = values[row, first + i]
                    for j in range(width):
                        deviation = (x - values[row, second + j]) - means[i, j]
                        squares[i, j] += deviation * deviation
            for i in range(height):
                a = first + i
                start = a * (2 * columns - a - 1) // 2 - a - 1
                for j in range(max(0, a + 1 - second), width):
                    out[start + second + j] = squares[i, j] / (rows - 1)


@declared(error_model="numpy")
def largest(values: Matrix, centre: Vector, scale: Vector, sides: Sides, out: Vector) -> None:
    """Write each row's largest ``(values[:, i] - values[:, j] - centre) / scale``, or its negative, or either.

    By the pair's `sides`: 1, 2, 3. Pairs of scale 0 are left out; results are at least 0.
    """
    rows, columns = values.shape
    centres, scales, best = np.empty((TILE, TILE)), np.empty((TILE, TILE)), np.empty(TILE)
    # Nothing or everything: a side that does not count is multiplied by 0.
    up, down = np.empty((TILE, TILE)), np.empty((TILE, TILE))
    out[:] = 0.0
    for first in range(0, columns, TILE):
        height = min(TILE, columns - first)
        for second in range(first, columns, TILE):
            width = min(TILE, columns - second)
            centres[:] = 0.0
            scales[:] = np.inf
            up[:] = 0.0
            down[:] = 0.0
            for i in range(height):
                a = first + i
                start = a * (2 * columns - a - 1) // 2 - a - 1
                for j in range(max(0, a + 1 - second), width):
                    if scale[start + second + j] > 0.0:
                        centres[i, j] = centre[start + second + j]
                        scales[i, j] = scale[start + second + j]
                        up[i, j] = sides[start + second + j] & 1
                        down[i, j] = -float(sides[start + second + j] >> 1)
            for row in range(rows):
                best[:] = 0.0
                for i in range(height):
                    x = values[row, first + i]
                    for j in range(width):
                        deviation = ((x - values[row, second + j]) - centres[i, j]) / scales[i, j]
                        high, low = deviation * up[i, j], deviation * down[i, j]
                        best[j] = high if high > best[j] else best[j]
                        best[j] = low if low > best[j] else best[j]
                for j in range(width):
                    if best[j] > out[row]:
                        out[row] = best[j]
