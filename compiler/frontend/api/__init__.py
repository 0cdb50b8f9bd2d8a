"""Other libraries' interfaces: the Python array API, Tensure, TensorFlow's graphs."""
