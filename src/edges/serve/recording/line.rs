//! What a recorded review looks like.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::edges::serve::metrics::word;
use crate::formats::review::Entrance;

/// A review as it came.
pub struct Item {
    /// When.
    pub time: SystemTime,
    /// Through which entrance.
    pub entrance: Entrance,
    /// The bytes of the request.
    pub body: Vec<u8>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    entrance: &'static str,
    review: &'a RawValue,
}

#[derive(Serialize)]
struct Header {
    jobshape: &'static str,
    version: u32,
    sensitive: bool,
    started: String,
    note: &'static str,
}

/// The first line of a segment.
pub fn header(started: SystemTime) -> Vec<u8> {
    let header = Header {
        jobshape: "recording",
        version: 1,
        sensitive: true,
        started: stamp(started),
        note: "whole AdmissionReviews: environment variables, arguments and user names as they were sent",
    };
    let mut bytes = serde_json::to_vec(&header).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The line of a review; nothing if it is no JSON object.
pub fn review(item: &Item) -> Option<Vec<u8>> {
    let review: &RawValue = serde_json::from_slice(&item.body).ok()?;
    if !review.get().starts_with('{') {
        return None;
    }
    let line = Line { time: stamp(item.time), entrance: word(item.entrance), review };
    let mut bytes = serde_json::to_vec(&line).ok()?;
    // In a text that is JSON a line break can only be white space: in strings it is escaped.
    for byte in &mut bytes {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    bytes.push(b'\n');
    Some(bytes)
}

fn stamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(body: &[u8]) -> Option<String> {
        let (time, entrance) = (SystemTime::UNIX_EPOCH, Entrance::Audit);
        let bytes = review(&Item { time, entrance, body: body.to_vec() })?;
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_bytes_of_the_request_stay_as_they_were() {
        // What a reader of JSON would change: the order, a number, an escape, a repeated key.
        let body = r#"{"b": 1.50, "a": 1e2, "a": "\u0041\n"}"#;
        assert_eq!(
            recorded(body.as_bytes()).unwrap(),
            format!(
                "{{\"time\":\"1970-01-01T00:00:00.000Z\",\"entrance\":\"audit\",\"review\":{body}}}\n"
            )
        );
    }

    #[test]
    fn a_review_of_several_lines_becomes_one() {
        let line = recorded(b" \n{\r\n\"a\": [\n1]}\n").unwrap();
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        assert!(line.ends_with("\"review\":{  \"a\": [ 1]}}\n"), "{line}");
    }

    #[test]
    fn what_is_no_object_is_no_review() {
        for body in [&b""[..], b"{", b"[{}]", b"3", b"{}{}", b"{\"a\": \"\xff\"}"] {
            assert_eq!(recorded(body), None, "{body:?}");
        }
        // A line break in a string is no JSON, and must not become another text.
        assert_eq!(recorded(b"{\"a\": \"\nb\"}"), None);
    }
}
