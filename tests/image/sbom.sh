#!/usr/bin/env bash
# That a CycloneDX file names what the program is linked from and nothing else, held against what cargo itself says:
#   tests/image/sbom.sh FILE TARGET
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
readonly file=$1 target=$2

fail() {
    echo "sbom: $*" >&2
    exit 1
}

jq --exit-status '.bomFormat == "CycloneDX" and .specVersion == "1.5" and .version == 1
    and .metadata.component.type == "application" and .metadata.component.name == "jobshape"
    and (.metadata.timestamp | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$"))' "$file" >/dev/null ||
    fail "$file is not the description of a program in CycloneDX 1.5: $(jq -c 'del(.components, .dependencies)' "$file")"

# Two numberings would be two files for the same program.
! jq --exit-status 'has("serialNumber")' "$file" >/dev/null || fail "a serial number differs from build to build"
! grep --quiet --extended-regexp "file://|$PWD|$HOME" "$file" || fail "it names a folder of the machine: $(grep -E "file://|$PWD|$HOME" "$file")"

# name version licence checksum
expected() {
    join -t '|' \
        <(join -t '|' \
            <(cargo tree --locked --edges normal --target "$target" --prefix none --format '{p}' |
                sed -E '1d; s/^([^ ]+) v([^ ]+).*/\1 \2/' | sort -u) \
            <(cargo metadata --locked --format-version 1 --filter-platform "$target" |
                # The slash is the old way to write OR.
                jq -r '.packages[] | "\(.name) \(.version)|\(.license | gsub(" */ *"; " OR "))"' | sort -t '|' -k 1,1)) \
        <(awk -F '"' '/^name = / { name = $2 } /^version = / { version = $2 } /^checksum = / { print name " " version "|" $2 }' \
            Cargo.lock | sort -t '|' -k 1,1)
}
found() {
    jq -r '.components[] | "\(.name) \(.version)|\(.licenses[0].expression | gsub(" +"; " "))|\(.hashes[] | select(.alg == "SHA-256").content)"' \
        "$file" | sort -t '|' -k 1,1
}
diff <(expected) <(found) >&2 || fail "these differ, < by cargo, > by $file"
count=$(found | wc -l)
[ "$count" -gt 100 ] || fail "only $count packages: cargo was asked the wrong question"

# Everything is reached from the program, by names that exist.
jq --exit-status '([.components[]["bom-ref"]] + [.metadata.component["bom-ref"]]) as $known
    | (([.dependencies[].ref] - $known) + ([.dependencies[].dependsOn[]?] - $known)
        + ([.components[]["bom-ref"]] - [.dependencies[].dependsOn[]?])) == []' "$file" >/dev/null ||
    fail "the dependencies name a package that is not there, or leave one out"
echo "sbom: $count packages, each with version, licence and checksum, as cargo has them"
