//! A control plane does not outlive the one that started it, however that one ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::apiserver::{Cluster, ControlPlane, Identity, Method, Options};

const ANNOUNCE: &str = "JOBSHAPE_TEST_LEFT_RUNNING";

/// The processes whose working folder is this one. A folder that was removed is shown with a
/// remark behind its name, hence only the beginning counts.
#[cfg(target_os = "linux")]
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let works_there = |process: &Path| {
        let works = std::fs::read_link(process.join("cwd")).unwrap_or_default();
        works.to_string_lossy().starts_with(folder)
    };
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let processes = processes.map(|entry| entry.path()).filter(|process| works_there(process));
    processes.map(|process| process.display().to_string()).collect()
}

#[cfg(not(target_os = "linux"))]
fn processes_in(_folder: &Path) -> Vec<String> {
    Vec::new()
}

fn small(identities: Vec<Identity>) -> Options {
    Options { identities, controllers: false, ..Options::default() }
}

#[tokio::test]
async fn a_dropped_control_plane_leaves_no_process_and_no_folder() {
    let agent = Identity::user("agent", &["team-a", "team-b"]);
    let plane = ControlPlane::start(&small(vec![agent.clone()])).await.unwrap();
    let folder = plane.folder().to_owned();
    assert!(plane.token(&agent).is_some());
    if cfg!(target_os = "linux") {
        assert!(processes_in(&folder).len() >= 4, "two servers and their supervisors");
    }

    // An identity with a token of its own is impersonated by nobody.
    let cluster = Cluster::Own(plane);
    assert!(!cluster.kubeconfig(&agent).unwrap().to_string().contains("as-groups"));
    let session = cluster.session(&agent).await.unwrap();
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = session.submit(Method::POST, path, &json!({})).await.unwrap();
    let who = &answer.object["status"]["userInfo"];
    assert_eq!(who["groups"], json!(["team-a", "team-b", "system:authenticated"]));

    drop(cluster);
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(!folder.exists());
}

/// Not a test: what the next one runs in a process of its own, to kill it.
#[tokio::test]
#[ignore = "is run by another test"]
async fn left_running() {
    let Some(announce) = std::env::var_os(ANNOUNCE) else { return };
    let plane = ControlPlane::start(&small(Vec::new())).await.unwrap();
    std::fs::write(announce, format!("{}\n", plane.folder().display())).unwrap();
    // Long past the moment at which the other test kills this process.
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_no_process_and_no_folder() {
    let root = tempfile::tempdir().unwrap();
    let announced = root.path().join("announced");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "harness::lifetime::left_running"])
        .env(ANNOUNCE, &announced)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The line is whole once it has its end.
    let line = loop {
        let line = std::fs::read_to_string(&announced).unwrap_or_default();
        if line.ends_with('\n') {
            break line;
        }
        let ended = process.try_wait().unwrap();
        assert!(ended.is_none(), "it ended before there was a control plane to leave behind");
        std::thread::sleep(Duration::from_millis(50));
    };
    let folder = PathBuf::from(line.trim());
    assert!(folder.is_dir(), "{line}");

    process.kill().unwrap();
    process.wait().unwrap();
    let began = Instant::now();
    while folder.exists() || !processes_in(&folder).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", processes_in(&folder));
        std::thread::sleep(Duration::from_millis(50));
    }
}
