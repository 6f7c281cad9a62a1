//! The tables, as they are printed and as they are kept.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::apiserver::VERSION;
use crate::plot;
use crate::side_by_side::Median;

/// An interval, as a table shows it.
pub fn interval(median: Median) -> String {
    format!("{:.2}–{:.2}", median.low, median.high)
}

/// What was measured so far.
#[derive(Default)]
pub struct Report {
    text: String,
    points: Vec<Value>,
}

impl Report {
    /// A table begins; without a title it goes on below the last one.
    pub fn heading(&mut self, title: &str, columns: &[&str]) {
        // Writing into a String cannot fail.
        let _ = match title {
            "" => writeln!(self.text),
            title => writeln!(self.text, "\n### {title}\n"),
        };
        let _ =
            writeln!(self.text, "| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
        if !title.is_empty() {
            // Long work shows that it goes on.
            eprintln!("measuring: {title}");
        }
    }

    /// A row.
    pub fn plain(&mut self, cells: &[String]) {
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    /// A sentence below a table.
    pub fn say(&mut self, sentence: &str) {
        let _ = writeln!(self.text, "\n{sentence}");
    }

    /// A row with a ratio, its interval and its bound, which is also a point of the plot.
    pub fn ratio(&mut self, figure: &str, title: &str, ratio: Median, bound: Option<f64>) {
        let met = bound.map_or_else(String::new, |bound| {
            let met = if ratio.value <= bound { "met" } else { "not met" };
            format!("{bound:.2}, {met}")
        });
        self.plain(&[title.to_owned(), format!("{:.2}", ratio.value), interval(ratio), met]);
        self.point(figure, title, ratio, bound);
    }

    /// A point of the plot.
    pub fn point(&mut self, figure: &str, case: &str, ratio: Median, bound: Option<f64>) {
        let Median { value, low, high } = ratio;
        self.points.push(json!({
            "figure": figure, "case": case, "share": value, "low": low, "high": high,
            "bound": bound,
        }));
    }

    /// All tables.
    pub fn markdown(&self) -> &str {
        &self.text
    }

    /// Puts the tables, and those that `decide` has left, into `docs/benchmarks.md`, and draws the
    /// plot beside it.
    ///
    /// # Errors
    /// Files that cannot be read or written.
    pub fn write(&self) -> Result<(), String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let left = |name: &str| -> Result<String, String> {
            let path = root.join("target/bench").join(name);
            std::fs::read_to_string(&path).map_err(|e| {
                format!("{}: {e}: `make bench` measures the decision first", path.display())
            })
        };
        let mut points: Vec<Value> = left("decide.jsonl")?
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        points.extend(self.points.iter().cloned());
        let path = root.join("docs/benchmarks.md");
        put(&path, "decide", &left("decide.md")?)?;
        put(&path, "serving", &format!("{}\n{}", provenance(), self.text))?;
        let path = root.join("docs/benchmarks.svg");
        std::fs::write(&path, plot::svg(&points)).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// Replaces what stands between two marks of a page.
fn put(path: &PathBuf, mark: &str, text: &str) -> Result<(), String> {
    let (begin, end) = (format!("<!-- {mark}: make bench -->"), format!("<!-- end of {mark} -->"));
    let page = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(format!("{} lacks {begin} and {end}", path.display()));
    };
    let page = format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim());
    std::fs::write(path, page).map_err(|e| format!("{}: {e}", path.display()))
}

/// Where and with what it was measured.
fn provenance() -> String {
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
        text.unwrap_or_else(|_| "unknown".to_owned())
    };
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]);
    let rust = said("rustc", &["--version"]);
    let date = said("date", &["-u", "+%Y-%m-%d"]);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "Measured on {date} at commit {commit} on {cores} cores, which clients, API server and webhook share, \
         with kube-apiserver {VERSION} and {rust}."
    )
}
