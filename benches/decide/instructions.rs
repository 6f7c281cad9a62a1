//! Instructions, which a busy machine does not change: counted by valgrind, and compared with the
//! committed figures. What is compared is the share of the parse, because another compiler changes
//! both sides.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use crate::cases::{case, committed_among, decide, parse, scan};

/// How often each side runs, so that one call is told from starting and loading.
const CALLS: u64 = 100;

/// How far above its committed figure, or its bound, a share may be.
const SLACK: f64 = 0.05;

/// The cases that are counted, with the share that the design allows where that is met: for CREATE
/// it is 0.5, and not met yet.
const COUNTED: [(&str, Option<f64>); 4] =
    [("create", None), ("update", Some(0.4)), ("ratchet", None), ("refused", None)];

/// All small blocks come from the thread's cache. What else is free in the heap would else decide
/// what an allocation costs: the parse, which allocates most, 397,000 instructions or 505,000.
const ALLOCATOR: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=200");

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.tsv");

/// Runs one side of a case, and nothing else.
pub fn run(name: &str, side: &str) {
    let shapes = committed_among(1);
    let body = case(name).body;
    for _ in 0..CALLS {
        match side {
            "decide" => decide(&shapes, &body),
            "parse" => parse(&body),
            "scan" => scan(&body),
            "nothing" => {}
            other => panic!("no side {other}: decide, parse, scan or nothing"),
        }
    }
}

/// Counts all cases; `write`: what is counted becomes the committed figures.
pub fn count(write: bool) -> ExitCode {
    let committed = match read_committed() {
        Ok(committed) => committed,
        Err(message) => return could_not(&message),
    };
    let mut file = "# decide --instructions --write: case, instructions of a decision and of the parse, share\n"
        .to_owned();
    let (mut complaints, mut better) = (vec![], false);
    println!("| instructions of one call | decide | parse | share | committed | bound |");
    println!("|---|---|---|---|---|---|");
    for (name, bound) in COUNTED {
        let (decided, parsed) = match counted(name) {
            Ok(counted) => counted,
            Err(message) => return could_not(&message),
        };
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let share = decided as f64 / parsed as f64;
        file.push_str(&format!("{name}\t{decided}\t{parsed}\t{share:.4}\n"));
        let title = case(name).title;
        let before = committed.get(name).copied();
        println!(
            "| {title} | {decided} | {parsed} | {share:.3} | {} | {} |",
            before.map_or("none".to_owned(), |share| format!("{share:.3}")),
            bound.map_or(String::new(), |bound| bound.to_string()),
        );
        complaints.extend(before.is_none().then(|| format!("{name} has no committed figure")));
        if let Some(before) = before {
            if share > before * (1.0 + SLACK) {
                complaints.push(format!("{name} costs more than 5 % over the committed figure"));
            }
            // No reason to stop anybody; but the figure that is compared with should be true.
            if share < before * (1.0 - SLACK) {
                eprintln!("instructions: {name} costs 5 % less than the committed figure");
                better = true;
            }
        }
        if bound.is_some_and(|bound| share > bound * (1.0 + SLACK)) {
            complaints.push(format!("{name} costs more than the design allows"));
        }
    }
    if write {
        return match std::fs::write(COMMITTED, file) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => could_not(&format!("{COMMITTED}: {error}")),
        };
    }
    for complaint in &complaints {
        eprintln!("instructions: {complaint}");
    }
    if better || !complaints.is_empty() {
        eprintln!("To commit what is counted now: make instructions WRITE=1");
    }
    ExitCode::from(u8::from(!complaints.is_empty()))
}

fn could_not(message: &str) -> ExitCode {
    eprintln!("instructions: {message}");
    ExitCode::from(2)
}

/// The committed share of each case.
fn read_committed() -> Result<BTreeMap<String, f64>, String> {
    let text = match std::fs::read_to_string(COMMITTED) {
        Ok(text) => text,
        Err(error) => return Err(format!("{COMMITTED}: {error}")),
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [name, _, _, share] => share.parse().ok().map(|share| (name.to_owned(), share)),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{COMMITTED} cannot be read"))
}

/// Instructions of one decision and of one parse.
fn counted(name: &str) -> Result<(u64, u64), String> {
    let [nothing, decided, parsed] = ["nothing", "decide", "parse"].map(|side| total(name, side));
    let nothing = nothing?;
    let one = |total: u64| total.saturating_sub(nothing) / CALLS;
    Ok((one(decided?), one(parsed?)))
}

/// All instructions of a run under valgrind.
fn total(name: &str, side: &str) -> Result<u64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args(["--run", name, side])
        .env(ALLOCATOR.0, ALLOCATOR.1)
        .output()
        .map_err(|error| format!("valgrind does not run: {error}"))?;
    let said = String::from_utf8_lossy(&ran.stderr);
    let counted = said.lines().find_map(|line| line.split_once("Collected :"));
    match counted.and_then(|(_, count)| count.trim().parse().ok()) {
        Some(count) if ran.status.success() => Ok(count),
        _ => Err(format!("valgrind counted nothing: {said}")),
    }
}
