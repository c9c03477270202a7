"""Break one place of the code at a time and see that a test fails: python -m tests.mutants [WORD …]

Each mutant is a file, a text that stands in it exactly once, and what is put in its place, in a copy of the clone.
The tests of the mutant's area run first, then those that start few programs, then all fast tests; with WORDs only mutants
whose lines contain one. Exit status 1: over `ALLOWED` mutants pass all tests. 2: a text is no longer there, or the tests
fail without any mutant.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = 2
WORKERS = 2
LONGEST = 900
"""Seconds of a run of tests, after which it counts as failed."""

EXACT = "../../packages/lightning-exact-resume/src/lightning_exact_resume"
RESUMES = ["packages/lightning-exact-resume/tests", "tests/training", "tests/reliability"]
AREAS = {
    f"{EXACT}/resume.py": RESUMES,
    f"{EXACT}/checkpoint.py": RESUMES,
    "../../packages/judged-seeds": ["tests/evaluation/test_significance.py"],
    f"{EXACT}/groups.py": ["packages/lightning-exact-resume/tests/test_rates.py"],
    f"{EXACT}/schedules.py": [
        "packages/lightning-exact-resume/tests/test_rates.py",
        "tests/training/test_schedules.py",
    ],
    "training/resume.py": ["tests/training/test_continuations.py", "tests/reliability"],
    "training/process.py": ["tests/reliability"],
    "attention": ["tests/attention", "tests/oracles/test_attentions.py"],
    "models": ["tests/models", "tests/oracles/test_models.py", "tests/golden"],
    "decoding": ["tests/decoding", "tests/oracles/test_search.py", "tests/golden"],
    "training": ["tests/training"],
    "data": ["tests/data"],
    "..": ["packages/bitext/tests", "packages/joined-words/tests", "tests/data"],
    "evaluation": ["tests/evaluation"],
    "settings": ["tests/program"],
    "run": [
        "tests/training/test_kept.py",
        "tests/program/test_refusals.py",
        "tests/program/test_habits.py",
        "tests/reliability",
        "tests/program",
    ],
}
"""File or folder of src/seq2seq -> the tests that guard it most closely."""
QUICK = [
    f"tests/{each}"
    for each in ("attention", "models", "oracles", "golden", "decoding", "data", "evaluation", "export")
]
"""Folders of tests that start few programs."""

MUTANTS = {
    "attention/masking.py": [
        ("return positions < valid_lengths", "return positions <= valid_lengths"),
        ("masked_fill(~mask.expand_as(scores), -torch.inf)", "masked_fill(~mask.expand_as(scores), -1e4)"),
        ("    scores = at_least_float32(scores)\n", ""),
        ("weights.masked_fill(is_padding, 0.0)  #", "weights  #"),
    ],
    "attention/sparsemax.py": [
        ("excess = ordered.cumsum(dim=-1) - 1", "excess = ordered.cumsum(dim=-1) - 0.9"),
    ],
    "attention/other_scores.py": [
        ("(queries / math.sqrt(queries.shape[-1]))", "(queries / queries.shape[-1])"),
        ("center = queries.detach()", "center = 0 * queries.detach()"),
    ],
    "attention/attention.py": [
        ("(at_least_float32(hidden) * self.score_weight)", "(hidden * self.score_weight.to(hidden.dtype))"),
        ("torch.tanh(self.query_projection(queries)", "torch.sigmoid(self.query_projection(queries)"),
    ],
    "attention/other_kinds.py": [
        ("history.step + 1, weights, history.total + weights", "history.step + 1, weights, weights"),
        ("coverage = history.total / projected", "coverage = history.total * projected"),
        ("history.step.unsqueeze(-1), length - 1)", "history.step.unsqueeze(-1), length)"),
        ("(distance.abs() <= self.window)", "(distance.abs() < self.window)"),
        ("energies + torch.randn_like(energies), history", "energies, history"),
        ("(history.latest.cumsum(dim=-1) > 0)", "(history.latest > 0)"),
        ("before = passed.cumsum(dim=-1) - passed", "before = passed.cumsum(dim=-1)"),
    ],
    "models/transformer.py": [
        ("self.project(embedded) * math.sqrt(self.output_size)", "self.project(embedded)"),
        ("torch.stack([angles.sin(), angles.cos()]", "torch.stack([angles.cos(), angles.sin()]"),
        ("states.sum(dim=1) / lengths.unsqueeze(1)", "states.mean(dim=1)"),
    ],
    "models/transformer_decoder.py": [
        ("scores = (query / math.sqrt(query.shape[-1]))", "scores = query"),
        ("contexts = self.dropout(weights.to(values.dtype)) @ values", "contexts = weights.to(values.dtype) @ values"),
        ("normed = self.norms[0](x)", "normed = x"),
        ("keys_values = torch.cat([earlier.to(now.dtype), now], dim=1)", "keys_values = now"),
        ("hidden = self.dropout(torch.relu(", "hidden = self.dropout(torch.tanh("),
        ("dtype=torch.bool, device=target_input.device).tril()", "dtype=torch.bool, device=target_input.device)"),
        ("math.sqrt(size) if tie_output else 1.0", "math.sqrt(size)"),
        ("weights.transpose(1, 2).unflatten(1, (-1, x.shape[1]))", "weights.transpose(1, 2).flip(2).unflatten(1, (-1, x.shape[1]))"),
        ("return self.norm(x), tuple(new)", "return x, tuple(new)"),
        ("positions(start, start + tokens.shape[1], embedded)", "positions(0, tokens.shape[1], embedded)"),
        ("~length_mask(target_lengths, length)", "length_mask(target_lengths, length)"),
        ("self.heads, self.weighs_source = heads, weighs_source", "self.heads, self.weighs_source = heads, True"),
        ("self.attention_layers = num_layers", "self.attention_layers = 1"),
    ],
    "models/layers.py": [
        ("torch.tanh(self.projection(summary))", "self.projection(summary)"),
        ("self.dropout(cell.output(new_states[-1]))", "self.dropout(cell.output(states[0]))"),
    ],
    "models/decoder.py": [
        ("nn.Dropout(default if rate is None else rate)", "nn.Dropout(default)"),
    ],
    "models/lstm.py": [
        ("torch.sigmoid(forget_gate) * cell +", "torch.sigmoid(forget_gate + 1) * cell +"),
    ],
    "models/bahdanau.py": [
        ("query = self.stack.top(states)  # s_{t-1}", "query = self.stack.top(states[:1])"),
        ("gates = gates + self.context_gates(context)", "gates = gates + 0 * self.context_gates(context)"),
    ],
    "models/conditional.py": [
        ("query = self.token_cell.output(first)  # s'_t", "query = self.stack.top(state[: len(self.stack)])"),
    ],
    "models/limits.py": [
        ("floor(PARTS * ratio + 0.5) * lengths.long() // PARTS", "(ratio * lengths.float()).long()"),
        ("-(-times * num_target // num_source)", "times * num_target // num_source"),
        ("+ int(self.max_extra)).clamp(min=1)", "+ int(self.max_extra))"),
        ("max_extra=max(10, tenths)", "max_extra=tenths"),
    ],
    "models/build.py": [
        ("std=embedding_size**-0.5", "std=1.0"),
    ],
    "models/seq2seq.py": [
        ("return self.output_dropout(outputs), torch.cat", "return outputs, torch.cat"),
        ("final_states.append(state.transpose(0, 1)", "final_states.append(state.flip(0).transpose(0, 1)"),
    ],
    "models/reversing.py": [
        ("states = states.gather(1, order.unsqueeze(2).expand_as(states))  #", "pass  #"),
    ],
    "decoding/greedy.py": [
        ("torch.stack(logs).logsumexp(dim=0) - math.log(len(logs))", "torch.stack(logs).mean(dim=0)"),
        ("self.max_lengths[self.sentences] <= self.length", "self.max_lengths[self.sentences] < self.length"),
    ],
    "decoding/translator.py": [
        ("sentences = [clean(sentence) for sentence in sentences]", "sentences = list(sentences)"),
        ("enumerate(sentences) if sentence]", "enumerate(sentences)]"),
    ],
    "decoding/search.py": [
        ("scores / ((5 + lengths) / 6) ** self.alpha", "scores / ((6 + lengths) / 6) ** self.alpha"),
        ("choices.index_put((present,), step.origins[rows, parents])", "choices.index_put((present,), parents)"),
        ("attainable = self._penalty.apply(scores, stepper.max_lengths[stepper.sentences].unsqueeze(1))", "attainable = ranks"),
        ("num_free = self._size - self._finished.counts[self._stepper.sentences]", "num_free = self._size + 0 * self._stepper.sentences"),
        ("grouped.amax(dim=-1).topk(count)", "grouped.mean(dim=-1).topk(count)"),
        ("(is_least.cumsum(dim=-1) > room)", "(is_least.cumsum(dim=-1) >= room)"),
    ],
    "training/objectives/guided_alignment.py": [
        ("cells += [(row, at, 1 / len(linked))", "cells += [(row, at, 1.0)"),
    ],
    "training/losses.py": [
        ("p.sub_(eps / p.shape[1])", "p.sub_(eps)"),
        ("parameter.grad.mul_(self.sums[3] / total[3])", "pass"),
        ("(trainer.accumulate_grad_batches * trainer.world_size)", "trainer.accumulate_grad_batches"),
        ('reduce_op="sum")', 'reduce_op="mean")'),
    ],
    "training/training_sums.py": [
        ("self._logged += step", "self._logged = step"),
        ("loss_is_finite = bool(step.isfinite().all())", "loss_is_finite = True"),
        ("parameter.grad = None if gradient is None else gradient.to(parameter.device)", "pass"),
    ],
    "training/module.py": [
        ("clip_grads_with_norm_(parameters, gradient_clip_val, norm)", "pass"),
    ],
    "training/metrics.py": [
        ("found = self.translations | blank", "found = self.translations"),
        ("if data is not self._data:", "if self._data is None:"),
    ],
    f"{EXACT}/schedules.py": [
        ("math.ceil(batches / trainer.accumulate_grad_batches)", "batches"),
        ("group[name] *= factor", "pass"),
        ("state.pop(name, None)", "pass"),
    ],
    f"{EXACT}/groups.py": [
        ("parameter.grad = None", "pass"),
        ("self.decay_vectors or parameter.ndim > 1", "True"),
    ],
    "training/schedules.py": [
        ("number = step + 1", "number = step"),
        ("(step + 1) / max(warmup_steps, 1)", "step / max(warmup_steps, 1)"),
    ],
    f"{EXACT}/resume.py": [
        ('torch.set_rng_state(state["torch"].cpu())', "pass"),
        ("pl_module.lr_scheduler_step(config.scheduler, value)", "pass"),
        ("if self._ended_at == [trainer", "if [] == [trainer"),
        ('"best_model_score": kept.get(best, state["best_model_score"]) if best else None', '"best_model_score": None'),
        ("found = own and new is not None and", "found = new is not None and"),
        ('".." not in new.parts and new.is_file()', "new.is_file()"),
        ("str(new) if found else", "path if found else"),
    ],
    f"{EXACT}/checkpoint.py": [
        ("if not validation_follows(trainer):", "if True:"),
        ("trainer.accumulate_grad_batches == 0", "1 == 0"),
        ("step // interval > self._saved_at // interval", "False"),
        ("if epoch_ends or is_last or step", "if is_last or step"),
        ("replace_last(self.path.with_name", "self.path.with_name(self.path.name).exists() and replace_last(self.path.with_name"),
        ("os.link(path, previous(path))", "pass"),
        ("if broken := archive.testzip():", "if broken := None:"),
    ],
    "data/batching.py": [
        ("np.random.default_rng((seed, epoch))", "np.random.default_rng((seed, 0))"),
        ("min(starts[place], stop - num_shares)", "starts[place]"),
        ("-(-np.arange(1, window.shape[1] + 1) // num_shares)", "np.arange(1, window.shape[1] + 1) // num_shares"),
        ("starts.append(start + max(num_shares, min(", "starts.append(start + max(1, min("),
        ('np.searchsorted(padded, size.tokens, "right")', 'np.searchsorted(padded, size.tokens, "left")'),
        ("self._num_yielded, self._resume = num_yielded if resumes else 0, None", "self._num_yielded, self._resume = 0, None"),
    ],
    "../../packages/joined-words/src/joined_words/words.py": [
        ('" ".join(INVISIBLE.sub("", text).split())', '" ".join(text.split())'),
        ('" ".join(INVISIBLE.sub("", text).split())', 'INVISIBLE.sub("", text).strip()'),
        (r")[\p{{L}}\p{{N}}\p{{M}}_", r")[\p{{L}}\p{{N}}_"),
        ('text.replace("I", "ı") if has_dotless_i(language) else text', "text"),
        ('return text.replace("İ", "i").lower()', "return text.lower()"),
    ],
    "../../packages/joined-words/src/joined_words/casing.py": [
        ("num_upper > num_lower and", "num_upper > 0 and"),
        ("if lower > upper)", "if lower > 9 * upper)"),
        ("before if found[1] in", "word[0] if found[1] in"),
        ("forms = _usual(words, begun, language)", "forms = _usual(words, {}, language)"),
        ("is_upper or form[0].islower()", "is_upper or usual.get(lowered(form, language), '')[:1].islower()"),
        ('"0" if word[0].isdecimal() else', '"" if word[0].isdecimal() else'),
    ],
    "../../packages/joined-words/src/joined_words/links.py": [
        ("(self.num_found_sure + self.num_found_possible) / total", "2 * self.num_found_sure / total"),
    ],
    "../../packages/joined-words/src/joined_words/places.py": [
        ("bisect_right(ends, start + max(len(text) - 1, 0)) + 1", "bisect_right(ends, start) + 1"),
    ],
    "../../packages/bitext/src/bitext/comparing.py": [
        ("if not splits or all(map(has_text, pairs[place]))", "if True"),
        ("if num_held + sizes[name] <= room:", "if True:"),
    ],
    "../../packages/bitext/src/bitext/languages.py": [
        ("return TWO_LETTERS.get(first, first)", "return first"),
        ('re.split("[-_]", code, maxsplit=1)[0].lower()', 're.split("[-]", code, maxsplit=1)[0].lower()'),
    ],
    "../../packages/bitext/src/bitext/sgml.py": [
        ("if not found[2]:", "if not found[0]:"),
        ("html.unescape(found[1].decode(", "(found[1].decode("),
    ],
    "data/text.py": [
        ("not (clean(self.source) and clean(self.target))", "not (self.source and self.target)"),
    ],
    "data/datamodule.py": [
        ("if keep_blank or not pair.is_blank]", "if not pair.is_blank]"),
    ],
    "models/folder.py": [
        ("if not weight.isfinite().all():", "if weight.isnan().any():"),
        ("<= ROUNDING[precision] * largest + TINY", "<= torch.inf"),
    ],
    "models/proof.py": [
        ("LENGTHS = ((1,), (9, 23, 1, 2, 16))", "LENGTHS = ((1,), (1,))"),
        ("if not most <= bound:", "if most > bound:"),
        ("        return np.inf\n", "        return 0.0\n"),
    ],
    "evaluation/metrics.py": [
        ('"max" if declared else "min"', '"min" if declared else "max"'),
    ],
    "run/checks.py": [
        ("words[known == \"max\"]", "words[known == \"min\"]"),
        ("given not in (None, right)", "False"),
    ],
    "training/process.py": [
        ("while os.getppid() == parent:", "while True:"),
    ],
    "run/earlier.py": [
        ("v.replace(HERE, str(run_dir)) if isinstance(v, str) else v", "v"),
    ],
    "evaluation/bleu.py": [
        ("0.5 ** np.cumsum(found == 0, axis=-1)", "0.5"),
    ],
    "evaluation/alignment.py": [
        ("/ np.maximum(targets.sum(axis=1, keepdims=True), 1)", ""),
        ("/ np.maximum(sources.sum(axis=0), 1)", ""),
    ],
    "../../packages/judged-seeds/src/judged_seeds/sentences.py": [
        ("max(0.0, float(deviations.var()) - sum(", "max(0.0, float(deviations.var()) - 0 * sum("),
        ("(1 + int(as_great)) / (num_draws + 1)", "int(as_great) / num_draws"),
    ],
}  # fmt: skip
"""File in src/seq2seq -> texts in it and what is put in their places."""


def area_of(name: str) -> list[str]:
    """Return the tests that guard a file most closely."""
    return AREAS.get(name) or AREAS[name.split("/", maxsplit=1)[0]]


def copy_of_clone(folder: Path) -> Path:
    """Copy what git knows and does not ignore."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def tests_pass(folder: Path, tests: list[str]) -> bool:
    """Run fast tests in a copy up to the first failure, in a fork of this process; a long time is a failure.

    The programs that the tests have left behind end with them.
    """
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        code = 99
        try:
            os.setpgid(0, 0)
            os.chdir(folder)
            output = os.open(folder / ".output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sources = [str(path) for path in (folder / "src", *folder.glob("packages/*/src"))]
            sys.path[:0] = [str(folder), *sources]
            os.environ["PYTHONPATH"] = os.pathsep.join(sources)
            sys.modules.pop("tests", None)
            signal.alarm(LONGEST)
            options = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider"]
            code = pytest.main(["-x", "-q", "-m", "not long", *options, *tests])
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    if code not in (0, 1, -signal.SIGALRM):
        raise RuntimeError(f"pytest did not run: {(folder / '.output').read_text()[-3000:]}")
    return code == 0


def is_found(folder: Path, name: str, old: str, new: str) -> bool:
    """Put one mutant into a copy, run the tests, take it out again and say what became of it."""
    path = folder / "src/seq2seq" / name
    whole = path.read_text()
    path.write_text(whole.replace(old, new))
    found = not all(tests_pass(folder, tests) for tests in (area_of(name), QUICK, ["tests"]))
    path.write_text(whole)
    print(f"{'found    ' if found else 'NOT FOUND'} {name}: {old!r} -> {new!r}", flush=True)
    return found


def passes_without(folder: Path, tests: str) -> bool:
    """Run tests without any mutant and print the output if they fail."""
    if passes := tests_pass(folder, [tests]):
        return passes
    print((folder / ".output").read_text()[-3000:], file=sys.stderr, flush=True)
    return False


def number_true(work: Callable[..., bool], folders: list[Path], chosen: Sequence[tuple[str, ...]]) -> int:
    """Return for how many of the chosen the work is true; each copy has a process that does its share."""
    workers = []
    for number, folder in enumerate(folders):
        pid = os.fork()
        if not pid:
            try:
                os._exit(sum(work(folder, *each) for each in chosen[number :: len(folders)]))
            except BaseException:
                traceback.print_exc()
                os._exit(255)
        workers.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
    if not all(0 <= code < 255 for code in codes):
        raise RuntimeError("a process of the tests ended before its work was done")
    return sum(codes)


def main() -> None:
    """Try every mutant and print what becomes of it."""
    words, chosen = sys.argv[1:], []
    for name, places in MUTANTS.items():
        text = (ROOT / "src/seq2seq" / name).read_text()
        for old, new in places:
            if text.count(old) != 1:
                print(f"error: src/seq2seq/{name} has {text.count(old)} times: {old}", file=sys.stderr)
                sys.exit(2)
            if not words or any(word in f"{name} {old}" for word in words):
                chosen.append((name, old, new))
    started = time.monotonic()
    os.environ["OMP_NUM_THREADS"] = "1"
    for library in (
        "torch",
        "lightning.pytorch",
        "hypothesis",
        "sacrebleu",
        "scipy.stats",
        "matplotlib.figure",
    ):
        import_module(library)  # for all forks; nothing of this program
    with tempfile.TemporaryDirectory(prefix="mutants") as temporary:
        folders = [copy_of_clone(Path(temporary) / str(number)) for number in range(WORKERS)]
        areas = (area_of(name) for name, *_ in chosen)
        first = [(tests,) for tests in dict.fromkeys([*QUICK, *(test for area in areas for test in area)])]
        if number_true(passes_without, folders, first) < len(first):
            print("error: these tests fail without any mutant", file=sys.stderr)
            sys.exit(2)
        found = number_true(is_found, folders, chosen)
    seconds = time.monotonic() - started
    print(f"{found} of {len(chosen)} mutants found in {seconds:.0f} s")
    sys.exit(len(chosen) - found > ALLOWED)


if __name__ == "__main__":
    main()
