//! What a shape leaves open: optional places, values besides the template's, unpinned places, and
//! the parents that must stand there for them.

use serde_json::{Value, json};

use crate::core::testing::{admits, job, refuses, shape};

#[test]
fn an_optional_field_may_be_left_out_but_not_changed() {
    let template = job().set("/spec/ttlSecondsAfterFinished", json!(300));
    let pinned = shape(&template, "");
    let open = shape(&template, "optional: [$.spec.ttlSecondsAfterFinished]");
    refuses(&pinned, &job(), &[("spec.ttlSecondsAfterFinished", "missing")]);
    admits(&open, &job());
    admits(&open, &template);
    let other = job().set("/spec/ttlSecondsAfterFinished", json!(301));
    refuses(&open, &other, &[("spec.ttlSecondsAfterFinished", "300")]);
}

#[test]
fn optional_items_and_map_entries_may_be_left_out() {
    let template = job()
        .set("worker/env", json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]))
        .set("/metadata/annotations", json!({"a.b/c": "1", "d": "2"}));
    let open = shape(
        &template,
        "optional:\n- \"$.spec.template.spec.containers[?@.name=='worker'].env[?@.name=='A']\"\n- $.metadata.annotations['a.b/c']",
    );
    admits(&open, &template);
    admits(&open, &template.clone().remove("worker/env/0"));
    admits(&open, &template.clone().remove("/metadata/annotations/a.b~1c"));
    let other = template.clone().set("worker/env/0/value", json!("3"));
    refuses(&open, &other, &[("worker.env[A].value", "`1`")]);
    refuses(&open, &template.clone().remove("worker/env/1"), &[("worker.env[B]", "missing")]);
    refuses(
        &open,
        &template.remove("/metadata/annotations/d"),
        &[("metadata.annotations.d", "missing")],
    );
}

#[test]
fn an_optional_list_may_be_left_out_whole() {
    let template = job().set("pod/imagePullSecrets", json!([{"name": "a"}, {"name": "b"}]));
    let open = shape(&template, "optional: [$.spec.template.spec.imagePullSecrets]");
    admits(&open, &job());
    admits(&open, &job().set("pod/imagePullSecrets", json!([])));
    let one = template.remove("pod/imagePullSecrets/0");
    refuses(&open, &one, &[("pod.imagePullSecrets[a]", "missing")]);
}

#[test]
fn a_value_besides_the_templates_is_accepted_exactly() {
    let open = shape(&job(), "optional: [{path: \"$.metadata.annotations['a.b/c']\", value: x}]");
    let of = |annotations: Value| job().set("/metadata/annotations", annotations);
    admits(&open, &job());
    admits(&open, &of(json!({})));
    admits(&open, &of(json!({"a.b/c": "x"})));
    refuses(&open, &of(json!({"a.b/c": "y"})), &[("metadata.annotations[a.b/c]", "nothing here")]);
    refuses(
        &open,
        &of(json!({"a.b/c": "x", "d": "y"})),
        &[("metadata.annotations.d", "nothing here")],
    );
    refuses(&open, &of(json!({"d": "y"})), &[("metadata.annotations.d", "nothing here")]);

    // Where the template has a value, absence is still a deviation.
    let template = of(json!({"a.b/c": "z"}));
    let other =
        shape(&template, "optional: [{path: \"$.metadata.annotations['a.b/c']\", value: x}]");
    admits(&other, &template);
    admits(&other, &of(json!({"a.b/c": "x"})));
    refuses(&other, &of(json!({"a.b/c": "y"})), &[("metadata.annotations[a.b/c]", "`z`")]);
    refuses(&other, &job(), &[("metadata.annotations", "missing")]);
}

#[test]
fn another_value_of_a_field_that_the_server_fills() {
    let open = shape(
        &job(),
        "optional: [{path: $.spec.suspend, value: true}, {path: $.spec.backoffLimit, value: 3}]",
    );
    for value in [json!(true), json!(false), json!(null)] {
        admits(&open, &job().set("/spec/suspend", value));
    }
    for value in [json!(3), json!(6)] {
        admits(&open, &job().set("/spec/backoffLimit", value));
    }
    admits(&open, &job());
    refuses(&open, &job().set("/spec/suspend", json!("true")), &[("spec.suspend", "a boolean")]);
    for value in [0, 4] {
        refuses(
            &open,
            &job().set("/spec/backoffLimit", json!(value)),
            &[("spec.backoffLimit", "6")],
        );
    }
}

#[test]
fn a_whole_item_besides_the_templates() {
    let path = "$.spec.template.spec.containers[?@.name=='worker'].env[?@.name=='DEBUG']";
    let open = shape(
        &job().set("worker/env", json!([{"name": "A", "value": "1"}])),
        &format!("optional: [{{path: \"{path}\", value: {{name: DEBUG, value: '1'}}}}]"),
    );
    let env = |items: Value| job().set("worker/env", items);
    let (a, debug) = (json!({"name": "A", "value": "1"}), json!({"name": "DEBUG", "value": "1"}));
    admits(&open, &env(json!([a])));
    admits(&open, &env(json!([a, debug])));
    admits(&open, &env(json!([debug, a])));
    let wrong = json!({"name": "DEBUG", "value": "2"});
    refuses(&open, &env(json!([a, wrong])), &[("worker.env[DEBUG]", "the template has only")]);
    refuses(&open, &env(json!([a, debug, debug])), &[("worker.env[DEBUG]", "a second entry")]);
}

#[test]
fn a_subtree_is_accepted_with_the_servers_defaults_in_it() {
    let secret = "{name: s, secret: {secretName: x}}";
    let open = shape(
        &job(),
        &format!(
            "optional: [{{path: \"$.spec.template.spec.volumes[?@.name=='s']\", value: {secret}}}]"
        ),
    );
    let volumes =
        |source: Value| job().set("pod/volumes", json!([{"name": "s", "secret": source}]));
    admits(&open, &job());
    admits(&open, &volumes(json!({"secretName": "x"})));
    admits(&open, &volumes(json!({"secretName": "x", "defaultMode": 420})));
    let path = [("pod.volumes[s]", "nothing here")];
    refuses(&open, &volumes(json!({"secretName": "x", "defaultMode": 511})), &path);
    refuses(&open, &volumes(json!({"secretName": "y"})), &path);
}

#[test]
fn parents_may_stand_there_for_what_they_hold_and_nothing_else() {
    let value = "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: []}]}}";
    let open = shape(
        &job(),
        &format!(
            "optional: [{{path: $.spec.template.spec.affinity.nodeAffinity, value: {value}}}]"
        ),
    );
    let affinity = |value: Value| job().set("pod/affinity", value);
    let node =
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}});
    admits(&open, &job());
    admits(&open, &affinity(json!({"nodeAffinity": node})));
    admits(&open, &affinity(json!(null)));
    // A pointer to a struct keeps its {}.
    refuses(&open, &affinity(json!({})), &[("pod.affinity", "nothing here")]);
    refuses(&open, &affinity(json!({"nodeAffinity": null})), &[("pod.affinity", "nothing here")]);
    refuses(&open, &affinity(json!({"podAffinity": {}})), &[("pod.affinity", "nothing here")]);
    refuses(
        &open,
        &affinity(json!({"nodeAffinity": {}})),
        &[("pod.affinity.nodeAffinity", "nothing here")],
    );
    refuses(
        &open,
        &affinity(json!({"nodeAffinity": node, "podAffinity": {}})),
        &[("pod.affinity.podAffinity", "nothing here")],
    );
}

#[test]
fn what_is_unpinned_is_not_compared() {
    let template = job().set("/metadata/annotations", json!({"a": "1", "b": "2"}));
    let open = shape(
        &template,
        "unpinned: [{path: $.metadata.annotations.a, reason: r}, {path: $.spec.template.spec.nodeSelector, reason: r}]",
    );
    admits(&open, &template);
    admits(&open, &template.clone().set("/metadata/annotations/a", json!("9")));
    admits(&open, &template.clone().remove("/metadata/annotations/a"));
    admits(&open, &template.clone().set("pod/nodeSelector", json!({"disk": "ssd"})));
    let other = template.clone().set("/metadata/annotations/b", json!("9"));
    refuses(&open, &other, &[("metadata.annotations.b", "`2`")]);
    refuses(&open, &template.set("pod/nodeName", json!("n")), &[("pod.nodeName", "nothing here")]);
}

#[test]
fn an_unpinned_field_may_be_there_or_not() {
    let template = job().set("/spec/activeDeadlineSeconds", json!(300));
    let open = shape(
        &template,
        "unpinned:\n- {path: $.spec.activeDeadlineSeconds, reason: r}\n- {path: '$.spec.template.spec.containers[*].imagePullPolicy', reason: r}",
    );
    admits(&open, &job());
    admits(&open, &template);
    admits(&open, &job().set("/spec/activeDeadlineSeconds", json!("x")));
    admits(&open, &template.clone().set("worker/imagePullPolicy", json!("Never")));
    let other = job().set("/spec/ttlSecondsAfterFinished", json!(1));
    refuses(&open, &other, &[("spec.ttlSecondsAfterFinished", "nothing here")]);
}

#[test]
fn unpinned_below_a_struct_that_the_template_lacks() {
    let open = shape(
        &job(),
        "unpinned: [{path: $.spec.template.spec.dnsConfig.nameservers, reason: per cluster}]",
    );
    let dns = |value: Value| job().set("pod/dnsConfig", value);
    admits(&open, &job());
    admits(&open, &dns(json!({"nameservers": ["192.0.2.1"]})));
    refuses(&open, &dns(json!({})), &[("pod.dnsConfig", "nothing here")]);
    refuses(&open, &dns(json!({"searches": ["x"]})), &[("pod.dnsConfig", "nothing here")]);
    refuses(
        &open,
        &dns(json!({"nameservers": ["192.0.2.1"], "searches": ["x"]})),
        &[("pod.dnsConfig.searches", "nothing here")],
    );
}

#[test]
fn unpinned_in_every_item_opens_no_list() {
    let open = shape(
        &job(),
        "unpinned: [{path: '$.spec.template.spec.containers[*].resources', reason: tuned}]",
    );
    admits(&open, &job().set("worker/resources", json!({"limits": {"cpu": "9"}})));
    let second = json!({"name": "x", "image": "x:1", "resources": {"limits": {"cpu": "9"}}});
    refuses(
        &open,
        &job().set("pod/containers/-", second),
        &[("pod.containers[x]", "the template has only")],
    );
    refuses(&open, &job().set("worker/tty", json!(true)), &[("worker.tty", "nothing here")]);
    // Any other entry of a map: all of it.
    let any = shape(&job(), "unpinned: [{path: '$.metadata.annotations[*]', reason: tools}]");
    admits(&any, &job().set("/metadata/annotations", json!({"a": "1", "b": "2"})));
    refuses(
        &any,
        &job().set("/metadata/finalizers", json!(["a.b/c"])),
        &[("metadata.finalizers", "nothing here")],
    );
}
