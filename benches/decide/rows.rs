//! Rows of tables: printed as Markdown, and kept as JSON lines for a plot.

use std::fs::File;
use std::io::Write as _;

use serde_json::{Value, json};

use crate::side_by_side::Median;

/// What becomes of the rows.
pub struct Rows {
    json: Option<File>,
}

/// A measured figure against its bound.
pub struct Row<'a> {
    pub figure: &'a str,
    pub case: &'a str,
    pub value: Median,
    pub bound: f64,
}

impl Rows {
    /// Rows that are printed, and written to a file if one is named.
    pub fn new(json: Option<&str>) -> Rows {
        let open = |path| File::create(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Rows { json: json.map(open) }
    }

    /// The head of a table.
    pub fn head(&self, columns: &[&str]) {
        println!("\n| {} |", columns.join(" | "));
        println!("|{}", "---|".repeat(columns.len()));
    }

    /// A row; `more` stands between the name and the figure.
    pub fn add(&mut self, row: &Row<'_>, more: &[String]) {
        let Median { value, low, high } = row.value;
        let met = match (high <= row.bound, value <= row.bound) {
            (true, _) => "met",
            (false, true) => "met, not with 95 %",
            (false, false) => "not met",
        };
        let more: String = more.iter().map(|cell| format!(" {cell} |")).collect();
        println!(
            "| {} |{more} {value:.3} | {low:.3}–{high:.3} | {} | {met} |",
            row.case, row.bound
        );
        self.keep(&json!({
            "figure": row.figure, "case": row.case, "share": value, "low": low, "high": high,
            "bound": row.bound,
        }));
    }

    /// An object for the plot.
    pub fn keep(&mut self, row: &Value) {
        if let Some(file) = &mut self.json {
            writeln!(file, "{row}").expect("the file can be written");
        }
    }
}
