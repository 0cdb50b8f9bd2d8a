"""The structs that compiled code and native entries share with Python: surroundings, records, captured values."""

from __future__ import annotations

import ctypes

__all__ = [
    "BF16_NUMBER",
    "CALLABLE_HEAD",
    "CALLABLE_SIZE",
    "CALLABLE_VECTORCALL",
    "EXPORTED",
    "LIGHT",
    "MISS",
    "BoundsStruct",
    "CapturedStruct",
    "RecordStruct",
    "RuntimeStruct",
    "ThreadsStruct",
]

#: A callable object: CPython's header, the vectorcall slot, the first record.
CALLABLE_VECTORCALL, CALLABLE_HEAD, CALLABLE_SIZE = 16, 24, 32
#: What an entry returns, instead of an object or NULL, where a call is not for its version.
MISS = 1


#: Units of work up to which a kernel runs on the caller's thread alone: a few microseconds.
LIGHT = 1 << 14


class BoundsStruct(ctypes.Structure):
    """The first index of a call that was outside: where it is from (a text of the code; null: none was), the index, and
    the size that it is outside of."""

    #: As C writes it.
    MESSAGE = "%s: index %lld is out of bounds for a size of %lld"

    _fields_ = [("text", ctypes.c_char_p), ("index", ctypes.c_int64), ("size", ctypes.c_int64)]

    def message(self) -> str:
        """What is wrong with the index."""
        return self.MESSAGE.replace("%lld", "%d") % (self.text.decode(), self.index, self.size)


class RuntimeStruct(ctypes.Structure):
    """What compiled code gets of its surroundings."""

    _fields_ = [
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("threads", ctypes.c_int64),
        ("arena", ctypes.c_void_p),
        ("thread_arena", ctypes.c_void_p),
        ("thread_arena_stride", ctypes.c_int64),
        #: A `BoundsStruct`; code that checks no index does not look.
        ("bounds", ctypes.c_void_p),
        #: A `SignalsStruct`, which code polls that may run for long.
        ("signals", ctypes.c_void_p),
    ]


class RecordStruct(ctypes.Structure):
    """What one version's entry is called with.  Pointers to Python objects are borrowed from the record's owner."""

    _fields_ = [
        ("next", ctypes.c_void_p),
        ("entry", ctypes.c_void_p),
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("threads", ctypes.c_int64),
        ("parameters", ctypes.c_int64),
        #: How many of the parameters may be given by position.
        ("positional", ctypes.c_int64),
        #: Interned names, NULL for a parameter that has to be given by position.
        ("names", ctypes.c_void_p),
        #: Default values, NULL where there is none.
        ("defaults", ctypes.c_void_p),
        ("objects", ctypes.c_void_p),
        ("captures", ctypes.c_int64),
        ("captured", ctypes.c_void_p),
        #: Iterations that calls may still run before Python looks at one (`compiler/driver/size_specialization.py`).
        ("budget", ctypes.c_int64),
        #: What raises the error of a check that failed, given the word and the size that it is about.
        ("failed", ctypes.c_void_p),
    ]


class CapturedStruct(ctypes.Structure):
    """A captured value that must be the same still: in a cell (`name` NULL) or under a name in a dict.

    It is one object, or a list or dict of so many `items`.
    """

    _fields_ = [
        ("container", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("expected", ctypes.c_void_p),
        ("attributes", ctypes.c_int64),
        #: Names of attributes that lead from there to the value.
        ("attribute_names", ctypes.c_void_p),
        #: -1 for an object.
        ("items", ctypes.c_int64),
        ("item_objects", ctypes.c_void_p),
        #: The keys of a dict, and where what it holds is put to be looked at; NULL for a list.
        ("keys", ctypes.c_void_p),
        ("held", ctypes.c_void_p),
    ]


class ThreadsStruct(ctypes.Structure):
    """The number of threads where nobody says, and the text of the environment variable that it was derived from."""

    TEXT_BYTES = 32

    _fields_ = [
        ("threads", ctypes.c_int64),
        ("is_set", ctypes.c_int64),
        ("text", ctypes.c_char * TEXT_BYTES),
    ]


#: Stands in entries for the type number of bfloat16, which NumPy gives out anew in each process.
BF16_NUMBER = 62

#: What entries call, with its type.
EXPORTED = {
    "txc_bind": "i1 (ptr, ptr, i64, ptr, ptr)",
    "txc_captured": "i1 (ptr)",
    "txc_is_array": "i1 (ptr, i64, i32, i32, i32)",
    "txc_integer": "i1 (ptr, ptr)",
    "txc_tuple_items": "ptr (ptr, i64)",
    "txc_list_items": "ptr (ptr, i64)",
    "txc_dict_items": "i1 (ptr, ptr, i64, ptr)",
    "txc_has_dims": "i1 (ptr, i64, ptr)",
    "txc_overlap": "i1 (ptr, i64, ptr, i64)",
    "txc_floordiv": "{i64, i1} (i64, i64)",
    "txc_floormod": "{i64, i1} (i64, i64)",
    "txc_destination": "i1 (ptr, i64, i32, i32, ptr, ptr)",
    "txc_apart": "i1 (ptr, i64, ptr, i64)",
    "txc_hold": "void (ptr, i64)",
    "txc_data": "ptr (ptr, ptr)",
    "txc_empty": "ptr (ptr, i32, ptr, i32, ptr, i32)",
    "txc_run": "i1 (ptr, ptr, ptr, ptr, i64, i64, i64)",
    "txc_failed": "i1 (ptr, i64, ptr)",
    "txc_view": "ptr (ptr, i32, i32, ptr, ptr, i64, i32)",
    "txc_sized": "ptr (ptr, i32, ptr)",
    "txc_scalar": "ptr (ptr, ptr, i32)",
    "txc_scalar_of": "ptr (ptr)",
    "txc_number": "ptr (ptr, ptr)",
    "txc_tuple": "ptr (ptr, i64)",
    "txc_list": "ptr (ptr, i64)",
    "txc_named": "ptr (ptr, ptr, i64)",
    "txc_dict": "ptr (ptr, ptr, i64)",
    "txc_release": "void (ptr, i64)",
    "txc_vectorcall": "ptr (ptr, ptr, i64, ptr)",
}
