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
        places: HashMap<Place<'a>, Difference<'a>>,
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
        of(Api::get(), kind, old, new)
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

fn of<'a>(api: &'static Api, kind: Kind, old: &'a Node<'a>, new: &'a Node<'a>) -> Difference<'a> {
    match (&old.value, &new.value) {
        (Value::Map(before), Value::Map(after)) => {
            // A field that is null is none, and so is an empty list or map; in a map with free keys
            // the server stores something.
            let stands = |entry: &&Entry<'_>| match (kind, api.field(kind, &entry.key)) {
                (Kind::Map(_), _) => true,
                (_, Some(Field { kind: of @ (Kind::List(_) | Kind::Map(_)), .. })) => {
                    !is_zero(api, *of, &entry.node)
                }
                _ => entry.node.value != Value::Null,
            };
            let by_key = |entries: &'a [Entry<'a>]| {
                let all = entries.iter().filter(stands);
                grouped(all.map(|e| (Place::Key(Cow::Borrowed(&*e.key)), &e.node)))
            };
            let of_key = |place: &Place<'_>| match (place, kind) {
                (Place::Key(key), Kind::Struct(_)) => {
                    api.field(kind, key).map_or(Kind::Unknown, |field| field.kind)
                }
                (_, Kind::Map(map)) => api.list(map).item,
                _ => Kind::Unknown,
            };
            inside(api, of_key, by_key(before), by_key(after), false)
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
            let placed = |items: &'a [Node<'a>]| items.iter().enumerate().map(place);
            let item = list.map_or(Kind::Unknown, |list| list.item);
            let (groups, others) = (grouped(placed(before)), grouped(placed(after)));
            let counts = keyed.is_some_and(|list| {
                list.ordered || list.ordered_by_expansion && (refer(before) || refer(after))
            });
            let order = counts && {
                let kept = placed(before).map(|(place, _)| place);
                let now = placed(after).map(|(place, _)| place);
                !kept
                    .filter(|place| others.contains_key(place))
                    .eq(now.filter(|place| groups.contains_key(place)))
            };
            inside(api, |_| item, groups, others, order)
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

type Grouped<'a> = HashMap<Place<'a>, Vec<&'a Node<'a>>>;

/// What stands at each place.
fn grouped<'a>(all: impl Iterator<Item = (Place<'a>, &'a Node<'a>)>) -> Grouped<'a> {
    let mut groups: Grouped<'a> = HashMap::new();
    for (place, node) in all {
        groups.entry(place).or_default().push(node);
    }
    groups
}

fn inside<'a>(
    api: &'static Api,
    kind_of: impl Fn(&Place<'_>) -> Kind,
    before: Grouped<'a>,
    mut after: Grouped<'a>,
    order: bool,
) -> Difference<'a> {
    let mut places = HashMap::new();
    for (place, before) in before {
        let difference = match (&before[..], after.remove(&place).as_deref()) {
            ([before], Some([after])) => of(api, kind_of(&place), before, after),
            // Entries of one key are one value: which of them counts depends on the others.
            (before, Some(after)) if before.len() == after.len() => {
                let kind = kind_of(&place);
                let same =
                    before.iter().zip(after).all(|(b, a)| of(api, kind, b, a) == Difference::None);
                if same { Difference::None } else { Difference::Whole }
            }
            _ => Difference::Whole,
        };
        if difference != Difference::None {
            places.insert(place, difference);
        }
    }
    places.extend(after.into_keys().map(|place| (place, Difference::Whole)));
    if places.is_empty() && !order {
        return Difference::None;
    }
    Difference::Inside { places, order }
}
