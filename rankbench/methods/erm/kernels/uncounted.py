"""Arrays without reference counting, for the inside of hot loops.

numba counts a reference, atomically, for every slice of an array that it makes: in a loop
that slices a hundred times a step the counting costs more than the mathematics. The
loops' arrays are all kept alive by the caller, so the loops work on borrowed copies of
the array headers, which have no owner to count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["uncounted"]

T = TypeVar("T")


@intrinsic
def _uncounted(typingctx: Any, arrays: Any) -> Any:
    """Return a tuple whose arrays have no owner; other members are passed through.

    The caller must keep the original alive as long as the copy, or any slice of it, is
    used, and must not return either.
    """

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        members: Any = cgutils.unpack_tuple(builder, args[0])  # type: ignore[no-untyped-call]
        kept = []
        for kind, member in zip(signature.args[0].types, members, strict=True):
            if isinstance(kind, types.Array):
                header = context.make_array(kind)(context, builder, member)
                header.meminfo = ir.Constant(header.meminfo.type, None)
                header.parent = ir.Constant(header.parent.type, None)
                kept.append(header._getvalue())
            else:
                context.nrt.incref(builder, kind, member)
                kept.append(member)
        return context.make_tuple(builder, signature.return_type, kept)

    return arrays(arrays), codegen


if TYPE_CHECKING:

    def uncounted(arrays: T) -> T:
        """Return a tuple whose arrays have no owner; see `_uncounted`."""

else:
    uncounted = _uncounted
