#!/usr/bin/env bash
# What the program is linked from, package by package with its licence, and the texts of these licences as the
# packages bring them, each once:
#   image/licenses.sh TARGET >FILE
# The same lock file gives the same bytes, wherever the clone and the crates stand.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
readonly target=$1

texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT

packages=$(image/packages.sh "$target")
folders=$(cargo metadata --locked --format-version 1 --filter-platform "$target" |
    jq -r '.packages[] | "\(.name) \(.version)|\(.license // "see its text")|\(.manifest_path | rtrimstr("/Cargo.toml"))"' |
    sort -t '|' -k 1,1)
join -t '|' <(echo "$packages") <(echo "$folders") >"$texts/packages"

cat <<'TITLE'
jobshape is under the licence Apache-2.0. Its program is linked from the packages below, from the standard library of
Rust (MIT OR Apache-2.0) and from the GNU C Library (LGPL-2.1-or-later).

TITLE
while IFS='|' read -r package licence folder; do
    echo "$package: $licence"
    # Three folders deep: what a package has taken over from elsewhere has its licence beside it.
    while read -r file; do
        name=$texts/$(sha256sum <"$folder/$file" | cut -c -64)
        cp "$folder/$file" "$name.text"
        echo "$package: $file" >>"$name.of"
    done < <(cd "$folder" && find . -maxdepth 3 -type f -not -name '*.rs' \
        \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'unlicense*' \) -printf '%P\n' | sort)
done <"$texts/packages"

# In the order of the first package that has it.
for of in $(grep --max-count 1 '' "$texts"/*.of | sed -E 's/^([^:]*):(.*)$/\2|\1/' | sort | sed 's/.*|//'); do
    printf '\n%s\n' "$(printf '=%.0s' {1..100})"
    cat "$of"
    echo
    cat "${of%.of}.text"
done
