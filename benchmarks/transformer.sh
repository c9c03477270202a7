#!/bin/sh
# GRU with Bahdanau attention against a Transformer of as many parameters, judged by `seq2seq compare`.
#   sh benchmarks/transformer.sh grammar|dates|everyday|multi30k [OVERRIDE …]
# Three seeds each; finished runs are kept. The error of the alignments of the grammar is the curve val_alignment/aer. Multi30k needs data.root=FOLDER. Further overrides go to all runs.
# LONGER=N also trains GRUs of N epochs: with N = their epochs times the Transformer's seconds by theirs, both need the same time.
set -eu
task=$1
shift
runs=runs/transformer_$task
case $task in
  grammar) data="data=grammar" recipe="recipe=small_transformer" metrics="bleu chrf" ;;
  dates) data="experiment=dates" recipe="recipe=small_transformer tokenizer=characters" metrics="exact_match" ;;
  everyday) data="data=everyday" recipe="recipe=small_transformer" metrics="bleu chrf" ;;
  multi30k) data="experiment=multi30k_en_de" recipe="recipe=multi30k_all_transformer" metrics="bleu_moses_whole bleu chrf" ;;
  *) echo "$task: give grammar, dates, everyday or multi30k" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086 # several words each
train() { python train.py -m $data seed=1,2,3 threads=1 experiment_name="transformer_$task" "$@"; }
train "$@"
# shellcheck disable=SC2086
train $recipe "$@"
# shellcheck disable=SC2086
if [ -n "${LONGER:-}" ]; then train trainer.max_epochs="$LONGER" "$@"; fi
for metric in $metrics; do seq2seq compare "$runs" --metric "test/$metric" -o "$runs/$metric.png"; done
grep '"seconds"' "$runs"/*/metrics.json
for run in "$runs"/*/; do seq2seq plot "$run" "Can you help me?" -o "${run}attention.png"; done
