//! The same said differently: a tree printed as JSON with its keys in this or that order.

use jobshape::core::tree::{Node, Value};

/// In which order the keys of a map are printed.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// As they stand.
    Kept,
    /// From the last to the first.
    Reversed,
    /// The last key first, then the others.
    Turned,
}

/// A tree as JSON text.
pub fn json(node: &Node<'_>, order: Order) -> String {
    let mut out = String::new();
    print(node, order, &mut out);
    out
}

fn print(node: &Node<'_>, order: Order, out: &mut String) {
    match &node.value {
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                print(item, order, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            match order {
                Order::Kept => {}
                Order::Reversed => entries.reverse(),
                Order::Turned => {
                    let turns = usize::from(!entries.is_empty());
                    entries.rotate_right(turns);
                }
            }
            out.push('{');
            for (index, entry) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::to_string(entry.key.as_ref()).expect("a string"));
                out.push(':');
                print(&entry.node, order, out);
            }
            out.push('}');
        }
        Value::String(text) => {
            out.push_str(&serde_json::to_string(text.as_ref()).expect("a string"));
        }
        _ => out.push_str(&node.to_json().to_string()),
    }
}
