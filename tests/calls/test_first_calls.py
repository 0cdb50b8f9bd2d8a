"""Functions are called for the first time by many threads at once, in a process that has compiled nothing yet."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

EXPRESSIONS = (
    "x.max(1)", "np.exp(x).sum()", "x.T @ x", "np.where(x > 1, x, -x).mean(axis=0)", "x[x > 1].sum()",
    "np.sort(x, axis=0)", "x.cumsum(0)", "np.linalg.norm(x)",
)  # fmt: skip

PROGRAM = """
    import sys, threading
    import txc
    import functions, numpy as np

    sys.setswitchinterval(1e-6)
    x = np.arange(12.0).reshape(3, 4)
    plain = [f for name, f in vars(functions).items() if name.startswith("f")]
    jitted = [txc.jit(f) for f in plain]
    together = threading.Barrier(8)
    wrong = []

    def calls(first):
        together.wait()
        for i in range(len(plain)):
            n = (i * 3 + first) % len(plain)
            try:
                np.testing.assert_allclose(jitted[n](x), plain[n](x))
            except BaseException as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=calls, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong[:3]
"""


def test_eight_threads(tmp_path: Path):
    lines = [f"def f{i}(x):\n    return {text}\n\n" for i, text in enumerate(EXPRESSIONS)]
    (tmp_path / "functions.py").write_text("import numpy as np\n\n" + "".join(lines))
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
