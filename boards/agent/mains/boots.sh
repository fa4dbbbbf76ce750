#!/bin/sh
# boots.sh MCU ELF: runs the agent for an AVR on simavr, which has no W5500, until it greets. 77, which ctest takes as a
# skip, where there is no simavr; in CI that is a failure.
set -eu
if ! command -v simavr >/dev/null; then
  echo "simavr is not installed: $2 was not run"
  if [ "${CI:-}" = true ]; then exit 5; fi
  exit 77
fi
said=$2.said
: >"$said"
stdbuf -oL timeout 20 simavr -m "$1" -f 16000000 "$2" >"$said" 2>&1 &
simulator=$!
trap 'kill "$simulator" 2>/dev/null || true' EXIT
while kill -0 "$simulator" 2>/dev/null; do
  if grep -a "! hello agent=1 board=$1-w5500 chip=none " "$said"; then exit 0; fi
  sleep 0.1
done
cat "$said"
exit 1
