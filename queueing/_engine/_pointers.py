"""Plain pointers to arrays, for the calls inside event loops.

Numba counts references to every array at the boundary of every function, which costs more than an
event. Pointers are indexed like arrays, but nobody counts them and nobody checks their bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer_to(typing_context: Any, array: Any) -> Any:
    """The pointer to the first entry of a contiguous array, which must outlive it."""
    del typing_context
    if not isinstance(array, types.Array) or array.layout != "C":
        raise numba.TypingError("pointer_to needs a C-contiguous array")

    def codegen(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), codegen


def _shifted(typing_context: Any, pointer: Any, count: Any) -> Any:
    """The pointer `count` entries further on."""
    del typing_context
    if not isinstance(pointer, types.CPointer):
        raise numba.TypingError("shifted needs a pointer")

    def codegen(context, builder, signature, arguments):
        del context, signature
        return cgutils.gep_inbounds(builder, arguments[0], arguments[1])

    return pointer(pointer, types.intp), codegen


def _prefetch(typing_context: Any, pointer: Any) -> Any:
    """Ask for the cache line of an address, any address, that will be needed soon."""
    del typing_context

    def codegen(context, builder, signature, arguments):
        del context, signature
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # For a write, with high locality, of data.
        flags = [ir.Constant(flag, value) for value in (1, 3, 1)]
        builder.call(function, [builder.bitcast(arguments[0], byte), *flags])

    return types.void(pointer), codegen


# pointer_to(array), shifted(pointer, count), prefetch(pointer): numba passes the typing context.
pointer_to: Callable[..., Any] = intrinsic(_pointer_to)
shifted: Callable[..., Any] = intrinsic(_shifted)
prefetch: Callable[..., None] = intrinsic(_prefetch)
