//! What a decision costs: review bytes in, response bytes out, on one core, beside what `serde_json`
//! needs to parse the same bytes into a `Value`.
//!
//! ```text
//! decide [--json FILE]          the tables, in Markdown; FILE gets a JSON object a row
//! decide --quick                the same in seconds, to see that it still runs
//! decide --instructions [--write]
//!                               instructions by valgrind, against benches/instructions.tsv
//! ```
//!
//! `decide --run CASE SIDE` (for valgrind) and `decide --memory CASE` (for a process of its own) are
//! what it calls itself.

mod blocks;
mod cases;
mod check;
mod growth;
mod instructions;
mod memory;
mod rows;
mod shares;
#[path = "../side_by_side.rs"]
mod side_by_side;

use std::process::ExitCode;

use rows::Rows;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => tables(blocks::BLOCKS, None),
        ["--json", file] => tables(blocks::BLOCKS, Some(file)),
        ["--quick"] => tables(blocks::FEWEST, None),
        ["--instructions"] => return instructions::count(false),
        ["--instructions", "--write"] => return instructions::count(true),
        ["--run", case, side] => instructions::run(case, side),
        ["--memory", case] => memory::measure(case),
        _ => {
            eprintln!("decide [--json FILE | --quick | --instructions [--write]]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn tables(blocks: usize, json: Option<&str>) {
    let mut rows = Rows::new(json);
    shares::table(blocks, &mut rows);
    growth::tables(blocks, &mut rows);
    memory::table(&mut rows);
    check::table(&mut rows);
}
