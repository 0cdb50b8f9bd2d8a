"""What random programs are made of: a table of templates for each kind of text, by feature.

A template's holes are filled by other templates: ``<number>`` by one of its kind, ``<row:a>`` too, which ``<a>`` then
repeats.  A kind written in capitals names variables.  Lines of a statement that are ``<block>`` hold statements.  What
a program shall do without, or try alone, is said by the feature, a template's last word.

Numbers stay small multiples of powers of two, so that sums are exact in any order and no rounding decides a branch.
All loops end: counters of `while` are variables that nothing else assigns.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "HEAD",
    "HEADS",
    "KINDS",
    "LEAVES",
    "NOT_IN_TX",
    "RESULT",
    "RESULTS",
    "TX_HEAD",
    "TX_RESULT",
    "VARIABLES",
    "Template",
]


class Template(NamedTuple):
    """A text with holes, how often it is drawn, and the feature that it belongs to."""

    weight: int
    text: str
    feature: str = "plain"


#: Bound before all statements: those that a program does not need are left out when it is made small.
HEAD = """\
z = x * 1
v, w, a, b = x[1:], x[:0], m[0], m.T
s, t, k, p, h = 0.0, 1.0, 2, True, 1
pair, record, found, box = [0.0, 1.0], {'v': 0.0, 'x': y}, [], Box(x, 0.0)
def add(q):
    nonlocal t
    t = t + q
def scaled(q):
    return q * c + t
def put(q, at):
    q[at] = t
    return q"""

#: Everything that a program has is its result.
RESULT = "return x, y, z, v, w, m, a, b, s, t, k, p, h, pair, record, found, box.x, box.s"

#: What features bind behind that.
HEADS = {
    "bags": "bag = other = Bag(x)",
    "defaults": """\
def kept(q, r=x, *, times=[0]):
    r[0] += q
    times[0] += 1
    return times[0]""",
    "givers": """\
def turn():
    nonlocal x, y
    x, y = y, x
    return y
def renewed(q):
    nonlocal y
    y = y + q
    return y""",
    "iterators": "it = iter(x)",
    "lookups": "shelf = [x, y, z]",
    "late": """\
def later(q):
    return q + s * k""",
    "partials": "held, bump = partial(put, x), box.bump",
    "rows": "rows = [x, y, z]",
    "slots": "slot = Slot(y, 1.0)",
    "tables": "table = {'a': x, 'b': y}",
}
#: What they add to the result.
RESULTS = {
    "bags": "bag.x, other.x, bag.count, other.count, bag is other",
    "defaults": "kept(0.0)",
    "lookups": "shelf",
    "rows": "rows",
    "slots": "slot.x, slot.s",
    "tables": "table",
}

#: What a `.tx` file says of these, which has no objects, containers, closures and functions without types.
TX_HEAD = """\
z = x * 1
v, w, a, b = x[1:], x[:0], m[0], m.T
s, t, k, p, h = 0.0, 1.0, 2, True, 1"""
TX_RESULT = "return x, y, z, v, w, m, a, b, s, t, k, p, h"
NOT_IN_TX = frozenset(
    "asserts bags captured closures comprehensions containers defaults fancy flat givers grows helpers ints iterators "
    "late lookups objects outs overlaps partials rows same sizes slots tables types unpacks walruses".split()
)

#: `x`, `y`, `z`: rank 1, one length; `v`, `w`: rank 1, any length; `a`: a row of `m`; `m`, `b`: rank 2.
VARIABLES = {
    "ROW": ("x", "x", "y", "y", "z"),
    "VIEW": ("v", "v", "w"),
    "LINE": ("a",),
    "MATRIX": ("m", "m", "b"),
    "NUMBER": ("s", "s", "t"),
    "INTEGER": ("k",),
    "FLAG": ("p",),
    "HUGE": ("h",),
}

KINDS: dict[str, tuple[Template, ...]] = {
    "statement": (
        # Numbers
        Template(3, "<NUMBER> = <number>"),
        Template(2, "<NUMBER> += <number>"),
        Template(1, "<NUMBER> -= <number>"),
        Template(1, "s, t = t, s"),
        Template(1, "<NUMBER>, <INTEGER> = <number>, <small>"),
        Template(2, "k = <small>"),
        Template(1, "k += 1"),
        Template(1, "k -= 1"),
        Template(1, "k = k * 2 % 11"),
        Template(1, "p = <condition>"),
        Template(1, "p = not p"),
        Template(1, "s = t = <number>"),
        # Names of arrays
        Template(4, "<ROW> = <row>"),
        Template(2, "<ROW> += <row>"),
        Template(1, "<ROW> *= <small>"),
        Template(1, "<ROW> -= <number>"),
        Template(2, "<ROW> = <ROW>", "rebound"),
        Template(1, "x, y = y, x", "rebound"),
        Template(1, "y, z = z, y", "rebound"),
        Template(1, "x, y, z = z, x, y", "rebound"),
        Template(1, "z = y = <row>", "rebound"),
        Template(3, "v = <ROW>[<bounds>]", "views"),
        Template(1, "v = v[<bounds>]", "views"),
        Template(1, "<ROW:r> = <r>[::<sign>]", "views"),
        Template(1, "v, w = w, v", "views"),
        Template(1, "w = <ROW>[<index>:]", "views"),
        Template(1, "v = <ROW>", "views"),
        Template(2, "v[<vindex>] = <number>", "views"),
        Template(1, "v[:] = <number>", "views"),
        Template(1, "v += 1", "views"),
        Template(1, "v *= v", "views"),
        Template(1, "v[<bounds>] = <number>", "views"),
        Template(1, "v[<bounds>] += 1", "views"),
        Template(1, "v[1:] = v[:-1]", "views"),
        # Stores
        Template(3, "<ROW>[<index>] = <number>"),
        Template(3, "<ROW>[<index>] += <number>"),
        Template(2, "<ROW:r>[<index:i>], <r>[<index:j>] = <r>[<j>], <r>[<i>]", "swaps"),
        Template(1, "<ROW>[<index>], <NUMBER> = <NUMBER>, <ROW>[<index>]", "swaps"),
        Template(2, "<ROW>[1:] = <ROW>[:-1]"),
        Template(1, "<ROW>[:-1] += <ROW>[1:]"),
        Template(1, "<ROW:r>[<ROW> > 2] = <number>", "masks"),
        Template(1, "<ROW:r>[<r> > <small>] += 1", "masks"),
        Template(2, "<ROW>[<bounds>] = <number>"),
        Template(1, "<ROW>[<bounds:u>] = <ROW>[<u>]"),
        Template(1, "<ROW>[<bounds:u>] *= <ROW>[<u>] + 1"),
        Template(1, "<ROW>[:3][<third>] = <number>", "views"),
        Template(2, "<ROW>[...] = <row>"),
        Template(1, "<ROW>[[0, <index>]] = <number>", "fancy"),
        Template(1, "<ROW>[np.array([1, <index>])] += 1", "fancy"),
        Template(1, "np.add.at(<ROW>, [0, <index>, 0], 1)", "fancy"),
        # Matrices
        Template(2, "<MATRIX>[<mindex>, <mindex>] = <number>", "matrices"),
        Template(1, "<MATRIX>[<mindex>, <mindex>] += 1", "matrices"),
        Template(2, "<MATRIX>[<mindex>] = <number>", "matrices"),
        Template(1, "<MATRIX>[:, <mindex>] += <number>", "matrices"),
        Template(1, "<MATRIX:r>[<mindex:i>], <r>[<mindex:j>] = <r>[<j>].copy(), <r>[<i>].copy()", "matrices"),
        Template(1, "<MATRIX>[<mindex>][<mindex>] = <number>", "matrices"),
        Template(1, "<MATRIX>[<bounds>] = <number>", "matrices"),
        Template(1, "<MATRIX>[<bounds>, <mindex>] = <number>", "matrices"),
        Template(2, "a = <MATRIX>[<mindex>]", "matrices"),
        Template(1, "a = <MATRIX>[:, <mindex>]", "matrices"),
        Template(1, "a = <MATRIX>.ravel()", "matrices"),
        Template(1, "a = <MATRIX>.reshape(-1)", "matrices"),
        Template(1, "a[<mindex>] = <number>", "matrices"),
        Template(1, "a += 1", "matrices"),
        Template(1, "a = m.diagonal()", "matrices"),
        Template(1, "b = <matrix>", "matrices"),
        Template(1, "b = m.T", "matrices"),
        Template(1, "m, b = b, m", "matrices"),
        Template(1, "m = <matrix>", "matrices"),
        Template(1, "<MATRIX> += <MATRIX>[0, 0]", "matrices"),
        Template(1, "<ROW>[:2] = <MATRIX>[0, :2]", "matrices"),
        # Containers, objects, closures
        Template(2, "pair[<bit>] = <number>", "containers"),
        Template(1, "pair[0], pair[1] = pair[1], pair[0]", "containers"),
        Template(1, "pair[<bit>] += 1", "containers"),
        Template(2, "record['v'] = <number>", "containers"),
        Template(1, "record['v'] += 1", "containers"),
        Template(1, "record['x'] = <ROW>", "containers"),
        Template(1, "record['x'][<index>] = <number>", "containers"),
        Template(1, "record['k<bit>'] = <number>", "containers"),
        Template(2, "found.append(<number>)", "grows"),
        Template(1, "found.append(<small>)", "grows"),
        Template(1, "found = found + [<number>]", "grows"),
        Template(1, "found = [<number>]", "containers"),
        Template(1, "s, t = pair", "containers"),
        Template(2, "box.s = <number>", "objects"),
        Template(1, "box.s += 1", "objects"),
        Template(1, "box.x = <ROW>", "objects"),
        Template(1, "box.x[<index>] += 1", "objects"),
        Template(1, "box.bump(<number>)", "objects"),
        Template(2, "add(<number>)", "closures"),
        Template(1, "s = scaled(<number>)", "closures"),
        Template(1, "z = put(<ROW>, <index>)", "closures"),
        Template(1, "put(v, <vindex>)", "closures"),
        Template(1, "s = (lambda q: q + t)(<number>)", "closures"),
        # Comprehensions, sizes, ints
        Template(1, "found = [q * 2 for q in <ROW>]", "comprehensions"),
        Template(1, "s = sum([<ROW>[q] for q in range(<count>)])", "comprehensions"),
        Template(1, "z = np.array([q + <number> for q in <ROW>])", "comprehensions"),
        Template(1, "record = {q: <ROW>[q] for q in range(2)}", "comprehensions"),
        Template(1, "s = sum(q for q in <ROW> if q > 1)", "comprehensions"),
        Template(1, "w = <ROW:r>[<r> > <number>]", "sizes"),
        Template(1, "w = <ROW>[:<count>]", "sizes"),
        Template(1, "w = np.arange(<count>) * 1.0", "sizes"),
        Template(1, "w = np.unique(<ROW>)", "sizes"),
        Template(1, "k = len(w)", "sizes"),
        Template(1, "h = g + <small>", "ints"),
        Template(1, "h = g * <small>", "ints"),
        Template(1, "h = g // <small>", "ints"),
        Template(1, "h = -g", "ints"),
        Template(1, "h = h % 7", "ints"),
        Template(1, "h = 1 << k", "ints"),
        Template(1, "k = int(<number>) % 5", "ints"),
        Template(1, "assert <condition>", "asserts"),
        # Functions with arrays: of modules, with defaults, that give variables of others values, partial, bound
        Template(1, "<ROW> = bumped(<ROW>)", "helpers"),
        Template(1, "<ROW> = halved(<ROW>, <count>)", "helpers"),
        Template(1, "bumped(v)", "helpers"),
        Template(1, "w = halved(v, 2)", "helpers"),
        Template(1, "chosen(<ROW>, <ROW>, <condition>)[<index>] = <number>", "helpers"),
        Template(1, "z = chosen(<ROW>, <ROW>, <condition>)", "helpers"),
        Template(1, "x, y = swapped(<ROW>, <ROW>)", "helpers"),
        Template(1, "s = total(<ROW>, <number>)", "helpers"),
        Template(1, "z = others(<ROW>, <ROW>, <ROW>, scale=<small>)", "helpers"),
        Template(1, "a = bumped(<MATRIX>)[<mindex>]", "helpers"),
        Template(2, "kept(<number>)", "defaults"),
        Template(1, "k = kept(<number>)", "defaults"),
        Template(1, "kept(<number>, <ROW>)", "defaults"),
        Template(2, "turn()", "givers"),
        Template(1, "z = turn()", "givers"),
        Template(1, "turn()[<index>] = <number>", "givers"),
        Template(1, "y += renewed(<number>)", "givers"),
        Template(1, "x = y + renewed(<small>) * y", "givers"),
        Template(1, "y[<index>] = renewed(1)[<index>]", "givers"),
        Template(1, "s = y[<index>] + renewed(1)[<index>] - y[<index>]", "givers"),
        Template(1, "y[<index>], y = turn()[<index>], renewed(1)", "givers"),
        Template(1, "held(<index>)", "partials"),
        Template(1, "held = partial(put, <ROW>)", "partials"),
        Template(1, "z = held(at=<index>)", "partials"),
        Template(1, "bump(<number>)", "partials"),
        Template(1, "s = later(<number>)", "late"),
        Template(1, "def later(q):\n    return q * t + <ROW>[<index>]", "late"),
        Template(1, "later = lambda q: q - s", "late"),
        Template(1, "s = [lambda q: q + at for at in range(3)][<bit>](<number>)", "late"),
        # Objects with slots, properties, operators; containers of arrays
        Template(2, "slot.s = <number>", "slots"),
        Template(1, "slot.s += 1", "slots"),
        Template(1, "slot.x = <ROW>", "slots"),
        Template(1, "slot.x[<index>] += 1", "slots"),
        Template(1, "slot.x += 1", "slots"),
        Template(1, "slot.x, x = x, slot.x", "slots"),
        Template(1, "slot = Slot(<ROW>, <number>)", "slots"),
        Template(1, "bag.first = <number>", "bags"),
        Template(1, "bag[<index>] += 1", "bags"),
        Template(1, "bag += <number>", "bags"),
        Template(1, "other = bag", "bags"),
        Template(1, "bag, other = other, bag", "bags"),
        Template(1, "bag = Bag(<ROW>)", "bags"),
        Template(1, "s = bag(<number>)", "bags"),
        Template(1, "bag.x[<index>], other.x = <number>, bag.x", "bags"),
        Template(1, "rows[<bit>] = <ROW>", "rows"),
        Template(1, "rows[<bit>][<index>] = <number>", "rows"),
        Template(1, "rows[<bit>] += 1", "rows"),
        Template(1, "rows[0], rows[1] = rows[1], rows[0]", "rows"),
        Template(1, "for <new:r> in rows:\n    <r>[0] += 1\n    <block>", "rows"),
        Template(1, "for <new:i>, <new:r> in enumerate(rows):\n    rows[<i>] = <r> + <number>", "rows"),
        Template(1, "rows = [q + <number> for q in rows]", "rows"),
        Template(1, "rows.reverse()", "rows"),
        Template(1, "rows = rows[::-1]", "rows"),
        Template(1, "z = rows[<bit>]", "rows"),
        Template(1, "x, y = rows[:2]", "rows"),
        Template(1, "rows.append(<ROW>); rows.pop(0)", "rows"),
        Template(1, "z = rows.pop()\nrows.insert(1, <ROW>)", "rows"),
        Template(1, "table['<letter>'] = <ROW>", "tables"),
        Template(1, "table['<letter>'][<index>] = <number>", "tables"),
        Template(1, "table['<letter>'] += 1", "tables"),
        Template(1, "table['a'], table['b'] = table['b'], table['a']", "tables"),
        Template(1, "for <new:r> in table.values():\n    <r>[0] += 1\n    <block>", "tables"),
        Template(1, "for _, <new:r> in table.items():\n    <r> *= 2\n    <block>", "tables"),
        Template(1, "table.update(b=<ROW>)", "tables"),
        Template(1, "table = {**table, 'a': <ROW>}", "tables"),
        Template(1, "table = {key: q * 2 for key, q in table.items()}", "tables"),
        Template(1, "z = table.get('<letter>', x)", "tables"),
        # Iterators, what has several names, results that go into arrays
        Template(1, "it = iter(<ROW>)", "iterators"),
        Template(1, "s = next(it, t)", "iterators"),
        Template(1, "for <new:i> in it:\n    s += <i>\n    <block>", "iterators"),
        Template(2, "for <new:i> in reversed(<ROW>):\n    s += <i>\n    <block>", "iterators"),
        Template(2, "for <new:i>, (<new:j>, <new:r>) in enumerate(zip(<ROW>, <MATRIX>)):\n"
                    "    <r>[0] += <j>\n    <block:i>", "iterators"),
        Template(1, "s, *pair = *pair, <number>", "unpacks"),
        Template(1, "*pair, t = <number>, *pair", "unpacks"),
        Template(1, "s, t = <ROW>[:2]", "unpacks"),
        Template(1, "(s, t), k = (<number>, <number>), <small>", "unpacks"),
        Template(1, "<ROW>[<index>], y = <number>, <ROW>", "unpacks"),
        Template(1, "a, <MATRIX>[0, 0] = <MATRIX>[<mindex>], <number>", "unpacks"),
        Template(1, "k, <ROW>[k] = <index>, <number>", "unpacks"),
        Template(1, "x, y[<index>] = y, x[<index>]", "unpacks"),
        Template(1, "if (s := <number>) > t:\n    <block>", "walruses"),
        Template(1, "z = (y := <row>) + y", "walruses"),
        Template(1, "found = [(t := q) for q in <ROW>]", "walruses"),
        Template(1, "x[(k := <bit>)] = y[k]", "walruses"),
        Template(1, "np.add(<ROW>, <ROW>, out=<ROW>)", "outs"),
        Template(1, "z = np.multiply(<ROW>, <small>, out=<ROW>)", "outs"),
        Template(1, "np.add(<ROW:r>[:-1], <r>[1:], out=<r>[1:])", "outs"),
        Template(1, "np.cumsum(<ROW>, out=<ROW>)", "outs"),
        Template(1, "np.copyto(<ROW>, <ROW>)", "outs"),
        Template(1, "np.copyto(<ROW:r>, <number>, where=<r> > <number>)", "outs"),
        Template(1, "<ROW>.fill(<number>)", "outs"),
        Template(1, "<ROW>.sort()", "outs"),
        Template(1, "np.put(<ROW>, [0, <index>], <number>)", "outs"),
        Template(1, "np.putmask(<ROW:r>, <r> > <number>, <ROW>)", "outs"),
        Template(1, "np.fill_diagonal(<MATRIX>, <number>)", "outs"),
        Template(1, "np.maximum(<ROW>, <number>, out=<ROW>)", "outs"),
        Template(1, "<MATRIX>.flat[<mindex>] = <number>", "flat"),
        Template(1, "<MATRIX>.flat = <number>", "flat"),
        Template(1, "<ROW>.flat[<bounds>] = <number>", "flat"),
        Template(1, "for <new:i> in <MATRIX>.flat:\n    s += <i>\n    <block>", "flat"),
        Template(1, "GLOBAL[<third>] = <number>", "captured"),
        Template(1, "GLOBAL[<third>] += 1", "captured"),
        # Items by ints that may be known only at run time
        Template(1, "z = shelf[<place>]", "lookups"),
        Template(1, "shelf[<place>][<index>] = <number>", "lookups"),
        Template(1, "s, k = GRID[<place>]", "lookups"),
        Template(1, "for <new:i> in WALK[<place>]:\n    s += <i>\n    <block>", "lookups"),
        Template(1, "for <new:i> in range(len(<ROW>)):\n    s += LEVELS[<i> % 3] * STEPS[-1 - <i> % 4]\n    <block:i>",
                 "lookups"),
        # Branches and loops
        Template(5, "if <condition>:\n    <block>"),
        Template(4, "if <condition>:\n    <block>\nelse:\n    <block>"),
        Template(1, "if <condition>:\n    <block>\nelif <condition>:\n    <block>\nelse:\n    <block>"),
        Template(1, f"if <condition>:\n    {RESULT}", "returns"),
        Template(1, f"if <condition>:\n    <block>\n    {RESULT}", "returns"),
        Template(6, "for <new:i> in range(<count>):\n    <block:i>"),
        Template(2, "for <new:i> in range(1, <count>):\n    <block:i>"),
        Template(1, "for <new:i> in range(<count>, 0, -1):\n    <block:i>"),
        Template(1, "for <new:i> in range(<count>):\n    <block:i>\n"
                    "    if <condition>: <jump>\n    <block:i>", "jumps"),
        Template(1, "for <new:i> in range(<count>):\n    if <condition>: <jump>\n"
                    "    <block:i>\nelse:\n    <block>", "jumps"),
        Template(1, "for <new:i> in <ROW>:\n    s += <i>\n    <block>", "iterates"),
        Template(1, "for <new:i>, <new:j> in enumerate(<ROW>):\n    s += <j>\n    <block:i>", "iterates"),
        Template(1, "for <new:i>, <new:j> in zip(<ROW>, <ROW>):\n    s += <i> * <j>\n    <block>", "iterates"),
        Template(1, "for <new:r> in <MATRIX>:\n    <r>[0] += 1\n    <block>", "iterates"),
        Template(1, "for <new:i> in [0, 2]:\n    <block:i>", "iterates"),
        Template(2, "<new:i> = 0\nwhile <i> < <count> and <condition>:\n    <i> += 1\n    <block:i>", "whiles"),
        Template(1, "<new:i> = 0\nwhile <i> < <count>:\n    <i> += 1\n    <block:i>", "whiles"),
        Template(1, "<new:i> = 0\nwhile True:\n"
                    "    <block:i>\n    <i> += 1\n    if <i> > 3 or <condition>: break", "whiles"),
        Template(1, "for <new:i> in range(<count>):\n    pass\nk = <i>", "leftovers"),
        Template(1, "s = <left>", "leftovers"),
        # What users write: classic loops
        Template(1, "for <new:i> in range(len(<ROW:r>)):\n    for <new:j> in range(len(<r>) - 1):\n"
                    "        if <r>[<j>] > <r>[<j> + 1]: <r>[<j>], <r>[<j> + 1] = <r>[<j> + 1], <r>[<j>]", "recipes"),
        Template(1, "for <new:i> in range(1, len(<ROW:r>)):\n"
                    "    <r>[<i>] = 0.5 * (<r>[<i>] + <r>[<i> - 1])", "recipes"),
        Template(1, "for <new:i> in range(1, len(<ROW:r>)):\n    s = <r>[<i>]\n    k = <i> - 1\n"
                    "    while k >= 0 and <r>[k] > s:\n        <r>[k + 1] = <r>[k]\n        k -= 1\n"
                    "    <r>[k + 1] = s", "recipes"),
        Template(1, "k = 0\nfor <new:i> in range(len(<ROW:r>)):\n    if <r>[<i>] > <r>[k]: k = <i>", "recipes"),
        Template(1, "for <new:i> in range(<count>):\n    z[1:-1] = (x[:-2] + x[2:]) * 0.5\n    x, z = z, x", "recipes"),
        Template(1, "k, <new:i> = 0, len(<ROW:r>) - 1\nwhile k < <i>:\n    <r>[k], <r>[<i>] = <r>[<i>], <r>[k]\n"
                    "    k += 1\n    <i> -= 1", "recipes"),
        Template(1, "for <new:i> in range(m.shape[0]):\n    for <new:j> in range(m.shape[1]):\n"
                    "        if m[<i>, <j>] > <number>: m[<i>, <j>] -= 1", "recipes"),
        Template(1, "s = 0.0\nfor <new:i> in range(len(<ROW:r>)):\n    s += <r>[<i>]\n    <r>[<i>] = s", "recipes"),
        Template(1, "for <new:i> in range(len(<ROW:r>)):\n    if <r>[<i>] < 1: continue\n    s = <r>[<i>]\n"
                    "    if s > 3: break", "recipes"),
    ),
    "place": (
        Template(3, "<counter> % 3"),
        Template(2, "k % 3"),
        Template(2, "int(<ROW>[0]) % 3"),
        Template(1, "<ROW>.argmax() % 3"),
        Template(1, "n % 3"),
        Template(1, "-1 - k % 3"),
        Template(1, "<index>"),
    ),
    "jump": (Template(1, "break"), Template(1, "continue")),
    "number": (
        Template(3, "<NUMBER>"),
        Template(1, "1.0"),
        Template(1, "2.0"),
        Template(1, "c"),
        Template(4, "<ROW>[<index>]"),
        Template(1, "v[<vindex>]", "views"),
        Template(1, "<ROW>.sum()"),
        Template(1, "<ROW>.max()"),
        Template(1, "v.sum()", "views"),
        Template(1, "w.sum()", "sizes"),
        Template(1, "a.sum()", "matrices"),
        Template(2, "<MATRIX>[<mindex>, <mindex>]", "matrices"),
        Template(1, "<MATRIX>.sum()", "matrices"),
        Template(1, "<ROW>[<bounds>].sum()"),
        Template(1, "abs(<number>)"),
        Template(1, "(<number> - <number>)"),
        Template(1, "(<number> + <small>)"),
        Template(1, "min(<number>, 8.0)"),
        Template(1, "max(<number>, <number>)"),
        Template(1, "(<number> if <condition> else t)"),
        Template(1, "(<number> and <number>)", "circuits"),
        Template(1, "(<number> or 3.0)", "circuits"),
        Template(1, "pair[<bit>]", "containers"),
        Template(1, "record['v']", "containers"),
        Template(1, "len(found)", "grows"),
        Template(1, "found[-1]", "grows"),
        Template(1, "box.s", "objects"),
        Template(1, "box.x[<index>]", "objects"),
        Template(1, "GLOBAL[<third>]", "captured"),
        Template(1, "box.scale(<number>)", "objects"),
        Template(1, "float(<small>)"),
        Template(1, "np.float64(<number>)", "types"),
        Template(1, "<ROW>.size / 2", "sizes"),
        Template(1, "(1 if isinstance(<number>, float) else 2)", "types"),
        Template(1, "<ROW>.mean()"),
        Template(1, "sum(pair)", "containers"),
        Template(1, "total(<ROW>)", "helpers"),
        Template(1, "bumped(<ROW>)[<index>]", "helpers"),
        Template(1, "renewed(<small>)[<index>]", "givers"),
        Template(1, "kept(1.0, <ROW>)", "defaults"),
        Template(1, "later(<number>)", "late"),
        Template(1, "slot.s", "slots"),
        Template(1, "slot.x[<index>]", "slots"),
        Template(1, "bag.first", "bags"),
        Template(1, "bag[<index>]", "bags"),
        Template(1, "len(bag)", "bags"),
        Template(1, "rows[<bit>][<index>]", "rows"),
        Template(1, "sum(q[0] for q in rows)", "rows"),
        Template(1, "table['<letter>'][<index>]", "tables"),
        Template(1, "<MATRIX>.flat[<mindex>]", "flat"),
        Template(1, "(s := <number>)", "walruses"),
        Template(1, "LEVELS[<place>]", "lookups"),
        Template(1, "GRADES[<place>]", "lookups"),
        Template(1, "WALK[<place>][-1]", "lookups"),
        Template(1, "GRID[<place>][<bit>]", "lookups"),
        Template(1, "COSTS.get(<place>, 2.0)", "lookups"),
        Template(1, "COSTS[<place>]", "lookups"),
        Template(1, "shelf[<place>][<index>]", "lookups"),
    ),
    "small": (
        Template(2, "k"),
        Template(2, "n"),
        Template(1, "1"),
        Template(1, "2"),
        Template(1, "len(x)"),
        Template(1, "k + 1"),
        Template(1, "n - k"),
        Template(1, "x.shape[0] // 2"),
        Template(1, "<ROW>.argmax()"),
        Template(1, "len(v)", "views"),
        Template(4, "<counter>"),
        Template(1, "int(flag)"),
        Template(1, "STEPS[<place>]", "lookups"),
    ),
    "index": (
        Template(2, "0"),
        Template(1, "1"),
        Template(1, "-1"),
        Template(1, "3"),
        Template(1, "k % 6"),
        Template(1, "n % 6"),
        Template(1, "len(x) - 1"),
        Template(2, "<counter> % 6"),
        Template(3, "<counter>"),
        Template(1, "<ROW>.argmin()"),
    ),
    "vindex": (Template(2, "0"), Template(1, "-1"), Template(1, "<counter> % 2"), Template(1, "k % 2")),
    "mindex": (
        Template(2, "0"),
        Template(1, "1"),
        Template(1, "-1"),
        Template(1, "k % 3"),
        Template(2, "<counter> % 3"),
        Template(1, "<counter>"),
    ),
    "third": (Template(1, "0"), Template(1, "1"), Template(1, "2")),
    "bit": (Template(1, "0"), Template(1, "1")),
    "letter": (Template(1, "a"), Template(1, "b")),
    "sign": (Template(1, "1"), Template(1, "-1")),
    "count": (
        Template(2, "3"),
        Template(2, "len(x)"),
        Template(2, "n"),
        Template(1, "10"),
        Template(1, "k % 5"),
        Template(1, "len(v)", "views"),
        Template(1, "int(<ROW>[0]) % 4", "sizes"),
        Template(1, "<counter>"),
        Template(1, "m.shape[0]", "matrices"),
    ),
    "bounds": (
        Template(1, ":"),
        Template(1, "1:"),
        Template(1, ":-1"),
        Template(1, "::2"),
        Template(1, "1::2"),
        Template(1, "::-1"),
        Template(1, "k:"),
        Template(1, ":n"),
        Template(1, "1:4"),
        Template(2, "<counter> - 1:<counter> + 2"),
        Template(1, "<counter>:"),
        Template(1, "max(0, <counter> - 1):<counter> + 1"),
    ),
    "row": (
        Template(3, "<ROW>"),
        Template(2, "<ROW> + <ROW>"),
        Template(1, "<ROW> * 0.5"),
        Template(2, "<ROW> - <number>"),
        Template(1, "np.minimum(<ROW>, 8.0)"),
        Template(2, "<ROW>.copy()"),
        Template(1, "<ROW>[::-1]", "views"),
        Template(1, "<ROW:r>[::1]", "views"),
        Template(1, "np.where(<ROW> > <number>, <ROW>, <ROW>)"),
        Template(1, "(<ROW> if <condition> else <ROW>)"),
        Template(1, "abs(<ROW>)"),
        Template(1, "np.roll(<ROW>, 1)"),
        Template(1, "np.asarray(<ROW>)", "views"),
        Template(1, "<ROW>.reshape(2, 3).T.ravel()", "views"),
        Template(1, "np.sort(<ROW>)"),
        Template(1, "np.cumsum(<ROW>)"),
        Template(1, "np.zeros_like(<ROW>)"),
        Template(1, "<ROW>.astype(float)", "types"),
        Template(1, "np.concatenate([<ROW:r>[1:], <r>[:1]])"),
        Template(1, "(<ROW> or <ROW>)", "circuits"),
        Template(1, "x + GLOBAL.sum()", "captured"),
    ),
    "matrix": (
        Template(2, "m"),
        Template(1, "m.T"),
        Template(1, "m.copy()"),
        Template(1, "m + m[0]"),
        Template(1, "m * 0.5"),
        Template(1, "m[::-1]"),
        Template(1, "(m if <condition> else b)"),
        Template(1, "m[:, ::-1]"),
        Template(1, "np.outer(a, a)"),
    ),
    "condition": (
        Template(3, "<number> > <number>"),
        Template(1, "<small> % 2 == 0"),
        Template(1, "flag"),
        Template(1, "p"),
        Template(1, "<small> > 2"),
        Template(1, "<number> <= 1.0"),
        Template(1, "0 <= <number> < 4"),
        Template(1, "not <small> > 1"),
        Template(1, "k < len(x) and <ROW>[k] > 1", "circuits"),
        Template(1, "<condition> and <condition>", "circuits"),
        Template(1, "<condition> or <condition>", "circuits"),
        Template(1, "not (<condition>)", "circuits"),
        Template(1, "<ROW>.any()"),
        Template(1, "(<ROW> > 1).all()"),
        Template(1, "<small>"),
        Template(1, "<ROW> is <ROW>", "types"),
        Template(1, "isinstance(<ROW>, np.ndarray)", "types"),
        Template(1, "found", "grows"),
        Template(1, "<number>"),
    ),
}  # fmt: skip

#: By kind, what stands where texts are deep enough.
LEAVES = {
    "number": ("s", "t", "1.0", "c"),
    "small": ("k", "n", "1"),
    "condition": ("flag", "p", "s > 1.0", "k > 1"),
    "row": ("x", "y", "z"),
    "matrix": ("m",),
}
