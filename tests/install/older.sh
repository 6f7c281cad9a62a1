#!/usr/bin/env bash
# Builds a program as an older release would be: it does not know the key `match.exempt` of a shape.
#   tests/install/older.sh
# Prints where it is.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/mutants/copy.sh
. tests/mutants/copy.sh

mkdir -p "${CARGO_TARGET_DIR:=target}"
target=$(cd "$CARGO_TARGET_DIR" && pwd)
export CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=1
work=$target/older
copy=$work/package
# One at a time: whoever comes second waits and builds nothing anew.
mkdir -p "$work"
exec 9>"$work/lock"
flock 9
rm -rf "$copy"
mkdir -p "$copy"
make_copy "$copy" jobshape-older

document=$copy/src/core/shape/document.rs
sed -i 's/KEYS: \[&str; 6\] = \(.*\)"exempt", /KEYS: [\&str; 5] = \1/' "$document"
if cmp -s "$document" src/core/shape/document.rs; then
    echo "older.sh: document.rs has no list of keys with exempt in it" >&2
    exit 2
fi
# Its program has another name too, or it would replace the working tree's.
awk '/^\[/ { bin = $0 == "[[bin]]" }
    bin && $0 == "name = \"jobshape\"" { $0 = "name = \"jobshape-older\"" }
    /^default-run/ { next }
    { print }' "$copy/Cargo.toml" >"$work/Cargo.toml"
mv "$work/Cargo.toml" "$copy/Cargo.toml"
(cd "$copy" && cargo build --quiet --locked --bin jobshape-older) >&2
rm -rf "$copy"
echo "$target/debug/jobshape-older"
