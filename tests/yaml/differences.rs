//! What is deliberately read otherwise than kubectl reads it, as `docs/yaml.md` says it to users.

use jobshape::core::tree::Node;
use jobshape::formats::text::Source;
use jobshape::formats::{documents, emit};

use serde_json::json;

use crate::apiserver;

/// One of them.
pub struct Difference {
    /// The first column of the table.
    pub what: &'static str,
    /// A Job that shows it.
    example: &'static str,
    /// What kubectl makes of it: a part of what it prints, or of what it says when it refuses.
    kubectl: Result<&'static str, &'static str>,
    /// Whether it is refused here.
    pub refused: bool,
    /// The probes that are about it.
    pub probes: &'static [&'static str],
}

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec:\n";

/// All of them, in the order of the table.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        what: "a tag, as in `!!str 123`",
        example: "  a: !!str 123\n",
        kubectl: Ok(r#""a": "123""#),
        refused: true,
        probes: &[
            "scalar '!!str 123'",
            "scalar '!!int \"123\"'",
            "scalar '!!float 1'",
            "scalar '!!bool \"yes\"'",
            "scalar '!!binary aGk='",
            "scalar '!foo bar'",
        ],
    },
    Difference {
        what: "a key twice in one map",
        example: "  a: 1\n  a: 2\n",
        kubectl: Ok(r#""a": 2"#),
        refused: true,
        probes: &["dup-key", "dup-key-nested", "json-dup"],
    },
    Difference {
        what: "a merge key, `<<`",
        example: "  a: &x {k: 1}\n  b: {k: 2, <<: *x}\n",
        kubectl: Ok(r#""k": 1"#),
        refused: true,
        probes: &["merge", "merge-list"],
    },
    Difference {
        what: "bytes that are not UTF-8, half a surrogate pair",
        example: r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x"},"spec":{"a":"\ud800"}}"#,
        kubectl: Ok("\"a\": \"\u{fffd}\""),
        refused: true,
        probes: &["utf16", "invalid-utf8", "surrogate-json"],
    },
    Difference {
        what: "U+0085 in a string",
        example: "  a: \"x\u{85}y\"\n",
        kubectl: Ok(r#""a": "x y""#),
        refused: true,
        probes: &["nel"],
    },
    Difference {
        what: "a text that begins with `{` and is no JSON",
        example: r#"{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {a: 1}}"#,
        kubectl: Ok(r#""a": 1"#),
        refused: true,
        probes: &["kyaml-nosep", "json-trailing-comma"],
    },
    Difference {
        what: "JSON, then `---` and more",
        example: "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"x\"}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: z}\nspec: {a: 1}\n",
        kubectl: Ok(r#""a": 1"#),
        refused: true,
        probes: &["json-sep", "json-then-yaml"],
    },
    Difference {
        what: "`-` alone within `{}` or `[]`, as in `{value: -}`",
        example: "  a: {value: -}\n",
        kubectl: Ok(r#""value": "-""#),
        refused: true,
        probes: &[],
    },
    Difference {
        what: "a value of a type that the API does not have there",
        example: "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":[]}",
        kubectl: Err("cannot unmarshal array"),
        refused: false,
        probes: &["case-kind", "second-bad"],
    },
];

/// The difference that a probe is about.
pub fn about(probe: &str) -> Option<&'static Difference> {
    DIFFERENCES.iter().find(|difference| difference.probes.contains(&probe))
}

impl Difference {
    fn example(&self) -> String {
        if self.example.starts_with('{') {
            self.example.into()
        } else {
            format!("{JOB}{}", self.example)
        }
    }
}

#[test]
fn the_page_has_them_and_no_other() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/yaml.md")).unwrap();
    let table = page.split("\n## What is read otherwise").nth(1).expect("the section");
    let rows: Vec<(&str, bool)> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
        // The head of the table.
        .skip(1)
        .map(|(what, rest)| (what, rest.contains("| refused")))
        .collect();
    let ours: Vec<_> = DIFFERENCES.iter().map(|d| (d.what, d.refused)).collect();
    assert_eq!(rows, ours);
}

#[test]
fn each_is_refused_or_read_as_the_page_says() {
    for difference in DIFFERENCES {
        let source = Source::from_bytes("-", difference.example().into_bytes()).unwrap();
        let refused = documents::objects(&source).iter().any(Result::is_err);
        assert_eq!(refused, difference.refused, "{}", difference.what);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_does_what_the_page_says() {
    let cluster = apiserver::shared().await;
    for difference in DIFFERENCES {
        let arguments = ["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"];
        let said = cluster.kubectl_with(&arguments, &difference.example());
        match (difference.kubectl, said) {
            (Ok(part), Ok(printed)) => assert!(printed.contains(part), "{printed}"),
            (Err(part), Err(failure)) => {
                assert!(failure.to_string().contains(part), "{failure}");
            }
            (expected, Ok(said)) => panic!("{}: {expected:?}, and not {said}", difference.what),
            (expected, Err(said)) => panic!("{}: {expected:?}, and not {said}", difference.what),
        }
    }
}

/// A key may be longer than readers of YAML take before a `:`; written by us it is read by both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_reads_long_keys_as_they_are_written_here() {
    let cluster = apiserver::shared().await;
    for length in [1000, 1023, 1024, 1100] {
        for letter in ["a", " ", "é"] {
            let key = letter.repeat(length);
            let job = json!({
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"},
                "spec": {&key: {&key: "text", "list": [{&key: 1}]}}
            });
            let arguments =
                ["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"];
            let printed = cluster.kubectl_with(&arguments, &emit::yaml(&Node::from_json(&job)));
            let printed = printed.unwrap_or_else(|error| panic!("{length} {letter:?}: {error}"));
            let read: serde_json::Value = serde_json::from_str(&printed).unwrap();
            assert_eq!(read["spec"], job["spec"], "{length} {letter:?}");
        }
    }
}
