//! Loading shapes from files: all or nothing, and every mistake at once.

use std::path::Path;

use crate::core::judge::Shapes;
use crate::core::mistake::Mistake;
use crate::core::shape::Shape;
use crate::core::shape::document::{API_VERSION, KIND, template_files};
use crate::core::tree::{NOWHERE, Node, Value};
use crate::edges::own::documents_of;
use crate::edges::{files, parallel};
use crate::formats::documents::{documents, listed};
use crate::formats::manifest::shapes::self_contained;
use crate::formats::report::snippet::{Style, mistake, place};
use crate::formats::substitute::Substitution;
use crate::formats::text::Source;

/// A loaded shape and the text it was written in.
pub struct LoadedShape {
    /// The shape.
    pub shape: Shape,
    /// `file:line:column` of the document.
    pub place: String,
    /// The texts its positions are in: the shape's own, then its template's.
    pub sources: Vec<Source>,
    /// Which document of ours in its text it is, from 0.
    number: usize,
}

impl LoadedShape {
    /// The document by itself, its templates in it: read again, because few need it.
    #[must_use]
    pub fn self_contained(&self) -> Node<'static> {
        let (shape, templates) = self
            .sources
            .split_first()
            .map_or((None, &[][..]), |(shape, templates)| (Some(shape), templates));
        let root = shape.and_then(|source| {
            documents_of(KIND, &source.text).into_iter().nth(self.number).and_then(Result::ok)
        });
        // What was loaded can be read.
        let root = root.unwrap_or_else(|| Node::new(Value::Null));
        let templates: Vec<Node<'_>> =
            templates.iter().filter_map(|text| template(text).ok()).collect();
        self_contained(&root, &templates)
    }
}

/// Of so many files a thread is worth its cost.
const BATCH: usize = 8;

/// What kept shapes from being loaded: reports, ready to print.
#[derive(Debug, Default)]
pub struct LoadErrors {
    /// One report a mistake.
    pub reports: Vec<String>,
    /// Every file that was read or looked for all the same.
    pub files: Vec<String>,
}

impl LoadErrors {
    fn say(&mut self, text: impl Into<String>) {
        self.reports.push(format!("error: {}\n", text.into()));
    }

    fn mistake(&mut self, sources: &[&Source], found: &Mistake, style: Style) {
        self.reports.push(mistake(sources, found, style));
    }
}

/// Where in a file shapes are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Documents,
    AlsoConfigMaps,
}

/// How a file that was named is read.
type Read = fn(&str) -> Result<Source, String>;

/// Every shape below these paths, `substitution` filled into its text and its template's.
///
/// # Errors
/// Every mistake in them; also when a path holds no shape at all.
pub fn load(
    paths: &[String],
    substitution: Option<&Substitution>,
    style: Style,
) -> Result<Vec<LoadedShape>, LoadErrors> {
    load_by(files::read, Where::Documents, paths, substitution, style)
}

/// The same, and also the shapes in the ConfigMaps of a stream of manifests: of a file or of standard
/// input, since a directory may hold both the shapes and what was rendered of them.
///
/// # Errors
/// As [`load`].
pub fn load_also_in_manifests(
    paths: &[String],
    substitution: Option<&Substitution>,
    style: Style,
) -> Result<Vec<LoadedShape>, LoadErrors> {
    load_by(files::read, Where::AlsoConfigMaps, paths, substitution, style)
}

/// The same for somebody who reads them again and again: from regular files only.
///
/// # Errors
/// As [`load`].
pub fn load_followed(paths: &[String], style: Style) -> Result<Vec<LoadedShape>, LoadErrors> {
    load_by(files::read_regular, Where::Documents, paths, None, style)
}

fn load_by(
    by: Read,
    places: Where,
    paths: &[String],
    substitution: Option<&Substitution>,
    style: Style,
) -> Result<Vec<LoadedShape>, LoadErrors> {
    let mut errors = LoadErrors::default();
    let mut loaded = vec![];
    let mut seen = std::collections::HashSet::new();
    for path in paths {
        let files = match files::expand(path) {
            Ok(files) => files,
            Err(message) => {
                errors.say(message);
                continue;
            }
        };
        let places = if Path::new(path).is_dir() { Where::Documents } else { places };
        let mut is_new = |file: &String| {
            // The same file by two paths is one shape.
            seen.insert(std::fs::canonicalize(file).unwrap_or_else(|_| file.into()))
        };
        let files: Vec<String> = files.into_iter().filter(&mut is_new).collect();
        let found =
            parallel::map(&files, BATCH, |file| load_file(by, places, file, substitution, style));
        if found.iter().all(|(shapes, wrong)| shapes.is_empty() && wrong.reports.is_empty()) {
            errors.say(format!("{path}: there is no {KIND} in it"));
        }
        for (shapes, wrong) in found {
            loaded.extend(shapes);
            errors.reports.extend(wrong.reports);
            errors.files.extend(wrong.files);
        }
    }
    if errors.reports.is_empty() { Ok(loaded) } else { Err(errors) }
}

/// Shapes together, as requests are judged with them.
///
/// # Errors
/// Two shapes that cannot be loaded together.
pub fn together(loaded: &[LoadedShape]) -> Result<Shapes, LoadErrors> {
    let shapes = loaded.iter().map(|loaded| loaded.shape.clone()).collect();
    joined(shapes, |index| &loaded[index].place)
}

/// The same, for a caller that needs nothing else of them: a thousand shapes are not copied.
///
/// # Errors
/// As [`together`].
pub fn into_together(loaded: Vec<LoadedShape>) -> Result<Shapes, LoadErrors> {
    let (shapes, places): (_, Vec<String>) =
        loaded.into_iter().map(|loaded| (loaded.shape, loaded.place)).unzip();
    joined(shapes, |index| &places[index])
}

fn joined<'p>(
    shapes: Vec<Shape>,
    place: impl Fn(usize) -> &'p String,
) -> Result<Shapes, LoadErrors> {
    Shapes::new(shapes).map_err(|(index, message)| {
        let mut errors = LoadErrors::default();
        errors.say(format!("{}: {message}", place(index)));
        errors
    })
}

/// The shapes of one file, and what is wrong with it.
fn load_file(
    by: Read,
    places: Where,
    file: &str,
    substitution: Option<&Substitution>,
    style: Style,
) -> (Vec<LoadedShape>, LoadErrors) {
    let mut loaded = vec![];
    let mut errors = LoadErrors { files: vec![file.to_owned()], ..LoadErrors::default() };
    match read(by, file, substitution) {
        Ok(source) => {
            load_source(&source, substitution, style, &mut loaded, &mut errors);
            if places == Where::AlsoConfigMaps {
                for source in in_config_maps(&source) {
                    load_source(&source, substitution, style, &mut loaded, &mut errors);
                }
            }
        }
        Err(message) => errors.say(message),
    }
    (loaded, errors)
}

/// The texts in ConfigMaps that hold shapes, named after object and key.
fn in_config_maps(source: &Source) -> Vec<Source> {
    let mut texts = vec![];
    // What cannot be read is a mistake of the documents already.
    for object in listed(&source.text).iter().flatten() {
        let word =
            |node: Option<&Node<'_>>| node.and_then(Node::as_str).unwrap_or_default().to_owned();
        if word(object.get("kind")) != "ConfigMap" || word(object.get("apiVersion")) != "v1" {
            continue;
        }
        let metadata = object.get("metadata");
        let of = |key| word(metadata.and_then(|metadata| metadata.get(key)));
        for entry in object.get("data").map(Node::entries).into_iter().flatten() {
            // Other programs' settings are no YAML of ours.
            let text = entry.node.as_str().filter(|t| t.contains(API_VERSION) && t.contains(KIND));
            let (namespace, name, key) = (of("namespace"), of("name"), &entry.key);
            let called = format!("{}: ConfigMap {namespace}/{name}, {key}", source.name);
            texts.extend(text.and_then(|text| Source::from_text(called, text).ok()));
        }
    }
    texts
}

fn load_source(
    source: &Source,
    substitution: Option<&Substitution>,
    style: Style,
    loaded: &mut Vec<LoadedShape>,
    errors: &mut LoadErrors,
) {
    for (number, document) in documents_of(KIND, &source.text).into_iter().enumerate() {
        match document {
            Ok(root) => {
                load_shape(source, (number, &root), substitution, style, loaded, errors);
            }
            Err(found) => errors.mistake(&[source], &found, style),
        }
    }
}

fn load_shape(
    source: &Source,
    (number, root): (usize, &Node<'_>),
    substitution: Option<&Substitution>,
    style: Style,
    loaded: &mut Vec<LoadedShape>,
    errors: &mut LoadErrors,
) {
    let before = errors.reports.len();
    let texts: Vec<Result<Source, Mistake>> = template_files(root)
        .into_iter()
        .map(|(file, at)| {
            let file = files::beside(&source.name, &file);
            errors.files.push(file.clone());
            read(files::read_regular, &file, substitution)
                .map_err(|message| Mistake::new(at, message))
        })
        .collect();
    let mut sources = vec![source];
    let mut templates = vec![];
    for text in &texts {
        match text.as_ref().map(|text| (text, template(text))) {
            Ok((text, Ok(node))) => {
                sources.push(text);
                templates.push(node);
            }
            Ok((text, Err(found))) => errors.mistake(&[text], &found, style),
            Err(found) => errors.mistake(&[source], found, style),
        }
    }
    match Shape::load(root, &templates) {
        Ok(shape) if errors.reports.len() == before => loaded.push(LoadedShape {
            shape,
            place: place(source, root.at),
            sources: sources.into_iter().cloned().collect(),
            number,
        }),
        Ok(_) => {}
        Err(mut mistakes) => {
            // The labels that the server copies are compiled twice; so are their mistakes.
            mistakes.sort_by_key(|m| (m.source, m.at));
            mistakes.dedup();
            for found in mistakes {
                errors.mistake(&sources, &found, style);
            }
        }
    }
}

/// A file's text, filled in.
fn read(by: Read, name: &str, substitution: Option<&Substitution>) -> Result<Source, String> {
    let source = by(name)?;
    match substitution {
        None => Ok(source),
        Some(substitution) => Source::from_text(source.name, substitution.apply(&source.text))
            .map_err(|error| format!("{name}: {error}")),
    }
}

/// The one document of a template's text.
fn template(source: &Source) -> Result<Node<'_>, Mistake> {
    let mut found =
        documents(&source.text).map(|d| d.map(|d| d.root)).collect::<Vec<_>>().into_iter();
    match (found.next(), found.next()) {
        (Some(Ok(root)), None) => Ok(root),
        (Some(Err(mistake)), _) => Err(mistake),
        (None, _) => Err(Mistake::new(NOWHERE, "the template file is empty")),
        (Some(Ok(_)), Some(second)) => {
            let at = second.map_or_else(|m| m.at, |node| node.at);
            Err(Mistake::new(at, "a template file holds one document")
                .help("put the others into files of their own"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: ns}
data: {script: "if kind: JobShape; then"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shapes, namespace: ns}
data:
  a.yaml: |
    apiVersion: jobshape.dev/v1alpha1
    kind: JobShape
    metadata: {name: a}
    spec:
      match: {namespaces: [ns]}
      rules:
      - {name: network, select: [$.spec.template.spec.hostNetwork], must: {const: false}, absent: true}
---
apiVersion: jobshape.dev/v1alpha1
kind: JobShape
metadata: {name: b}
spec:
  match: {namespaces: [ns]}
  rules:
  - {name: pid, select: [$.spec.template.spec.hostPID], must: {const: false}, absent: true}
"#;

    fn places(of: &str, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stream.yaml");
        std::fs::write(&file, text).unwrap();
        let path = if of == "file" { &file } else { folder.path() };
        let loaded = load_also_in_manifests(&[path.display().to_string()], None, Style::Plain);
        let within = file.display().to_string();
        match loaded {
            Ok(loaded) => loaded.iter().map(|l| l.place.replace(&within, "F")).collect(),
            Err(errors) => errors.reports.iter().map(|r| r.replace(&within, "F")).collect(),
        }
    }

    #[test]
    fn the_shapes_in_config_maps_of_a_stream_are_read() {
        assert_eq!(places("file", STREAM), ["F:20:1", "F: ConfigMap ns/shapes, a.yaml:1:1"]);
        assert_eq!(places("folder", STREAM), ["F:20:1"]);
        let broken = STREAM.replacen("must: {const: false}", "mist: {}", 1);
        let said = places("file", &broken).concat();
        assert!(said.contains("F: ConfigMap ns/shapes, a.yaml:7:"), "{said}");
    }
}
