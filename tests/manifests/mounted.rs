//! The Deployment's own command, with what the kubelet would mount for it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;
use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;
use tempfile::TempDir;

use super::built::{ROLLOUTS, build};
use super::{named, root};

/// Longest that any step may take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Mounts a ConfigMap's or a Secret's files as the kubelet does, in place of what was mounted there.
fn mount(folder: &Path, files: &BTreeMap<String, String>) {
    let version =
        (0..).map(|n| format!("..version-{n}")).find(|v| !folder.join(v).exists()).unwrap();
    std::fs::create_dir_all(folder.join(&version)).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(&version).join(name), text).unwrap();
        if !folder.join(name).is_symlink() {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
    }
    symlink(&version, folder.join("..data_tmp")).unwrap();
    std::fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

/// The data of the ConfigMap that the Deployment mounts.
fn shapes_of(objects: &[Value]) -> BTreeMap<String, String> {
    let data = named(objects, "ConfigMap", "jobshape-shapes")["data"].clone();
    serde_json::from_value(data).unwrap()
}

struct Serving(Child, String);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Serving {
    /// What the operations port answers: the status line and all else.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn until(&self, path: &str, holds: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let answer = self.get(path);
            if holds(&answer) {
                return answer;
            }
            assert!(began.elapsed() < PATIENCE, "{path}: {answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Runs the command of the Deployment, its folders being below `mounts`.
fn serve(objects: &[Value], mounts: &Path) -> Serving {
    let container =
        &named(objects, "Deployment", "jobshape")["spec"]["template"]["spec"]["containers"][0];
    let mounts = mounts.to_str().unwrap();
    let arguments = container["args"].as_array().unwrap().iter().filter_map(Value::as_str);
    // What it says of itself goes to an API server, and there is none here.
    let arguments = arguments.filter(|argument| *argument != "--publish");
    let mut child = Command::new(env!("CARGO_BIN_EXE_jobshape"))
        .args(arguments.map(|argument| argument.replace("/etc/jobshape", mounts)))
        .args(["--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"])
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = vec![];
    let operations = loop {
        let Some(line) = lines.next() else { panic!("{said:?}") };
        let line = line.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["message"] == "listening" {
            break message["operations"].as_str().unwrap().to_owned();
        }
        said.push(line);
    };
    std::thread::spawn(move || lines.for_each(drop));
    Serving(child, operations)
}

#[test]
fn what_is_mounted_is_served_with_the_digests_of_the_sources() {
    let sources = root().join("rules/pm-agent").to_str().unwrap().to_owned();
    let sources = shapes::load(&[sources], None, Style::Plain).unwrap_or_else(|e| panic!("{e:?}"));
    for rollout in ROLLOUTS {
        let built = build(&format!("built-in/{rollout}"), &[]);
        let mounts = TempDir::new().unwrap();
        let (shapes, tls) = (mounts.path().join("shapes"), mounts.path().join("tls"));
        mount(&shapes, &shapes_of(&built.objects));
        // The Secret is not there yet.
        std::fs::create_dir(&tls).unwrap();
        let serving = serve(&built.objects, mounts.path());
        assert!(serving.get("/livez").starts_with("HTTP/1.1 200"));
        let not_ready = serving.get("/readyz");
        assert!(
            not_ready.starts_with("HTTP/1.1 503") && not_ready.contains("no certificate yet"),
            "{not_ready}"
        );
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["jobshape.jobshape-system.svc".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let files =
            [("tls.crt", certificate), ("tls.key", key.serialize_pem()), ("ca.crt", String::new())];
        mount(&tls, &files.map(|(name, text)| (name.to_owned(), text)).into());
        serving.until("/readyz", |answer| answer.starts_with("HTTP/1.1 200"));

        let lint = Command::new(env!("CARGO_BIN_EXE_jobshape"))
            .arg("lint")
            .arg(&shapes)
            .args(["-o", "json"])
            .output();
        let lint: Value = serde_json::from_slice(&lint.unwrap().stdout).unwrap();
        let linted = lint["shapes"].as_array().unwrap();
        assert_eq!(linted.len(), sources.len());
        let metrics = serving.get("/metrics");
        for one in &sources {
            let shape = &one.shape;
            let found = linted.iter().find(|linted| linted["name"] == *shape.name).unwrap();
            let digest = found["digest"].as_str().unwrap();
            assert_eq!(digest == shape.digest, rollout == "enforce", "{rollout}: {digest}");
            let series = format!(
                "jobshape_shape_info{{digest=\"{}\",shape=\"{}\"}} 1\n",
                &digest[..8],
                shape.name
            );
            assert!(metrics.contains(&series), "{series}: {metrics}");
        }
    }
}
