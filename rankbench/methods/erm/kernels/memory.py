"""Compiled loops borrow arrays and lists of functions, and fetch from memory ahead.

numba counts a reference, atomically, for every slice of an array that it makes, and for every function that it takes
from a list: in a loop that slices a hundred times a step the counting costs more than the mathematics. The
loops' arrays are all kept alive by the caller, so the loops work on borrowed copies of
the array headers, which have no owner to count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from rankbench.core.runtime import settle_runtime

settle_runtime()

T = TypeVar("T")


@intrinsic
def _uncounted(typingctx: Any, arrays: Any) -> Any:
    """Return a tuple whose arrays have no owner, and with the first of a list's functions in its place.

    The caller must keep the original alive as long as the copy, or any slice of it, is
    used, and must not return either. Other members are passed through.
    """
    kinds = [types.CPointer(kind.dtype) if isinstance(kind, types.ListType) else kind for kind in arrays.types]  # type: ignore[no-untyped-call]
    made = types.BaseTuple.from_types(kinds, getattr(arrays, "instance_class", None))  # type: ignore[no-untyped-call]

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        members: Any = cgutils.unpack_tuple(builder, args[0])  # type: ignore[no-untyped-call]
        kept = []
        for kind, member in zip(signature.args[0].types, members, strict=True):
            if isinstance(kind, types.Array):
                header = context.make_array(kind)(context, builder, member)
                header.meminfo = ir.Constant(header.meminfo.type, None)
                header.parent = ir.Constant(header.parent.type, None)
                kept.append(header._getvalue())
            elif isinstance(kind, types.ListType):
                listed: Any = cgutils.create_struct_proxy(kind)(context, builder, value=member)  # type: ignore[no-untyped-call]
                address = ir.FunctionType(cgutils.voidptr_t, [listed.data.type])
                find = cgutils.get_or_insert_function(builder.module, address, "numba_list_base_ptr")  # type: ignore[no-untyped-call]
                first = context.get_data_type(kind.dtype).as_pointer()
                kept.append(builder.bitcast(builder.call(find, [listed.data]), first))
            else:
                context.nrt.incref(builder, kind, member)
                kept.append(member)
        return context.make_tuple(builder, signature.return_type, kept)

    return made(arrays), codegen


if TYPE_CHECKING:

    def uncounted(arrays: T) -> T:
        """Return a tuple whose arrays have no owner; see `_uncounted`."""

else:
    uncounted = _uncounted


@intrinsic
def _fetch(typingctx: Any, array: Any, place: Any) -> Any:
    """Ask for the line of the processor's cache that holds ``array.ravel()[place]``, which must be C-contiguous."""

    def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        header = context.make_array(signature.args[0])(context, builder, args[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(header.data, [args[1]]), byte)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, *3 * [word]])
        )
        builder.call(fetch, [address, word(0), word(2), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@njit(cache=True, nogil=True, inline="always")
def fetch_ahead(array: Any, begin: int, end: int) -> None:
    """Prefetch ``array.ravel()[begin:end]`` into the processor's cache; no number changes."""
    for place in range(begin, end, _LINE):
        _fetch(array, place)  # type: ignore[call-arg]


_LINE = 8
"""Numbers in a line of the processor's cache."""
