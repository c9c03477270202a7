"""Install what ``make dist`` builds and use it outside of the clone: python -m tests.installed ARCHIVE …

Every archive is installed into an environment of its own, which sees the libraries of this one, and the command
``seq2seq`` is used in an empty folder with a blank in its path.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.conftest import TINY


def try_archive(archive: Path, folder: Path) -> None:
    """Install an archive and run the commands; raises AssertionError for one that fails."""
    environment, here = folder / "environment", folder / "an empty folder"
    here.mkdir()
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    (site,) = environment.glob("lib/python*/site-packages")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    own = str(Path(__file__).parents[1])
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(archive)], check=True)
    (site / "libraries.pth").write_text("\n".join(libraries))
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables["PATH"] = f"{python.parent}:{os.environ['PATH']}"

    def do(line: str, *arguments: str, status: int = 0) -> str:
        print(f"$ {line}", flush=True)
        done = subprocess.run(
            [*line.split(), *arguments], cwd=here, env=variables, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == status, f"{line}: status {done.returncode}\n{done.stdout}"
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout

    where = do("python -c", "import seq2seq, tensorboard_attention as t; print(seq2seq.__file__, t.__file__)")
    assert own not in where, where
    assert str(environment) in where, where
    assert "translate" in do("seq2seq --help")
    do("seq2seq --version")
    assert "did you mean seed?" in do("seq2seq train seeed=1", status=2)
    assert "attention: additive" in do("seq2seq train --help")

    (here / "one.txt").write_text("The red cat sees it.\n")
    assert do("seq2seq translate grammar-en-fr --input one.txt") == "Le chat rouge le voit.\n"
    do("seq2seq show grammar-en-fr", "The red cat sees it.")
    do("seq2seq demo")
    for name in ("attention.html", "demo.html", "demo.png"):
        assert (here / name).exists(), name
    typed = "from pathlib import Path; import seq2seq; print((Path(seq2seq.__file__).parent / 'py.typed').exists())"
    assert do("python -c", typed) == "True\n"

    tiny = [*TINY, "device=cpu"]
    said = do("seq2seq train", *tiny)
    run = "runs/baseline/debug_fast"
    assert f"seq2seq translate {run}" in said, said
    (here / "sentences.txt").write_text("I see it.\nThe cat sleeps.\n")
    do(f"seq2seq translate {run} --input sentences.txt --output out.txt")
    assert (here / "out.txt").read_text().count("\n") == 2
    assert "BLEU" in do(
        f"seq2seq evaluate {run} --source sentences.txt --reference sentences.txt --beam-size 2"
    )
    do(f"seq2seq align {run} --source sentences.txt --target sentences.txt")
    do(f"seq2seq plot {run} -o picture.png --sentence", "I see it.")
    do(f"seq2seq probe {run} --sentences 3")
    do(f"seq2seq record-attention {run} --input sentences.txt --logdir {run} --beam-size 2")
    for kind, output in (("attention", "page.html"), ("page", "translating.html"), ("onnx", "onnx")):
        do(f"seq2seq export {kind} {run} -o {output}")
        assert (here / output).exists()
    do("seq2seq train -m", *tiny, "name=swept-${seed}", "seed=1,2")
    assert len(list((here / "runs/baseline").glob("swept-*/metrics.json"))) == 2
    loaded = do(
        "python -c", "from tensorboard_attention.plugin import AttentionLoader; print(AttentionLoader)"
    )
    assert "AttentionLoader" in loaded


def main() -> None:
    """Try each archive that is given."""
    for archive in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            try_archive(Path(archive).absolute(), Path(folder))
        print(f"{archive} works")


if __name__ == "__main__":
    main()
