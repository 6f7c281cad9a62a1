//! Keyed lists: items find each other by key, whatever their order, and a key that stands twice is
//! always a deviation.

use serde_json::{Value, json};

use crate::core::testing::{Job, admits, job, judge, refuses, shape};

/// A list of every keyed kind, with two items each: pointer, items, and the rendered keys.
fn keyed() -> Vec<(&'static str, Value, [&'static str; 2])> {
    let spread = |key: &str, when: &str| json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": {}});
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid});
    vec![
        (
            "worker/env",
            json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            ["worker.env[A]", "worker.env[B]"],
        ),
        (
            "worker/ports",
            json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]),
            ["worker.ports[80/TCP]", "worker.ports[80/UDP]"],
        ),
        (
            "worker/volumeMounts",
            json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a/"}]),
            ["worker.volumeMounts[/a]", "worker.volumeMounts[/a/]"],
        ),
        (
            "worker/volumeDevices",
            json!([{"name": "v", "devicePath": "/a"}, {"name": "v", "devicePath": "/b"}]),
            ["worker.volumeDevices[/a]", "worker.volumeDevices[/b]"],
        ),
        (
            "worker/resources/claims",
            json!([{"name": "c"}, {"name": "c", "request": "r"}]),
            ["worker.resources.claims[c]", "worker.resources.claims[c/r]"],
        ),
        (
            "pod/volumes",
            json!([{"name": "v"}, {"name": "w"}]),
            ["pod.volumes[v]", "pod.volumes[w]"],
        ),
        (
            "pod/imagePullSecrets",
            json!([{"name": "a"}, {"name": "b"}]),
            ["pod.imagePullSecrets[a]", "pod.imagePullSecrets[b]"],
        ),
        (
            "pod/schedulingGates",
            json!([{"name": "a"}, {"name": "b"}]),
            ["pod.schedulingGates[a]", "pod.schedulingGates[b]"],
        ),
        (
            "pod/resourceClaims",
            json!([{"name": "a"}, {"name": "b"}]),
            ["pod.resourceClaims[a]", "pod.resourceClaims[b]"],
        ),
        (
            "pod/topologySpreadConstraints",
            json!([spread("zone", "DoNotSchedule"), spread("zone", "ScheduleAnyway")]),
            [
                "pod.topologySpreadConstraints[zone/DoNotSchedule]",
                "pod.topologySpreadConstraints[zone/ScheduleAnyway]",
            ],
        ),
        (
            "/metadata/ownerReferences",
            json!([owner("u1"), owner("u2")]),
            ["metadata.ownerReferences[u1]", "metadata.ownerReferences[u2]"],
        ),
        (
            "/metadata/finalizers",
            json!(["a.b/c", "d.e/f"]),
            ["metadata.finalizers[a.b/c]", "metadata.finalizers[d.e/f]"],
        ),
    ]
}

fn with(pointer: &str, items: Vec<&Value>) -> Job {
    job().set(pointer, items.into_iter().cloned().collect())
}

#[test]
fn the_order_of_keyed_items_does_not_count() {
    for (pointer, items, _) in keyed() {
        let template = with(pointer, vec![&items[0], &items[1]]);
        let shape = shape(&template, "");
        admits(&shape, &template);
        admits(&shape, &template.reverse(pointer));
    }
}

#[test]
fn an_extra_or_missing_item_is_named_by_its_key() {
    for (pointer, items, [first, second]) in keyed() {
        let (one, two) =
            (with(pointer, vec![&items[0]]), with(pointer, vec![&items[0], &items[1]]));
        refuses(&shape(&one, ""), &two, &[(second, "the template has only")]);
        refuses(&shape(&two, ""), &one, &[(second, "missing")]);
        let swapped = with(pointer, vec![&items[1]]);
        let mut both = [(first, "missing"), (second, "the template")];
        both.sort_unstable();
        refuses(&shape(&one, ""), &swapped, &both);
    }
}

#[test]
fn a_key_that_stands_twice_is_a_deviation() {
    for (pointer, items, [first, _]) in keyed() {
        let shape = shape(&with(pointer, vec![&items[0], &items[1]]), "");
        let twice = with(pointer, vec![&items[0], &items[1], &items[0]]);
        refuses(&shape, &twice, &[(first, "a second entry with the same key")]);
        let thrice = with(pointer, vec![&items[0], &items[0], &items[1], &items[0]]);
        refuses(&shape, &thrice, &[(first, "a second entry"), (first, "a second entry")]);
    }
}

#[test]
fn a_second_entry_is_one_whatever_it_holds() {
    let shape = shape(&job().set("worker/env", json!([{"name": "A", "value": "1"}])), "");
    let second =
        job().set("worker/env", json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]));
    refuses(&shape, &second, &[("worker.env[A]", "a second entry")]);
    // The first of the two is the one that is compared.
    refuses(
        &shape,
        &second.reverse("worker/env"),
        &[("worker.env[A]", "a second entry"), ("worker.env[A].value", "`1`")],
    );
}

#[test]
fn a_port_is_known_by_number_and_protocol() {
    let ports = |items: Value| job().set("worker/ports", items);
    let shape = shape(&ports(json!([{"containerPort": 80}])), "");
    admits(&shape, &ports(json!([{"containerPort": 80, "protocol": "TCP"}])));
    admits(&shape, &ports(json!([{"containerPort": 80, "protocol": ""}])));
    refuses(
        &shape,
        &ports(json!([{"containerPort": 80, "hostPort": 80}])),
        &[("worker.ports[80/TCP].hostPort", "nothing here")],
    );
    let spelled_out =
        ports(json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]));
    refuses(&shape, &spelled_out, &[("worker.ports[80/TCP]", "a second entry")]);
}

#[test]
fn what_is_no_item_is_extra() {
    let shape = shape(&job().set("worker/env", json!([{"name": "A", "value": "1"}])), "");
    let findings = judge(&shape, &job().set("worker/env", json!(["A", 1, null])));
    assert_eq!(findings.count, 4);
    let extra: Vec<&str> = findings.findings.iter().map(|f| f.pointer.as_str()).collect();
    let env = "/spec/template/spec/containers/0/env";
    assert_eq!(extra, [format!("{env}/0"), format!("{env}/1"), format!("{env}/2"), env.to_owned()]);
}

#[test]
fn a_key_of_a_map_that_stands_twice_is_a_deviation() {
    let shape = shape(&job().set("pod/nodeSelector", json!({"a": "1"})), "");
    let text = job().set("pod/nodeSelector", json!({"a": "1"})).0.to_string();
    let find = |from: &str, to: &str| {
        use crate::formats::json::{Duplicates, Skip, read};
        let text = text.replace(from, to);
        let node = read(&text, Skip::Job, Duplicates::Keep).unwrap();
        let findings = crate::core::judge::judge_one(&shape, shape.first(), &node, "ns");
        let said = findings.findings.iter().map(|f| (f.path.clone(), f.message.to_string()));
        said.collect::<Vec<_>>()
    };
    assert_eq!(find("", ""), []);
    let second = "a second entry with the same key; the template has one".to_owned();
    let selector = "spec.template.spec.nodeSelector";
    assert_eq!(
        find(r#"{"a":"1"}"#, r#"{"a":"1","a":"2"}"#),
        [(format!("{selector}.a"), second.clone())]
    );
    let image = r#""image":"registry.example/worker:1""#;
    let twice = format!("{image},{image}");
    let path = "spec.template.spec.containers[worker].image".to_owned();
    assert_eq!(find(image, &twice), [(path, second)]);
}
