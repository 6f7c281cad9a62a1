//! What a shape leaves open: variable, optional and unpinned places, and warnings about it.

use crate::core::kubernetes::api::{Api, Kind, NEWEST, VERSIONS};
use crate::core::shape::Shape;
use crate::core::shape::compiled::{Name, NodeId, Want};
use crate::core::shape::must::PassedOver;
use crate::core::shape::rule::{Action, RuleId};
use crate::core::shape::template::Template;

/// One open place of a shape.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Open {
    /// How dangerous an arbitrary value there is.
    pub danger: Danger,
    /// What is open about it.
    pub how: String,
    /// The place.
    pub path: String,
    /// What may stand there, or why nobody compares it.
    pub what: String,
}

/// How much harm a value can do at a place that the template does not pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Danger {
    /// Runs code, gets credentials or leaves the sandbox.
    High,
    /// Changes what the Pod sees, or where and how long it runs.
    Medium,
    /// Read by people and tools.
    Low,
}

impl Danger {
    /// The word lint prints.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Danger::High => "high",
            Danger::Medium => "medium",
            Danger::Low => "low",
        }
    }

    /// The danger of a place, by its path.
    fn of(path: &str) -> Danger {
        const HIGH: [&str; 18] = [
            "image",
            "command",
            "args",
            "securityContext",
            "serviceAccountName",
            "volumes",
            "lifecycle",
            "Probe",
            "initContainers",
            "envFrom",
            "valueFrom",
            "host",
            "imagePullSecrets",
            "nodeName",
            "volumeDevices",
            "runtimeClassName",
            "env",
            "managedBy",
        ];
        let last = path.rsplit('.').next().unwrap_or(path);
        let in_job = path.strip_prefix("spec.jobTemplate.").unwrap_or(path);
        let in_pod = in_job.starts_with("spec.template.spec");
        if in_pod
            && (HIGH.iter().any(|word| path.contains(word))
                || last == "spec"
                || last.starts_with("containers"))
        {
            Danger::High
        } else if path.starts_with("spec") {
            Danger::Medium
        } else {
            Danger::Low
        }
    }
}

impl Shape {
    /// Every place that a template does not pin, the most dangerous first.
    #[must_use]
    pub fn open_places(&self) -> Vec<Open> {
        let mut open: Vec<Open> = self.written().flat_map(Template::open_places).collect();
        open.sort();
        open.dedup();
        open
    }

    /// Every `${X}` that stands in a text of a template and is nobody's variable: the text that
    /// it is, the place, and where that is written.
    #[must_use]
    pub fn literal_braces(&self) -> Vec<(String, String, usize, u32)> {
        self.written().flat_map(Template::literal_braces).collect()
    }

    /// Things that load and that nobody should want.
    #[must_use]
    pub fn warnings(&self) -> Vec<(u32, String)> {
        let mut warnings = vec![];
        for warning in self.written().flat_map(|template| template.warnings(self)) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        for rule in &self.rules {
            let passed_over = rule.must.as_ref().and_then(|must| must.passes_over(Api::get()));
            if let Some(passed_over) = passed_over {
                let name_of_rule = &rule.name;
                let warning = match passed_over {
                    PassedOver::NoParent { parent, name } => format!(
                        "the rule `{name_of_rule}` says nothing of a place without `{parent}`, in which `{name}` would stand: select `{parent}` and name `{name}` in `required` and `properties` to have both"
                    ),
                    PassedOver::NoItem(key) => format!(
                        "the rule `{name_of_rule}` says nothing of a list that has no `{key}`: select all with `[*]` if it is about whatever runs"
                    ),
                };
                warnings.push((rule.written_at, warning));
            }
        }
        warnings
    }
}

impl Template {
    fn open_places(&self) -> Vec<Open> {
        let mut open = vec![];
        for (id, node) in self.tree.iter() {
            if self.is_in_alternative(id) {
                continue;
            }
            let path = self.tree.path(id);
            let danger = Danger::of(&path);
            for variable in node.want.variables() {
                let variable = self.variables.get(variable);
                open.push(Open {
                    danger,
                    how: "variable".to_owned(),
                    path: path.clone(),
                    what: format!(
                        "`{}`: {}{}",
                        variable.name,
                        variable.constraint.describe(),
                        if variable.expansion { "; may take part in `$(…)`" } else { "" }
                    ),
                });
            }
            if node.unpinned {
                let reason = self.tree.reasons.get(&id).cloned().unwrap_or_default();
                open.push(Open {
                    danger,
                    how: "unpinned".to_owned(),
                    path: path.clone(),
                    what: reason,
                });
            }
            if node.optional && !matches!(node.want, Want::Nothing) && !node.held {
                open.push(Open {
                    danger,
                    how: "optional".to_owned(),
                    path: path.clone(),
                    what: "may be left out".to_owned(),
                });
            }
            if node.alternative.is_some() {
                open.push(Open {
                    danger,
                    how: "optional".to_owned(),
                    path,
                    what: "may have another value".to_owned(),
                });
            }
        }
        open
    }

    fn literal_braces(&self) -> Vec<(String, String, usize, u32)> {
        let mut found = vec![];
        for (id, node) in self.tree.iter() {
            let text = match &node.want {
                Want::Text(text) => text.clone(),
                Want::Pattern(pattern) => pattern.fill(|_| String::new()),
                _ => continue,
            };
            let mut rest = text.as_str();
            while let Some(open) = rest.find("${") {
                let Some(close) = rest[open..].find('}') else { break };
                let start = if rest[..open].ends_with('$') { open - 1 } else { open };
                found.push((
                    rest[start..=open + close].to_owned(),
                    self.tree.path(id),
                    node.source,
                    node.at,
                ));
                rest = &rest[open + close..];
            }
        }
        found
    }

    fn is_in_alternative(&self, id: NodeId) -> bool {
        let mut at = id;
        loop {
            let node = self.tree.node(at);
            if node.name == Name::Root {
                return false;
            }
            let parent = self.tree.node(node.parent);
            let linked = parent.children.iter().chain(&parent.items).any(|(_, child)| *child == at)
                || parent.any == Some(at);
            if !linked {
                return true;
            }
            at = node.parent;
        }
    }

    fn warnings(&self, shape: &Shape) -> Vec<(u32, String)> {
        let mut warnings = vec![];
        for (id, node) in self.tree.iter() {
            if let (Name::Item(key), Want::Nothing, false, None) =
                (&node.name, &node.want, node.unpinned, node.alternative)
            {
                let list = self.tree.path(node.parent);
                warnings.push((
                    u32::MAX,
                    format!(
                        "the shape names `{key}` in {list}, and the template has no such entry"
                    ),
                ));
            }
            let Name::Key(key) = &node.name else { continue };
            let weak = |rule: RuleId| shape.rule(rule).action < Action::Enforce;
            if matches!(key.as_str(), "containers" | "initContainers" | "volumes")
                && matches!(node.kind, Kind::List(_))
                && weak(node.claims.list)
            {
                let rule = shape.rule(node.claims.list);
                warnings.push((
                    rule.written_at,
                    format!(
                        "`{}` is {}: an entry added to {} is admitted with whatever it holds",
                        rule.name,
                        rule.action,
                        self.tree.path(id)
                    ),
                ));
            }
            let parent = self.tree.node(node.parent).kind;
            if matches!(node.want, Want::Nothing) || !matches!(parent, Kind::Struct(_)) {
                continue;
            }
            let Some(field) = self.api.field(parent, key) else {
                warnings.push((
                    u32::MAX,
                    format!(
                        "Kubernetes {} to {} have no {}: where the server drops it, no Job equals this template",
                        VERSIONS[0],
                        NEWEST,
                        self.tree.path(id)
                    ),
                ));
                continue;
            };
            let dropped: Vec<&str> =
                if node.filled { vec![] } else { field.dropped_by().collect() };
            if !dropped.is_empty() {
                warnings.push((
                    u32::MAX,
                    format!(
                        "Kubernetes {} takes {} out of every Job, unless a feature gate is set: no Job equals this template there",
                        dropped.join(", "),
                        self.tree.path(id)
                    ),
                ));
            }
        }
        warnings
    }
}
