//! What whole runs of `jobshape check` take, the program beside this one.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::rows::Rows;

const SHAPE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml");
const JOB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/jobs/worker.yaml");

pub fn table(rows: &mut Rows) {
    let one = std::fs::read_to_string(JOB).expect("the committed Job");
    let many = vec![one.as_str(); 10_000].join("---\n");
    rows.head(&["`check`, the whole process", "median", "bound", ""]);
    for (what, text, runs, bound) in
        [("of one Job", &one, 20, 0.010), ("of 10,000 Jobs in one text", &many, 5, 1.0)]
    {
        let seconds = median(text, runs);
        let met = if seconds <= bound { "met" } else { "not met" };
        println!("| {what} | {:.1} ms | {} ms | {met} |", seconds * 1e3, bound * 1e3);
        rows.keep(&json!({"figure": "check", "case": what, "seconds": seconds, "bound": bound}));
    }
}

/// Median wall time of `jobshape check -` with `text` on standard input.
fn median(text: &str, runs: usize) -> f64 {
    let program = std::env::current_exe().expect("a path").with_file_name("jobshape");
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let mut child = Command::new(&program)
                .args(["check", "--shapes", SHAPE, "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
            child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it ends").success(), "every Job is admitted");
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[runs / 2]
}
