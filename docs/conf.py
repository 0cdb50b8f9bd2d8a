"""How Sphinx builds the site: ``sphinx-build -W docs site``.  Nothing is fetched, neither here nor by the pages."""

from typing import Any

from pygments.lexer import RegexLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

project = "txc"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "txc"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_copyright = False
html_copy_source = False
#: `#heading` works in links as it does on GitHub.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]


class MlirLexer(RegexLexer):
    """Text of the IR: names of values, ops, attributes, types."""

    name = "MLIR"
    aliases = ("mlir",)
    tokens = {  # noqa: RUF012  (Pygments reads a class attribute)
        "root": [
            (r"//.*", Comment),
            (r'"[^"]*"', String),
            (r"[%@^#][\w$.-]+", Name.Variable),
            (r"![\w.]+", Keyword.Type),
            (r"\b(?:[fi]\d+|u\d+|bf16|c64|c128|index|tensor|memref|vector|bool)\b", Keyword.Type),
            (r"\b\w+\.[\w.]+", Name.Function),
            (r"-?\b\d[\w.]*", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"->|[-+*/=<>:]", Operator),
            (r"[\s\S]", Text),
        ]
    }


class TxLexer(PythonLexer):
    """`.tx` has Python's syntax."""

    name = "tx"
    aliases = ("tx",)
    filenames = ("*.tx",)


def setup(app: Any) -> None:
    """Give Sphinx the two languages that Pygments does not have."""
    app.add_lexer("mlir", MlirLexer)
    app.add_lexer("tx", TxLexer)
