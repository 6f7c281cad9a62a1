//! The rights that matter here: a row each.

use crate::core::shape::Shape;
use crate::core::shape::identities::Requester;
use crate::core::shape::template::Of;
use crate::core::shape::{Strictness, document::Operation};
use crate::formats::manifest::Names;

/// Where a right is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// In a namespace.
    Namespace,
    /// In the whole cluster.
    Cluster,
}

/// Something that somebody may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// Any of them is enough; one that ends with a colon stands for all that begin with it.
    pub verbs: &'static [&'static str],
    /// The API group.
    pub group: &'static str,
    /// The resource, a subresource behind a `/`.
    pub resource: &'static str,
    /// The objects that it is about, any of them; nothing: all.
    pub names: Vec<String>,
    /// Verbs and a resource of the same group without which it is worth nothing.
    pub also: Option<(&'static [&'static str], &'static str)>,
    /// Where.
    pub place: Where,
    /// What it allows, behind "may": a verb and an object.
    pub says: &'static str,
}

const ANY: &[&str] = &["get", "create", "update", "patch", "delete"];
const CREATE: &[&str] = &["create"];
/// A WebSocket is opened by GET.
const OPEN: &[&str] = &["create", "get"];
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "update", "patch"];
const CHANGE: &[&str] = &["update", "patch"];
const DELETE: &[&str] = &["delete", "deletecollection"];
const TAKE: &[&str] = &["update", "patch", "delete", "deletecollection"];
const ACT_AS: &[&str] = &["impersonate"];
/// Constrained impersonation (Kubernetes 1.36). What it may then be used for stands in another rule,
/// and is not looked at.
const ACT_AS_IN_PART: &[&str] = &["impersonate:"];

const ADMISSION: &str = "admissionregistration.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const fn right(
    verbs: &'static [&'static str],
    group: &'static str,
    resource: &'static str,
    place: Where,
    says: &'static str,
) -> Right {
    Right { verbs, group, resource, names: vec![], also: None, place, says }
}

/// What runs a Pod that no shape is asked about, or takes over one that runs.
#[must_use]
pub fn other_ways() -> Vec<Right> {
    use Where::{Cluster as C, Namespace as N};
    let tokens = right(CREATE, "", "secrets", N, "may make and read Secrets with tokens");
    vec![
        right(CREATE, "", "pods", N, "may create Pods"),
        right(CHANGE, "", "pods", N, "may change Pods"),
        right(CHANGE, "", "pods/ephemeralcontainers", N, "may put containers into running Pods"),
        right(OPEN, "", "pods/exec", N, "may run commands in Pods"),
        right(OPEN, "", "pods/attach", N, "may attach to Pods"),
        // The kubelet runs commands for whoever reaches it.
        right(ANY, "", "nodes/proxy", C, "may reach the kubelets"),
        right(WRITE, "apps", "deployments", N, "may write Deployments"),
        right(WRITE, "apps", "statefulsets", N, "may write StatefulSets"),
        right(WRITE, "apps", "daemonsets", N, "may write DaemonSets"),
        right(WRITE, "apps", "replicasets", N, "may write ReplicaSets"),
        right(WRITE, "", "replicationcontrollers", N, "may write ReplicationControllers"),
        right(CREATE, "", "serviceaccounts/token", N, "may make tokens of service accounts"),
        Right { also: Some((READ, "secrets")), ..tokens },
        right(CHANGE, "batch", "jobs/status", N, "may change the status of Jobs"),
        right(WRITE, RBAC, "rolebindings", N, "may bind roles"),
        right(&["bind"], RBAC, "roles", N, "may bind any role"),
        right(&["escalate"], RBAC, "roles", N, "may give roles more rights than its own"),
        right(ACT_AS, "", "serviceaccounts", N, "may act as service accounts"),
        right(
            ACT_AS_IN_PART,
            AUTHENTICATION,
            "serviceaccounts",
            N,
            "may act in part as service accounts",
        ),
    ]
}

/// What a shape may be asked about.
#[must_use]
pub fn submitting() -> [Right; 2] {
    [right(WRITE, "batch", "jobs", Where::Namespace, "may write Jobs"), cron_jobs()]
}

/// What runs a Job whenever it is time.
#[must_use]
pub fn cron_jobs() -> Right {
    right(WRITE, "batch", "cronjobs", Where::Namespace, "may write CronJobs")
}

/// What becomes of a CronJob that somebody submits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CronJobs {
    /// A template says what it may be.
    Pinned,
    /// The shapes have templates of Jobs only, and refuse it.
    Refused,
    /// Nothing keeps it out.
    Free,
}

impl CronJobs {
    /// As the shapes of a namespace have it.
    pub fn of<'s>(shapes: impl Iterator<Item = &'s Shape>, requester: &Requester<'_>) -> CronJobs {
        let refuses = |shape: &Shape| {
            shape.strictness() == Strictness::Rest
                && shape.operations.contains(&Operation::Create)
                && shape.operations.contains(&Operation::Update)
                && shape.is_for(Some(requester))
                && !shape.exempts(Some(requester))
        };
        let with_templates: Vec<&Shape> = shapes.filter(|shape| !shape.is_guard()).collect();
        let mut templates = with_templates.iter().flat_map(|shape| &shape.templates);
        if templates.any(|template| template.of == Of::CronJob) {
            CronJobs::Pinned
        } else if !with_templates.is_empty() && with_templates.iter().all(|shape| refuses(shape)) {
            CronJobs::Refused
        } else {
            CronJobs::Free
        }
    }
}

/// What gives the rights of any account that a namespace has.
#[must_use]
pub fn taking_over() -> Vec<Right> {
    let mut rights = other_ways();
    rights.retain(|right| right.place == Where::Namespace);
    rights.extend(submitting());
    rights.push(right(READ, "", "secrets", Where::Namespace, "may read Secrets"));
    rights
}

/// What changes the boundary itself from its own namespace, or stops it.
#[must_use]
pub fn own_namespace() -> Vec<Right> {
    use Where::Namespace as N;
    let mut rights = taking_over();
    for (group, resource, says) in [
        ("", "configmaps", "may write ConfigMaps"),
        ("", "secrets", "may write Secrets"),
        ("", "services", "may write Services"),
        ("discovery.k8s.io", "endpointslices", "may write EndpointSlices"),
        ("coordination.k8s.io", "leases", "may write Leases"),
        (RBAC, "roles", "may write Roles"),
    ] {
        rights.push(right(WRITE, group, resource, N, says));
    }
    // A Pod that says it has another address, or is not ready, and a Deployment without Pods.
    rights.push(right(CHANGE, "", "pods/status", N, "may change the status of Pods"));
    rights.push(right(CHANGE, "apps", "deployments/scale", N, "may scale Deployments"));
    // Where it fails closed, no Job runs without them.
    for (group, resource, says) in [
        ("", "pods", "may delete Pods"),
        ("", "secrets", "may delete Secrets"),
        ("", "configmaps", "may delete ConfigMaps"),
        ("", "services", "may delete Services"),
        ("apps", "deployments", "may delete Deployments"),
        ("discovery.k8s.io", "endpointslices", "may delete EndpointSlices"),
        ("coordination.k8s.io", "leases", "may delete Leases"),
    ] {
        rights.push(right(DELETE, group, resource, N, says));
    }
    rights
}

/// What changes the boundary itself from anywhere.
#[must_use]
pub fn boundary(names: &Names) -> Vec<Right> {
    use Where::Cluster as C;
    const CERTIFICATES: &str = "certificates.k8s.io";
    let (configurations, says) =
        ("validatingwebhookconfigurations", "may change or delete the configuration");
    let configuration = Right {
        names: vec![names.configuration.clone()],
        ..right(TAKE, ADMISSION, configurations, C, says)
    };
    let says = "may have certificates of any user signed";
    let certificates = Right {
        names: vec!["kubernetes.io/kube-apiserver-client".to_owned(), "kubernetes.io/*".to_owned()],
        also: Some((CHANGE, "certificatesigningrequests/approval")),
        ..right(&["approve"], CERTIFICATES, "signers", C, says)
    };
    let mut rights = vec![
        configuration,
        certificates,
        right(ACT_AS, "", "users", C, "may act as any user"),
        right(ACT_AS, "", "groups", C, "may act as a member of any group"),
        right(&["bind"], RBAC, "clusterroles", C, "may bind any role"),
        right(&["escalate"], RBAC, "clusterroles", C, "may give roles more rights than its own"),
        right(ANY, "", "nodes/proxy", C, "may reach the kubelets"),
    ];
    for (resource, says) in [
        ("users", "may act in part as any user"),
        ("groups", "may act in part as a member of any group"),
        ("nodes", "may act in part as a node"),
    ] {
        rights.push(right(ACT_AS_IN_PART, AUTHENTICATION, resource, C, says));
    }
    for (resource, says) in [
        ("mutatingwebhookconfigurations", "may write mutating webhooks"),
        ("mutatingadmissionpolicies", "may write mutating policies"),
        ("mutatingadmissionpolicybindings", "may bind mutating policies"),
    ] {
        rights.push(right(WRITE, ADMISSION, resource, C, says));
    }
    rights
}

/// What takes a namespace away from a selector that looks at labels which can be changed. The API
/// server asks about a namespace as if it were an object inside itself.
#[must_use]
pub fn labelling() -> [Right; 3] {
    let says = "may change the labels of the namespace";
    ["namespaces", "namespaces/status", "namespaces/finalize"]
        .map(|resource| right(CHANGE, "", resource, Where::Namespace, says))
}
