//! Where two Jobs differ, as a tree of places: entries of keyed lists by their keys, all others by
//! their index.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::core::judge::values::quantity_of;
use crate::core::kubernetes::absent::is_zero;
use crate::core::kubernetes::api::{Api, Field, Kind};
use crate::core::kubernetes::keys::{item_key, refer};
use crate::core::path::Step;
use crate::core::tree::{Entry, Node, Value};

/// What differs at a place and below it.
#[derive(Debug, PartialEq)]
pub enum Difference<'a> {
    /// Nothing.
    None,
    /// The value itself; what it holds is not told apart.
    Whole,
    /// Some of what it holds.
    Inside {
        /// The places that differ.
        places: Places<'a>,
        /// The entries that both have stand in another order, in a list where that counts: an entry
        /// is worth something else at another place.
        order: bool,
    },
}

/// A place in a map or list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place<'a> {
    /// A field, or a key of a map.
    Key(Cow<'a, str>),
    /// All entries of a keyed list that have this key.
    Item(Cow<'a, str>),
    /// An item of any other list, or one without a key.
    Index(usize),
}

impl<'a> Difference<'a> {
    /// Where two Jobs differ.
    #[must_use]
    pub fn of_jobs(old: &'a Node<'a>, new: &'a Node<'a>) -> Difference<'a> {
        Self::between(Api::get().job(), old, new)
    }

    /// Where two values of a kind differ.
    #[must_use]
    pub fn between(kind: Kind, old: &'a Node<'a>, new: &'a Node<'a>) -> Difference<'a> {
        of(Api::get(), kind, old, new, WHOLE)
    }

    /// Whether nothing differs at a place or below it.
    #[must_use]
    pub fn is_none_at(&self, path: &[Step<'_>]) -> bool {
        let mut at = self;
        for step in path {
            let places = match at {
                Difference::None => return true,
                Difference::Whole => return false,
                Difference::Inside { order: true, .. } => return false,
                Difference::Inside { places, .. } => places,
            };
            let place = match step {
                Step::Key(key) => Place::Key(Cow::Borrowed(*key)),
                Step::Item { key: Some(key), .. } => Place::Item(Cow::Borrowed(key)),
                Step::Item { key: None, index: Some(index) } => Place::Index(*index),
                // An item that neither has a key nor stands anywhere cannot be looked up.
                Step::Item { key: None, index: None } => return false,
            };
            match places.get(&place) {
                Some(next) => at = next,
                None => return true,
            }
        }
        *at == Difference::None
    }
}

/// On how many levels values are first compared whole: an update leaves most of a Job as it is. On
/// all of them, what differs far below would be compared again and again.
const WHOLE: u8 = 4;

/// Where two values differ, compared whole on so many levels.
fn of<'a>(
    api: &'static Api,
    kind: Kind,
    old: &'a Node<'a>,
    new: &'a Node<'a>,
    whole: u8,
) -> Difference<'a> {
    if whole > 0 && old.value == new.value {
        return Difference::None;
    }
    let whole = whole.saturating_sub(1);
    match (&old.value, &new.value) {
        (Value::Map(before), Value::Map(after)) => {
            // A field that is null is none, and so is an empty list or map; in a map with free keys
            // the server stores something.
            let stands = |entry: &&Entry<'_>| match (&entry.node.value, kind) {
                (_, Kind::Map(_)) => true,
                (Value::Null, _) => false,
                (Value::List(_) | Value::Map(_), _) if entry.node.is_empty() => {
                    match api.field(kind, &entry.key) {
                        Some(Field { kind: of @ (Kind::List(_) | Kind::Map(_)), .. }) => {
                            !is_zero(api, *of, &entry.node)
                        }
                        _ => true,
                    }
                }
                _ => true,
            };
            let placed = |entries: &'a [Entry<'a>]| {
                let all = entries.iter().filter(stands);
                all.map(|e| (Place::Key(Cow::Borrowed(&*e.key)), &e.node)).collect()
            };
            let of_key = |place: &Place<'_>| match (place, kind) {
                (Place::Key(key), Kind::Struct(_)) => {
                    api.field(kind, key).map_or(Kind::Unknown, |field| field.kind)
                }
                (_, Kind::Map(map)) => api.list(map).item,
                _ => Kind::Unknown,
            };
            inside(api, of_key, whole, placed(before), placed(after), || false)
        }
        (Value::List(before), Value::List(after)) => {
            let list = match kind {
                Kind::List(list) => Some(api.list(list)),
                _ => None,
            };
            let keyed = list.filter(|list| list.is_keyed());
            let place = |(index, item): (usize, &'a Node<'a>)| {
                let key = keyed.and_then(|list| item_key(api, list, item));
                (key.map_or(Place::Index(index), Place::Item), item)
            };
            let placed = |items: &'a [Node<'a>]| items.iter().enumerate().map(place).collect();
            let item = list.map_or(Kind::Unknown, |list| list.item);
            let order_counts = || {
                keyed.is_some_and(|list| {
                    list.ordered || list.ordered_by_expansion && (refer(before) || refer(after))
                })
            };
            inside(api, |_| item, whole, placed(before), placed(after), order_counts)
        }
        _ if old.value == new.value => Difference::None,
        _ => match (kind, quantity_of(kind, old), quantity_of(kind, new)) {
            (Kind::Quantity { .. }, Some(before), Some(after)) if before == after => {
                Difference::None
            }
            _ => Difference::Whole,
        },
    }
}

/// What stands in a map or list, in its order.
type Placed<'a> = Vec<(Place<'a>, &'a Node<'a>)>;

fn inside<'a>(
    api: &'static Api,
    kind_of: impl Fn(&Place<'_>) -> Kind,
    whole: u8,
    before: Placed<'a>,
    after: Placed<'a>,
    order_counts: impl FnOnce() -> bool,
) -> Difference<'a> {
    let between = |place: &Place<'_>, old: &'a Node<'a>, new: &'a Node<'a>| {
        // Most values are what they were, and their kind does not matter.
        if is_same_scalar(old, new) {
            Difference::None
        } else {
            of(api, kind_of(place), old, new, whole)
        }
    };
    let (places, order) = if are_in_step(&before, &after) {
        let pairs = before.into_iter().zip(after);
        let places = pairs.map(|((place, old), (_, new))| {
            let difference = between(&place, old, new);
            (place, difference)
        });
        (places.filter(|(_, difference)| *difference != Difference::None).collect(), false)
    } else {
        out_of_step(between, before, after, order_counts)
    };
    if places.is_empty() && !order {
        return Difference::None;
    }
    Difference::Inside { places, order }
}

/// Most entries that are all compared with each other.
const FEW: usize = 32;

/// Whether both have the same places in the same order, each once, as almost all updates leave them.
fn are_in_step(before: &Placed<'_>, after: &Placed<'_>) -> bool {
    before.len() == after.len()
        && before.len() <= FEW
        && before.iter().zip(after).all(|((old, _), (new, _))| old == new)
        && before
            .iter()
            .enumerate()
            .all(|(n, (place, _))| before[..n].iter().all(|(p, _)| p != place))
}

fn is_same_scalar(old: &Node<'_>, new: &Node<'_>) -> bool {
    !matches!(old.value, Value::List(_) | Value::Map(_)) && old.value == new.value
}

type Places<'a> = HashMap<Place<'a>, Difference<'a>>;

/// The places that differ, and whether those that both have are in another order where that counts.
fn out_of_step<'a>(
    between: impl Fn(&Place<'_>, &'a Node<'a>, &'a Node<'a>) -> Difference<'a>,
    before: Placed<'a>,
    after: Placed<'a>,
    order_counts: impl FnOnce() -> bool,
) -> (Places<'a>, bool) {
    let (groups, mut others) = (grouped(&before), grouped(&after));
    let order = order_counts() && {
        let kept = before.iter().map(|(place, _)| place).filter(|place| others.contains_key(place));
        let now = after.iter().map(|(place, _)| place).filter(|place| groups.contains_key(place));
        !kept.eq(now)
    };
    let mut places = HashMap::new();
    for (place, before) in groups {
        let difference = match (&before[..], others.remove(&place).as_deref()) {
            ([before], Some([after])) => between(&place, before, after),
            // Entries of one key are one value: which of them counts depends on the others.
            (before, Some(after)) if before.len() == after.len() => {
                let same = before
                    .iter()
                    .zip(after)
                    .all(|(b, a)| between(&place, b, a) == Difference::None);
                if same { Difference::None } else { Difference::Whole }
            }
            _ => Difference::Whole,
        };
        if difference != Difference::None {
            places.insert(place, difference);
        }
    }
    places.extend(others.into_keys().map(|place| (place, Difference::Whole)));
    (places, order)
}

/// What stands at each place.
fn grouped<'a>(all: &Placed<'a>) -> HashMap<Place<'a>, Vec<&'a Node<'a>>> {
    let mut groups: HashMap<Place<'a>, Vec<&'a Node<'a>>> = HashMap::new();
    for (place, node) in all {
        groups.entry(place.clone()).or_default().push(node);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    /// The same with the keys of every map the other way round, so that nothing is in step.
    fn backwards(node: &Node<'static>) -> Node<'static> {
        Node::new(match &node.value {
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .rev()
                    .map(|e| Entry { node: backwards(&e.node), ..e.clone() })
                    .collect(),
            ),
            Value::List(items) => Value::List(items.iter().map(backwards).collect()),
            other => other.clone(),
        })
    }

    #[test]
    fn the_order_of_keys_makes_no_difference() {
        let job = |env: Json, more: Json| {
            let pod = json!({"containers": [{"name": "c", "env": env, "resources": more}]});
            let spec = json!({"suspend": false, "template": {"spec": pod}});
            Node::from_json(&json!({"metadata": {"name": "x", "labels": {}}, "spec": spec}))
        };
        let env = |names: &[&str]| -> Json {
            names.iter().map(|n| json!({"name": n, "value": format!("$({n})")})).collect()
        };
        let all = [
            job(env(&["A", "B"]), json!({"limits": {"cpu": "1", "memory": "1Gi"}})),
            job(env(&["B", "A"]), json!({"limits": {"cpu": "1000m", "memory": "1Gi"}})),
            job(env(&["A", "A"]), json!({"limits": {"cpu": "2", "memory": null}})),
            job(env(&["A", "B", "C"]), Json::Null),
            job(env(&[]), json!({})),
        ];
        for old in &all {
            for new in &all {
                let (turned, straight) = (backwards(old), Difference::of_jobs(old, new));
                assert_eq!(Difference::of_jobs(&turned, new), straight, "{old:?}\n{new:?}");
                assert_eq!(straight == Difference::None, old == new);
            }
        }
    }
}
