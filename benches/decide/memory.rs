//! How much memory a decision about a hostile body of 8 MiB, the largest that is read, adds: the
//! largest resident size beside that before, each in a process of its own.

use std::process::Command;

use crate::cases::{UNPINNED, committed_among, decide, replaced};
use crate::rows::Rows;

const LARGEST: usize = 8 << 20;

/// What the body is full of.
const CASES: [(&str, &str); 5] = [
    ("lists", "lists of one item in a list"),
    ("numbers", "a list of numbers"),
    ("keys", "keys of a map"),
    ("string", "a string"),
    ("escapes", "a string of escapes"),
];

fn body(case: &str) -> String {
    let room = LARGEST - 8_000;
    let list = |item: &str| {
        let items = vec![item; room / (item.len() + 1)].join(",");
        replaced("\"suspend\":false", &format!("\"suspend\":[{items}]"))
    };
    let annotation = |text: &str| {
        replaced(
            "\"generation\"",
            &format!("\"annotations\":{{\"{UNPINNED}\":\"{text}\"}},\"generation\""),
        )
    };
    match case {
        "lists" => list("[0]"),
        "numbers" => list("0"),
        "keys" => {
            let keys: String = (0..room / 16).map(|n| format!(",\"key{n:07}\":\"\"")).collect();
            let last = "\"pm-agent.example.net/issue\":\"42\"";
            replaced(last, &format!("{last}{keys}"))
        }
        "string" => annotation(&"x".repeat(room)),
        "escapes" => annotation(&"\\u00e9".repeat(room / 6)),
        other => panic!("no case {other}"),
    }
}

/// Prints the kilobytes that one decision adds and the bytes of its body.
pub fn measure(case: &str) {
    let (shapes, body) = (committed_among(1), body(case));
    // The largest so far is counted from here on.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let before = kilobytes("VmRSS:");
    decide(&shapes, &body);
    println!("{} {}", kilobytes("VmHWM:") - before, body.len());
}

fn kilobytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

pub fn table(rows: &mut Rows) {
    rows.head(&["a body of 8 MiB of", "adds", "of its size", "bound", ""]);
    for (case, title) in CASES {
        let own = std::env::current_exe().expect("a path");
        let ran = Command::new(own).args(["--memory", case]).output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let numbers: Option<Vec<u32>> = said.split_whitespace().map(|n| n.parse().ok()).collect();
        let Some([added, bytes]) = numbers.as_deref() else {
            panic!("{case}: {said}{}", String::from_utf8_lossy(&ran.stderr))
        };
        let share = f64::from(*added) * 1024.0 / f64::from(*bytes);
        let met = if share <= 2.0 { "met" } else { "not met" };
        println!("| {title} | {:.1} MB | {share:.2} | 2 | {met} |", f64::from(*added) / 1024.0);
        rows.keep(
            &serde_json::json!({"figure": "memory", "case": title, "share": share, "bound": 2}),
        );
    }
}
