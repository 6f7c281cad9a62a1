//! `jobshape fill`: the Job that must pass.

use clap::Args;

use crate::edges::cli::{CannotRun, print, stderr_style, substitution};
use crate::edges::shapes;
use crate::formats::emit;

/// The flags of `jobshape fill`.
#[derive(Debug, Args)]
pub struct FillArgs {
    /// The file with the shape, or - for standard input
    #[arg(value_name = "SHAPE")]
    shape: String,
    /// The value of a variable; its example otherwise
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// KEY=VALUE lines that fill ${KEY} in shapes and templates before they are read
    #[arg(long, value_name = "FILE")]
    substitute: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// A shape that cannot be loaded, an unknown variable, a value that its constraint refuses.
pub fn run(args: &FillArgs) -> Result<u8, CannotRun> {
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded =
        shapes::load(std::slice::from_ref(&args.shape), substitution.as_ref(), stderr_style())?;
    let [only] = &loaded[..] else {
        return Err(CannotRun::because(format_args!(
            "{}: {} shapes, fill takes one",
            args.shape,
            loaded.len()
        )));
    };
    let shape = &only.shape;
    let mut values = vec![];
    for pair in &args.set {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(CannotRun::because(format_args!("--set `{pair}`: write NAME=VALUE")));
        };
        values.push((name, value));
    }
    let settings = shape
        .first()
        .settings(values)
        .map_err(|m| CannotRun::because(format_args!("--set: {m}")))?;
    for (id, setting) in &settings {
        let variable = shape.first().variables.get(*id);
        if !variable.constraint.accepts(setting) {
            return Err(CannotRun::because(format_args!(
                "--set {}: the value is not {}",
                variable.name,
                variable.constraint.describe()
            )));
        }
    }
    let job = shape.first().fill(&settings).map_err(CannotRun::because)?;
    print(&emit::yaml(&job))?;
    Ok(0)
}
