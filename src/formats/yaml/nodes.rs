//! From the parser's events to the tree.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle};

use super::{characters, scalar, syntax};
use crate::core::mistake::Mistake;
use crate::core::tree::{Entry, MAX_DEPTH, MAX_NODES, Node, Value};
use crate::formats::refused;
use crate::formats::text::Part;

/// The root of the document; nothing when there is none.
pub(super) fn read(part: Part<'_>) -> Result<Option<Node<'_>>, Mistake> {
    let options = granit_parser::options! {
        emit_comments: false,
        // Ours is lower, and says more.
        flow_nesting_limit: 2 * MAX_DEPTH,
        block_nesting_limit: 2 * MAX_DEPTH,
    };
    let mut reader = Reader {
        part,
        parser: Parser::new_from_str_with_options(part.text, options),
        nodes: 0,
        anchors: HashMap::new(),
        aliases: part.text.contains('*'),
    };
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(None),
            (Event::DocumentStart(..), _) => break,
            _ => {}
        }
    }
    let (event, span) = reader.next()?;
    let root = reader.node(event, span, Level { depth: 0, flow: false })?;
    // The parser has to see that nothing but the document's end follows the root.
    reader.next()?;
    Ok(Some(root))
}

struct Reader<'a> {
    part: Part<'a>,
    parser: Parser<'a, StrInput<'a>>,
    /// Nodes so far, copies for anchors and aliases included: those are what a bomb is made of.
    nodes: usize,
    anchors: HashMap<usize, Anchored<'a>>,
    /// Whether any alias can follow; most documents need no copy of what their anchors name.
    aliases: bool,
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Level {
    /// Lists and maps around it.
    depth: usize,
    /// Whether one of them is in brackets.
    flow: bool,
}

impl Level {
    fn within(self, style: StructureStyle) -> Level {
        Level { depth: self.depth + 1, flow: style == StructureStyle::Flow }
    }
}

struct Anchored<'a> {
    node: Node<'a>,
    size: usize,
    height: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Mistake> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(syntax::mistake(self.part, &error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn at(&self, span: &Span) -> u32 {
        self.part.offset(start(span))
    }

    fn count(&mut self, more: usize, at: u32) -> Result<(), Mistake> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MAX_NODES {
            return Err(refused::too_many(at));
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: Span, level: Level) -> Result<Node<'a>, Mistake> {
        let at = self.at(&span);
        let before = self.nodes;
        self.count(1, at)?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), &span)?;
                self.check_flow(&text, style, &span, level)?;
                (self.scalar(text, style, &span)?, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), &span)?;
                refuse_depth(level.depth + 1, at)?;
                (self.list(level.within(style))?, anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), &span)?;
                refuse_depth(level.depth + 1, at)?;
                (self.map(level.within(style))?, anchor)
            }
            Event::Alias(anchor) => return self.copy(anchor, at, level.depth),
            _ => return Err(Mistake::new(at, "the YAML is broken here: expected a value")),
        };
        let node = Node { value, at };
        if anchor != 0 && self.aliases {
            let size = self.nodes - before;
            self.count(size, at)?;
            let anchored = Anchored { size, height: height(&node), node: node.clone() };
            self.anchors.insert(anchor, anchored);
        }
        Ok(node)
    }

    fn scalar(
        &self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        span: &Span,
    ) -> Result<Value<'a>, Mistake> {
        self.check_escapes(matches!(text, Cow::Owned(_)), style, span)?;
        if style != ScalarStyle::Plain {
            self.check_end(style, span)?;
            return Ok(Value::String(text));
        }
        scalar::value(text).ok_or_else(|| {
            Mistake::new(
                self.at(span),
                "infinity and NaN have no form in JSON, so kubectl refuses them",
            )
            .help("put the value between quotes if it is meant as text")
        })
    }

    fn list(&mut self, level: Level) -> Result<Value<'a>, Mistake> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::List(items)),
                (event, span) => items.push(self.node(event, span, level)?),
            }
        }
    }

    fn map(&mut self, level: Level) -> Result<Value<'a>, Mistake> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut seen: HashSet<Cow<'a, str>> = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Map(entries));
            }
            let key_at = self.at(&span);
            let key = self.key(event, &span, level)?;
            let known = if entries.len() < refused::MANY_KEYS {
                entries.iter().any(|entry| entry.key == key)
            } else {
                if seen.is_empty() {
                    seen.extend(entries.iter().map(|entry| entry.key.clone()));
                }
                !seen.insert(key.clone())
            };
            if known && let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let within = first.key_at.saturating_sub(self.part.at) as usize;
                return Err(refused::duplicate(&key, key_at, self.part.line_at(within)));
            }
            let (event, span) = self.next()?;
            let node = self.node(event, span, level)?;
            entries.push(Entry { key, key_at, node });
        }
    }

    fn key(
        &mut self,
        event: Event<'a>,
        span: &Span,
        level: Level,
    ) -> Result<Cow<'a, str>, Mistake> {
        let at = self.at(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span)?;
                self.check_escapes(matches!(text, Cow::Owned(_)), style, span)?;
                self.check_flow(&text, style, span, level)?;
                if anchor != 0 && self.aliases {
                    // A key's text as a value: typed as the value would be.
                    let node = Node { value: self.scalar(text.clone(), style, span)?, at };
                    self.count(1, at)?;
                    self.anchors.insert(anchor, Anchored { node, size: 1, height: 0 });
                }
                if style != ScalarStyle::Plain {
                    return Ok(text);
                }
                if text == "<<" {
                    return Err(Mistake::new(at, "the merge key `<<` is not read").help(
                        "write the merged entries out: whether they or those beside them win \
                             depends on their order to kubectl, and not in the YAML specification",
                    ));
                }
                scalar::key(text).ok_or_else(|| {
                    Mistake::new(
                        at,
                        "this key is neither text nor a number that kubectl can make text of",
                    )
                    .help("put the key between quotes, or give it a name")
                })
            }
            Event::Alias(_) => {
                Err(Mistake::new(at, "an alias as a key is not read").help("write the key out"))
            }
            _ => Err(Mistake::new(at, "a list or map cannot be a key")
                .help("write the key as text; put braces that belong to it between quotes")),
        }
    }

    fn copy(&mut self, anchor: usize, at: u32, depth: usize) -> Result<Node<'a>, Mistake> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(Mistake::new(at, "this alias stands within the value that it names")
                .help("write the value out"));
        };
        let (size, height) = (anchored.size, anchored.height);
        self.count(size, at)?;
        refuse_depth(depth + height, at)?;
        // The copy's children stay where they are written; the copy itself is here.
        match self.anchors.get(&anchor) {
            Some(anchored) => Ok(Node { at, ..anchored.node.clone() }),
            None => Err(Mistake::new(at, "this alias names nothing")),
        }
    }

    fn check_escapes(&self, copied: bool, style: ScalarStyle, span: &Span) -> Result<(), Mistake> {
        // Without an escape the parser has nothing to copy.
        if style != ScalarStyle::DoubleQuoted || !copied {
            return Ok(());
        }
        let raw = span.slice(self.part.text).unwrap_or_default();
        characters::check_escapes(self.part, raw, start(span))
    }

    /// kubectl puts a line end after the last line; where that holds only spaces and a block that
    /// keeps its line ends reaches it, the block gains one that does not stand in the text.
    fn check_end(&self, style: ScalarStyle, span: &Span) -> Result<(), Mistake> {
        let text = self.part.text;
        let end = text.trim_end_matches([' ', '\t']).len();
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let rest = text.get(span.end.byte_offset().unwrap_or_default()..).unwrap_or_default();
        if !block || end == text.len() || !rest.trim().is_empty() {
            return Ok(());
        }
        // The span begins with the block's own text, and its header is on the line before; only
        // that of an empty block begins with the header.
        let (before, after) = text.split_at_checked(start(span)).unwrap_or_default();
        let keeps = [before.trim_end().lines().next_back(), after.lines().next()]
            .iter()
            .flatten()
            .any(|header| header.contains('+'));
        if !keeps || !text.get(..end).is_some_and(|text| text.ends_with(['\n', '\r'])) {
            return Ok(());
        }
        Err(Mistake::new(self.part.offset(end), "the last line holds only spaces and has no line end")
            .help("remove the spaces: it depends on the reader whether the block above gets a line end for them"))
    }

    /// Within brackets, YAML 1.1 ends a plain scalar elsewhere than YAML 1.2 does.
    fn check_flow(
        &self,
        text: &str,
        style: ScalarStyle,
        span: &Span,
        level: Level,
    ) -> Result<(), Mistake> {
        if !level.flow || style != ScalarStyle::Plain {
            return Ok(());
        }
        let after = self.part.text.get(span.end.byte_offset().unwrap_or_default()..);
        let mut after = after.unwrap_or_default().bytes();
        let colon = after.next() == Some(b':')
            && !matches!(after.next(), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        if colon || text.contains('?') || text.starts_with(':') {
            return Err(Mistake::new(
                self.at(span),
                "within brackets, kubectl reads `?` and `:` in text without quotes its own way",
            )
            .help("put the text between quotes"));
        }
        Ok(())
    }

    fn refuse_tag(&self, tagged: bool, span: &Span) -> Result<(), Mistake> {
        if !tagged {
            return Ok(());
        }
        let tag = span.tag_span().unwrap_or(*span);
        let name = tag.slice(self.part.text).unwrap_or("!");
        let at = self.at(&tag);
        Err(Mistake::new(at, format!("the tag `{name}` is not read")).help(
            "remove it, and put the value between quotes if it is text: readers of YAML disagree \
             on tags",
        ))
    }
}

/// Every span of a text in memory has byte offsets; they are optional for other inputs.
fn start(span: &Span) -> usize {
    span.start.byte_offset().unwrap_or_default()
}

fn refuse_depth(depth: usize, at: u32) -> Result<(), Mistake> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    Err(refused::too_deep(at))
}

/// Levels of lists and maps in a tree; 0 for a scalar.
fn height(node: &Node<'_>) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(height).max().unwrap_or(0),
        Value::Map(entries) => {
            1 + entries.iter().map(|entry| height(&entry.node)).max().unwrap_or(0)
        }
        _ => 0,
    }
}
