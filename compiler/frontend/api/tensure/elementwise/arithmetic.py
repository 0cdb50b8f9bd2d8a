"""Elementwise arithmetic and comparisons: each op as a function that copies and, with ``_``, one that mutates.

The source is the Tensure document, *Arithmetic* and *Comparison*.
"""

from __future__ import annotations

from ..creation import array
from .makers import comparison, unary, variadic

__all__ = [
    "abs", "abs_", "acos", "acos_", "add", "add_", "asin", "asin_", "atan", "atan_", "cos", "cos_", "cosh", "cosh_",
    "div", "div_", "eq", "eq_", "ge", "ge_", "gt", "gt_", "le", "le_", "log", "log10", "log10_", "log_", "lt", "lt_",
    "max", "max_", "min", "min_", "mul", "mul_", "ne", "ne_", "negate", "negate_", "pow", "pow_", "sin", "sin_", "sinh",
    "sinh_", "sqrt", "sqrt_", "sub", "sub_", "tan", "tan_", "tanh", "tanh_",
]  # fmt: skip

add, add_ = variadic("add", "add", "The sum", none=lambda: array(0))
sub, sub_ = variadic("sub", "sub", "The first operand less the others", none=lambda: array(0), one="negate")
mul, mul_ = variadic("mul", "mul", "The product", none=lambda: array(1))
div, div_ = variadic("div", "div", "The first operand divided by the others", one="reciprocal")
pow, pow_ = variadic(
    "pow", "pow", "The first operand to the power of the second, that to the power of the third, …", scalars=True
)
max, max_ = variadic("max", "cwise_max_propagate", "The largest, NaN where there is one", scalars=True)
min, min_ = variadic("min", "cwise_min_propagate", "The smallest, NaN where there is one", scalars=True)

negate, negate_ = unary("negate", "negate", "The negative")
abs, abs_ = unary("abs", "abs", "The magnitude")
log, log_ = unary("log", "log", "The natural logarithm")
log10, log10_ = unary("log10", "log10", "The logarithm to the base 10")
sqrt, sqrt_ = unary("sqrt", "sqrt", "The square root")
cos, cos_ = unary("cos", "cos", "The cosine")
sin, sin_ = unary("sin", "sin", "The sine")
tan, tan_ = unary("tan", "tan", "The tangent")
acos, acos_ = unary("acos", "acos", "The arccosine")
asin, asin_ = unary("asin", "asin", "The arcsine")
atan, atan_ = unary("atan", "atan", "The arctangent")
cosh, cosh_ = unary("cosh", "cosh", "The hyperbolic cosine")
sinh, sinh_ = unary("sinh", "sinh", "The hyperbolic sine")
tanh, tanh_ = unary("tanh", "tanh", "The hyperbolic tangent")

eq, eq_ = comparison("eq", "equal", "a equals b")
ne, ne_ = comparison("ne", "not_equal", "a does not equal b")
gt, gt_ = comparison("gt", "greater", "a is greater than b")
lt, lt_ = comparison("lt", "less", "a is less than b")
le, le_ = comparison("le", "less_equal", "a is less than b or equal")
ge, ge_ = comparison("ge", "greater_equal", "a is greater than b or equal")
