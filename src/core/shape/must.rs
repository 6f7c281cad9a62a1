//! `must`: a rule that says what stands at a place, whatever a template has there. In a shape without
//! a template, a guard, it is all there is.

use crate::core::kubernetes::api::{Api, Kind, StructType};
use crate::core::mistake::{Mistake, nearest};
use crate::core::shape::cron_job;
use crate::core::shape::document::{Document, Placed};
use crate::core::shape::selector::{Selector, SelectorStep};
use crate::core::shape::template::{Of, Template};

pub mod fits;
pub mod schema;
mod words;
pub mod written;

use schema::Schema;

/// `must` of a rule, as written.
#[derive(Debug, Clone)]
pub struct MustDocument {
    /// What must hold.
    pub schema: Schema,
    /// Where.
    pub select: Vec<Placed>,
    /// Whether the place may be missing.
    pub absent: bool,
    /// Where the rule is written.
    pub at: u32,
}

/// `must` of a rule, with its places looked up in the API.
#[derive(Debug, Clone)]
pub struct Must {
    /// What must hold.
    pub schema: Schema,
    /// Where.
    pub selected: Vec<Selected>,
    /// Whether the place may be missing.
    pub absent: bool,
}

/// A selector, as the API of each kind has it.
#[derive(Debug, Clone)]
pub struct Selected {
    /// The steps in a Job.
    job: Option<Vec<SelectorStep>>,
    /// The steps in a CronJob.
    cron_job: Option<Vec<SelectorStep>>,
    /// The steps in a Job that a CronJob makes, where the selector is about the CronJob.
    child: Option<Vec<SelectorStep>>,
}

/// What an object may lack, so that a rule says nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedOver {
    /// An optional struct, and the field in it that the selector goes on with.
    NoParent {
        /// The struct.
        parent: String,
        /// The field.
        name: String,
    },
    /// The item of a list that has this key.
    NoItem(String),
}

/// For what a rule is read: what its selectors are about depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A guard, asked about a Job.
    OfJob,
    /// A guard, asked about a CronJob.
    OfCronJob,
    /// A shape, beside one of its templates.
    Beside(Of),
}

/// In which object a selector's steps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// In the object itself.
    Itself,
    /// In the Job that the CronJob makes.
    InItsJob,
}

impl Selected {
    /// The steps, and in what they are taken; nothing when the selector is about something else.
    #[must_use]
    pub fn steps(&self, reading: Reading) -> Option<(&[SelectorStep], Taken)> {
        let itself = |steps: &Option<Vec<SelectorStep>>| -> Option<Taken> {
            steps.as_ref().map(|_| Taken::Itself)
        };
        let (steps, taken) = match reading {
            Reading::OfJob | Reading::Beside(Of::Job) => (&self.job, itself(&self.job)),
            Reading::OfCronJob if self.job.is_some() => (&self.job, Some(Taken::InItsJob)),
            Reading::OfCronJob => (&self.cron_job, itself(&self.cron_job)),
            // Selectors of a CronJob shape are written against the CronJob.
            Reading::Beside(Of::CronJob) if self.cron_job.is_some() => {
                (&self.cron_job, Some(Taken::Itself))
            }
            Reading::Beside(Of::CronJob) => (&self.job, Some(Taken::InItsJob)),
            Reading::Beside(Of::Child) if self.cron_job.is_some() => {
                (&self.child, itself(&self.child))
            }
            Reading::Beside(Of::Child) => (&self.job, itself(&self.job)),
        };
        let steps = steps.as_deref()?;
        // Of a CronJob's own name and the like nothing reaches its Jobs.
        let reaches = taken == Some(Taken::Itself) || reaches_jobs(steps);
        Some((steps, taken?)).filter(|_| reaches)
    }
}

/// Whether what stands there in a CronJob's `jobTemplate` reaches the Jobs that it makes.
fn reaches_jobs(steps: &[SelectorStep]) -> bool {
    let named = |index: usize, names: &[&str]| match steps.get(index) {
        Some(SelectorStep::Name(name)) => names.contains(&name.as_str()),
        _ => false,
    };
    named(0, &["spec"]) || named(0, &["metadata"]) && named(1, &["labels", "annotations"])
}

/// Looks the selectors of all `must` rules up in the API, and checks what they say against it.
pub(super) fn resolve(api: &'static Api, document: &mut Document, mistakes: &mut Vec<Mistake>) {
    for rule in &mut document.rules {
        let Some(written) = &rule.must else { continue };
        let mut selected = vec![];
        for place in &written.select {
            let of_job = reading(api, api.job(), place, written);
            let of_cron_job = reading(api, api.cron_job(), place, written);
            match (of_job, of_cron_job) {
                (Err(of_job), Err(of_cron_job)) => {
                    // What is wrong with the reading that came further.
                    let wrong = if of_cron_job.steps > of_job.steps { of_cron_job } else { of_job };
                    let new = wrong.mistakes.into_iter().filter(|m| !mistakes.contains(m));
                    let new: Vec<Mistake> = new.collect();
                    mistakes.extend(new);
                }
                (of_job, of_cron_job) => {
                    let steps = |is_one: bool| is_one.then(|| place.selector.steps.clone());
                    let cron_job = steps(of_cron_job.is_ok());
                    let child = cron_job.as_ref().and_then(|_| cron_job::place_in_child(place));
                    let child = child.map(|place| place.selector.steps);
                    selected.push(Selected {
                        job: steps(of_job.is_ok()),
                        cron_job,
                        child: child.filter(|steps| !steps.is_empty()),
                    });
                }
            }
        }
        let ends_in_a_name = written
            .select
            .iter()
            .any(|place| matches!(place.selector.steps.last(), Some(SelectorStep::Name(_))));
        if written.absent && !ends_in_a_name && !written.select.is_empty() {
            let message = "`absent: true` says nothing: no selector of the rule ends in a name";
            mistakes.push(Mistake::new(rule.rule.written_at, message).help("take it out"));
        }
        let Some(written) = rule.must.clone() else { continue };
        rule.rule.must = Some(Must { schema: written.schema, selected, absent: written.absent });
    }
}

/// `must` rules beside templates none of which they are about.
pub(super) fn silent(document: &Document, templates: &[Template]) -> Vec<Mistake> {
    let musts = document.rules.iter().filter(|_| !templates.is_empty());
    let musts = musts.filter_map(|rule| rule.rule.must.as_ref().map(|must| (&rule.rule, must)));
    let is_silent = |must: &Must| {
        !must.selected.is_empty()
            && templates.iter().all(|template| {
                let reading = Reading::Beside(template.of);
                must.selected.iter().all(|selected| selected.steps(reading).is_none())
            })
    };
    let silent = musts.filter(|(_, must)| is_silent(must));
    silent
        .map(|(rule, _)| {
            let message = format!(
                "the rule `{}` is about no template of this shape: a Job has no such place",
                rule.name
            );
            Mistake::new(rule.written_at, message)
        })
        .collect()
}

/// Why a selector, or what is said of its place, cannot be read.
struct Wrong {
    /// How many of its steps could be taken.
    steps: usize,
    mistakes: Vec<Mistake>,
}

/// Reads a rule by the API of one kind of object.
fn reading(
    api: &'static Api,
    root: Kind,
    place: &Placed,
    written: &MustDocument,
) -> Result<(), Wrong> {
    let selector = &place.selector;
    let found = look_up(api, root, selector).map_err(|(steps, what, help)| {
        let message = format!("`{}` can select nothing in the API of Jobs: {what}", selector.text);
        let mistakes = vec![Mistake { help, ..Mistake::new(place.at, message) }];
        Wrong { steps, mistakes }
    })?;
    let mut mistakes = vec![];
    fits::check(api, &written.schema, found.kind, &mut mistakes);
    if !written.absent && found.zero_is_absent {
        fits::refuse_zeros(api, &written.schema, found.kind, &mut mistakes);
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Wrong { steps: selector.steps.len(), mistakes }) }
}

/// What the API has at a place.
struct Found {
    kind: Kind,
    /// Whether the zero of the kind is stored as nothing there.
    zero_is_absent: bool,
}

/// After how many steps it cannot go on, why, and perhaps what to write instead.
type Stuck = (usize, String, Option<String>);

fn look_up(api: &'static Api, root: Kind, selector: &Selector) -> Result<Found, Stuck> {
    let steps = &selector.steps;
    let whole = match &steps[..] {
        [] => Some("it is the whole object"),
        [SelectorStep::Name(name)] if name == "metadata" => Some("it is all of the metadata"),
        _ => None,
    };
    if let Some(whole) = whole {
        return Err((0, whole.to_owned(), Some("name what in it the rule is about".to_owned())));
    }
    let mut found = Found { kind: root, zero_is_absent: false };
    for (index, step) in steps.iter().enumerate() {
        let stuck = |(what, help)| (index, what, help);
        match (index, step) {
            (0, SelectorStep::Name(name)) => refuse_servers_own(api, "Job", name).map_err(stuck)?,
            (1, SelectorStep::Name(name)) if is_name(&steps[0], "metadata") => {
                refuse_servers_own(api, "Job.metadata", name).map_err(stuck)?;
            }
            (1, SelectorStep::Name(name))
                if name == "selector" && is_name(&steps[0], "spec") && root == api.job() =>
            {
                let help = Some("name `$.spec.manualSelector`".to_owned());
                return Err((index, "the server generates the selector".to_owned(), help));
            }
            _ => {}
        }
        found = take(api, found.kind, step).map_err(stuck)?;
    }
    Ok(found)
}

fn is_name(step: &SelectorStep, wanted: &str) -> bool {
    matches!(step, SelectorStep::Name(name) if name == wanted)
}

fn refuse_servers_own(api: &Api, owner: &str, name: &str) -> Result<(), (String, Option<String>)> {
    if api.is_server_owned(owner, name) {
        return Err((format!("the server alone writes `{name}`"), None));
    }
    Ok(())
}

fn take(api: &Api, kind: Kind, step: &SelectorStep) -> Result<Found, (String, Option<String>)> {
    let entry = |kind| Ok(Found { kind, zero_is_absent: false });
    match (step, kind) {
        (SelectorStep::Name(name), Kind::Struct(id)) => {
            let structure = api.structure(id);
            match structure.field(name) {
                Some(_) if is_old_spelling(structure, name) => Err((
                    "`serviceAccount` is judged under its other name".to_owned(),
                    Some("say `serviceAccountName`: both spellings are one value".to_owned()),
                )),
                Some(field) => Ok(Found { kind: field.kind, zero_is_absent: !field.pointer }),
                None => Err(no_field(structure, name)),
            }
        }
        (SelectorStep::Name(_), Kind::Map(id)) => entry(api.list(id).item),
        (SelectorStep::Name(name), Kind::List(_)) => Err((
            format!("`{name}` is asked of a list"),
            Some("go through a list with `[*]` or by its key, `[?@.name=='x']`".to_owned()),
        )),
        (SelectorStep::Name(name), _) => Err((format!("`{name}` is asked of a scalar"), None)),
        (SelectorStep::All, Kind::List(id) | Kind::Map(id)) => entry(api.list(id).item),
        (SelectorStep::All, Kind::Struct(_)) => Err((
            "`[*]` is asked of a struct".to_owned(),
            Some("name its fields, or select the struct itself".to_owned()),
        )),
        (SelectorStep::Key(pairs), Kind::List(id)) => {
            let list = api.list(id);
            let is_given = |key: &&str| pairs.iter().any(|(name, _)| name == key);
            if list.keys.is_empty() {
                Err(("this list has no key".to_owned(), Some("use `[*]`".to_owned())))
            } else if list.keys.len() == pairs.len() && list.keys.iter().all(is_given) {
                entry(list.item)
            } else {
                Err((
                    "the filter is not on the list's key".to_owned(),
                    Some(format!("the key of this list is `{}`", list.keys.join("` and `"))),
                ))
            }
        }
        (SelectorStep::Value(_), Kind::List(id)) if api.list(id).keys == ["="] => {
            entry(api.list(id).item)
        }
        _ => Err(("a step into a list is asked of something else".to_owned(), None)),
    }
}

/// A struct's field that it does not have, and the one that was probably meant.
pub(super) fn no_field(structure: &StructType, name: &str) -> (String, Option<String>) {
    let near = nearest(name, structure.fields.iter().map(|f| f.name));
    let help = near.map(|n| format!("did you mean `{n}`?"));
    (format!("{} has no field `{name}`", structure.name), help)
}

/// The older of the two spellings of a Pod's service account.
pub(super) fn is_old_spelling(structure: &StructType, name: &str) -> bool {
    structure.name == "PodSpec" && name == "serviceAccount"
}

impl Must {
    /// A part that an object may leave out, so that the rule says nothing of one that does.
    #[must_use]
    pub fn passes_over(&self, api: &Api) -> Option<PassedOver> {
        self.selected.iter().find_map(|selected| {
            let (steps, mut kind) = match (&selected.job, &selected.cron_job) {
                (Some(steps), _) => (steps, api.job()),
                (None, Some(steps)) => (steps, api.cron_job()),
                (None, None) => return None,
            };
            let mut optional = None;
            for (index, step) in steps.iter().enumerate() {
                if let (Some(parent), SelectorStep::Name(name)) = (&optional, step) {
                    let (parent, name) = (String::clone(parent), name.clone());
                    return Some(PassedOver::NoParent { parent, name });
                }
                if let (SelectorStep::Key(pairs), true) = (step, index + 1 < steps.len()) {
                    let keys: Vec<&str> = pairs.iter().map(|(_, value)| value.as_str()).collect();
                    return Some(PassedOver::NoItem(keys.join("/")));
                }
                optional = match step {
                    SelectorStep::Name(name) => api
                        .field(kind, name)
                        .filter(|field| {
                            field.pointer
                                && matches!(field.kind, Kind::Struct(_))
                                && matches!(
                                    field.default,
                                    crate::core::kubernetes::api::FieldDefault::None
                                )
                        })
                        .map(|field| field.name.to_owned()),
                    _ => None,
                };
                kind = take(api, kind, step).ok()?.kind;
            }
            None
        })
    }
}
