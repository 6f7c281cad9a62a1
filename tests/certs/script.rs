//! `certs/bring-your-own.sh`: what it makes is believed, also while one authority follows another.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use super::stage::{Stage, TLS, cluster, text};
use crate::apiserver::Identity;

fn run(kubectl: &str, out: &Path, arguments: &[&str]) -> Output {
    Command::new("certs/bring-your-own.sh")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("KUBECTL", kubectl)
        .arg("--out")
        .arg(out)
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_somebody_brings_is_believed_and_so_is_the_next_one() {
    let stage = Stage::new(cluster().await, "script").await;
    let mut node = stage.replica("a", Duration::ZERO);
    stage.apply(&stage.configuration(&[node.replica.settings.webhook]), &[]);
    let kubectl = stage.cluster.kubectl().unwrap();
    let kubeconfig = stage.cluster.kubeconfig_for(&Identity::Admin).unwrap();
    let kubectl = format!("{} --kubeconfig={}", kubectl.display(), kubeconfig.display());
    let names = [format!("--namespace={}", stage.name), format!("--configuration={}", stage.name)];
    let names: Vec<&str> = names.iter().flat_map(|flag| flag.split('=')).collect();
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let script = |out: &Path, more: &[&str]| {
        let output = run(&kubectl, out, &[&names[..], more].concat());
        assert!(output.status.success(), "{}", said(&output));
    };

    script(&first, &["--also-for", "127.0.0.1", "--apply"]);
    node.replica.wait(true).await.unwrap();
    stage.job_until_admitted().await;
    // Another certificate of the same authority, and it does not get longer.
    let (ca, key) = (first.join("ca.crt"), first.join("ca.key"));
    let [ca, key] = [ca.to_str().unwrap(), key.to_str().unwrap()];
    script(&first, &["--also-for", "127.0.0.1", "--apply", "--ca", ca, "--ca-key", key]);
    assert!(stage.trusts(1).await);

    script(&second, &["--also-for", "127.0.0.1", "--apply"]);
    assert!(stage.trusts(2).await);
    let made = std::fs::read_to_string(second.join("tls.crt")).unwrap();
    assert_eq!(text(&stage.secret(TLS).await, "tls.crt"), made);
    for _ in 0..100 {
        stage.job().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    script(&second, &["--forget"]);
    assert!(stage.trusts(1).await);
    assert_eq!(stage.bundles().await, [std::fs::read_to_string(second.join("ca.crt")).unwrap()]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.job().await.unwrap();
}

#[cfg(unix)]
#[test]
fn without_a_cluster_it_makes_files_that_nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made");
    let output = run("false", &out, &["--also-for", "webhook.example", "--also-for", "::1"]);
    assert!(output.status.success(), "{}", said(&output));
    let mut files = vec![];
    for entry in std::fs::read_dir(&out).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o077, 0, "{entry:?}");
        files.push(entry.file_name().into_string().unwrap());
    }
    files.sort();
    assert_eq!(files, ["ca.crt", "ca.key", "secret.yaml", "tls.crt", "tls.key"]);
    assert!(!said(&output).contains("PRIVATE"));
    let pem = std::fs::read(out.join("tls.crt")).unwrap();
    let (_, pem) = x509_parser::pem::parse_x509_pem(&pem).unwrap();
    let parsed = pem.parse_x509().unwrap();
    let names = parsed.subject_alternative_name().unwrap().unwrap().value.general_names.len();
    assert_eq!(names, 6);
}

/// A kubectl that has one entry, whose caBundle is the file `held` beside it.
#[cfg(unix)]
fn pretended(folder: &Path) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("kubectl");
    let text = r#"#!/bin/sh
held=$(dirname "$0")/held
case "$*" in
*range*) echo enforce.jobshape.dev ;;
*caBundle}*) base64 <"$held" | tr -d '\n' ;;
patch*) printf %s "$*" | sed 's/.*"value":"\([^"]*\)".*/\1/' | base64 -d >"$held" ;;
esac
"#;
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn a_bundle_without_a_last_line_break_stays_one_and_holds_each_authority_once() {
    let folder = tempfile::tempdir().unwrap();
    let kubectl = pretended(folder.path());
    let [held, other, out] = ["held", "other", "out"].map(|name| folder.path().join(name));
    assert!(run(&kubectl, &other, &[]).status.success());
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let (other, key) = (read(&other.join("ca.crt")), folder.path().join("out/ca.key"));
    std::fs::write(&held, other.trim_end()).unwrap();

    let output = run(&kubectl, &out, &["--apply"]);
    assert!(output.status.success(), "{}", said(&output));
    let mine = read(&out.join("ca.crt"));
    assert_eq!(read(&held), format!("{other}{mine}"));
    let ca = out.join("ca.crt");
    let again = ["--apply", "--ca", ca.to_str().unwrap(), "--ca-key", key.to_str().unwrap()];
    for _ in 0..2 {
        let output = run(&kubectl, &out, &again);
        assert!(output.status.success(), "{}", said(&output));
    }
    assert_eq!(read(&held), format!("{other}{mine}"));
    // Two that share a line are what an older hand may have left.
    std::fs::write(&held, format!("{}{other}", other.trim_end())).unwrap();
    let output = run(&kubectl, &out, &again);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(read(&held), format!("{other}{mine}"));
    assert!(run(&kubectl, &out, &["--forget"]).status.success());
    assert_eq!(read(&held), mine);

    // What is no certificate is not written again.
    let broken = format!("{other}-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n");
    std::fs::write(&held, &broken).unwrap();
    let output = run(&kubectl, &out, &again);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let expected = "the PEM block 00002 is no certificate";
    assert!(said(&output).contains(expected), "{}", said(&output));
    assert_eq!(read(&held), broken);
}

#[test]
fn what_is_missing_is_said_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made");
    for (arguments, expected) in [
        (&["--ca", "some.crt"][..], "--ca needs --ca-key"),
        (&["--ca-key", "some.key"], "--ca-key needs --ca"),
        (&["--days"], "--days needs a value"),
        (&["--what"], "what is --what?"),
        (&["--forget"], "there is no"),
    ] {
        let output = run("false", &out, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert!(!out.exists());
    }
}
