"""Front ends: staged Python, lazy tensors and the .tx language, all building one expression graph."""
