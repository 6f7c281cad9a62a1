//! What holds for every input, with inputs made up by proptest: Jobs that differ from what a shape
//! admits in any places that the API has, values of its variables, bytes of requests.
//!
//! The fuzz targets check more of this, and only for their seeds here.

use std::sync::LazyLock;

use jobshape::core::changes::{Change, Random, single};
use jobshape::core::judge::{Shapes, judge_one};
use jobshape::core::kubernetes::api::Api;
use jobshape::core::shape::Shape;
use jobshape::core::tree::Node;
use jobshape::formats::documents::documents;
use jobshape::formats::emit;
use jobshape::formats::review::Record;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fuzz::{UID, ask, filled, job, review, review_of, together};

struct Base {
    shapes: Shapes,
    open: Shape,
    job: Value,
    changes: Vec<Change>,
}

static BASE: LazyLock<Base> = LazyLock::new(|| {
    let shapes = job::shapes();
    let open = shapes[0].clone();
    let job = filled(open.first()).unwrap();
    let changes = single(Api::get(), &job);
    Base { shapes: together(shapes), open, job, changes }
});

/// The Job of the shape after any few changes.
fn changed() -> impl Strategy<Value = Value> {
    let one = (0..BASE.changes.len()).prop_map(|index| &BASE.changes[index]);
    proptest::collection::vec(one, 0..5)
        .prop_map(|all| all.iter().fold(BASE.job.clone(), |job, change| change.apply(&job)))
}

/// The values of the variables of `tests/fuzz/open.yaml`, as its constraints have them.
fn values() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    (
        "[a-z0-9]{4}",
        "[1-9][0-9]{0,6}",
        prop_oneof![Just("home/infra"), Just("home/apps")],
        1..=5_u8,
        64..=2048_u32,
        any::<bool>(),
        "[^\\x00]{1,8}",
    )
        .prop_map(|(run, issue, repo, many, memory, quiet, word)| {
            vec![
                ("run", run),
                ("issue", issue),
                ("repo", repo.to_owned()),
                ("many", many.to_string()),
                ("memory", format!("{memory}Mi")),
                ("quiet", quiet.to_string()),
                ("word", word),
            ]
        })
}

/// JSON text with the keys of every map in some order.
fn shuffled(value: &Value, random: &mut Random) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", json!(key), shuffled(value, random)))
                .collect();
            for index in 1..entries.len() {
                entries.swap(index, random.below(index + 1));
            }
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| shuffled(item, random)).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

/// What was decided. Which of equal findings stands first is not.
fn decided(record: Record) -> (&'static str, bool, usize, Vec<String>) {
    let mut rules: Vec<String> = record.rules.iter().map(|rule| format!("{rule:?}")).collect();
    rules.sort();
    (record.verdict, record.allowed, record.findings, rules)
}

fn create(object: &str) -> String {
    review_of("CREATE", "open", &"Job".into(), object)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_verdict_is_the_same_for_any_order_of_keys(job in changed(), seed: u64) {
        let kept = ask(&BASE.shapes, &create(&job.to_string())).record;
        let other = shuffled(&job, &mut Random::new(seed));
        prop_assert_eq!(decided(kept), decided(ask(&BASE.shapes, &create(&other)).record));
    }

    /// Other reviews are judged at the same time, and before; who asks first does not matter.
    #[test]
    fn the_verdict_does_not_depend_on_the_thread_or_the_time(jobs in proptest::collection::vec(changed(), 4)) {
        let reviews: Vec<String> = jobs.iter().map(|job| create(&job.to_string())).collect();
        let alone: Vec<Vec<u8>> = reviews.iter().map(|review| ask(&BASE.shapes, review).body.to_vec()).collect();
        let together: Vec<Vec<Vec<u8>>> = std::thread::scope(|scope| {
            let work = |first: usize| {
                let reviews = &reviews;
                let all = move || {
                    let mut bodies = vec![vec![]; 4];
                    for step in 0..4 {
                        let index = (first + step) % 4;
                        bodies[index] = ask(&BASE.shapes, &reviews[index]).body.to_vec();
                    }
                    bodies
                };
                scope.spawn(all)
            };
            let threads: Vec<_> = (0..4).map(work).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for bodies in together {
            prop_assert_eq!(&bodies, &alone);
        }
    }

    #[test]
    fn a_job_that_the_shape_itself_filled_is_always_allowed(values in values()) {
        let template = BASE.open.first();
        let given = values.iter().map(|(name, value)| (*name, value.as_str()));
        let settings = template.settings(given).expect("values as the constraints have them");
        let job = template.fill(&settings).expect("all have a value").to_json();
        let record = ask(&BASE.shapes, &create(&job.to_string())).record;
        prop_assert_eq!((record.verdict, record.findings), ("allow", 0), "{}", job);
    }

    #[test]
    fn a_yaml_file_and_its_json_form_get_the_same_verdict(job in changed()) {
        let judged = |text: &str| {
            let document = documents(text).next().expect("a document").expect("it can be read");
            let mut found = judge_one(&BASE.open, BASE.open.first(), &document.root, "open").findings;
            found.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
            found.into_iter().map(|f| (f.path, f.message, f.pointer, f.action)).collect::<Vec<_>>()
        };
        prop_assert_eq!(judged(&emit::yaml(&Node::from_json(&job))), judged(&job.to_string()));
    }

    #[test]
    fn the_uid_comes_back_whatever_it_is(uid in "\\PC{1,40}|[\\x00-\\x7f\u{2028}\u{fffd}\u{10ffff}]{1,20}", job in changed()) {
        let review = create(&job.to_string()).replace(&json!(UID).to_string(), &json!(uid).to_string());
        let answer = ask(&BASE.shapes, &review);
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        prop_assert_eq!(body["response"]["uid"].as_str(), Some(uid.as_str()));
    }

    /// And what can be read of it gets its answer ([`review::check`]).
    #[test]
    fn no_bytes_make_it_panic(
        job in changed(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<u8>()), 0..6),
    ) {
        let mut bytes = create(&job.to_string()).into_bytes();
        for (index, kind, byte) in edits {
            let at = index.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => _ = bytes.remove(at),
                _ => bytes.truncate(at.max(1)),
            }
        }
        review::check(&bytes);
    }
}

/// Nor on the day: what a rule says of a date is for whoever watches, and decides nothing.
#[test]
fn a_date_that_has_passed_changes_no_verdict() {
    let text = include_str!("fuzz/open.yaml");
    let dated = |year: &str| {
        let rule = "{name: volumes, select: [$.spec.template.spec.volumes], action: Audit}";
        let with = rule.replace("Audit}", &format!("Audit, auditUntil: {year}-01-01}}"));
        assert!(text.contains(rule));
        let shape = crate::fuzz::load(&text.replace(rule, &with)).unwrap();
        together(vec![shape.unwrap_or_else(|all| panic!("{all:#?}"))])
    };
    let [past, future] = ["2001", "2999"].map(dated);
    let mut audited = 0;
    for change in BASE.changes.iter().filter(|one| one.places().any(|p| p.contains("/volumes"))) {
        let review = create(&change.apply(&BASE.job).to_string());
        let [before, after] = [&past, &future].map(|shapes| decided(ask(shapes, &review).record));
        audited += usize::from(before.1 && before.2 > 0);
        assert_eq!(before, after, "{}", change.describe());
    }
    assert!(audited > 20, "worth something");
}
