//! A refusal as it arrives at the client, taken apart again.

use jobshape::core::shape::Shape;
use jobshape::formats::report::refusal::advice;

use crate::apiserver::Refusal;

/// What a refusal of one of our shapes says.
#[derive(Debug, PartialEq, Eq)]
pub struct Spoken {
    /// RULE, and `PATH: text`, of each line.
    pub findings: Vec<(String, String)>,
    /// The sentence behind the kind, when it has no findings.
    pub reason: String,
    /// How many findings are not shown.
    pub more: usize,
    /// How an update was judged.
    pub notes: Vec<String>,
}

impl Spoken {
    /// Takes a refusal apart. Only one that carries the name and the digest of this very shape is
    /// ours: everything else is some other refusal, which would prove nothing.
    pub fn read(refusal: &Refusal, shape: &Shape) -> Result<Spoken, String> {
        let not_ours = || format!("refused, but not by {}: {refusal}", shape.name);
        let said = refusal.message.strip_prefix("admission webhook \"enforce.jobshape.dev\" ");
        let said = said.and_then(|text| text.strip_prefix("denied the request: "));
        let mut lines = said.ok_or_else(not_ours)?.lines();
        let speaker = format!("jobshape: {} ({}) refused this ", shape.name, shape.short_digest());
        let head = lines.next().and_then(|line| line.strip_prefix(&speaker));
        let reason = head.and_then(|rest| rest.split_once(": ")).ok_or_else(not_ours)?.1;
        if (refusal.code, refusal.reason.as_str()) != (403, "Forbidden") {
            return Err(format!("refused as {} {}", refusal.code, refusal.reason));
        }
        let mut spoken =
            Spoken { findings: vec![], reason: reason.to_owned(), more: 0, notes: vec![] };
        // What every refusal of this shape ends in, and what it says about its rules, is no news.
        let advice = advice(shape, shape.first());
        let of_a_rule = |line: &str| {
            line.split_once(": ")
                .is_some_and(|(name, _)| shape.rules.iter().any(|r| r.name == name))
        };
        for line in lines.filter(|line| *line != advice && !of_a_rule(line)) {
            let finding = line.strip_prefix("- ").and_then(|line| line.split_once(' '));
            let more = line.strip_prefix("and ").and_then(|line| line.strip_suffix(" more"));
            match (finding, more.and_then(|number| number.parse().ok())) {
                (Some((rule, rest)), _) => spoken.findings.push((rule.to_owned(), rest.to_owned())),
                (None, Some(number)) => spoken.more = number,
                (None, None) if line.ends_with('.') => spoken.notes.push(line.to_owned()),
                (None, None) => return Err(format!("what is this line: {line}")),
            }
        }
        Ok(spoken)
    }

    /// The rules that speak, each once, sorted.
    pub fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = self.findings.iter().map(|(rule, _)| rule.clone()).collect();
        rules.sort();
        rules.dedup();
        rules
    }
}

#[test]
fn only_a_refusal_with_the_shapes_name_and_digest_counts() {
    let shape = super::webhook::shape("a", "  - {name: everything}");
    let refusal = |message: &str| Refusal {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: message.to_owned(),
        warnings: vec![],
    };
    let by = "admission webhook \"enforce.jobshape.dev\" denied the request: ";
    let digest = shape.short_digest();
    let ours = refusal(&format!(
        "{by}jobshape: one-main ({digest}) refused this Job: 3 findings\n\
         - a spec.x: not y: z\n- b metadata: no\nand 1 more"
    ));
    let spoken = Spoken::read(&ours, &shape).unwrap();
    assert_eq!(spoken.findings[0], ("a".to_owned(), "spec.x: not y: z".to_owned()));
    assert_eq!((spoken.rules(), spoken.more), (vec!["a".to_owned(), "b".to_owned()], 1));
    for other in [
        "jobs.batch is forbidden".to_owned(),
        format!("{by}jobshape: one-main (00000000) refused this Job: 1 finding"),
        format!("{by}jobshape: two-main ({digest}) refused this Job: 1 finding"),
        format!("{by}jobshape: one-main ({digest}) refused this Job: 1 finding\nsurprise"),
        format!("admission webhook \"x\" denied the request: jobshape: one-main ({digest})"),
    ] {
        assert!(Spoken::read(&refusal(&other), &shape).is_err(), "{other}");
    }
    let other_code = Refusal { code: 422, ..ours };
    assert!(Spoken::read(&other_code, &shape).is_err());
}
