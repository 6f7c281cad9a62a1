#!/bin/sh
# A certificate for the webhook, made with openssl and put where it belongs with kubectl.
#
#   certs/bring-your-own.sh --out DIR                        only files: authority, certificate, Secret, caBundle
#   certs/bring-your-own.sh --out DIR --apply                and in the cluster: trust first, then the Secret
#   certs/bring-your-own.sh --out DIR --forget               later: trust no authority but the one in DIR
#   certs/bring-your-own.sh --out DIR --ca F --ca-key F ...  with an authority that is there
#
# DIR gets private keys: keep it out of the repository. KUBECTL says how kubectl is called.
set -eu
umask 077

namespace=jobshape-system service=jobshape configuration=jobshape secret=jobshape-tls
newline='
'
days=90 authority_days=730 out='' ca='' ca_key='' also='' does=files
KUBECTL=${KUBECTL:-kubectl}

fail() {
    echo "bring-your-own.sh: $1" >&2
    exit 2
}

value() {
    [ $# -ge 2 ] && [ -n "$2" ] || fail "$1 needs a value"
}

while [ $# -gt 0 ]; do
    case $1 in
    --out | --namespace | --service | --configuration | --secret | --days | --ca | --ca-key | --also-for)
        value "$@"
        case $1 in
        --out) out=$2 ;;
        --namespace) namespace=$2 ;;
        --service) service=$2 ;;
        --configuration) configuration=$2 ;;
        --secret) secret=$2 ;;
        --days) days=$2 ;;
        --ca) ca=$2 ;;
        --ca-key) ca_key=$2 ;;
        --also-for) also="$also $2" ;;
        esac
        shift 2
        ;;
    --apply) does=apply && shift ;;
    --forget) does=forget && shift ;;
    *) fail "what is $1? The first lines of this file say what there is" ;;
    esac
done
[ -n "$out" ] || fail "--out DIR is missing: where authority, certificate and keys are kept"
if [ -n "$ca" ] && [ -z "$ca_key" ]; then fail "--ca needs --ca-key, which signs"; fi
if [ -z "$ca" ] && [ -n "$ca_key" ]; then fail "--ca-key needs --ca, the certificate of it"; fi

# Without line breaks, as a configuration holds it; `base64 -w` is not everywhere.
encoded() {
    base64 <"$1" | tr -d '\n'
}

kube() {
    # shellcheck disable=SC2086 # it may have arguments
    $KUBECTL "$@"
}

# Writes the certificates of the files $3 and on to $2, each once; whatever stands there and is none ends it.
# $1 says where they are from.
certificates() {
    whose=$1 bundle=$2 kept=''
    shift 2
    rm -rf "$out/members"
    mkdir "$out/members"
    # Not everybody ends a file with a line break: an END and the BEGIN behind it may share a line.
    for file in "$@"; do cat "$file" && echo; done | awk -v folder="$out/members" '
        { gsub(/----------BEGIN/, "-----\n-----BEGIN"); lines = split($0, line, "\n") }
        { for (i = 1; i <= lines; i++) {
            if (line[i] ~ /^-----BEGIN /) { file = sprintf("%s/%05d", folder, ++n); inside = 1 }
            if (inside) print line[i] >file
            if (line[i] ~ /^-----END /) { if (inside) close(file); inside = 0 }
        } }'
    for member in "$out"/members/*; do
        [ -e "$member" ] || fail "$whose: there is no certificate"
        one=$(openssl x509 -in "$member" 2>"$out/said") ||
            fail "$whose: the PEM block ${member##*/} is no certificate: $(head -n 1 "$out/said")"
        # The same authority twice is no harm to anybody, but it would grow each time.
        case $kept in
        *"$one"*) ;;
        *) kept=$kept$one$newline ;;
        esac
    done
    printf %s "$kept" >"$bundle"
    rm -rf "$out/members" "$out/said"
}

# Whom each entry trusts: $1 is `with` (besides those of now) or `only`.
trust() {
    names=$(kube get validatingwebhookconfiguration "$configuration" -o 'jsonpath={range .webhooks[*]}{.name}{"\n"}{end}')
    [ -n "$names" ] || fail "the ValidatingWebhookConfiguration $configuration has no entry: apply it first"
    patch='' n=0
    for name in $names; do
        : >"$out/before.crt"
        if [ "$1" = with ]; then
            # By itself, not in a pipe: nothing of a call that failed must look like nobody to trust.
            held=$(kube get validatingwebhookconfiguration "$configuration" \
                -o "jsonpath={.webhooks[$n].clientConfig.caBundle}")
            printf %s "$held" | base64 -d >"$out/before.crt" || fail "the caBundle of $name is no base64"
        fi
        certificates "the caBundle of $name with $out/ca.crt" "$out/bundle.crt" "$out/before.crt" "$out/ca.crt"
        entry="/webhooks/$n/clientConfig/caBundle"
        patch="$patch${patch:+,}{\"op\":\"add\",\"path\":\"$entry\",\"value\":\"$(encoded "$out/bundle.crt")\"}"
        n=$((n + 1))
    done
    kube patch validatingwebhookconfiguration "$configuration" --type=json --patch "[$patch]"
    rm "$out/bundle.crt" "$out/before.crt"
}

if [ "$does" = forget ]; then
    [ -s "$out/ca.crt" ] || fail "there is no $out/ca.crt: --out is the folder of --apply"
    trust only
    exit 0
fi

mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -n "$ca" ]; then
    cat "$ca" >"$out/ca.given" && mv "$out/ca.given" "$out/ca.crt"
else
    # The moment is in its name: two of one name and different keys make for errors that nobody understands.
    ca_key=$out/ca.key
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days "$authority_days" \
        -subj "/CN=jobshape authority $(date -u +%Y-%m-%dT%H:%M:%SZ)" \
        -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
        -keyout "$ca_key" -out "$out/ca.crt" 2>"$out/said" || fail "openssl: $(cat "$out/said")"
fi

names="DNS:$service.$namespace.svc,DNS:$service.$namespace.svc.cluster.local,DNS:$service.$namespace,DNS:$service"
for name in $also; do
    # Whatever has a colon, or nothing but digits and dots, is an address.
    case $name in
    *:*) names="$names,IP:$name" ;;
    *[!0-9.]*) names="$names,DNS:$name" ;;
    *) names="$names,IP:$name" ;;
    esac
done
cat >"$out/extensions" <<END
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
subjectAltName=$names
END
{
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$service" \
        -keyout "$out/tls.key" -out "$out/request" &&
        openssl x509 -req -sha256 -days "$days" -in "$out/request" -CA "$out/ca.crt" -CAkey "$ca_key" \
            -set_serial "0x00$(openssl rand -hex 15)" -extfile "$out/extensions" -out "$out/tls.crt" &&
        openssl verify -CAfile "$out/ca.crt" -purpose sslserver "$out/tls.crt"
} >"$out/said" 2>&1 || fail "openssl: $(cat "$out/said")"
rm -f "$out/said" "$out/request" "$out/extensions"

cat >"$out/secret.yaml" <<END
apiVersion: v1
kind: Secret
metadata:
  name: $secret
  namespace: $namespace
type: kubernetes.io/tls
data:
  tls.crt: $(encoded "$out/tls.crt")
  tls.key: $(encoded "$out/tls.key")
END

if [ "$does" = apply ]; then
    # Whoever is shown a certificate must trust it already.
    trust with
    kube apply --server-side --force-conflicts -f "$out/secret.yaml"
    echo "When every replica shows it (jobshape verify says so): $0 --out $out --forget, with the same names."
else
    echo "Secret:   kubectl apply --server-side -f $out/secret.yaml"
    echo "caBundle: $(encoded "$out/ca.crt")"
fi
