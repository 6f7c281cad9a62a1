use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::json;

use super::{Descent, Duplicates, Skip, locate, read, split};
use crate::core::mistake::Mistake;
use crate::core::tree::{MAX_NODES, NOWHERE, Node, Number, Value};

fn tree(text: &str) -> Node<'_> {
    read(text, Skip::Nothing, Duplicates::Refuse).unwrap()
}

fn refusal(text: &str) -> Mistake {
    read(text, Skip::Nothing, Duplicates::Refuse).unwrap_err()
}

#[test]
fn borrows_strings_that_have_no_escapes() {
    let root = tree(r#"{"a": "b", "\u0063": "d\n"}"#);
    let [a, c] = root.entries() else { panic!("two entries") };
    assert!(matches!(a.key, Cow::Borrowed("a")));
    assert!(matches!(a.node.value, Value::String(Cow::Borrowed("b"))));
    assert_eq!((c.key.as_ref(), c.node.as_str()), ("c", Some("d\n")));
    assert_eq!((root.at, a.key_at, a.node.at), (NOWHERE, NOWHERE, NOWHERE));
}

#[test]
fn keeps_integers_exact() {
    let number = |text| tree(text).value;
    assert_eq!(number("9007199254740993"), Value::Number(Number::Int(9_007_199_254_740_993)));
    assert_eq!(number("5.0"), Value::Number(Number::Int(5)));
    assert_eq!(number("1e2"), Value::Number(Number::Int(100)));
    assert_eq!(number("-0"), Value::Number(Number::Int(0)));
    assert_eq!(number("0.1"), Value::Number(Number::Float(0.1)));
}

#[test]
fn integers_beyond_64_bits_are_what_kubectl_sends_and_exact_in_a_request() {
    let written = "18446744073709551615";
    let sent = read(written, Skip::Nothing, Duplicates::Keep).unwrap();
    assert_eq!(sent.value, Value::Number(Number::Unsigned(u64::MAX)));
    for (file, rounded) in [
        (written, 18_446_744_073_709_552_000.0),
        ("11111111111111111111", 11_111_111_111_111_110_000.0),
    ] {
        assert_eq!(tree(file).value, Value::Number(Number::from_f64(rounded)));
    }
    assert_eq!(tree("9223372036854775807").value, Value::Number(Number::Int(i64::MAX)));
}

#[test]
fn skips_what_a_job_in_a_cluster_carries() {
    let text = r#"{"metadata": {"name": "a", "managedFields": [1], "status": 1}, "status": {"x": [1]},
                   "spec": {"status": 1, "metadata": {"managedFields": 1}}}"#;
    let root = read(text, Skip::Job, Duplicates::Keep).unwrap();
    let keys = |node: &Node<'_>| -> Vec<String> {
        node.entries().iter().map(|entry| entry.key.to_string()).collect()
    };
    assert_eq!(keys(&root), ["metadata", "spec"]);
    assert_eq!(keys(root.get("metadata").unwrap()), ["name", "status"]);
    let spec = root.get("spec").unwrap();
    assert_eq!(keys(spec), ["status", "metadata"]);
    assert_eq!(keys(spec.get("metadata").unwrap()), ["managedFields"]);
    assert_eq!(tree(text).entries().len(), 3);
}

#[test]
fn refuses_or_keeps_duplicate_keys() {
    let text = "{\n \"a\": 1,\n \"b\": {\"a\": 1},\n \"a\": 2}";
    let mistake = refusal(text);
    assert_eq!(mistake.at as usize, text.rfind("\"a\"").unwrap());
    assert!(mistake.message.contains("`a`"));
    assert!(mistake.help.unwrap().contains("line 2"));
    let kept = read(text, Skip::Nothing, Duplicates::Keep).unwrap();
    assert_eq!(kept.entries().len(), 3);
    // Escaped, it is the same key still, and the place is where serde had got to.
    let escaped = refusal(r#"{"a": 1, "\u0061": 2}"#);
    assert!(escaped.message.contains("`a`") && escaped.at != NOWHERE);
}

#[test]
fn finds_duplicates_in_a_large_map_without_comparing_all_keys() {
    let keys: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":1")).collect();
    tree(&format!("{{{}}}", keys.join(",")));
    assert!(refusal(&format!("{{{},\"k7\":1}}", keys.join(","))).message.contains("`k7`"));
}

#[test]
fn caps_nodes_and_depth() {
    let many = format!("[{}0]", "0,".repeat(MAX_NODES));
    let mistake = refusal(&many);
    assert!(mistake.message.contains(&MAX_NODES.to_string()), "{mistake}");
    assert!((mistake.at as usize) < many.len());
    tree(&format!("{}{}", "[".repeat(127), "]".repeat(127)));
    assert!(refusal(&"[".repeat(128)).message.contains("128"));
}

#[test]
fn says_where_the_syntax_breaks() {
    for (text, at) in [
        ("{\"a\": 1,}", 8),
        ("{\n\"a\" 1}", 6),
        ("{\"a\": [1, 2", 11),
        ("{} x", 3),
        ("{\"é\": tru}", 10),
        ("", 0),
        ("\"\\ud800\"", 7),
    ] {
        let mistake = refusal(text);
        assert!(mistake.message.starts_with("the JSON is broken here: "), "{mistake}");
        assert!(!mistake.message.contains(" at line "), "{mistake}");
        assert!(mistake.at.abs_diff(at) <= 1, "{text:?}: {} {mistake}", mistake.at);
    }
}

#[test]
fn splits_a_stream_of_values() {
    let text = " {\"a\": 1}\n{\"b\": 2}{\"c\": 3}\n";
    let parts: Vec<_> = split(text).into_iter().map(Result::unwrap).collect();
    let at: Vec<_> = parts.iter().map(|part| (part.at, part.line, part.text)).collect();
    assert_eq!(at, [(1, 1, "{\"a\": 1}"), (10, 2, "{\"b\": 2}"), (18, 2, "{\"c\": 3}")]);
    let broken = split("{}\n---\n{}");
    assert_eq!(broken.len(), 2);
    let mistake = broken[1].as_ref().unwrap_err();
    assert!(mistake.help.as_ref().unwrap().contains("`---`"));
    assert_eq!(
        (mistake.at, mistake.message.as_str()),
        (3, "a `---` stands behind JSON, and is none")
    );
}

#[test]
fn locates_values_by_pointer() {
    let text = r#" {"a": [1, {"x/y": true}], "~": {"": null}, "a": 2}"#;
    for (pointer, value) in [
        ("", "{\"a\""),
        ("/a", "[1"),
        ("/a/0", "1,"),
        ("/a/1", "{\"x/y\""),
        ("/a/1/x~1y", "true"),
        ("/~0/", "null"),
    ] {
        let at = locate(text, pointer).unwrap() as usize;
        assert!(text[at..].starts_with(value), "{pointer}: {}", &text[at..]);
    }
    for pointer in ["a", "/b", "/a/2", "/a/01", "/a/-", "/a/0/x"] {
        assert_eq!(locate(text, pointer), None, "{pointer}");
    }
    assert_eq!(Descent::new(text).nearest(text, "/a/1/z"), locate(text, "/a/1"));
    assert_eq!(Descent::new("").nearest("", ""), None);
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "\\PC{0,8}".prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::hash_map("\\PC{0,6}", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_back_what_was_printed(json in any_json()) {
        for text in [json.to_string(), serde_json::to_string_pretty(&json).unwrap()] {
            let sent = read(&text, Skip::Nothing, Duplicates::Keep).unwrap();
            prop_assert_eq!(sent, Node::from_json(&json));
            // What is rounded in a file is the same when it is printed and read again.
            let once = tree(&text).to_json();
            prop_assert_eq!(tree(&once.to_string()).to_json(), once);
        }
    }

    #[test]
    fn never_panics(text in "([{}\\[\\],:\"\\\\u0-9aé \n.eE-]|null|true|\"a\"){0,30}", pointer in "[/~01a-]{0,8}") {
        let _ = read(&text, Skip::Job, Duplicates::Refuse);
        let _ = split(&text);
        if let Some(at) = Descent::new(&text).nearest(&text, &pointer) {
            prop_assert!((at as usize) <= text.len());
        }
    }
}

#[test]
fn maps_and_lists_of_every_length_are_whole() {
    for length in [0, 1, 31, 32, 33, 64, 100] {
        let list: Vec<_> = (0..length).map(|n| json!({"n": n, "in": vec![n; length]})).collect();
        let map: serde_json::Map<_, _> =
            (0..length).map(|n| (format!("k{n}"), json!({"l": vec![n; length], "n": n}))).collect();
        let text = json!({"map": map, "list": list}).to_string();
        for duplicates in [Duplicates::Keep, Duplicates::Refuse] {
            let node = read(&text, Skip::Nothing, duplicates).unwrap();
            assert_eq!(node.to_json().to_string(), text);
        }
    }
}
