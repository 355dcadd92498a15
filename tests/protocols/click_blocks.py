"""What the tests of the protocols on selections share."""

import competing

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.manager import get


def execute(protocol, prepared, contenders, losses, n, repetition=0, seed=7):
    """Run one block; results by contender's spec."""
    key = BlockKey(str(protocol), str(prepared.dataset), n, repetition, seed)
    cells = competing.cells(Aggregator, {f"cell-{i}": one for i, one in enumerate(contenders)})
    components = () if protocol.metrics else tuple(get(Loss, loss) for loss in losses)
    results = protocol.execute(prepared, BlockTask(key, 0, tuple(losses), cells, components))
    assert [result.cell for result in results] == list(cells)
    return dict(zip(map(str, contenders), results, strict=True))
