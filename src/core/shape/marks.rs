//! Selectors become marks on nodes of the compiled tree, once, at load; none runs at a decision.

use crate::core::kubernetes::api::{FieldDefault, Kind};
use crate::core::mistake::{Mistake, nearest};
use crate::core::shape::compile::{Compiler, Place};
use crate::core::shape::compiled::{Compiled, Name, NodeId, Want};
use crate::core::shape::constraint::{Setting, ValueType};
use crate::core::shape::document::{Document, Placed};
use crate::core::shape::placeholder;
use crate::core::shape::selector::SelectorStep;
use crate::core::shape::variable::VariableId;
use crate::core::tree::{NOWHERE, Number};

/// Most nodes a compiled tree may have: selectors with keys multiply with those with `[*]`.
const MAX_PLACES: usize = 20_000;

impl Compiler<'_> {
    /// The nodes a selector selects, made where only the API has them; none, with a mistake, when
    /// it can select nothing.
    pub fn resolve(&mut self, placed: &Placed) -> Vec<NodeId> {
        let mut nodes = vec![Compiled::ROOT];
        for (index, step) in placed.selector.steps.iter().enumerate() {
            let mut next = vec![];
            let mut why = None;
            for node in nodes {
                match self.step(node, step) {
                    Ok(found) => next.extend(found),
                    Err(message) => why = Some(message),
                }
            }
            if next.is_empty() {
                let (what, help) = why.unwrap_or_else(|| ("there is nothing".to_owned(), None));
                let message = format!(
                    "`{}` can select nothing, neither in the template nor in the Job API: {what} (step {})",
                    placed.selector.text,
                    index + 1
                );
                self.mistakes.push(Mistake { help, ..Mistake::new(placed.at, message) });
                return vec![];
            }
            nodes = next;
        }
        nodes
    }

    fn step(
        &mut self,
        node: NodeId,
        step: &SelectorStep,
    ) -> Result<Vec<NodeId>, (String, Option<String>)> {
        let kind = self.tree.node(node).kind;
        match (step, kind) {
            (SelectorStep::Name(name), Kind::Struct(_) | Kind::Map(_) | Kind::Unknown) => {
                self.named(node, name, kind).map(|id| vec![id])
            }
            (SelectorStep::Name(name), Kind::List(_)) => Err((
                format!("`{name}` is asked of a list"),
                Some("go through a list with `[*]` or by its key, `[?@.name=='x']`".to_owned()),
            )),
            (SelectorStep::Name(name), _) => Err((format!("`{name}` is asked of a scalar"), None)),
            (SelectorStep::All, Kind::List(id) | Kind::Map(id)) => {
                let item = self.api.list(id).item;
                let any = match self.tree.node(node).any {
                    Some(any) => any,
                    None => {
                        let place = Place::entry(node, Name::Any, item, false);
                        let any = self.empty(&place, Want::Nothing, NOWHERE);
                        self.tree.node_mut(node).any = Some(any);
                        any
                    }
                };
                let of = self.tree.node(node);
                Ok(of.items.iter().chain(&of.children).map(|(_, id)| *id).chain([any]).collect())
            }
            (SelectorStep::All, Kind::Struct(_)) => Err((
                "`[*]` is asked of a struct".to_owned(),
                Some("name its fields, or select the struct itself".to_owned()),
            )),
            (SelectorStep::Key(pairs), Kind::List(id)) => {
                let list = self.api.list(id);
                let parts: Option<Vec<&str>> = list
                    .keys
                    .iter()
                    .map(|key| {
                        pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
                    })
                    .collect();
                match parts {
                    Some(parts) if !parts.is_empty() && parts.len() == pairs.len() => {
                        Ok(vec![self.item(node, &parts.join("/"), list.item)])
                    }
                    _ if list.keys.is_empty() => {
                        Err(("this list has no key".to_owned(), Some("use `[*]`".to_owned())))
                    }
                    _ => Err((
                        "the filter is not on the list's key".to_owned(),
                        Some(format!("the key of this list is `{}`", list.keys.join("` and `"))),
                    )),
                }
            }
            (SelectorStep::Value(value), Kind::List(id)) if self.api.list(id).keys == ["="] => {
                let item = self.api.list(id).item;
                Ok(vec![self.item(node, value, item)])
            }
            (SelectorStep::All | SelectorStep::Key(_) | SelectorStep::Value(_), _) => {
                Err(("a step into a list is asked of something else".to_owned(), None))
            }
        }
    }

    fn named(
        &mut self,
        node: NodeId,
        name: &str,
        kind: Kind,
    ) -> Result<NodeId, (String, Option<String>)> {
        self.refuse_uncompared(node, name)?;
        if let Some(child) = self.tree.child(node, name) {
            return Ok(child);
        }
        let place = match kind {
            Kind::Struct(id) => match self.api.structure(id).field(name) {
                Some(field) => Place::field(node, field),
                None => {
                    let structure = self.api.structure(id);
                    let near = nearest(name, structure.fields.iter().map(|f| f.name));
                    return Err((
                        format!("{} has no field `{name}`", structure.name),
                        near.map(|n| format!("did you mean `{n}`?")),
                    ));
                }
            },
            Kind::Map(id) => {
                Place::entry(node, Name::Key(name.to_owned()), self.api.list(id).item, false)
            }
            _ => return Err((format!("nobody knows a field `{name}` here"), None)),
        };
        let child = self.empty(&place, Want::Nothing, NOWHERE);
        self.tree.node_mut(node).children.push((name.to_owned(), child));
        Ok(child)
    }

    /// Places that are looked at elsewhere, or by nobody: whatever a shape says of them could have
    /// no effect.
    fn refuse_uncompared(
        &self,
        parent: NodeId,
        name: &str,
    ) -> Result<(), (String, Option<String>)> {
        let special = &self.special;
        let owner = match parent {
            Compiled::ROOT => Some("Job"),
            _ if parent == special.metadata => Some("Job.metadata"),
            _ => None,
        };
        if owner.is_some_and(|owner| self.api.is_server_owned(owner, name)) {
            return Err((
                format!("the server alone writes `{name}`, and nobody compares it"),
                None,
            ));
        }
        if parent == special.pod_spec && name == "serviceAccount" {
            let help = "say `serviceAccountName`: both spellings are one value".to_owned();
            return Err((
                "`serviceAccount` is compared under its other name".to_owned(),
                Some(help),
            ));
        }
        if special.labels && self.tree.child(special.spec, "selector") == Some(parent) {
            let help = "say `$.spec.selector`: it is compared as a whole".to_owned();
            return Err((
                format!("`{name}` of the generated selector is not compared by itself"),
                Some(help),
            ));
        }
        Ok(())
    }

    /// Makes every node that any selector names, so that a `[*]` selects them all, whichever rule
    /// comes first: a node of its own must not take an entry away from a rule about every entry.
    pub fn make_places(&mut self, document: &Document) {
        let places = || {
            let rules = document.rules.iter().flat_map(|r| r.select.iter().chain(&r.entries));
            let at = document.at.iter().map(|(_, place)| place);
            let optional = document.optional.iter().map(|o| &o.place);
            rules.chain(at).chain(optional).chain(document.unpinned.iter().map(|u| &u.place))
        };
        let known = self.mistakes.len();
        loop {
            let before = self.tree.iter().count();
            for place in places() {
                self.resolve(place);
            }
            // What is wrong with them is said when they are used.
            self.mistakes.truncate(known);
            let count = self.tree.iter().count();
            if count > MAX_PLACES {
                let message =
                    format!("the selectors of this shape name more than {MAX_PLACES} places");
                self.mistakes
                    .push(Mistake::nowhere(message).help("write fewer `[*]` and fewer keys"));
                return;
            }
            if count == before {
                return;
            }
        }
    }

    /// Whether a node is a key of its list's items.
    fn is_key(&self, node: NodeId) -> bool {
        let found = self.tree.node(node);
        let parent = self.tree.node(found.parent);
        match (&parent.name, &found.name) {
            (Name::Item(_) | Name::Any, Name::Key(key)) => match self.tree.node(parent.parent).kind
            {
                Kind::List(list) => self.api.list(list).keys.contains(&key.as_str()),
                _ => false,
            },
            (_, Name::Item(_)) => matches!(found.kind, Kind::String),
            _ => false,
        }
    }

    /// The server writes into labels and namespace, so what a Job has there is never exactly a
    /// value of the shape.
    fn refuse_generated_place(&mut self, node: NodeId, place: &Placed) -> bool {
        let special = &self.special;
        let of = |parent: NodeId, key: &str| self.tree.child(parent, key) == Some(node);
        let help = if of(special.metadata, "labels") || of(special.pod_metadata, "labels") {
            "the server adds labels of its own: name single ones, `['key']`"
        } else if of(special.metadata, "namespace") {
            "a template without a namespace takes the request's"
        } else {
            return false;
        };
        let message = format!("`{}` cannot be optional", place.selector.text);
        self.mistakes.push(Mistake::new(place.at, message).help(help));
        true
    }

    /// Places so high up that leaving them open would leave nothing pinned, and keys.
    fn refuse_opening(&mut self, node: NodeId, place: &Placed) -> bool {
        let special = &self.special;
        let holds_the_pod = self.is_within(special.pod_spec, node);
        let everything = holds_the_pod || [special.metadata, special.pod_metadata].contains(&node);
        let message = if everything {
            format!("`{}` holds nearly everything: nothing would be pinned", place.selector.text)
        } else if self.is_key(node) && !matches!(self.tree.node(node).name, Name::Item(_)) {
            format!("`{}` is a key of its list, and keys never vary", place.selector.text)
        } else {
            return false;
        };
        self.mistakes.push(Mistake::new(place.at, message).help("name the fields that may differ"));
        true
    }

    fn item(&mut self, list: NodeId, key: &str, kind: Kind) -> NodeId {
        if let Some((_, id)) = self.tree.node(list).items.iter().find(|(k, _)| k == key) {
            return *id;
        }
        let place = Place::entry(list, Name::Item(key.to_owned()), kind, false);
        let child = self.empty(&place, Want::Nothing, NOWHERE);
        self.tree.node_mut(list).items.push((key.to_owned(), child));
        child
    }

    /// Applies `at`, `optional` and `unpinned`; the same or nested paths among them are mistakes.
    pub fn mark(&mut self, document: &Document) {
        let mut marked: Vec<(NodeId, &Placed)> = vec![];
        for (id, place) in &document.at {
            for node in self.resolve(place) {
                self.mark_variable(node, *id, place);
                marked.push((node, place));
            }
        }
        for optional in &document.optional {
            for node in self.resolve(&optional.place) {
                if self.refuse_opening(node, &optional.place)
                    || self.refuse_generated_place(node, &optional.place)
                {
                    break;
                }
                self.mark_optional(node, optional);
                marked.push((node, &optional.place));
            }
        }
        for unpinned in &document.unpinned {
            for node in self.resolve(&unpinned.place) {
                if self.refuse_opening(node, &unpinned.place) {
                    break;
                }
                self.tree.node_mut(node).unpinned = true;
                self.tree.reasons.insert(node, unpinned.reason.clone());
                marked.push((node, &unpinned.place));
            }
        }
        self.check_nesting(&marked);
        for (node, _) in &marked {
            self.hold_open(*node);
        }
    }

    fn check_nesting(&mut self, marked: &[(NodeId, &Placed)]) {
        for (index, (node, place)) in marked.iter().enumerate() {
            for (other, other_place) in &marked[..index] {
                if self.is_within(*node, *other) || self.is_within(*other, *node) {
                    self.mistakes.push(
                        Mistake::new(
                            place.at,
                            format!(
                                "`{}` and `{}` name the same or nested places of optional, unpinned and at",
                                place.selector.text, other_place.selector.text
                            ),
                        )
                        .also(other_place.at),
                    );
                    return;
                }
            }
        }
    }

    fn is_within(&self, node: NodeId, ancestor: NodeId) -> bool {
        let mut at = node;
        loop {
            if at == ancestor {
                return true;
            }
            let parent = self.tree.node(at).parent;
            if parent == at || self.tree.node(at).name == Name::Root {
                return false;
            }
            at = parent;
        }
    }

    fn mark_variable(&mut self, node: NodeId, id: VariableId, place: &Placed) {
        let text = &place.selector.text;
        let found = self.tree.node(node).clone();
        let is_key = self.is_key(node);
        if is_key {
            self.mistakes
                .push(Mistake::new(place.at, format!("`{text}` is a key, and keys never vary")));
            return;
        }
        let value_type = self.variables.get(id).constraint.value_type();
        let sample = if found.filled { None } else { sample_of(&found.want, value_type) };
        let Some(sample) = sample else {
            let what = match found.want {
                _ if found.filled => "the template has nothing there: the server fills it in",
                Want::Nothing | Want::Sibling(_) => "the template has nothing there",
                Want::Pattern(_) | Want::Variable(_) => "a placeholder stands there already",
                Want::Struct | Want::List | Want::Map => "it is no scalar",
                _ => "the value there is of another type than the variable",
            };
            self.mistakes.push(
                Mistake::new(place.at, format!("`{text}` in `at` names no sample: {what}"))
                    .help("`at` names scalars that the template has"),
            );
            return;
        };
        let variable = self.variables.get_mut(id);
        if !variable.constraint.accepts(&sample) {
            let message = format!(
                "the template's own value does not satisfy the variable `{}`: {} is expected",
                variable.name,
                variable.constraint.describe()
            );
            self.mistakes.push(Mistake::new(found.at, message).source(found.source));
        }
        if let Some((_, _, first)) =
            self.samples.iter().find(|(of, first, _)| *of == id && !first.same(&sample))
        {
            let message =
                format!("`{}` has another value here than at its first place", variable.name);
            self.mistakes.push(
                Mistake::new(found.at, message)
                    .help("one variable has one value everywhere; declare two")
                    .also(*first)
                    .source(found.source),
            );
        }
        self.samples.push((id, sample.clone(), found.at));
        variable.example.get_or_insert(sample);
        match placeholder::whole(id, found.kind, self.variables) {
            Ok(want) => self.tree.node_mut(node).want = want,
            Err((message, help)) => {
                self.mistakes.push(Mistake { help, ..Mistake::new(place.at, message) });
            }
        }
        self.used.push(id);
    }

    fn mark_optional(&mut self, node: NodeId, optional: &super::document::Optional) {
        let found = self.tree.node(node).clone();
        let text = &optional.place.selector.text;
        match &optional.value {
            Some(value) => {
                let place = Place {
                    name: found.name.clone(),
                    parent: found.parent,
                    kind: found.kind,
                    field: None,
                    may_vary: true,
                    expands: found.expands,
                };
                let source = std::mem::replace(&mut self.source, 0);
                let alternative = self.node(value, place);
                self.source = source;
                self.tree.node_mut(node).alternative = Some(alternative);
            }
            None => {
                let server = match found.default {
                    FieldDefault::None => None,
                    FieldDefault::Fixed(json) => Some(format!("`{json}`")),
                    FieldDefault::Sibling(_) => {
                        Some("a value that depends on other fields".to_owned())
                    }
                };
                if let Some(default) = server {
                    self.mistakes.push(
                        Mistake::new(
                            optional.place.at,
                            format!("`{text}` cannot be optional: the server fills in {default}, so the webhook never sees it absent"),
                        )
                        .help(format!("to accept another value besides the template's, write `{{path: \"{text}\", value: …}}`")),
                    );
                } else if matches!(found.want, Want::Nothing) {
                    self.mistakes.push(
                        Mistake::new(
                            optional.place.at,
                            format!("`{text}` is optional, and the template has nothing there"),
                        )
                        .help("say what may stand there: `{path: …, value: …}`"),
                    );
                }
            }
        }
        self.tree.node_mut(node).optional |=
            optional.value.is_none() || matches!(found.want, Want::Nothing);
    }

    /// A place that the template lacks but the shape allows something below: its parents may be
    /// there too, with nothing else in them.
    fn hold_open(&mut self, node: NodeId) {
        let mut at = self.tree.node(node).parent;
        while self.tree.node(at).name != Name::Root {
            let parent = self.tree.node(at).clone();
            if !matches!(parent.want, Want::Nothing) {
                break;
            }
            let want = match parent.kind {
                Kind::Struct(_) => Want::Struct,
                Kind::List(_) => Want::List,
                _ => Want::Map,
            };
            let held = self.tree.node_mut(at);
            held.want = want;
            held.optional = true;
            held.held = true;
            if let Kind::Struct(id) = parent.kind {
                self.fill(at, id);
            }
            at = parent.parent;
        }
    }
}

/// The value that the template has at a place, as a variable of this type would have it.
fn sample_of(want: &Want, value_type: ValueType) -> Option<Setting> {
    Some(match (want, value_type) {
        (Want::Text(text), ValueType::Text) => Setting::Text(text.clone()),
        (Want::Number(Number::Int(int)), ValueType::Integer) => Setting::Int(*int),
        (Want::Bool(value), ValueType::Boolean) => Setting::Bool(*value),
        (Want::Quantity(quantity, text), ValueType::Quantity) => {
            Setting::Quantity(quantity.clone(), text.clone())
        }
        // An integer in a string place is its text.
        (Want::Text(text), ValueType::Integer) => {
            let int: i64 = text.parse().ok()?;
            (int.to_string() == *text).then_some(Setting::Int(int))?
        }
        _ => return None,
    })
}
