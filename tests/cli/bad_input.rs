//! Whatever is handed to the command: a sentence on standard error, status 2, and nothing on
//! standard output that could pass for a result.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{jobshape, run, text};

/// Runs it both for people and for programs, and gives what standard error said.
fn refused(arguments: &[&str]) -> String {
    let json: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
    let takes_a_format =
        arguments.first().is_some_and(|verb| ["check", "test", "lint"].contains(verb));
    let mut said = String::new();
    for arguments in [arguments, &json].into_iter().take(if takes_a_format { 2 } else { 1 }) {
        let output = run(arguments);
        said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(said.starts_with("error: "), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    said
}

/// Where files are made that no repository should hold.
struct Made(tempfile::TempDir);

impl Made {
    fn new() -> Self {
        Made(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        string(&path)
    }
}

fn string(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_cannot_be_read_is_a_sentence() {
    let made = Made::new();
    let job = fs::read(super::root().join("tests/cli/files/jobs/good.yaml")).unwrap();
    let latin1 = made.file("latin1.yaml", &[&job[..], b"# caf\xe9\n"].concat());
    let utf16 = made.file("utf16.yaml", b"\xff\xfea\0");
    let big = string(&made.0.path().join("big.yaml"));
    File::create(&big).unwrap().set_len(100_000_000).unwrap();
    let empty = string(&made.0.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    for (path, sentence) in [
        (latin1.as_str(), "not UTF-8"),
        (&utf16, "UTF-16"),
        (&big, "has 100000000 bytes, and at most 67108864 (64 MiB) are read"),
        (&empty, "the directory holds no .yaml, .yml or .json file"),
        ("bad/malformed.yaml", "bad/malformed.yaml:5:13"),
        ("bad/duplicate-keys.yaml", "bad/duplicate-keys.yaml:6:3"),
        ("bad/aliases.yaml", "aliases"),
        ("bad/not-yaml.json", "the JSON is broken"),
        ("bad/empty.yaml", "there is no Job in it"),
        ("service.yaml", "only Service of v1"),
        ("absent.yaml", "there is no such file or directory"),
    ] {
        let said = refused(&["check", "--shapes", "shapes", path]);
        assert!(said.contains(sentence), "{path}: {said}");
        // A good Job beside it changes nothing: no half of a result.
        let said = refused(&["check", "--shapes", "shapes", "jobs/good.yaml", path]);
        assert!(said.contains(sentence), "{path}: {said}");
    }
    for path in [&latin1, &big, &empty, "bad/malformed.yaml", "jobs", "absent.yaml"] {
        refused(&["check", "--shapes", path, "jobs/good.yaml"]);
        refused(&["lint", path]);
        refused(&["test", path]);
        refused(&["fill", path]);
    }
}

/// Beside a good Job nobody would miss it, and kubectl fails on it.
#[test]
fn what_kubectl_refuses_is_not_passed_over() {
    let made = Made::new();
    let good = fs::read_to_string(super::root().join("tests/cli/files/jobs/good.yaml")).unwrap();
    for (document, sentence) in [
        ("metadata: {name: x}\n", "the object has no `kind`, and kubectl refuses it"),
        ("apiVersion: batch/v1\nkind: ''\n", "the object has no `kind`"),
        ("apiVersion: batch/v1\nKind: Job\n", "did you mean `kind` where `Kind` stands?"),
        ("kind: Job\nmetadata: {name: x}\n", "the object has no `apiVersion`"),
        ("kind: List\napiVersion: v1\nitems: [{kind: Job}]\n", "the object has no `apiVersion`"),
    ] {
        let file = made.file("job.yaml", format!("{good}---\n{document}").as_bytes());
        let said = refused(&["check", "--shapes", "shapes", &file]);
        assert!(said.contains(sentence) && said.contains("job.yaml:"), "{document}: {said}");
        let file = made.file("job.json", br#"{"apiVersion": "batch/v1", "spec": {}}"#);
        assert!(refused(&["check", "--shapes", "shapes", &file]).contains("job.json:1:1"));
    }
    for (kind, sentence) in [
        ("Jobs", "`Jobs` of `batch/v1` is no Job: write `kind: Job`"),
        ("Task", "`batch/v1` has no kind `Task`: write `Job` or `CronJob`"),
    ] {
        let document = format!("{good}---\napiVersion: batch/v1\nkind: {kind}\n");
        let file = made.file("job.yaml", document.as_bytes());
        let output = run(&["check", "--shapes", "shapes", &file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stdout).contains(sentence), "{}", text(&output.stdout));
    }
}

/// A shape in a `List` is loaded, and a test file too.
#[test]
fn a_list_of_shapes_is_its_shapes() {
    let made = Made::new();
    let shape = |name: &str, more: &str| {
        format!(
            "- apiVersion: jobshape.dev/v1alpha1\n  kind: JobShape\n  metadata: {{name: {name}}}\n  spec:\n    match: {{namespaces: [ns]{more}}}\n    rules: [{{name: a, select: [$.spec.suspend], must: {{const: true}}}}]\n"
        )
    };
    let list = "apiVersion: v1\nkind: List\nitems:\n";
    let file =
        made.file("good.yaml", format!("{list}{}{}", shape("a", ""), shape("b", "")).as_bytes());
    let linted = text(&run(&["lint", &file]).stdout);
    assert!(
        linted.contains("good.yaml:4:3: a (") && linted.contains("good.yaml:10:3: b ("),
        "{linted}"
    );
    let file = made.file("bad.yaml", format!("{list}{}", shape("a", ", user: x")).as_bytes());
    let said = refused(&["lint", &file]);
    assert!(said.contains("did you mean `users`?") && said.contains("bad.yaml:8:"), "{said}");
    let tests = "kind: List\nitems:\n- {apiVersion: jobshape.dev/v1alpha1, kind: JobShapeTest, metadata: {name: x}, shapes: ~}\n";
    let said = refused(&["test", &made.file("tests.yaml", tests.as_bytes())]);
    assert!(
        said.contains("`shapes` of a JobShapeTest is null") && said.contains("needs `cases`"),
        "{said}"
    );
}

/// Root may read everything, so this one is for everybody else.
#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read_is_a_sentence() {
    use std::os::unix::fs::PermissionsExt as _;
    let made = Made::new();
    let path = made.file("secret.yaml", b"kind: Job\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    if File::open(&path).is_ok() {
        println!("not run: this user may read every file");
        return;
    }
    let said = refused(&["check", "--shapes", "shapes", &path]);
    assert!(said.contains("it may not be read"), "{said}");
}

#[test]
fn wrong_flags_are_a_sentence() {
    for (arguments, sentence) in [
        (&["check", "--shape", "shapes", "jobs"][..], "'--shapes'"),
        (&["check", "--shapes", "shapes", "jobs", "-o", "xml"], "'xml'"),
        (&["check", "--shapes", "-", "-"], "holds one thing"),
        (&["check", "jobs"], "there is no folder `rules` here"),
        (&["lint"], "there is no folder `rules` here"),
        (&["test"], "there is no folder `rules` here"),
        (&["check", "--shapes", "shapes"], "<JOB.yaml|DIR|->"),
        (&["frobnicate"], "'frobnicate'"),
        (&["fill"], "<SHAPE>"),
        (&["fill", "shapes/report.yaml", "--set", "day"], "write NAME=VALUE"),
        (&["fill", "shapes/report.yaml", "--set", "dai=20260101"], "did you mean `day`?"),
        (&["fill", "shapes/report.yaml", "--set", "day=today"], "--set day: the value is not"),
        (&["serve", "--shapes", "shapes"], "a certificate is needed"),
        (&["serve", "--shapes", "absent", "--dev"], "there is no such file or directory"),
    ] {
        // The format is part of some of these already.
        let output = run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}

/// A Job that no shape governs is a result, and not a good one.
#[test]
fn an_ungoverned_job_is_never_green() {
    let output = run(&["check", "--shapes", "shapes", "elsewhere.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--allow-ungoverned"));
    let allowed = run(&["check", "--shapes", "shapes", "--allow-ungoverned", "elsewhere.yaml"]);
    assert_eq!(allowed.status.code(), Some(0));
    assert_eq!(text(&allowed.stderr), "");
}

/// Mistakes of a shape come all at once, each with its place and a way out.
#[test]
fn every_mistake_of_a_shape_is_shown_at_once() {
    let said = refused(&["lint", "broken/report.yaml"]);
    let places = [":7:5", ":11:5", ":12:13", ":14:7", ":18:15", ":20:17"];
    for place in places {
        assert!(said.contains(&format!("broken/report.yaml{place}")), "{place}: {said}");
    }
    for help in ["`namespaces`?", "`backoffLimit`?", "`Enforce`?", "`dya`"] {
        assert!(said.contains(help), "{help}: {said}");
    }
    // The same mistakes keep the shape from being judged by.
    assert_eq!(refused(&["check", "--shapes", "broken/report.yaml", "jobs"]), said);
}

/// A Job on standard input, and one mapped through a review.
#[test]
fn standard_input_is_read_like_a_file() {
    let from = |input: &[u8], arguments: &[&str]| {
        let mut command = jobshape();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        // A child that refuses its flags never reads.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let folder: PathBuf = super::root().join("tests/cli/files");
    let job = fs::read(folder.join("jobs/good.yaml")).unwrap();
    let (status, printed, said) = from(&job, &["check", "--shapes", "shapes", "-"]);
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(printed.starts_with("-#1: Job reports/report-20260201: admitted"), "{printed}");
    let shape = fs::read(folder.join("inline/shape.yaml")).unwrap();
    let (status, printed, said) = from(&shape, &["check", "--shapes", "-", "jobs/good.yaml"]);
    assert_eq!((status, said.as_str()), (Some(1), ""));
    assert!(printed.contains("refused by inline"), "{printed}");
    let (status, printed, said) = from(b"\xff", &["check", "--shapes", "shapes", "-"]);
    assert_eq!((status, printed.as_str()), (Some(2), ""));
    assert!(said.starts_with("error: -: byte 0 is not UTF-8"), "{said}");
}
