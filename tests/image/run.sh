#!/usr/bin/env bash
# What `make image` builds, from two clones in two folders: one program and one image, to the byte. Then what
# is in it, and that its entry point runs from the unpacked image as the user that it names.
#
#   tests/image/run.sh           buildah is installed where there is none and Debian has it
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
    echo "image: $*" >&2
    exit 1
}

if ! command -v buildah >/dev/null; then
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || fail "install buildah, from the package of that name"
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends buildah
fi
[ -z "$(git status --porcelain)" ] || fail "something is not committed: the two clones would be without it"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Names of different length: a path that got into the program would move what is behind it.
for clone in a another-one; do
    git clone --quiet . "$folder/$clone"
    # What cargo makes is beside the sources, so nothing is shared but the crates.
    (cd "$folder/$clone" && env -u CARGO_TARGET_DIR make image)
done
program() { echo "$folder/$1/target/x86_64-unknown-linux-gnu/release/jobshape"; }
cmp "$(program a)" "$(program another-one)" || fail "the two programs differ"
cmp "$folder/a/target/image/digest" "$folder/another-one/target/image/digest" || fail "the two images differ"

if grep --quiet --binary-files=text --fixed-strings "$folder" "$(program a)"; then
    fail "the program names the folder that it was built in"
fi
if readelf --program-headers "$(program a)" | grep --quiet INTERP; then
    fail "the program asks for a loader, which the image has not"
fi

image=$folder/image
mkdir "$image" "$folder/root"
tar -xf "$folder/a/target/image/jobshape.oci.tar" -C "$image"
blob() { echo "$image/blobs/sha256/${1#sha256:}"; }
digest() { grep --only-matching 'sha256:[0-9a-f]*' <<<"$1" | sed -n "${2}p"; }
manifest=$(blob "$(digest "$(cat "$image/index.json")" 1)")
config=$(blob "$(digest "$(cat "$manifest")" 1)")
layers=$(grep --only-matching 'sha256:[0-9a-f]*' "$manifest" | tail -n +2)
[ "$(wc -w <<<"$layers")" -eq 1 ] || fail "one layer was expected: $layers"
tar -xzf "$(blob "$layers")" -C "$folder/root"
found=$(cd "$folder/root" && find . -mindepth 1)
[ "$found" = ./jobshape ] || fail "it holds more than the program: $found"
revision=$(git rev-parse HEAD)
for expected in '"User":"65532:65532"' '"Entrypoint":["/jobshape"]' "\"org.opencontainers.image.revision\":\"$revision\""; do
    grep --quiet --fixed-strings "$expected" "$config" || fail "its configuration has no $expected: $(cat "$config")"
done

version=$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)
said=$(chroot --userspec=65532:65532 "$folder/root" /jobshape --version)
[ "$said" = "jobshape $version" ] || fail "its entry point says: $said"
echo "image: $(cat "$folder/a/target/image/digest"), program $(sha256sum "$(program a)" | cut -c -16)…, both built twice; $said"
