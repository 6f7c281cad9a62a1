//! Series by rule: as many as were loaded, up to a bound, and one place for all the others.
//!
//! A monitoring system pays for each series for ever, and shapes are somebody else's to write: what
//! is beyond the bound is counted together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::put;
use super::reviews::{RuleInfo, ShapeInfo};
use crate::core::shape::rule::Action;

/// At most so many series of rules, in one metric.
pub const MOST_SERIES: usize = 2000;

/// What stands for the shape and the rule of everything beyond. A rule `other` of a shape `other`
/// is counted together with them.
pub const OTHER: &str = "other";

const ACTIONS: [Action; 3] = [Action::Audit, Action::Warn, Action::Enforce];

const DRY_RUN: [&str; 2] = ["false", "true"];

/// A rule of a shape, and an action that a finding of it can have.
type Key = (String, String, Action);

/// The same place with and without a dry run.
type Pair = [IntCounter; 2];

/// The rules of a shape, and the counters of each by action.
type Rules = BTreeMap<String, Vec<(Action, Pair)>>;

/// The counters of findings.
pub(super) struct Findings {
    counters: IntCounterVec,
    known: RwLock<BTreeMap<String, Rules>>,
}

impl Findings {
    /// Registers them; what stands for all the others is at 0.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counters = put(
            registry,
            IntCounterVec::new(
                Opts::new("jobshape_findings_total", "Findings, at most 100 of a review."),
                &["shape", "rule", "action", "dry_run"],
            )?,
        )?;
        let findings = Self { counters, known: RwLock::default() };
        for action in ACTIONS {
            findings.pair(OTHER, OTHER, action);
        }
        Ok(findings)
    }

    /// Series for these shapes: those that are there stay as they are, new ones begin at 0, and
    /// those of what is gone go.
    pub(super) fn set_shapes(&self, shapes: &[ShapeInfo]) {
        let wanted: Vec<Key> = shapes.iter().flat_map(keys).collect();
        let wanted_set: BTreeSet<&Key> = wanted.iter().collect();
        // Whoever counts a finding holds this too: nobody brings back a series that has just gone.
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut count = 0;
        for (shape, rules) in known.iter_mut() {
            for (rule, actions) in rules.iter_mut() {
                actions.retain(|(action, _)| {
                    let stays = wanted_set.contains(&(shape.clone(), rule.clone(), *action));
                    if stays {
                        count += DRY_RUN.len();
                    } else {
                        self.remove(shape, rule, *action);
                    }
                    stays
                });
            }
            rules.retain(|_, actions| !actions.is_empty());
        }
        known.retain(|_, rules| !rules.is_empty());
        for (shape, rule, action) in wanted {
            let actions = known.entry(shape.clone()).or_default().entry(rule.clone()).or_default();
            let is_there = actions.iter().any(|(known, _)| *known == action);
            if !is_there && count + DRY_RUN.len() <= MOST_SERIES {
                count += DRY_RUN.len();
                actions.push((action, self.pair(&shape, &rule, action)));
            }
        }
    }

    /// Counts one finding.
    pub(super) fn count(&self, shape: &str, rule: &str, action: &str, dry_run: bool) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let actions = known.get(shape).and_then(|rules| rules.get(rule));
        let mut pairs = actions.into_iter().flatten();
        match pairs.find(|(known, _)| known.word() == action) {
            Some((_, pair)) => pair[usize::from(dry_run)].inc(),
            None => {
                let dry_run = DRY_RUN[usize::from(dry_run)];
                self.counters.with_label_values(&[OTHER, OTHER, action, dry_run]).inc();
            }
        }
    }

    fn pair(&self, shape: &str, rule: &str, action: Action) -> Pair {
        DRY_RUN
            .map(|dry_run| self.counters.with_label_values(&[shape, rule, action.word(), dry_run]))
    }

    fn remove(&self, shape: &str, rule: &str, action: Action) {
        for dry_run in DRY_RUN {
            // It is an error only where there is none.
            let _ = self.counters.remove_label_values(&[shape, rule, action.word(), dry_run]);
        }
    }
}

/// The actions that a finding of a rule can have: its own, and the stronger ones of the shape's
/// other rules, which raise it.
fn keys(shape: &ShapeInfo) -> Vec<Key> {
    let mut keys = vec![];
    let is_other = |rule: &str| (shape.name.as_str(), rule) == (OTHER, OTHER);
    for rule in shape.rules.iter().filter(|rule| !is_other(&rule.name)) {
        for action in ACTIONS {
            let raises = |other: &RuleInfo| other.action == action;
            if action == rule.action || (action > rule.action && shape.rules.iter().any(raises)) {
                keys.push((shape.name.clone(), rule.name.clone(), action));
            }
        }
    }
    keys
}

/// The rules whose `auditUntil` is over.
pub(super) struct Overdue {
    gauges: IntGaugeVec,
    until: RwLock<Vec<(String, String, String)>>,
}

impl Overdue {
    /// Registers them.
    pub(super) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauges = put(
            registry,
            IntGaugeVec::new(
                Opts::new(
                    "jobshape_audit_overdue",
                    "1 from the day after a rule's auditUntil: it should be Enforce by now.",
                ),
                &["shape", "rule"],
            )?,
        )?;
        Ok(Self { gauges, until: RwLock::default() })
    }

    /// The rules of these shapes that have a date.
    pub(super) fn set_shapes(&self, shapes: &[ShapeInfo]) {
        let mut until: Vec<_> = shapes
            .iter()
            .flat_map(|shape| {
                shape.rules.iter().filter_map(|rule| {
                    Some((rule.audit_until.clone()?, shape.name.clone(), rule.name.clone()))
                })
            })
            .collect();
        // Where there are too many, those that are over stay.
        until.sort();
        until.truncate(MOST_SERIES);
        let mut held = self.until.write().unwrap_or_else(PoisonError::into_inner);
        *held = until;
        self.gauges.reset();
    }

    /// Compares with the date, `YYYY-MM-DD`.
    pub(super) fn set_today(&self, today: &str) {
        for (until, shape, rule) in self.until.read().unwrap_or_else(PoisonError::into_inner).iter()
        {
            self.gauges.with_label_values(&[shape, rule]).set(i64::from(until.as_str() < today));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::TextEncoder;

    fn shape(name: &str, rules: &[(&str, Action)]) -> ShapeInfo {
        let rule = |(name, action): &(&str, Action)| RuleInfo {
            name: (*name).to_owned(),
            action: *action,
            audit_until: None,
        };
        ShapeInfo {
            name: name.to_owned(),
            digest: "3f9a".to_owned(),
            namespaces: vec![],
            rules: rules.iter().map(rule).collect(),
        }
    }

    fn findings() -> (Registry, Findings) {
        let registry = Registry::new();
        let findings = Findings::new(&registry).unwrap();
        (registry, findings)
    }

    /// Each series as `shape rule action dry_run value`, without those of [`OTHER`] that are 0.
    fn series(registry: &Registry) -> Vec<String> {
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut found: Vec<String> = lines
            .map(|line| {
                let value = |label: &str| {
                    line.split_once(&format!("{label}=\"")).unwrap().1.split('"').next().unwrap()
                };
                let number = line.rsplit(' ').next().unwrap();
                let labels = ["shape", "rule", "action", "dry_run"].map(value).join(" ");
                format!("{labels} {number}")
            })
            .filter(|line| !(line.starts_with(OTHER) && line.ends_with(" 0")))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn known_rules_begin_at_zero_with_every_action_they_can_have() {
        let (registry, findings) = findings();
        findings.set_shapes(&[
            shape("a", &[("image", Action::Enforce), ("rest", Action::Audit)]),
            shape("b", &[("rest", Action::Warn)]),
        ]);
        assert_eq!(
            series(&registry),
            [
                "a image Enforce false 0",
                "a image Enforce true 0",
                "a rest Audit false 0",
                "a rest Audit true 0",
                "a rest Enforce false 0",
                "a rest Enforce true 0",
                "b rest Warn false 0",
                "b rest Warn true 0",
            ]
        );
        findings.count("a", "rest", "Enforce", false);
        findings.count("a", "rest", "Enforce", true);
        findings.count("a", "rest", "Enforce", true);
        let series = series(&registry);
        assert!(series.contains(&"a rest Enforce false 1".to_owned()), "{series:?}");
        assert!(series.contains(&"a rest Enforce true 2".to_owned()), "{series:?}");
    }

    #[test]
    fn a_reload_resets_nothing_that_stays_and_forgets_what_goes() {
        let (registry, findings) = findings();
        let both = [("image", Action::Enforce), ("rest", Action::Enforce)];
        findings.set_shapes(&[shape("a", &both), shape("old", &both[..1])]);
        findings.count("a", "image", "Enforce", false);
        findings.count("old", "image", "Enforce", false);
        findings.set_shapes(&[shape("a", &both[..1]), shape("new", &both[..1])]);
        // A decision that had begun before the reload.
        findings.count("old", "image", "Enforce", false);
        assert_eq!(
            series(&registry),
            [
                "a image Enforce false 1",
                "a image Enforce true 0",
                "new image Enforce false 0",
                "new image Enforce true 0",
                "other other Enforce false 1",
            ]
        );
    }

    #[test]
    fn a_rule_that_is_called_like_the_rest_is_counted_with_it() {
        let (registry, findings) = findings();
        findings.count("gone", "image", "Enforce", false);
        findings.set_shapes(&[shape(OTHER, &[(OTHER, Action::Enforce)])]);
        findings.count(OTHER, OTHER, "Enforce", false);
        findings.set_shapes(&[]);
        assert_eq!(series(&registry), ["other other Enforce false 2"]);
    }

    #[test]
    fn beyond_the_bound_all_are_counted_together() {
        let (registry, findings) = findings();
        let names: Vec<String> = (0..1500).map(|n| format!("s{n:04}")).collect();
        let shapes: Vec<_> =
            names.iter().map(|name| shape(name, &[("image", Action::Enforce)])).collect();
        findings.set_shapes(&shapes);
        assert_eq!(series(&registry).len(), MOST_SERIES);
        findings.count("s0000", "image", "Enforce", false);
        findings.count("s1499", "image", "Enforce", false);
        let seen = series(&registry);
        assert!(seen.contains(&"s0000 image Enforce false 1".to_owned()));
        assert!(seen.contains(&"other other Enforce false 1".to_owned()));
        // Those that have a series keep it, and what becomes free goes to others.
        findings.set_shapes(&shapes[..1499].iter().rev().cloned().collect::<Vec<_>>());
        assert!(series(&registry).contains(&"s0000 image Enforce false 1".to_owned()));
        findings.set_shapes(&shapes[700..]);
        let seen = series(&registry);
        assert!(seen.contains(&"s1499 image Enforce false 0".to_owned()));
        assert_eq!(seen.len(), 801 * 2 - 1);
    }
}
