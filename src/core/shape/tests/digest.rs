//! The digest: the same for everything that means the same, another for everything else.

use serde_json::json;

use crate::core::shape::Shape;
use crate::core::testing::{Job, document, job, read, shape};

fn template() -> Job {
    job().set("worker/args", json!(["<v>", "b"]))
}

const SPEC: &str = "variables: {v: {pattern: '[a-z]+', example: a}}\nrules: [{name: a, select: [$.spec], action: Warn}]";

fn digest(template: &str, shape: &str) -> String {
    Shape::load(&read(shape), &[read(template)]).unwrap().digest
}

#[test]
fn the_digest_is_of_what_is_said_not_of_how() {
    let plain = digest(&template().text(), &document(SPEC));
    assert_eq!(plain.len(), 64);
    assert!(plain.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_eq!(shape(&template(), SPEC).digest, plain);
    assert_eq!(shape(&template(), SPEC).short_digest(), &plain[..8]);
    // Comments, order of keys, flow or block, quotes.
    let other = "rules:\n- action: \"Warn\" # why\n  select:\n  - $.spec\n  name: a\n# a comment\nvariables:\n  v:\n    example: a\n    pattern: \"[a-z]+\"";
    assert_eq!(digest(&template().text(), &document(other)), plain);
    // Name and labels of the shape are no part of its spec.
    let renamed = document(SPEC).replace("{name: worker}", "{name: other, labels: {a: b}}");
    assert_eq!(digest(&template().text(), &renamed), plain);
    // The template as JSON, without positions.
    assert_eq!(digest(&template().0.to_string(), &document(SPEC)), plain);
    let renamed_file = document(SPEC).replace("job.yaml", "other.yaml");
    assert_eq!(digest(&template().text(), &renamed_file), plain);
}

#[test]
fn inline_and_file_have_one_digest() {
    let inline = format!("{SPEC}\ntemplates:\n- {}", template().0);
    let of_inline = Shape::load(&read(&document(&inline)), &[]).unwrap();
    assert_eq!(of_inline.digest, shape(&template(), SPEC).digest);
}

#[test]
fn every_other_meaning_has_another_digest() {
    let plain = shape(&template(), SPEC).digest;
    let template_differs = [
        template().set("worker/args/1", json!("c")),
        template().reverse("worker/args"),
        template().set("pod/hostNetwork", json!(false)),
        template().set("/metadata/uid", json!("x")),
    ];
    for other in template_differs {
        assert_ne!(shape(&other, SPEC).digest, plain);
    }
    for (from, to) in [
        ("Warn", "Audit"),
        ("name: a", "name: b"),
        ("[a-z]+", "[a-z]*"),
        ("example: a", "example: b"),
    ] {
        assert_ne!(shape(&template(), &SPEC.replace(from, to)).digest, plain, "{to}");
    }
    let other_match = format!("match: {{namespaces: [other]}}\n{SPEC}");
    assert_ne!(shape(&template(), &other_match).digest, plain);
}
