//! `jobshape lint`: the shapes themselves, and what they leave open.

use clap::Args;

use crate::core::shape::Shape;
use crate::core::shape::template::Of;
use crate::edges::cli::{
    CannotRun, Format, at_default, print, stderr_style, stdout_style, substitution,
};
use crate::edges::shapes::{self, LoadedShape};
use crate::formats::report::snippet::{Below, Mark, Severity, Style, place, report};

/// The flags of `jobshape lint`.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Shapes: files or directories
    #[arg(value_name = "DIR|FILE", default_value = "rules")]
    paths: Vec<String>,
    /// KEY=VALUE lines that fill ${KEY} in shapes and templates before they are read
    #[arg(long, value_name = "FILE")]
    substitute: Option<String>,
    /// How to print the result
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    output: Format,
}

/// Runs the verb: 0 when every shape loads, warnings or not.
///
/// # Errors
/// Every mistake in the shapes.
pub fn run(args: &LintArgs) -> Result<u8, CannotRun> {
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded = shapes::load(&args.paths, substitution.as_ref(), stderr_style())
        .map_err(|errors| at_default(&args.paths, errors.into(), "an argument"))?;
    shapes::together(&loaded)?;
    match args.output {
        Format::Human => {
            let text: String = loaded.iter().map(|one| human(one, stdout_style())).collect();
            print(&text)?;
        }
        Format::Json => {
            let shapes: Vec<serde_json::Value> = loaded.iter().map(json).collect();
            let text = serde_json::to_string_pretty(&serde_json::json!({"shapes": shapes}))
                .map_err(CannotRun::because)?;
            print(&(text + "\n"))?;
        }
    }
    Ok(0)
}

fn human(one: &LoadedShape, style: Style) -> String {
    let shape = &one.shape;
    let mut text = String::new();
    for (at, warning) in shape.warnings() {
        let marks: Vec<Mark<'_>> = one
            .sources
            .first()
            .filter(|_| at != u32::MAX)
            .map(|source| Mark { source, at, label: "" })
            .into_iter()
            .collect();
        text.push_str(&report(Severity::Warning, None, &warning, &marks, Below::default(), style));
        text.push('\n');
    }
    let operations: Vec<&str> = shape.operations.iter().map(|o| o.word()).collect();
    text.push_str(&format!(
        "{}: {} ({}) governs {} of {} in {}, {} rule{}\n",
        one.place,
        shape.name,
        shape.short_digest(),
        operations.join(" and "),
        kinds(shape),
        shape.namespaces.join(", "),
        shape.rules.len(),
        if shape.rules.len() == 1 { "" } else { "s" },
    ));
    for (what, of) in [("only for", &shape.who), ("exempt", &shape.exempt)] {
        for name in of.users.iter().chain(&of.groups) {
            text.push_str(&format!("  note   {what}: {name}\n"));
        }
    }
    for (braces, path, source, at) in shape.literal_braces() {
        let place = one.sources.get(source).map(|source| place(source, at)).unwrap_or_default();
        text.push_str(&format!("  note   literal  {path}: `{braces}` is plain text ({place})\n"));
    }
    let open = shape.open_places();
    if open.is_empty() {
        text.push_str("  every field is pinned\n");
    }
    for place in open {
        text.push_str(&format!(
            "  {:<6} {:<8} {}: {}\n",
            place.danger.word(),
            place.how,
            place.path,
            place.what
        ));
    }
    text
}

/// What its templates are of.
fn kinds(shape: &Shape) -> &'static str {
    let has = |of: Of| shape.templates.iter().any(|template| template.of == of);
    match (has(Of::Job), has(Of::CronJob)) {
        (true, true) => "Jobs, CronJobs and their Jobs",
        (false, true) => "CronJobs and their Jobs",
        _ => "Jobs",
    }
}

fn json(one: &LoadedShape) -> serde_json::Value {
    let shape = &one.shape;
    let open: Vec<serde_json::Value> = shape
        .open_places()
        .iter()
        .map(|p| serde_json::json!({"danger": p.danger.word(), "how": p.how, "path": p.path, "what": p.what}))
        .collect();
    let warnings: Vec<String> = shape.warnings().into_iter().map(|(_, text)| text).collect();
    serde_json::json!({
        "source": one.place, "name": shape.name, "digest": shape.digest, "namespaces": shape.namespaces,
        "rules": shape.rules.iter().map(|r| &r.name).collect::<Vec<_>>(), "open": open, "warnings": warnings,
    })
}
