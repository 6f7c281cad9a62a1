#!/usr/bin/env bash
# What `make image` builds, from two clones in two folders: one program and one image, to the byte. Then what is in
# it, and that its entry point runs from the unpacked image (tests/image/unpacked.sh).
#
#   tests/image/run.sh           as root on Linux; buildah is installed where there is none and Debian has it
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

fail() {
    echo "image: $*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || fail "another user's process and a root that is read-only take root"
for command in buildah jq openssl curl; do
    command -v "$command" >/dev/null && continue
    command -v apt-get >/dev/null || fail "install $command, from the package of that name"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$command"
done
[ -z "$(git status --porcelain)" ] || fail "something is not committed: the two clones would be without it"

readonly target=x86_64-unknown-linux-gnu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Names of different length: a path that got into the program would move what is behind it.
alone=
for clone in a another-one; do
    git clone --quiet . "$folder/$clone"
    # What cargo makes is beside the sources, so nothing is shared but the crates.
    (cd "$folder/$clone" && env -u CARGO_TARGET_DIR $alone make image)
    # Now that all crates are there, the second has no network.
    alone="unshare --net env CARGO_NET_OFFLINE=true"
done
cd "$folder/a"
for file in content/jobshape content/jobshape.cdx.json content/licenses.txt digest; do
    cmp "target/image/$file" "$folder/another-one/target/image/$file" || fail "$file differs from one folder to the other"
done

program=target/image/content/jobshape
for path in "$folder" "${CARGO_HOME:-$HOME/.cargo}" "$(rustc --print sysroot)"; do
    ! grep --quiet --binary-files=text --fixed-strings "$path/" "$program" || fail "the program names $path"
done
headers=$(readelf --wide --program-headers --sections "$program")
! grep --quiet INTERP <<<"$headers" || fail "the program asks for a loader, which the image has not"
! grep --quiet --fixed-strings .symtab <<<"$headers" || fail "the program is not stripped"

# What was compiled for the target, as its own files say, is in the list of what the program consists of.
tests/image/sbom.sh target/image/content/jobshape.cdx.json "$target"
compiled=$(grep --no-filename --only-matching --extended-regexp 'registry/src/[^/]+/[^/ ]+' "target/$target/release/deps/"*.d |
    cut -d / -f 4 | sort -u)
[ "$(wc -l <<<"$compiled")" -gt 50 ] || fail "what was compiled cannot be seen"
unknown=$(comm -23 <(echo "$compiled") \
    <(jq -r '.components[] | "\(.name)-\(.version)"' target/image/content/jobshape.cdx.json | sort -u))
[ -z "$unknown" ] || fail "compiled, and not in jobshape.cdx.json: $unknown"

tests/image/unpacked.sh target/image/jobshape.oci.tar
echo "image: $(cat target/image/digest), built twice; the program has $(stat --format %s "$program") bytes, the archive $(stat --format %s target/image/jobshape.oci.tar)"
