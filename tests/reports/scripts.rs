//! Reports about serving: a script that starts the program, or a request to it.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use jobshape::core::judge::Shapes;
use jobshape::edges::cli::serve::served;
use jobshape::edges::serve::{Options, Tls};
use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;

use super::{Outcome, copy};
use crate::serve::start;

/// The addresses that `serve` has when nobody says others.
const DEFAULT: [u16; 2] = [8443, 8080];

/// Runs the script of a folder, in a copy of it or in the repository.
pub fn run_in(place: &Path, folder: &Path) -> Outcome {
    let copy = copy(folder);
    let place = if place == folder { copy.path() } else { place };
    let mut script = std::fs::read_to_string(copy.path().join("run.sh")).unwrap();
    // The ports that a script chose belong to somebody else, perhaps.
    for port in ["18443", "18080"] {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        script = script.replace(port, &free.to_string());
    }
    if script.contains("default addresses") && DEFAULT.iter().any(|port| is_taken(*port)) {
        return Outcome::NotYet("another program has a default port of serve".to_owned());
    }
    if script.contains("kubectl kustomize") {
        return Outcome::Elsewhere(
            "manifests::built::in_another_namespace_no_word_of_ours_is_left",
        );
    }
    let program = Path::new(env!("CARGO_BIN_EXE_jobshape")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let shell = if script.starts_with("#!/bin/bash") { "bash" } else { "sh" };
    let output = Command::new(shell)
        .args(["-c", &script])
        .current_dir(place)
        .env("PATH", format!("{}:{path}", program.display()))
        .output()
        .unwrap();
    if output.status.success() {
        return Outcome::Agrees;
    }
    let said = [output.stdout, output.stderr].concat();
    let log = std::fs::read_to_string(place.join("serve.log")).unwrap_or_default();
    Outcome::Wrong(format!("{}: {}\n{log}", output.status, String::from_utf8_lossy(&said)))
}

fn is_taken(port: u16) -> bool {
    TcpListener::bind(("0.0.0.0", port)).is_err() || TcpListener::bind(("::1", port)).is_err()
}

/// A dry run in Audit: admitted, counted as a dry run, and no evidence.
pub async fn dry_run(folder: &Path) -> Outcome {
    let path = folder.join("shape.yaml").to_string_lossy().into_owned();
    let loaded = shapes::load(&[path], None, Style::Plain);
    let loaded = loaded.map_err(|errors| errors.reports.join("\n")).unwrap().remove(0).shape;
    let running = start(Options {
        tls: Tls::Dev { host: "localhost".to_owned() },
        listen: "127.0.0.1:0".parse().unwrap(),
        ops_listen: "127.0.0.1:0".parse().unwrap(),
        ..Options::new(served(Shapes::new(vec![loaded]).unwrap()))
    });
    let counted = async || {
        let text = running.get("/metrics").await.body;
        let sum = |start: &str, dry: &str| -> f64 {
            let of = |line: &&str| line.starts_with(start) && line.contains(dry);
            let value = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
            text.lines().filter(of).filter_map(value).sum()
        };
        let [dry, real] = ["dry_run=\"true\"", "dry_run=\"false\""];
        [
            ("jobshape_reviews_total", dry),
            ("jobshape_reviews_total", real),
            ("jobshape_findings_total", real),
        ]
        .map(|(start, dry)| sum(start, dry))
    };
    let before = counted().await;
    let review = std::fs::read(folder.join("review.json")).unwrap();
    let reply = running.post("/validate/audit", review).await;
    let after = counted().await;
    let [dry, real, evidence] = [0, 1, 2].map(|index| after[index] - before[index]);
    let answered = (reply.status, reply.response()["allowed"] == true);
    match (answered, dry, real + evidence) {
        ((200, true), 1.0, 0.0) => Outcome::Agrees,
        _ => Outcome::Wrong(format!("{answered:?}, {dry} dry runs, {real} others, {evidence}")),
    }
}
