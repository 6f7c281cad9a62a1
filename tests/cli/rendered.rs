//! `jobshape render`: into a folder, compared with one, and that what is rendered is what was
//! committed.

use std::fs;
use std::path::Path;
use std::process::Output;

use jobshape::edges::shapes;
use jobshape::formats::manifest::shapes::Rendered;
use jobshape::formats::report::snippet::Style;
use tempfile::TempDir;

use super::committed::folders;
use super::{run, text};

const FILES: [&str; 3] = ["configuration.yaml", "kustomization.yaml", "shapes.yaml"];

fn render(folder: &Path, more: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    run(&[&["render", "--shapes", "render/small.yaml", "--out", folder], more].concat())
}

fn is_written(folder: &Path) -> Vec<String> {
    let names =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_shape_by_itself_is_the_same_shape() {
    let mut count = 0;
    for folder in folders() {
        let loaded =
            shapes::load(&[folder], None, Style::Plain).unwrap_or_else(|e| panic!("{e:?}"));
        for one in loaded {
            let place = TempDir::new().unwrap();
            let rendered = Rendered::of(&one.self_contained());
            let file = place.path().join(rendered.key());
            fs::write(&file, &rendered.text).unwrap();
            let again = shapes::load(&[file.to_str().unwrap().to_owned()], None, Style::Plain);
            let again = again.unwrap_or_else(|e| panic!("{}: {}", one.place, e.reports.concat()));
            assert_eq!(again[0].shape.digest, one.shape.digest, "{}", one.place);
            assert_eq!(again[0].shape.name, one.shape.name);
            count += 1;
        }
    }
    assert!(count > 8, "{count}");
}

#[test]
fn a_folder_is_written_and_found_up_to_date() {
    let folder = TempDir::new().unwrap();
    let (inner, folder) = (folder.path().join("a/b"), folder);
    assert_eq!(render(&inner, &[]).status.code(), Some(0));
    assert_eq!(is_written(&inner), FILES);
    assert_eq!(render(&inner, &["--check"]).status.code(), Some(0));
    // What kustomize is to read, and whoever runs it need not be who rendered.
    let kustomization = fs::read_to_string(inner.join("kustomization.yaml")).unwrap();
    assert!(kustomization.ends_with("resources:\n- configuration.yaml\n- shapes.yaml\n"));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(inner.join(FILES[0])).unwrap().permissions(),
    );
    assert_eq!(mode & 0o444, 0o444 & !umask(folder.path()), "{mode:o}");
}

/// The bits that a file made here does not get.
fn umask(folder: &Path) -> u32 {
    let file = folder.join("probe");
    fs::write(&file, "").unwrap();
    0o666 & !std::os::unix::fs::PermissionsExt::mode(&fs::metadata(file).unwrap().permissions())
}

#[test]
fn a_difference_is_named_and_shown() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    assert_eq!(render(folder, &[]).status.code(), Some(0));
    let path = folder.join("configuration.yaml");
    let before = fs::read_to_string(&path).unwrap();
    let tampered = before.replace("failurePolicy: Fail", "failurePolicy: Ignore");
    fs::write(&path, &tampered).unwrap();
    fs::remove_file(folder.join("shapes.yaml")).unwrap();
    let output = render(folder, &["--check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    for line in [
        "\n-  failurePolicy: Ignore\n+  failurePolicy: Fail\n",
        "--- /dev/null\n",
        "/configuration.yaml: not what the shapes render\n",
        "/shapes.yaml: not what the shapes render\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("kustomization.yaml"), "{said}");
    // Nothing was written.
    assert_eq!(fs::read_to_string(&path).unwrap(), tampered);
    assert!(!folder.join("shapes.yaml").exists());
    assert_eq!(render(folder, &[]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert_eq!(is_written(folder), FILES);
}

#[test]
fn somebody_elses_kustomization_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let theirs = folder.path().join("kustomization.yaml");
    fs::write(&theirs, "resources: [deployment.yaml]\n").unwrap();
    let output = render(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "kustomization.yaml: somebody else wrote it; render into a folder of its own"
        ),
        "{said}"
    );
    assert_eq!(is_written(folder.path()), ["kustomization.yaml"]);
    assert_eq!(fs::read_to_string(theirs).unwrap(), "resources: [deployment.yaml]\n");
}

#[test]
fn a_file_that_cannot_be_replaced_is_an_error_and_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("shapes.yaml")).unwrap();
    let output = render(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let left: Vec<String> = is_written(folder.path());
    assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
}

#[test]
fn more_than_a_config_map_holds_is_an_error_that_says_how_to_split() {
    let folder = TempDir::new().unwrap();
    let shape = |name: &str, script: usize| {
        format!(
            "apiVersion: jobshape.dev/v1alpha1\nkind: JobShape\nmetadata: {{name: {name}}}\nspec:\n  match: {{namespaces: [a]}}\n  \
             templates:\n  - apiVersion: batch/v1\n    kind: Job\n    metadata: {{name: {name}}}\n    spec:\n      template:\n        \
             spec:\n          restartPolicy: Never\n          containers: [{{name: a, image: r.example/a, args: [\"{}\"]}}]\n",
            "x".repeat(script)
        )
    };
    let mut shapes = String::new();
    for number in 0..4 {
        shapes.push_str(&format!("---\n{}", shape(&format!("s{number}"), 229_000 + number)));
    }
    let file = folder.path().join("shapes-in.yaml");
    fs::write(&file, shapes).unwrap();
    let render =
        |more: &[&str]| run(&[&["render", "--shapes", file.to_str().unwrap()], more].concat());
    let output = render(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("with --server-side only"), "{}", text(&output.stderr));
    let more = fs::read_to_string(&file).unwrap() + "---\n" + &shape("large", 500_000);
    fs::write(&file, more).unwrap();
    let output = render(&[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    let said = text(&output.stderr);
    for part in [
        "the largest: large (489 KiB), s3 (225 KiB), s2 (225 KiB)",
        "`--only shapes --config-map NAME`",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // The configuration is of all of them.
    assert_eq!(render(&["--only", "configuration"]).status.code(), Some(0));
}
