//! Selectors: the part of JSONPath (RFC 9535) that names a region whoever submits the Job.
//!
//! Parsed by `jsonpath-rust`, then narrowed: an index, a slice, a function or a filter on any
//! other value than a list's key would let the submitter choose what the rule looks at.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, Literal, Segment, Selector as JpSelector,
    SingularQuery, SingularQuerySegment,
};

/// Longest selector text, in bytes.
const MAX_TEXT: usize = 2_000;

/// A checked selector: `$` and the steps from the Job's root.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    /// The text as written.
    pub text: String,
    /// The steps.
    pub steps: Vec<SelectorStep>,
}

/// One step of a selector.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectorStep {
    /// A field or a map key.
    Name(String),
    /// `[*]`: every item or entry.
    All,
    /// `[?@.name=='x' && …]`: the item with this key.
    Key(Vec<(String, String)>),
    /// `[?@=='x']`: the item that is this string.
    Value(String),
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// A sentence that says what a selector may not hold, and possibly what to write instead.
    pub fn parse(text: &str) -> Result<Selector, (String, Option<String>)> {
        if text.len() > MAX_TEXT {
            return Err((format!("a selector of more than {MAX_TEXT} characters"), None));
        }
        if let Some(steps) = plain(text) {
            return Ok(Selector { text: text.to_owned(), steps });
        }
        Ok(Selector { text: text.to_owned(), steps: parsed(text)? })
    }
}

/// The steps of a selector of the commonest form, names after points and `[*]`: the parser takes
/// longer for one than a whole template does.
fn plain(text: &str) -> Option<Vec<SelectorStep>> {
    let mut rest = text.strip_prefix('$')?;
    let mut steps = vec![];
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[*]") {
            steps.push(SelectorStep::All);
            rest = after;
            continue;
        }
        let after = rest.strip_prefix('.')?;
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return None;
        }
        steps.push(SelectorStep::Name(name.to_owned()));
        rest = after;
    }
    Some(steps)
}

fn parsed(text: &str) -> Result<Vec<SelectorStep>, (String, Option<String>)> {
    let query = jsonpath_rust::parser::parse_json_path(text)
        .map_err(|_| (format!("`{text}` is no JSONPath (RFC 9535)"), repair(text)))?;
    let allowed = "names, `[*]` and equality on a list's key (`[?@.name=='x']`)";
    query
        .segments
        .into_iter()
        .map(|segment| {
            step(segment).map_err(|what| {
                (format!("{what} in `{text}`"), Some(format!("a selector holds only {allowed}")))
            })
        })
        .collect()
}

fn step(segment: Segment) -> Result<SelectorStep, String> {
    match segment {
        Segment::Descendant(_) => Err("`..`".to_owned()),
        Segment::Selectors(_) => Err("several selectors in one bracket".to_owned()),
        Segment::Selector(JpSelector::Name(name)) => Ok(SelectorStep::Name(unquote(&name))),
        Segment::Selector(JpSelector::Wildcard) => Ok(SelectorStep::All),
        Segment::Selector(JpSelector::Index(_)) => {
            Err("an index (the submitter chooses what stands there)".to_owned())
        }
        Segment::Selector(JpSelector::Slice(..)) => Err("a slice".to_owned()),
        Segment::Selector(JpSelector::Filter(filter)) => {
            let mut keys = vec![];
            let mut value = None;
            flatten(&filter, &mut keys, &mut value)?;
            match (value, keys.is_empty()) {
                (Some(value), true) => Ok(SelectorStep::Value(value)),
                (None, false) => Ok(SelectorStep::Key(keys)),
                _ => Err("a filter on the item and on its fields".to_owned()),
            }
        }
    }
}

fn flatten(
    filter: &Filter,
    keys: &mut Vec<(String, String)>,
    value: &mut Option<String>,
) -> Result<(), String> {
    match filter {
        Filter::And(parts) => parts.iter().try_for_each(|part| flatten(part, keys, value)),
        Filter::Atom(FilterAtom::Comparison(comparison)) => {
            let Comparison::Eq(left, right) = comparison.as_ref() else {
                return Err("a comparison other than `==`".to_owned());
            };
            let (query, literal) = match (left, right) {
                (Comparable::SingularQuery(q), Comparable::Literal(l))
                | (Comparable::Literal(l), Comparable::SingularQuery(q)) => (q, l),
                _ => return Err("a filter that compares no key with a value".to_owned()),
            };
            let literal = match literal {
                Literal::String(text) => unquote(text),
                Literal::Int(int) => int.to_string(),
                _ => return Err("a filter on a value that is no key".to_owned()),
            };
            match query {
                SingularQuery::Current(path) => match &path[..] {
                    [] => *value = Some(literal),
                    [SingularQuerySegment::Name(name)] => keys.push((unquote(name), literal)),
                    _ => return Err("a filter on a nested value".to_owned()),
                },
                SingularQuery::Root(_) => return Err("a filter on `$`".to_owned()),
            }
            Ok(())
        }
        Filter::Atom(FilterAtom::Filter { expr, not: false }) => flatten(expr, keys, value),
        Filter::Or(_) => Err("`||`".to_owned()),
        Filter::Atom(_) => Err("a test or a function".to_owned()),
    }
}

/// Names in brackets keep their quotes in the parsed form.
fn unquote(name: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some(inner) = name.strip_prefix(quote).and_then(|n| n.strip_suffix(quote)) {
            return inner.to_owned();
        }
    }
    name.to_owned()
}

/// What a path with dots in a key, written as `kubectl` wants it, is in RFC 9535.
fn repair(text: &str) -> Option<String> {
    let text = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
    let text = text.strip_prefix('$').unwrap_or(text);
    let mut path = "$".to_owned();
    let mut name = String::new();
    let mut escaped = false;
    let mut chars = text.chars().peekable();
    let flush = |name: &mut String, escaped: &mut bool, path: &mut String| {
        if !name.is_empty() {
            if *escaped || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                path.push_str(&format!("['{name}']"));
            } else {
                path.push_str(&format!(".{name}"));
            }
        }
        name.clear();
        *escaped = false;
    };
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                escaped = true;
                name.extend(chars.next());
            }
            '.' => flush(&mut name, &mut escaped, &mut path),
            '[' => {
                flush(&mut name, &mut escaped, &mut path);
                path.push('[');
                for inner in chars.by_ref() {
                    path.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            _ => name.push(c),
        }
    }
    flush(&mut name, &mut escaped, &mut path);
    jsonpath_rust::parser::parse_json_path(&path).ok().map(|_| format!("write `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<SelectorStep> {
        Selector::parse(text).unwrap_or_else(|(e, _)| panic!("{e}")).steps
    }

    #[test]
    fn names_wildcards_and_keys_are_steps() {
        let name = |n: &str| SelectorStep::Name(n.to_owned());
        assert_eq!(
            steps("$.spec.containers[*].ports[?@.containerPort==80 && @.protocol=='TCP'].hostPort"),
            [
                name("spec"),
                name("containers"),
                SelectorStep::All,
                name("ports"),
                SelectorStep::Key(vec![
                    ("containerPort".into(), "80".into()),
                    ("protocol".into(), "TCP".into())
                ]),
                name("hostPort"),
            ]
        );
        assert_eq!(steps("$.metadata.labels['a.b/c']")[2], name("a.b/c"));
        assert_eq!(steps("$.metadata.finalizers[?@=='x']")[2], SelectorStep::Value("x".into()));
    }

    proptest::proptest! {
        #[test]
        fn the_short_way_says_what_the_parser_says(text in r"\$(\.[a-zA-Z0-9_]{1,6}|\[\*\]|\.\*|\['a'\]|\.?){0,5}") {
            if let Some(steps) = plain(&text) {
                proptest::prop_assert_eq!(Ok(steps), parsed(&text));
            }
        }
    }

    #[test]
    fn names_and_wildcards_need_no_parser() {
        for text in ["$", "$.spec", "$.spec.template.spec.containers[*].env_2"] {
            assert_eq!(plain(text), parsed(text).ok(), "{text}");
        }
    }

    #[test]
    fn what_the_submitter_could_steer_is_refused() {
        for text in [
            "$..image",
            "$.spec.containers[0]",
            "$.spec.containers[0:1]",
            "$.spec.containers[?@.name=='a' || @.name=='b']",
            "$.spec.containers[?@.name!='a']",
            "$.spec.containers[?@.image]",
            "$.spec.containers[?length(@.name)==1]",
            "$.spec.containers[?@.securityContext.privileged==true]",
            "$.spec['a','b']",
            "spec.containers",
            "",
        ] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_as_kubectl_writes_it_is_repaired() {
        let (_, help) =
            Selector::parse(r"$.metadata.annotations.example\.com/owner").expect_err("no");
        assert_eq!(help.as_deref(), Some("write `$.metadata.annotations['example.com/owner']`"));
        let (_, help) = Selector::parse("spec.backoffLimit").expect_err("no");
        assert_eq!(help.as_deref(), Some("write `$.spec.backoffLimit`"));
    }
}
