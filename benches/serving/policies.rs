//! The arms beside jobshape: native policies and a webhook that says yes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::apiserver::{Failure, Method, Session};

/// What a careful author writes by hand for the worker of pm-agent: the six rules, in CEL. Read
/// from the rules' names; open wherever they are silent.
pub fn six_rules() -> Vec<String> {
    let pod = "object.spec.template.spec";
    let each = format!("{pod}.containers");
    vec![
        format!(
            "object.spec.backoffLimit == 0 && object.spec.activeDeadlineSeconds <= 3600 \
             && {pod}.serviceAccountName == 'pm-agent-worker' \
             && {pod}.automountServiceAccountToken == false && {pod}.restartPolicy == 'Never' \
             && (!has({pod}.hostNetwork) || !{pod}.hostNetwork) \
             && (!has({pod}.hostPID) || !{pod}.hostPID) && (!has({pod}.hostIPC) || !{pod}.hostIPC) \
             && {pod}.securityContext.runAsNonRoot \
             && {each}.all(c, c.name == 'worker' \
             && c.image.startsWith('gitea.home.example.net/home-network/agent-runner@sha256:') \
             && c.command == ['/usr/local/bin/agent-worker'] \
             && quantity(string(c.resources.limits.memory)).compareTo(quantity('2Gi')) <= 0 \
             && (!has(c.securityContext.privileged) || !c.securityContext.privileged) \
             && !c.securityContext.allowPrivilegeEscalation \
             && c.securityContext.readOnlyRootFilesystem \
             && c.securityContext.capabilities.drop == ['ALL'])"
        ),
        format!("size({each}) == 1 && {each}.all(c, !has(c.args) || size(c.args) == 0)"),
        format!(
            "!has({pod}.volumes) || {pod}.volumes.all(v, v.name in ['workspace', 'tmp'] \
             && has(v.emptyDir))"
        ),
        format!("!has({pod}.initContainers) || size({pod}.initContainers) == 0"),
        format!(
            "{each}.all(c, !has(c.env) || c.env.all(e, e.name in ['RUN_ID', 'ISSUE_REPO', \
             'ISSUE_NUMBER', 'WORK_BRANCH', 'BASE_BRANCH', 'GITEA_URL', 'MODEL', 'MAX_TURNS', \
             'GITEA_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'HOME', 'TMPDIR']))"
        ),
        format!("{each}.all(c, !has(c.envFrom) || size(c.envFrom) == 0)"),
    ]
}

/// Puts a policy in force for one namespace, and waits until it refuses `wrong` there.
pub async fn install(
    session: &Session,
    name: &str,
    namespace: &str,
    expressions: &[String],
    wrong: &Value,
) -> Result<(), Failure> {
    let root = "/apis/admissionregistration.k8s.io/v1";
    let validations: Vec<Value> =
        expressions.iter().map(|expression| json!({"expression": expression})).collect();
    let policy = json!({
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["batch"], "apiVersions": ["v1"],
                "resources": ["jobs"], "operations": ["CREATE", "UPDATE"],
            }]},
            "validations": validations,
        },
    });
    let binding = json!({
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {
                "matchLabels": {"kubernetes.io/metadata.name": namespace},
            }},
        },
    });
    for (kind, object) in
        [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)]
    {
        let made = session.submit(Method::POST, &format!("{root}/{kind}"), &object).await;
        made.map_err(Failure::during(format!("making the {kind} {name}")))?;
    }
    let began = Instant::now();
    while session.dry_run_job(namespace, wrong).await.is_ok() {
        if began.elapsed() > Duration::from_secs(30) {
            return Err(Failure::new(format!("the policy {name} refuses nothing")));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
