//! The `JobShape` document as written: parsed and checked by itself, before any template.

use crate::core::mistake::{Mistake, list_words, suggestion};
use crate::core::shape::fields::Fields;
use crate::core::shape::identities::{self, Identities};
use crate::core::shape::must::{self, MustDocument};
use crate::core::shape::rule::{Action, Rule};
use crate::core::shape::selector::Selector;
use crate::core::shape::variable::{VariableId, Variables};
use crate::core::shape::variables::read_variables;
use crate::core::tree::{NOWHERE, Node, Value};

/// The one apiVersion there is.
pub const API_VERSION: &str = "jobshape.dev/v1alpha1";
/// The kind of a shape.
pub const KIND: &str = "JobShape";

/// A shape document, parsed.
#[derive(Debug, Clone)]
pub struct Document {
    /// `metadata.name`.
    pub name: String,
    /// `spec.match.namespaces`.
    pub namespaces: Vec<String>,
    /// `spec.match.operations`.
    pub operations: Vec<Operation>,
    /// `spec.match.users` and `groups`: whose requests it governs; nobody named is everybody.
    pub who: Identities,
    /// `spec.match.exempt`.
    pub exempt: Identities,
    /// Where `spec.match.manualRuns` says true.
    pub manual_runs: Option<u32>,
    /// The variables, without the samples of `at`.
    pub variables: Variables,
    /// The places of variables: `at`.
    pub at: Vec<(VariableId, Placed)>,
    /// What a Job may leave out or have besides.
    pub optional: Vec<Optional>,
    /// What is not compared.
    pub unpinned: Vec<Unpinned>,
    /// The rules, the catch-all included.
    pub rules: Vec<RuleDocument>,
    /// Texts that look like placeholders and are none.
    pub literals: Vec<String>,
    /// Files that templates come from, in order.
    pub template_files: Vec<(String, u32)>,
    /// Templates written inline.
    pub templates: Vec<Node<'static>>,
    /// Whether it names no template at all.
    pub is_guard: bool,
}

/// An operation of the API server that a shape judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new Job.
    Create,
    /// A change of one.
    Update,
}

impl Operation {
    /// The words a shape may use.
    pub const WORDS: [&'static str; 2] = ["CREATE", "UPDATE"];

    /// The operation a word names; case counts.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Operation> {
        [Operation::Create, Operation::Update].into_iter().find(|o| o.word() == word)
    }

    /// The word in a shape and in an AdmissionReview.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
        }
    }
}

/// A selector and where it is written.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The selector.
    pub selector: Selector,
    /// Its place in the shape.
    pub at: u32,
}

/// An entry of `optional`.
#[derive(Debug, Clone)]
pub struct Optional {
    /// The place.
    pub place: Placed,
    /// What may stand there besides what the template has.
    pub value: Option<Node<'static>>,
}

/// An entry of `unpinned`.
#[derive(Debug, Clone)]
pub struct Unpinned {
    /// The place.
    pub place: Placed,
    /// Why nobody compares it.
    pub reason: String,
}

/// A rule as written.
#[derive(Debug, Clone)]
pub struct RuleDocument {
    /// The rule.
    pub rule: Rule,
    /// Nodes it claims with everything below.
    pub select: Vec<Placed>,
    /// Lists and maps whose entries it claims.
    pub entries: Vec<Placed>,
    /// What it says must be so. Then it claims nothing.
    pub must: Option<MustDocument>,
}

/// Name of the rule that a shape without a catch-all gets.
pub const EVERYTHING_ELSE: &str = "everything-else";

/// The files that `spec.templateFrom` names, before anything is checked: whoever reads files needs
/// them first.
#[must_use]
pub fn template_files(root: &Node<'_>) -> Vec<(String, u32)> {
    let from = root.get("spec").and_then(|spec| spec.get("templateFrom"));
    from.map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item.get("file"))
        .filter_map(|file| file.as_str().map(|name| (name.to_owned(), file.at)))
        .collect()
}

impl Document {
    /// Where the places are written that the shape names, and the rules that name them.
    pub fn places(&self) -> impl Iterator<Item = u32> {
        let rules = self.rules.iter().flat_map(|r| {
            r.select.iter().chain(&r.entries).map(|p| p.at).chain([r.rule.written_at])
        });
        let at = self.at.iter().map(|(_, place)| place.at);
        let optional = self.optional.iter().map(|o| o.place.at);
        rules.chain(at).chain(optional).chain(self.unpinned.iter().map(|u| u.place.at))
    }

    /// Reads a shape document; mistakes are added to `mistakes`, and what could be read is kept,
    /// so that the template can still be checked.
    pub fn read(root: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<Document> {
        let mut top =
            Fields::of(root, "a JobShape", &["apiVersion", "kind", "metadata", "spec"], mistakes)?;
        if let Some(version) = top.required_text("apiVersion")
            && version != API_VERSION
        {
            top.mistake(
                top.key_at("apiVersion"),
                format!("apiVersion is `{API_VERSION}`, not `{version}`"),
            );
        }
        let metadata = top.required("metadata");
        let spec = top.required("spec");
        let name = metadata.and_then(|node| read_name(node, mistakes)).unwrap_or_default();
        read_spec(spec?, name, mistakes)
    }
}

fn read_name(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Option<String> {
    let mut fields =
        Fields::of(node, "metadata", &["name", "namespace", "labels", "annotations"], mistakes)?;
    let name = fields.required_text("name")?;
    if !is_dns_label(name) {
        fields.mistake(
            fields.key_at("name"),
            format!("`{name}` is no name: lower-case letters, digits and `-`, at most 63"),
        );
    }
    Some(name.to_owned())
}

/// Lower-case letters, digits and inner dashes, at most 63 characters.
fn is_dns_label(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn read_spec(node: &Node<'_>, name: String, mistakes: &mut Vec<Mistake>) -> Option<Document> {
    const KEYS: [&str; 9] = [
        "match",
        "action",
        "variables",
        "optional",
        "unpinned",
        "rules",
        "templateFrom",
        "templates",
        "literals",
    ];
    let mut spec = Fields::of(node, "spec", &KEYS, mistakes)?;
    let action = read_action(&mut spec).unwrap_or(Action::Enforce);
    let literals = spec.texts("literals").into_iter().map(|(text, _)| text.to_owned()).collect();
    let (template_files, templates) = read_templates(&mut spec);
    let matching = spec.required("match");
    let optional: Vec<Optional> =
        spec.list("optional").iter().filter_map(|n| read_optional(n, &mut spec)).collect();
    let unpinned =
        spec.list("unpinned").iter().filter_map(|n| read_unpinned(n, &mut spec)).collect();
    let (variables, at) = match spec.get("variables") {
        Some(node) => read_variables(node, spec.mistakes()),
        None => (Variables::default(), vec![]),
    };
    let is_guard = !spec.has("templateFrom") && !spec.has("templates");
    let rules = read_rules(&mut spec, action, is_guard);
    if is_guard {
        must::written::check_guard(&mut spec, &rules);
    }
    let matching = matching.map(|node| read_match(node, spec.mistakes())).unwrap_or_default();
    Some(Document {
        name,
        namespaces: matching.namespaces,
        operations: matching.operations,
        who: matching.who,
        exempt: matching.exempt,
        manual_runs: matching.manual_runs,
        variables,
        at,
        optional,
        unpinned,
        rules,
        literals,
        template_files,
        templates,
        is_guard,
    })
}

/// `spec.match`.
#[derive(Default)]
struct Matching {
    namespaces: Vec<String>,
    operations: Vec<Operation>,
    who: Identities,
    exempt: Identities,
    manual_runs: Option<u32>,
}

fn read_match(node: &Node<'_>, mistakes: &mut Vec<Mistake>) -> Matching {
    const KEYS: [&str; 6] = ["namespaces", "operations", "users", "groups", "exempt", "manualRuns"];
    let Some(mut fields) = Fields::of(node, "match", &KEYS, mistakes) else {
        return Matching::default();
    };
    fields.required("namespaces");
    let mut namespaces = vec![];
    for (namespace, at) in fields.texts("namespaces") {
        if !is_dns_label(namespace) {
            fields.mistake(at, format!("`{namespace}` is no namespace: match takes exact names"));
        } else if namespaces.iter().any(|n| n == namespace) {
            fields.mistake(at, format!("namespace `{namespace}` is named twice"));
        } else {
            namespaces.push(namespace.to_owned());
        }
    }
    if fields.get("namespaces").is_some_and(|n| matches!(&n.value, Value::List(l) if l.is_empty()))
    {
        fields.mistake(
            fields.key_at("namespaces"),
            "`namespaces` of match is empty: no Job would be judged",
        );
    }
    let mut operations = vec![];
    for (word, at) in fields.texts("operations") {
        match Operation::from_word(word) {
            Some(operation) if operations.contains(&operation) => {
                fields.mistake(at, format!("operation `{word}` is named twice"));
            }
            Some(operation) => operations.push(operation),
            None => {
                let help = suggestion(word, &Operation::WORDS);
                fields
                    .mistakes()
                    .push(Mistake::new(at, format!("no operation `{word}`")).help(help));
            }
        }
    }
    if operations.is_empty() {
        if fields
            .get("operations")
            .is_some_and(|n| matches!(&n.value, Value::List(l) if l.is_empty()))
        {
            fields.mistake(
                fields.key_at("operations"),
                "`operations` of match is empty: no Job would be judged",
            );
        }
        operations = vec![Operation::Create, Operation::Update];
    }
    let who = Identities::read(&mut fields);
    let exempt = read_exempt(&mut fields, &namespaces);
    let manual_runs = fields.flag("manualRuns").then(|| fields.key_at("manualRuns"));
    Matching { namespaces, operations, who, exempt, manual_runs }
}

/// Whom the shape is taken away from: `exempt` of match.
fn read_exempt(of_match: &mut Fields<'_, '_>, namespaces: &[String]) -> Identities {
    let Some(node) = of_match.get("exempt") else { return Identities::default() };
    let keys = ["users", "groups"];
    let Some(mut fields) = Fields::of(node, "exempt of match", &keys, of_match.mistakes()) else {
        return Identities::default();
    };
    let exempt = Identities::read(&mut fields);
    for (name, why) in identities::too_wide(namespaces, &exempt) {
        let given = ["users", "groups"].into_iter().flat_map(|key| fields.texts(key));
        let at = given.into_iter().find(|(text, _)| *text == name).map_or(node.at, |(_, at)| at);
        fields.mistake(at, why);
    }
    if exempt.is_empty() && !fields.has("users") && !fields.has("groups") {
        fields.mistake(node.at, "`exempt` of match names nobody");
    }
    exempt
}

fn read_action(fields: &mut Fields<'_, '_>) -> Option<Action> {
    let word = fields.text("action")?;
    let action = Action::from_word(word);
    if action.is_none() {
        let at = fields.get("action").map_or(NOWHERE, |n| n.at);
        let help = match elsewhere(word) {
            Some(action) => format!("did you mean `{action}`?"),
            None => suggestion(word, &Action::WORDS),
        };
        fields.mistakes().push(Mistake::new(at, format!("no action `{word}`")).help(help));
    }
    action
}

/// What other policy engines call an action.
fn elsewhere(word: &str) -> Option<Action> {
    match word.to_ascii_lowercase().as_str() {
        "deny" | "block" | "reject" | "refuse" | "fail" => Some(Action::Enforce),
        "dryrun" | "dry-run" | "log" | "record" => Some(Action::Audit),
        _ => None,
    }
}

fn read_templates(spec: &mut Fields<'_, '_>) -> (Vec<(String, u32)>, Vec<Node<'static>>) {
    let mut files = vec![];
    for item in spec.list("templateFrom") {
        if let Some(mut from) =
            Fields::of(item, "an entry of templateFrom", &["file"], spec.mistakes())
            && let Some(file) = from.required_text("file")
        {
            files.push((file.to_owned(), from.get("file").map_or(item.at, |n| n.at)));
        }
    }
    let inline: Vec<Node<'static>> =
        spec.list("templates").iter().map(|n| n.clone().into_owned()).collect();
    let given = |key: &str| spec.get(key).is_some();
    if spec.has("templateFrom") && spec.has("templates") {
        spec.mistake(
            spec.key_at("templates"),
            "a shape has `templates` or `templateFrom`, not both",
        );
    } else if files.is_empty() && inline.is_empty() && (given("templates") || given("templateFrom"))
    {
        // With neither it is a guard.
        let key = if given("templates") { "templates" } else { "templateFrom" };
        spec.mistake(spec.key_at(key), format!("`{key}` of spec holds no template"));
    }
    (files, inline)
}

/// A selector in the shape, checked by itself.
pub(super) fn read_selector(text: &str, at: u32, mistakes: &mut Vec<Mistake>) -> Option<Placed> {
    match Selector::parse(text) {
        Ok(selector) => Some(Placed { selector, at }),
        Err((message, help)) => {
            mistakes.push(Mistake { help, ..Mistake::new(at, message) });
            None
        }
    }
}

fn read_optional(node: &Node<'_>, spec: &mut Fields<'_, '_>) -> Option<Optional> {
    if let Some(text) = node.as_str() {
        let place = read_selector(text, node.at, spec.mistakes())?;
        return Some(Optional { place, value: None });
    }
    let mut fields = Fields::of(node, "an entry of optional", &["path", "value"], spec.mistakes())?;
    let text = fields.required_text("path")?;
    let value = node.get("value").map(|n| n.clone().into_owned());
    let at = fields.get("path").map_or(node.at, |n| n.at);
    if value.as_ref().is_some_and(|v| v.value == Value::Null) {
        return None;
    }
    let place = read_selector(text, at, fields.mistakes())?;
    Some(Optional { place, value })
}

fn read_unpinned(node: &Node<'_>, spec: &mut Fields<'_, '_>) -> Option<Unpinned> {
    if node.as_str().is_some() {
        spec.mistakes().push(
            Mistake::new(node.at, "an entry of unpinned needs a reason")
                .help("write `{path: …, reason: why nobody compares it}`"),
        );
        return None;
    }
    let mut fields =
        Fields::of(node, "an entry of unpinned", &["path", "reason"], spec.mistakes())?;
    let reason = fields.required_text("reason");
    let text = fields.required_text("path")?;
    let at = fields.get("path").map_or(node.at, |n| n.at);
    let place = read_selector(text, at, fields.mistakes())?;
    Some(Unpinned { place, reason: reason?.to_owned() })
}

fn read_rules(spec: &mut Fields<'_, '_>, action: Action, is_guard: bool) -> Vec<RuleDocument> {
    const KEYS: [&str; 8] =
        ["name", "select", "entries", "message", "action", "auditUntil", "must", "absent"];
    let mut rules: Vec<RuleDocument> = vec![];
    for node in spec.list("rules") {
        let Some(mut fields) = Fields::of(node, "a rule", &KEYS, spec.mistakes()) else { continue };
        let name = fields.required_text("name").unwrap_or_default().to_owned();
        let audit_until = fields.text("auditUntil").map(str::to_owned);
        if audit_until.as_deref().is_some_and(|date| !is_date(date)) {
            let at = fields.get("auditUntil").map_or(node.at, |n| n.at);
            fields.mistake(at, "`auditUntil` of a rule is a day of the calendar, like 2027-01-31");
        }
        let select = read_selectors(&mut fields, "select");
        let entries = read_selectors(&mut fields, "entries");
        let catch_all = !["select", "entries", "must"].into_iter().any(|key| fields.has(key));
        let rule = Rule {
            message: fields.text("message").map(str::to_owned),
            action: read_action(&mut fields).unwrap_or(action),
            audit_until,
            catch_all,
            must: None,
            written_at: fields.get("name").map_or(node.at, |n| n.at),
            name,
        };
        check_rule(&rule, &rules, &mut fields);
        let must = must::written::read(node, &mut fields, &select);
        let select = if must.is_some() { vec![] } else { select };
        rules.push(RuleDocument { rule, select, entries, must });
    }
    if !is_guard && !rules.iter().any(|r| r.rule.catch_all) {
        let rule = Rule {
            name: EVERYTHING_ELSE.to_owned(),
            message: None,
            action,
            audit_until: None,
            catch_all: true,
            must: None,
            written_at: spec.at(),
        };
        rules.push(RuleDocument { rule, select: vec![], entries: vec![], must: None });
    }
    rules
}

fn check_rule(rule: &Rule, before: &[RuleDocument], fields: &mut Fields<'_, '_>) {
    let at = rule.written_at;
    if let Some(first) = before.iter().find(|r| r.rule.name == rule.name && !rule.name.is_empty()) {
        fields.mistake(at, format!("two rules are named `{}`", first.rule.name));
    }
    if rule.name == EVERYTHING_ELSE && !rule.catch_all {
        fields.mistake(
            at,
            format!("`{EVERYTHING_ELSE}` is the name of the rule without select and entries"),
        );
    }
    if rule.name.len() > 63
        || !rule.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    {
        fields.mistake(at, "the name of a rule is letters, digits, `-`, `_` and `.`, at most 63");
    }
    if rule.catch_all
        && let Some(first) = before.iter().find(|r| r.rule.catch_all)
    {
        let names = list_words(&[&first.rule.name, &rule.name]);
        fields.mistake(
            at,
            format!(
                "two rules without select and entries, {names}: only one can take everything else"
            ),
        );
    }
    if rule.audit_until.is_some() && rule.action == Action::Enforce {
        fields.mistake(
            fields.key_at("auditUntil"),
            "`auditUntil` on a rule whose action is Enforce already",
        );
    }
}

fn read_selectors(fields: &mut Fields<'_, '_>, key: &str) -> Vec<Placed> {
    let texts = fields.texts(key);
    if fields.get(key).is_some_and(|n| matches!(&n.value, Value::List(items) if items.is_empty())) {
        fields.mistake(fields.key_at(key), format!("`{key}` of a rule is empty"));
    }
    texts.into_iter().filter_map(|(text, at)| read_selector(text, at, fields.mistakes())).collect()
}

/// Whether it is a day that comes: `2027-02-31` never does.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |text: &str, digits: usize| {
        let all = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        all.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}
