//! When a value that stands there is the same as none, by kind and pointer; and what only means
//! the same to whoever reads it.

use serde_json::{Value, json};

use crate::core::testing::{admits, job, refuses, shape};

/// A field of every kind that the server stores the same as absent.
fn absent() -> Vec<(&'static str, Value)> {
    vec![
        // Null, whatever the kind.
        ("/metadata/annotations", json!(null)),
        ("/spec/suspend", json!(null)),
        ("/spec/activeDeadlineSeconds", json!(null)),
        ("pod/affinity", json!(null)),
        ("pod/volumes", json!(null)),
        ("pod/hostNetwork", json!(null)),
        ("worker/env", json!(null)),
        ("worker/securityContext", json!(null)),
        // Empty lists and maps.
        ("/metadata/annotations", json!({})),
        ("/metadata/finalizers", json!([])),
        ("pod/tolerations", json!([])),
        ("pod/nodeSelector", json!({})),
        ("pod/volumes", json!([])),
        ("worker/args", json!([])),
        ("worker/env", json!([])),
        // The zeros of fields that are no pointers.
        ("pod/nodeName", json!("")),
        ("pod/priorityClassName", json!("")),
        ("worker/workingDir", json!("")),
        ("pod/hostNetwork", json!(false)),
        ("worker/stdin", json!(false)),
        ("worker/resources", json!({})),
        ("worker/resources", json!({"limits": {}, "requests": null})),
        // What the server fills in.
        ("/spec/suspend", json!(false)),
        ("pod/securityContext", json!({})),
        ("pod/terminationGracePeriodSeconds", json!(30)),
        ("pod/dnsPolicy", json!("")),
        ("worker/terminationMessagePath", json!("")),
    ]
}

/// A pointer's zero, which is kept.
fn kept() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("/spec/ttlSecondsAfterFinished", "spec.ttlSecondsAfterFinished", json!(0)),
        ("/spec/activeDeadlineSeconds", "spec.activeDeadlineSeconds", json!(0)),
        ("pod/runtimeClassName", "pod.runtimeClassName", json!("")),
        ("pod/affinity", "pod.affinity", json!({})),
        ("pod/dnsConfig", "pod.dnsConfig", json!({})),
        ("pod/automountServiceAccountToken", "pod.automountServiceAccountToken", json!(false)),
        ("worker/securityContext", "worker.securityContext", json!({})),
        ("worker/lifecycle", "worker.lifecycle", json!({})),
        // What the table does not know is compared as it stands.
        ("/spec/brandNew", "spec.brandNew", json!({})),
        ("/spec/brandNew", "spec.brandNew", json!("")),
        ("/spec/brandNew", "spec.brandNew", json!(0)),
        ("/spec/brandNew", "spec.brandNew", json!([])),
        ("/spec/brandNew", "spec.brandNew", json!(false)),
        ("worker/brandNew", "worker.brandNew", json!({"a": [1, null]})),
    ]
}

#[test]
fn what_the_server_stores_as_nothing_is_nothing() {
    let plain = shape(&job(), "");
    for (pointer, value) in absent() {
        admits(&plain, &job().set(pointer, value.clone()));
        let spelled_out = shape(&job().set(pointer, value), "");
        admits(&spelled_out, &job());
    }
    admits(&plain, &job().set("/spec/brandNew", json!(null)));
}

#[test]
fn the_zero_of_a_pointer_is_kept() {
    let plain = shape(&job(), "");
    for (pointer, path, value) in kept() {
        let changed = job().set(pointer, value.clone());
        refuses(&plain, &changed, &[(path, "the template")]);
        let spelled_out = shape(&changed, "");
        admits(&spelled_out, &changed);
        refuses(&spelled_out, &job(), &[(path, "missing")]);
    }
}

#[test]
fn a_pointer_inside_a_struct_that_the_server_fills_in() {
    let root = job().set("pod/securityContext", json!({"runAsUser": 0}));
    let path = "pod.securityContext.runAsUser";
    refuses(&shape(&job(), ""), &root, &[(path, "the template has nothing here")]);
    let of_root = shape(&root, "");
    admits(&of_root, &root);
    let stored = job().set("pod/securityContext", json!({}));
    refuses(&of_root, &stored, &[(path, "missing: the template has 0 here")]);
    refuses(&of_root, &job(), &[("pod.securityContext", "missing")]);
}

#[test]
fn zero_takes_the_default_where_the_field_is_no_pointer() {
    let probe = |rest: Value| {
        let mut probe = json!({"exec": {"command": ["true"]}});
        probe.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        job().set("worker/livenessProbe", probe)
    };
    for template in [probe(json!({})), probe(json!({"periodSeconds": 0}))] {
        let shape = shape(&template, "");
        admits(&shape, &probe(json!({})));
        admits(&shape, &probe(json!({"periodSeconds": 0})));
        admits(&shape, &probe(json!({"periodSeconds": 10, "timeoutSeconds": 1})));
        refuses(
            &shape,
            &probe(json!({"periodSeconds": 1})),
            &[("worker.livenessProbe.periodSeconds", "the server fills in 10")],
        );
    }
    let twenty = shape(&probe(json!({"periodSeconds": 20})), "");
    let path = "worker.livenessProbe.periodSeconds";
    refuses(&twenty, &probe(json!({})), &[(path, "and the server fills in 10")]);
    refuses(&twenty, &probe(json!({"periodSeconds": 0})), &[(path, "and the server fills in 10")]);
}

#[test]
fn nulls_inside_lists_and_maps_are_their_zeros() {
    let template = job()
        .set("worker/args", json!(["a", ""]))
        .set("/metadata/annotations", json!({"a": ""}))
        .set("pod/nodeSelector", json!({"b": ""}));
    let nulls = job()
        .set("worker/args", json!(["a", null]))
        .set("/metadata/annotations", json!({"a": null}))
        .set("pod/nodeSelector", json!({"b": null}));
    for (one, other) in [(&template, &nulls), (&nulls, &template)] {
        let shape = shape(one, "");
        assert_eq!(crate::core::testing::judge(&shape, one).count, 0);
        assert_eq!(crate::core::testing::judge(&shape, other).count, 0);
    }
    let shape = shape(&template, "");
    let without = template.clone().remove("pod/nodeSelector/b");
    refuses(&shape, &without, &[("pod.nodeSelector", "missing")]);
    refuses(&shape, &template.remove("worker/args/1"), &[("worker.args[1]", "missing")]);
}

#[test]
fn a_value_that_only_means_the_default_is_a_deviation_with_a_hint() {
    let plain = shape(&job(), "");
    for (pointer, path, value) in [
        ("pod/enableServiceLinks", "pod.enableServiceLinks", json!(true)),
        ("pod/hostUsers", "pod.hostUsers", json!(true)),
        ("/spec/managedBy", "spec.managedBy", json!("kubernetes.io/job-controller")),
    ] {
        refuses(&plain, &job().set(pointer, value), &[(path, "spelled-out default")]);
    }
    refuses(
        &plain,
        &job().set("pod/hostUsers", json!(false)),
        &[("pod.hostUsers", "nothing here")],
    );
}

#[test]
fn nothing_is_coerced() {
    let template = job()
        .set("/spec/backoffLimit", json!(3))
        .set("pod/hostNetwork", json!(true))
        .set("worker/args", json!(["1"]))
        .set("worker/env", json!([{"name": "A", "value": "1"}]));
    let shape = shape(&template, "");
    for (pointer, path, value, said) in [
        (
            "/spec/backoffLimit",
            "spec.backoffLimit",
            json!("3"),
            "an integer is expected here, not a string",
        ),
        ("/spec/backoffLimit", "spec.backoffLimit", json!(4), "the template has 3 here"),
        (
            "pod/hostNetwork",
            "pod.hostNetwork",
            json!("true"),
            "a boolean is expected here, not a string",
        ),
        ("worker/args/0", "worker.args[0]", json!(1), "a string is expected here, not an integer"),
        (
            "worker/env/0/value",
            "worker.env[A].value",
            json!(1),
            "a string is expected here, not an integer",
        ),
        ("worker/env/0/value", "worker.env[A].value", json!("1.0"), "the template has `1` here"),
        (
            "pod/containers",
            "pod.containers",
            json!({"worker": {}}),
            "a list is expected here, not a map",
        ),
        ("/spec/template", "spec.template", json!([]), "a map is expected here, not a list"),
    ] {
        refuses(&shape, &template.clone().set(pointer, value), &[(path, said)]);
    }
}
