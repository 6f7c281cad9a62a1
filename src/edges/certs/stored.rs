//! The two Secrets and the configuration, as JSON, and what they mean.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::authority::{self, Made};
use super::state::seen::{Authority, Configuration, Serving, Signer, Trusted};

const SIGNER: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next.crt", "next.key"];
const PREVIOUS: &str = "previous.crt";

/// What [`kubernetes.io/tls`](https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets)
/// calls them, and every program that reads such a Secret.
const LEAF: [&str; 2] = ["tls.crt", "tls.key"];
const BUNDLE: &str = "ca.crt";

/// A text in a Secret; empty if there is none.
fn text(secret: &Value, key: &str) -> String {
    let bytes = STANDARD.decode(secret["data"][key].as_str().unwrap_or_default());
    bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

fn signer(secret: &Value, [certificate, key]: [&str; 2]) -> Option<Signer> {
    authority::signer(&text(secret, certificate), &text(secret, key))
}

/// The authorities of a Secret, if anybody in it can sign. One without its key signs nothing more,
/// and what it signed may still be shown.
#[must_use]
pub fn authority(secret: &Value) -> Option<Authority> {
    let (signer, next) = (signer(secret, SIGNER), signer(secret, NEXT));
    let mut previous = authority::trusted(&text(secret, PREVIOUS));
    if signer.is_none() {
        let keyless = authority::trusted(&text(secret, SIGNER[0]));
        previous
            .extend(keyless.into_iter().filter(|one| !previous.contains(one)).collect::<Vec<_>>());
    }
    Authority { signer, next, previous }.if_whole()
}

/// Every certificate of a Secret that others may chain to, where nobody in it can sign.
#[must_use]
pub fn traces(secret: &Value) -> String {
    [SIGNER[0], PREVIOUS, BUNDLE].map(|key| text(secret, key) + "\n").concat()
}

/// Who signed the certificate of a Secret, if it is one of those that API servers are told to trust.
#[must_use]
pub fn stranger(secret: &Value, configuration: &Configuration) -> Option<Trusted> {
    let Configuration::Entries(bundles) = configuration else { return None };
    let trusted = authority::trusted(&bundles.join("\n"));
    let [certificate, key] = LEAF.map(|key| text(secret, key));
    let by = authority::served(&certificate, &key, &[], trusted.iter())?.by?;
    trusted.into_iter().find(|trusted| trusted.fingerprint == by)
}

/// The data of a Secret with these authorities.
#[must_use]
pub fn authority_data(authority: &Authority) -> Vec<(&'static str, String)> {
    let mut data = vec![];
    for (signer, [certificate, key]) in [(&authority.signer, SIGNER), (&authority.next, NEXT)] {
        if let Some(signer) = signer {
            data.push((certificate, signer.certificate.pem.clone()));
            data.push((key, signer.key.clone()));
        }
    }
    if !authority.previous.is_empty() {
        let pems = authority.previous.iter().map(|trusted| trusted.pem.as_str());
        data.push((PREVIOUS, pems.collect()));
    }
    data
}

/// What a Secret has for the replicas.
#[must_use]
pub fn serving(secret: &Value, names: &[String], authority: Option<&Authority>) -> Serving {
    let [certificate, key] = LEAF.map(|key| text(secret, key));
    let known = authority.into_iter().flat_map(Authority::trusted);
    Serving {
        leaf: authority::served(&certificate, &key, names, known),
        bundle: text(secret, BUNDLE),
    }
}

/// The data of a Secret with a new certificate.
#[must_use]
pub fn serving_data(made: Made, bundle: String) -> Vec<(&'static str, String)> {
    vec![(LEAF[0], made.certificate), (LEAF[1], made.key), (BUNDLE, bundle)]
}

/// The same certificate with another bundle.
#[must_use]
pub fn with_bundle(secret: &Value, bundle: String) -> Vec<(&'static str, String)> {
    let [certificate, key] = LEAF.map(|key| (key, text(secret, key)));
    vec![certificate, key, (BUNDLE, bundle)]
}

/// A Secret with exactly this data, and everything else as it is.
#[must_use]
pub fn with_data(mut secret: Value, data: &[(&str, String)]) -> Value {
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), json!(STANDARD.encode(text))));
    secret["data"] = Value::Object(data.collect());
    secret
}

/// A new Secret.
#[must_use]
pub fn secret(namespace: &str, name: &str, kind: &str, data: &[(&str, String)]) -> Value {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {
                "app.kubernetes.io/name": "jobshape",
                "app.kubernetes.io/component": "certificates",
                "app.kubernetes.io/managed-by": super::MANAGER,
            },
        },
        "type": kind,
    });
    with_data(secret, data)
}

/// What the configuration says; none if there is no such object.
#[must_use]
pub fn configuration(object: Option<&Value>) -> Configuration {
    let webhooks = object.and_then(|object| object["webhooks"].as_array());
    let bundle = |webhook: &Value| {
        let bytes =
            webhook["clientConfig"]["caBundle"].as_str().and_then(|b| STANDARD.decode(b).ok());
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    };
    match webhooks {
        Some(webhooks) if !webhooks.is_empty() => {
            Configuration::Entries(webhooks.iter().map(bundle).collect())
        }
        _ => Configuration::Absent,
    }
}

/// What makes this bundle the one of each entry: nothing else is touched, and nothing at all if the
/// object is not any more what it was when it was read.
#[must_use]
pub fn publish(object: &Value, bundle: &str) -> Value {
    let bundle = STANDARD.encode(bundle);
    let version = &object["metadata"]["resourceVersion"];
    // Not a test, whose failure would be an invalid request: this makes it a conflict.
    let as_read = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version});
    let count = object["webhooks"].as_array().map_or(0, Vec::len);
    let entries = (0..count).map(|n| {
        json!({"op": "add", "path": format!("/webhooks/{n}/clientConfig/caBundle"), "value": bundle})
    });
    std::iter::once(as_read).chain(entries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_without_its_key_stays_trusted_beside_the_next_one() {
        let life = std::time::Duration::from_secs(9000);
        let [one, two] = [(); 2].map(|()| authority::authority(1_800_000_000, life).unwrap());
        let stored = Authority { signer: Some(one.clone()), next: Some(two), previous: vec![] };
        let written = secret("ns", "name", "Opaque", &authority_data(&stored));
        assert_eq!(authority(&written).as_ref(), Some(&stored));
        let mut keyless = written;
        keyless["data"][SIGNER[1]] = json!("");
        let read = authority(&keyless).unwrap();
        assert_eq!((read.signer, read.next), (None, stored.next));
        assert_eq!(read.previous, [one.certificate]);
        // Nobody knows who signs.
        keyless["data"][SIGNER[0]] = json!("");
        assert_eq!(authority(&keyless), None);
    }

    #[test]
    fn a_configuration_is_only_written_as_it_was_read() {
        let object = json!({"metadata": {"resourceVersion": "7"}, "webhooks": [{}, {}]});
        let patch = publish(&object, "a");
        assert_eq!(
            patch[0],
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"})
        );
        let paths: Vec<&Value> =
            patch.as_array().unwrap().iter().skip(1).map(|p| &p["path"]).collect();
        assert_eq!(
            paths,
            ["/webhooks/0/clientConfig/caBundle", "/webhooks/1/clientConfig/caBundle"]
        );
    }
}
