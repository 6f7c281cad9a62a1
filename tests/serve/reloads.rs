//! Other shapes, without a restart: all of them or none.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::{ENFORCE, Running, options, start, until};
use crate::both_ways::webhook::job;
use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::{files, served};
use jobshape::edges::serve::Options;
use jobshape::edges::serve::shape_files::{Attempt, Mistakes, ShapeFiles};
use jobshape::formats::review::answer;
use serde_json::{Value, json};

const FAILING: &str = "jobshape_reload_failing{source=\"shapes\"}";
const FAILED: &str = "jobshape_reloads_total{result=\"failed\",source=\"shapes\"}";
const GENERATION: &str = "jobshape_shapes_generation";
const WIDENED: &str = "jobshape_shapes_widened_total";

/// A shape and its template, in two files.
fn write(folder: &Path, name: &str, namespace: &str, image: &str) {
    let shape = format!(
        "apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {{name: {name}}}
spec:
  match: {{namespaces: [{namespace}]}}
  variables:
    tag: {{pattern: \"[a-z]{{1,8}}\", example: a}}
  rules:
  - {{name: image, select: ['$.spec.template.spec.containers[*].image']}}
  - {{name: everything}}
  templateFrom: [{{file: {name}.template}}]
"
    );
    fs::write(folder.join(format!("{name}.yaml")), shape).unwrap();
    template(folder, name, image);
}

fn template(folder: &Path, name: &str, image: &str) {
    let mut template = job("main-<tag>");
    template["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    fs::write(folder.join(format!("{name}.template")), template.to_string()).unwrap();
}

async fn serve(folder: &Path) -> Running {
    let mut source = files(vec![folder.to_str().unwrap().to_owned()]);
    let loaded = source.take().await.map_err(|mistakes| mistakes.0).unwrap();
    start(Options { decide: answer, loaded, source: Some(source), ..options() })
}

/// Whether a Job with this image is admitted.
async fn admits(server: &Running, namespace: &str, image: &str) -> bool {
    let mut object = job("main-x");
    object["metadata"]["namespace"] = json!(namespace);
    object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    let review = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": super::UID,
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "name": "main-x",
            "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
            "object": object,
        },
    });
    let reply = server.post(ENFORCE, review.to_string()).await.response();
    match &reply["allowed"] {
        Value::Bool(allowed) => *allowed,
        _ => panic!("{reply}"),
    }
}

#[tokio::test]
async fn a_template_that_changed_is_judged_by_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", "one", "x:1");
    let server = serve(folder.path()).await;
    assert!(admits(&server, "one", "x:1").await);
    assert!(!admits(&server, "one", "x:2").await);
    assert_eq!(server.metric(GENERATION).await, Some(1.0));
    template(folder.path(), "a", "x:2");
    until(async || admits(&server, "one", "x:2").await).await;
    assert!(!admits(&server, "one", "x:1").await);
    assert_eq!(server.metric(GENERATION).await, Some(2.0));
    assert_eq!(server.metric(WIDENED).await, Some(0.0), "as many templates as before");
    assert!(server.metric("jobshape_shapes_loaded_timestamp_seconds").await.unwrap() > 1e9);
    let info = server.get("/metrics").await.body;
    let info = info.lines().filter(|line| line.starts_with("jobshape_shape_info{"));
    assert_eq!(info.count(), 1, "of the old digest nothing is left");
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing_and_shows() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = folder.path().join("shapes");
    fs::create_dir(&shapes).unwrap();
    write(&shapes, "a", "one", "x:1");
    write(&shapes, "b", "two", "x:1");
    let server = serve(&shapes).await;
    let restore = || {
        fs::create_dir_all(&shapes).unwrap();
        write(&shapes, "a", "one", "x:1");
        write(&shapes, "b", "two", "x:1");
    };
    let empty = || {
        for entry in fs::read_dir(&shapes).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    };
    let spoilt: [&dyn Fn(); 6] = [
        // One broken file of two, and the other one changed: neither counts.
        &|| {
            fs::write(shapes.join("a.yaml"), "kind: [").unwrap();
            template(&shapes, "b", "x:2");
        },
        &|| fs::write(shapes.join("b.template"), "").unwrap(),
        &|| fs::remove_file(shapes.join("a.template")).unwrap(),
        // Valid YAML, and only half of it.
        &|| {
            let text = fs::read_to_string(shapes.join("a.yaml")).unwrap();
            let half = text.split_once("  templateFrom").unwrap().0;
            fs::write(shapes.join("a.yaml"), half).unwrap();
        },
        &empty,
        &|| fs::remove_dir_all(&shapes).unwrap(),
    ];
    for (number, spoil) in spoilt.iter().enumerate() {
        spoil();
        server.until_metric(FAILING, 1.0).await;
        let failed = server.metric(FAILED).await;
        for namespace in ["one", "two"] {
            assert!(admits(&server, namespace, "x:1").await, "{number}");
            assert!(!admits(&server, namespace, "x:2").await, "{number}");
        }
        assert_eq!(server.get("/readyz").await.status, 200, "{number}");
        // Said once for the same content.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(server.metric(FAILED).await, failed, "{number}");
        restore();
        server.until_metric(FAILING, 0.0).await;
    }
    assert_eq!(server.metric(GENERATION).await, Some(1.0));
}

#[tokio::test]
async fn a_named_pipe_in_the_place_of_a_template_is_a_mistake_and_nobody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = folder.path().join("shapes");
    fs::create_dir(&shapes).unwrap();
    write(&shapes, "a", "one", "x:1");
    let server = serve(&shapes).await;
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::rename(&pipe, shapes.join("a.template")).unwrap();
    server.until_metric(FAILING, 1.0).await;
    assert_eq!(server.get("/readyz").await.status, 200);
    assert!(admits(&server, "one", "x:1").await);
    fs::remove_file(shapes.join("a.template")).unwrap();
    template(&shapes, "a", "x:2");
    until(async || admits(&server, "one", "x:2").await).await;
    server.until_metric(FAILING, 0.0).await;
    // Nobody hangs about there.
    server.until_metric("jobshape_reload_running_seconds{source=\"shapes\"}", 0.0).await;
}

#[tokio::test]
async fn a_template_more_in_a_namespace_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", "one", "x:1");
    let server = serve(folder.path()).await;
    assert_eq!(server.metric(WIDENED).await, Some(0.0));
    write(folder.path(), "b", "two", "x:1");
    until(async || server.metric("jobshape_shapes").await == Some(2.0)).await;
    assert_eq!(server.metric(WIDENED).await, Some(1.0));
    for name in ["b.yaml", "b.template"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    until(async || server.metric("jobshape_shapes").await == Some(1.0)).await;
    assert_eq!(server.metric(WIDENED).await, Some(1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_map_that_is_replaced_twice_a_second_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // The image and the namespaces of one version belong together, and never to another one.
    let mount = |number: usize| {
        let version = at(&format!("..{number}"));
        fs::create_dir(&version).unwrap();
        write(&version, "a", "one", &format!("x:{number}"));
        write(&version, "b", "two", &format!("x:{number}"));
        symlink(format!("..{number}"), at("..new")).unwrap();
        fs::rename(at("..new"), at("..data")).unwrap();
    };
    mount(0);
    for name in ["a", "b"] {
        for file in [format!("{name}.yaml"), format!("{name}.template")] {
            symlink(Path::new("..data").join(&file), at(&file)).unwrap();
        }
    }
    let server = serve(folder.path()).await;
    for number in 1..=12 {
        mount(number);
        fs::remove_dir_all(at(&format!("..{}", number - 1))).unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    until(async || admits(&server, "one", "x:12").await).await;
    assert!(admits(&server, "two", "x:12").await);
    assert!(!admits(&server, "one", "x:11").await);
    assert!(server.metric(GENERATION).await.unwrap() >= 3.0, "it was followed on the way");
}

#[tokio::test]
async fn shapes_that_fail_their_self_test_do_not_replace_good_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.yaml");
    fs::write(&file, "good").unwrap();
    let path = file.clone();
    let load = move || {
        let mut loaded = served(Shapes::default());
        let text = fs::read_to_string(&path).unwrap();
        let result = match text.as_str() {
            "mistaken" => Err(Mistakes(vec!["error: mistaken\n".to_owned()])),
            text => {
                loaded.self_test = if text == "good" { Ok(()) } else { Err(text.to_owned()) };
                Ok(loaded)
            }
        };
        Attempt { result, files: vec![] }
    };
    let mut source = ShapeFiles::new(vec![file.display().to_string()], Arc::new(load));
    let Options { loaded: with_configuration, .. } = options();
    let mut loaded = source.take().await.ok().unwrap();
    loaded.entries = with_configuration.entries;
    let server = start(Options { loaded, source: Some(source), ..options() });
    for bad in ["it refuses its own template", "mistaken"] {
        fs::write(&file, bad).unwrap();
        server.until_metric(FAILING, 1.0).await;
        assert_eq!(server.get("/readyz").await.status, 200);
        fs::write(&file, "good").unwrap();
        server.until_metric(FAILING, 0.0).await;
    }
}
