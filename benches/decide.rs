//! What a decision costs, as a share of what `serde_json` needs to parse the same bytes into a
//! `Value`; and what whole runs of `check` cost.
//!
//! Both sides are measured in one process, in alternating blocks, so that a busy machine slows
//! both; the median of the blocks' ratios is printed. `decide --instructions CASE SIDE` runs one
//! side a fixed number of times, for counting instructions with valgrind.

use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jobshape::core::judge::Shapes;
use jobshape::edges::shapes;
use jobshape::formats::report::snippet::Style;
use jobshape::formats::review::{Entrance, answer};

const BLOCKS: usize = 40;
const PER_BLOCK: u32 = 250;

/// The requests, as a real API server sent them (`tests/reviews`).
const CREATE: &[u8] = include_bytes!("../tests/reviews/1.36.3/job-create.json");
const REFUSED: &[u8] = include_bytes!("../tests/reviews/1.36.3/job-create-refused.json");

fn main() {
    let shapes = load();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--instructions", case, side] => instructions(&shapes, case, side),
        _ => table(&shapes),
    }
}

fn load() -> Shapes {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml").to_owned();
    let loaded = shapes::load(&[path], None, Style::Plain).expect("the committed shape loads");
    shapes::together(&loaded).expect("one shape")
}

fn bytes_of(case: &str) -> &'static [u8] {
    match case {
        "create" => CREATE,
        "refused" => REFUSED,
        other => panic!("no case {other}"),
    }
}

fn decide(shapes: &Shapes, bytes: &[u8]) {
    black_box(answer(shapes, Entrance::Enforce, black_box(bytes)));
}

fn parse(bytes: &[u8]) {
    black_box(serde_json::from_slice::<serde_json::Value>(black_box(bytes)).expect("JSON"));
}

fn instructions(shapes: &Shapes, case: &str, side: &str) {
    let bytes = bytes_of(case);
    for _ in 0..100 {
        match side {
            "decide" => decide(shapes, bytes),
            "parse" => parse(bytes),
            "nothing" => {}
            other => panic!("no side {other}"),
        }
    }
}

fn table(shapes: &Shapes) {
    println!(
        "| decide, as a share of the `Value` parse of the same bytes | bytes | decide | parse | share | bound |"
    );
    println!("|---|---|---|---|---|---|");
    for (case, title, bound) in [
        ("create", "CREATE admitted", "0.5"),
        ("refused", "CREATE refused with 25 findings", "0.7"),
    ] {
        let bytes = bytes_of(case);
        let answered = answer(shapes, Entrance::Enforce, bytes);
        assert_eq!(answered.record.allowed, case == "create", "{case} is what it says");
        let (decided, parsed, share) = ratio(|| decide(shapes, bytes), || parse(bytes));
        println!(
            "| {title} | {} | {:.1} µs | {:.1} µs | {share:.2} | {bound} |",
            bytes.len(),
            micros(decided),
            micros(parsed)
        );
    }
    println!();
    println!("| whole process | median | bound |");
    println!("|---|---|---|");
    let job = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/jobs/worker.yaml");
    let one = std::fs::read_to_string(job).expect("the committed Job");
    let many = vec![one.as_str(); 10_000].join("---\n");
    println!("| `check` of one Job | {:.1} ms | 10 ms |", micros(whole(&one, 20)) / 1e3);
    println!(
        "| `check` of 10,000 Jobs in one text | {:.2} s | 1 s |",
        micros(whole(&many, 5)) / 1e6
    );
}

/// Median times and the median of the blocks' ratios.
fn ratio(mut left: impl FnMut(), mut right: impl FnMut()) -> (Duration, Duration, f64) {
    let mut blocks: Vec<(Duration, Duration, f64)> = (0..BLOCKS)
        .map(|_| {
            let (l, r) = (time(&mut left), time(&mut right));
            (l, r, l.as_secs_f64() / r.as_secs_f64())
        })
        .collect();
    blocks.sort_by(|a, b| a.2.total_cmp(&b.2));
    blocks[BLOCKS / 2]
}

fn time(work: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..PER_BLOCK {
        work();
    }
    start.elapsed() / PER_BLOCK
}

/// Median wall time of `jobshape check -` with `text` on standard input.
fn whole(text: &str, runs: usize) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let mut child = Command::new(env!("CARGO_BIN_EXE_jobshape"))
                .args([
                    "check",
                    "--shapes",
                    concat!(env!("CARGO_MANIFEST_DIR"), "/rules/pm-agent/shape.yaml"),
                    "-",
                ])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .expect("jobshape runs");
            child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
            assert!(child.wait().expect("it ends").success(), "every Job is admitted");
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
