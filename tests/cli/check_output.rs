//! `check -o json` is an interface: what is printed satisfies the schema in `docs`, and the
//! schema is one that something can fail.

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{root, run, text};

fn schema() -> Validator {
    let path = root().join("docs/check-output.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn printed(arguments: &[&str]) -> Value {
    let output = run(&[&["check", "-o", "json"], arguments].concat());
    serde_json::from_str(&text(&output.stdout)).unwrap()
}

fn complaints(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Output of each verdict, with every kind of finding that the examples have.
fn outputs() -> Vec<Value> {
    let jobs = root().join("rules/pm-agent/jobs");
    let shapes = root().join("rules");
    let (shapes, jobs) = (shapes.to_str().unwrap(), jobs.to_str().unwrap());
    vec![
        printed(&["--shapes", shapes, jobs]),
        printed(&["--shapes", "shapes", "jobs", "more"]),
        printed(&["--shapes", "shapes", "review.json"]),
        printed(&["--shapes", "shapes", "nowhere.yaml", "elsewhere.yaml", "cronjob.yaml"]),
    ]
}

#[test]
fn what_is_printed_satisfies_the_schema() {
    let schema = schema();
    let mut verdicts = std::collections::BTreeSet::new();
    for output in outputs() {
        assert_eq!(complaints(&schema, &output), Vec::<String>::new(), "{output:#}");
        for result in output["results"].as_array().unwrap() {
            verdicts.insert(result["verdict"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(Vec::from_iter(verdicts), ["allow", "deny", "error", "ungoverned"]);
}

/// A key of another name, one too many or one too few is another interface.
#[test]
fn the_schema_refuses_another_interface() {
    let schema = schema();
    let good = &outputs()[1];
    let renamed = |pointer: &str, from: &str, to: &str| {
        let mut output = good.clone();
        let object = output.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        let value = object.remove(from).unwrap();
        object.insert(to.to_owned(), value);
        output
    };
    let place = |pointer: &str| good.pointer(pointer).unwrap().as_object().unwrap().clone();
    let denied = good["results"].as_array().unwrap().iter().position(|r| r["verdict"] == "deny");
    let result = format!("/results/{}", denied.unwrap());
    let finding = format!("{result}/findings/0");
    let mut keys = 0;
    for pointer in ["", "/summary", &result, &finding] {
        for key in place(pointer).keys() {
            let output = renamed(pointer, key, &format!("{key}s"));
            assert_ne!(complaints(&schema, &output), Vec::<String>::new(), "{pointer} {key}");
            keys += 1;
        }
    }
    assert!(keys > 20, "{keys}");
    let mut no_reason = good.clone();
    no_reason["results"][0]["verdict"] = json!("error");
    let mut unknown = good.clone();
    unknown["results"][0]["verdict"] = json!("maybe");
    for output in [no_reason, unknown, json!({"results": [], "summary": good["summary"]})] {
        assert_ne!(complaints(&schema, &output), Vec::<String>::new(), "{output:#}");
    }
}

/// The numbers say what the list says.
#[test]
fn the_summary_counts_the_results() {
    for output in outputs() {
        for verdict in ["allow", "deny", "error", "ungoverned"] {
            let results = output["results"].as_array().unwrap();
            let count = results.iter().filter(|r| r["verdict"] == verdict).count();
            assert_eq!(output["summary"][verdict], json!(count), "{verdict}: {output:#}");
        }
    }
}
