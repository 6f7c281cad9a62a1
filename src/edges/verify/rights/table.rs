//! The rights that matter here: a row each.

use crate::core::judge::Shapes;
use crate::core::shape::template::Of;
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
    /// Any of them is enough.
    pub verbs: &'static [&'static str],
    /// The API group.
    pub group: &'static str,
    /// The resource, a subresource behind a `/`.
    pub resource: &'static str,
    /// The one object that it is about; nothing: any.
    pub name: Option<String>,
    /// Where.
    pub place: Where,
    /// What it allows, behind "may": a verb and an object.
    pub says: &'static str,
}

const CREATE: &[&str] = &["create"];
const WRITE: &[&str] = &["create", "update", "patch"];
const CHANGE: &[&str] = &["update", "patch"];
const TAKE: &[&str] = &["update", "patch", "delete", "deletecollection"];

const fn right(
    verbs: &'static [&'static str],
    group: &'static str,
    resource: &'static str,
    place: Where,
    says: &'static str,
) -> Right {
    Right { verbs, group, resource, name: None, place, says }
}

/// What runs a Pod that no shape is asked about, or takes over one that runs.
const OTHER_WAYS: [Right; 16] = {
    use Where::Namespace as N;
    [
        right(CREATE, "", "pods", N, "may create Pods"),
        right(CHANGE, "", "pods", N, "may change Pods"),
        right(CHANGE, "", "pods/ephemeralcontainers", N, "may put containers into running Pods"),
        right(CREATE, "", "pods/exec", N, "may run commands in Pods"),
        right(CREATE, "", "pods/attach", N, "may attach to Pods"),
        right(WRITE, "apps", "deployments", N, "may write Deployments"),
        right(WRITE, "apps", "statefulsets", N, "may write StatefulSets"),
        right(WRITE, "apps", "daemonsets", N, "may write DaemonSets"),
        right(WRITE, "apps", "replicasets", N, "may write ReplicaSets"),
        right(WRITE, "", "replicationcontrollers", N, "may write ReplicationControllers"),
        right(CREATE, "", "serviceaccounts/token", N, "may make tokens of service accounts"),
        right(CHANGE, "batch", "jobs/status", N, "may change the status of Jobs"),
        right(WRITE, "rbac.authorization.k8s.io", "rolebindings", N, "may bind roles"),
        right(&["bind"], "rbac.authorization.k8s.io", "roles", N, "may bind any role"),
        right(
            &["escalate"],
            "rbac.authorization.k8s.io",
            "roles",
            N,
            "may give roles more rights than its own",
        ),
        right(&["impersonate"], "", "serviceaccounts", N, "may act as service accounts"),
    ]
};

const CRON_JOBS: Right = right(WRITE, "batch", "cronjobs", Where::Namespace, "may write CronJobs");

/// How whoever submits may get a Pod to run beside the Jobs that a shape is about.
#[must_use]
pub fn other_ways(shapes: &Shapes) -> Vec<Right> {
    let mut rights = OTHER_WAYS.to_vec();
    let pins_cron_jobs = |of: Of| of == Of::CronJob;
    let templates = || shapes.all().iter().flat_map(|shape| &shape.templates);
    // A Job template refuses every CronJob, and a right to create them is no way round. It is none
    // that anybody needs either.
    if !templates().any(|template| pins_cron_jobs(template.of)) {
        rights.push(CRON_JOBS);
    }
    rights
}

/// What a shape is asked about.
#[must_use]
pub fn submitting() -> [Right; 1] {
    [right(CREATE, "batch", "jobs", Where::Namespace, "may create Jobs")]
}

/// What changes the boundary itself.
#[must_use]
pub fn boundary(names: &Names) -> Vec<Right> {
    use Where::{Cluster as C, Namespace as N};
    const ADMISSION: &str = "admissionregistration.k8s.io";
    const RBAC: &str = "rbac.authorization.k8s.io";
    let configuration = Right {
        name: Some(names.configuration.clone()),
        ..right(
            TAKE,
            ADMISSION,
            "validatingwebhookconfigurations",
            C,
            "may change or delete the configuration",
        )
    };
    let mut rights = vec![
        configuration,
        right(&["impersonate"], "", "users", C, "may act as any user"),
        right(&["impersonate"], "", "groups", C, "may act as a member of any group"),
        right(&["bind"], RBAC, "clusterroles", C, "may bind any role"),
        right(&["escalate"], RBAC, "clusterroles", C, "may give roles more rights than its own"),
    ];
    for (group, resource, says) in [
        ("", "configmaps", "may write the shapes"),
        ("", "secrets", "may write the certificate"),
        ("", "pods", "may write Pods of jobshape"),
        ("", "services", "may write the Service"),
        ("discovery.k8s.io", "endpointslices", "may write the Service's endpoints"),
        ("apps", "deployments", "may write the Deployment"),
        ("coordination.k8s.io", "leases", "may write what the replicas say"),
        (RBAC, "roles", "may write the Roles"),
        (RBAC, "rolebindings", "may write the RoleBindings"),
    ] {
        rights.push(right(WRITE, group, resource, N, says));
    }
    rights.push(right(CREATE, "", "pods/exec", N, "may run commands in Pods of jobshape"));
    rights.push(right(
        CREATE,
        "",
        "serviceaccounts/token",
        N,
        "may make tokens of jobshape's accounts",
    ));
    rights
}
