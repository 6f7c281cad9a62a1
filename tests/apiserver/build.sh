#!/bin/sh
# Builds a real API server and what belongs to it from Go modules, into bin/VERSION/ beside this
# script. No container engine is needed, only Go. A binary that is there already, in that folder or
# in the one that KUBEBUILDER_ASSETS names, is not built again.
#
#   build.sh                     everything, of the release that the tests ordinarily run against
#   build.sh NAME...             only these: etcd, kube-apiserver, kube-controller-manager, kubectl
#   build.sh --minor 1.37 NAME   of another release: kube-apiserver alone, the rest serves them all
set -eu

here=$(cd "$(dirname "$0")" && pwd)
minor=1.36
if [ "${1:-}" = --minor ]; then
    minor=$2
    shift 2
fi
module=$here/v$minor
if [ ! -f "$module/go.mod" ]; then
    echo "build.sh: no module builds Kubernetes $minor here" >&2
    exit 2
fi
# go.mod is the one place that says which release this is.
version=$(awk '$1 == "k8s.io/kubernetes" { print substr($2, 2) }' "$module/go.mod")
bin=$here/bin/$version

say() { printf '%s\n' "$*" >&2; }

package_of() {
    case $1 in
    etcd) echo go.etcd.io/etcd/server/v3 ;;
    kube-apiserver | kube-controller-manager | kubectl) echo "k8s.io/kubernetes/cmd/$1" ;;
    *)
        say "build.sh: nothing here is called $1"
        exit 2
        ;;
    esac
}

# The shell is the one that knows whether a line may be overwritten, so it counts the seconds.
progress() {
    if [ -t 2 ]; then
        printf '\r\033[K  %s: %s' "$1" "$2" >&2
    elif [ $(($3 % 30)) -eq 0 ] && [ "$3" -gt 0 ]; then
        say "  $1: $2"
    fi
}

build() {
    name=$1
    package=$(package_of "$name")
    temporary=$bin/.$name.$$
    log=$bin/.$name.$$.log
    began=$(date +%s)
    # Without the version flag the server calls itself v0.0.0-master.
    (cd "$module" && CGO_ENABLED=0 exec go build -v -trimpath \
        -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" \
        -o "$temporary" "$package") >"$log" 2>&1 &
    going=$!
    trap 'kill $going 2>/dev/null; rm -f "$temporary" "$log"; exit 130' INT TERM HUP
    while kill -0 "$going" 2>/dev/null; do
        seconds=$(($(date +%s) - began))
        if [ "$seconds" -gt 0 ]; then
            done_so_far=$(grep -vc '^go: ' "$log" || true)
            now=$(tail -n 1 "$log")
            progress "$name" "$seconds s, $done_so_far packages compiled, now ${now:-linking}" "$seconds"
        fi
        sleep 1
    done
    seconds=$(($(date +%s) - began))
    [ ! -t 2 ] || printf '\r\033[K' >&2
    if ! wait "$going"; then
        say "  $name: go build failed after $seconds s:"
        tail -n 20 "$log" >&2
        rm -f "$temporary" "$log"
        exit 1
    fi
    # A rename is atomic: nobody ever finds half a binary, not even a second build beside this one.
    mv "$temporary" "$bin/$name"
    rm -f "$log"
    trap - INT TERM HUP
    say "  $name: built in $seconds s"
}

[ $# -gt 0 ] || set -- etcd kube-apiserver kube-controller-manager kubectl
for name in "$@"; do
    package_of "$name" >/dev/null
done

missing=
for name in "$@"; do
    if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ "$minor" = 1.36 ] && [ -x "$KUBEBUILDER_ASSETS/$name" ]; then
        say "  $name: from KUBEBUILDER_ASSETS, $KUBEBUILDER_ASSETS"
    elif [ -x "$bin/$name" ]; then
        say "  $name: already there"
    else
        missing="${missing:+$missing }$name"
    fi
done
[ -n "$missing" ] || exit 0

if ! command -v go >/dev/null 2>&1; then
    none="no $(echo "$missing" | awk '{ gsub(/ /, ", no "); print }')"
    say "The tests and the demo need a real API server, and there is $none: install Go 1.26 to have it built, or set KUBEBUILDER_ASSETS to a folder that holds it."
    exit 1
fi

say "Building $missing of Kubernetes $version into tests/apiserver/bin/$version."
say "The first time this takes about 5 minutes, nearly all of it kube-apiserver; later seconds."
mkdir -p "$bin"
for name in $missing; do
    build "$name"
done
