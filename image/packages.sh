#!/usr/bin/env bash
# The packages that get into the program, but for jobshape itself, as `NAME VERSION`:
#   image/packages.sh TARGET
# Of what cargo can be asked, only its tree knows which features a build without tests has.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo tree --locked --edges normal --target "$1" --prefix none --format '{p}' |
    sed -E '1d; s/^([^ ]+) v([^ ]+).*/\1 \2/' | LC_ALL=C sort -u
