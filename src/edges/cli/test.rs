//! `jobshape test`: run JobShapeTest files.
use clap::Args;
use crate::edges::cli::CannotRun;
/// The flags.
#[derive(Debug, Args)]
pub struct TestArgs {}
/// Runs.
pub fn run(_args: &TestArgs) -> Result<u8, CannotRun> { Ok(2) }
