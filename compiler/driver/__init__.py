"""From a call to the specialization that serves it: `jit`, `.tx` modules, what is compiled and when."""
