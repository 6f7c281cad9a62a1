use super::{Object, documents, objects, position_of};
use crate::core::mistake::Mistake;
use crate::formats::text::Source;

fn source(text: &str) -> Source {
    Source::from_text("a.yaml", text).unwrap()
}

fn names(objects: &[Result<Object<'_>, Mistake>]) -> Vec<String> {
    let name = |object: &Object<'_>| {
        let kind = object.root.get("kind").and_then(|kind| kind.as_str()).unwrap_or("?").to_owned();
        format!("{} {} {} {}", object.index, object.document, object.pointer, kind)
    };
    objects.iter().map(|it| it.as_ref().map_or_else(|_| "broken".to_owned(), name)).collect()
}

fn mistakes(text: &str) -> Vec<Mistake> {
    objects(&source(text)).into_iter().filter_map(Result::err).collect()
}

/// The text at a position.
fn at(source: &Source, number: usize, pointer: &str) -> String {
    let objects = objects(source);
    let at = position_of(source, objects[number].as_ref().unwrap(), pointer).unwrap();
    source.text[at as usize..].chars().take(6).collect()
}

#[test]
fn numbers_documents_as_people_see_them() {
    let numbers: Vec<_> = documents("---\n# c\n---\na: 1\n---\n~\n---\nb: [\n---\nc: 1\n")
        .map(|document| document.map(|document| document.number))
        .collect();
    assert_eq!(numbers.len(), 3);
    assert_eq!(numbers[0], Ok(1));
    assert!(numbers[1].is_err());
    assert_eq!(numbers[2], Ok(3));
}

#[test]
fn finds_nothing_in_an_empty_text() {
    for text in ["", "  \n", "# c\n", "---\n---\n", "null\n"] {
        assert!(objects(&source(text)).is_empty(), "{text:?}");
    }
}

#[test]
fn takes_lists_apart() {
    let source = source(
        "kind: Job\n---\nkind: List\nitems:\n- kind: Job\n- kind: CronJob\n---\n\
         apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: x}\n- kind: Job\n---\n\
         kind: List\nitems: []\n---\nkind: Job\n",
    );
    let objects = objects(&source);
    assert_eq!(
        names(&objects),
        [
            "1 1  Job",
            "2 2 /items/0 Job",
            "3 2 /items/1 CronJob",
            "4 3 /items/0 Job",
            "5 3 /items/1 Job",
            "6 5  Job"
        ]
    );
    let implied = &objects[3].as_ref().unwrap().root;
    assert_eq!(implied.get("apiVersion").unwrap().as_str(), Some("batch/v1"));
}

#[test]
fn refuses_what_is_no_object() {
    for (text, says) in [
        ("- kind: Job", "found a list"),
        ("just text", "found a string"),
        ("kind: List", "and has nothing"),
        ("kind: List\nitems: {}", "and has a map"),
        ("kind: List\nitems: [1]", "found an integer"),
        ("kind: List\nitems: [{kind: List, items: []}]", "within a list"),
        ("{\"kind\": \"List\", \"items\": [1]}", "found an integer"),
    ] {
        let mistakes = mistakes(text);
        assert_eq!(mistakes.len(), 1, "{text}");
        assert!(mistakes[0].message.contains(says), "{text}: {}", mistakes[0]);
    }
    assert_eq!(mistakes("{\"kind\": \"List\", \"items\": [1]}")[0].at, 27);
}

#[test]
fn goes_on_after_a_broken_document() {
    let source = source("kind: Job\n---\na: [\n---\nkind: CronJob\n");
    assert_eq!(names(&objects(&source)), ["1 1  Job", "broken", "3 3  CronJob"]);
}

#[test]
fn reads_json_as_json_and_kyaml_after_a_separator() {
    assert_eq!(names(&objects(&source("{\"kind\":\"Job\"}{\"kind\":\"Job\"}"))).len(), 2);
    assert_eq!(mistakes(" {kind: Job}").len(), 1);
    assert_eq!(mistakes("{\"kind\": \"Job\",}").len(), 1);
    assert_eq!(names(&objects(&source("---\n{kind: \"Job\",}"))), ["1 1  Job"]);
    let twice = &mistakes("\n{\"a\": 1}\n{\n\"b\": 1,\n\"b\": 2}")[0];
    assert_eq!(twice.at, 20);
    assert!(twice.help.as_ref().unwrap().contains("line 4"));
}

#[test]
fn finds_places_in_yaml() {
    let source = source("kind: Job\n---\nkind: JobList\nitems:\n- spec:\n    a/b: [1, 23]\n");
    assert_eq!(at(&source, 0, ""), "kind: ");
    assert_eq!(at(&source, 1, "/spec/a~1b/1"), "23]\n");
    // A list is shown at its key.
    assert_eq!(at(&source, 1, "/spec/a~1b/7/x"), "a/b: [");
    // What the list implies stands nowhere, so its place is the object's.
    assert_eq!(at(&source, 1, "/kind"), "spec:\n");
}

#[test]
fn finds_places_in_json() {
    let source = source(
        "{\"kind\": \"Job\"}\n{\"kind\": \"List\", \"items\": [{\"a\": 1}, {\"kind\": \"Job\", \"b\": [0, 12]}]}",
    );
    assert_eq!(at(&source, 0, "/kind"), "\"Job\"}");
    assert_eq!(at(&source, 2, "/b/1"), "12]}]}");
    assert_eq!(at(&source, 2, "/c/d"), "{\"kind");
}

proptest::proptest! {
    #[test]
    fn never_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60), pointer in "[/~01a]{0,6}") {
        if let Ok(source) = Source::from_bytes("-", bytes) {
            check(&source, &pointer);
        }
    }

    #[test]
    fn never_panics_on_lists(text in "(\\{|\\}|\\[|\\]|,|:|\n|  |- |kind: |List|\"kind\":|\"List\"|items: |\"items\":|\"a\"|null|---){0,30}", pointer in "(/|items|0|kind){0,6}") {
        check(&source(&text), &pointer);
    }
}

fn check(source: &Source, pointer: &str) {
    for object in objects(source) {
        match object {
            Ok(object) => {
                let at = position_of(source, &object, pointer);
                assert!(at.is_some_and(|at| at as usize <= source.text.len()));
                assert!(source.position(at.unwrap()).line > 0);
            }
            Err(mistake) => {
                assert!(source.position(mistake.at).line > 0);
            }
        }
    }
}
