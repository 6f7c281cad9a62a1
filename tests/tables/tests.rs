//! Writing the committed table, and noticing when it is not what the server says.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::apiserver::{self, Identity};

use super::table;

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core/kubernetes/data/fields.tsv")
}

/// The table of the server that the tests run against, and its version.
async fn from_server() -> (String, String) {
    let cluster = apiserver::shared().await;
    let version = cluster.version().await.unwrap();
    let session = cluster.session(&Identity::Admin).await.unwrap();
    let openapi = session.get("/openapi/v3/apis/batch/v1").await.unwrap();
    assert_eq!(openapi.status, 200, "{}", openapi.body);
    (table(&openapi.body, &version).unwrap(), version)
}

#[tokio::test]
#[ignore = "writes into the source tree: `make tables`"]
async fn write_the_field_table() {
    let (table, version) = from_server().await;
    assert_eq!(version, format!("v{}", apiserver::VERSION), "the table is of another version");
    std::fs::create_dir_all(committed().parent().unwrap()).unwrap();
    std::fs::write(committed(), table).unwrap();
}

#[tokio::test]
async fn the_committed_table_is_what_the_server_says() {
    let (table, version) = from_server().await;
    let ours = format!("v{}", apiserver::VERSION);
    if version != ours {
        // Past the capture of the test runner: a test that does not apply must not look as if it
        // had passed.
        let note = format!("The field table is of {ours} and was not compared with {version}.\n");
        std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes()).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(committed()).unwrap();
    let only = |a: &str, b: &str| -> Vec<String> {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    assert!(
        committed == table,
        "run `make tables`\nonly committed: {:#?}\nonly the server: {:#?}",
        only(&committed, &table),
        only(&table, &committed)
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
    let error = table(&openapi, "v1.36.3").unwrap_err();
    assert!(error.contains("same short name"), "{error}");
}

#[test]
fn an_unknown_kind_of_schema_is_an_error_that_names_the_field() {
    let odd = json!({"type": "string", "format": "duration"});
    let openapi = schemas(json!({"io.k8s.api.batch.v1.Job": {"properties": {"a": odd}}}));
    let error = table(&openapi, "v1.36.3").unwrap_err();
    assert!(error.starts_with("io.k8s.api.batch.v1.Job.a: "), "{error}");
}

#[test]
fn rows_are_sorted_and_name_the_minor_release() {
    let openapi = schemas(json!({"io.k8s.api.batch.v1.Job": {"properties": {
        "b": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "a": {"type": "object", "additionalProperties": {"type": "integer", "format": "int32"}},
    }}}));
    let table = table(&openapi, "v1.36.3").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows, ["Job\ta\t{integer}\t-\t1.36", "Job\tb\t[string]\tset\t1.36"]);
}
