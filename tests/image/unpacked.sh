#!/usr/bin/env bash
# What is in an image, and that its entry point runs from it: with the image as a read-only root, as the user that it
# names, without a privilege and with no network but loopback.
#   tests/image/unpacked.sh ARCHIVE          as root
set -euo pipefail
readonly archive=$(realpath "$1")
cd "$(dirname "$0")/../.."

fail() {
    echo "image: $*" >&2
    exit 1
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
image=$folder/image root=$folder/root
mkdir "$image" "$root"
tar -xf "$archive" -C "$image"
blob() { echo "$image/blobs/${1/://}"; }
manifest=$(blob "$(jq -r '.manifests[0].digest' "$image/index.json")")
config=$(blob "$(jq -r .config.digest "$manifest")")

# What it says about itself.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
expected=$(jq -n --arg version "$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)" --arg created "$created" \
    --arg revision "${REVISION:-$(git rev-parse HEAD)}" '
    {User: "65532:65532", Entrypoint: ["/jobshape"], ExposedPorts: {"8080/tcp": {}, "8443/tcp": {}}, Labels: ({
        title: "jobshape", description: "A cluster runs exactly the Jobs that were committed, and nothing else.",
        licenses: "Apache-2.0", $version, $revision, $created
    } | with_entries(.key |= "org.opencontainers.image." + .))}')
# No PATH is needed where there is nothing to find.
diff <(jq -S . <<<"$expected") <(jq -S '.config | del(.Env)' "$config") >&2 || fail "these differ, < as it should be, > as it is"
[ "$(jq -r '.created | sub("\\.[0-9]+"; "")' "$config")" = "$created" ] || fail "created at $(jq .created "$config")"

# What it holds: one layer, three files of root, which nobody may write, as old as the commit.
[ "$(jq '.layers | length' "$manifest")" -eq 1 ] || fail "one layer was expected: $(cat "$manifest")"
tar -xzpf "$(blob "$(jq -r '.layers[0].digest' "$manifest")")" --same-owner -C "$root"
held=$(cd "$root" && find . -mindepth 1 -printf '%P %m %U:%G %Ts\n' | sort)
expected="jobshape 755 0:0 $epoch
jobshape.cdx.json 444 0:0 $epoch
licenses.txt 444 0:0 $epoch"
[ "$held" = "$expected" ] || fail "it holds:"$'\n'"$held"$'\n'"and not:"$'\n'"$expected"

# The folders that a kubelet makes for what it mounts.
chmod 755 "$folder" "$root"
mkdir -p "$root"/etc/jobshape/{shapes,tls} "$folder/tls"
touch "$root/etc/hosts"
# Not an authority, as the defaults of openssl would have it: rustls takes none for a server's certificate.
openssl req -x509 -config <(printf '[req]\ndistinguished_name = name\n[name]\n') -newkey ec -pkeyopt ec_paramgen_curve:P-256 \
    -nodes -days 1 -subj /CN=jobshape -addext basicConstraints=critical,CA:FALSE \
    -addext subjectAltName=IP:127.0.0.1,DNS:a-name.example \
    -keyout "$folder/tls/tls.key" -out "$folder/tls/tls.crt" 2>/dev/null
chown 65532:65532 "$folder/tls/"*
echo "127.0.0.1 a-name.example" >"$folder/hosts"

# In namespaces of its own: nothing is left to unmount or to end, and no port can be taken.
export folder root
unshare --mount --net --pid --fork --kill-child --mount-proc bash -euo pipefail <<'INSIDE'
fail() {
    echo "image: $*" >&2
    exit 1
}
ip link set lo up
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --bind -o ro rules/pm-agent "$root/etc/jobshape/shapes"
mount --bind -o ro "$folder/tls" "$root/etc/jobshape/tls"
mount --bind -o ro "$folder/hosts" "$root/etc/hosts"
! touch "$root/etc/written" 2>/dev/null || fail "its root is not read-only"

# What the entry point gets from the Deployment, and nothing of this shell.
in_image="env -i PATH=/usr/sbin:/usr/bin setpriv --no-new-privs chroot --userspec=65532:65532 --groups= $root /jobshape"

version=$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)
said=$($in_image --version)
[ "$said" = "jobshape $version" ] || fail "--version says: $said"

said=$($in_image test /etc/jobshape/shapes 2>&1) || fail "the cases of rules/pm-agent: $said"
grep --quiet --extended-regexp '^[1-9][0-9]+ passed, 0 failed' <<<"$said" || fail "the cases of rules/pm-agent: $said"
said=$($in_image check --shapes /etc/jobshape/shapes - <rules/pm-agent/worker-job-template.yaml 2>&1) && status=0 || status=$?
[ "$status" -eq 1 ] || fail "check of a template that nobody filled in has the status $status: $said"

# As the Deployment starts it, but for --publish, which needs a cluster.
$in_image serve --shapes=/etc/jobshape/shapes --tls-cert=/etc/jobshape/tls/tls.crt --tls-key=/etc/jobshape/tls/tls.key \
    --lame-duck=0s 2>"$folder/log" >&2 &
server=$!
ask() { curl --silent --show-error --max-time 10 --cacert "$folder/tls/tls.crt" "$@"; }
for _ in $(seq 300); do
    ! ask --fail http://127.0.0.1:8080/readyz >/dev/null 2>&1 || break
    kill -0 "$server" 2>/dev/null || fail "serve ended: $(cat "$folder/log")"
    sleep 0.1
done
ask --fail http://127.0.0.1:8080/readyz >/dev/null || fail "serve is not ready: $(cat "$folder/log")"
ask --fail http://127.0.0.1:8080/livez >/dev/null || fail "serve is not alive: $(cat "$folder/log")"

# The process is what the manifests say.
state=$(grep --extended-regexp '^(Uid|Gid|CapEff|CapPrm|NoNewPrivs):' "/proc/$server/status" | tr -s '\t' ' ')
expected="Uid: 65532 65532 65532 65532
Gid: 65532 65532 65532 65532
CapPrm: 0000000000000000
CapEff: 0000000000000000
NoNewPrivs: 1"
[ "$state" = "$expected" ] || fail "it runs as"$'\n'"$state"

# An answer of the webhook to what a real API server sent.
for review in tests/reviews/1.36.3/*.json; do
    answer=$(ask --fail --header 'Content-Type: application/json' --data-binary "@$review" https://127.0.0.1:8443/validate/enforce)
    [ "$(jq -r .response.uid <<<"$answer")" = "$(jq -r .request.uid "$review")" ] || fail "to $review it says $answer"
    jq -r .response.allowed <<<"$answer"
done | sort -u | tr '\n' ' ' >"$folder/answers"
[ "$(cat "$folder/answers")" = "false true " ] || fail "it refused some and admitted some, was expected: $(cat "$folder/answers")"

# A name is found, without the libraries that a program which is not static would load for it: who answers there is no API
# server, but is reached.
jq -n --arg authority "$(base64 --wrap 0 "$folder/tls/tls.crt")" '{apiVersion: "v1", kind: "Config", "current-context": "a",
    users: [{name: "a", user: {}}], contexts: [{name: "a", context: {cluster: "a", user: "a"}}],
    clusters: [{name: "a", cluster: {server: "https://a-name.example:8443", "certificate-authority-data": $authority}}]}
' >"$folder/tls/kubeconfig"
said=$($in_image verify --shapes /etc/jobshape/shapes --kubeconfig /etc/jobshape/tls/kubeconfig 2>&1) && fail "verified without a server"
if ! grep --quiet '^UNKNOWN releases ' <<<"$said" || grep --quiet --fixed-strings '(Connect)' <<<"$said"; then
    fail "a name of /etc/hosts is not reached: $said"
fi

kill -TERM "$server"
wait "$server" || fail "after SIGTERM its status is $?: $(cat "$folder/log")"
INSIDE
echo "image: three files, no shell; --version, test, check, verify and serve run as 65532 with a read-only root"
