//! The `jobshape` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    jobshape::edges::cli::main()
}
