//! Finding test files, with the shapes and the base that they name.

use crate::core::mistake::Mistake;
use crate::core::shape::Shape;
use crate::edges::own::documents_of;
use crate::edges::{files, shapes};
use crate::formats::documents::documents;
use crate::formats::report::snippet::{Style, mistake};
use crate::formats::substitute::Substitution;
use crate::formats::suite::{Files, KIND, Suite};
use crate::formats::text::Source;

/// A test file with everything it needs.
pub struct LoadedSuite {
    /// The text.
    pub source: Source,
    /// What it says.
    pub suite: Suite,
    /// Its shapes.
    pub shapes: Vec<Shape>,
    /// The Jobs in files that it names.
    pub files: Files,
}

/// Every test file below these paths.
///
/// # Errors
/// Reports, ready to print: of every mistake, and of a path that holds no test file.
pub fn load(
    paths: &[String],
    substitution: Option<&Substitution>,
    style: Style,
) -> Result<Vec<LoadedSuite>, Vec<String>> {
    let mut reports = vec![];
    let mut loaded = vec![];
    for path in paths {
        let before = (loaded.len(), reports.len());
        match files::expand(path) {
            Ok(names) => {
                for name in names {
                    load_file(&name, substitution, style, &mut loaded, &mut reports);
                }
            }
            Err(message) => reports.push(format!("error: {message}\n")),
        }
        if before == (loaded.len(), reports.len()) {
            reports.push(format!("error: {path}: there is no {KIND} in it, nothing was tested\n"));
        }
    }
    if reports.is_empty() { Ok(loaded) } else { Err(reports) }
}

fn load_file(
    name: &str,
    substitution: Option<&Substitution>,
    style: Style,
    loaded: &mut Vec<LoadedSuite>,
    reports: &mut Vec<String>,
) {
    let source = match files::read(name) {
        Ok(source) => source,
        Err(message) => return reports.push(format!("error: {message}\n")),
    };
    for document in documents_of(KIND, &source.text) {
        let root = match document {
            Ok(root) => root,
            Err(found) => {
                reports.push(mistake(&[&source], &found, style));
                continue;
            }
        };
        match Suite::read(&root) {
            Ok(suite) => {
                if let Some(suite) = complete(&source, suite, substitution, style, reports) {
                    loaded.push(suite);
                }
            }
            Err(mistakes) => reports.extend(mistakes.iter().map(|m| mistake(&[&source], m, style))),
        }
    }
}

fn complete(
    source: &Source,
    suite: Suite,
    substitution: Option<&Substitution>,
    style: Style,
    reports: &mut Vec<String>,
) -> Option<LoadedSuite> {
    let names: Vec<String> =
        suite.shapes.iter().map(|(file, _)| files::beside(&source.name, file)).collect();
    let shapes = match shapes::load(&names, substitution, style) {
        Ok(loaded) => loaded.into_iter().map(|one| one.shape).collect(),
        Err(errors) => {
            reports.extend(errors.reports);
            return None;
        }
    };
    let mut jobs = Files::new();
    for (file, at) in suite.files() {
        match read_job(&files::beside(&source.name, file)) {
            Ok(json) => {
                jobs.insert(file.to_owned(), json);
            }
            Err(message) => {
                reports.push(mistake(&[source], &Mistake::new(at, message), style));
                return None;
            }
        }
    }
    Some(LoadedSuite { source: source.clone(), suite, shapes, files: jobs })
}

fn read_job(name: &str) -> Result<serde_json::Value, String> {
    let source = files::read(name)?;
    let mut found = documents(&source.text);
    match (found.next(), found.next()) {
        (Some(Ok(document)), None) => Ok(document.root.to_json()),
        (Some(Err(mistake)), _) => Err(format!("{name}: {mistake}")),
        (None, _) => Err(format!("{name}: the file is empty")),
        (Some(Ok(_)), Some(_)) => {
            Err(format!("{name}: one Job is wanted, and the file holds several"))
        }
    }
}
