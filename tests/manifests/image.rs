//! The `Dockerfile` against the manifests and `Cargo.toml`, without building it: `make image-test` does that.

use jobshape::formats::documents::documents;
use serde_json::{Value, json};

use super::{of_kind, read};

/// The Deployments, which run the image.
const DEPLOYMENTS: [&str; 2] = [
    "manifests/base/deployment.yaml",
    "manifests/components/built-in-certificates/deployment.yaml",
];

/// What the file says, an instruction and its argument at a time; a line that ends in `\` goes on.
fn instructions() -> Vec<(String, String)> {
    let text = read("Dockerfile").replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| {
            let (instruction, argument) = line.split_once(' ').unwrap();
            (instruction.to_owned(), argument.trim().to_owned())
        })
        .collect()
}

/// The only argument of an instruction.
fn only(instruction: &str) -> String {
    let all: Vec<_> = instructions().into_iter().filter(|(name, _)| name == instruction).collect();
    assert_eq!(all.len(), 1, "{instruction}: {all:?}");
    all[0].1.clone()
}

/// The Deployments' Pods.
fn pods() -> Vec<Value> {
    let mut pods = vec![];
    for file in DEPLOYMENTS {
        let text = read(file);
        let objects: Vec<Value> =
            documents(&text).map(|document| document.unwrap().root.to_json()).collect();
        for deployment in of_kind(&objects, "Deployment") {
            pods.push(deployment["spec"]["template"]["spec"].clone());
        }
    }
    assert_eq!(pods.len(), DEPLOYMENTS.len());
    pods
}

#[test]
fn there_is_nothing_below_it_and_nothing_is_run_to_build_it() {
    assert_eq!(only("FROM"), "scratch");
    let known = ["FROM", "ARG", "LABEL", "COPY", "USER", "EXPOSE", "ENTRYPOINT"];
    for (instruction, argument) in instructions() {
        assert!(known.contains(&instruction.as_str()), "{instruction} {argument}");
    }
    // Each is one that `make image` puts beside it.
    let copied = only("COPY");
    let (files, folder) = copied.rsplit_once(' ').unwrap();
    assert_eq!(folder, "/");
    let makefile = read("Makefile");
    for file in files.split(' ') {
        assert!(makefile.contains(&format!("target/image/content/{file}")), "{file}");
    }
}

#[test]
fn it_is_started_as_the_manifests_start_it() {
    let user = only("USER");
    assert_eq!(only("ENTRYPOINT"), r#"["/jobshape"]"#);
    let exposed = only("EXPOSE");
    let exposed: Vec<&str> = exposed.split(' ').collect();
    for pod in pods() {
        let context = &pod["securityContext"];
        assert_eq!(context["runAsNonRoot"], json!(true));
        assert_eq!(user, format!("{}:{}", context["runAsUser"], context["runAsGroup"]));
        for container in pod["containers"].as_array().unwrap() {
            assert_eq!(container["command"], Value::Null, "the image has an entry point");
            assert_eq!(container["image"], concat!("jobshape:", env!("CARGO_PKG_VERSION")));
            for port in container["ports"].as_array().into_iter().flatten() {
                let port = port["containerPort"].to_string();
                assert!(exposed.contains(&port.as_str()), "{port}: {exposed:?}");
            }
        }
    }
}

#[test]
fn its_labels_are_those_of_the_package() {
    let labels = only("LABEL");
    for (label, value) in [
        ("title", env!("CARGO_PKG_NAME")),
        ("description", env!("CARGO_PKG_DESCRIPTION")),
        ("licenses", env!("CARGO_PKG_LICENSE")),
        ("version", "$VERSION"),
        ("revision", "$REVISION"),
        ("created", "$CREATED"),
    ] {
        let label = format!("org.opencontainers.image.{label}=\"{value}\"");
        assert!(labels.contains(&label), "{label}: {labels}");
    }
    // A name that nobody gives a value is an empty label.
    let makefile = read("Makefile");
    for (_, name) in instructions().into_iter().filter(|(instruction, _)| instruction == "ARG") {
        assert!(makefile.contains(&format!("--build-arg {name}=")), "{name}");
    }
}
