//! Name, namespace, service account, and what only the server writes.

use serde_json::json;

use crate::core::judge::judge_one;
use crate::core::shape::Shape;
use crate::core::testing::{Job, admits, job, refuses, shape};
use crate::core::tree::Node;

/// Paths of what is found in a request of this namespace.
fn in_namespace(shape: &Shape, job: &Job, namespace: &str) -> Vec<String> {
    let findings = judge_one(shape, shape.first(), &Node::from_json(&job.0), namespace);
    findings.findings.into_iter().map(|f| f.path).collect()
}

fn namespaced(namespace: &str) -> Job {
    job().set("/metadata/namespace", json!(namespace))
}

#[test]
fn the_name_is_the_templates() {
    let shape = shape(&job(), "");
    let named = job().set("/metadata/name", json!("other"));
    refuses(&shape, &named, &[("metadata.name", "the template has `worker` here")]);
    let generated = job().set("/metadata/generateName", json!("worker-"));
    refuses(&shape, &generated, &[("metadata.generateName", "nothing here")]);
}

fn generated(prefix: &str) -> Job {
    job().remove("/metadata/name").set("/metadata/generateName", json!(prefix))
}

#[test]
fn a_generated_name_is_the_prefix_and_five_characters() {
    let shape = shape(&generated("w-"), "");
    let named = |name: &str| generated("w-").set("/metadata/name", json!(name));
    admits(&shape, &generated("w-"));
    admits(&shape, &named("w-abc12"));
    admits(&shape, &named(""));
    for wrong in ["w-", "w-abcd", "w-abcdef", "w-ABCDE", "w-ab-de", "v-abcde", "wabcde", "xw-abcde"]
    {
        refuses(&shape, &named(wrong), &[("metadata.name", "generateName followed by five")]);
    }
    refuses(
        &shape,
        &generated("v-").set("/metadata/name", json!("v-abcde")),
        &[("metadata.generateName", "`w-`")],
    );
    refuses(
        &shape,
        &job().set("/metadata/name", json!("w-abcde")),
        &[("metadata.generateName", "missing"), ("metadata.name", "generateName")],
    );
}

#[test]
fn a_long_prefix_is_cut_to_58_characters() {
    let prefix = "p".repeat(60);
    let shape = shape(&generated(&prefix), "");
    let named = |length: usize| {
        generated(&prefix).set("/metadata/name", json!(format!("{}abcde", "p".repeat(length))))
    };
    admits(&shape, &named(58));
    for wrong in [57, 59, 60] {
        refuses(&shape, &named(wrong), &[("metadata.name", "five characters")]);
    }
}

#[test]
fn with_name_and_generate_name_the_name_is_final() {
    let both = job().set("/metadata/generateName", json!("worker-"));
    let shape = shape(&both, "");
    admits(&shape, &both);
    let named = both.set("/metadata/name", json!("worker-abcde"));
    refuses(&shape, &named, &[("metadata.name", "`worker`")]);
}

#[test]
fn a_template_without_a_namespace_takes_the_requests() {
    let anywhere = shape(&job(), "");
    for namespace in ["ns", "other"] {
        assert!(in_namespace(&anywhere, &job(), namespace).is_empty());
        assert!(in_namespace(&anywhere, &namespaced(namespace), namespace).is_empty());
    }
    let pinned = shape(&namespaced("ns"), "");
    assert!(in_namespace(&pinned, &namespaced("ns"), "ns").is_empty());
    for unnamed in [job(), namespaced(""), job().set("/metadata/namespace", json!(null))] {
        assert!(in_namespace(&pinned, &unnamed, "ns").is_empty());
        assert_eq!(in_namespace(&pinned, &unnamed, "other"), ["metadata.namespace"]);
    }
    assert_eq!(in_namespace(&pinned, &namespaced("other"), "other"), ["metadata.namespace"]);
    assert_eq!(in_namespace(&pinned, &namespaced("other"), "ns"), ["metadata.namespace"]);
}

fn with_account(name: Option<&str>, twin: Option<&str>) -> Job {
    let mut job = job();
    if let Some(name) = name {
        job = job.set("pod/serviceAccountName", json!(name));
    }
    if let Some(twin) = twin {
        job = job.set("pod/serviceAccount", json!(twin));
    }
    job
}

#[test]
fn both_spellings_of_the_service_account_are_one() {
    let templates =
        [(Some("sa"), None), (None, Some("sa")), (Some("sa"), Some("sa")), (Some(""), Some("sa"))];
    for (name, twin) in templates {
        let shape = shape(&with_account(name, twin), "");
        for (name, twin) in templates {
            admits(&shape, &with_account(name, twin));
        }
        let one = [("pod.serviceAccountName", "`sa`")];
        refuses(&shape, &with_account(Some("x"), None), &one);
        refuses(&shape, &with_account(None, Some("x")), &one);
        refuses(&shape, &with_account(Some("x"), Some("x")), &one);
        refuses(&shape, &with_account(Some("x"), Some("sa")), &one);
        refuses(&shape, &job(), &[("pod.serviceAccountName", "missing")]);
        // The name wins, as at the server.
        admits(&shape, &with_account(Some("sa"), Some("x")));
    }
}

#[test]
fn a_template_without_a_service_account_accepts_none() {
    let shape = shape(&job(), "");
    for (name, twin) in [(None, Some("")), (Some(""), None), (Some(""), Some(""))] {
        admits(&shape, &with_account(name, twin));
    }
    refuses(&shape, &with_account(Some("x"), None), &[("pod.serviceAccountName", "nothing here")]);
    refuses(&shape, &with_account(None, Some("x")), &[("pod.serviceAccount", "nothing here")]);
    refuses(
        &shape,
        &with_account(Some("x"), Some("x")),
        &[("pod.serviceAccountName", "nothing here")],
    );
}

/// What only the server writes, at the Job's own metadata.
const OWNED: [&str; 8] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
];

#[test]
fn what_only_the_server_writes_is_not_compared() {
    let plain = shape(&job(), "");
    for key in OWNED.into_iter().filter(|key| *key != "uid") {
        let written = job().set(&format!("/metadata/{key}"), json!("x"));
        admits(&plain, &written);
        let of_written = shape(&written, "");
        admits(&of_written, &job());
    }
    let status = job().set("/status", json!({"succeeded": 1}));
    admits(&plain, &status);
    admits(&shape(&status, ""), &job());
    // A template that was read from a cluster has a uid, and its Jobs have others or none.
    let uid = job().set("/metadata/uid", json!("x"));
    admits(&shape(&uid, ""), &job());
}

#[test]
fn the_same_names_are_ordinary_anywhere_else() {
    let plain = shape(&job(), "");
    for key in OWNED {
        for (place, path) in
            [("/spec/template/metadata", "spec.template.metadata"), ("/spec", "spec"), ("", "")]
        {
            let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            let written = job().set(&format!("{place}/{key}"), json!("x"));
            let said = if place.ends_with("metadata") { "nothing here" } else { "no such field" };
            refuses(&plain, &written, &[(&path, said)]);
        }
    }
    let status = job().set("/spec/template/status", json!({"phase": "Running"}));
    refuses(&plain, &status, &[("spec.template.status", "no such field")]);
    let status = job().set("/metadata/status", json!("x"));
    refuses(&plain, &status, &[("metadata.status", "no such field")]);
}
