//! Writing the committed table, and noticing when it is not what the server says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::apiserver::{self, Cluster, ControlPlane, Identity, Options, minor, versions};

use super::{rows, table};

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core/kubernetes/data/fields.tsv")
}

async fn rows_of(cluster: &Cluster) -> BTreeSet<String> {
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let openapi = session.get("/openapi/v3/apis/batch/v1").await.unwrap();
    assert_eq!(openapi.status, 200, "{}", openapi.body);
    rows(&openapi.body).unwrap()
}

#[tokio::test]
#[ignore = "writes into the source tree: `make tables`"]
async fn write_the_field_table() {
    let mut releases = vec![];
    for version in versions() {
        let options = Options { version, controllers: false, ..Options::default() };
        let cluster = Cluster::Own(ControlPlane::start(&options).await.unwrap());
        assert_eq!(cluster.version().await.unwrap(), format!("v{version}"));
        releases.push((version, rows_of(&cluster).await));
    }
    std::fs::write(committed(), table(&releases)).unwrap();
}

#[tokio::test]
async fn the_committed_table_is_what_the_server_says() {
    compare(apiserver::shared().await).await;
}

/// The rows of the committed table that are of this server's release are its own.
pub async fn compare(cluster: &Cluster) {
    let version = cluster.version().await.unwrap();
    let minor = minor(&version);
    let committed = std::fs::read_to_string(committed()).unwrap();
    let ours: BTreeSet<String> = committed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once('\t'))
        .filter(|(_, versions)| versions.split(',').any(|known| known == minor))
        .map(|(row, _)| row.to_owned())
        .collect();
    if ours.is_empty() {
        // Past the capture of the test runner: a test that does not apply must not look as if it
        // had passed.
        let note = format!("The field table knows nothing of {version} and was not compared.\n");
        std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes()).unwrap();
        return;
    }
    let theirs = rows_of(cluster).await;
    assert!(
        ours == theirs,
        "run `make tables`\nonly committed: {:#?}\nonly {version}: {:#?}",
        ours.difference(&theirs).collect::<Vec<_>>(),
        theirs.difference(&ours).collect::<Vec<_>>()
    );
}

fn schemas(more: Value) -> Value {
    let mut schemas = json!({
        "io.k8s.api.batch.v1.CronJob": {"properties": {}},
        "io.k8s.api.batch.v1.Job": {"properties": {}},
    });
    schemas.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"components": {"schemas": schemas}})
}

#[test]
fn two_types_of_one_short_name_are_an_error() {
    let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let openapi = schemas(json!({
        "io.k8s.api.batch.v1.Job": {"properties": {"a": to("one.Spec"), "b": to("other.Spec")}},
        "one.Spec": {"properties": {}},
        "other.Spec": {"properties": {}},
    }));
    let error = rows(&openapi).unwrap_err();
    assert!(error.contains("same short name"), "{error}");
}

#[test]
fn an_unknown_kind_of_schema_is_an_error_that_names_the_field() {
    let odd = json!({"type": "string", "format": "duration"});
    let openapi = schemas(json!({"io.k8s.api.batch.v1.Job": {"properties": {"a": odd}}}));
    let error = rows(&openapi).unwrap_err();
    assert!(error.starts_with("io.k8s.api.batch.v1.Job.a: "), "{error}");
}

#[test]
fn rows_are_sorted_and_name_the_minor_releases() {
    let openapi = schemas(json!({"io.k8s.api.batch.v1.Job": {"properties": {
        "b": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "a": {"type": "object", "additionalProperties": {"type": "integer", "format": "int32"}},
    }}}));
    let both = rows(&openapi).unwrap();
    let older = both.iter().filter(|row| row.contains("\tb\t")).cloned().collect();
    let table = table(&[("1.36.3", older), ("1.37.2", both)]);
    let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["Job\ta\t{integer}\t-\t1.37", "Job\tb\t[string]\tset\t1.36,1.37"]);
}
