//! Characters and escapes that kubectl's YAML reads otherwise than YAML 1.2 does.

use crate::core::mistake::Mistake;
use crate::formats::text::Part;

/// Refuses what go-yaml refuses (control characters), and the line breaks of YAML 1.1 that no
/// editor shows as such: to kubectl a comment ends there and a key may begin.
pub(super) fn check(part: Part<'_>) -> Result<(), Mistake> {
    // Without branches, so that the compiler makes it wide: nearly every text ends here.
    let plain = part.text.bytes().fold(true, |plain, byte| {
        plain & (matches!(byte, b' '..=b'~') | matches!(byte, b'\t' | b'\n' | b'\r'))
    });
    if plain && !part.text.contains('\r') {
        return Ok(());
    }
    if let Some(at) = part.text.find("\r\r\n") {
        return Err(Mistake::new(
            part.offset(at),
            "CR, CR, LF is one line end to kubectl and two to others",
        )
        .help("end the line with LF alone"));
    }
    for (at, character) in part.text.char_indices() {
        match character {
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                return Err(Mistake::new(
                    part.offset(at),
                    format!("{} is a line break to kubectl, which nobody sees", named(character)),
                )
                .help(format!(
                    "break the line there, or write `{}` between double quotes",
                    escape(character)
                )));
            }
            '\u{feff}' if at > 0 => {
                return Err(Mistake::new(
                    part.offset(at),
                    "a byte order mark (U+FEFF) stands within the document, where nobody sees it",
                )
                .help(format!(
                    "remove it, or write `{}` between double quotes",
                    escape(character)
                )));
            }
            '\t' | '\n' | '\r' | ' '..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'.. => {}
            _ => {
                return Err(Mistake::new(
                    part.offset(at),
                    format!("the control character {} is not allowed in YAML", named(character)),
                )
                .help(format!(
                    "remove it, or write `{}` between double quotes",
                    escape(character)
                )));
            }
        }
    }
    Ok(())
}

/// Refuses the escapes of a double-quoted scalar that go-yaml does not know. `raw` is the scalar
/// as it stands in the text, quotes included, and `at` its offset in the part.
pub(super) fn check_escapes(part: Part<'_>, raw: &str, at: usize) -> Result<(), Mistake> {
    let bytes = raw.as_bytes();
    let mut place = 0;
    while let Some(&byte) = bytes.get(place) {
        if byte != b'\\' {
            place += 1;
            continue;
        }
        let rest = bytes.get(place + 1..).unwrap_or_default();
        let at = part.offset(at + place);
        match rest {
            [b'/', ..] => {
                return Err(Mistake::new(at, "kubectl does not know the escape `\\/`")
                    .help("write `/` without the backslash"));
            }
            [b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] => {
                return Err(Mistake::new(at, "kubectl does not join surrogate escapes")
                    .help("write the character itself, or `\\U` and eight digits"));
            }
            _ => place += 2,
        }
    }
    Ok(())
}

fn named(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

fn escape(character: char) -> String {
    let code = u32::from(character);
    if code <= 0xff { format!("\\x{code:02X}") } else { format!("\\u{code:04X}") }
}
