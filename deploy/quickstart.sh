#!/bin/bash
# From nothing to generated text: installs packages, builds, starts a coordinator and two workers with two CPU ranks
# each on loopback, trains deploy/examples/bible.yaml on the King James Bible while showing its progress, draws the
# loss, writes a checkpoint, continues a line of text from it, and stops everything. About ten minutes on two cores,
# most of it building. Everything it makes is in build/.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
bin=$root/build/release/bin
work=$root/build/quickstart
started=()

say() { printf '\n== %s\n' "$*"; }

stop_all() {
  local i
  for ((i = ${#started[@]} - 1; i >= 0; --i)); do kill "${started[i]}" 2> /dev/null || true; done
  for ((i = ${#started[@]} - 1; i >= 0; --i)); do wait "${started[i]}" 2> /dev/null || true; done
  started=()
}
trap stop_all EXIT
trap 'exit 130' INT TERM

# Draws column 2 over column 1 of standard input.
draw_curve() {
  awk '
    { x[NR] = $1; y[NR] = $2; if (NR == 1 || $2 > high) high = $2; if (NR == 1 || $2 < low) low = $2 }
    END {
      rows = 12; columns = 64
      if (NR == 0 || high == low) exit
      for (c = 0; c < columns; ++c) {
        i = 1 + int(c * (NR - 1) / (columns - 1))
        row[c] = int((high - y[i]) / (high - low) * (rows - 1) + 0.5)
      }
      for (r = 0; r < rows; ++r) {
        line = sprintf("%6.2f |", high - r * (high - low) / (rows - 1))
        for (c = 0; c < columns; ++c) line = line (row[c] == r ? "*" : " ")
        sub(/ +$/, "", line); print line
      }
      line = "       +"; for (c = 0; c < columns; ++c) line = line "-"
      print line; printf "        step %-6d%*s\n", x[1], columns - 11, "step " x[NR]
    }'
}

say "packages"
deploy/install_packages.sh
say "build (the first time takes some minutes)"
cmake --preset release > /dev/null
cmake --build --preset release --target trireme trireme-coordinator trireme-worker

say "text: the King James Bible, from the package bible-kjv-text"
mkdir -p "$work"
cd "$work"
rm -rf checkpoints coordinator host-0 host-1 ./*.log address steps.jsonl
if [[ ! -s bible.txt ]]; then
  bible -f gen1:1-rev22:21 | sed -E 's/^[0-9A-Za-z]+ ?[0-9]+:[0-9]+ //' > bible.part
  mv bible.part bible.txt
fi
printf '%s bytes, it begins:\n' "$(wc -c < bible.txt)"
head -n 2 bible.txt

say "start a coordinator and two workers with two CPU ranks each"
"$bin/trireme-coordinator" --listen 127.0.0.1:0 --data-dir coordinator --port-file address \
  > coordinator.log 2>&1 &
started+=($!)
for ((i = 0; i < 300; ++i)); do
  [[ -s address ]] && break
  kill -0 "${started[0]}" 2> /dev/null || { cat coordinator.log >&2; exit 1; }
  sleep 0.1
done
TRIREME_COORDINATOR=$(cat address)
export TRIREME_COORDINATOR
for host in host-0 host-1; do
  "$bin/trireme-worker" --coordinator "$TRIREME_COORDINATOR" --name "$host" --devices 2 --threads 1 \
    --work-dir "$host" > "$host.log" 2>&1 &
  started+=($!)
done
for ((i = 0; i < 300; ++i)); do
  [[ $("$bin/trireme" nodes -o json | grep -c '"state":"READY"') -eq 2 ]] && break
  sleep 0.1
done
"$bin/trireme" nodes

say "submit deploy/examples/bible.yaml and follow it"
"$bin/trireme" submit "$root/deploy/examples/bible.yaml"

say "loss"
job=$("$bin/trireme" list -o json | sed -nE '1s/^\{"id":"([^"]*)".*/\1/p')
"$bin/trireme" metrics "$job" -o json > steps.jsonl
sed -E 's/.*"step":([0-9]+),"train\/loss":([0-9.e+-]+),.*/\1 \2/' steps.jsonl > losses.txt
draw_curve < losses.txt
awk 'NR == 1 { first = $2 } { last = $2 } END {
  printf "loss %.3f at the first step, %.3f at the last\n", first, last
  exit !(last < first) }' losses.txt

say "status"
"$bin/trireme" status "$job"

say "generate from the checkpoint"
"$bin/trireme" generate --checkpoint checkpoints --prompt "And the LORD said unto " --max-tokens 300 \
  --temperature 0.6

say "stop everything"
stop_all
echo "done; the checkpoint is in $work/checkpoints"
