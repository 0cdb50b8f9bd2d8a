"""The loader of objects: everything LLVM emits loads and runs; everything damaged is an error, never a crash."""

import ctypes
import functools
import gc
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from txc.compiler.codegen.target.llvm_backend import compile_llvm, host_target, make_target
from txc.runtime.loader.elf import read_elf
from txc.runtime.loader.elf_relocations import MACHINES, Place
from txc.runtime.loader.loader import LoadedObject, LoaderError, can_load, library_symbols, link

ROOT = Path(__file__).parent.parent.parent

#: One of everything: constants, variables (zeroed and set), a table of functions, a switch, what is outside.
SOURCE = """
@counter = global i64 0, align 128
@start = global i64 40
@functions = constant [2 x ptr] [ptr @twice, ptr @half]
@given = external global i64
declare i64 @outside(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i64 @twice(i64 %x) noinline {
  %y = mul i64 %x, 2
  ret i64 %y
}
define i64 @half(i64 %x) noinline {
  %y = sdiv i64 %x, 2
  ret i64 %y
}
define i64 @count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %first = load i64, ptr @start
  %sum = add i64 %new, %first
  ret i64 %sum
}
define double @scale(double %x) {
  %y = fmul double %x, 0x400921FB54442D18
  ret double %y
}
define i64 @choose(i64 %which, i64 %x) {
  %at = getelementptr ptr, ptr @functions, i64 %which
  %f = load ptr, ptr %at
  %y = call i64 %f(i64 %x)
  ret i64 %y
}
define i64 @far(i64 %x) {
  %y = call i64 @outside(i64 %x)
  %more = load i64, ptr @given
  %z = add i64 %y, %more
  ret i64 %z
}
define void @copy(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
define i64 @pick(i64 %x) {
  switch i64 %x, label %other [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e ]
a:
  call i64 @outside(i64 1)
  ret i64 7
b:
  call i64 @outside(i64 2)
  ret i64 77
c:
  call i64 @outside(i64 3)
  ret i64 5
d:
  call i64 @outside(i64 4)
  ret i64 3
e:
  call i64 @outside(i64 5)
  ret i64 2
other:
  ret i64 -1
}
"""
NAMES = ("twice", "half", "count", "scale", "choose", "far", "copy", "pick")
_UNARY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


@_UNARY
def _outside(x: int) -> int:
    return x + 1000


_GIVEN = ctypes.c_int64(30000)


def _symbols() -> dict[str, int]:
    outside = ctypes.cast(_outside, ctypes.c_void_p).value
    assert outside is not None
    return {**library_symbols(), "outside": outside, "given": ctypes.addressof(_GIVEN)}


@functools.cache
def _object() -> bytes:
    return compile_llvm(SOURCE, host_target())


def _function(loaded: LoadedObject, name: str, result: type = ctypes.c_int64, *arguments: type):
    return ctypes.CFUNCTYPE(result, *arguments)(loaded.addresses[name])


needs_elf = pytest.mark.skipif(not can_load(b"\x7fELF"), reason="the loader is for ELF on processors it knows")


@needs_elf
def test_everything_in_an_object_works():
    i64 = ctypes.c_int64
    loaded = LoadedObject(_object(), NAMES, _symbols())
    assert _function(loaded, "scale", ctypes.c_double, ctypes.c_double)(2.0) == 2 * 3.141592653589793
    assert [_function(loaded, "choose", i64, i64, i64)(which, 10) for which in (0, 1)] == [20, 5]
    assert [_function(loaded, "count")() for _ in range(3)] == [41, 42, 43]
    assert _function(loaded, "far", i64, i64)(1) == 31001
    assert [_function(loaded, "pick", i64, i64)(x) for x in range(-1, 6)] == [-1, 7, 77, 5, 3, 2, -1]
    source, target = ctypes.create_string_buffer(bytes(range(200)), 200), ctypes.create_string_buffer(200)
    _function(loaded, "copy", i64, ctypes.c_void_p, ctypes.c_void_p, i64)(target, source, 200)
    assert target.raw == source.raw


@needs_elf
def test_two_copies_have_variables_of_their_own():
    first, second = (LoadedObject(_object(), NAMES, _symbols()) for _ in range(2))
    assert _function(first, "count")() == _function(second, "count")() == 41


@needs_elf
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_variables_of_its_own():
    loaded = LoadedObject(_object(), NAMES, _symbols())
    count = _function(loaded, "count")
    assert count() == 41
    child = os.fork()
    if child == 0:
        os._exit(count())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert count() == 42


def _protections(address: int) -> str:
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, flags = line.split()[:2]
        low, high = (int(end, 16) for end in span.split("-"))
        if low <= address < high:
            return flags[:3]
    return "---"


@needs_elf
def test_no_page_is_writable_and_executable():
    names = (*NAMES, "counter", "functions")
    loaded = LoadedObject(_object(), names, _symbols())
    assert _protections(loaded.addresses["twice"]) == "r-x"
    assert _protections(loaded.addresses["counter"]) == "rw-"
    assert _protections(loaded.addresses["functions"]) == "r--"
    assert loaded.addresses["counter"] % 128 == 0


@needs_elf
def test_memory_is_given_back():
    loaded = LoadedObject(_object(), NAMES, _symbols())
    address = loaded.addresses["twice"]
    del loaded
    gc.collect()
    assert "x" not in _protections(address)


@needs_elf
def test_what_is_missing_is_named():
    symbols = _symbols()
    with pytest.raises(LoaderError, match="the object has no function 'thrice'"):
        LoadedObject(_object(), ["thrice"], symbols)
    del symbols["outside"]
    with pytest.raises(LoaderError, match="the object needs 'outside', which nothing provides"):
        LoadedObject(_object(), NAMES, symbols)


@needs_elf
def test_a_function_that_is_left_out_needs_nothing():
    text = """
        declare i64 @outside(i64)
        define i64 @needy(i64 %x) {
          %y = call i64 @outside(i64 %x)
          ret i64 %y
        }
        define i64 @sober(i64 %x) {
          %y = add i64 %x, 1
          ret i64 %y
        }
    """
    data = compile_llvm(text, host_target())
    with pytest.raises(LoaderError, match="the object needs 'outside'"):
        LoadedObject(data, ["sober"], {})
    loaded = LoadedObject(data, ["sober"], {}, left_out="needy")
    assert _function(loaded, "sober", ctypes.c_int64, ctypes.c_int64)(41) == 42
    with pytest.raises(LoaderError, match="the object has no function 'nobody'"):
        LoadedObject(data, ["sober"], {}, left_out="nobody")


@needs_elf
def test_other_machines_and_other_files_are_refused():
    other = {"x86_64": "aarch64-unknown-linux-gnu", "aarch64": "x86_64-unknown-linux-gnu"}[host_target().arch]
    foreign = compile_llvm(
        "define void @f() {\n  ret void\n}\n", make_target(other, "" if "aarch64" in other else "x86-64")
    )
    with pytest.raises(LoaderError, match="the object is for another machine"):
        LoadedObject(foreign, ["f"], {})
    for data in (b"", b"\x7fELF", b"MZ" + bytes(100), b"\x7fELF\x01\x01\x01" + bytes(100)):
        with pytest.raises(LoaderError, match="not an ELF64 object"):
            LoadedObject(data, ["f"], {})
    with pytest.raises(LoaderError, match=r"not a relocatable object \(ELF type 3\)"):
        LoadedObject(_object()[:16] + b"\x03\0" + _object()[18:], ["f"], {})


def _relocation_at(data: bytes) -> int:
    """The file offset of the first relocation of a section that is loaded."""
    table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for i in range(count):
        _, kind, _, _, offset, _, _, info, _, _ = struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i)
        if kind == 4 and read_elf(data).sections[info].size:
            return offset
    raise AssertionError("no relocation")


def _changed(data: bytes, at: int, layout: str, value: int) -> bytes:
    found = bytearray(data)
    struct.pack_into(layout, found, at, value)
    return bytes(found)


@needs_elf
@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        (0, "<Q", 1 << 40, "a relocation lies outside section"),
        (8, "<I", 199, "relocation type 199 is not supported"),
        (12, "<I", 1 << 20, "a relocation names symbol 1048576, which there is not"),
        (16, "<q", 1 << 45, "does not fit 32 bits"),
    ],
)
def test_bad_relocations_are_refused(offset, layout, value, message):
    data = _changed(_object(), _relocation_at(_object()) + offset, layout, value)
    with pytest.raises(LoaderError, match=message):
        LoadedObject(data, NAMES, _symbols())


FUZZ = """
import sys, random
from pathlib import Path
from txc.runtime.loader.loader import LoadedObject, LoaderError, library_symbols
data, names = Path(sys.argv[1]).read_bytes(), sys.argv[2].split()
symbols = {**library_symbols(), "outside": 4096, "given": 8192}
right, refused = 0, 0
def load(changed):
    global right, refused
    try:
        loaded = LoadedObject(changed, names, symbols)
        assert set(loaded.addresses) == set(names)
        right += 1
    except (LoaderError, MemoryError):
        refused += 1
step = random.Random(1)
places = eval(sys.argv[3])
for at in places:
    for value in (data[at] ^ 1 << step.randrange(8), 0, 255):
        load(data[:at] + bytes([value]) + data[at + 1:])
for length in range(0, len(data), 7):
    load(data[:length])
print(right, refused)
"""


@needs_elf
def test_no_changed_byte_and_no_truncation_crashes(tmp_path):
    """Every byte of the headers, symbols and relocations (all that the loader interprets), in a process of its own."""
    data = _object()
    table = struct.unpack_from("<Q", data, 40)[0]
    ranges = [range(0, 64), range(table, len(data))]
    for i in range(struct.unpack_from("<H", data, 60)[0]):
        _, kind, _, _, offset, size, *_ = struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i)
        if kind in (2, 3, 4):
            ranges.append(range(offset, offset + size))
    (tmp_path / "f.o").write_bytes(data)
    places = repr(sorted({at for r in ranges for at in r}))
    (tmp_path / "fuzz.py").write_text(FUZZ)
    done = subprocess.run(
        [sys.executable, tmp_path / "fuzz.py", tmp_path / "f.o", " ".join(NAMES), places],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    right, refused = map(int, done.stdout.split())
    assert right > 100 and refused > 1000


# AArch64 on bytes: what the architecture's manual says the fields are.


def _word(kind: int, old: int, **place: int) -> int:
    rule = MACHINES["aarch64"].rules[kind]
    full = {"here": 0, "symbol": 0, "stub": 0, "slot": 0, "addend": 0, **place}
    return struct.unpack("<I", rule.apply(Place(**full), struct.pack("<I", old)))[0]


def test_aarch64_instructions_get_their_fields():
    assert _word(283, 0x94000000, here=0x1000, stub=0x2000) == 0x94000400  # bl +0x1000
    assert _word(282, 0x14000000, here=0x2000, stub=0x1000) == 0x17FFFC00  # b -0x1000
    assert _word(275, 0x90000000, here=0x10FFC, symbol=0x12345) == 0xD0000000  # adrp x0, 2 pages on
    assert _word(311, 0x90000001, here=0x400000, slot=0x3FFFF8) == 0xF0FFFFE1  # adrp x1, the page before
    assert _word(277, 0x91000000, symbol=0x12345) == 0x910D1400  # add x0, x0, #0x345
    assert _word(286, 0xF9400000, symbol=0x12348) == 0xF941A400  # ldr x0, [x0, #0x348]
    assert _word(299, 0x3DC00000, symbol=0x12350) == 0x3DC0D400  # ldr q0, [x0, #0x350]
    assert _word(312, 0xF9400021, slot=0x5008) == 0xF9400421  # ldr x1, [x1, #8]
    with pytest.raises(LoaderError, match="does not fit 26 bits"):
        _word(283, 0x94000000, here=0, stub=1 << 28)
    with pytest.raises(LoaderError, match="is not aligned to 8 bytes"):
        _word(286, 0xF9400000, symbol=0x12344)


#: Calls every function and counts the right answers: 6, then `outside` adds 1.
AARCH64_MAIN = """
define i64 @main() {
  %c0 = call i64 @count()
  %c1 = call i64 @count()
  %q = call i64 @choose(i64 0, i64 %c1)
  %h = call i64 @choose(i64 1, i64 %q)
  %p = call i64 @pick(i64 3)
  %d = sitofp i64 %p to double
  %s = call double @scale(double %d)
  %i = fptosi double %s to i64
  %f = call i64 @far(i64 %i)
  %t = add i64 %h, %f
  ret i64 %t
}
"""
NEAR, FAR = 0x400000, 0x7000000000


@pytest.mark.skipif(not Path("/usr/bin/qemu-aarch64").exists(), reason="needs qemu-aarch64")
def test_an_aarch64_object_runs_under_qemu(tmp_path):
    """The image, linked for an address, as an executable file; outside functions are too far for a direct call."""
    data = compile_llvm(SOURCE + AARCH64_MAIN, make_target("aarch64-unknown-linux-gnu"))
    symbols = {"outside": FAR + 24, "given": FAR + 32, "memcpy": 0}
    image = link(data, NEAR, symbols, "aarch64", 4096)
    # ldr x16, main; blr x16; mov x8, #93 (exit); svc #0; main's address; outside: add x0, x0, #1; ret; given: 50
    far = struct.pack("<4IQ2IQ", 0x58000090, 0xD63F0200, 0xD2800BA8, 0xD4000001, image.addresses["main"],
                      0x91000400, 0xD65F03C0, 50)  # fmt: skip
    loads = [(s.offset, NEAR + s.offset, s.size, 5 if s.executable else 6 if s.writable else 4) for s in image.segments]
    loads = [(4096 + offset, address, size, flags) for offset, address, size, flags in loads if size]
    loads.append((4096 + len(image.content), FAR, len(far), 5))
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, FAR, 64, 0, 0, 64, 56, len(loads), 0, 0, 0
    )
    for offset, address, size, flags in loads:
        head += struct.pack("<IIQQQQQQ", 1, flags, offset, address, address, size, size, 4096)
    program = tmp_path / "program"
    program.write_bytes(head.ljust(4096, b"\0") + bytes(image.content) + far)
    program.chmod(0o700)
    done = subprocess.run(["/usr/bin/qemu-aarch64", program], check=False, timeout=60)
    assert done.returncode == 42 + int(3 * 3.141592653589793) + 1 + 50
