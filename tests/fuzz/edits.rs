//! Edits of a JSON value as lines of text, so that each line stays an edit when bytes change:
//!
//! ```text
//! /spec/backoffLimit 3            set, also where nothing is
//! -/spec/suspend                  take away
//! +/spec/template/spec/volumes/0  once more, at the end of its list
//! ~/spec/template/spec/volumes    from the last to the first
//! ```
//!
//! An index counts on beyond the end of a list, and what is no JSON is a string.

use serde_json::Value;

/// More lines are not looked at.
const MOST: usize = 40;

/// The value after the edits.
pub fn edited(mut value: Value, script: &str) -> Value {
    for line in script.lines().take(MOST) {
        let (kind, rest) = match line.as_bytes().first() {
            Some(b'-' | b'+' | b'~') => line.split_at(1),
            _ => ("", line),
        };
        let (pointer, json) = rest.split_once(' ').unwrap_or((rest, "null"));
        let Some((parent, last)) = pointer.rsplit_once('/') else { continue };
        let steps: Vec<String> = parent.split('/').skip(1).map(plain).collect();
        let last = plain(last);
        let Some(parent) = descend(&mut value, &steps, kind.is_empty()) else { continue };
        match kind {
            "-" => remove(parent, &last),
            "+" => double(parent, &last),
            "~" => reverse(parent, &last),
            _ => set(parent, &last, parse(json)),
        }
    }
    value
}

fn plain(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

/// The place below these steps; where there is none, it is made if wanted.
fn descend<'v>(value: &'v mut Value, steps: &[String], make: bool) -> Option<&'v mut Value> {
    steps.iter().take(12).try_fold(value, |at, step| {
        if make && (at.is_null() || at.is_object() && at.get(step).is_none_or(Value::is_null)) {
            at[step] = Value::Object(serde_json::Map::new());
        }
        child(at, step)
    })
}

fn child<'v>(value: &'v mut Value, step: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(map) => map.get_mut(step),
        Value::Array(items) => {
            let index = index(items, step)?;
            items.get_mut(index)
        }
        _ => None,
    }
}

fn index(items: &[Value], step: &str) -> Option<usize> {
    let number: usize = step.parse().unwrap_or(step.len());
    number.checked_rem(items.len())
}

fn set(parent: &mut Value, last: &str, value: Value) {
    match parent {
        Value::Object(map) => {
            map.insert(last.to_owned(), value);
        }
        Value::Array(items) if last == "-" || items.is_empty() => items.push(value),
        other => {
            if let Some(place) = child(other, last) {
                *place = value;
            }
        }
    }
}

fn remove(parent: &mut Value, last: &str) {
    match parent {
        Value::Object(map) => {
            map.remove(last);
        }
        Value::Array(items) => {
            if let Some(index) = index(items, last) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

fn double(parent: &mut Value, last: &str) {
    if let Value::Array(items) = parent
        && let Some(index) = index(items, last)
        && items.len() < 50
    {
        items.push(items[index].clone());
    }
}

fn reverse(parent: &mut Value, last: &str) {
    if let Some(Value::Array(items)) = child(parent, last) {
        items.reverse();
    }
}
