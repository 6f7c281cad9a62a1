//! What the parser says about broken YAML, as a sentence with a way out.

use granit_parser::{ErrorKind, ScanError};

use crate::core::mistake::Mistake;
use crate::formats::refused;
use crate::formats::text::Part;

pub(super) fn mistake(part: Part<'_>, error: &ScanError) -> Mistake {
    let marker = error.marker();
    let within = marker.byte_offset().unwrap_or_else(|| {
        part.text.char_indices().nth(marker.index()).map_or(part.text.len(), |(at, _)| at)
    });
    let at = part.offset(within.min(part.text.len()));
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return refused::too_deep(at);
    }
    let (message, help) = explain(error);
    Mistake { help: help.map(str::to_owned), ..Mistake::new(at, message) }
}

fn explain(error: &ScanError) -> (String, Option<&'static str>) {
    let (message, help) = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => {
            ("a tab stands where YAML wants spaces", "indent with spaces")
        }
        ErrorKind::UnknownAnchor => (
            "this alias names an anchor that is not defined before it in the same document",
            "define it with `&` further up, or write the value out; anchors do not reach over `---`",
        ),
        ErrorKind::UnclosedQuotedScalar => ("this quote is never closed", "close it"),
        ErrorKind::DocumentIndicatorInQuotedScalar => {
            ("the document ends within quotes", "close the quote before the `---`")
        }
        ErrorKind::UnknownQuotedScalarEscape => (
            "YAML does not know this escape",
            "write `\\\\` for a backslash, or put the text between single quotes",
        ),
        ErrorKind::ExpectedBlockMappingKey => (
            "expected a key of the map that this block began",
            "check the indentation of this line against the lines above it",
        ),
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidBlockScalarIndent
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::InvalidFlowScalarIndent => (
            "the indentation of this line fits nothing above it",
            "indent it like the lines it belongs with",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => (
            "expected `:` after this key",
            "write `key: value` on one line, or indent the line if it continues the text above",
        ),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => (
            "a `:` cannot begin a value here",
            "put the text between quotes if the `:` belongs to it",
        ),
        ErrorKind::PlainScalarStartsWithDashFlowIndicator => {
            ("a plain value within `{}` or `[]` cannot be `-` alone", "put it between quotes")
        }
        ErrorKind::UnexpectedCharacter { character } => {
            return (
                format!("a plain value cannot begin with `{}`", character.escape_default()),
                Some("put the value between quotes"),
            );
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            return (format!("this `{open}` is never closed"), Some("close it"));
        }
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::UnexpectedEofFlowMapping => {
            ("expected `,` or `}`", "separate the entries with `,` and close the map with `}`")
        }
        ErrorKind::ExpectedFlowSequenceSeparator | ErrorKind::UnexpectedEofFlowSequence => {
            ("expected `,` or `]`", "separate the items with `,` and close the list with `]`")
        }
        ErrorKind::BomInsideDocument => {
            ("a byte order mark (U+FEFF) stands within the document", "remove it")
        }
        ErrorKind::ExpectedDocumentStart | ErrorKind::MissingDocumentEndBeforeDirective => (
            "expected the start of a document",
            "remove `%` directives: kubectl cuts the text at `---` and refuses them",
        ),
        _ => return (format!("the YAML is broken here: {}", error.info()), None),
    };
    (message.to_owned(), Some(help))
}
