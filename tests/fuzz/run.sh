#!/usr/bin/env bash
# Each fuzz target for so many minutes, one after another, and what came of it:
#   tests/fuzz/run.sh MINUTES [TARGET]...
# What it finds is in tests/fuzz/artifacts; what it has learnt stays in tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/../.."

# The version that this was written for.
readonly CARGO_FUZZ=0.13.2
readonly TOOLS="${XDG_CACHE_HOME:-$HOME/.cache}/jobshape/tools"
export PATH="$TOOLS/bin:$PATH"
# The instrumentation is a flag of the nightly compiler; the code is what the stable one makes of it.
export RUSTC_BOOTSTRAP=1

minutes=${1:-20}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(review yaml shape job)

cargo fuzz --version >/dev/null 2>&1 ||
    RUSTC_BOOTSTRAP=0 cargo install cargo-fuzz --locked --version "$CARGO_FUZZ" --root "$TOOLS"

echo "${targets[*]}: $minutes minutes each, on one core; tests/fuzz/target/TARGET.log says how it goes"
failed=0
for target in "${targets[@]}"; do
    seeds=tests/fuzz/seeds/$target corpus=tests/fuzz/corpus/$target
    log=tests/fuzz/target/$target.log
    mkdir -p "$corpus" tests/fuzz/target
    status=0
    # No sanitizer: nothing here is unsafe, and so it is twice as fast.
    cargo fuzz run --fuzz-dir tests/fuzz --sanitizer none --debug-assertions "$target" "$corpus" "$seeds" -- \
        "-max_total_time=$((minutes * 60))" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
        "-dict=tests/fuzz/dictionaries/$target.dict" >"$log" 2>&1 || status=$?
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    [ -n "$count" ] || { tail -n 20 "$log" >&2; exit 1; }
    if [ "$status" -eq 0 ]; then
        echo "$target: $count inputs in $minutes minutes, nothing found"
    else
        failed=1
        echo "$target: a finding after $count inputs; $log says which"
        grep -A 3 -E 'panicked at|ERROR: libFuzzer' "$log" || true
    fi
done
exit "$failed"
