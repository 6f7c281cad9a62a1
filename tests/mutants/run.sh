#!/usr/bin/env bash
# Shows that the tests notice what they are there for: each file *.diff beside this script is a
# mistake in the sources, and with each of them, one at a time, tests have to fail.
#
#   run.sh            all of them
#   run.sh NAME...    only these
#
# The working tree is not touched: the mistakes are made in a copy under target/. What a mutant is
# made of, and how to add one: docs/development.md.
#
# Exit status: 0 all were killed, 1 one survived, 2 one could not be tried.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly mutants=$PWD/tests/mutants
mkdir -p "${CARGO_TARGET_DIR:=target}"
target=$(cd "$CARGO_TARGET_DIR" && pwd)
readonly target
readonly work=$target/mutants
readonly copy=$work/package
readonly log=$work/log

# shellcheck source=tests/mutants/copy.sh
. "$mutants/copy.sh"

# The dependencies are those of every other build; only this package is built anew, bit by bit.
export CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=1 CARGO_TERM_COLOR=never
# Nobody reads why tests panic here: no backtrace, and no search for the smallest example.
export RUST_BACKTRACE=0 PROPTEST_MAX_SHRINK_ITERS=0

say() { printf '%s\n' "$*"; }

# What is going on, where a terminal can forget it again.
now() { if [ -t 1 ]; then printf '\r\033[K%s' "$*"; fi; }

die() {
    say "mutants: $*" >&2
    exit 2
}

# An interrupt ends the build or the test that is running, and then this.
start() {
    if [ -e "$work/pid" ] && kill -0 "$(cat "$work/pid")" 2>/dev/null; then
        die "another run is using $work"
    fi
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    rm -rf "$work"
    mkdir -p "$copy"
    echo $$ >"$work/pid"
}

# Without debug info a build takes a fifth less; the dependencies keep theirs, and so stay the same.
cargo_test() {
    local settings='profile.dev.package.jobshape-mutant.debug=false'
    (cd "$copy" && exec cargo --config "$settings" test --locked --lib "$@")
}

# Without this a mutant would count as killed by a test that always fails.
without_a_mutant() {
    local tests
    say "The tests without a mutant:"
    cargo_test --no-run || die "they do not build"
    tests=$(sed -n 's/^# tests: //p' "$mutants"/*.diff)
    # shellcheck disable=SC2086 # the names are several words
    if ! cargo_test -- $tests >"$log" 2>&1 || ! grep -q '^test result: ok' "$log"; then
        tail -n 40 "$log"
        die "the tests fail without a mutant"
    fi
    sed -n 's/^test result: ok\. \([0-9]* passed\);.*/  \1/p' "$log"
}

# The source with a mutant in it. The lines that the mutant keeps or takes away must stand there
# once, one after another.
mutate() {
    awk '
        NR == FNR && !body { body = /^--- /; next }
        NR == FNR {
            mark = substr($0, 1, 1)
            if (mark !~ /[-+ ]/) {
                print "a line of it begins with none of -, + and space" > "/dev/stderr"
                exit bad = 1
            }
            if (mark != "+") from[++old] = substr($0, 2)
            if (mark != "-") to[++new] = substr($0, 2)
            next
        }
        { line[++lines] = $0 }
        END {
            if (bad) exit 1
            for (at = 1; at + old - 1 <= lines; at++) {
                for (i = 1; i <= old && line[at + i - 1] == from[i]; i++);
                if (i > old) { found++; place = at }
            }
            if (!old || found != 1) {
                printf "its lines stand at %d places of the file, not at one\n", found > "/dev/stderr"
                exit 1
            }
            for (at = 1; at < place; at++) print line[at]
            for (i = 1; i <= new; i++) print to[i]
            for (at = place + old; at <= lines; at++) print line[at]
        }' "$1" "$2"
}

# What came of the last mutant: a word, what is said of it, and lines about it.
verdict='' told='' lines=''

outcome() {
    verdict=$1 told=$2 lines=${3:-}
}

try() {
    local mutant=$mutants/$1.diff file tests began seconds by count
    if [ ! -f "$mutant" ]; then
        outcome ERROR "there is no $mutant"
        return
    fi
    file=$(sed -n 's/^--- //p' "$mutant")
    tests=$(sed -n 's/^# tests: //p' "$mutant")
    if [ -z "$tests" ] || [ ! -f "$copy/$file" ]; then
        outcome ERROR "it needs lines \`# tests: NAME...\` and \`--- FILE\`"
        return
    fi
    cp "$copy/$file" "$work/original"
    if ! mutate "$mutant" "$work/original" >"$work/mutated" 2>"$log"; then
        outcome ERROR "$(cat "$log")"
        return
    fi
    cp "$work/mutated" "$copy/$file"
    began=$SECONDS
    # Also an endless loop ends.
    # shellcheck disable=SC2086 # the names are several words
    (ulimit -t 120 && cargo_test -- $tests) >"$log" 2>&1 || true
    seconds=$((SECONDS - began))
    cp "$work/original" "$copy/$file"

    by=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log")
    count=$(grep -c . <<<"$by" || true)
    if ! grep -q '^running ' "$log"; then
        outcome ERROR "it does not compile" "$(grep -A 12 '^error' "$log" | head -n 40)"
    elif ! grep -q '^running [1-9]' "$log"; then
        outcome ERROR "no test is called $tests"
    elif grep -q '^test result: FAILED' "$log" && [ "$count" -gt 0 ]; then
        told="by $(head -n 1 <<<"$by")"
        [ "$count" -eq 1 ] || told="$told and $((count - 1)) more"
        outcome killed "$told  ($seconds s)"
    elif grep -q '^test result: ok' "$log"; then
        outcome SURVIVED "no test fails of $tests  ($seconds s)" \
            "$(sed -n '/^# tests: /d; s/^# //p' "$mutant")"
    else
        outcome ERROR "its tests broke off" "$(tail -n 20 "$log")"
    fi
}

main() {
    local name line killed=0 survived=0 errors=0
    if [ $# -eq 0 ]; then
        for name in "$mutants"/*.diff; do set -- "$@" "$(basename "$name" .diff)"; done
    fi
    start
    make_copy "$copy" jobshape-mutant || die "there is no copy"
    without_a_mutant
    say "Each mutant:"
    for name in "$@"; do
        now "  trying    $name"
        try "$name"
        case $verdict in
        killed) killed=$((killed + 1)) ;;
        SURVIVED) survived=$((survived + 1)) ;;
        *) errors=$((errors + 1)) ;;
        esac
        now ''
        say "  $(printf '%-9s' "$verdict") $name  $told"
        [ -z "$lines" ] || while IFS= read -r line; do say "            $line"; done <<<"$lines"
    done
    say "$# mutants: $killed killed, $survived survived, $errors errors ($SECONDS s)"
    [ "$errors" -eq 0 ] || exit 2
    [ "$survived" -eq 0 ] || exit 1
}

main "$@"
