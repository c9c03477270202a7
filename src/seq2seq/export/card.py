"""A finished run as a model folder for others: weights in fewer bits, and a model card with the scores they have."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from seq2seq.common.errors import InputError
from seq2seq.data.addresses import overrides_of, read_file
from seq2seq.data.folders import MODELS, own_classes

if TYPE_CHECKING:
    from seq2seq.models.folder import Knowledge

CORPORA = {
    "EverydayCorpus": (
        "Everyday sentences of Tatoeba, by way of manythings.org/anki, and phrases of this project, as "
        "`scripts/make_everyday.py` chooses them; test sentences have no near-copies in training.",
        "cc-by-2.0",
        "The sentences are Tatoeba's (https://tatoeba.org), by its contributors, under CC BY 2.0 FR: name Tatoeba where you "
        "give the model to others.",
    ),
    "GrammarCorpus": (
        "The English-French sentences of `data/grammar/corpus.tsv.xz`, which a grammar of this project makes.",
        "mit",
        "The corpus is part of this project, under its MIT license; so is the model.",
    ),
    "Multi30k": (
        "Multi30k, task 1 (Elliott, Frank, Sima'an and Specia 2016): captions of the photographs of Flickr30k "
        "and their translations.",
        "other",
        "For research use only: the captions are those of Flickr30k, which is given for non-commercial research "
        "and education. The same holds for this model.",
    ),
    "LibreOfficeHelp": (
        "Paragraphs of the help of LibreOffice, English and their translations, as "
        "`scripts/get_libreoffice.py` extracts them from Debian's packages; test pages share no page and no sentence with "
        "training pages.",
        "mpl-2.0",
        "The text is that of the contributors to LibreOffice, under the Mozilla Public License 2.0; so is this model.",
    ),
}
"""Class of a data module -> what its text is, an identifier of its license, and what the license says."""

PATH = r"(?:~|/|[A-Za-z]:[\\/])"
"""How a path begins that tells of a machine."""

CARD = """\
# {name}

{source} → {target}: {encoder} and {decoder} with {attention}, {parameters:,} parameters, stored as {precision} ({size:.1f} MB).

```sh
echo {example} | seq2seq translate {named}{trust}
```

## Data and license

{data} {terms}

The model knows the words and the kind of sentences of this text{knows}; it is made to show attention, not to translate other text.

## Scores

Of the weights in this folder, on the {num_sentences:,} pairs of the {split} split, `{signature}`:

| search | BLEU | lower-cased | chrF | exact match |
| --- | --- | --- | --- | --- |
{scores}

## Made by

```sh
{command}
```

{made}
"""


def _read(path: Path, *needed: str) -> dict[str, Any]:
    """Return what a file of a finished run holds, which has some keys."""
    load = json.loads if path.suffix == ".json" else yaml.safe_load
    try:
        found = dict(load(path.read_text(encoding="utf-8")))
        if missing := [key for key in needed if key not in found]:
            raise ValueError(f"it has no {missing[0]}")
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is damaged ({reason:.100}): train again") from error
    return found


def save_pretrained(
    run: str | Path,
    folder: str | Path,
    *,
    precision: str = "bf16",
    commit: str | None = None,
    trust_custom_code: bool = False,
) -> Path:
    """Write the model of a finished run as a model folder with a card, README.md.

    The scores of the card are those of the weights as they are written, on the run's test split. Its examples are sentences
    that are translated as the reference, if there are such.

    Args:
        run: Folder of the run.
        folder: To write; an older one is replaced, one with other or with changed files is not.
        precision: Of the weights: ``fp32``, ``bf16`` or ``int8``.
        commit: Of the program that trained the model; None: what the run says.
        trust_custom_code: Import the classes that the model names and that are not this program's.

    Raises:
        InputError: The run is not finished, the folder holds other files, or its model needs classes from elsewhere.
    """
    from seq2seq.data.folders import example_sentences, pairs_of_run, split_of_run
    from seq2seq.decoding.scoring import as_metrics, score_searches
    from seq2seq.decoding.search import search_of
    from seq2seq.decoding.translator import Translator
    from seq2seq.models.folder import Knowledge, load_model_folder, save_model_folder

    run, folder = Path(run), Path(folder)
    if not (run / "metrics.json").is_file() or not (run / "config.yaml").is_file():
        card = "; a shipped model has its card already: copy the folder" if run.parent == MODELS else ""
        raise InputError(f"{run} holds no finished run: a card needs its config.yaml and metrics.json{card}")
    if folder.resolve() == (run / "model").resolve():
        raise InputError(f"{folder} is the run's own model, which stays as it was scored: give a new folder")
    config = _read(run / "config.yaml", "data", "model", "decoding")
    metrics = _read(run / "metrics.json", "epochs", "steps", "parameters")
    split = split_of_run(run, is_tested="test" in metrics)
    if split is None or split not in metrics:
        raise InputError(f"{run} holds no scored text: a card needs its folder predictions; train again")
    pairs, search = pairs_of_run(run, split), search_of(config["decoding"])

    def card_of(written: Path) -> str:
        scored = score_searches(Translator.load(written, trust_custom_code=trust_custom_code), pairs, search)
        texts = list(scored.values())[-1].texts
        right = [pair.source for pair, text in zip(pairs, texts, strict=True) if text == pair.target]
        return model_card(
            written,
            config=config,
            metrics=metrics,
            scores=as_metrics(scored),
            command=" ".join(
                ["seq2seq train", *(shlex.quote(without_paths(each)) for each in overrides_of(run))]
            ),
            examples=example_sentences(example_sentences(right) + [pair.source for pair in pairs]),
            precision=precision,
            split=split,
            commit=commit or metrics.get("commit"),
            knows=saved.knows,
        )

    saved = load_model_folder(run, trust_custom_code=trust_custom_code)
    if saved.knows is None and (run / "predictions" / "val.source.txt").is_file():  # of an earlier version
        sources = [pair.texts[0] for pair in pairs_of_run(run, "val")]
        found = Translator(saved).translate(sources, search=search, return_attention=False)
        saved = replace(saved, knows=Knowledge.learned(sources, [each.confidence for each in found]))
    save_model_folder(folder, saved, precision=precision, card=card_of)
    return folder


def without_paths(override: str) -> str:
    """Return an override with FOLDER in place of each path of this machine."""
    whole = re.sub(f"^([^=]*=){PATH}.*", r"\1FOLDER", override)
    return re.sub(rf"(?<=[\s,{{\['\"]){PATH}[^,}}\]'\"]*", "FOLDER", whole)


def model_card(
    folder: Path,
    *,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    scores: Mapping[str, Any],
    command: str,
    examples: list[str],
    precision: str,
    split: str,
    commit: str | None,
    knows: "Knowledge | None" = None,
) -> str:
    """Return a card as the Hugging Face Hub reads it: metadata as YAML, then Markdown."""
    corpus = config["data"]["_target_"].rpartition(".")[2]
    data, license_name, terms = CORPORA.get(
        corpus, (f"Text read by `{corpus}`.", "unknown", "Its license is not stated.")
    )
    languages = config["data"]["source_language"], config["data"]["target_language"]
    parts = {part: config["model"][part]["_target_"].rpartition(".")[2] for part in ("encoder", "decoder")}
    attention = config["model"]["decoder"].get("attention")
    score = (attention or {}).get("score", attention)
    last = list(scores.values())[-1]
    dataset = {"name": corpus, "type": corpus.lower(), "split": split}
    measured = [
        {"type": name, "value": round(found[name], 2), "name": f"{name}, {search} search"}
        for search, found in scores.items()
        for name in ("bleu", "chrf")
    ]
    metadata = {
        "language": [*languages],
        "license": license_name,
        "library_name": "seq2seq-attention",
        "pipeline_tag": "translation",
        "widget": [{"text": each} for each in examples],
        **({} if knows is None else {"knows": [*knows.examples]}),
        "model-index": [
            {
                "name": folder.name,
                "results": [{"task": {"type": "translation"}, "dataset": dataset, "metrics": measured}],
            }
        ],
    }
    made = [
        f"Commit {commit}." if commit else "",
        f"Epochs: {metrics['epochs']}, steps: {metrics['steps']:,}.",
        f"BLEU before rounding: {metrics[split]['greedy']['bleu']:.2f} (greedy).",
    ]
    rows = (
        f"| {search} | {each['bleu']:.2f} | {each['bleu_lowercase']:.2f} | {each['chrf']:.2f} | "
        f"{each['exact_match']:.1f} % |"
        for search, each in scores.items()
    )
    text = CARD.format(
        name=folder.name,
        named=shlex.quote(folder.name),
        trust=" --trust-custom-code" if own_classes(folder) else "",
        source=languages[0],
        target=languages[1],
        attention="no attention" if score is None else f"`{score['_target_'].rpartition('.')[2]}`",
        **{part: f"`{name}`" for part, name in parts.items()},
        parameters=metrics["parameters"],
        precision={"fp32": "float32", "bf16": "bfloat16"}.get(precision, precision),
        size=(folder / "model.safetensors").stat().st_size / 1e6,
        example=quoted(examples[0]),
        data=data,
        terms=terms,
        knows="" if knows is None else f", such as {knows.quoted()}",
        num_sentences=last["num_sentences"],
        split={"val": "validation"}.get(split, split),
        signature=last["bleu_signature"],
        scores="\n".join(rows),
        command=command,
        made=" ".join(filter(None, made)),
    )
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True)}---\n\n{text}"


def quoted(text: str) -> str:
    """Return a sentence as a word of a shell: in double quotes where nothing in it has a meaning in them."""
    return shlex.quote(text) if set(text) & set('"$`!\\') else f'"{text}"'


def examples(model: Path) -> list[str]:
    """Return the first example sentences of a model card, else of what a run has translated; none where there is neither."""
    from seq2seq.data.folders import examples_of_run

    texts = _of_card(model) or examples_of_run(model) or examples_of_run(model.parent)
    return [text for text in texts if isinstance(text, str) and text.isprintable() and 0 < len(text) < 500]


def _of_card(model: Path) -> list[Any]:
    """Return the examples of a card; none where it cannot be read."""
    try:
        text = read_file(model / "README.md", 2**20).decode().replace("\r\n", "\n")
        metadata = text.split("---\n")[1][: 2**14] if text.startswith("---\n") else ""
        widget = yaml.load(metadata, yaml.BaseLoader)["widget"]  # makes lists, dictionaries and text only
        return [each.get("text") for each in widget if isinstance(each, dict)][:8]
    except (OSError, ValueError, TypeError, LookupError, RecursionError, yaml.YAMLError):
        return []
