//! The table of the Job API: every type and field that the server's OpenAPI shows, with what the
//! hand-written part adds.
//!
//! `data/fields.tsv` is generated from a running server's OpenAPI (`make tables`);
//! `data/meaning.tsv` is written by hand. Both are compiled in: a decision needs no file.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The generated part: type, field, value, list kind, versions.
const FIELDS: &str = include_str!("data/fields.tsv");
/// The hand-written part: kind, subject, value, source.
const MEANING: &str = include_str!("data/meaning.tsv");

/// The Kubernetes version whose API this table describes.
pub const VERSION: &str = "1.36";

/// Index of a struct type in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeId(u16);

/// Index of a list or map type in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListId(u16);

/// What a field may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A path the table does not know: compared as it stands.
    Unknown,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// An integer of 32 or 64 bits.
    Integer,
    /// A quantity; `rounded`: up to milli-units, as in every resource list.
    Quantity {
        /// Whether the server rounds it up to milli-units.
        rounded: bool,
    },
    /// An integer or a string (`targetPort`): never coerced.
    IntOrString,
    /// A struct with known fields.
    Struct(TypeId),
    /// A list.
    List(ListId),
    /// A map from strings to values of one kind.
    Map(ListId),
}

/// A list or a map type.
#[derive(Debug)]
pub struct ListType {
    /// What an item holds.
    pub item: Kind,
    /// The fields that identify an item; empty for a list that is compared in order. `["="]` for
    /// a set of strings, where the value is the key.
    pub keys: Vec<&'static str>,
    /// Whether the order of a keyed list counts all the same.
    pub ordered: bool,
    /// Whether the order counts when any value holds `$(` (`env`).
    pub ordered_by_expansion: bool,
}

/// A struct type.
#[derive(Debug)]
pub struct StructType {
    /// The short name of the Go type.
    pub name: &'static str,
    /// Its fields, sorted by name.
    pub fields: Vec<Field>,
}

/// A field of a struct type.
#[derive(Debug)]
pub struct Field {
    /// The JSON name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// A pointer in the Go type: its zero is kept and differs from absent.
    pub pointer: bool,
    /// What the server fills in.
    pub default: FieldDefault,
    /// Whether the kubelet expands `$(NAME)` in this string, or in each string of this list.
    pub expands: bool,
    /// JSON that means the same as absent to whoever reads the field, but is stored.
    pub means_absent: Option<serde_json::Value>,
}

/// What the server fills in for an absent field.
#[derive(Debug)]
pub enum FieldDefault {
    /// Nothing.
    None,
    /// Always this.
    Fixed(serde_json::Value),
    /// What a rule over the siblings says.
    Sibling(super::defaults::SiblingRule),
}

/// The whole table.
#[derive(Debug)]
pub struct Api {
    structs: Vec<StructType>,
    lists: Vec<ListType>,
    by_name: HashMap<&'static str, TypeId>,
    server_owned: Vec<&'static str>,
}

impl Api {
    /// The table that is compiled in, read once.
    ///
    /// # Panics
    /// When the compiled-in data is broken; a unit test reads it.
    #[must_use]
    pub fn get() -> &'static Api {
        static API: OnceLock<Api> = OnceLock::new();
        #[expect(clippy::expect_used, reason = "the data is compiled in and a test reads it")]
        API.get_or_init(|| {
            Api::parse(FIELDS, MEANING).expect("the compiled-in table of the Job API")
        })
    }

    /// The kind of a whole Job.
    #[must_use]
    pub fn job(&self) -> Kind {
        self.by_name.get("Job").map_or(Kind::Unknown, |id| Kind::Struct(*id))
    }

    /// A struct type.
    #[must_use]
    pub fn structure(&self, id: TypeId) -> &StructType {
        &self.structs[usize::from(id.0)]
    }

    /// A list or map type.
    #[must_use]
    pub fn list(&self, id: ListId) -> &ListType {
        &self.lists[usize::from(id.0)]
    }

    /// A field of a kind that is a struct which has it.
    #[must_use]
    pub fn field(&self, kind: Kind, name: &str) -> Option<&Field> {
        match kind {
            Kind::Struct(id) => self.structure(id).field(name),
            _ => None,
        }
    }

    /// Whether the server alone writes `key` of `place` (`Job.metadata` and `uid`).
    #[must_use]
    pub fn is_server_owned(&self, place: &str, key: &str) -> bool {
        self.server_owned.iter().any(|owned| {
            owned.strip_prefix(place).and_then(|rest| rest.strip_prefix('.')) == Some(key)
        })
    }

    fn parse(fields: &'static str, meaning: &'static str) -> Result<Api, String> {
        let mut api =
            Api { structs: vec![], lists: vec![], by_name: HashMap::new(), server_owned: vec![] };
        let rows: Vec<Vec<&str>> = rows(fields).collect();
        for row in &rows {
            let [name, ..] = row[..] else { continue };
            if !api.by_name.contains_key(name) {
                let id = u16::try_from(api.structs.len()).map_err(|_| "too many types")?;
                api.by_name.insert(name, TypeId(id));
                api.structs.push(StructType { name, fields: vec![] });
            }
        }
        for row in &rows {
            let [owner, name, value, list, ..] = row[..] else {
                return Err(format!("a row of five columns, not {row:?}"));
            };
            let kind = api.kind(value, list)?;
            let id = api.by_name[owner];
            api.structs[usize::from(id.0)].fields.push(Field {
                name,
                kind,
                pointer: false,
                default: FieldDefault::None,
                expands: false,
                means_absent: None,
            });
        }
        for structure in &mut api.structs {
            structure.fields.sort_by_key(|f| f.name);
        }
        for row in rows_of_meaning(meaning) {
            api.add_meaning(row?)?;
        }
        Ok(api)
    }

    fn kind(&mut self, value: &'static str, list: &'static str) -> Result<Kind, String> {
        if let Some(item) = value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
            let item = self.kind(item, "-")?;
            let keys = match list.split_once(':') {
                Some(("map", keys)) => keys.split(',').collect(),
                _ => vec![],
            };
            return Ok(Kind::List(self.add_list(item, keys)?));
        }
        if let Some(item) = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')) {
            let item = self.kind(item, "-")?;
            return Ok(Kind::Map(self.add_list(item, vec![])?));
        }
        Ok(match value {
            "string" | "time" | "bytes" => Kind::String,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "quantity" => Kind::Quantity { rounded: true },
            "int-or-string" => Kind::IntOrString,
            "any" | "number" => Kind::Unknown,
            name => {
                Kind::Struct(*self.by_name.get(name).ok_or_else(|| format!("no type `{name}`"))?)
            }
        })
    }

    fn add_list(&mut self, item: Kind, keys: Vec<&'static str>) -> Result<ListId, String> {
        let id = u16::try_from(self.lists.len()).map_err(|_| "too many lists")?;
        self.lists.push(ListType { item, keys, ordered: false, ordered_by_expansion: false });
        Ok(ListId(id))
    }

    fn add_meaning(&mut self, row: [&'static str; 3]) -> Result<(), String> {
        let [kind, subject, value] = row;
        if kind == "server-owned" {
            self.server_owned.push(subject);
            return Ok(());
        }
        let (owner, name) = subject.split_once('.').ok_or("a subject is Type.field")?;
        let id = *self.by_name.get(owner).ok_or_else(|| format!("no type `{owner}`"))?;
        let lists = &mut self.lists;
        let structure = &mut self.structs[usize::from(id.0)];
        let field = structure
            .fields
            .iter_mut()
            .find(|f| f.name == name)
            .ok_or_else(|| format!("no field `{subject}`"))?;
        let json = || serde_json::from_str(value).map_err(|e| format!("`{subject}`: {e}"));
        let list = match field.kind {
            Kind::List(id) => Some(&mut lists[usize::from(id.0)]),
            _ => None,
        };
        match kind {
            "pointer" => field.pointer = true,
            "default" => field.default = FieldDefault::Fixed(json()?),
            "sibling" => field.default = FieldDefault::Sibling(value.parse()?),
            "exact" => field.kind = Kind::Quantity { rounded: false },
            "means" => field.means_absent = Some(json()?),
            "expands" => {
                field.expands = true;
            }
            "keys" | "ordered" => {
                let list = list.ok_or_else(|| format!("`{subject}` is no list"))?;
                if kind == "keys" {
                    list.keys = value.split(',').collect();
                    list.ordered_by_expansion = subject == "Container.env";
                } else {
                    list.ordered = true;
                }
            }
            other => return Err(format!("no kind of row `{other}`")),
        }
        Ok(())
    }
}

impl StructType {
    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|f| f.name.cmp(name)).ok().map(|i| &self.fields[i])
    }
}

impl ListType {
    /// Whether items are told apart by a key.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        !self.keys.is_empty()
    }
}

fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.split('\t').collect())
}

fn rows_of_meaning(text: &'static str) -> impl Iterator<Item = Result<[&'static str; 3], String>> {
    rows(text).map(|row| match row[..] {
        [kind, subject, value, source] if !source.is_empty() => Ok([kind, subject, value]),
        _ => Err(format!("a row of kind, subject, value and source, not {row:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiled_in_table_can_be_read() {
        let api = Api::parse(FIELDS, MEANING).expect("reads");
        let Kind::Struct(job) = api.job() else { panic!("a Job is a struct") };
        let spec = api.structure(job).field("spec").expect("spec");
        assert!(api.field(spec.kind, "backoffLimit").expect("backoffLimit").pointer);
        let template = api.field(spec.kind, "template").expect("template").kind;
        let pod = api.field(template, "spec").expect("pod spec").kind;
        let Kind::List(containers) = api.field(pod, "containers").expect("containers").kind else {
            panic!("containers is a list")
        };
        assert_eq!(api.list(containers).keys, ["name"]);
        assert!(api.list(containers).ordered);
        assert!(api.is_server_owned("Job.metadata", "uid"));
    }

    #[test]
    fn a_row_about_a_field_that_is_not_there_is_an_error() {
        assert!(Api::parse(FIELDS, "pointer\tJobSpec.paralelism\t-\tx\n").is_err());
        assert!(Api::parse(FIELDS, "pointer\tJobSpec.parallelism\t-\n").is_err());
        assert!(Api::parse(FIELDS, "default\tJobSpec.suspend\tno\tx\n").is_err());
    }
}
