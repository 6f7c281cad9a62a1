use std::borrow::Cow;

use super::{read, split};
use crate::core::mistake::Mistake;
use crate::core::tree::{MAX_NODES, Node, Value};
use crate::formats::text::Part;

fn tree(text: &str) -> Node<'_> {
    read(Part::whole(text)).unwrap().unwrap()
}

fn refusal(text: &str) -> Mistake {
    read(Part::whole(text)).unwrap_err()
}

/// The JSON kubectl would make of a plain scalar.
fn json(scalar: &str) -> String {
    let text = format!("v: {scalar}\n");
    tree(&text).get("v").unwrap().to_json().to_string()
}

#[test]
fn types_scalars_as_yaml_1_1() {
    for (scalar, expected) in [
        ("yes", "true"),
        ("Off", "false"),
        ("y", "true"),
        ("tRUE", "\"tRUE\""),
        ("~", "null"),
        ("", "null"),
        ("nUll", "\"nUll\""),
        ("'yes'", "\"yes\""),
        ("2018-12-02", "\"2018-12-02\""),
        ("12:30", "\"12:30\""),
        ("=", "\"=\""),
        ("<<", "\"<<\""),
    ] {
        assert_eq!(json(scalar), expected, "{scalar}");
    }
}

#[test]
fn types_numbers_as_go() {
    for (scalar, expected) in [
        ("0644", "420"),
        ("0O644", "420"),
        ("08", "8"),
        ("0", "0"),
        ("-0x1F", "-31"),
        ("0b11", "3"),
        ("0b-1", "-1"),
        ("0b", "\"0b\""),
        ("0x", "\"0x\""),
        ("1__0", "10"),
        ("_1", "\"_1\""),
        ("+_", "\"+_\""),
        ("1.0", "1"),
        ("5.", "5"),
        (".5_0", "0.5"),
        ("._5", "\"._5\""),
        ("1e3", "1000"),
        ("1e-3", "0.001"),
        ("1e400", "\"1e400\""),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        // From here on kubectl goes through a double and prints its shortest digits.
        ("9223372036854775808", "9223372036854776000"),
        ("1234567890123456789.0", "1234567890123456800"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
    ] {
        assert_eq!(json(scalar), expected, "{scalar}");
    }
}

#[test]
fn refuses_what_json_cannot_hold() {
    for scalar in [".inf", "-.Inf", "+.INF", ".NaN"] {
        let text = format!("v: {scalar}");
        let mistake = refusal(&text);
        assert_eq!(mistake.at, 3);
        assert!(mistake.message.contains("infinity and NaN"), "{mistake}");
    }
}

#[test]
fn makes_text_of_keys_as_kubectl_does() {
    let text = "yes: 1\n017: 2\n1.50: 3\n1e7: 4\n1e-5: 5\n.inf: 6\n'no': 7\n2018-1-1: 8\n";
    let root = tree(text);
    let keys: Vec<_> = root.entries().iter().map(|entry| entry.key.as_ref()).collect();
    assert_eq!(keys, ["true", "15", "1.5", "1e+07", "1e-05", ".inf", "no", "2018-1-1"]);
}

#[test]
fn refuses_keys_that_are_no_text() {
    for text in ["~: 1", "9223372036854775808: 1", "? [a]\n: 1", "{a: 1}: 1"] {
        let mistake = refusal(text);
        assert!(mistake.message.contains("key"), "{text}: {mistake}");
    }
    assert!(refusal("a: &x b\n*x : 1").message.contains("an alias as a key"));
}

#[test]
fn borrows_and_knows_where_everything_stands() {
    let text = "# é\na: b\nlist:\n  - \"q\"\n  - {k: 'v'}\nblock: |\n  one\n  two\n";
    let root = tree(text);
    let at = |offset: u32| text.get(offset as usize..).unwrap();
    assert!(at(root.at).starts_with("a: b"));
    let a = root.entries().first().unwrap();
    assert!(matches!(a.key, Cow::Borrowed("a")));
    assert!(at(a.key_at).starts_with("a: b"));
    assert!(matches!(a.node.value, Value::String(Cow::Borrowed("b"))));
    assert!(at(a.node.at).starts_with("b\n"));
    let items = root.get("list").unwrap().items();
    assert!(at(root.get("list").unwrap().at).starts_with("- \"q\""));
    assert!(matches!(items[0].value, Value::String(Cow::Borrowed("q"))));
    assert!(at(items[0].at).starts_with("\"q\""));
    assert!(at(items[1].at).starts_with("{k:"));
    assert!(at(items[1].get("k").unwrap().at).starts_with("'v'"));
    assert_eq!(root.get("block").unwrap().as_str(), Some("one\ntwo\n"));
}

#[test]
fn refuses_duplicate_keys_and_names_both_places() {
    let mistake = refusal("a: 1\nb:\n  x: 1\n  y: 2\n  x: 3\n");
    assert_eq!(mistake.at, 24);
    assert!(mistake.message.contains("`x`"));
    assert!(mistake.help.unwrap().contains("line 3"));
    // What kubectl makes the same key of is the same key.
    assert!(refusal("1: a\n'1': b").message.contains("`1`"));
    // A large map is looked up in a set.
    let mut large: String = (0..50).map(|n| format!("k{n}: 1\n")).collect();
    tree(&large);
    large.push_str("k7: 2\n");
    assert!(refusal(&large).help.unwrap().contains("line 8"));
}

#[test]
fn refuses_merge_keys_and_tags() {
    assert!(refusal("a: &x {k: 1}\nb:\n  <<: *x\n").message.contains("`<<`"));
    assert_eq!(tree("\"<<\": 1").entries().len(), 1);
    for (text, tag) in [
        ("a: !!str 1", "`!!str`"),
        ("a: !foo {b: 1}", "`!foo`"),
        ("a: ! b", "`!`"),
        ("a: !!seq\n- 1", "`!!seq`"),
        ("!!str a: 1", "`!!str`"),
    ] {
        let mistake = refusal(text);
        assert!(mistake.message.contains(tag), "{text}: {mistake}");
    }
}

#[test]
fn expands_aliases_where_they_stand() {
    let text = "a: &x {k: [1, 2]}\nb: *x\n";
    let root = tree(text);
    let (a, b) = (root.get("a").unwrap(), root.get("b").unwrap());
    assert_eq!(a.value, b.value);
    assert_eq!(b.at, 21);
    let scalar = tree("a: &x 0644\nb: *x\n");
    assert_eq!(scalar.get("b").unwrap().as_int(), Some(420));
    assert_eq!(tree("&x a: 1\nb: *x").get("b").unwrap().as_str(), Some("a"));
}

#[test]
fn refuses_aliases_to_nothing() {
    assert!(refusal("a: *x").message.contains("not defined"));
    assert!(refusal("a: &x [*x]").message.contains("within the value"));
}

#[test]
fn caps_what_aliases_multiply() {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..9 {
        let m = n - 1;
        text.push_str(&format!("a{n}: &a{n} [*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m}]\n"));
    }
    let mistake = refusal(&text);
    assert!(mistake.message.contains(&MAX_NODES.to_string()), "{mistake}");
}

#[test]
fn caps_the_depth() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    tree(&nested(127));
    for levels in [128, 200, 300, 100_000] {
        assert!(refusal(&nested(levels)).message.contains("128"), "{levels}");
    }
    let mut block = String::new();
    for level in 0..150 {
        block.push_str(&format!("{}a:\n", " ".repeat(level)));
    }
    assert!(refusal(&block).message.contains("128"));
    let mut aliases = format!("a0: &a0 {}\n", nested(60));
    aliases.push_str(&format!("b: {}*a0{}\n", "[".repeat(80), "]".repeat(80)));
    assert!(refusal(&aliases).message.contains("128"));
}

#[test]
fn says_what_is_wrong_with_the_syntax() {
    for (text, at, says) in [
        ("a:\n\tb: 1", 3, "tab"),
        ("a: [1, 2", 3, "closed"),
        ("a: \"b", 3, "quote"),
        ("a: @b", 3, "`@`"),
        ("a: {b: -}", 7, "cannot be `-` alone"),
        ("a: [-]", 4, "cannot be `-` alone"),
        ("a: \"\\q\"", 4, "escape"),
        ("a: b: c", 4, "`:`"),
        ("a: 1\n b: 2\n", 6, ""),
    ] {
        let mistake = refusal(text);
        assert!(mistake.message.contains(says), "{text}: {mistake}");
        assert!(mistake.at.abs_diff(at) <= 2, "{text}: {} {mistake}", mistake.at);
    }
}

#[test]
fn refuses_what_kubectl_reads_otherwise() {
    for (text, at, says) in [
        ("a: \"x\u{85}y\"", 5, "U+0085"),
        ("# c\u{2028}a: 1", 3, "U+2028"),
        ("a: \u{7f}", 3, "U+007F"),
        ("a: x\u{feff}", 4, "U+FEFF"),
        ("a: \"\\/\"", 4, "`\\/`"),
        ("a: \"\\ud83d\\ude00\"", 4, "surrogate"),
        ("a: 'x\r\r\ny'", 5, "CR"),
        ("a: [x?y]", 4, "brackets"),
        ("a: {b:, c: d}", 4, "brackets"),
        ("a: {b: :c}", 7, "brackets"),
        ("a: |+\n  b\n  ", 10, "last line"),
    ] {
        let mistake = refusal(text);
        assert!(mistake.message.contains(says), "{text:?}: {mistake}");
        assert_eq!(mistake.at, at, "{text:?}: {mistake}");
    }
    // The same where kubectl and everybody else agree.
    for text in
        ["a: x?y", "a: ['x?y']", "a: {b: c:d}", "a: {\"b\":1}", "a: |\n  b\n  ", "\u{feff}a: 1"]
    {
        tree(text);
    }
}

#[test]
fn cuts_a_stream_at_its_lines() {
    let text = "a: 1\n---\n---\n# only this\n--- # c\nb: |\n  x\n  ---\n---\r\nc: 1";
    let parts: Vec<_> = split(text).into_iter().map(Result::unwrap).collect();
    let read: Vec<_> = parts.iter().filter_map(|part| read(*part).unwrap()).collect();
    assert_eq!(read.len(), 3);
    assert_eq!(read[1].get("b").unwrap().as_str(), Some("x\n---\n"));
    assert_eq!(read[2].entries()[0].key_at as usize, text.len() - 4);
    assert_eq!(parts.last().unwrap().line, 10);
}

#[test]
fn ignores_what_follows_the_end_of_a_document() {
    assert_eq!(tree("a: 1\n...\nb: 2\n").entries().len(), 1);
    let parts = split("---\n...\na: 1\n");
    assert_eq!(parts.len(), 1);
    assert_eq!(read(*parts[0].as_ref().unwrap()), Ok(None));
}

#[test]
fn refuses_a_separator_with_more_on_it_but_not_its_neighbours() {
    for junk in ["--- {a: 1}", "----"] {
        let text = format!("a: 1\n{junk}\nb: 1\n---\nc: 1\n");
        let parts = split(&text);
        assert_eq!(parts.len(), 3);
        assert!(parts[0].is_ok() && parts[2].is_ok());
        let mistake = parts[1].as_ref().unwrap_err();
        assert_eq!(mistake.at, 5);
        assert!(mistake.message.contains("`---`"));
    }
}

#[test]
fn reads_every_kind_of_line_end() {
    for text in ["a: 1\r\nb: |\r\n  x\r\n  y\r\n", "a: 1\rb: |\r  x\r  y\r"] {
        assert_eq!(tree(text).get("b").unwrap().as_str(), Some("x\ny\n"));
    }
}

#[test]
fn tells_places_in_the_whole_text() {
    let text = "a: 1\n---\nb: 1\nb: 2\n";
    let parts = split(text);
    let mistake = read(*parts[1].as_ref().unwrap()).unwrap_err();
    assert_eq!(mistake.at, 14);
    assert!(mistake.help.unwrap().contains("line 3"));
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "\\PC*") {
        for part in split(&text).into_iter().flatten() {
            let _ = read(part);
        }
    }

    #[test]
    fn never_panics_on_what_looks_like_yaml(
        text in "([a-c1.~'\"|>+:?!&*<#%,\\[\\]{}\\\\ \t\r\n-]|\n  |: |- |---|\\.\\.\\.|&x |\\*x|\u{85}|é){0,40}"
    ) {
        for part in split(&text).into_iter().flatten() {
            if let Ok(Some(root)) = read(part) {
                assert!((root.at as usize) <= text.len());
            }
        }
    }

    #[test]
    fn reads_json_as_what_it_is(map in proptest::collection::hash_map("[a-z<?:' é]{1,6}", -9.0e15..9.0e15f64, 0..6)) {
        let json = serde_json::to_value(map).unwrap();
        let text = format!("---\n{json}");
        let parts = split(&text);
        let root = read(*parts[0].as_ref().unwrap()).unwrap().unwrap();
        proptest::prop_assert_eq!(root.to_json(), Node::from_json(&json).to_json());
    }
}
