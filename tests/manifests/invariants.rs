//! What holds in every combination, whoever patches it next.

use serde_json::{Value, json};

use super::built::{Built, all};
use super::{named, of_kind, read};

const NAMESPACE: &str = "jobshape-system";

fn configuration(built: &Built) -> &Value {
    named(&built.objects, "ValidatingWebhookConfiguration", "jobshape")
}

fn deployments(built: &Built) -> Vec<&Value> {
    of_kind(&built.objects, "Deployment")
}

/// The Pods of a Deployment.
fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

fn container(deployment: &Value) -> &Value {
    &pod(deployment)["containers"][0]
}

fn arguments(deployment: &Value) -> Vec<&str> {
    container(deployment)["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_configuration_selects_by_name_and_nothing_else() {
    for built in all() {
        let configuration = configuration(built);
        let webhooks = configuration["webhooks"].as_array().unwrap();
        let audits = built.of.contains("audit-first");
        let [entry] = &webhooks[..] else { panic!("{}: {configuration}", built.of) };
        let (path, policy) =
            if audits { ("/validate/audit", "Ignore") } else { ("/validate/enforce", "Fail") };
        // The whole entry: whatever is added to it has to be added here.
        let expected = json!({
            "name": if audits { "audit.jobshape.dev" } else { "enforce.jobshape.dev" },
            "clientConfig": {"service": {"name": "jobshape", "namespace": NAMESPACE, "path": path, "port": 443}},
            "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs", "cronjobs"],
                "operations": ["CREATE", "UPDATE"], "scope": "Namespaced"}],
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["pm-agent"]}]},
            "failurePolicy": policy,
            "matchPolicy": "Equivalent",
            "sideEffects": "NoneOnDryRun",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
        });
        assert_eq!(*entry, expected, "{}", built.of);
        let annotations = &configuration["metadata"]["annotations"];
        let by_cert_manager = built.of.starts_with("cert-manager");
        let injected =
            annotations["cert-manager.io/inject-ca-from"] == "jobshape-system/jobshape-tls";
        assert_eq!(injected, by_cert_manager, "{}", built.of);
        let enforcer = annotations["admissions.enforcer/disabled"] == "true";
        assert_eq!(enforcer, built.has("aks"), "{}", built.of);
        assert_eq!(annotations["jobshape.dev/lowered-to"] == "Audit", audits, "{}", built.of);
    }
}

#[test]
fn every_namespaced_object_is_in_the_one_namespace() {
    let of_the_cluster = [
        "ClusterRole",
        "ClusterRoleBinding",
        "Namespace",
        "PriorityClass",
        "ValidatingWebhookConfiguration",
    ];
    for object in all().iter().flat_map(|built| &built.objects) {
        let kind = object["kind"].as_str().unwrap();
        let namespace = &object["metadata"]["namespace"];
        let expected = if of_the_cluster.contains(&kind) { Value::Null } else { json!(NAMESPACE) };
        assert_eq!(*namespace, expected, "{kind} {}", object["metadata"]["name"]);
        let labels = &object["metadata"]["labels"];
        let rendered = ["ValidatingWebhookConfiguration", "ConfigMap"].contains(&kind);
        assert!(rendered || labels["app.kubernetes.io/name"] == "jobshape", "{kind}: {labels}");
    }
}

/// The rights of the account that reads what anybody sends, word for word.
#[test]
fn whoever_serves_may_write_its_lease_and_nothing_else() {
    for built in all() {
        let bound: Vec<&Value> = built
            .objects
            .iter()
            .filter(|object| {
                let subjects = object["subjects"].as_array();
                subjects.is_some_and(|subjects| subjects.iter().any(|s| s["name"] == "jobshape"))
            })
            .collect();
        let [binding] = &bound[..] else { panic!("{}: {bound:?}", built.of) };
        assert_eq!(
            (&binding["kind"], &binding["roleRef"]["kind"]),
            (&json!("RoleBinding"), &json!("Role"))
        );
        let role = named(&built.objects, "Role", binding["roleRef"]["name"].as_str().unwrap());
        let leases = json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "verbs": ["create", "get", "update", "patch"]}]);
        assert_eq!(role["rules"], leases);
        let subjects = binding["subjects"].as_array().unwrap();
        assert_eq!(subjects.len(), 1, "{binding}");
        for account in of_kind(&built.objects, "ServiceAccount") {
            assert_eq!(account["automountServiceAccountToken"], false);
        }
        // Nothing secret is committed.
        assert!(of_kind(&built.objects, "Secret").is_empty(), "{}", built.of);
        assert!(!built.text.contains("PRIVATE KEY") && !built.text.contains("BEGIN CERT"));
    }
}

#[test]
fn a_rollout_a_node_and_a_stop_leave_a_replica() {
    for built in all() {
        let deployment = named(&built.objects, "Deployment", "jobshape");
        let spec = &deployment["spec"];
        assert_eq!(spec["replicas"], 2);
        let rolling = match built.has("eks-overlay") {
            // Where each node has one port, two nodes hold no third replica.
            true => json!({"maxUnavailable": 1, "maxSurge": 0}),
            false => json!({"maxUnavailable": 0, "maxSurge": 1}),
        };
        assert_eq!(spec["strategy"]["rollingUpdate"], rolling, "{}", built.of);
        let budget = named(&built.objects, "PodDisruptionBudget", "jobshape");
        assert_eq!(budget["spec"]["maxUnavailable"], 1);
        assert_eq!(budget["spec"]["unhealthyPodEvictionPolicy"], "AlwaysAllow");
        let service = named(&built.objects, "Service", "jobshape");
        let labels = spec["template"]["metadata"]["labels"].as_object().unwrap();
        for selector in [
            &budget["spec"]["selector"]["matchLabels"],
            &service["spec"]["selector"],
            &spec["selector"]["matchLabels"],
        ] {
            let selector = selector.as_object().unwrap();
            assert!(
                selector.iter().all(|(key, value)| labels.get(key) == Some(value)),
                "{}: {selector:?}",
                built.of
            );
            assert_eq!(selector.len(), 2);
        }
        let pod = pod(deployment);
        // Lame duck and drain are 10 s each unless somebody says otherwise, and the logs have 2 s.
        assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() >= 25);
        assert!(
            !arguments(deployment)
                .iter()
                .any(|a| a.starts_with("--lame-duck") || a.starts_with("--drain"))
        );
        let keys: Vec<&Value> = pod["topologySpreadConstraints"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["topologyKey"])
            .collect();
        assert_eq!(keys, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
        let class = named(&built.objects, "PriorityClass", "jobshape");
        assert!(class["value"].as_u64().unwrap() < 2_000_000_000, "a system class");
        assert_eq!(pod["priorityClassName"], "jobshape");
    }
}

#[test]
fn every_port_is_the_one_that_is_listened_on() {
    for built in all() {
        let deployment = named(&built.objects, "Deployment", "jobshape");
        let asked = |flag: &str| {
            let given = arguments(deployment).into_iter().find_map(|a| a.strip_prefix(flag))?;
            given.rsplit(':').next()?.parse::<u64>().ok()
        };
        let ports = container(deployment)["ports"].as_array().unwrap();
        let port = |name: &str| {
            let found = ports.iter().find(|port| port["name"] == name);
            found.and_then(|port| port["containerPort"].as_u64())
        };
        assert_eq!(port("webhook"), Some(asked("--listen=").unwrap_or(8443)), "{}", built.of);
        assert_eq!(
            port("operations"),
            Some(asked("--ops-listen=").unwrap_or(8080)),
            "{}",
            built.of
        );
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            assert_eq!(container(deployment)[probe]["httpGet"]["port"], "operations");
        }
        let service = named(&built.objects, "Service", "jobshape");
        let only = json!([{"name": "webhook", "port": 443, "targetPort": "webhook", "appProtocol": "https"}]);
        assert_eq!(service["spec"]["ports"], only);
        assert_eq!(service["spec"]["publishNotReadyAddresses"], false);
        // A proxy of a mesh is kept away from every port that is listened on.
        if built.has("mesh") {
            let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
            let skipped = annotations["config.linkerd.io/skip-inbound-ports"].as_str().unwrap();
            let host = built.has("eks-overlay");
            let skips = |port: Option<u64>| skipped.split(',').any(|s| s.parse().ok() == port);
            assert!(host || (skips(port("webhook")) && skips(port("operations"))), "{}", built.of);
        }
    }
}

#[test]
fn every_container_is_restricted_and_of_one_image() {
    let image = format!("jobshape:{}", env!("CARGO_PKG_VERSION"));
    for built in all() {
        for deployment in deployments(built) {
            let (pod, container) = (pod(deployment), container(deployment));
            assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
            assert_eq!(container["image"], image);
            let ids = ["runAsUser", "runAsGroup"].map(|key| &pod["securityContext"][key]);
            let expected = if built.has("openshift") { Value::Null } else { json!(65532) };
            assert_eq!(ids, [&expected, &expected], "{}", built.of);
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
            let expected = json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]}});
            assert_eq!(container["securityContext"], expected, "{}", built.of);
            let resources = &container["resources"];
            assert!(
                resources["limits"]["memory"].is_string()
                    && resources["requests"]["cpu"].is_string()
            );
            assert_eq!(
                resources["limits"]["cpu"],
                Value::Null,
                "a webhook that is throttled is late"
            );
        }
        let namespace = named(&built.objects, "Namespace", NAMESPACE);
        let level = if built.has("eks-overlay") { "privileged" } else { "restricted" };
        assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], level);
    }
    // The figure is that of the page which says where it is from.
    let limit = all().iter().map(|b| named(&b.objects, "Deployment", "jobshape"));
    for deployment in limit {
        assert_eq!(container(deployment)["resources"]["limits"]["memory"], "384Mi");
    }
    assert!(read("docs/faults.md").contains("384 MiB is the memory that a replica gets"));
}

#[test]
fn what_changes_is_mounted_as_a_folder() {
    for built in all() {
        let deployment = named(&built.objects, "Deployment", "jobshape");
        let mounts = container(deployment)["volumeMounts"].as_array().unwrap();
        assert_eq!(mounts.len(), 2);
        for mount in mounts {
            assert_eq!((&mount["subPath"], &mount["subPathExpr"]), (&Value::Null, &Value::Null));
        }
        let volumes = pod(deployment)["volumes"].as_array().unwrap();
        let secret = volumes.iter().find(|volume| volume["name"] == "tls").unwrap();
        assert_eq!(secret["secret"]["secretName"], "jobshape-tls");
        assert_eq!(secret["secret"]["optional"], true);
        let shapes = volumes.iter().find(|volume| volume["name"] == "shapes").unwrap();
        let config_map = shapes["configMap"]["name"].as_str().unwrap();
        named(&built.objects, "ConfigMap", config_map);
    }
}
