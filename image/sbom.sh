#!/usr/bin/env bash
# What the program is linked from, as CycloneDX: each package with version, licence and checksum, and what needs what.
#   image/sbom.sh TARGET >FILE
# SOURCE_DATE_EPOCH is its date. The same lock file gives the same bytes, wherever the clone stands.
set -euo pipefail
cd "$(dirname "$0")/.."

# What it writes differs from version to version, and the image with it.
readonly CARGO_CYCLONEDX=0.5.9
readonly TOOLS="${XDG_CACHE_HOME:-$HOME/.cache}/jobshape/tools"
export PATH="$TOOLS/bin:$PATH"
readonly target=$1

cargo cyclonedx --version 2>/dev/null | grep --quiet --fixed-strings --word-regexp "$CARGO_CYCLONEDX" ||
    cargo install cargo-cyclonedx --locked --version "$CARGO_CYCLONEDX" --root "$TOOLS" >&2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# What it writes is beside Cargo.toml, a file for each program. Where there are no tests, it does not take theirs for ours.
ln -s "$PWD"/{src,benches,tests} "$folder"
cp Cargo.lock "$folder"
awk '/^\[/ { tests = $0 == "[dev-dependencies]" } !tests' Cargo.toml >"$folder/Cargo.toml"
cargo cyclonedx --quiet --manifest-path "$folder/Cargo.toml" --format json --spec-version 1.5 --describe binaries \
    --no-build-deps --target "$target"

# It still has packages that only a feature would need which nobody asks for. And jobshape itself is named by its folder.
packages=$(image/packages.sh "$target")
jq --arg packages "$packages" '
    ($packages | split("\n")) as $packages
    | .components |= map(select("\(.name) \(.version)" as $it | $packages | index($it)))
    | .metadata.component.purl = "pkg:cargo/jobshape@" + .metadata.component.version
    | .metadata.component["bom-ref"] as $folder | .metadata.component.purl as $name
    | walk(if . == $folder then $name else . end)
    | ([.components[]["bom-ref"]] + [$name]) as $known
    | .dependencies |= map(select(.ref | IN($known[])) | if .dependsOn then .dependsOn |= map(select(IN($known[]))) else . end)
' "$folder/jobshape_bin.cdx.json"
