//! How a decision grows with the Job, up to 3 MB (twice what an API server accepts): eight times the
//! bytes may cost eight times the time, whatever they are.

use jobshape::core::judge::Shapes;
use serde_json::json;

use crate::blocks::measure;
use crate::cases::{UNPINNED, committed_among, create_with_env, decide, parse, replaced, with_env};
use crate::rows::Rows;
use crate::shares::micros;

/// A few blocks do: large bodies take long, and no figure here is near its bound.
const FEW: usize = 5;

/// Sizes of the ordinary Job, in bytes.
const SIZES: [usize; 5] = [8_000, 48_000, 375_000, 1_500_000, 3_000_000];

/// The sizes between which hostile input may not grow faster than it does itself.
const SMALL: usize = 128_000;
const LARGE: usize = 8 * SMALL;

/// Bytes of an entry of `env` with a value of 64.
const ENTRY: usize = 104;

/// Most entries of `env` in a template: each is three places, and a shape has at most 20,000.
const ENTRIES: usize = 6_500;

/// A body of about so many bytes.
type Make = fn(usize) -> String;

/// What hostile bodies are made of.
const HOSTILE: [(&str, Make); 7] = [
    ("lists in lists, where a boolean belongs", |bytes| {
        let depth = 100;
        let one = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let all = vec![one; bytes / (2 * depth + 1)].join(",");
        replaced("\"suspend\":false", &format!("\"suspend\":[{all}]"))
    }),
    ("keys of a map", |bytes| {
        let keys: String = (0..bytes / 16).map(|n| format!(",\"key{n:07}\":\"\"")).collect();
        replaced(
            "\"pm-agent.example.net/issue\":\"42\"}",
            &format!("\"pm-agent.example.net/issue\":\"42\"{keys}}}"),
        )
    }),
    ("one key, again and again", |bytes| {
        let keys = ",\"key\":\"\"".repeat(bytes / 9);
        replaced(
            "\"pm-agent.example.net/issue\":\"42\"}",
            &format!("\"pm-agent.example.net/issue\":\"42\"{keys}}}"),
        )
    }),
    ("findings", |bytes| {
        let more: Vec<_> = (0..bytes / ENTRY)
            .map(|n| json!({"name": format!("E{n}"), "value": "x".repeat(64)}))
            .collect();
        create_with_env(&more)
    }),
    ("a string that nobody compares", |bytes| {
        let annotations =
            format!("\"annotations\":{{\"{UNPINNED}\":\"{}\"}},\"generation\"", "x".repeat(bytes));
        replaced("\"generation\"", &annotations)
    }),
    ("a string that differs at its end", |bytes| {
        replaced(
            "/usr/local/bin/agent-worker",
            &format!("/usr/local/bin/agent-worker{}", "\\n".repeat(bytes / 2)),
        )
    }),
    ("a variable's value in a string", |bytes| {
        replaced("pm-agent/issue-42", &format!("pm-agent/issue-{}", "$(".repeat(bytes / 2)))
    }),
];

pub fn tables(blocks: usize, rows: &mut Rows) {
    let blocks = blocks.min(FEW);
    rows.head(&["admitted, all of it in the template", "decide", "parse", "share", "ns a byte"]);
    for size in SIZES {
        let room = size - 6_800;
        let count = (room / ENTRY).min(ENTRIES);
        let (shapes, body) = with_env(count, room / count - (ENTRY - 64));
        row(blocks, rows, &shapes, &format!("{} bytes", body.len()), &body);
    }
    rows.head(&["hostile, 1 MB", "decide", "parse", "share", "ns a byte", "of 1/8 of the bytes"]);
    let shapes = committed_among(1);
    for (what, make) in HOSTILE {
        hostile(blocks, rows, &shapes, what, &make(SMALL), &make(LARGE));
    }
    let ((few, small), (many, large)) = (with_env(ENTRIES / 8, 64), with_env(ENTRIES, 64));
    let bare = replaced("\"suspend\":false", "\"suspend\":true");
    assert!(small.len() < large.len());
    let times = measure(blocks, &mut [&mut || decide(&few, &bare), &mut || decide(&many, &bare)]);
    let factor = times.ratio(1, 0).value;
    println!(
        "\nA shape of 20,000 places and a Job that lacks them: {}, {factor:.1} times that of an eighth.",
        micros(times.of(1))
    );
    rows.keep(&json!({"figure": "growth", "case": "places of a shape", "factor": factor, "of": 8}));
}

fn row(blocks: usize, rows: &mut Rows, shapes: &Shapes, what: &str, body: &str) {
    let times = measure(blocks, &mut [&mut || decide(shapes, body), &mut || parse(body)]);
    let share = times.ratio(0, 1).value;
    let nanos = nanos_a_byte(times.of(0), body);
    println!(
        "| {what} | {} | {} | {share:.2} | {nanos:.1} |",
        micros(times.of(0)),
        micros(times.of(1))
    );
    rows.keep(&json!({
        "figure": "size", "case": what, "bytes": body.len(), "seconds": times.of(0), "share": share,
    }));
}

fn hostile(blocks: usize, rows: &mut Rows, shapes: &Shapes, what: &str, small: &str, large: &str) {
    let times = measure(
        blocks,
        &mut [&mut || decide(shapes, large), &mut || parse(large), &mut || decide(shapes, small)],
    );
    let (share, factor) = (times.ratio(0, 1).value, times.ratio(0, 2).value);
    let nanos = nanos_a_byte(times.of(0), large);
    println!(
        "| {what} | {} | {} | {share:.2} | {nanos:.1} | {factor:.1} times |",
        micros(times.of(0)),
        micros(times.of(1))
    );
    rows.keep(&json!({
        "figure": "growth", "case": what, "bytes": large.len(), "seconds": times.of(0),
        "share": share, "factor": factor, "of": 8,
    }));
}

#[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
fn nanos_a_byte(seconds: f64, body: &str) -> f64 {
    seconds * 1e9 / body.len() as f64
}
