"""Translate lines: ``seq2seq translate MODEL < source.txt > translation.txt``

Writes one line for each line read, in the same order; a blank line stays blank. On a terminal it asks for sentences.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from seq2seq.cli.main import MODEL_HELP, check_output, parser_of
from seq2seq.data.text import read_lines, stream_lines
from seq2seq.errors import InputError
from seq2seq.run.messages import exit_with_one_line
from seq2seq.shipped import model_path


def main(arguments: Sequence[str]) -> None:
    """Translate standard input or a file."""
    parser = parser_of("translate", __doc__)
    add = parser.add_argument
    add("model", type=model_path, help=MODEL_HELP)
    add(
        "--ensemble",
        type=model_path,
        nargs="+",
        default=[],
        metavar="MODEL",
        help="average with these models",
    )
    add("--beam-size", type=int, default=5, metavar="K", help="hypotheses; 1: greedy (default: 5)")
    add(
        "--n-best",
        type=int,
        default=1,
        metavar="N",
        help="print N translations of each line, at most the beam size",
    )
    add("--length-penalty", default="average", help="none, average or gnmt (default: average)")
    add(
        "--length-penalty-alpha", type=float, default=0.6, metavar="A", help="exponent of gnmt (default: 0.6)"
    )
    add("--min-ratio", type=float, default=0.0, metavar="R", help="minimum target tokens per source token")
    add("--max-ratio", type=float, metavar="R", help="maximum, with 10 tokens more (default: the model's)")
    add(
        "--beam-threshold",
        type=float,
        metavar="NATS",
        help="prune hypotheses this far below the best: faster",
    )
    add("--sample", action="store_true", help="sample every token instead of searching")
    add("--temperature", type=float, default=1.0, help="temperature of sampling (default: 1.0)")
    add("--top-k", type=int, metavar="K", help="sample from the K most probable tokens")
    add("--seed", type=int, default=1, help="seed of sampling (default: 1)")
    add("--prefix", type=Path, metavar="FILE", help="a prefix for each translation, one per line")
    add("--replace-unk", action="store_true", help="replace <unk> by the most attended source word")
    add("--json", action="store_true", help="print one JSON object per line: tokens, score, attention, …")
    add("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    add("--precision", default="fp32", help="fp32, bf16 or int8 (default: fp32)")
    add("--max-tokens", type=int, default=4096, metavar="N", help="maximum padded tokens in a batch")
    add(
        "--buffer-size", type=int, default=2048, metavar="N", help="lines read and sorted by length at a time"
    )
    add("--input", type=Path, metavar="FILE", help="translate this file instead of standard input")
    add("-o", "--output", type=Path, metavar="FILE", help="write to this file instead of standard output")
    add("--resume", action="store_true", help="continue after the lines that --output has")
    add("--to", metavar="LANGUAGE", help="target language, for a model of several languages")
    add("--trust-custom-code", action="store_true", help="import classes that the model folder names")
    options = parser.parse_args(list(arguments))
    with exit_with_one_line():
        _translate(options)


def _translate(options: argparse.Namespace) -> None:
    if options.resume and (options.output is None or options.n_best > 1):
        raise InputError("--resume needs --output FILE and a line for each sentence")
    if options.buffer_size < 1:
        raise InputError(f"--buffer-size {options.buffer_size}: at least 1 line")
    check_output(options.output, options.input)
    if options.input is not None and options.input.is_dir():
        raise InputError(f"{options.input} is a folder: give a file")
    prefixes = None if options.prefix is None else read_lines(options.prefix)

    from seq2seq.decoding.search import search_from_options
    from seq2seq.decoding.translation import UnknownCount
    from seq2seq.decoding.translator import Translator

    sampling = {"temperature": options.temperature, "top_k": options.top_k, "seed": options.seed}
    search = search_from_options(
        beam_size=1 if options.sample else options.beam_size,
        num_best=options.n_best,
        length_penalty=options.length_penalty,
        length_penalty_alpha=options.length_penalty_alpha,
        min_length=options.min_ratio,
        max_length=options.max_ratio,
        prune=options.beam_threshold,
        sampling=sampling if options.sample else None,
    )
    translator = Translator.load(
        options.model,
        *options.ensemble,
        device=options.device,
        max_tokens=options.max_tokens,
        precision=options.precision,
        to=options.to,
        trust_custom_code=options.trust_custom_code,
    )
    if translator.target_language == "mul":
        raise InputError("this model translates into several languages: choose one with --to")
    done = 0
    if options.resume and options.output.exists():
        text = options.output.read_text(encoding="utf-8")
        done = text.count("\n")
        options.output.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")  # whole lines only
    output: IO[str] = sys.stdout
    if options.output is not None:
        output = options.output.open("a" if done else "w", encoding="utf-8")
    unknown, number = UnknownCount(), done
    lines = _asked() if options.input is None and sys.stdin.isatty() else stream_lines(options.input)
    for _ in range(done):
        next(lines, None)
    try:
        if prefixes is not None:
            sentences = list(lines)
            if len(prefixes) != len(sentences):
                raise InputError(f"{options.prefix} has {len(prefixes)} lines for {len(sentences)} sentences")
            found = translator.translate_n_best(
                sentences, search=search, prefixes=prefixes, replace_unk=options.replace_unk
            )
            windows: Any = [(sentences, found)]
        else:
            windows = translator.stream(
                lines,
                search=search,
                replace_unk=options.replace_unk,
                return_attention=options.json,
                window=1 if options.input is None and sys.stdin.isatty() else options.buffer_size,
                first_number=done,
            )
        for _, found in windows:
            for translations in found:
                number += 1
                for rank, translation in enumerate(translations, start=1):
                    if options.json:
                        facts = {"line": number, "rank": rank} | translation.as_dict()
                        text = json.dumps(facts, ensure_ascii=False)
                    elif options.n_best > 1:
                        text = f"{number} ||| {translation.text} ||| {translation.score:.4f}"
                    else:
                        text = translation.text
                    output.write(f"{text}\n")
            output.flush()
            unknown.add(translations[0] for translations in found)
    finally:
        if output is not sys.stdout:
            output.close()
    for line in unknown.warnings():
        print(line, file=sys.stderr)


def _asked() -> Iterator[str]:
    """Ask for sentences until the input ends."""
    print("A sentence, or Ctrl-D to leave.", file=sys.stderr)
    while True:
        try:
            yield input("> ")
        except EOFError:
            return
