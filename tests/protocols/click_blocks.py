"""What the tests of the protocols on selections share."""

from rankbench.kinds.cell import BlockKey
from rankbench.kinds.protocol import BlockTask


def execute(protocol, prepared, contenders, losses, n, repetition=0, seed=7):
    """Run one block; results by contender's spec."""
    key = BlockKey(str(protocol), str(prepared.dataset), n, repetition, seed)
    cells = {f"cell-{i}": spec for i, spec in enumerate(contenders)}
    results = protocol.execute(prepared, BlockTask(key, 0, tuple(losses), cells))
    assert [result.cell for result in results] == list(cells)
    return dict(zip(contenders, results, strict=True))
