//! `--substitute FILE`: variables filled into the text of shapes and templates before it is read,
//! as Flux's postBuild does.

use std::collections::BTreeMap;

use crate::core::mistake::Mistake;

/// Names and values from a file of `KEY=VALUE` lines.
#[derive(Debug, Default, Clone)]
pub struct Substitution {
    values: BTreeMap<String, String>,
}

impl Substitution {
    /// Reads `KEY=VALUE` lines; empty lines and those that begin with `#` are skipped.
    ///
    /// # Errors
    /// Every line that is none, or names a key twice.
    pub fn read(text: &str) -> Result<Substitution, Vec<Mistake>> {
        let mut substitution = Substitution::default();
        let mut mistakes = vec![];
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let at = u32::try_from(offset).unwrap_or(u32::MAX);
            offset += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once('=') {
                Some((key, value)) if is_name(key) => {
                    if substitution.values.insert(key.to_owned(), value.to_owned()).is_some() {
                        mistakes.push(Mistake::new(at, format!("`{key}` stands here twice")));
                    }
                }
                _ => mistakes.push(Mistake::new(at, "a line of a substitution file is KEY=VALUE")),
            }
        }
        if mistakes.is_empty() { Ok(substitution) } else { Err(mistakes) }
    }

    /// The text with every `${KEY}` that has a value filled in, and `$${X}` as `${X}`. A key
    /// without a value stays: in a comment it is nobody's concern, and in a value the shape says.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            out.push_str(&rest[..dollar]);
            rest = &rest[dollar..];
            if let Some(name) = braced(rest.strip_prefix("$$").unwrap_or_default()) {
                out.push_str(&rest[1..name.len() + 4]);
                rest = &rest[name.len() + 4..];
            } else if let Some((name, value)) =
                braced(&rest[1..]).and_then(|name| self.values.get(name).map(|value| (name, value)))
            {
                out.push_str(value);
                rest = &rest[name.len() + 3..];
            } else {
                out.push('$');
                rest = &rest[1..];
            }
        }
        out.push_str(rest);
        out
    }
}

/// The name in `{name}…`.
fn braced(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.split_once('}')?.0;
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_what_it_knows_and_keeps_the_rest() {
        let known = Substitution::read("# regions\nREGION=eu-1\n\nURL=a=b\n").expect("reads");
        for (text, filled) in [
            ("${REGION}", "eu-1"),
            ("x ${REGION}${URL} y", "x eu-1a=b y"),
            ("$${REGION} ${HOME} $HOME $(REGION)", "${REGION} ${HOME} $HOME $(REGION)"),
            ("$$${REGION}", "$${REGION}"),
            ("${REGION:=x} ${} ${ ${REGION", "${REGION:=x} ${} ${ ${REGION"),
            ("$", "$"),
        ] {
            assert_eq!(known.apply(text), filled, "{text}");
        }
    }

    #[test]
    fn a_line_that_says_nothing_is_a_mistake() {
        let mistakes = Substitution::read("A=1\nB\nA=2\n1C=3\n").expect_err("mistakes");
        assert_eq!(mistakes.iter().map(|m| m.at).collect::<Vec<_>>(), [4, 6, 10]);
    }
}
