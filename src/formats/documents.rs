//! The Kubernetes objects of a text: a YAML stream or a stream of JSON, lists taken apart.

mod list;
mod places;

use crate::core::mistake::Mistake;
use crate::core::tree::{Node, Value};
use crate::formats::json::{self, Duplicates, Skip};
use crate::formats::text::{Part, Source};
use crate::formats::yaml;

pub use places::{Places, position_of};

/// A part of a text that holds one document, not yet read. Chunks are independent of each other,
/// so they may be read on several threads.
#[derive(Debug, Clone)]
pub struct Chunk<'a>(Content<'a>);

#[derive(Debug, Clone)]
enum Content<'a> {
    Yaml(Part<'a>),
    Json(Part<'a>),
    Broken(Mistake),
}

/// One document that is not empty.
#[derive(Debug)]
pub struct Document<'a> {
    /// Which document of the text, from 1; empty ones are not counted, since nobody sees them.
    pub number: usize,
    /// What it says.
    pub root: Node<'a>,
}

/// One Kubernetes object.
#[derive(Debug)]
pub struct Object<'a> {
    /// Which object of the text, from 1. A document that cannot be read counts as one.
    pub index: usize,
    /// Which document of the text it stands in, from 1.
    pub document: usize,
    /// What it says.
    pub root: Node<'a>,
    /// The JSON pointer of the object within its document: empty, or `/items/0` in a list.
    pub pointer: String,
    /// The object's own JSON, where its nodes have no places.
    json: Option<Part<'a>>,
}

/// Cuts a text into documents, empty ones included. A text that begins with `{` is JSON, and
/// every other one is YAML.
#[must_use]
pub fn split(text: &str) -> Vec<Chunk<'_>> {
    let (parts, content): (_, fn(_) -> _) = if text.trim_start().starts_with('{') {
        (json::split(text), Content::Json)
    } else {
        (yaml::split(text), Content::Yaml)
    };
    parts.into_iter().map(|part| Chunk(part.map_or_else(Content::Broken, content))).collect()
}

/// Reads one document; nothing for an empty one.
///
/// # Errors
///
/// The first [`Mistake`] of the document, as [`yaml::read`] and [`json::read`] have them.
pub fn read<'a>(chunk: &Chunk<'a>) -> Result<Option<Node<'a>>, Mistake> {
    match &chunk.0 {
        Content::Yaml(part) => yaml::read(*part),
        Content::Json(part) => json::read_part(*part, Skip::Nothing, Duplicates::Refuse).map(Some),
        Content::Broken(mistake) => Err(mistake.clone()),
    }
}

/// Every document of a text that is not empty. A mistake in one does not hide those after it,
/// except in JSON, where nothing tells where the next would begin.
pub fn documents(text: &str) -> impl Iterator<Item = Result<Document<'_>, Mistake>> {
    let mut number = 0;
    split(text).into_iter().filter_map(move |chunk| {
        let root = read(&chunk).transpose()?;
        number += 1;
        Some(root.map(|root| Document { number, root }))
    })
}

/// Every document of a text, those within a list one by one. Unlike [`objects`] it passes on what is
/// no Kubernetes object: files of other tools lie beside one's own.
#[must_use]
pub fn listed(text: &str) -> Vec<Result<Node<'_>, Mistake>> {
    let mut all = vec![];
    for document in documents(text) {
        match document {
            Ok(Document { number, root }) if list::is_list(&root) => {
                let mut objects = vec![];
                list::flatten(root, number, None, &mut objects);
                all.extend(objects.into_iter().map(|object| object.map(|object| object.root)));
            }
            Ok(document) => all.push(Ok(document.root)),
            Err(mistake) => all.push(Err(mistake)),
        }
    }
    all
}

/// Every object of a text, those within a list one by one; none when the text holds no document.
#[must_use]
pub fn objects(source: &Source) -> Vec<Result<Object<'_>, Mistake>> {
    objects_of(split(&source.text).into_iter().map(|chunk| {
        let node = read(&chunk);
        (chunk, node)
    }))
}

/// Every object of chunks that were read elsewhere, in the order of the text: for a caller that
/// reads them on several threads.
pub fn objects_of<'a>(
    read: impl IntoIterator<Item = (Chunk<'a>, Result<Option<Node<'a>>, Mistake>)>,
) -> Vec<Result<Object<'a>, Mistake>> {
    let mut objects = Vec::new();
    let mut document = 0;
    for (chunk, node) in read {
        let Some(node) = node.transpose() else { continue };
        document += 1;
        let json = match chunk.0 {
            Content::Json(part) => Some(part),
            _ => None,
        };
        match node {
            Ok(root) => list::flatten(root, document, json, &mut objects),
            Err(mistake) => objects.push(Err(mistake)),
        }
    }
    objects
}

fn not_an_object(node: &Node<'_>, json: Option<Part<'_>>) -> Mistake {
    let at = json.map_or(node.at, |part| part.at);
    Mistake::new(
        at,
        format!("expected a Kubernetes object, that is a map, and found {}", node.kind()),
    )
    .help("begin each document with `apiVersion` and `kind`")
}

fn is_map(node: &Node<'_>) -> bool {
    matches!(node.value, Value::Map(_))
}

#[cfg(test)]
mod tests;
