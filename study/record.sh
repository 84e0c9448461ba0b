#!/bin/sh
# Record the study's runs of one model, as archives: sh study/record.sh NAME MODEL DATA RGB OUT [RUN]
#   NAME   name of the model in the tables, e.g. Qwen2.5-Coder-1.5B-Instruct
#   MODEL  model to evaluate, e.g. hf/./models/qwen or llamacpp/model.gguf
#   DATA   folder for the synthetic data; it is generated if it does not exist
#   RGB    folder with RGB's zh_refine.json, zh_int.json and en_fact.json
#   OUT    folder for the archives
#   RUN    record only this run, e.g. synthetic-injection; by default, all
# The commands are fixed in study/PROTOCOL.md and study/ABILITIES.md.
set -eu
name=$1 model=$2 data=$3 rgb=$4 out=$5 only=${6-} tokens=128
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
[ -d "$data" ] || ragbed synth --items 300 --integration 100 --counterfactual 100 --seed 2026 --perturbations none -o "$data"

record() {  # record RUN OPTIONS...
  run=$1
  shift
  [ -z "$only" ] || [ "$only" = "$run" ] || return 0
  started=$(date +%s)
  ragbed run -m "$name=$model" --max-tokens "$tokens" "$@" --out "$work/$run" >"$work/$run.log" 2>&1 || [ $? -eq 3 ] || { tail -20 "$work/$run.log"; exit 1; }
  ragbed export "$work/$run" --to archive -o "$out/$name.$run.zip" >/dev/null
  echo "$run: $(($(date +%s) - started)) s"
}

base="-d $data/en_base.jsonl -d $data/zh_base.jsonl"
int="-d $data/en_int.jsonl -d $data/zh_int.jsonl"
fact="-d $data/en_fact.jsonl -d $data/zh_fact.jsonl"
strategies=quote,numbered,unwarned,decompose,isolate,cite
# shellcheck disable=SC2086
{
  record synthetic-main $base $int $fact --positions all --noise 0,0.4,0.8,1
  record synthetic-fixed $base --testbeds noise --distractors fixed
  record synthetic-strategies $base $int $fact --limit 100 --testbeds noise,rejection,integration,counterfactual --noise 0,0.4,1 --strategies $strategies
  record synthetic-conflict $fact --testbeds conflict --true-ratio 0,0.2,0.4,0.6,0.8,1 --repeats 3 --temperature 0.7
  record synthetic-injection $base --limit 100 --testbeds injection
  record rgb-main -d "$rgb/zh_refine.json" -d "$rgb/zh_int.json" -d "$rgb/en_fact.json" --positions all --noise 0,0.4,0.8,1
  record rgb-fixed -d "$rgb/zh_refine.json" --testbeds noise --distractors fixed
  record rgb-code -d "$rgb/zh_refine.json" -d "$rgb/zh_int.json" -d "$rgb/en_fact.json" --profile code-2024
  [ -d "$data-long" ] || ragbed synth --seed 28 --items 40 --integration 0 --counterfactual 0 --num-docs 100 --supporting 1 --lang en --perturbations none -o "$data-long"
  for tokens in 32 256; do
    record "long-$tokens" -d "$data-long/en_base.jsonl" --testbeds length --num-docs 1,5,10,20,100
  done
}
