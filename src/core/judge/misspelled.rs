//! An entry that is extra and one beside it that is missing, with nearly the same name: one mistake
//! that is two findings, and each says so.

use crate::core::judge::finding::Finding;
use crate::core::mistake::nearest;

/// Most extra entries that are looked at: a person made one or two such mistakes, not hundreds.
const MOST: usize = 20;

/// Shortest name that is near anything, in bytes.
const SHORTEST: usize = 3;

/// Lets findings name each other that are probably one misspelled name.
pub(super) fn name_each_other(findings: &mut [Finding]) {
    let mut missing: Vec<usize> = (0..findings.len()).filter(|i| findings[*i].missing).collect();
    let extra: Vec<usize> = (0..findings.len()).filter(|i| findings[*i].extra).take(MOST).collect();
    for extra in extra {
        if missing.is_empty() {
            break;
        }
        let Some((parent, name)) = split(&findings[extra].path) else { continue };
        let beside: Vec<(&str, usize)> = missing
            .iter()
            .filter_map(|i| split(&findings[*i].path).map(|(p, n)| (p, n, *i)))
            .filter(|(other, ..)| *other == parent)
            .map(|(_, name, index)| (name, index))
            .collect();
        let Some(meant) = nearest_of(name, &beside) else { continue };
        let Some((_, index)) = beside.iter().find(|(name, _)| *name == meant) else { continue };
        let (index, name, meant) = (*index, name.to_owned(), meant.to_owned());
        findings[extra].message =
            format!("not in the template: did you mean `{meant}`, which is missing?").into();
        findings[extra].help = Some(format!("rename it to `{meant}`").into());
        let message = findings[index].message.to_mut();
        message.push_str(&format!("; is it what you called `{name}`?"));
        findings[index].help = Some(format!("rename `{name}`").into());
        missing.retain(|i| *i != index);
    }
}

/// The missing name that is nearest. What all of them begin with, as labels do, says nothing.
fn nearest_of<'n>(name: &str, missing: &[(&'n str, usize)]) -> Option<&'n str> {
    let (domain, own) = name.rsplit_once('/').unwrap_or(("", name));
    let same_domain = |missing: &'n str| {
        let (other, own) = missing.rsplit_once('/').unwrap_or(("", missing));
        (other == domain).then_some(own)
    };
    let names = missing.iter().filter_map(|(missing, _)| same_domain(missing));
    let meant = meant(own, names)?;
    missing.iter().map(|(missing, _)| *missing).find(|missing| same_domain(missing) == Some(meant))
}

/// The name that `typed` was probably meant to be: a near one, or one that was written out
/// (`environment` for `env`).
fn meant<'n>(typed: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    // One letter is near every other.
    let names = names.filter(|name| name.len() >= SHORTEST && typed.len() >= SHORTEST);
    let begins = |name: &&str| typed.to_ascii_lowercase().starts_with(&name.to_ascii_lowercase());
    nearest(typed, names.clone()).or_else(|| names.into_iter().find(begins))
}

/// A place and the name of what stands there: an entry, a key or a field.
fn split(path: &str) -> Option<(&str, &str)> {
    match path.strip_suffix(']') {
        Some(rest) => rest.rsplit_once('['),
        None => path.rsplit_once('.'),
    }
}
