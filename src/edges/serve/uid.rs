//! The uid of a request whose body is not read, or not judged, as a whole.
//!
//! An answer without the request's uid is no answer to the API server: the user is told that the
//! webhook failed, and not why. The uid stands near the front (`kind, apiVersion, request {uid,`),
//! so the first bytes are scanned for it, key by key: a `"uid"` anywhere else, as in the Job's own
//! metadata, must never be taken for it.

/// How far into the body the uid is looked for.
pub const WITHIN: usize = 4096;

/// Longest uid that is echoed; the API server's have 36 characters.
const LONGEST: usize = 64;

/// The `request.uid` that the first bytes of a review hold, if it is one that may be repeated.
pub fn scan(body: &[u8]) -> Option<&str> {
    let head = body.get(..WITHIN).unwrap_or(body);
    let mut scanner = Scanner { rest: head };
    scanner.enter(b"request")?;
    scanner.enter(b"uid")?;
    let uid = scanner.string()?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    if uid.is_empty() || uid.len() > LONGEST || !uid.iter().all(plain) {
        return None;
    }
    std::str::from_utf8(uid).ok()
}

/// Walks over JSON that may end anywhere. Every step is `None` when it does not find what it
/// needs.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Into an object, up to the value of `key`.
    fn enter(&mut self, key: &[u8]) -> Option<()> {
        self.eat(b'{')?;
        loop {
            let found = self.string()?;
            self.eat(b':')?;
            if found == key {
                return Some(());
            }
            self.skip()?;
            self.eat(b',')?;
        }
    }

    /// The raw inside of a string. A key written with escapes is taken for another key.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.eat(b'"')?;
        let mut escaped = false;
        let end = self.rest.iter().position(|byte| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        })?;
        let (inside, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..)?;
        Some(inside)
    }

    /// Over one value, however deep, without recursion.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.space();
            match self.rest.first()? {
                b'"' => {
                    self.string()?;
                }
                b'{' | b'[' => {
                    depth += 1;
                    self.rest = self.rest.get(1..)?;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.rest = self.rest.get(1..)?;
                }
                b',' | b':' if depth > 0 => {
                    self.rest = self.rest.get(1..)?;
                    continue;
                }
                _ => {
                    let end = |byte: &u8| b",:]} \t\r\n".contains(byte);
                    let end = self.rest.iter().position(end).filter(|end| *end > 0)?;
                    self.rest = self.rest.get(end..)?;
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.space();
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_servers_order_and_any_other() {
        let uid = "0d9a8e6c-1c6f-4f7e-9a53-6a0f4e1f9a11";
        let head =
            r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""#;
        assert_eq!(scan(format!("{head}{uid}\",\"kind\":{{\"gr").as_bytes()), Some(uid));
        let spaced = r#" { "a" : [ 1, {"uid":"no"}, "\"}" ], "b":null , "request" : { "object":{"metadata":{"uid":"no"}}, "n":-1.5e3, "uid" : "yes" } }"#;
        assert_eq!(scan(spaced.as_bytes()), Some("yes"));
    }

    #[test]
    fn no_other_uid_is_taken_for_it() {
        for body in [
            "",
            "{",
            "[]",
            "nonsense",
            r#"{"uid":"no"}"#,
            r#"{"object":{"uid":"no"}}"#,
            r#"{"x":{"request":{"uid":"no"}}}"#,
            r#"{"request":{"object":{"uid":"no"}}}"#,
            r#"{"request":{"userInfo":{"uid":"no"}"#,
            r#"{"request":{"uid":7}}"#,
            r#"{"request":{"uid":""}}"#,
            r#"{"request":{"uid":"a b"}}"#,
            r#"{"request":{"uid":"a\"b"}}"#,
            r#"{"request":{"uid":"cut"#,
            r#"{"request":["uid","no"]}"#,
            r#"{"a":},"request":{"uid":"no"}}"#,
        ] {
            assert_eq!(scan(body.as_bytes()), None, "{body}");
        }
        let long = |n| format!("{{\"request\":{{\"uid\":\"{}\"}}}}", "a".repeat(n));
        assert!(scan(long(64).as_bytes()).is_some());
        assert_eq!(scan(long(65).as_bytes()), None);
    }

    #[test]
    fn it_must_stand_in_the_first_bytes() {
        let at =
            |pad: usize| format!("{{\"a\":\"{}\",\"request\":{{\"uid\":\"u\"}}}}", "x".repeat(pad));
        assert_eq!(scan(at(4000).as_bytes()), Some("u"));
        assert_eq!(scan(at(4096).as_bytes()), None);
        // Depth is only counted, never stacked.
        assert_eq!(scan("[".repeat(4096).as_bytes()), None);
        assert_eq!(scan(format!("{{\"a\":{}", "[".repeat(4000)).as_bytes()), None);
    }
}
