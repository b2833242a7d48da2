#!/usr/bin/env bash
# One iteration of a user's own loop: two provers side by side, one file each.
# usage: loop.sh FUNCTIONS URL_A URL_B [FLAG...]
set -euo pipefail
source "$1"
url_a="$2" url_b="$3"
shift 3

prove() (
    export ANTHROPIC_BASE_URL="$2" LOG_BASE="logs/$1"
    run_claude "Prove $1." "${@:3}"
)

mkdir logs
prove A "$url_a" "$@" &
prover_a=$!
prove B "$url_b" "$@" &
prover_b=$!
if wait "$prover_a"; then echo "A done"; else echo "A error"; fi
if wait "$prover_b"; then echo "B done"; else echo "B error"; fi
