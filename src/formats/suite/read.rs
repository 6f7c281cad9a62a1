//! Reading a test file: every mistake at once, nothing ignored.

use crate::core::judge::VerdictKind;
use crate::core::mistake::{Mistake, suggestion};
use crate::core::shape::document::{API_VERSION, Operation};
use crate::core::shape::fields::Fields;
use crate::core::tree::{Node, Value};
use crate::formats::suite::{Base, Case, Change, Requester, Server, Start, Suite};

const CASE_KEYS: [&str; 15] = [
    "name",
    "patch",
    "merge",
    "object",
    "values",
    "expect",
    "rules",
    "anyRule",
    "paths",
    "message",
    "operation",
    "actions",
    "old",
    "server",
    "serverReason",
];

impl Suite {
    /// Reads a test file.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn read(root: &Node<'_>) -> Result<Suite, Vec<Mistake>> {
        let mut mistakes = vec![];
        let suite = read(root, &mut mistakes);
        match suite {
            Some(suite) if mistakes.is_empty() => Ok(suite),
            _ => Err(mistakes),
        }
    }
}

fn read(root: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Suite> {
    const KEYS: [&str; 7] =
        ["apiVersion", "kind", "metadata", "shapes", "base", "request", "cases"];
    let mut top = Fields::of(root, "a JobShapeTest", &KEYS, mistakes)?;
    if let Some(version) = top.required_text("apiVersion")
        && version != API_VERSION
    {
        top.mistake(
            top.key_at("apiVersion"),
            format!("apiVersion is `{API_VERSION}`, not `{version}`"),
        );
    }
    let name = match top.required("metadata") {
        Some(node) => {
            let mut metadata =
                Fields::of(node, "metadata", &["name", "labels", "annotations"], top.mistakes())?;
            metadata.required_text("name").unwrap_or_default().to_owned()
        }
        None => String::new(),
    };
    top.required("shapes");
    let shapes: Vec<(String, u32)> =
        top.texts("shapes").into_iter().map(|(t, at)| (t.to_owned(), at)).collect();
    if shapes.is_empty() && top.get("shapes").is_some() {
        top.mistake(top.key_at("shapes"), "`shapes` of a JobShapeTest is empty");
    }
    let base = match top.get("base") {
        Some(node) => read_base(node, top.mistakes())?,
        None => Base::Fill(vec![]),
    };
    let request = match top.get("request") {
        Some(node) => read_request(node, top.mistakes())?,
        None => Requester::default(),
    };
    top.required("cases");
    let mut cases: Vec<Case> = vec![];
    for node in top.list("cases") {
        let Some(case) = read_case(node, top.mistakes()) else { continue };
        if let Some(first) = cases.iter().find(|c| c.name == case.name) {
            let also = first.at;
            top.mistakes().push(
                Mistake::new(case.at, format!("two cases are named `{}`", case.name))
                    .help("give each a name of its own")
                    .also(also),
            );
        }
        cases.push(case);
    }
    if cases.is_empty() && top.get("cases").is_some() {
        top.mistake(
            top.key_at("cases"),
            "`cases` of a JobShapeTest is empty: nothing would be tested",
        );
    }
    Some(Suite { name, shapes, base, request, cases })
}

fn read_base(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Base> {
    let mut fields = Fields::of(node, "base", &["fill", "file"], mistakes)?;
    match (fields.get("fill"), fields.get("file")) {
        (Some(_), Some(_)) => {
            fields.mistake(fields.key_at("file"), "base has `fill` or `file`, not both");
            None
        }
        (None, Some(file)) => {
            let at = file.at;
            fields.required_text("file").map(|name| Base::File(name.to_owned(), at))
        }
        (Some(fill), None) => Some(Base::Fill(read_values(fill, fields.mistakes()))),
        (None, None) => {
            fields.mistake(node.at, "base has `fill` (values of variables) or `file`");
            None
        }
    }
}

/// Values of variables: texts, and scalars as the text they are.
fn read_values(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Vec<(String, String, u32)> {
    if !matches!(node.value, Value::Map(_)) {
        mistakes.push(Mistake::new(
            node.at,
            format!("values of variables are a map, not {}", node.kind()),
        ));
    }
    let mut values = vec![];
    for entry in node.entries() {
        let text = match &entry.node.value {
            Value::String(text) => text.to_string(),
            Value::Bool(_) | Value::Number(_) => entry.node.to_json().to_string(),
            _ => {
                mistakes.push(Mistake::new(
                    entry.node.at,
                    format!("the value of a variable is a scalar, not {}", entry.node.kind()),
                ));
                continue;
            }
        };
        values.push((entry.key.to_string(), text, entry.key_at));
    }
    values
}

fn read_request(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Requester> {
    let mut fields = Fields::of(node, "request", &["user", "groups", "namespace"], mistakes)?;
    Some(Requester {
        user: fields.text("user").map(str::to_owned),
        groups: fields.texts("groups").into_iter().map(|(t, _)| t.to_owned()).collect(),
        namespace: fields.text("namespace").map(str::to_owned),
    })
}

fn read_case(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Case> {
    let mut fields = Fields::of(node, "a case", &CASE_KEYS, mistakes)?;
    let name = fields.required_text("name").unwrap_or_default().to_owned();
    let at = fields.get("name").map_or(node.at, |n| n.at);
    let expect = read_expect(&mut fields);
    let rules: Vec<(String, u32)> =
        fields.texts("rules").into_iter().map(|(t, at)| (t.to_owned(), at)).collect();
    // A case that names no rules says nothing about them.
    let any_rule = fields.flag("anyRule") || fields.get("rules").is_none();
    let operation = match fields.text("operation") {
        None => Operation::Create,
        Some(word) => {
            let found = Operation::from_word(word);
            if found.is_none() {
                let at = fields.key_at("operation");
                let help = suggestion(word, &Operation::WORDS);
                fields
                    .mistakes()
                    .push(Mistake::new(at, format!("no operation `{word}`")).help(help));
            }
            found.unwrap_or(Operation::Create)
        }
    };
    let as_written = match fields.text("actions") {
        None => false,
        Some("asWritten") => true,
        Some(other) => {
            let at = fields.key_at("actions");
            fields.mistakes().push(
                Mistake::new(at, format!("`actions` of a case is `asWritten`, not `{other}`"))
                    .help("leave it out: every rule is judged as Enforce then"),
            );
            false
        }
    };
    let change = read_change(&mut fields, Start::Given);
    let old = match fields.get("old") {
        None => None,
        Some(node) => Some(read_old(node, fields.mistakes())?),
    };
    if old.is_some() && operation == Operation::Create {
        let at = fields.key_at("old");
        fields.mistakes().push(
            Mistake::new(at, "`old` is what an update replaces, and this case is none")
                .help("write `operation: UPDATE` too"),
        );
    }
    let server = read_server(&mut fields);
    if fields.get("serverReason").is_some() && server.is_none() {
        fields.mistake(
            fields.key_at("serverReason"),
            "`serverReason` says why `server` does what it does, and this case has no `server`",
        );
    }
    Some(Case {
        name,
        at,
        change: change?,
        expect: expect?,
        rules,
        any_rule,
        paths: fields.texts("paths").into_iter().map(|(t, _)| t.to_owned()).collect(),
        message: fields.text("message").map(str::to_owned),
        operation,
        old,
        server,
        server_reason: fields.text("serverReason").map(str::to_owned),
        as_written,
    })
}

fn read_expect(fields: &mut Fields<'_, '_>) -> Option<VerdictKind> {
    const ALL: [VerdictKind; 4] =
        [VerdictKind::Allow, VerdictKind::Deny, VerdictKind::Error, VerdictKind::Ungoverned];
    let word = fields.required_text("expect")?;
    let found = ALL.into_iter().find(|v| v.word() == word);
    if found.is_none() {
        let at = fields.get("expect").map_or(0, |n| n.at);
        let help = suggestion(word, &ALL.map(VerdictKind::word));
        fields.mistakes().push(Mistake::new(at, format!("no verdict `{word}`")).help(help));
    }
    found
}

fn read_server(fields: &mut Fields<'_, '_>) -> Option<Server> {
    let word = fields.text("server")?;
    let found = Server::from_word(word);
    if found.is_none() {
        let at = fields.key_at("server");
        let help = suggestion(word, &Server::WORDS);
        let message = format!("the server does not `{word}` a Job, as far as a test file says");
        fields.mistakes().push(Mistake::new(at, message).help(help));
    }
    found
}

/// What an update replaces: a patch of the base, a file, or a change like that of a case.
fn read_old(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Change> {
    let change = |start| Change { start, patch: None, merge: None };
    match &node.value {
        Value::String(file) => Some(change(Start::File(file.to_string(), node.at))),
        Value::List(_) => {
            Some(Change { patch: Some(read_patch(node, "old", mistakes)?), ..change(Start::Given) })
        }
        _ => {
            const KEYS: [&str; 5] = ["patch", "merge", "object", "values", "file"];
            let mut fields = Fields::of(node, "old", &KEYS, mistakes)?;
            let file = fields.get("file").map(|file| file.at);
            if let Some(other) = ["object", "values"].into_iter().find(|k| fields.get(k).is_some())
                && file.is_some()
            {
                let at = fields.key_at("file");
                let message = format!("`old` starts from `file` or from `{other}`, not both");
                fields.mistakes().push(Mistake::new(at, message));
                return None;
            }
            let start = match (file, fields.text("file")) {
                (Some(at), Some(name)) => Start::File(name.to_owned(), at),
                _ => Start::Given,
            };
            read_change(&mut fields, start)
        }
    }
}

fn read_patch(
    node: &Node<'_>,
    key: &str,
    mistakes: &mut Vec<Mistake>,
) -> Option<json_patch::Patch> {
    let patch = serde_json::from_value(node.to_json());
    patch
        .map_err(|error| {
            let message = format!("`{key}` is no JSON Patch (RFC 6902): {error}");
            mistakes.push(Mistake::new(node.at, message));
        })
        .ok()
}

fn read_change(fields: &mut Fields<'_, '_>, given: Start) -> Option<Change> {
    let start = match (fields.get("object"), fields.get("values")) {
        (Some(_), Some(_)) => {
            fields.mistake(
                fields.key_at("values"),
                "a case starts from `object` or from `values`, not both",
            );
            return None;
        }
        (Some(object), None) => Start::Object(object.to_json()),
        (None, Some(node)) => {
            let values = read_values(node, fields.mistakes());
            Start::Values(values.into_iter().map(|(name, value, _)| (name, value)).collect())
        }
        (None, None) => given,
    };
    let patch = match fields.get("patch") {
        None => None,
        Some(node) => Some(read_patch(node, "patch", fields.mistakes())?),
    };
    Some(Change { start, patch, merge: fields.get("merge").map(Node::to_json) })
}
